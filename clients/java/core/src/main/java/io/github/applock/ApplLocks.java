package io.github.applock;

import static io.github.applock.Rows.*;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import javax.sql.DataSource;

/**
 * The operations of applock on PostgreSQL, MySQL and MariaDB: one statement each, which calls the row form of a procedure or reads
 * a view. procedures/README.md documents each operation.
 *
 * <p>{@link #on(DataSource)} takes a connection of the pool for each call, and the call is final when it returns. {@link #in(Connection)}
 * works in the caller's transaction: the operation takes effect when that commits, and is undone when it rolls back. Many threads may
 * use an object on a pool, and one thread at a time an object on a connection.
 *
 * <p>The library ends only transactions that it has begun. Some DataSources hand out the connection of the caller's transaction: Spring's
 * TransactionAwareDataSourceProxy, and the pools of JTA. A call on such a one works in that transaction, as if by {@link #in(Connection)},
 * and so does a call on any connection without autocommit in which a transaction has begun. On another connection without autocommit, a call
 * on a pool turns it on, and off again afterwards. A transaction that was begun by a statement under autocommit is not recognized on a pool.
 *
 * <p>A refusal is an answer. A mistake, such as a ttl with parts of a second, is an {@link InvalidArgumentException}. That and every
 * other {@link ApplLockException} is unchecked. An SQLException is the driver's: {@link #isTransient} reports whether to roll back and retry.
 * A call that was cut off may have taken effect: repeat it as the same operator.
 */
public final class ApplLocks {
    /** The default schema of applock on PostgreSQL. */
    public static final String DEFAULT_SCHEMA = "applock";
    private static final List<String> LOCK_KEY = List.of("object_type", "object_id");
    private static final List<String> PROGRAM_KEY = List.of("object_type", "object_id", "operator_id", "client_id");

    private final Calls calls;

    private ApplLocks(Calls calls) {
        this.calls = calls;
    }

    /**
     * The operations, each on a connection of a pool. A call is final, unless the pool hands out the connection of a transaction. The first
     * call also checks the version of the procedures, as {@link #check} does.
     *
     * @param pool the pool, which stays the caller's
     * @return the operations
     */
    public static ApplLocks on(DataSource pool) {
        return new ApplLocks(new Calls(pool, null, null, new Ending(pool, true)));
    }

    /**
     * The operations in the transaction that a connection has, or begins with the call. Nothing is committed or rolled back. Under autocommit
     * each call is final, also if a statement has turned it off at the server without the driver's noticing.
     *
     * @param connection the connection, which stays the caller's
     * @return the operations
     */
    public static ApplLocks in(Connection connection) {
        return new ApplLocks(new Calls(null, connection, null, new Ending(null, true)));
    }

    /**
     * The same operations of another installation.
     *
     * @param name a schema of PostgreSQL, or a database of MySQL or MariaDB. Without this call it is the schema applock, or the database
     *     of the connection
     * @return the operations
     */
    public ApplLocks schema(String name) {
        return new ApplLocks(calls.schema(name));
    }

    /** The same operations, which refuse to work in a transaction of the caller's. */
    ApplLocks unjoined() {
        return new ApplLocks(calls.unjoined());
    }

    /**
     * Compares the version of the procedures in the database with the one that this library was made for.
     *
     * @throws VersionException if they differ; it says which one to update
     * @throws SQLException as documented at the class
     */
    public void check() throws SQLException {
        calls.check();
    }

    /**
     * Takes or renews the lock on an object for one operator until it expires.
     *
     * @param object what to lock
     * @param owner the operator
     * @param ttl how long the lock lasts without a renewal: 1 s to 10 years, in whole seconds. Null keeps the ttl of a renewed grant, and
     *     is that of the type's policy for a new one, else 7 days
     * @return granted and ACQUIRED or RENEWED, or HELD with the holder
     * @throws SQLException as documented at the class
     */
    public Answer get(ApplObject object, Owner owner, Duration ttl) throws SQLException {
        return get(object, owner, ttl, false);
    }

    /**
     * Takes the lock on an object, and may refuse to renew it.
     *
     * @param object what to lock
     * @param owner the operator
     * @param ttl as above
     * @param onlyNew whether to refuse to renew the operator's own live lock: HELD with its own name
     * @return as above
     * @throws SQLException as documented at the class
     */
    public Answer get(ApplObject object, Owner owner, Duration ttl, boolean onlyNew) throws SQLException {
        return calls.one("get_appl_lock_row", row -> grant("get_appl_lock", row, row.getString("p_note")),
                object.type(), object.id(), owner.operator(), owner.department(), seconds("ttl", ttl), onlyNew ? "Y" : "N");
    }

    /**
     * Takes or renews one of the N permits of an object for one operator until it expires. A permit is a lock on a slot, which is an object
     * like any other: for release, for example.
     *
     * @param object the object of the permits
     * @param permits their number, 1 to 1000: the same in all calls
     * @param owner the operator
     * @param ttl as for get
     * @return the permit; or not granted, FULL, with the holders of all slots
     * @throws SQLException as documented at the class
     */
    public Permit permit(ApplObject object, long permits, Owner owner, Duration ttl) throws SQLException {
        Outcome[] outcome = {null};
        List<Permit.Holder> rows = calls.call("get_appl_lock_permit", row -> {
            outcome[0] = Outcome.of("get_appl_lock_permit", row.getString("outcome"));
            return new Permit.Holder(new ApplObject(object.type(), row.getString("slot_id")),
                    owner(row), row.getLong("fence"), instant(row, "acquired_ts"), instant(row, "expires_ts"), row.getLong("seconds_left"),
                    row.getString("note"));
        }, object.type(), object.id(), permits, owner.operator(), owner.department(), seconds("ttl", ttl));
        return outcome[0] == Outcome.FULL ? Permit.full(rows) : Permit.of(outcome[0], rows.get(0));
    }

    /**
     * Ends the grant that an operator holds on an object.
     *
     * @param object the locked object
     * @param operator the holder
     * @param fence the fence of the grant. A program should pass it: after an expiry the same operator may have another grant. Null is any
     *     grant of the operator
     * @return granted and RELEASED or FREE, or HELD with the holder
     * @throws SQLException as documented at the class
     */
    public Answer release(ApplObject object, String operator, Number fence) throws SQLException {
        return release(object, operator, fence, null, null);
    }

    /**
     * Ends the grant that an operator holds on an object, and records actor and reason in the history.
     *
     * @param object the locked object
     * @param operator the holder
     * @param fence the fence of the grant, or null
     * @param actor who does it; null is the operator
     * @param reason why, up to 255 characters, or null
     * @return as above
     * @throws SQLException as documented at the class
     */
    public Answer release(ApplObject object, String operator, Number fence, String actor, String reason) throws SQLException {
        return calls.one("release_appl_lock_row", row -> plainAnswer("release_appl_lock", row),
                object.type(), object.id(), operator, fence, actor, reason);
    }

    /**
     * Shows who holds an object, since when and until when.
     *
     * @param object the locked object
     * @return the lock, or an empty Optional if the object is free
     * @throws SQLException as documented at the class
     */
    public Optional<HeldLock> inquire(ApplObject object) throws SQLException {
        return calls.one("inquire_appl_lock_row", row -> "Y".equals(row.getString("p_ok_fl"))
                ? Optional.of(held(row, "p_", object, null)) : Optional.empty(), object.type(), object.id());
    }

    /**
     * Hands a held object from one operator to another, which begins a new grant.
     *
     * @param object the locked object
     * @param from the operator who holds it
     * @param to the operator who gets it
     * @param ttl as for get; null keeps the ttl
     * @return granted and TRANSFERRED, or HELD by another operator, or FREE
     * @throws SQLException as documented at the class
     */
    public Answer transfer(ApplObject object, String from, Owner to, Duration ttl) throws SQLException {
        return transfer(object, from, to, ttl, null, null);
    }

    /**
     * Hands a held object from one operator to another, and records actor and reason in the history.
     *
     * @param object the locked object
     * @param from the operator who holds it
     * @param to the operator who gets it
     * @param ttl as for get; null keeps the ttl
     * @param actor who does it; null is unknown
     * @param reason why, up to 255 characters, or null
     * @return as above
     * @throws SQLException as documented at the class
     */
    public Answer transfer(ApplObject object, String from, Owner to, Duration ttl, String actor, String reason) throws SQLException {
        return calls.one("transfer_appl_lock_row", row -> grant("transfer_appl_lock", row, ""),
                object.type(), object.id(), from, to.operator(), to.department(), seconds("ttl", ttl), actor, reason);
    }

    /**
     * Takes a held object from its holder, which begins a new grant. The history records the reason, and the former holder finds it in the
     * inbox.
     *
     * @param object the locked object
     * @param owner who takes it
     * @param reason why: 1 to 255 characters
     * @param expectedFence the fence of the grant to end, or null for any grant
     * @param ttl as for get; null keeps the ttl
     * @return granted and TAKEN with the former holder, or HELD by another grant, or FREE
     * @throws SQLException as documented at the class
     */
    public Answer take(ApplObject object, Owner owner, String reason, Number expectedFence, Duration ttl) throws SQLException {
        return calls.one("take_appl_lock_row", row -> grant("take_appl_lock", row, ""),
                object.type(), object.id(), owner.operator(), owner.department(), reason, expectedFence, seconds("ttl", ttl));
    }

    /**
     * Hands over one page of what an operator holds, in the order of the keys.
     *
     * @param from the holder
     * @param to the operator who gets them
     * @param ttl as for get; null keeps the ttl of each
     * @param actor who does it; null is unknown
     * @param reason why, up to 255 characters, or null
     * @param page which page, and whether it is a dry run
     * @return a result for each; the last page has fewer than its size
     * @throws SQLException as documented at the class
     */
    public List<LockChange> transferAll(String from, Owner to, Duration ttl, String actor, String reason, LockChange.Page page)
            throws SQLException {
        return calls.call("transfer_appl_locks", row -> changed("transfer_appl_locks", row),
                from, page.type(), to.operator(), to.department(), seconds("ttl", ttl), actor, reason,
                page.afterType(), page.afterId(), page.size(), page.dryRun() ? "Y" : "N");
    }

    /**
     * Releases one page of what an operator holds, in the order of the keys.
     *
     * @param operator the holder
     * @param actor who does it; null is the operator
     * @param reason why, up to 255 characters, or null
     * @param page which page, and whether it is a dry run
     * @return a result for each; the last page has fewer than its size
     * @throws SQLException as documented at the class
     */
    public List<LockChange> releaseAll(String operator, String actor, String reason, LockChange.Page page) throws SQLException {
        return calls.call("release_appl_locks", row -> changed("release_appl_locks", row),
                operator, page.type(), actor, reason, page.afterType(), page.afterId(), page.size(), page.dryRun() ? "Y" : "N");
    }

    /**
     * Leaves a note on why an operator holds an object, for everybody to read. The note lasts as long as the grant, with its renewals.
     *
     * @param object the locked object
     * @param operator the holder
     * @param fence the fence of the grant, or null for any grant of the operator
     * @param note up to 255 characters; null removes the note
     * @return granted and NOTED, or HELD by another operator, or FREE
     * @throws SQLException as documented at the class
     */
    public Answer note(ApplObject object, String operator, Number fence, String note) throws SQLException {
        return calls.one("note_appl_lock_row", row -> plainAnswer("note_appl_lock", row),
                object.type(), object.id(), operator, fence, note);
    }

    /**
     * Reads the live locks, in the order of object_type and object_id.
     *
     * @param filter which rows
     * @return the page
     * @throws SQLException as documented at the class
     */
    public List<HeldLock> live(Filter filter) throws SQLException {
        return calls.read("appl_lock_live", LOCK_KEY, filter, row -> held(row, "", object(row), Duration.ofSeconds(row.getLong("ttl_seconds"))));
    }

    /**
     * Removes the rows of objects that have been free for long.
     *
     * @param age how long, in whole seconds; null is 30 days
     * @param maxRows the most objects: 1 to 10000, and null is 1000
     * @return the number of objects
     * @throws SQLException as documented at the class
     */
    public long purge(Duration age, Number maxRows) throws SQLException {
        return calls.one("purge_appl_locks_row", row -> row.getLong("p_purged"), seconds("age", age), maxRows);
    }

    /**
     * Removes old events from the history, the oldest first.
     *
     * @param age how old, in whole seconds; null is 400 days
     * @param maxRows the most events: 1 to 10000, and null is 1000
     * @return the number of events
     * @throws SQLException as documented at the class
     */
    public long purgeHistory(Duration age, Number maxRows) throws SQLException {
        return calls.one("purge_appl_lock_history_row", row -> row.getLong("p_purged"), seconds("age", age), maxRows);
    }

    /**
     * Fails unless exactly this grant is live, and keeps it so to the end of the transaction. It is the last step before a program commits
     * its work under the lock.
     *
     * @param object the locked object
     * @param operator the holder
     * @param fence the fence of the grant
     * @throws LostException if it is not live; the message names the holder
     * @throws InvalidArgumentException if there is no transaction: with autocommit it would protect nothing
     * @throws SQLException as documented at the class
     */
    public void assertHeld(ApplObject object, String operator, Number fence) throws SQLException {
        calls.within("assert_appl_lock_row", object.type(), object.id(), operator, fence);
    }

    /**
     * Lets one transaction at a time work on an object, until this one ends. It leaves no row, and is independent of the object's lock. On
     * MySQL and MariaDB it must be the first statement of its transaction, so that later reads see what the transaction before has written.
     *
     * @param object the object
     * @throws InvalidArgumentException if there is no transaction: with autocommit it would end with the call
     * @throws SQLException as documented at the class
     */
    public void serialize(ApplObject object) throws SQLException {
        calls.within("serialize_appl_lock_row", object.type(), object.id());
    }

    /**
     * Renews many grants in one call, each by its fence. It never takes an expired lock, and never makes a lock end earlier.
     *
     * @param grants at most 10000
     * @return a result for each. A grant without one is locked by another transaction: retry it
     * @throws SQLException as documented at the class
     */
    public List<Renewal.Result> renew(List<Renewal.Grant> grants) throws SQLException {
        return renewDocument(Renewal.document(grants));
    }

    /** renew, for a test of the document. */
    List<Renewal.Result> renewDocument(String document) throws SQLException {
        return calls.call("renew_appl_locks", row -> {
            Outcome outcome = Outcome.of("renew_appl_locks", row.getString("outcome"));
            return new Renewal.Result(object(row), outcome.grants("renew_appl_locks"), outcome, old(row, "").known(),
                    instant(row, "acquired_ts"), instant(row, "expires_ts"), row.getLong("seconds_left"));
        }, document);
    }

    /**
     * Lists an operator as a waiter for an object. The program must poll at least every 30 s: its waiters are forgotten after 60 s.
     *
     * @param object the awaited object
     * @param owner the waiting operator
     * @param client the program, by a name that no other program has
     * @param wait how long the operator waits at most; null is no limit
     * @throws SQLException as documented at the class
     */
    public void announce(ApplObject object, Owner owner, String client, Duration wait) throws SQLException {
        calls.one("announce_appl_lock_waiter_row", row -> null,
                object.type(), object.id(), owner.operator(), owner.department(), client, seconds("wait", wait));
    }

    /**
     * Removes an operator from the list of waiters.
     *
     * @param object the awaited object
     * @param operator the operator
     * @param client the name of the program
     * @throws SQLException as documented at the class
     */
    public void retract(ApplObject object, String operator, String client) throws SQLException {
        calls.one("retract_appl_lock_waiter_row", row -> null, object.type(), object.id(), operator, client);
    }

    /**
     * Shows which objects that a program waits for are free or will be next, and keeps its waiters listed.
     *
     * @param client the name of the program
     * @param maxRows the most objects: 1 to 10000, and null is 1000
     * @return the awaited objects, the earliest to be free first
     * @throws SQLException as documented at the class
     */
    public List<Waiter.Awaited> poll(String client, Number maxRows) throws SQLException {
        return calls.call("poll_appl_locks",
                row -> new Waiter.Awaited(object(row), row.getLong("free_in_us"), "Y".equals(row.getString("first_fl"))), client, maxRows);
    }

    /**
     * Reads the waiters, in the order of object_type, object_id, operator_id and client_id.
     *
     * @param filter which rows
     * @return the page
     * @throws SQLException as documented at the class
     */
    public List<Waiter> waiting(Filter filter) throws SQLException {
        return calls.read("appl_lock_waiting", PROGRAM_KEY, filter, row -> new Waiter(
                object(row), owner(row), row.getString("client_id"),
                instant(row, "since_ts"), instant(row, "until_ts"), row.getLong("waited_seconds"),
                new Owner(row.getString("holder_id"), row.getString("holder_department_id")).known(), row.getLong("seconds_left")));
    }

    /**
     * Asks an object's holder for it, with a message that the holder finds in the inbox. The request is listed for 60 s after each call:
     * repeat the call in each heartbeat. It locks nothing, and does not affect waiters.
     *
     * @param object the object
     * @param owner the asker
     * @param client the asking browser tab or program, by a name that no other one has
     * @param message for the holder, up to 255 characters; null is empty
     * @param wait when the request expires, in whole seconds; zero withdraws it; null is never
     * @return granted and ASKED with the holder, GIVEN with the former one and the new grant, or WITHDRAWN; not granted and FREE, or OWN: the
     *     operator has the object already
     * @throws SQLException as documented at the class
     */
    public Answer ask(ApplObject object, Owner owner, String client, String message, Duration wait) throws SQLException {
        return calls.one("ask_appl_lock_row", row -> grant("ask_appl_lock", row, ""),
                object.type(), object.id(), owner.operator(), owner.department(), client, message, seconds("wait", wait));
    }

    /**
     * Answers an operator who asks for a held object. GIVE ends the grant, and begins one of the asker. It lasts for 60 s, unless the asker
     * gets the object before that.
     *
     * @param object the object
     * @param operator the holder
     * @param fence the fence of the grant, from the notice AWAITED
     * @param asker the asker
     * @param client the asking program, from the notice; null is any
     * @param reply the answer
     * @param reason for the asker, up to 255 characters, or null
     * @return granted and GIVEN or TOLD; not granted and HELD by another operator or grant, FREE, or GONE: the asker no longer asks
     * @throws SQLException as documented at the class
     */
    public Answer answer(ApplObject object, String operator, Number fence, String asker, String client, Asker.Reply reply, String reason)
            throws SQLException {
        return calls.one("answer_appl_lock_row", row -> Answer.of("answer_appl_lock", outcome("answer_appl_lock", row), old(row, "p_"), 0,
                instant(row, "p_acquired_ts"), instant(row, "p_expires_ts"), row.getLong("p_seconds_left"), ""),
                object.type(), object.id(), operator, fence, asker, client, reply == null ? null : reply.name(), reason);
    }

    /**
     * Lists an operator as a viewer of an object, and shows its holder, askers and other viewers. Call it in each heartbeat of 15 s. It
     * locks nothing, and the history does not record it.
     *
     * @param object the object
     * @param owner the viewer
     * @param client the browser tab or program, by a name that no other one has
     * @param state what the viewer does; null removes it
     * @param ttl how long it is listed without another call: 1 s to 300 s, in whole seconds; null is 45 s
     * @return the holder, then the other askers, then the other viewers; at most 200
     * @throws SQLException as documented at the class
     */
    public List<Presence> see(ApplObject object, Owner owner, String client, Presence.State state, Duration ttl) throws SQLException {
        return calls.call("see_appl_lock", row -> new Presence(row.getString("kind"), owner(row), row.getString("client_id"),
                row.getString("state"), instant(row, "since_ts"), row.getLong("seconds_left"), row.getString("message")),
                object.type(), object.id(), owner.operator(), owner.department(), client, state == null ? null : state.name(),
                seconds("ttl", ttl));
    }

    /**
     * Reads the askers, in the order of object_type, object_id, operator_id and client_id.
     *
     * @param filter which rows
     * @return the page
     * @throws SQLException as documented at the class
     */
    public List<Asker> asking(Filter filter) throws SQLException {
        return calls.read("appl_lock_asking", PROGRAM_KEY, filter, row -> new Asker(
                object(row), owner(row), row.getString("client_id"), row.getString("message"),
                instant(row, "since_ts"), instant(row, "until_ts"), row.getLong("waited_seconds"),
                row.getString("answer"), row.getString("answer_reason"),
                new Owner(row.getString("holder_id"), row.getString("holder_department_id")).known(), row.getLong("seconds_left")));
    }

    /**
     * Reads the viewers, in the order of object_type, object_id, operator_id and client_id.
     *
     * @param filter which rows
     * @return the page
     * @throws SQLException as documented at the class
     */
    public List<Presence.Viewer> viewers(Filter filter) throws SQLException {
        return calls.read("appl_lock_viewers", PROGRAM_KEY, filter, row -> new Presence.Viewer(
                object(row), owner(row), row.getString("client_id"), row.getString("state"), instant(row, "since_ts"),
                row.getLong("seconds_left")));
    }

    /**
     * Counts locks and waiters, by type and department, in this order.
     *
     * @param filter which rows
     * @return the page
     * @throws SQLException as documented at the class
     */
    public List<LockStats> stats(Filter filter) throws SQLException {
        return calls.read("appl_lock_stats", List.of("object_type", "department_id"), filter, row -> new LockStats(
                row.getString("object_type"), row.getString("department_id"),
                row.getLong("live"), row.getLong("expired"), row.getLong("oldest_seconds"), row.getLong("next_expiry_seconds"),
                row.getLong("waiters"), row.getLong("longest_wait_seconds")));
    }

    /**
     * Sets a type's policy: how long its locks last, whether a take needs a reason, what the history records, and who sees whom.
     *
     * @param policy the whole policy: a null setting is unset
     * @param actor who does it, for the history
     * @param reason why; null is empty
     * @return granted and SET
     * @throws SQLException as documented at the class
     */
    public Answer setPolicy(Policy policy, String actor, String reason) throws SQLException {
        return calls.one("set_appl_lock_policy_row", row -> laidDown("set_appl_lock_policy", row), policy.type(),
                seconds("defaultTtl", policy.defaultTtl()), seconds("longestTtl", policy.longestTtl()), flag(policy.takeReason()), actor, reason, policy.history(),
                flag(policy.presence()), seconds("yieldAfter", policy.yieldAfter()));
    }

    /**
     * Removes the policy of a type.
     *
     * @param type the kind of object
     * @param actor who does it, for the history
     * @param reason why; null is empty
     * @return granted and DROPPED, or NONE if it had none
     * @throws SQLException as documented at the class
     */
    public Answer dropPolicy(String type, String actor, String reason) throws SQLException {
        return calls.one("drop_appl_lock_policy_row", row -> laidDown("drop_appl_lock_policy", row), type, actor, reason);
    }

    /**
     * Reads the policies, in the order of object_type.
     *
     * @param filter which rows
     * @return the page
     * @throws SQLException as documented at the class
     */
    public List<Policy> policies(Filter filter) throws SQLException {
        return calls.read("appl_lock_policies", List.of("object_type"), filter, row -> new Policy(
                row.getString("object_type"), duration(row, "default_ttl_seconds"), duration(row, "longest_ttl_seconds"),
                "Y".equals(row.getString("take_reason_fl")), row.getString("history_level"),
                "Y".equals(row.getString("presence_fl")), duration(row, "yield_after_seconds")));
    }

    /**
     * Reads the history, in the order of event_id: the oldest first.
     *
     * @param filter which events
     * @return the page
     * @throws SQLException as documented at the class
     */
    public List<Event> history(Filter filter) throws SQLException {
        return calls.read("appl_lock_history", List.of("event_id"), filter, row -> new Event(
                row.getLong("event_id"), instant(row, "event_ts"), object(row), row.getString("event"), row.getString("actor_id"),
                row.getString("db_user"), row.getString("program"), new Owner(row.getString("from_operator_id"), row.getString("from_department_id")),
                new Owner(row.getString("to_operator_id"), row.getString("to_department_id")),
                row.getLong("from_fence"), row.getLong("to_fence"), row.getString("reason")));
    }

    /**
     * Reports what others did with an operator's locks, who waits or asks for them, and how its requests were answered.
     *
     * @param operator the operator
     * @param position the nextPosition of the last answer that had a notice, or null the first time. No event is left out
     * @param maxRows the most notices: 1 to 10000, and null is 1000
     * @return events in their order, then waiters and askers, the longest first
     * @throws SQLException as documented at the class
     */
    public List<Notice> inbox(String operator, String position, Number maxRows) throws SQLException {
        return calls.call("inbox_appl_locks", row -> new Notice(
                row.getString("kind"), row.getLong("event_id"), object(row),
                new Owner(row.getString("other_operator_id"), row.getString("other_department_id")),
                instant(row, "event_ts"), row.getLong("seconds_left"), row.getString("reason"), row.getString("next_position"),
                row.getString("message"), row.getString("client_id"), row.getLong("fence")),
                operator, position, maxRows);
    }

    /**
     * Reports whether to roll back and retry: after a deadlock, a serialization failure, a lock wait that timed out, or an object that
     * changed hands too often. A broken connection is none of these.
     *
     * @param error the exception
     * @return whether to retry
     */
    public static boolean isTransient(Exception error) {
        return Calls.isTransient(error);
    }
}
