package io.github.applock.spring;

import java.time.Duration;
import java.util.concurrent.locks.Lock;

/** A lock of {@link ApplLockRegistry}: reentrant, of the thread that takes it, and of that alone among all processes. */
public interface FencedLock extends Lock {
    /**
     * Locks as {@link #lock()} does, for a time of its own.
     *
     * @param ttl how long the lock lives, rounded up to whole seconds
     */
    void lock(Duration ttl);

    /**
     * Locks as {@link #tryLock(long, java.util.concurrent.TimeUnit)} does, for a time of its own.
     *
     * @param waitTime how long to wait at most
     * @param ttl how long the lock lives, rounded up to whole seconds
     * @return whether it is locked
     * @throws InterruptedException if the thread was interrupted
     */
    boolean tryLock(Duration waitTime, Duration ttl) throws InterruptedException;

    /**
     * The number of the grant, which is greater for every later grant of the same object: what is written under the lock carries it, so
     * that whoever reads can refuse what comes from an earlier grant.
     *
     * @return the number
     * @throws IllegalMonitorStateException if the current thread does not hold the lock
     */
    long fence();

    /**
     * The operator of the grant, for {@link io.github.applock.ApplLocks#assertHeld} in the transaction that the lock protects.
     *
     * @return the operator
     * @throws IllegalMonitorStateException if the current thread does not hold the lock
     */
    String operator();

    /**
     * Whether the grant is no longer to be relied on: a renewal was refused, or none has succeeded for as long as the lock lives.
     *
     * @return whether it is lost
     * @throws IllegalMonitorStateException if the current thread does not hold the lock
     */
    boolean isLost();
}
