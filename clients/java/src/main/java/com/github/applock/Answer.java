package com.github.applock;

import java.time.Instant;

/**
 * What an operation on one lock answers.
 *
 * @param yes whether the caller has what it asked for
 * @param outcome how: ACQUIRED, RENEWED, RELEASED, TRANSFERRED, TAKEN, NOTED, FREE or HELD
 * @param holder who has it instead, when the outcome is HELD; who had it, when it is TAKEN from another operator; else two empty
 *     strings
 * @param fence the number of the caller's grant, or 0
 * @param expires when the lock ends, whoever holds it; null when there is none, and of a release
 * @param secondsLeft whole seconds until then by the database's clock, rounded up: count them from before the call
 * @param note what the holder has noted, when a get is refused; the caller's own note when it renews; else empty
 */
public record Answer(boolean yes, String outcome, Owner holder, long fence, Instant expires, long secondsLeft, String note) {
    /** The caller holds the lock, and did not before. */
    public static final String ACQUIRED = "ACQUIRED";
    /** The caller holds the lock, as it did before. */
    public static final String RENEWED = "RENEWED";
    /** The caller held the lock, and has let it go. */
    public static final String RELEASED = "RELEASED";
    /** The lock is another operator's now. */
    public static final String TRANSFERRED = "TRANSFERRED";
    /** The caller holds the lock, which was held before. */
    public static final String TAKEN = "TAKEN";
    /** The caller holds the lock, and this is its note now. */
    public static final String NOTED = "NOTED";
    /** Nobody holds the lock. */
    public static final String FREE = "FREE";
    /** Somebody else holds the lock, or the same operator by another grant. */
    public static final String HELD = "HELD";
}
