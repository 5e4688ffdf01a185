package com.github.applock.spring;

import org.springframework.integration.support.locks.DistributedLock;

/** A lock of {@link ApplLockRegistry}: reentrant, of the thread that takes it, and of that alone among all processes. */
public interface FencedLock extends DistributedLock {
    /**
     * The number of the grant, which is greater for every later grant of the same object: what is written under the lock carries it, so
     * that whoever reads can refuse what comes from an earlier grant.
     *
     * @return the number
     * @throws IllegalMonitorStateException if the current thread does not hold the lock
     */
    long fence();

    /**
     * The operator of the grant, for {@link com.github.applock.ApplLocks#assertHeld} in the transaction that the lock protects.
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
