package io.github.applock;

/**
 * The figures of one type and department, by the database's clock.
 *
 * @param type the kind of object
 * @param department the department of holders and waiters; empty for none, and for free objects
 * @param live live locks
 * @param expired rows of objects that are free again and have not been purged
 * @param oldestSeconds whole seconds since the start of the oldest live grant, rounded down; 0 for none
 * @param nextExpirySeconds whole seconds until the next live lock ends, rounded up; 0 for none
 * @param waiters the number of waiters
 * @param longestWaitSeconds the longest wait of one of them in whole seconds, rounded down; 0 for none
 */
public record LockStats(String type, String department, long live, long expired, long oldestSeconds, long nextExpirySeconds,
        long waiters, long longestWaitSeconds) {}
