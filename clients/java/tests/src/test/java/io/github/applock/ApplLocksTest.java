package io.github.applock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransientException;
import java.sql.Statement;
import java.sql.Types;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeSet;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the shared scenarios do not ask of ApplLocks, and what the drivers do to whoever calls the procedures without it. */
class ApplLocksTest {
    private static final Duration HOUR = Duration.ofHours(1);

    private final ApplObject object = new ApplObject("customer", UUID.randomUUID().toString());
    private final Owner desk = new Owner("JDOE", "CS");

    /**
     * Goal: calls on connections without autocommit are final, whoever turned it off, and leave it off; a failure leaves no transaction behind.
     * Method: pools of one connection, with it turned off by the pool, or by a statement, which only one of the drivers notices.
     */
    @ParameterizedTest
    @EnumSource
    void poolWithoutAutocommit(Server server) throws SQLException {
        List<HikariDataSource> pools = new ArrayList<>(List.of(server.newPool(1, false)));
        if (server != Server.POSTGRES) {
            for (String driver : List.of("mariadb", "mysql")) {
                pools.add(server.newPool(1, false, by(driver, server), null));
                pools.add(server.newPool(1, true, by(driver, server), "SET autocommit = 0"));
            }
        }
        for (HikariDataSource pool : pools) {
            try (pool) {
                ApplLocks locks = ApplLocks.on(pool);
                assertThatThrownBy(() -> locks.get(new ApplObject("", "1"), desk, HOUR)).isInstanceOf(InvalidArgumentException.class);
                for (int i = 0; i < 2; i++) {
                    assertThat(locks.get(object, desk, HOUR).outcome()).isEqualTo(Outcome.ACQUIRED);
                    assertThat(server.locks().release(object, desk.operator(), null).outcome()).isEqualTo(Outcome.RELEASED);
                }
                try (Connection connection = pool.getConnection(); Statement statement = connection.createStatement()) {
                    assertThat(connection.getAutoCommit()).isEqualTo(pool.isAutoCommit());
                    boolean reset = pool.isAutoCommit() && pool.getJdbcUrl().startsWith("jdbc:mariadb:"); // by the pool, whose driver knows
                    assertThat(server != Server.POSTGRES && isSetAtServer(statement)).isEqualTo(reset);
                }
            }
        }
    }

    private static boolean isSetAtServer(Statement statement) throws SQLException {
        try (ResultSet row = statement.executeQuery("SELECT @@autocommit")) {
            return row.next() && row.getBoolean(1);
        }
    }

    /**
     * Goal: on a connection whose driver does not know that autocommit is off, a call is final, unless the caller has begun a transaction;
     * and a lease is refused. Method: Connector/J after a SET, without a transaction and in one that rolls back.
     */
    @ParameterizedTest
    @EnumSource(names = "POSTGRES", mode = EnumSource.Mode.EXCLUDE)
    void connectionWithoutAutocommit(Server server) throws SQLException {
        try (Connection connection = DriverManager.getConnection(by("mysql", server), server.user(), server.password());
                Statement statement = connection.createStatement()) {
            statement.execute("SET autocommit = 0");
            ApplLocks locks = ApplLocks.in(connection);
            locks.get(object, desk, HOUR);
            assertThat(server.locks().release(object, desk.operator(), null).outcome()).isEqualTo(Outcome.RELEASED);
            statement.execute("START TRANSACTION");
            locks.get(object, desk, HOUR);
            statement.execute("ROLLBACK");
            assertThat(server.locks().inquire(object)).isEmpty();
            assertThat(isSetAtServer(statement)).isFalse();
            for (boolean told : List.of(false, true)) { // what the driver knows
                connection.setAutoCommit(!told);
                statement.execute("SET autocommit = 0");
                assertThatThrownBy(() -> Leases.by(ApplLocks.in(connection)).tryAcquire(object)).isInstanceOf(InvalidArgumentException.class)
                        .hasMessageContaining("a lease needs a pool, or a connection with autocommit");
            }
        }
    }

    /**
     * Goal: a call that ends with an error leaves no transaction to the pool's next caller. Method: a procedure of the test's that begins one
     * and ends with an error, or whose answer ends with an Error in the driver; then a get on the same connection.
     */
    @ParameterizedTest
    @EnumSource(names = "POSTGRES", mode = EnumSource.Mode.EXCLUDE)
    void failureUnderAutocommitLeavesNoTransaction(Server server) throws SQLException {
        server.execute("CREATE DATABASE IF NOT EXISTS failing", "DROP PROCEDURE IF EXISTS failing.inquire_appl_lock_row",
                "DROP PROCEDURE IF EXISTS failing.appl_lock_version",
                "CREATE PROCEDURE failing.appl_lock_version() SELECT 1",
                "CREATE PROCEDURE failing.inquire_appl_lock_row(object_type TEXT, object_id TEXT)"
                        + " BEGIN START TRANSACTION; SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = 'full'; END");
        for (boolean autocommit : List.of(true, false)) {
            try (HikariDataSource pool = server.newPool(1, autocommit)) {
                Broken broken = new Broken(pool);
                ApplLocks locks = ApplLocks.on(broken.pool());
                for (Throwable error : Arrays.asList(null, new StackOverflowError("full"), new IllegalStateException("full"))) {
                    broken.breakOff(error == null ? "" : "inquire_appl_lock_row", error);
                    assertThatThrownBy(() -> locks.schema("failing").inquire(object)).hasMessageContaining("full");
                    assertThat(locks.get(object, desk, HOUR).outcome()).isEqualTo(Outcome.ACQUIRED);
                    assertThat(server.locks().release(object, desk.operator(), null).outcome()).isEqualTo(Outcome.RELEASED);
                }
            }
        }
    }

    /** Goal: in a transaction of the caller's, a lock comes with the data. Method: roll back, and then commit. */
    @ParameterizedTest
    @EnumSource
    void transactionIsTheCallers(Server server) throws SQLException {
        try (Connection connection = server.pool().getConnection()) {
            connection.setAutoCommit(false);
            ApplLocks locks = ApplLocks.in(connection);
            assertThat(locks.get(object, desk, HOUR).outcome()).isEqualTo(Outcome.ACQUIRED);
            connection.rollback();
            assertThat(server.locks().inquire(object)).isEmpty();
            locks.get(object, desk, HOUR);
            connection.commit();
            assertThat(server.locks().inquire(object)).isPresent();
        }
    }

    /** Goal: what lasts to the end of a transaction is never called for nothing. Method: where its transaction would end with the call. */
    @ParameterizedTest
    @EnumSource
    void serializeAndAssertNeedATransaction(Server server) throws SQLException {
        long fence = server.locks().get(object, desk, HOUR).fence();
        try (Connection connection = server.pool().getConnection()) {
            for (ApplLocks locks : List.of(server.locks(), ApplLocks.in(connection))) {
                assertThatThrownBy(() -> locks.serialize(object)).isInstanceOf(InvalidArgumentException.class)
                        .hasMessageContaining("serialize_appl_lock needs a transaction");
                assertThatThrownBy(() -> locks.assertHeld(object, desk.operator(), fence)).isInstanceOf(InvalidArgumentException.class)
                        .hasMessageContaining("assert_appl_lock needs a transaction");
            }
            connection.setAutoCommit(false);
            ApplLocks.in(connection).serialize(object);
            ApplLocks.in(connection).assertHeld(object, desk.operator(), fence);
            assertThatThrownBy(() -> ApplLocks.in(connection).assertHeld(object, desk.operator(), 7)).isInstanceOf(LostException.class);
            connection.rollback();
            connection.setAutoCommit(true);
        }
    }

    /** Goal: nobody takes a refusal for a grant. Method: ask with what is held by somebody else, and see what is free. */
    @ParameterizedTest
    @EnumSource
    void refusalIsNotGranted(Server server) throws SQLException {
        ApplLocks locks = server.locks();
        Owner other = new Owner("ASMITH", "EU");
        Answer lock = locks.get(object, desk, HOUR);
        assertThat(lock.holder()).isEmpty();
        assertThat(locks.get(object, other, HOUR)).matches(answer -> !answer.granted() && answer.holder().orElseThrow().equals(desk));
        assertThat(locks.get(object, desk, HOUR, true).granted()).isFalse();
        List<Renewal.Result> renewed = locks.renew(List.of(new Renewal.Grant(object, other.operator(), lock.fence(), HOUR)));
        assertThat(renewed).singleElement().matches(result -> !result.granted() && result.outcome() == Outcome.HELD
                && result.holder().orElseThrow().equals(desk));
        Permit permit = locks.permit(object, 1, desk, HOUR);
        assertThat(permit).matches(Permit::granted).matches(answer -> answer.holders().isEmpty() && answer.fence() > 0);
        Permit full = locks.permit(object, 1, other, HOUR);
        assertThat(full).matches(answer -> !answer.granted() && answer.outcome() == Outcome.FULL && answer.slot() == null);
        assertThat(full.holders()).singleElement().matches(holder -> holder.owner().equals(desk) && holder.slot().equals(permit.slot()));
        LockChange.Page dry = new LockChange.Page(object.type(), null, null, true);
        assertThat(locks.releaseAll(desk.operator(), null, null, dry)).filteredOn(change -> change.object().equals(object))
                .singleElement().matches(change -> !change.granted() && change.outcome() == Outcome.WOULD_RELEASE);
        assertThat(locks.release(object, other.operator(), null).granted()).isFalse();
        assertThat(locks.release(object, desk.operator(), null).granted()).isTrue();
        assertThat(locks.inquire(object)).isEmpty();
    }

    /** Goal: an outcome of a newer database is no answer that somebody misreads. Method: a procedure of the test's that answers so. */
    @Test
    void unknownOutcomeIsAnError() throws SQLException {
        installAnother("newer", 1, "SELECT 'Y', 'HALVED', '', ''");
        assertThatThrownBy(() -> Server.POSTGRES.locks().schema("newer").note(object, "JDOE", null, ""))
                .isInstanceOf(VersionException.class).hasMessageContaining("HALVED").hasMessageContaining("the database is newer");
    }

    private static void installAnother(String schema, int contract, String answer) throws SQLException {
        Server.POSTGRES.execute("CREATE SCHEMA " + schema,
                "CREATE FUNCTION " + schema + ".appl_lock_version() RETURNS integer LANGUAGE sql AS 'SELECT " + contract + "'",
                "CREATE FUNCTION " + schema + ".note_appl_lock_row(text, text, text, bigint, text) RETURNS TABLE (p_ok_fl text, p_outcome text,"
                        + " p_old_operator_id text, p_old_department_id text) LANGUAGE sql AS $$" + answer + "$$");
    }

    /** Goal: procedures of another version are found out at once, and who is older. Method: versions of the test's; then one that is mended. */
    @Test
    void versionIsCompared() throws SQLException {
        installAnother("older", 0, "SELECT 'Y', 'NOTED', '', ''");
        ApplLocks locks = Server.POSTGRES.locks().schema("older");
        for (int i = 0; i < 2; i++) { // the first call is not the only one that compares
            assertThatThrownBy(() -> locks.note(object, "JDOE", null, "")).isInstanceOf(VersionException.class)
                    .hasMessageContaining("applockctl migrate up");
        }
        Server.POSTGRES.execute("CREATE OR REPLACE FUNCTION older.appl_lock_version() RETURNS integer LANGUAGE sql AS 'SELECT 2'");
        assertThatThrownBy(locks::check).isInstanceOf(VersionException.class).hasMessageContaining("update io.github.applock");
        Server.POSTGRES.execute("CREATE OR REPLACE FUNCTION older.appl_lock_version() RETURNS integer LANGUAGE sql AS 'SELECT 1'");
        assertThat(locks.note(object, "JDOE", null, "").granted()).isTrue();
        for (Server server : Server.values()) {
            server.locks().check();
        }
    }

    /** Goal: another installation is another one. Method: the same schema by its name, and one that does not exist. */
    @ParameterizedTest
    @EnumSource
    void schemaIsTheCallers(Server server) throws SQLException {
        String name = ApplLocks.DEFAULT_SCHEMA;
        if (server != Server.POSTGRES) {
            try (Connection connection = server.pool().getConnection()) {
                name = connection.getCatalog();
            }
        }
        assertThat(server.locks().schema(name).get(object, desk, HOUR).granted()).isTrue();
        assertThatThrownBy(() -> server.locks().schema("no\"such`one").get(object, desk, HOUR)).isInstanceOf(SQLException.class);
    }

    /** Goal: a busy row is worth another try, and a misuse is not. Method: a transaction that keeps the row; a blank name. */
    @ParameterizedTest
    @EnumSource
    void transientIsToldFromMisuse(Server server) throws SQLException {
        try (Connection busy = server.pool().getConnection()) {
            busy.setAutoCommit(false);
            ApplLocks.in(busy).get(object, desk, HOUR);
            assertThatThrownBy(() -> server.locks().get(object, new Owner("ASMITH", ""), HOUR))
                    .isInstanceOfSatisfying(SQLException.class, error -> assertThat(ApplLocks.isTransient(error)).isTrue());
            busy.rollback();
            busy.setAutoCommit(true);
        }
        assertThatThrownBy(() -> server.locks().get(new ApplObject("", "1"), desk, HOUR))
                .isInstanceOfSatisfying(InvalidArgumentException.class, error -> {
                    assertThat(error.getSQLState()).isEqualTo(InvalidArgumentException.STATE);
                    assertThat(error).hasMessage("get_appl_lock: p_object_type must not be empty").hasCauseInstanceOf(SQLException.class);
                    assertThat(ApplLocks.isTransient(error)).isFalse();
                });
    }

    /** Goal: who has lost a grant is told apart from who made a mistake. Method: assert one that has expired. */
    @ParameterizedTest
    @EnumSource
    void lossIsNoMisuse(Server server) throws SQLException {
        long fence = server.locks().get(object, desk, HOUR).fence();
        server.expire(object);
        try (Connection connection = server.pool().getConnection()) {
            connection.setAutoCommit(false);
            assertThatThrownBy(() -> ApplLocks.in(connection).assertHeld(object, desk.operator(), fence)).isInstanceOf(LostException.class)
                    .isInstanceOf(ApplLockException.class).hasCauseInstanceOf(SQLException.class);
            connection.rollback();
            connection.setAutoCommit(true);
        }
    }

    /** Goal: a driver's error of contention is worth another try for everybody. Method: one that a procedure of the test's raises. */
    @Test
    void contentionIsTransient() throws SQLException {
        installAnother("contended", 1, "SELECT '', '', '', ''");
        Server.POSTGRES.execute(
                "CREATE FUNCTION contended.inquire_appl_lock_row(text, text) RETURNS TABLE (p_ok_fl text) LANGUAGE plpgsql"
                        + " AS $$BEGIN RAISE EXCEPTION 'again' USING ERRCODE = 'LK003'; END$$");
        assertThatThrownBy(() -> Server.POSTGRES.locks().schema("contended").inquire(object))
                .isInstanceOfSatisfying(ContentionException.class, error -> assertThat(ApplLocks.isTransient(error)).isTrue());
    }

    /** Goal: a ttl is what was asked for. Method: parts of a second, which the database does not count. */
    @Test
    void partsOfASecondAreRefused() throws SQLException {
        assertThat(Rows.seconds("ttl", null)).isNull();
        assertThat(Rows.seconds("ttl", Duration.ofSeconds(7))).isEqualTo(7);
        assertThatThrownBy(() -> Server.POSTGRES.locks().get(object, desk, Duration.ofMillis(6001)))
                .isInstanceOf(InvalidArgumentException.class).hasMessageContaining("ttl must be whole seconds");
        assertThat(Server.POSTGRES.locks().release(object, desk.operator(), 7).outcome()).isEqualTo(Outcome.FREE); // an int is whole, too
        assertThatThrownBy(() -> Server.POSTGRES.locks().release(object, desk.operator(), 7.5))
                .isInstanceOf(InvalidArgumentException.class).hasMessageContaining("not 7.5");
        assertThat(Server.POSTGRES.locks().inquire(object)).isEmpty();
    }

    /** Goal: an owner of a program's is nobody else, and fits. Method: names that are too long, also of characters of two units. */
    @Test
    void uniqueOwnersDiffer() throws SQLException {
        assertThat(Owner.unique("web", "")).isNotEqualTo(Owner.unique("web", ""));
        for (String name : List.of("x".repeat(300), "\uD83D\uDE00".repeat(300))) {
            Owner owner = Owner.unique(name, "");
            assertThat(owner.operator().codePointCount(0, owner.operator().length())).isEqualTo(64);
            Server.POSTGRES.locks().get(object, owner, HOUR);
            assertThat(Server.POSTGRES.locks().inquire(object).orElseThrow().owner()).isEqualTo(owner);
            Server.POSTGRES.expire(object);
        }
        assertThat(ApplObject.parse("a:b:c")).isEqualTo(new ApplObject("a", "b:c")).hasToString("a:b:c");
        assertThatThrownBy(() -> ApplObject.parse("a")).isInstanceOf(IllegalArgumentException.class);
    }

    // What follows calls the procedures without ApplLocks.

    /** Goal: what a caller of pgjdbc has to know. Method: each way of calling that does not work, and beside it the one that does. */
    @Test
    void callsOfPgjdbc() throws SQLException {
        Server server = Server.POSTGRES;
        String call = "CALL applock.get_appl_lock(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        try (Connection connection = DriverManager.getConnection(server.url(), server.user(), server.password())) {
            assertThatThrownBy(() -> got(connection, call, Types.VARCHAR, Types.TIMESTAMP)).hasFieldOrPropertyWithValue("SQLState", "42821");
            assertThat(got(connection, call, Types.CHAR, Types.TIMESTAMP)).isEqualTo("Y RENEWED"); // the call before has locked
            assertThatThrownBy(() -> got(connection, "{" + call + "}", Types.CHAR, Types.TIMESTAMP)).isInstanceOf(SQLException.class);
            try (PreparedStatement select = connection.prepareStatement("SELECT * FROM applock.inquire_appl_lock_row(?, ?)")) {
                select.setString(1, object.type());
                select.setObject(2, 42);
                assertThatThrownBy(select::executeQuery).hasFieldOrPropertyWithValue("SQLState", "42883");
                select.setString(2, String.valueOf(42));
                select.executeQuery();
            }
        }
        String url = server.url() + "?escapeSyntaxCallMode=call";
        try (Connection connection = DriverManager.getConnection(url, server.user(), server.password())) {
            assertThat(got(connection, "{" + call + "}", Types.CHAR, Types.TIMESTAMP)).isEqualTo("Y RENEWED");
        }
    }

    private String got(Connection connection, String call, int flag, int time) throws SQLException {
        try (CallableStatement statement = connection.prepareCall(call)) {
            statement.setString(1, object.type());
            statement.setString(2, object.id());
            statement.setString(3, "JDOE");
            statement.setString(4, "CS");
            statement.setLong(5, 3600);
            statement.setString(6, "N");
            int[] types = {flag, Types.VARCHAR, Types.VARCHAR, Types.VARCHAR, Types.BIGINT, time, time, Types.BIGINT, Types.VARCHAR};
            for (int i = 0; i < types.length; i++) {
                statement.registerOutParameter(7 + i, types[i]);
            }
            statement.execute();
            return statement.getString(7) + " " + statement.getString(8);
        }
    }

    /** Goal: the drivers of MySQL and MariaDB call the procedures. Method: both, on both products. */
    @ParameterizedTest
    @ValueSource(strings = {"mariadb", "mysql"})
    void callsOfMySQL(String driver) throws SQLException {
        for (Server server : List.of(Server.MARIADB, Server.MYSQL)) {
            try (Connection connection = DriverManager.getConnection(by(driver, server), server.user(), server.password())) {
                String answer = got(connection, "{CALL get_appl_lock(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)}", Types.CHAR, Types.TIMESTAMP);
                assertThat(answer).isEqualTo("Y ACQUIRED");
                server.expire(object);
            }
        }
    }

    private static String by(String driver, Server server) {
        return server.url().replaceFirst("^jdbc:\\w+:", "jdbc:" + driver + ":");
    }

    /**
     * Goal: a user with EXECUTE alone gets locks. Method: Connector/J's CallableStatement wants to read the body, which MariaDB does not show;
     * a property has it believe the parameters instead, and the row form asks for nothing.
     */
    @ParameterizedTest
    @EnumSource(names = {"MARIADB", "MYSQL"})
    void connectorJWithExecuteAlone(Server server) throws SQLException {
        String user = "u" + UUID.randomUUID().toString().substring(0, 8);
        server.execute("CREATE USER '" + user + "'@'%' IDENTIFIED BY 'Secret-123'",
                "GRANT EXECUTE ON PROCEDURE get_appl_lock TO '" + user + "'@'%'",
                "GRANT EXECUTE ON PROCEDURE get_appl_lock_row TO '" + user + "'@'%'");
        String url = by("mysql", server) + "?allowPublicKeyRetrieval=true";
        String call = "{CALL get_appl_lock(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)}";
        try {
            try (Connection connection = DriverManager.getConnection(url, user, "Secret-123")) {
                if (server == Server.MARIADB) {
                    assertThatThrownBy(() -> got(connection, call, Types.CHAR, Types.TIMESTAMP))
                            .hasFieldOrPropertyWithValue("SQLState", "S1000");
                }
                assertThat(ApplLocks.in(connection).get(object, desk, HOUR).outcome()).isEqualTo(Outcome.ACQUIRED);
            }
            try (Connection connection = DriverManager.getConnection(url + "&noAccessToProcedureBodies=true", user, "Secret-123")) {
                assertThat(got(connection, call, Types.CHAR, Types.TIMESTAMP)).isEqualTo("Y RENEWED");
            }
        } finally {
            server.execute("DROP USER '" + user + "'@'%'");
        }
    }

    /** Goal: nobody retries a misuse because its exception says so. Method: the exception that each driver makes of LK001. */
    @Test
    void misuseOfMariaDBsDriverLooksTransient() throws SQLException {
        assertThat((Exception) misuse(Server.MARIADB.url(), Server.MARIADB)).isInstanceOf(SQLTransientException.class);
        assertThat((Exception) misuse(by("mysql", Server.MYSQL), Server.MYSQL)).isNotInstanceOf(SQLTransientException.class);
        assertThat((Exception) misuse(Server.POSTGRES.url(), Server.POSTGRES)).isNotInstanceOf(SQLTransientException.class);
    }

    private SQLException misuse(String url, Server server) throws SQLException {
        String sql = server == Server.POSTGRES ? "SELECT * FROM applock.inquire_appl_lock_row('', '')" : "CALL inquire_appl_lock_row('', '')";
        try (Connection connection = DriverManager.getConnection(url, server.user(), server.password());
                Statement statement = connection.createStatement()) {
            statement.executeQuery(sql);
            throw new AssertionError("no error");
        } catch (SQLException error) {
            assertThat(error.getSQLState()).isEqualTo(InvalidArgumentException.STATE);
            return error;
        }
    }

    /**
     * Goal: times are UTC, whatever the program's zone, which is Panama's in these tests. Method: what getTimestamp says without and with
     * Connector/J's property, and what ApplLocks says.
     */
    @Test
    void timesAreUTC() throws SQLException {
        Instant end = Instant.now().plus(1, ChronoUnit.HOURS);
        List<Boolean> near = new ArrayList<>();
        for (String url : List.of(Server.MYSQL.url(), Server.MYSQL.url() + "?connectionTimeZone=UTC")) {
            try (Connection connection = DriverManager.getConnection(url, Server.MYSQL.user(), Server.MYSQL.password());
                    PreparedStatement statement = connection.prepareStatement("CALL get_appl_lock_row(?, ?, 'JDOE', '', 3600, NULL)")) {
                statement.setString(1, object.type());
                statement.setString(2, object.id());
                try (ResultSet row = statement.executeQuery()) {
                    row.next();
                    near.add(isNear(row.getTimestamp("p_expires_ts").toInstant(), end));
                }
                assertThat(isNear(ApplLocks.in(connection).inquire(object).orElseThrow().expires(), end)).isTrue();
            }
        }
        assertThat(near).containsExactly(false, true);
        for (Server server : Server.values()) {
            assertThat(isNear(server.locks().get(object, desk, HOUR).expires(), end)).isTrue();
        }
    }

    private static final List<String> CLOCK_CHANGES = List.of( // as UTC, in hours that Amsterdam and New York skip or have twice
            "2031-03-30 02:30:00.000001", "2031-10-26 02:30:00.123456", "2031-03-09 02:30:00", "2031-11-02 01:30:00.5",
            "2031-10-26 00:30:00", "2031-10-26 01:30:00"); // and the two instants of one of these hours

    /** Reads every kind of time of an object in every way that there is, and returns which there are in how many reads. */
    private static String times(ApplLocks locks, ApplObject object) throws SQLException {
        Filter filter = Filter.ALL.where("object_type", object.type()).where("object_id", object.id());
        Owner other = new Owner("ASMITH", "");
        HeldLock held = locks.inquire(object).orElseThrow();
        List<Instant> times = new ArrayList<>(List.of(held.acquired(), held.locked(), held.expires()));
        locks.live(filter).forEach(each -> times.addAll(List.of(each.acquired(), each.locked(), each.expires())));
        locks.waiting(filter).forEach(each -> times.addAll(List.of(each.since(), each.until())));
        locks.asking(filter).forEach(each -> times.addAll(List.of(each.since(), each.until())));
        locks.viewers(filter).forEach(each -> times.add(each.since()));
        locks.history(filter).forEach(each -> times.add(each.at()));
        locks.inbox("FORMER-" + object.id(), null, null).forEach(each -> times.add(each.at()));
        times.add(locks.get(object, other, null).expires());
        times.add(locks.transfer(object, other.operator(), other, null).expires());
        times.add(locks.take(object, other, "theirs", 1L, null).expires());
        times.add(locks.answer(object, other.operator(), 1L, other.operator(), null, Asker.Reply.NO, null).expires());
        locks.renew(List.of(new Renewal.Grant(object, other.operator(), 1L, HOUR))).forEach(each -> times.add(each.expires()));
        locks.releaseAll(held.owner().operator(), null, null, new LockChange.Page(null, null, null, true))
                .forEach(each -> times.add(each.expires()));
        locks.permit(new ApplObject("permit", object.id()), 1, other, null).holders().forEach(each -> times.add(each.expires()));
        locks.see(object, held.owner(), "tab-0", null, null).stream().filter(each -> each.since() != null).forEach(each -> times.add(each.since()));
        return new TreeSet<>(times) + " in " + times.size();
    }

    /** Clock is a program that says the times of objects as a driver reads them: of a URL, a user, a password, and the objects' ids. */
    static final class Clock {
        public static void main(String[] arguments) throws SQLException {
            try (Connection connection = DriverManager.getConnection(arguments[0], arguments[1], arguments[2])) {
                for (int i = 3; i < arguments.length; i++) {
                    System.out.println(times(ApplLocks.in(connection), new ApplObject("clock", arguments[i])));
                }
            }
        }
    }

    /** An object of whose rows all times are one. */
    private static ApplObject at(Server server, String time) throws SQLException {
        ApplObject object = new ApplObject("clock", UUID.randomUUID().toString());
        Owner former = new Owner("FORMER-" + object.id(), "");
        ApplLocks locks = server.locks();
        locks.get(object, former, HOUR);
        locks.take(object, new Owner("HOLDER-" + object.id(), ""), "mine", null, HOUR);
        locks.permit(new ApplObject("permit", object.id()), 1, former, HOUR);
        locks.announce(object, former, "waiter-" + object.id(), HOUR);
        locks.ask(object, former, "asker", null, HOUR);
        locks.see(object, former, "tab-1", Presence.State.VIEWING, null);
        boolean isPostgres = server == Server.POSTGRES;
        for (String columns : List.of("appl_lock SET acquired_ts = X, lock_ts = X, expires_ts = X", "appl_lock_event SET event_ts = X",
                "appl_lock_ask SET since_ts = X, until_ts = X, expires_ts = X", "appl_lock_waiter SET since_ts = X, until_ts = X, expires_ts = X",
                "appl_lock_viewer SET since_ts = X, expires_ts = X")) {
            server.execute("UPDATE " + (isPostgres ? "applock." : "") + columns.replace("X", "'" + time + (isPostgres ? "Z'" : "'"))
                    + " WHERE object_id LIKE '" + object.id() + "%'");
        }
        return object;
    }

    /**
     * Goal: a time is what the database has, also in an hour that the program's zone skips or has twice. Method: every read of a time, by
     * every driver, in programs of two such zones.
     */
    @ParameterizedTest
    @EnumSource
    void timesAreThoseOfTheDatabase(Server server) throws Exception {
        List<String> wanted = new ArrayList<>();
        List<String> ids = new ArrayList<>();
        for (String time : CLOCK_CHANGES) {
            ApplObject each = at(server, time);
            ids.add(each.id());
            wanted.add("[" + Instant.parse(time.replace(' ', 'T') + "Z") + "] in 23");
        }
        for (String driver : server == Server.POSTGRES ? List.of("postgresql") : List.of("mariadb", "mysql")) {
            for (String zone : List.of("Europe/Amsterdam", "America/New_York")) {
                List<String> command = new ArrayList<>(List.of("java", "-Duser.timezone=" + zone, "-cp", System.getProperty("java.class.path"),
                        Clock.class.getName(), by(driver, server), server.user(), server.password()));
                command.addAll(ids);
                Process clock = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
                assertThat(clock.inputReader().lines().toList()).as(driver + " in " + zone).isEqualTo(wanted);
            }
        }
    }

    private static boolean isNear(Instant time, Instant other) {
        return Duration.between(time, other).abs().compareTo(HOUR) < 0;
    }
}
