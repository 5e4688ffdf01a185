package io.github.applock;

import java.time.Instant;
import java.util.Optional;

/**
 * An operator who waits for an object.
 *
 * @param object what is waited for
 * @param owner the waiter
 * @param client the program that waits
 * @param since since when
 * @param until how long the waiter meant to wait, or null
 * @param waitedSeconds whole seconds that it has waited, rounded down
 * @param holder the holder of the object, or an empty owner if it is free
 * @param secondsLeft whole seconds until the holder's lock ends, rounded up; 0 when it is free
 */
public record Waiter(
        ApplObject object, Owner owner, String client, Instant since, Instant until, long waitedSeconds,
        Optional<Owner> holder, long secondsLeft) {
    /**
     * What a program waits for.
     *
     * @param object what is waited for
     * @param freeInMicros microseconds until it is free, without a renewal or a release before; 0 if it is free now
     * @param first whether it is free, and the turn of the program, whose waiter has been listed longest
     */
    public record Awaited(ApplObject object, long freeInMicros, boolean first) {}
}
