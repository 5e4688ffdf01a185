package io.github.applock;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The operations of applock on Apache Derby, which has no language for procedures. They are statements in the caller's transaction, which
 * must be open. docs/derby.md lists the differences to the servers. One thread at a time may use an object, like its connection.
 *
 * <p>A refusal is an answer. An {@link ApplLockException} is unchecked, and an SQLException is Derby's: {@link ApplLocks#isTransient} reports
 * whether to roll back and retry.
 */
public final class DerbyLocks {
    private static final String[] SCHEMA = {
        """
        CREATE TABLE appl_lock (
            object_type VARCHAR(128) NOT NULL,
            object_id VARCHAR(510) NOT NULL,
            operator_id VARCHAR(255) NOT NULL,
            department_id VARCHAR(128) NOT NULL,
            fence BIGINT NOT NULL,
            acquired_ts BIGINT NOT NULL,
            lock_ts BIGINT NOT NULL,
            ttl_seconds BIGINT NOT NULL,
            expires_ts BIGINT NOT NULL,
            note VARCHAR(510) DEFAULT '' NOT NULL,
            released_ts BIGINT,
            CONSTRAINT appl_lock_pk PRIMARY KEY (object_type, object_id)
        )
        """,
        """
        CREATE TABLE appl_lock_serialize (
            object_type VARCHAR(128) NOT NULL,
            object_id VARCHAR(510) NOT NULL,
            CONSTRAINT appl_lock_serialize_pk PRIMARY KEY (object_type, object_id)
        )
        """,
        """
        CREATE TABLE appl_lock_fence (
            id INTEGER NOT NULL,
            fence BIGINT NOT NULL,
            CONSTRAINT appl_lock_fence_pk PRIMARY KEY (id)
        )
        """,
        "INSERT INTO appl_lock_fence (id, fence) VALUES (1, 0)",
        """
        CREATE FUNCTION appl_lock_ms() RETURNS BIGINT
        LANGUAGE JAVA PARAMETER STYLE JAVA NO SQL EXTERNAL NAME 'java.lang.System.currentTimeMillis'
        """,
    };

    private static final String READ = """
            SELECT operator_id, department_id, fence, acquired_ts, lock_ts, ttl_seconds, expires_ts, note, released_ts
            FROM appl_lock
            WHERE object_type = ? AND object_id = ?
            """;

    /** No new grant gets a fence that a purge has removed. */
    private static final String ACQUIRE = """
            INSERT INTO appl_lock (object_type, object_id, operator_id, department_id, fence, acquired_ts, lock_ts, ttl_seconds, expires_ts)
            SELECT CAST(? AS VARCHAR(128)), CAST(? AS VARCHAR(510)), CAST(? AS VARCHAR(255)), CAST(? AS VARCHAR(128)),
                CASE WHEN fence >= CAST(? AS BIGINT) THEN fence + 1 ELSE CAST(? AS BIGINT) END,
                CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT)
            FROM appl_lock_fence
            WHERE id = 1
            """;

    /** The update finds nothing if the row has changed since it was read. */
    private static final String COMPARE_AND_SET = """
            UPDATE appl_lock
            SET operator_id = ?, department_id = ?, fence = ?, acquired_ts = ?, lock_ts = ?, ttl_seconds = ?, expires_ts = ?, note = ?,
                released_ts = ?
            WHERE object_type = ? AND object_id = ? AND fence = ? AND lock_ts = ? AND expires_ts = ? AND note = ?
                AND COALESCE(released_ts, 0) = COALESCE(CAST(? AS BIGINT), 0)
            """;

    private static final String LIVE = """
            SELECT object_type, object_id, operator_id, department_id, fence, acquired_ts, lock_ts, ttl_seconds, expires_ts, note, released_ts
            FROM appl_lock
            WHERE released_ts IS NULL AND expires_ts > ?
            """;

    private static final String LONG_FREE = """
            SELECT object_type, object_id, fence
            FROM appl_lock
            WHERE COALESCE(released_ts, expires_ts) < ? AND fence < ?
            WITH CS
            """;

    private static final String PURGE = """
            DELETE FROM appl_lock
            WHERE object_type = ? AND object_id = ? AND COALESCE(released_ts, expires_ts) < ?
            """;

    private static final int ROUNDS = 30;
    private static final int MICROS = 1_000_000;
    private static final long DEFAULT_TTL = 604_800;
    private static final long LONGEST_TTL = 315_360_000;
    private static final long DEFAULT_AGE = 2_592_000;
    private static final long DEFAULT_ROWS = 1000;
    private static final long MOST_ROWS = 10_000;
    private static final String DUPLICATE_KEY = "23505";

    private final Connection connection;

    private DerbyLocks(Connection connection) {
        this.connection = connection;
    }

    /**
     * The operations in the transaction that a connection has, or begins with the call. Nothing is committed or rolled back.
     *
     * @param connection the connection, which stays the caller's, and has no autocommit
     * @return the operations
     * @throws InvalidArgumentException if it has autocommit: an operation is several statements
     * @throws SQLException if the connection fails
     */
    public static DerbyLocks in(Connection connection) throws SQLException {
        if (connection.getAutoCommit()) {
            throw new InvalidArgumentException("the operations need a transaction, which a connection with autocommit has not", null);
        }
        return new DerbyLocks(connection);
    }

    /**
     * Creates the tables and the function, in the schema of the connection.
     *
     * @param connection the connection; nothing is committed
     * @throws SQLException an error of Derby
     */
    public static void install(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : SCHEMA) {
                statement.execute(sql);
            }
        }
    }

    /** Row is a row of appl_lock. Times are microseconds of the epoch. */
    private record Row(Owner owner, long fence, long acquired, long locked, long ttl, long expires, String note, Long released) {
        static Row of(ResultSet row) throws SQLException {
            long ended = row.getLong("released_ts");
            Long released = row.wasNull() ? null : Long.valueOf(ended);
            return new Row(new Owner(row.getString("operator_id"), row.getString("department_id")), row.getLong("fence"),
                    row.getLong("acquired_ts"), row.getLong("lock_ts"), row.getLong("ttl_seconds"), row.getLong("expires_ts"),
                    row.getString("note"), released);
        }

        boolean liveAt(long now) {
            return released == null && expires > now;
        }

        boolean isOf(String operator, Long number) {
            return owner.operator().equals(operator) && (number == null || number == fence);
        }

        /** renewed returns the same grant with a later end. */
        Row renewed(String department, Long seconds, long now) {
            long lasts = seconds == null ? ttl : seconds;
            return new Row(new Owner(owner.operator(), department == null ? owner.department() : department), fence, acquired,
                    Math.max(now, locked + 1), lasts, now + MICROS * lasts, note, null);
        }

        /** next returns a new grant. */
        Row next(String operator, String department, long lasts, long now) {
            return new Row(new Owner(operator, department == null ? "" : department), Math.max(now, fence + 1), now,
                    Math.max(now, locked + 1), lasts, now + MICROS * lasts, "", null);
        }

        Row noted(String text) {
            return new Row(owner, fence, acquired, locked, ttl, expires, text, released);
        }

        Row releasedAt(long now) {
            return new Row(owner, fence, acquired, locked, ttl, expires, "", now);
        }

        HeldLock held(ApplObject object, long now) {
            return new HeldLock(object, owner, fence, instant(acquired), instant(locked), instant(expires), secondsLeft(now),
                    Duration.ofSeconds(ttl), note);
        }

        long secondsLeft(long now) {
            return (expires - now + MICROS - 1) / MICROS;
        }

        Answer answer(String operation, Outcome outcome, long now) {
            boolean refused = outcome == Outcome.HELD;
            return Answer.of(operation, outcome, refused ? owner : Owner.NOBODY, refused ? 0 : fence, instant(acquired), instant(expires),
                    secondsLeft(now), note);
        }
    }

    /** Decision answers from a row, null if there is none, and from the time. It returns null to retry when the row has changed. */
    private interface Decision {
        Answer take(Row row, long now) throws SQLException;
    }

    private Answer decide(String routine, ApplObject o, Decision decision) throws SQLException {
        for (int round = 0; round < ROUNDS; round++) {
            long now = now();
            Answer answer = decision.take(read(o, "CS"), now);
            if (answer != null) {
                return answer;
            }
        }
        throw new ContentionException(routine + ": the object changed hands too often, call again", null);
    }

    private Row read(ApplObject o, String isolation) throws SQLException {
        return rows(READ + "WITH " + isolation, Row::of, o.type(), o.id()).stream().findFirst().orElse(null);
    }

    private boolean compareAndSet(ApplObject o, Row was, Row is) throws SQLException {
        return change(COMPARE_AND_SET, is.owner().operator(), is.owner().department(), is.fence(), is.acquired(), is.locked(), is.ttl(),
                is.expires(), is.note(), is.released(), o.type(), o.id(), was.fence(), was.locked(), was.expires(), was.note(),
                was.released()) == 1;
    }

    /**
     * As {@link ApplLocks#get}.
     *
     * @param object what to lock
     * @param owner the operator
     * @param ttl how long the lock lasts
     * @return ACQUIRED or RENEWED, or HELD
     * @throws SQLException as documented at the class
     */
    public Answer get(ApplObject object, Owner owner, Duration ttl) throws SQLException {
        return get(object, owner, ttl, false);
    }

    /**
     * As {@link ApplLocks#get}.
     *
     * @param object what to lock
     * @param owner the operator
     * @param ttl how long the lock lasts
     * @param onlyNew whether to refuse to renew the operator's own live lock
     * @return ACQUIRED or RENEWED, or HELD
     * @throws SQLException as documented at the class
     */
    public Answer get(ApplObject object, Owner owner, Duration ttl, boolean onlyNew) throws SQLException {
        Arguments check = new Arguments("get_appl_lock");
        ApplObject o = check.object(object);
        String who = check.operator("p_operator_id", owner.operator());
        String department = check.name("p_department_id", owner.department(), false);
        Long seconds = check.seconds("p_ttl_seconds", ttl);
        long lasts = seconds == null ? DEFAULT_TTL : seconds;
        return decide("get_appl_lock", o, (row, now) -> {
            if (row == null) {
                return acquire(o, who, department, lasts, now) ? read(o, "CS").answer("get_appl_lock", Outcome.ACQUIRED, now) : null;
            }
            boolean live = row.liveAt(now);
            if (live && (onlyNew || !row.isOf(who, null))) {
                return row.answer("get_appl_lock", Outcome.HELD, now);
            }
            Row got = live ? row.renewed(department, seconds, now) : row.next(who, department, lasts, now);
            Outcome outcome = live ? Outcome.RENEWED : Outcome.ACQUIRED;
            return compareAndSet(o, row, got) ? got.answer("get_appl_lock", outcome, now) : null;
        });
    }

    /** acquire inserts a row and returns whether there was none. It waits for another transaction that has inserted one. */
    private boolean acquire(ApplObject o, String who, String department, long lasts, long now) throws SQLException {
        try {
            return change(ACQUIRE, o.type(), o.id(), who, department == null ? "" : department, now, now, now, now, lasts,
                    now + MICROS * lasts) == 1;
        } catch (SQLException error) {
            if (DUPLICATE_KEY.equals(error.getSQLState())) {
                return false;
            }
            throw error;
        }
    }

    /**
     * As {@link ApplLocks#release}.
     *
     * @param object the locked object
     * @param operator the holder
     * @param fence the fence of the grant, or null
     * @return RELEASED or FREE, or HELD
     * @throws SQLException as documented at the class
     */
    public Answer release(ApplObject object, String operator, Number fence) throws SQLException {
        Arguments check = new Arguments("release_appl_lock");
        ApplObject o = check.object(object);
        String who = check.operator("p_operator_id", operator);
        check.positive("p_fence", Rows.whole(fence));
        return decide("release_appl_lock", o, (row, now) -> {
            boolean live = row != null && row.liveAt(now);
            if (live && !row.isOf(who, Rows.whole(fence))) {
                return Answer.of("release_appl_lock", Outcome.HELD, row.owner());
            }
            boolean ends = row != null && row.released() == null && row.isOf(who, Rows.whole(fence));
            if (ends && !compareAndSet(o, row, row.releasedAt(now))) {
                return null;
            }
            return Answer.of("release_appl_lock", live ? Outcome.RELEASED : Outcome.FREE, Owner.NOBODY);
        });
    }

    /**
     * As {@link ApplLocks#inquire}.
     *
     * @param object the locked object
     * @return the lock, or an empty Optional if the object is free
     * @throws SQLException as documented at the class
     */
    public Optional<HeldLock> inquire(ApplObject object) throws SQLException {
        ApplObject o = new Arguments("inquire_appl_lock").object(object);
        long now = now();
        return Optional.ofNullable(read(o, "CS")).filter(row -> row.liveAt(now)).map(row -> row.held(o, now));
    }

    /**
     * As {@link ApplLocks#transfer}.
     *
     * @param object the locked object
     * @param from the operator who holds it
     * @param to the operator who gets it
     * @param ttl how long the lock lasts; null keeps the ttl
     * @return TRANSFERRED, or HELD or FREE
     * @throws SQLException as documented at the class
     */
    public Answer transfer(ApplObject object, String from, Owner to, Duration ttl) throws SQLException {
        Arguments check = new Arguments("transfer_appl_lock");
        ApplObject o = check.object(object);
        String who = check.operator("p_from_operator_id", from);
        String operator = check.operator("p_to_operator_id", to.operator());
        check.another("p_to_operator_id", operator, who);
        String department = check.name("p_to_department_id", to.department(), false);
        Long seconds = check.seconds("p_ttl_seconds", ttl);
        return decide("transfer_appl_lock", o, (row, now) -> {
            if (row == null || !row.liveAt(now)) {
                return Answer.of("transfer_appl_lock", Outcome.FREE, Owner.NOBODY);
            }
            if (!row.isOf(who, null)) {
                return row.answer("transfer_appl_lock", Outcome.HELD, now);
            }
            Row got = row.next(operator, department, seconds == null ? row.ttl() : seconds, now);
            return compareAndSet(o, row, got) ? got.answer("transfer_appl_lock", Outcome.TRANSFERRED, now) : null;
        });
    }

    /**
     * As {@link ApplLocks#note}.
     *
     * @param object the locked object
     * @param operator the holder
     * @param fence the fence of the grant, or null
     * @param note the note; null removes it
     * @return NOTED, or HELD or FREE
     * @throws SQLException as documented at the class
     */
    public Answer note(ApplObject object, String operator, Number fence, String note) throws SQLException {
        Arguments check = new Arguments("note_appl_lock");
        ApplObject o = check.object(object);
        String who = check.operator("p_operator_id", operator);
        check.positive("p_fence", Rows.whole(fence));
        String why = check.text("p_note", note == null ? "" : note, 255, false);
        return decide("note_appl_lock", o, (row, now) -> {
            if (row == null || !row.liveAt(now)) {
                return Answer.of("note_appl_lock", Outcome.FREE, Owner.NOBODY);
            }
            if (!row.isOf(who, Rows.whole(fence))) {
                return Answer.of("note_appl_lock", Outcome.HELD, row.owner());
            }
            return compareAndSet(o, row, row.noted(why)) ? Answer.of("note_appl_lock", Outcome.NOTED, Owner.NOBODY) : null;
        });
    }

    /**
     * As {@link ApplLocks#assertHeld}: the row cannot change before the transaction ends.
     *
     * @param object the locked object
     * @param operator the holder
     * @param fence the fence of the grant
     * @throws SQLException as documented at the class
     */
    public void assertHeld(ApplObject object, String operator, Number fence) throws SQLException {
        Arguments check = new Arguments("assert_appl_lock");
        ApplObject o = check.object(object);
        String who = check.operator("p_operator_id", operator);
        check.positive("p_fence", Rows.whole(fence) == null ? Long.valueOf(0) : Rows.whole(fence));
        long now = now();
        Row row = read(o, "RS");
        boolean live = row != null && row.liveAt(now);
        if (!live || !row.isOf(who, Rows.whole(fence))) {
            String holder = live ? "held by \"" + row.owner().operator() + "\", fence " + row.fence() : "free";
            throw new LostException("assert_appl_lock: " + o + " is " + holder, null);
        }
    }

    /**
     * As {@link ApplLocks#serialize}, by a row that is inserted and deleted. A transaction that inserts it, too, waits until this one ends, and
     * then finds no row.
     *
     * @param object the object
     * @throws SQLException as documented at the class
     */
    public void serialize(ApplObject object) throws SQLException {
        ApplObject o = new Arguments("serialize_appl_lock").object(object);
        change("INSERT INTO appl_lock_serialize (object_type, object_id) VALUES (?, ?)", o.type(), o.id());
        change("DELETE FROM appl_lock_serialize WHERE object_type = ? AND object_id = ?", o.type(), o.id());
    }

    /**
     * As {@link ApplLocks#live}, in the order of Java's strings.
     *
     * @param filter which rows
     * @return the page
     * @throws SQLException as documented at the class
     */
    public List<HeldLock> live(Filter filter) throws SQLException {
        long now = now();
        List<Object> values = new ArrayList<>(List.of(now));
        StringBuilder sql = new StringBuilder(LIVE);
        for (String condition : filter.conditions(false, List.of("object_type", "object_id"), values)) {
            sql.append(" AND ").append(condition);
        }
        sql.append(" ORDER BY object_type, object_id FETCH FIRST ").append(filter.rows()).append(" ROWS ONLY WITH CS");
        return rows(sql.toString(), row -> Row.of(row).held(new ApplObject(row.getString("object_type"), row.getString("object_id")), now),
                values.toArray());
    }

    /**
     * As {@link ApplLocks#purge}.
     *
     * @param age how long an object has been free, in whole seconds; null is 30 days
     * @param maxRows the most objects: 1 to 10000, and null is 1000
     * @return the number of objects
     * @throws SQLException as documented at the class
     */
    public long purge(Duration age, Number maxRows) throws SQLException {
        Arguments check = new Arguments("purge_appl_locks");
        long seconds = check.number("p_older_than_seconds", Rows.seconds("age", age), DEFAULT_AGE, LONGEST_TTL);
        long most = check.number("p_max_rows", Rows.whole(maxRows), DEFAULT_ROWS, MOST_ROWS);
        long now = now();
        long before = now - MICROS * seconds;
        long purged = 0;
        for (Free free : rows((int) most, LONG_FREE, row -> new Free(row.getString(1), row.getString(2), row.getLong(3)), before, now)) {
            change("UPDATE appl_lock_fence SET fence = ? WHERE id = 1 AND fence < ?", free.fence(), free.fence());
            purged += change(PURGE, free.type(), free.id(), before);
        }
        return purged;
    }

    private record Free(String type, String id, long fence) {}

    private static Instant instant(long micros) {
        return Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
    }

    /** now is the database's clock in microseconds, read before any wait: a time that is too early is safe. */
    private long now() throws SQLException {
        return 1000 * rows("VALUES appl_lock_ms()", row -> row.getLong(1)).get(0);
    }

    private interface Reader<T> {
        T read(ResultSet row) throws SQLException;
    }

    private <T> List<T> rows(String sql, Reader<T> reader, Object... values) throws SQLException {
        return rows(0, sql, reader, values);
    }

    /** rows returns the first rows, at most that many; 0 is all. FETCH FIRST takes no parameter before Derby 10.7. */
    private <T> List<T> rows(int most, String sql, Reader<T> reader, Object... values) throws SQLException {
        try (PreparedStatement statement = prepare(sql, values)) {
            statement.setMaxRows(most);
            List<T> found = new ArrayList<>();
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    found.add(reader.read(rows));
                }
            }
            return found;
        }
    }

    private int change(String sql, Object... values) throws SQLException {
        try (PreparedStatement statement = prepare(sql, values)) {
            return statement.executeUpdate();
        }
    }

    private PreparedStatement prepare(String sql, Object... values) throws SQLException {
        PreparedStatement statement = connection.prepareStatement(sql);
        for (int i = 0; i < values.length; i++) {
            if (values[i] == null) {
                statement.setNull(i + 1, Types.VARCHAR); // it converts to all types used here
            } else {
                statement.setObject(i + 1, values[i]);
            }
        }
        return statement;
    }

    /** Arguments has the checks of the servers' procedures. */
    private record Arguments(String routine) {
        ApplObject object(ApplObject object) {
            String type = name("p_object_type", object.type(), true);
            if (type.indexOf(':') >= 0) {
                throw invalid("p_object_type must not contain a colon");
            }
            return new ApplObject(type, printable("p_object_id", text("p_object_id", object.id(), 255, true)));
        }

        String name(String parameter, String value, boolean required) {
            return printable(parameter, text(parameter, value, 64, required));
        }

        String operator(String parameter, String value) {
            return printable(parameter, text(parameter, value, 255, true));
        }

        private String printable(String parameter, String value) {
            if (value != null && value.codePoints().anyMatch(Character::isISOControl)) {
                throw invalid(parameter + " must not contain a control character");
            }
            return value;
        }

        String text(String parameter, String value, int longest, boolean required) {
            if (value == null && !required) {
                return null;
            }
            String trimmed = value == null ? "" : value.replaceFirst(" +$", "");
            if (required && trimmed.isEmpty()) {
                throw invalid(parameter + " must not be empty");
            }
            if (trimmed.codePointCount(0, trimmed.length()) > longest) {
                throw invalid(parameter + " must be at most " + longest + " characters");
            }
            return trimmed;
        }

        Long seconds(String parameter, Duration duration) {
            Long seconds = Rows.seconds(parameter, duration);
            return seconds == null ? null : number(parameter, seconds, 0, LONGEST_TTL);
        }

        long number(String parameter, Long value, long missing, long most) {
            if (value != null && (value < 1 || value > most)) {
                throw invalid(parameter + " must be between 1 and " + most);
            }
            return value == null ? missing : value;
        }

        void positive(String parameter, Long number) {
            if (number != null && number < 1) {
                throw invalid(parameter + " must be 1 or greater");
            }
        }

        void another(String parameter, String operator, String holder) {
            if (operator.equals(holder)) {
                throw invalid(parameter + " must be another operator");
            }
        }

        private InvalidArgumentException invalid(String what) {
            return new InvalidArgumentException(routine + ": " + what, null);
        }
    }
}
