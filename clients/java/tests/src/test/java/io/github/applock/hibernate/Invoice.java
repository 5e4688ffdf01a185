package io.github.applock.hibernate;

import jakarta.persistence.Entity;
import jakarta.persistence.Id;

/** An invoice. The numbers of all of them have no gap. */
@Entity
class Invoice {
    @Id
    private long number;

    private String text;

    protected Invoice() {}

    Invoice(long number, String text) {
        this.number = number;
        this.text = text;
    }

    String text() {
        return text;
    }
}
