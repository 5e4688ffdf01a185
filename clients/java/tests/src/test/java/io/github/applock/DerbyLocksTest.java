package io.github.applock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What several connections to Derby do to each other. The shared scenarios ask the rest: clients/derby_test.go. */
class DerbyLocksTest {
    private static final Duration MINUTE = Duration.ofMinutes(1);
    private static final int THREADS = 8;
    private static final int ROUNDS = 50;

    private final String url = "jdbc:derby:memory:" + UUID.randomUUID();
    private final ApplObject object = new ApplObject("BondBO", "DK0015966592");
    private final ExecutorService threads = Executors.newFixedThreadPool(THREADS);

    @BeforeEach
    void install() throws SQLException {
        try (Connection connection = DriverManager.getConnection(url + ";create=true"); Statement statement = connection.createStatement()) {
            DerbyLocks.install(connection);
            statement.execute("CREATE TABLE counter (n INT)");
            statement.execute("INSERT INTO counter VALUES (0)");
        }
    }

    @AfterEach
    void drop() {
        threads.shutdownNow();
        assertThatThrownBy(() -> DriverManager.getConnection(url + ";drop=true")).hasFieldOrPropertyWithValue("SQLState", "08006");
    }

    private Connection connect() throws SQLException {
        Connection connection = DriverManager.getConnection(url);
        connection.setAutoCommit(false);
        return connection;
    }

    private interface Step {
        void take(Connection connection, DerbyLocks locks) throws Exception;
    }

    private void transaction(Step step) throws Exception {
        try (Connection connection = connect()) {
            try {
                step.take(connection, DerbyLocks.in(connection));
                connection.commit();
            } finally {
                connection.rollback();
            }
        }
    }

    private void atOnce(Callable<Void> task) throws Exception {
        List<Callable<Void>> tasks = new ArrayList<>();
        for (int thread = 0; thread < THREADS; thread++) {
            tasks.add(task);
        }
        for (Future<Void> each : threads.invokeAll(tasks, 5, TimeUnit.MINUTES)) {
            each.get();
        }
    }

    /** Goal: the usual way, as the page shows it. Method: another transaction sees the lock. */
    @Test
    void usualWay() throws Exception {
        try (Connection connection = DriverManager.getConnection(url)) {
            connection.setAutoCommit(false);
            DerbyLocks locks = DerbyLocks.in(connection);
            Answer lock = locks.get(new ApplObject("customer", "42"), new Owner("JDOE", "CS"), Duration.ofHours(1));
            connection.commit();
            assertThat(lock.outcome()).isEqualTo(Outcome.ACQUIRED);
        }
        transaction((connection, locks) -> assertThat(locks.inquire(new ApplObject("customer", "42"))).isPresent());
    }

    private static void increment(Connection connection) throws SQLException {
        int n = read(connection);
        Thread.yield();
        write(connection, n + 1);
    }

    private static int read(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT n FROM counter WITH UR")) { // as if the row did not protect itself
            row.next();
            return row.getInt(1);
        }
    }

    private static void write(Connection connection, int n) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("UPDATE counter SET n = " + n);
        }
    }

    private int counted() throws Exception {
        int[] n = {0};
        transaction((connection, locks) -> n[0] = read(connection));
        return n[0];
    }

    /** Goal: one transaction at a time is inside, at each isolation level, and nothing is left behind. Method: count together; some roll back. */
    @ParameterizedTest
    @ValueSource(ints = {Connection.TRANSACTION_READ_COMMITTED, Connection.TRANSACTION_REPEATABLE_READ, Connection.TRANSACTION_SERIALIZABLE})
    void serializes(int isolation) throws Exception {
        atOnce(() -> {
            for (int i = 0; i < ROUNDS; i++) {
                boolean inVain = i % 5 == 0;
                transaction((connection, locks) -> {
                    connection.setTransactionIsolation(isolation);
                    locks.serialize(object);
                    locks.serialize(object); // at once
                    increment(connection);
                    if (inVain) {
                        connection.rollback();
                    }
                });
            }
            return null;
        });
        assertThat(counted()).isEqualTo(THREADS * ROUNDS * 4 / 5);
        transaction((connection, locks) -> {
            try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("SELECT * FROM appl_lock_serialize")) {
                assertThat(rows.next()).isFalse();
            }
        });
    }

    /** Goal: one operator at a time has the lock, and fences grow. Method: count together; each get and each release is a transaction. */
    @Test
    void getExcludes() throws Exception {
        List<Long> fences = new ArrayList<>(); // guarded by the lock
        atOnce(() -> {
            Owner own = Owner.unique("thread", "");
            for (int i = 0; i < ROUNDS / 2; i++) {
                Answer[] got = {null};
                while (got[0] == null || !got[0].granted()) {
                    transaction((connection, locks) -> got[0] = locks.get(object, own, MINUTE));
                }
                transaction((connection, locks) -> increment(connection));
                fences.add(got[0].fence());
                transaction((connection, locks) -> {
                    locks.assertHeld(object, own.operator(), got[0].fence());
                    assertThat(locks.release(object, own.operator(), got[0].fence()).outcome()).isEqualTo(Outcome.RELEASED);
                });
            }
            return null;
        });
        assertThat(counted()).isEqualTo(THREADS * ROUNDS / 2);
        assertThat(fences).isSorted().doesNotHaveDuplicates();
    }

    /** Goal: without a lock the counter loses, so that the tests above show something. Method: two transactions that both have read. */
    @Test
    void counterIsNotAtomic() throws Exception {
        transaction((first, itsLocks) -> transaction((second, locks) -> {
            int n = read(first);
            int same = read(second);
            write(first, n + 1);
            first.commit();
            write(second, same + 1);
        }));
        assertThat(counted()).isEqualTo(1);
    }

    /** Goal: a lock comes and goes with the transaction. Method: roll back a get, and a release. */
    @Test
    void rollbackUndoes() throws Exception {
        transaction((connection, locks) -> {
            assertThat(locks.get(object, new Owner("JDOE", ""), MINUTE).granted()).isTrue();
            connection.rollback();
            assertThat(locks.inquire(object)).isEmpty();
            locks.get(object, new Owner("JDOE", ""), MINUTE);
            connection.commit();
            locks.release(object, "JDOE", null);
            connection.rollback();
            assertThat(locks.inquire(object)).isPresent();
        });
    }

    /** Goal: whoever asks while another transaction decides waits, and is then told. Method: a get that is not committed yet. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void waitsForTheOther(boolean commits) throws Exception {
        Future<Answer> waiting;
        try (Connection first = connect()) {
            DerbyLocks.in(first).get(object, new Owner("JDOE", "CS"), MINUTE);
            waiting = threads.submit(() -> {
                Answer[] answer = {null};
                transaction((connection, locks) -> answer[0] = locks.get(object, new Owner("ASMITH", ""), MINUTE));
                return answer[0];
            });
            awaitAWait(first);
            if (commits) {
                first.commit();
            } else {
                first.rollback();
            }
            first.rollback();
        }
        Answer answer = waiting.get(1, TimeUnit.MINUTES);
        assertThat(answer.outcome()).isEqualTo(commits ? Outcome.HELD : Outcome.ACQUIRED);
        assertThat(answer.holder()).isEqualTo(commits ? Optional.of(new Owner("JDOE", "CS")) : Optional.empty());
    }

    private void awaitAWait(Connection connection) throws Exception {
        try (Statement statement = connection.createStatement()) {
            while (true) {
                try (ResultSet rows = statement.executeQuery("SELECT 1 FROM SYSCS_DIAG.LOCK_TABLE WHERE state = 'WAIT'")) {
                    if (rows.next()) {
                        return;
                    }
                }
            }
        }
    }

    /** Goal: what is asserted stays so to the end of the transaction. Method: a release that runs into Derby's lock timeout meanwhile. */
    @Test
    void assertKeepsTheGrant() throws Exception {
        transaction((connection, locks) -> {
            try (Statement statement = connection.createStatement()) {
                statement.execute("CALL SYSCS_UTIL.SYSCS_SET_DATABASE_PROPERTY('derby.locks.waitTimeout', '1')");
            }
            long fence = locks.get(object, new Owner("JDOE", ""), MINUTE).fence();
            connection.commit();
            locks.assertHeld(object, "JDOE", fence);
            Future<?> other = threads.submit(() -> assertThatThrownBy(
                    () -> transaction((second, itsLocks) -> itsLocks.release(object, "JDOE", null)))
                    .isInstanceOfSatisfying(SQLException.class, error -> {
                        assertThat(error.getSQLState()).isEqualTo("40XL1");
                        assertThat(ApplLocks.isTransient(error)).isTrue();
                    }));
            other.get(1, TimeUnit.MINUTES);
        });
    }

    /** Goal: an operation is never half of one. Method: a connection with autocommit. */
    @Test
    void needsATransaction() throws Exception {
        try (Connection connection = DriverManager.getConnection(url)) {
            assertThatThrownBy(() -> DerbyLocks.in(connection)).isInstanceOf(InvalidArgumentException.class);
        }
    }
}
