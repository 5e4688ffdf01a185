package io.github.applock;

import java.time.Instant;
import java.util.Optional;

/**
 * What became of one lock of those that an operator holds.
 *
 * @param object what is or was locked
 * @param granted whether it was transferred or released; false for a dry run
 * @param outcome TRANSFERRED or RELEASED; BUSY in another transaction, or HELD or FREE if it has changed hands meanwhile, and then left
 *     as it was; WOULD_TRANSFER or WOULD_RELEASE if nothing was to be done
 * @param holder the holder, if the outcome is HELD
 * @param fence the number of the grant that was begun or ended, or left as it was; 0 for HELD and FREE
 * @param expires when the lock ends; null for RELEASED and FREE
 * @param secondsLeft whole seconds until then by the database's clock, rounded up
 */
public record LockChange(
        ApplObject object, boolean granted, Outcome outcome, Optional<Owner> holder, long fence, Instant expires, long secondsLeft) {

    /**
     * A page of the locks of an operator.
     *
     * @param type only this type, or null for any
     * @param after the last object of the page before, or null for the first page
     * @param size how many locks, 1 to 10000, or null for 1000
     * @param dryRun whether to only tell what would be done
     */
    public record Page(String type, ApplObject after, Number size, boolean dryRun) {
        /** The first 1000 locks of any type. */
        public static final Page FIRST = new Page(null, null, null, false);

        String afterType() {
            return after == null ? null : after.type();
        }

        String afterId() {
            return after == null ? null : after.id();
        }
    }
}
