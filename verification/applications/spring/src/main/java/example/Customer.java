package example;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;
import jakarta.persistence.Table;

/** A customer, as the mappers know it. */
@Entity
@Table(name = "customer")
public class Customer {
    @Id
    String id;

    String name;
    int saves;

    protected Customer() {}

    Customer(String id) {
        this.id = id;
    }
}
