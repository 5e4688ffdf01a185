package io.github.applock.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.arjuna.ats.internal.jta.transaction.arjunacore.TransactionSynchronizationRegistryImple;
import com.zaxxer.hikari.HikariDataSource;
import io.agroal.api.AgroalDataSource;
import io.agroal.api.configuration.supplier.AgroalDataSourceConfigurationSupplier;
import io.agroal.api.security.NamePrincipal;
import io.agroal.api.security.SimplePassword;
import io.agroal.narayana.NarayanaTransactionIntegration;
import io.github.applock.ApplLocks;
import io.github.applock.ApplObject;
import io.github.applock.InvalidArgumentException;
import io.github.applock.Lease;
import io.github.applock.Leases;
import io.github.applock.LostException;
import io.github.applock.Owner;
import io.github.applock.Server;
import io.github.applock.shedlock.ApplLockProvider;
import jakarta.transaction.TransactionManager;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import javax.sql.DataSource;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.support.LockException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.dao.CannotAcquireLockException;
import org.springframework.jdbc.core.ConnectionCallback;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.jdbc.datasource.LazyConnectionDataSourceProxy;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.jta.JtaTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** What the library leaves to a caller whose DataSource hands out the connection of a transaction. */
class JoinedTransactionTest {
    private static final Duration HOUR = Duration.ofHours(1);

    private final ApplObject object = new ApplObject("order", UUID.randomUUID().toString());
    private final ApplObject data = new ApplObject("data", object.id()); // whose row stands for the caller's data
    private final Owner desk = new Owner("JDOE", "CS");

    private interface Work {
        void run() throws Exception;
    }

    private static void run(PlatformTransactionManager manager, boolean commit, Work work) {
        new TransactionTemplate(manager).executeWithoutResult(status -> {
            try {
                work.run();
            } catch (Exception error) {
                throw new IllegalStateException(error);
            }
            if (!commit) {
                status.setRollbackOnly();
            }
        });
    }

    private void write(DataSource pool) throws SQLException {
        try (Connection connection = pool.getConnection()) {
            ApplLocks.in(connection).get(data, desk, HOUR);
        }
    }

    private void assertKept(Server server, boolean kept) throws SQLException {
        for (ApplObject each : List.of(data, object)) {
            assertThat(server.locks().release(each, desk.operator(), null).outcome().name()).isEqualTo(kept ? "RELEASED" : "FREE");
        }
    }

    /** The lock has the fate of the data that are written before or after it, and of those before a call that fails. A lease is refused. */
    private void isTheCallers(Server server, DataSource joined, PlatformTransactionManager manager) throws Exception {
        ApplLocks locks = ApplLocks.on(joined);
        for (List<Work> steps : List.<List<Work>>of(
                List.of(() -> write(joined), () -> locks.inquire(object), () -> locks.get(object, desk, HOUR)),
                List.of(() -> locks.inquire(object), () -> locks.get(object, desk, HOUR), () -> write(joined)),
                List.of(() -> refusesLeases(joined), () -> write(joined), () -> refusesLeases(joined), () -> locks.get(object, desk, HOUR)))) {
            for (boolean commit : List.of(false, true)) {
                run(manager, commit, () -> {
                    for (Work step : steps) {
                        step.run();
                    }
                });
                assertKept(server, commit);
            }
        }
        boolean goesOn = server != Server.POSTGRES; // after an error in a transaction
        run(manager, goesOn, () -> {
            write(joined);
            locks.get(object, desk, HOUR);
            assertThatThrownBy(() -> locks.get(new ApplObject("", "1"), desk, HOUR)).isInstanceOf(InvalidArgumentException.class);
        });
        assertKept(server, goesOn);
        refusesToProtectNothing(locks);
        long fence = server.locks().get(object, desk, HOUR).fence();
        run(manager, true, () -> {
            locks.serialize(object);
            locks.assertHeld(object, desk.operator(), fence);
            assertThatThrownBy(() -> server.locks().release(object, desk.operator(), fence)).matches(error -> ApplLocks.isTransient((Exception) error));
        });
        assertThat(server.locks().release(object, desk.operator(), fence).outcome().name()).isEqualTo("RELEASED");
        Lease[] lease = {Leases.on(joined).acquire(object)};
        run(manager, true, () -> assertThatThrownBy(lease[0]::release).isInstanceOf(InvalidArgumentException.class));
        while (server.locks().inquire(object).isPresent()) { // it is released in the background
            Thread.onSpinWait();
        }
    }

    private void refusesToProtectNothing(ApplLocks locks) {
        assertThatThrownBy(() -> locks.serialize(object)).isInstanceOf(InvalidArgumentException.class).hasMessageContaining("needs a transaction");
        assertThatThrownBy(() -> locks.assertHeld(object, desk.operator(), 1)).isInstanceOf(InvalidArgumentException.class)
                .hasMessageContaining("needs a transaction");
    }

    private void refusesLeases(DataSource joined) {
        assertThatThrownBy(() -> Leases.on(joined).tryAcquire(object)).isInstanceOf(InvalidArgumentException.class)
                .hasMessageContaining("the connection of a transaction").hasMessageContaining("pool behind it");
        assertThatThrownBy(new ApplLockRegistry(joined).obtain(object.id())::tryLock).isInstanceOf(CannotAcquireLockException.class)
                .hasCauseInstanceOf(InvalidArgumentException.class);
        LockConfiguration job = new LockConfiguration(Instant.now(), object.id(), HOUR, Duration.ZERO);
        assertThatThrownBy(() -> new ApplLockProvider(joined).lock(job)).isInstanceOf(LockException.class)
                .hasCauseInstanceOf(InvalidArgumentException.class);
    }

    /** Goal: Spring's transaction ends as Spring says. Method: its proxy around pools, at each of which the transaction begins otherwise. */
    @ParameterizedTest
    @EnumSource
    void springsTransactionIsSprings(Server server) throws Exception {
        for (boolean autocommit : List.of(true, false)) {
            try (HikariDataSource pool = server.newPool(1, autocommit)) {
                for (DataSource each : List.of(pool, new LazyConnectionDataSourceProxy(pool))) {
                    isTheCallers(server, new TransactionAwareDataSourceProxy(each), new DataSourceTransactionManager(each));
                }
            }
        }
    }

    /** Goal: a transaction of JTA ends as its manager says. Method: the pool and the manager of Quarkus. */
    @ParameterizedTest
    @EnumSource
    void transactionOfJTAIsItsManagers(Server server) throws Exception {
        TransactionManager manager = com.arjuna.ats.jta.TransactionManager.transactionManager();
        try (AgroalDataSource pool = AgroalDataSource.from(new AgroalDataSourceConfigurationSupplier().connectionPoolConfiguration(c -> c
                .maxSize(1).transactionIntegration(new NarayanaTransactionIntegration(manager, new TransactionSynchronizationRegistryImple()))
                .connectionFactoryConfiguration(f -> f.jdbcUrl(server.url()).principal(new NamePrincipal(server.user()))
                        .credential(new SimplePassword(server.password())))))) {
            isTheCallers(server, pool, new JtaTransactionManager(manager));
        }
    }

    /** Goal: so does any other transaction that has begun. Method: a DataSource that hands out the one connection of the caller's. */
    @ParameterizedTest
    @EnumSource
    void begunTransactionIsTheCallers(Server server) throws Exception {
        try (HikariDataSource pool = server.newPool(1, false); Connection connection = pool.getConnection()) {
            SingleConnectionDataSource own = new SingleConnectionDataSource(connection, true);
            write(own);
            long fence = ApplLocks.on(own).get(object, desk, HOUR).fence();
            ApplLocks.on(own).assertHeld(object, desk.operator(), fence);
            assertThatThrownBy(() -> Leases.on(own).tryAcquire(object)).isInstanceOf(InvalidArgumentException.class);
            connection.rollback();
            assertKept(server, false);
        }
    }

    /** Goal: calls on other connections than the transaction's are final. Method: a pool without autocommit, by itself and behind a proxy. */
    @ParameterizedTest
    @EnumSource
    void otherConnectionsAreFinal(Server server) throws Exception {
        try (HikariDataSource pool = server.newPool(2, false)) {
            for (DataSource other : List.of(pool, new LazyConnectionDataSourceProxy(pool))) {
                run(new DataSourceTransactionManager(pool), false, () -> {
                    write(new TransactionAwareDataSourceProxy(pool));
                    assertThat(ApplLocks.on(other).get(object, desk, HOUR).granted()).isTrue();
                    refusesToProtectNothing(ApplLocks.on(other));
                });
                assertThat(server.locks().release(object, desk.operator(), null).outcome().name()).isEqualTo("RELEASED");
            }
        }
    }

    @Configuration
    @EnableTransactionManagement
    static class Context {
        @Bean
        DataSourceTransactionManager transactions(DataSource pool) {
            return new DataSourceTransactionManager(pool);
        }

        @Bean
        Orders orders(DataSource pool) {
            return new Orders(new JdbcTemplate(pool));
        }
    }

    static class Orders {
        private final JdbcTemplate jdbc;

        Orders(JdbcTemplate jdbc) {
            this.jdbc = jdbc;
        }

        /** Pays an order under its lock. If that is lost, the LostException rolls back. */
        @Transactional
        public void pay(String id, String operator, long fence) {
            jdbc.update("UPDATE orders SET state = 'paid' WHERE id = ?", id);
            jdbc.execute((ConnectionCallback<Void>) connection -> {
                ApplLocks.in(connection).assertHeld(new ApplObject("order", id), operator, fence);
                return null;
            });
        }

        /** Does the same without a JdbcTemplate around the library. */
        @Transactional
        public void payByHand(String id, String operator, long fence) throws SQLException {
            jdbc.update("UPDATE orders SET state = 'paid' WHERE id = ?", id);
            ApplLocks.in(DataSourceUtils.getConnection(jdbc.getDataSource())).assertHeld(new ApplObject("order", id), operator, fence);
        }

        String state(String id) {
            return jdbc.queryForObject("SELECT state FROM orders WHERE id = ?", String.class, id);
        }
    }

    /** Goal: a LostException passes JdbcTemplate and Spring's transaction, which it rolls back. Method: a fence of no grant; then the right one. */
    @ParameterizedTest
    @EnumSource
    void lossRollsBack(Server server) throws Exception {
        server.execute("CREATE TABLE IF NOT EXISTS orders (id VARCHAR(36) PRIMARY KEY, state VARCHAR(10))",
                "INSERT INTO orders VALUES ('" + object.id() + "', 'new')");
        long fence = server.locks().get(object, desk, HOUR).fence();
        try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
            context.registerBean(DataSource.class, () -> server.newPool(1, true));
            context.register(Context.class);
            context.refresh();
            Orders orders = context.getBean(Orders.class);
            assertThatThrownBy(() -> orders.payByHand(object.id(), desk.operator(), 7)).isInstanceOf(LostException.class);
            assertThat(orders.state(object.id())).isEqualTo("new");
            assertThatThrownBy(() -> orders.pay(object.id(), desk.operator(), 7)).isInstanceOf(LostException.class);
            assertThat(orders.state(object.id())).isEqualTo("new");
            orders.pay(object.id(), desk.operator(), fence);
            assertThat(orders.state(object.id())).isEqualTo("paid");
        }
    }
}
