package io.github.applock.spring;

import java.time.Duration;
import java.util.concurrent.locks.Lock;

/** A lock of {@link ApplLockRegistry}: reentrant, and held by one thread among all processes. */
public interface FencedLock extends Lock {
    /**
     * Locks as {@link #lock()} does, for another time.
     *
     * @param ttl how long the lock lasts, rounded up to whole seconds
     */
    void lock(Duration ttl);

    /**
     * Locks as {@link #tryLock(long, java.util.concurrent.TimeUnit)} does, for another time.
     *
     * @param waitTime how long to wait at most
     * @param ttl how long the lock lasts, rounded up to whole seconds
     * @return whether it is locked
     * @throws InterruptedException if the thread was interrupted
     */
    boolean tryLock(Duration waitTime, Duration ttl) throws InterruptedException;

    /**
     * Returns the fence of the grant, which is greater for every later grant of the same object. Store it with what is written under the
     * lock, so that a reader can refuse writes of an earlier grant.
     *
     * @return the fence
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
     * Reports whether the grant is lost: a renewal was refused, or none has succeeded for as long as the lock lasts.
     *
     * @return whether it is lost
     * @throws IllegalMonitorStateException if the current thread does not hold the lock
     */
    boolean isLost();
}
