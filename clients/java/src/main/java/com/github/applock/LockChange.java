package com.github.applock;

import java.time.Instant;

/**
 * What became of one lock of those that an operator holds.
 *
 * @param object what is or was locked
 * @param outcome TRANSFERRED or RELEASED; BUSY in another transaction, or HELD or FREE if it has changed hands meanwhile, and then left
 *     as it was; WOULD_TRANSFER or WOULD_RELEASE if nothing was to be done
 * @param holder who holds it, when the outcome is HELD
 * @param fence the number of the grant that was begun or ended, or left as it was; 0 for HELD and FREE
 * @param expires when the lock ends; null for RELEASED and FREE
 * @param secondsLeft whole seconds until then by the database's clock, rounded up
 */
public record LockChange(ApplObject object, String outcome, Owner holder, long fence, Instant expires, long secondsLeft) {

    /**
     * A page of the locks of an operator.
     *
     * @param type only this type, or null for any
     * @param after the last object of the page before; null in both for the first page
     * @param size how many locks, 1 to 10000, or null for 1000
     * @param dryRun Y to only tell what would be done, or null
     */
    public record Page(String type, ApplObject after, Long size, String dryRun) {}
}
