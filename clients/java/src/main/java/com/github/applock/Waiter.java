package com.github.applock;

import java.time.Instant;

/**
 * Somebody who waits for a lock.
 *
 * @param object what is waited for
 * @param owner who waits
 * @param client the program that waits
 * @param since since when
 * @param until how long the waiter meant to wait, or null
 * @param expires when the waiter is no longer listed, unless the program polls
 * @param secondsLeft whole seconds until then, rounded up
 */
public record Waiter(
        ApplObject object, Owner owner, String client, Instant since, Instant until, Instant expires, long secondsLeft) {
    /**
     * What a program waits for.
     *
     * @param object what is waited for
     * @param freeInMicros microseconds until it is free, unless somebody renews or releases it before; 0 if it is free now
     */
    public record Awaited(ApplObject object, long freeInMicros) {}
}
