package io.github.applock;

import java.time.Instant;

/**
 * What an operator should know about one object.
 *
 * @param kind TAKEN, HANDED, RELEASED, GIVEN or YIELDED, which are events; AWAITED, LATER or DECLINED, which is how it is now
 * @param eventId the number of the event, or 0
 * @param object what it is about
 * @param other the new holder, the former one, the operator who ended the lock, the waiter, the asker, or the operator who answered
 * @param at when it happened, or since when that one waits or asks
 * @param secondsLeft whole seconds to the end of the operator's lock, rounded up; 0 for events
 * @param reason why, or empty
 * @param nextPosition what the next call passes; the same in each notice
 * @param message the asker's message, or empty
 * @param clientId the program of who asks; empty unless it is a request
 * @param fence the operator's grant that is asked for; 0 unless it is a request
 */
public record Notice(
        String kind, long eventId, ApplObject object, Owner other, Instant at, long secondsLeft, String reason, String nextPosition,
        String message, String clientId, long fence) {}
