package com.github.applock;

import java.sql.Connection;
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
import java.util.List;
import java.util.Optional;

/**
 * The operations of applock on Apache Derby, which has no language for procedures: as statements in the caller's transaction, which has to
 * be one. docs/derby.md tells what differs from the servers. An object is used by one thread at a time, as its connection is.
 *
 * <p>A refusal is an answer. A misuse is an {@link ApplLockException}. Any other SQLException is Derby's: {@link ApplLocks#isTransient} tells
 * whether it is worth rolling back and trying again.
 */
public final class DerbyLocks {
    private static final String[] SCHEMA = {
        """
        CREATE TABLE appl_lock (
            object_type VARCHAR(128) NOT NULL,
            object_id VARCHAR(510) NOT NULL,
            operator_id VARCHAR(128) NOT NULL,
            department_id VARCHAR(128) NOT NULL,
            fence BIGINT NOT NULL,
            acquired_ts BIGINT NOT NULL,
            lock_ts BIGINT NOT NULL,
            expires_ts BIGINT NOT NULL,
            note VARCHAR(510) DEFAULT '' NOT NULL,
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
        CREATE FUNCTION appl_lock_ms() RETURNS BIGINT
        LANGUAGE JAVA PARAMETER STYLE JAVA NO SQL EXTERNAL NAME 'java.lang.System.currentTimeMillis'
        """,
    };

    private static final String HOLDER = """
            SELECT operator_id, department_id, fence, acquired_ts, lock_ts, expires_ts, note
            FROM appl_lock
            WHERE object_type = ? AND object_id = ? AND expires_ts > ?
            WITH CS
            """;

    /** What a renewal keeps: the same operator, and not expired. */
    private static final String SAME = "operator_id = CAST(? AS VARCHAR(128)) AND expires_ts > CAST(? AS BIGINT)";

    private static final String RENEW_OR_TAKE_OVER = """
            UPDATE appl_lock
            SET department_id = COALESCE(CAST(? AS VARCHAR(128)), CASE WHEN SAME THEN department_id ELSE '' END),
                note = CASE WHEN SAME THEN note ELSE '' END,
                fence = CASE WHEN SAME THEN fence WHEN fence >= CAST(? AS BIGINT) THEN fence + 1 ELSE CAST(? AS BIGINT) END,
                acquired_ts = CASE WHEN SAME THEN acquired_ts ELSE CAST(? AS BIGINT) END,
                lock_ts = CASE WHEN SAME AND acquired_ts >= CAST(? AS BIGINT) THEN acquired_ts + 1 ELSE CAST(? AS BIGINT) END,
                expires_ts = CAST(? AS BIGINT) + 1000000 * COALESCE(
                    CAST(? AS BIGINT),
                    CASE WHEN NOT (SAME) THEN 604800 WHEN expires_ts - lock_ts < 1500000 THEN 1 ELSE (expires_ts - lock_ts + 500000) / 1000000 END
                ),
                operator_id = ?
            WHERE object_type = ? AND object_id = ? AND (operator_id = ? OR expires_ts <= ?)
            """.replace("SAME", SAME);

    private static final String ACQUIRE = """
            INSERT INTO appl_lock (object_type, object_id, operator_id, department_id, fence, acquired_ts, lock_ts, expires_ts)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """;

    private static final String RELEASE = """
            UPDATE appl_lock
            SET expires_ts = ?
            WHERE object_type = ? AND object_id = ? AND operator_id = ? AND fence = COALESCE(CAST(? AS BIGINT), fence) AND expires_ts > ?
            """;

    private static final String TRANSFER = """
            UPDATE appl_lock
            SET operator_id = ?,
                department_id = ?,
                note = '',
                fence = CASE WHEN fence >= CAST(? AS BIGINT) THEN fence + 1 ELSE CAST(? AS BIGINT) END,
                acquired_ts = ?,
                lock_ts = ?,
                expires_ts = CAST(? AS BIGINT) + 1000000 * COALESCE(
                    CAST(? AS BIGINT),
                    CASE WHEN expires_ts - lock_ts < 1500000 THEN 1 ELSE (expires_ts - lock_ts + 500000) / 1000000 END
                )
            WHERE object_type = ? AND object_id = ? AND operator_id = ? AND expires_ts > ?
            """;

    private static final String NOTE = """
            UPDATE appl_lock
            SET note = ?
            WHERE object_type = ? AND object_id = ? AND operator_id = ? AND fence = COALESCE(CAST(? AS BIGINT), fence) AND expires_ts > ?
            """;

    private static final String ASSERT = """
            SELECT operator_id
            FROM appl_lock
            WHERE object_type = ? AND object_id = ? AND operator_id = ? AND fence = ? AND expires_ts > ?
            WITH RS
            """;

    private static final String LIST = """
            SELECT object_type, object_id, operator_id, department_id, fence, acquired_ts, lock_ts, expires_ts, note
            FROM appl_lock
            WHERE expires_ts > ?
                AND object_type = COALESCE(CAST(? AS VARCHAR(128)), object_type)
                AND operator_id = COALESCE(CAST(? AS VARCHAR(128)), operator_id)
                AND department_id = COALESCE(CAST(? AS VARCHAR(128)), department_id)
                AND (object_type > CAST(? AS VARCHAR(128)) OR object_type = CAST(? AS VARCHAR(128)) AND object_id > CAST(? AS VARCHAR(510)))
            ORDER BY object_type, object_id
            FETCH FIRST ? ROWS ONLY
            WITH CS
            """;

    private static final String LONG_FREE = """
            SELECT object_type, object_id
            FROM appl_lock
            WHERE expires_ts < ? AND fence < ?
            FETCH FIRST ? ROWS ONLY
            WITH CS
            """;

    private static final String PURGE = """
            DELETE FROM appl_lock
            WHERE object_type = ? AND object_id = ? AND expires_ts < ?
            """;

    private static final int ROUNDS = 3;
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
     * @throws IllegalStateException if it has: an operation is several statements
     * @throws SQLException if the connection cannot tell
     */
    public static DerbyLocks in(Connection connection) throws SQLException {
        if (connection.getAutoCommit()) {
            throw new IllegalStateException("the operations need a transaction, which a connection with autocommit has not");
        }
        return new DerbyLocks(connection);
    }

    /**
     * Creates the tables and the function, in the schema of the connection.
     *
     * @param connection the connection; nothing is committed
     * @throws SQLException as Derby has it
     */
    public static void install(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String sql : SCHEMA) {
                statement.execute(sql);
            }
        }
    }

    /**
     * As {@link ApplLocks#get}.
     *
     * @param object what to lock
     * @param owner for whom
     * @param ttl how long the lock lives
     * @return ACQUIRED or RENEWED, or no and HELD
     * @throws SQLException as the class says; SQLTransientException with LK003 if the object changed hands too often
     */
    public Answer get(ApplObject object, Owner owner, Duration ttl) throws SQLException {
        Arguments check = new Arguments("get_appl_lock");
        ApplObject o = check.object(object);
        Owner who = new Owner(check.text("p_operator_id", owner.operator(), 64, true),
                check.text("p_department_id", owner.department(), 64, false));
        Long seconds = check.seconds("p_ttl_seconds", ttl);
        for (int round = 0; round < ROUNDS; round++) {
            long now = now();
            Optional<HeldLock> holder = holder(o, now);
            if (holder.isPresent() && !holder.get().owner().operator().equals(who.operator())) {
                return held(holder.get());
            }
            if (renewOrTakeOver(o, who, seconds, now) || acquire(o, who, seconds, now)) {
                HeldLock got = holder(o, now).orElseThrow();
                boolean renewed = got.locked().isAfter(got.acquired());
                return new Answer(true, renewed ? Answer.RENEWED : Answer.ACQUIRED, NOBODY, got.fence(), got.expires(), got.secondsLeft(),
                        got.note());
            }
        }
        throw new SQLTransientException("get_appl_lock: the object changed hands too often, call again", ApplLockException.CONTENTION);
    }

    private static final Owner NOBODY = new Owner("", "");

    private static Answer held(HeldLock lock) {
        return new Answer(false, Answer.HELD, lock.owner(), 0, lock.expires(), lock.secondsLeft(), lock.note());
    }

    private boolean renewOrTakeOver(ApplObject o, Owner who, Long seconds, long now) throws SQLException {
        String operator = who.operator();
        return change(RENEW_OR_TAKE_OVER, who.department(), operator, now, operator, now, operator, now, now, now, operator, now, now,
                operator, now, now, now, now, seconds, operator, now, operator, o.type(), o.id(), operator, now) == 1;
    }

    /** acquire tells whether there was no row. One that another transaction has inserted is waited for. */
    private boolean acquire(ApplObject o, Owner who, Long seconds, long now) throws SQLException {
        String department = who.department() == null ? "" : who.department();
        long until = now + MICROS * (seconds == null ? DEFAULT_TTL : seconds);
        try {
            return change(ACQUIRE, o.type(), o.id(), who.operator(), department, now, now, now, until) == 1;
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
     * @param object what is locked
     * @param operator who holds it
     * @param fence the number of the grant, or null
     * @return RELEASED or FREE, or no and HELD
     * @throws SQLException as the class says
     */
    public Answer release(ApplObject object, String operator, Long fence) throws SQLException {
        Arguments check = new Arguments("release_appl_lock");
        ApplObject o = check.object(object);
        String who = check.text("p_operator_id", operator, 64, true);
        check.positive("p_fence", fence);
        long now = now();
        if (change(RELEASE, now, o.type(), o.id(), who, fence, now) == 1) {
            return new Answer(true, Answer.RELEASED, NOBODY, 0, null, 0, "");
        }
        return holder(o, now).map(lock -> new Answer(false, Answer.HELD, lock.owner(), 0, null, 0, ""))
                .orElse(new Answer(true, Answer.FREE, NOBODY, 0, null, 0, ""));
    }

    /**
     * As {@link ApplLocks#inquire}.
     *
     * @param object what is locked
     * @return the lock, or nothing if nobody holds it
     * @throws SQLException as the class says
     */
    public Optional<HeldLock> inquire(ApplObject object) throws SQLException {
        return holder(new Arguments("inquire_appl_lock").object(object), now());
    }

    /**
     * As {@link ApplLocks#transfer}.
     *
     * @param object what is locked
     * @param from the operator who holds it
     * @param to who is to hold it
     * @param ttl how long the lock lives; null keeps the ttl
     * @return TRANSFERRED, or no and HELD or FREE
     * @throws SQLException as the class says
     */
    public Answer transfer(ApplObject object, String from, Owner to, Duration ttl) throws SQLException {
        Arguments check = new Arguments("transfer_appl_lock");
        ApplObject o = check.object(object);
        String who = check.text("p_from_operator_id", from, 64, true);
        String operator = check.text("p_to_operator_id", to.operator(), 64, true);
        String department = check.text("p_to_department_id", to.department() == null ? "" : to.department(), 64, false);
        Long seconds = check.seconds("p_ttl_seconds", ttl);
        long now = now();
        boolean done = change(TRANSFER, operator, department, now, now, now, now, now, seconds, o.type(), o.id(), who, now) == 1;
        Optional<HeldLock> lock = holder(o, now);
        if (done) {
            HeldLock got = lock.orElseThrow();
            return new Answer(true, Answer.TRANSFERRED, NOBODY, got.fence(), got.expires(), got.secondsLeft(), "");
        }
        return lock.map(DerbyLocks::held).orElse(new Answer(false, Answer.FREE, NOBODY, 0, null, 0, ""));
    }

    /**
     * As {@link ApplLocks#note}.
     *
     * @param object what is locked
     * @param operator who holds it
     * @param fence the number of the grant, or null
     * @param note what to note; null takes the note back
     * @return NOTED, or no and HELD or FREE
     * @throws SQLException as the class says
     */
    public Answer note(ApplObject object, String operator, Long fence, String note) throws SQLException {
        Arguments check = new Arguments("note_appl_lock");
        ApplObject o = check.object(object);
        String who = check.text("p_operator_id", operator, 64, true);
        check.positive("p_fence", fence);
        String why = check.text("p_note", note == null ? "" : note, 255, false);
        long now = now();
        if (change(NOTE, why, o.type(), o.id(), who, fence, now) == 1) {
            return new Answer(true, Answer.NOTED, NOBODY, 0, null, 0, "");
        }
        return holder(o, now).map(lock -> new Answer(false, Answer.HELD, lock.owner(), 0, null, 0, ""))
                .orElse(new Answer(false, Answer.FREE, NOBODY, 0, null, 0, ""));
    }

    /**
     * As {@link ApplLocks#assertHeld}: the row cannot change before the transaction ends.
     *
     * @param object what is locked
     * @param operator who holds it
     * @param fence the number of the grant
     * @throws SQLException as the class says
     */
    public void assertHeld(ApplObject object, String operator, Long fence) throws SQLException {
        Arguments check = new Arguments("assert_appl_lock");
        ApplObject o = check.object(object);
        String who = check.text("p_operator_id", operator, 64, true);
        check.positive("p_fence", fence == null ? Long.valueOf(0) : fence);
        long now = now();
        if (rows(ASSERT, row -> row.getString(1), o.type(), o.id(), who, fence, now).isEmpty()) {
            String holder = holder(o, now).map(lock -> "held by \"" + lock.owner().operator() + "\", fence " + lock.fence()).orElse("free");
            throw new ApplLockException(ApplLockException.ASSERTION, "assert_appl_lock: " + o + " is " + holder);
        }
    }

    /**
     * As {@link ApplLocks#serialize}: the semaphore of a row that is inserted and deleted. Whoever inserts it as well waits until this
     * transaction ends, and finds nothing then.
     *
     * @param object what to work on by turns
     * @throws SQLException as the class says
     */
    public void serialize(ApplObject object) throws SQLException {
        ApplObject o = new Arguments("serialize_appl_lock").object(object);
        change("INSERT INTO appl_lock_serialize (object_type, object_id) VALUES (?, ?)", o.type(), o.id());
        change("DELETE FROM appl_lock_serialize WHERE object_type = ? AND object_id = ?", o.type(), o.id());
    }

    /**
     * As {@link ApplLocks#list}, in the order of Java's strings.
     *
     * @param type of the objects; null is any
     * @param owner of which operator, and of which department; null, or null in it, is any
     * @param after the last object of the page before, or null for the first page
     * @param maxRows the size of the page: 1 to 10000, and null is 1000
     * @return the page
     * @throws SQLException as the class says
     */
    public List<HeldLock> list(String type, Owner owner, ApplObject after, Long maxRows) throws SQLException {
        Arguments check = new Arguments("list_appl_locks");
        Owner who = owner == null ? new Owner(null, null) : owner;
        String ofType = type == null ? null : check.type(type);
        String operator = who.operator() == null ? null : check.text("p_operator_id", who.operator(), 64, true);
        String department = check.text("p_department_id", who.department(), 64, false);
        String afterType = after == null || after.type() == null ? "" : check.text("p_after_type", after.type(), 64, false);
        String afterId = after == null || after.id() == null ? "" : check.text("p_after_id", after.id(), 255, false);
        long most = check.number("p_max_rows", maxRows, DEFAULT_ROWS, MOST_ROWS);
        long now = now();
        return rows(LIST, row -> lock(new ApplObject(row.getString("object_type"), row.getString("object_id")), row, now),
                now, ofType, operator, department, afterType, afterType, afterId, most);
    }

    /**
     * As {@link ApplLocks#purge}.
     *
     * @param age for how long an object has been free, in whole seconds; null is 30 days
     * @param maxRows of how many objects at most: 1 to 10000, and null is 1000
     * @return of how many objects
     * @throws SQLException as the class says
     */
    public long purge(Duration age, Long maxRows) throws SQLException {
        Arguments check = new Arguments("purge_appl_locks");
        long seconds = check.number("p_older_than_seconds", ApplLocks.seconds(age), DEFAULT_AGE, LONGEST_TTL);
        long most = check.number("p_max_rows", maxRows, DEFAULT_ROWS, MOST_ROWS);
        long now = now();
        long before = now - MICROS * seconds;
        long purged = 0;
        for (ApplObject o : rows(LONG_FREE, row -> new ApplObject(row.getString(1), row.getString(2)), before, now, most)) {
            purged += change(PURGE, o.type(), o.id(), before);
        }
        return purged;
    }

    private static HeldLock lock(ApplObject object, ResultSet row, long now) throws SQLException {
        long expires = row.getLong("expires_ts");
        return new HeldLock(object, new Owner(row.getString("operator_id"), row.getString("department_id")), row.getLong("fence"),
                instant(row.getLong("acquired_ts")), instant(row.getLong("lock_ts")), instant(expires),
                (expires - now + MICROS - 1) / MICROS, row.getString("note"));
    }

    private static Instant instant(long micros) {
        return Instant.EPOCH.plus(micros, ChronoUnit.MICROS);
    }

    private Optional<HeldLock> holder(ApplObject o, long now) throws SQLException {
        return rows(HOLDER, row -> lock(o, row, now), o.type(), o.id(), now).stream().findFirst();
    }

    /** now is the database's clock in microseconds, read before any wait: too early is the safe side. */
    private long now() throws SQLException {
        return 1000 * rows("VALUES appl_lock_ms()", row -> row.getLong(1)).get(0);
    }

    private interface Reader<T> {
        T read(ResultSet row) throws SQLException;
    }

    private <T> List<T> rows(String sql, Reader<T> reader, Object... values) throws SQLException {
        try (PreparedStatement statement = prepare(sql, values); ResultSet rows = statement.executeQuery()) {
            List<T> found = new ArrayList<>();
            while (rows.next()) {
                found.add(reader.read(rows));
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
                statement.setNull(i + 1, Types.VARCHAR); // which converts to all types that there are
            } else {
                statement.setObject(i + 1, values[i]);
            }
        }
        return statement;
    }

    /** Arguments checks what the procedures of the servers check. */
    private record Arguments(String routine) {
        ApplObject object(ApplObject object) throws SQLException {
            return new ApplObject(type(object.type()), text("p_object_id", object.id(), 255, true));
        }

        String type(String value) throws SQLException {
            String type = text("p_object_type", value, 64, true);
            if (type.indexOf(':') >= 0) {
                throw invalid("p_object_type must not contain a colon");
            }
            return type;
        }

        String text(String parameter, String value, int longest, boolean required) throws SQLException {
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

        Long seconds(String parameter, Duration duration) throws SQLException {
            Long seconds = ApplLocks.seconds(duration);
            return seconds == null ? null : number(parameter, seconds, 0, LONGEST_TTL);
        }

        long number(String parameter, Long value, long missing, long most) throws SQLException {
            if (value != null && (value < 1 || value > most)) {
                throw invalid(parameter + " must be between 1 and " + most);
            }
            return value == null ? missing : value;
        }

        void positive(String parameter, Long number) throws SQLException {
            if (number != null && number < 1) {
                throw invalid(parameter + " must be 1 or greater");
            }
        }

        private ApplLockException invalid(String what) {
            return new ApplLockException(ApplLockException.INVALID, routine + ": " + what);
        }
    }
}
