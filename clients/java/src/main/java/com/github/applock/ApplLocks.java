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
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import javax.sql.DataSource;

/**
 * The operations of applock on PostgreSQL, MySQL and MariaDB: one statement each, which calls the row form of a procedure or reads
 * a view. What each promises is in procedures/README.md; nothing is checked or decided here.
 *
 * <p>{@link #on(DataSource)} takes a connection of the pool for each call, and the call is final when it returns. {@link #in(Connection)}
 * works in the caller's transaction: the lock appears, moves and disappears when that commits, and not at all when it rolls back. An
 * object on a pool may be used by many threads, one on a connection by one thread at a time.
 *
 * <p>A refusal is an answer. A misuse is an {@link ApplLockException}. Any other SQLException is the driver's: {@link #isTransient} tells
 * whether it is worth rolling back and trying again. A call that was cut off may have taken effect: repeat it, as the same operator.
 */
public final class ApplLocks {
    /** The schema of applock on PostgreSQL, unless it is installed in another one. */
    public static final String DEFAULT_SCHEMA = "applock";

    private static final int LOCK_WAIT_TIMEOUT = 1205; // of MySQL and MariaDB, which has the SQLSTATE HY000 or 40001
    private static final Set<String> TRANSIENT = Set.of(ApplLockException.CONTENTION, "40001", "40P01", "55P03", "40XL1");

    private static final List<String> LOCK_KEY = List.of("object_type", "object_id");

    private final DataSource pool;
    private final Connection connection;
    private final String schema;

    private ApplLocks(DataSource pool, Connection connection, String schema) {
        this.pool = pool;
        this.connection = connection;
        this.schema = schema;
    }

    /**
     * The operations, each on a connection of a pool. Connections without autocommit are committed.
     *
     * @param pool the pool, which stays the caller's
     * @return the operations
     */
    public static ApplLocks on(DataSource pool) {
        return new ApplLocks(pool, null, null);
    }

    /**
     * The operations in the transaction that a connection has, or begins with the call. Nothing is committed or rolled back.
     *
     * @param connection the connection, which stays the caller's
     * @return the operations
     */
    public static ApplLocks in(Connection connection) {
        return new ApplLocks(null, connection, null);
    }

    /**
     * The same operations of another installation.
     *
     * @param name a schema of PostgreSQL, or a database of MySQL or MariaDB. Without this call it is the schema applock, or the database
     *     of the connection
     * @return the operations
     */
    public ApplLocks schema(String name) {
        return new ApplLocks(pool, connection, name);
    }

    /**
     * Takes a lock, or renews it for the operator that has it.
     *
     * @param object what to lock
     * @param owner for whom
     * @param ttl how long the lock lives if nobody renews it: 1 s to 10 years, rounded up to whole seconds. Null keeps the ttl of a grant
     *     that is renewed, and is 7 days for a new one
     * @return ACQUIRED or RENEWED, or no and HELD with the holder
     * @throws SQLException as the class says
     */
    public Answer get(ApplObject object, Owner owner, Duration ttl) throws SQLException {
        return get(object, owner, ttl, null);
    }

    /**
     * Takes a lock, and can refuse to renew it.
     *
     * @param object what to lock
     * @param owner for whom
     * @param ttl as above
     * @param newFlag Y to refuse the operator's own live lock as well: no and HELD with its own name; N or null as above
     * @return as above
     * @throws SQLException as the class says
     */
    public Answer get(ApplObject object, Owner owner, Duration ttl, String newFlag) throws SQLException {
        return one("get_appl_lock_row(?, ?, ?, ?, ?, ?)", row -> new Answer(
                yes(row, "p_ok_fl"), row.getString("p_outcome"), old(row), row.getLong("p_fence"),
                instant(row, "p_expires_ts"), row.getLong("p_seconds_left"), row.getString("p_note")),
                object.type(), object.id(), owner.operator(), owner.department(), seconds(ttl), newFlag);
    }

    /**
     * Takes one of the permits of an object, or renews it for the operator that has one: at most so many operators have one at once. A
     * permit is a lock on a slot, which is an object like any other: release takes it.
     *
     * @param object what the permits are for
     * @param permits how many there are, 1 to 1000: the same number in all calls
     * @param owner for whom
     * @param ttl as for get
     * @return the operator's permit, or, when all are held, each with its holder and the outcome FULL, the soonest to expire first
     * @throws SQLException as the class says
     */
    public List<Permit> permit(ApplObject object, Long permits, Owner owner, Duration ttl) throws SQLException {
        return call("get_appl_lock_permit(?, ?, ?, ?, ?, ?)", row -> new Permit(
                row.getString("outcome"), new ApplObject(object.type(), row.getString("slot_id")),
                new Owner(row.getString("operator_id"), row.getString("department_id")), row.getLong("fence"),
                instant(row, "expires_ts"), row.getLong("seconds_left"), row.getString("note")),
                object.type(), object.id(), permits, owner.operator(), owner.department(), seconds(ttl));
    }

    /**
     * Lets a lock go.
     *
     * @param object what is locked
     * @param operator who holds it
     * @param fence the number of the grant. A program gives it: after an expiry the lock may be the same operator's by another grant. Null
     *     is whichever grant the operator has
     * @return RELEASED or FREE, or no and HELD with the holder
     * @throws SQLException as the class says
     */
    public Answer release(ApplObject object, String operator, Long fence) throws SQLException {
        return release(object, operator, fence, null, null);
    }

    /**
     * Lets a lock go, and says who does it and why: the history keeps that.
     *
     * @param object what is locked
     * @param operator who holds it
     * @param fence the number of the grant, or null
     * @param actor who does it; null is the operator
     * @param reason why, up to 255 characters, or null
     * @return as above
     * @throws SQLException as the class says
     */
    public Answer release(ApplObject object, String operator, Long fence, String actor, String reason) throws SQLException {
        return one("release_appl_lock_row(?, ?, ?, ?, ?, ?)", row -> new Answer(
                yes(row, "p_ok_fl"), row.getString("p_outcome"), old(row), 0, null, 0, ""),
                object.type(), object.id(), operator, fence, actor, reason);
    }

    /**
     * Tells who holds a lock.
     *
     * @param object what is locked
     * @return the lock, or nothing if nobody holds it
     * @throws SQLException as the class says
     */
    public Optional<HeldLock> inquire(ApplObject object) throws SQLException {
        return one("inquire_appl_lock_row(?, ?)", row -> yes(row, "p_ok_fl")
                ? Optional.of(held(row, "p_", object, null)) : Optional.empty(), object.type(), object.id());
    }

    /**
     * Hands a lock over, which begins a new grant.
     *
     * @param object what is locked
     * @param from the operator who holds it
     * @param to who is to hold it
     * @param ttl as for get; null keeps the ttl
     * @return TRANSFERRED, or no and HELD by somebody else, or no and FREE
     * @throws SQLException as the class says
     */
    public Answer transfer(ApplObject object, String from, Owner to, Duration ttl) throws SQLException {
        return transfer(object, from, to, ttl, null, null);
    }

    /**
     * Hands a lock over, and says who does it and why: the history keeps that.
     *
     * @param object what is locked
     * @param from the operator who holds it
     * @param to who is to hold it
     * @param ttl as for get; null keeps the ttl
     * @param actor who does it; null is unknown
     * @param reason why, up to 255 characters, or null
     * @return as above
     * @throws SQLException as the class says
     */
    public Answer transfer(ApplObject object, String from, Owner to, Duration ttl, String actor, String reason) throws SQLException {
        return one("transfer_appl_lock_row(?, ?, ?, ?, ?, ?, ?, ?)", row -> new Answer(
                yes(row, "p_ok_fl"), row.getString("p_outcome"), old(row), row.getLong("p_fence"),
                instant(row, "p_expires_ts"), row.getLong("p_seconds_left"), ""),
                object.type(), object.id(), from, to.operator(), to.department(), seconds(ttl), actor, reason);
    }

    /**
     * Takes a held object from whoever holds it, which begins a new grant. The history keeps the reason, and who is displaced finds it in
     * the inbox.
     *
     * @param object what is locked
     * @param owner who takes it
     * @param reason why: 1 to 255 characters
     * @param expectedFence the number of the grant to end, or null for whichever grant
     * @param ttl as for get; null keeps the ttl
     * @return TAKEN with who was displaced, or no and HELD by another grant, or no and FREE
     * @throws SQLException as the class says
     */
    public Answer take(ApplObject object, Owner owner, String reason, Long expectedFence, Duration ttl) throws SQLException {
        return one("take_appl_lock_row(?, ?, ?, ?, ?, ?, ?)", row -> new Answer(
                yes(row, "p_ok_fl"), row.getString("p_outcome"), old(row), row.getLong("p_fence"),
                instant(row, "p_expires_ts"), row.getLong("p_seconds_left"), ""),
                object.type(), object.id(), owner.operator(), owner.department(), reason, expectedFence, seconds(ttl));
    }

    /**
     * Hands over one page of what an operator holds, in the order of the keys.
     *
     * @param from the operator who holds them
     * @param to who is to hold them
     * @param ttl as for get; null keeps the ttl of each
     * @param actor who does it; null is unknown
     * @param reason why, up to 255 characters, or null
     * @param page which of them, and whether only to tell
     * @return what became of each; fewer than the size of the page are the last page
     * @throws SQLException as the class says
     */
    public List<LockChange> transferAll(String from, Owner to, Duration ttl, String actor, String reason, LockChange.Page page)
            throws SQLException {
        return call("transfer_appl_locks(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", ApplLocks::changed,
                from, page.type(), to.operator(), to.department(), seconds(ttl), actor, reason,
                page.after().type(), page.after().id(), page.size(), page.dryRun());
    }

    /**
     * Releases one page of what an operator holds, in the order of the keys.
     *
     * @param operator who holds them
     * @param actor who does it; null is the operator
     * @param reason why, up to 255 characters, or null
     * @param page which of them, and whether only to tell
     * @return what became of each; fewer than the size of the page are the last page
     * @throws SQLException as the class says
     */
    public List<LockChange> releaseAll(String operator, String actor, String reason, LockChange.Page page) throws SQLException {
        return call("release_appl_locks(?, ?, ?, ?, ?, ?, ?, ?)", ApplLocks::changed,
                operator, page.type(), actor, reason, page.after().type(), page.after().id(), page.size(), page.dryRun());
    }

    private static LockChange changed(ResultSet row) throws SQLException {
        return new LockChange(object(row), row.getString("outcome"),
                new Owner(row.getString("old_operator_id"), row.getString("old_department_id")), row.getLong("fence"),
                instant(row, "expires_ts"), row.getLong("seconds_left"));
    }

    /**
     * Says why an operator holds a lock, for whoever asks. The note lasts as long as the grant, through renewals.
     *
     * @param object what is locked
     * @param operator who holds it
     * @param fence the number of the grant, or null for whichever grant the operator has
     * @param note up to 255 characters; null takes the note back
     * @return NOTED, or no and HELD by somebody else, or no and FREE
     * @throws SQLException as the class says
     */
    public Answer note(ApplObject object, String operator, Long fence, String note) throws SQLException {
        return one("note_appl_lock_row(?, ?, ?, ?, ?)", row -> new Answer(
                yes(row, "p_ok_fl"), row.getString("p_outcome"), old(row), 0, null, 0, ""),
                object.type(), object.id(), operator, fence, note);
    }

    /**
     * Reads the live locks, in the order of object_type and object_id.
     *
     * @param filter which of them
     * @return the page
     * @throws SQLException as the class says
     */
    public List<HeldLock> live(Filter filter) throws SQLException {
        return read("appl_lock_live", LOCK_KEY, filter, row -> held(row, "", object(row), Duration.ofSeconds(row.getLong("ttl_seconds"))));
    }

    /**
     * Removes what has been free for long.
     *
     * @param age for how long, in whole seconds; null is 30 days
     * @param maxRows of how many objects at most: 1 to 10000, and null is 1000
     * @return of how many objects
     * @throws SQLException as the class says
     */
    public long purge(Duration age, Long maxRows) throws SQLException {
        return one("purge_appl_locks_row(?, ?)", row -> row.getLong("p_purged"), seconds(age), maxRows);
    }

    /**
     * Removes old events, the oldest first.
     *
     * @param age how old, in whole seconds; null is 400 days
     * @param maxRows how many at most: 1 to 10000, and null is 1000
     * @return how many
     * @throws SQLException as the class says
     */
    public long purgeHistory(Duration age, Long maxRows) throws SQLException {
        return one("purge_appl_lock_history_row(?, ?)", row -> row.getLong("p_purged"), seconds(age), maxRows);
    }

    /**
     * Fails with {@link ApplLockException#ASSERTION} unless exactly this grant is live, and keeps it so until the transaction ends: the
     * last step before a program commits what it did under the lock.
     *
     * @param object what is locked
     * @param operator who holds it
     * @param fence the number of the grant
     * @throws SQLException as the class says
     */
    public void assertHeld(ApplObject object, String operator, Long fence) throws SQLException {
        one("assert_appl_lock_row(?, ?, ?, ?)", row -> null, object.type(), object.id(), operator, fence);
    }

    /**
     * Waits until no other transaction is inside, and stays inside until this one ends. It leaves nothing behind and has nothing to do
     * with locks that are got. On MySQL and MariaDB it is the first statement of its transaction, so that what is read later is what
     * the one before has written.
     *
     * @param object what to work on by turns
     * @throws IllegalStateException if there is no transaction: with autocommit it would end with the call
     * @throws SQLException as the class says
     */
    public void serialize(ApplObject object) throws SQLException {
        if (connection == null || connection.getAutoCommit()) {
            throw new IllegalStateException("serialize needs a transaction, which a pool or a connection with autocommit has not");
        }
        one("serialize_appl_lock_row(?, ?)", row -> null, object.type(), object.id());
    }

    /**
     * Renews many grants in one statement, each by its fence. It never takes a lock that has expired, and never makes one end sooner.
     *
     * @param grants at most 10000
     * @return what became of each, but of those that another transaction is changing at this moment: ask again for them
     * @throws SQLException as the class says
     */
    public List<Renewal.Result> renew(List<Renewal.Grant> grants) throws SQLException {
        return renewDocument(Renewal.document(grants));
    }

    /** renew, for a test of what the document may be. */
    List<Renewal.Result> renewDocument(String document) throws SQLException {
        return call("renew_appl_locks(?)", row -> new Renewal.Result(object(row), row.getString("outcome"),
                new Owner(row.getString("old_operator_id"), row.getString("old_department_id")),
                instant(row, "expires_ts"), row.getLong("seconds_left")), document);
    }

    /**
     * Lists an operator as a waiter. The program polls at least every 30 s, or is forgotten within 60 s.
     *
     * @param object what is waited for
     * @param owner who waits
     * @param client a name that no other program has
     * @param wait how long the operator means to wait; null is for ever
     * @throws SQLException as the class says
     */
    public void announce(ApplObject object, Owner owner, String client, Duration wait) throws SQLException {
        one("announce_appl_lock_waiter_row(?, ?, ?, ?, ?, ?)", row -> null,
                object.type(), object.id(), owner.operator(), owner.department(), client, seconds(wait));
    }

    /**
     * Takes an operator off the list of waiters.
     *
     * @param object what was waited for
     * @param operator who waited
     * @param client the name of the program
     * @throws SQLException as the class says
     */
    public void retract(ApplObject object, String operator, String client) throws SQLException {
        one("retract_appl_lock_waiter_row(?, ?, ?, ?)", row -> null, object.type(), object.id(), operator, client);
    }

    /**
     * Tells a program what it waits for, and when that is free: what is free first.
     *
     * @param client the name of the program
     * @param maxRows at most so many: 1 to 10000, and null is 1000
     * @return what it waits for
     * @throws SQLException as the class says
     */
    public List<Waiter.Awaited> poll(String client, Long maxRows) throws SQLException {
        return call("poll_appl_locks(?, ?)", row -> new Waiter.Awaited(object(row), row.getLong("free_in_us")), client, maxRows);
    }

    /**
     * Reads who waits, in the order of object_type, object_id, operator_id and client_id.
     *
     * @param filter which of them
     * @return the page
     * @throws SQLException as the class says
     */
    public List<Waiter> waiting(Filter filter) throws SQLException {
        return read("appl_lock_waiting", List.of("object_type", "object_id", "operator_id", "client_id"), filter, row -> new Waiter(
                object(row), new Owner(row.getString("operator_id"), row.getString("department_id")), row.getString("client_id"),
                instant(row, "since_ts"), instant(row, "until_ts"), row.getLong("waited_seconds"),
                new Owner(row.getString("holder_id"), row.getString("holder_department_id")), row.getLong("seconds_left")));
    }

    /**
     * Counts locks and waiters, by type and department, in this order.
     *
     * @param filter which of them
     * @return the page
     * @throws SQLException as the class says
     */
    public List<LockStats> stats(Filter filter) throws SQLException {
        return read("appl_lock_stats", List.of("object_type", "department_id"), filter, row -> new LockStats(
                row.getString("object_type"), row.getString("department_id"),
                row.getLong("live"), row.getLong("expired"), row.getLong("oldest_seconds"), row.getLong("next_expiry_seconds"),
                row.getLong("waiters"), row.getLong("longest_wait_seconds")));
    }

    /**
     * Lays down what holds for a type from the next call on.
     *
     * @param policy the whole policy: what is null is none
     * @param actor who does it, for the history
     * @param reason why; null is empty
     * @return SET
     * @throws SQLException as the class says
     */
    public String setPolicy(Policy policy, String actor, String reason) throws SQLException {
        return one("set_appl_lock_policy_row(?, ?, ?, ?, ?, ?, ?)", row -> row.getString("p_outcome"), policy.type(),
                seconds(policy.defaultTtl()), seconds(policy.longestTtl()), policy.takeReason(), actor, reason, policy.history());
    }

    /**
     * Takes back the policy of a type.
     *
     * @param type the kind of object
     * @param actor who does it, for the history
     * @param reason why; null is empty
     * @return DROPPED, or NONE when it had none
     * @throws SQLException as the class says
     */
    public String dropPolicy(String type, String actor, String reason) throws SQLException {
        return one("drop_appl_lock_policy_row(?, ?, ?)", row -> row.getString("p_outcome"), type, actor, reason);
    }

    /**
     * Reads the policies, in the order of object_type.
     *
     * @param filter which of them
     * @return the page
     * @throws SQLException as the class says
     */
    public List<Policy> policies(Filter filter) throws SQLException {
        return read("appl_lock_policies", List.of("object_type"), filter, row -> new Policy(
                row.getString("object_type"), duration(row, "default_ttl_seconds"), duration(row, "longest_ttl_seconds"),
                row.getString("take_reason_fl"), row.getString("history_level")));
    }

    private static Duration duration(ResultSet row, String column) throws SQLException {
        long seconds = row.getLong(column);
        return row.wasNull() ? null : Duration.ofSeconds(seconds);
    }

    /**
     * Reads the history, in the order of event_id: the oldest first.
     *
     * @param filter which events
     * @return the page
     * @throws SQLException as the class says
     */
    public List<Event> history(Filter filter) throws SQLException {
        return read("appl_lock_history", List.of("event_id"), filter, row -> new Event(
                row.getLong("event_id"), instant(row, "event_ts"), object(row), row.getString("event"), row.getString("actor_id"),
                row.getString("db_user"), row.getString("program"),
                new Owner(row.getString("from_operator_id"), row.getString("from_department_id")),
                new Owner(row.getString("to_operator_id"), row.getString("to_department_id")),
                row.getLong("from_fence"), row.getLong("to_fence"), row.getString("reason")));
    }

    /**
     * Tells what concerns an operator: what others did with its locks, and who waits for them.
     *
     * @param operator the operator
     * @param afterEventId the safeEventId of the answer before, or null the first time. An event may come twice, and none is left out
     * @param maxRows how many notices at most: 1 to 10000, and null is 1000
     * @return events in their order, then who waits longest first
     * @throws SQLException as the class says
     */
    public List<Notice> inbox(String operator, Long afterEventId, Long maxRows) throws SQLException {
        return call("inbox_appl_locks(?, ?, ?)", row -> new Notice(
                row.getString("kind"), row.getLong("event_id"), object(row),
                new Owner(row.getString("other_operator_id"), row.getString("other_department_id")),
                instant(row, "event_ts"), row.getLong("seconds_left"), row.getString("reason"), row.getLong("safe_event_id")),
                operator, afterEventId, maxRows);
    }

    /**
     * Whether rolling back and trying again can help: a deadlock, a serialization failure, a lock that was waited for too long, an object
     * that changed hands too often. A broken connection is none of these.
     *
     * @param error what was thrown
     * @return whether to try again
     */
    public static boolean isTransient(SQLException error) {
        return error.getErrorCode() == LOCK_WAIT_TIMEOUT || error.getSQLState() != null && TRANSIENT.contains(error.getSQLState());
    }

    private interface Reader<T> {
        T read(ResultSet row) throws SQLException;
    }

    private <T> T one(String routine, Reader<T> reader, Object... arguments) throws SQLException {
        return call(routine, reader, arguments).get(0);
    }

    private <T> List<T> call(String routine, Reader<T> reader, Object... arguments) throws SQLException {
        return ask(own -> prepared(own, (isPostgres(own) ? "SELECT * FROM " : "CALL ") + prefix(own) + routine, Arrays.asList(arguments)),
                reader);
    }

    private <T> List<T> read(String view, List<String> key, Filter filter, Reader<T> reader) throws SQLException {
        return ask(own -> {
            List<Object> values = new ArrayList<>();
            List<String> conditions = filter.conditions(isPostgres(own), key, values);
            String where = conditions.isEmpty() ? "" : " WHERE " + String.join(" AND ", conditions);
            return prepared(own, "SELECT * FROM " + prefix(own) + view + where + " ORDER BY " + String.join(", ", key)
                    + " LIMIT " + filter.rows(), values);
        }, reader);
    }

    private interface Statements {
        PreparedStatement on(Connection own) throws SQLException;
    }

    private <T> List<T> ask(Statements statements, Reader<T> reader) throws SQLException {
        try {
            return connection != null ? askOn(connection, statements, reader) : askFinally(statements, reader);
        } catch (SQLException error) {
            throw meaningOf(error);
        }
    }

    /** askFinally commits where the pool's connections do not: closed without a commit, they would forget the lock. */
    private <T> List<T> askFinally(Statements statements, Reader<T> reader) throws SQLException {
        try (Connection own = pool.getConnection()) {
            if (own.getAutoCommit()) {
                return askAtOnce(own, statements, reader);
            }
            try {
                List<T> answer = askOn(own, statements, reader);
                own.commit();
                return answer;
            } catch (SQLException | RuntimeException error) {
                rollBack(own, error);
                throw error;
            }
        }
    }

    /**
     * askAtOnce asks under autocommit. A procedure of MySQL's or MariaDB's that ends with an error may have left its transaction open, and
     * the pool's next caller would go on in it: procedures/README.md, "On MySQL and MariaDB".
     */
    private <T> List<T> askAtOnce(Connection own, Statements statements, Reader<T> reader) throws SQLException {
        try {
            return askOn(own, statements, reader);
        } catch (SQLException error) {
            try (Statement statement = own.createStatement()) {
                if (!isPostgres(own)) {
                    statement.execute("ROLLBACK"); // rollback() refuses to work under autocommit
                }
            } catch (SQLException another) {
                own.abort(Runnable::run);
                error.addSuppressed(another);
            }
            throw error;
        }
    }

    private static void rollBack(Connection own, Exception error) {
        try {
            own.rollback();
        } catch (SQLException another) {
            error.addSuppressed(another);
        }
    }

    private static <T> List<T> askOn(Connection own, Statements statements, Reader<T> reader) throws SQLException {
        try (PreparedStatement statement = statements.on(own); ResultSet rows = statement.executeQuery()) {
            List<T> answer = new ArrayList<>();
            while (rows.next()) {
                answer.add(reader.read(rows));
            }
            return answer;
        }
    }

    private static PreparedStatement prepared(Connection own, String sql, List<Object> values) throws SQLException {
        PreparedStatement statement = own.prepareStatement(sql);
        for (int i = 0; i < values.size(); i++) {
            if (values.get(i) == null) {
                statement.setNull(i + 1, Types.NULL); // of whatever type the routine has there
            } else {
                statement.setObject(i + 1, values.get(i));
            }
        }
        return statement;
    }

    /** prefix is the name of the schema, with what joins it to the name behind. */
    private String prefix(Connection own) throws SQLException {
        if (isPostgres(own)) {
            return "\"" + (schema == null ? DEFAULT_SCHEMA : schema).replace("\"", "\"\"") + "\".";
        }
        return schema == null ? "" : "`" + schema.replace("`", "``") + "`.";
    }

    private static boolean isPostgres(Connection own) throws SQLException {
        return own.getMetaData().getDatabaseProductName().equals("PostgreSQL");
    }

    private static SQLException meaningOf(SQLException error) {
        String state = error.getSQLState() == null ? "" : error.getSQLState();
        return switch (state) {
            case ApplLockException.INVALID, ApplLockException.ASSERTION -> new ApplLockException(error);
            case ApplLockException.CONTENTION -> new SQLTransientException(error.getMessage(), state, error.getErrorCode(), error);
            default -> error;
        };
    }

    /** seconds rounds up: a lock that ends early is worse than one that ends late. */
    static Long seconds(Duration duration) {
        if (duration == null) {
            return null;
        }
        return duration.getNano() == 0 ? duration.getSeconds() : Math.addExact(duration.getSeconds(), 1);
    }

    private static boolean yes(ResultSet row, String column) throws SQLException {
        return "Y".equals(row.getString(column));
    }

    private static Owner old(ResultSet row) throws SQLException {
        return new Owner(row.getString("p_old_operator_id"), row.getString("p_old_department_id"));
    }

    private static ApplObject object(ResultSet row) throws SQLException {
        return new ApplObject(row.getString("object_type"), row.getString("object_id"));
    }

    private static HeldLock held(ResultSet row, String prefix, ApplObject object, Duration ttl) throws SQLException {
        return new HeldLock(object, new Owner(row.getString(prefix + "operator_id"), row.getString(prefix + "department_id")),
                row.getLong(prefix + "fence"), instant(row, prefix + "acquired_ts"), instant(row, prefix + "lock_ts"),
                instant(row, prefix + "expires_ts"), row.getLong(prefix + "seconds_left"), ttl, row.getString(prefix + "note"));
    }

    /** instant reads UTC, whatever the time zones of the program and the session are: MySQL and MariaDB have no zone in their type. */
    private static Instant instant(ResultSet row, String column) throws SQLException {
        if (row.getMetaData().getColumnTypeName(row.findColumn(column)).equals("timestamptz")) {
            OffsetDateTime time = row.getObject(column, OffsetDateTime.class);
            return time == null ? null : time.toInstant();
        }
        LocalDateTime time = row.getObject(column, LocalDateTime.class);
        return time == null ? null : time.toInstant(ZoneOffset.UTC);
    }
}
