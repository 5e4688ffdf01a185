package io.github.applock;

/**
 * What there is of one type and department, at the answer and by the database's clock.
 *
 * @param type the kind of object
 * @param department the department of those who hold or wait; empty for none, and for what is free
 * @param live live locks
 * @param expired rows of objects that are free again and have not been purged
 * @param oldestSeconds whole seconds since the start of the oldest live grant, rounded down; 0 for none
 * @param nextExpirySeconds whole seconds until the next live lock ends, rounded up; 0 for none
 * @param waiters those who wait
 * @param longestWaitSeconds whole seconds since the first of them began to wait, rounded down; 0 for none
 */
public record LockStats(String type, String department, long live, long expired, long oldestSeconds, long nextExpirySeconds,
        long waiters, long longestWaitSeconds) {}
