package example;

import io.github.applock.ApplLocks;
import jakarta.persistence.EntityManager;
import jakarta.persistence.PersistenceContext;
import java.sql.Connection;
import javax.sql.DataSource;
import org.hibernate.Session;
import org.springframework.context.annotation.Profile;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.stereotype.Component;

/** The business table, and the locks in the transaction that has begun. */
interface Store {
    ApplLocks locks();

    /** Counts a save of a customer, who is registered by the first one. A name of null stays. */
    int save(String id, String name);
}

@Component
@Profile("jdbc")
class JdbcStore implements Store {
    private final JdbcTemplate jdbc;
    private final DataSource pool;

    JdbcStore(JdbcTemplate jdbc, DataSource pool) {
        this.jdbc = jdbc;
        this.pool = pool;
    }

    @Override
    public ApplLocks locks() {
        return ApplLocks.in(DataSourceUtils.getConnection(pool)); // that of the transaction, which closes it
    }

    @Override
    public int save(String id, String name) {
        var saves = jdbc.queryForList("SELECT saves FROM customer WHERE id = ?", Integer.class, id);
        if (saves.isEmpty()) {
            return jdbc.update("INSERT INTO customer (id, name, saves) VALUES (?, ?, 1)", id, name);
        }
        jdbc.update("UPDATE customer SET name = COALESCE(?, name), saves = ? WHERE id = ?", name, saves.get(0) + 1, id);
        return saves.get(0) + 1;
    }
}

abstract class JpaStore implements Store {
    @PersistenceContext
    EntityManager entities;

    abstract Connection connection();

    @Override
    public ApplLocks locks() {
        return ApplLocks.in(connection());
    }

    @Override
    public int save(String id, String name) {
        Customer known = entities.find(Customer.class, id);
        Customer customer = known == null ? new Customer(id) : known;
        customer.name = name == null ? customer.name : name;
        customer.saves++;
        entities.persist(customer);
        entities.flush();
        return customer.saves;
    }
}

@Component
@Profile("hibernate")
class HibernateStore extends JpaStore {
    @Override
    Connection connection() {
        return entities.unwrap(Session.class).doReturningWork(connection -> connection);
    }
}

@Component
@Profile("eclipselink")
class EclipseLinkStore extends JpaStore {
    @Override
    Connection connection() {
        return entities.unwrap(Connection.class);
    }
}
