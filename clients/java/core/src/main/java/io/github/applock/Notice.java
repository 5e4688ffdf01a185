package io.github.applock;

import java.time.Instant;

/**
 * What an operator should know about one object.
 *
 * @param kind TAKEN, HANDED or RELEASED, which are events; AWAITED, which is how it is now
 * @param eventId the number of the event, or 0
 * @param object what it is about
 * @param other who has it now, who had it, who ended the lock, or who waits
 * @param at when it happened, or since when that one waits
 * @param secondsLeft whole seconds to the end of the operator's lock, rounded up; 0 for events
 * @param reason why, or empty
 * @param safeEventId what the next call passes; the same in each notice
 */
public record Notice(
        String kind, long eventId, ApplObject object, Owner other, Instant at, long secondsLeft, String reason, long safeEventId) {}
