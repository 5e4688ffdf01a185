package io.github.applock;

import java.time.Instant;

/**
 * An event of the history.
 *
 * @param id greater for a later event
 * @param at when it happened
 * @param object the locked object; empty for PURGED and HISTORY_PURGED
 * @param event TRANSFERRED, TAKEN, RELEASED, OVERTAKEN, ACQUIRED, RENEWED, REFUSED, POLICY, PURGED or
 *     HISTORY_PURGED
 * @param actor who caused it, as named in the call, or empty
 * @param user the database user
 * @param program the connection's name of its program, or empty
 * @param from the former holder
 * @param to the new holder, or empty
 * @param fromFence the fence of the grant that ended
 * @param toFence the fence of the new grant, or 0
 * @param reason why; for PURGED and HISTORY_PURGED the number of rows
 */
public record Event(
        long id, Instant at, ApplObject object, String event, String actor, String user, String program, Owner from, Owner to,
        long fromFence, long toFence, String reason) {}
