package io.github.applock;

import java.time.Instant;

/**
 * An event of the history.
 *
 * @param id greater for a later event
 * @param at when it happened
 * @param object what was locked; empty for PURGED and HISTORY_PURGED
 * @param event TRANSFERRED, TAKEN, RELEASED, OVERTAKEN, ACQUIRED, RENEWED, REFUSED, POLICY, PURGED or
 *     HISTORY_PURGED
 * @param actor who did it, as the call said; empty when it named nobody
 * @param user the database user
 * @param program what the connection calls itself, or empty
 * @param from who held the lock
 * @param to who holds it since, or empty
 * @param fromFence the number of the grant that ended
 * @param toFence the number of the new grant, or 0
 * @param reason why; for PURGED and HISTORY_PURGED the number of rows
 */
public record Event(
        long id, Instant at, ApplObject object, String event, String actor, String user, String program, Owner from, Owner to,
        long fromFence, long toFence, String reason) {}
