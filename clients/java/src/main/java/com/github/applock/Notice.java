package com.github.applock;

import java.time.Instant;

/**
 * What an operator should know about one object.
 *
 * @param kind TAKEN, HANDED or RELEASED, which are events; AWAITED or EXPIRING, which are how it is now
 * @param eventId the number of the event, or 0
 * @param object what it is about
 * @param other who has it now, who had it, who ended the lock, or who waits; empty when EXPIRING
 * @param at when it happened, since when that one waits, or when the lock ends
 * @param secondsLeft whole seconds to the end of the operator's lock, rounded up; 0 for events
 * @param reason why, or empty
 */
public record Notice(String kind, long eventId, ApplObject object, Owner other, Instant at, long secondsLeft, String reason) {}
