package io.github.applock.spring;

import io.github.applock.ApplLockException;
import io.github.applock.ApplLocks;
import io.github.applock.ApplObject;
import io.github.applock.Lease;
import io.github.applock.Leases;
import io.github.applock.Owner;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ConcurrentModificationException;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import javax.sql.DataSource;
import org.springframework.dao.CannotAcquireLockException;
import org.springframework.dao.DataAccessResourceFailureException;
import org.springframework.integration.support.locks.ExpirableLockRegistry;
import org.springframework.integration.support.locks.RenewableLockRegistry;
import org.springframework.scheduling.TaskScheduler;
import org.springframework.util.Assert;

/**
 * Spring Integration's locks as locks of applock: the key {@code aggregate} is the object {@code spring:aggregate}, visible like any
 * other. Each time a lock is taken, it gets its own operator, and only this grant is renewed or released. A holder that took the lock over
 * after an expiry keeps it, and unlock throws a {@link ConcurrentModificationException}.
 *
 * <p>A lock lasts for the ttl, by the database's clock and in whole seconds, rounded up. With {@link #setRenewalTaskScheduler} it is renewed
 * three times within the ttl while it is held. Safe for use by many threads.
 */
public final class ApplLockRegistry implements ExpirableLockRegistry, RenewableLockRegistry {
    /** The default type of the objects. */
    public static final String OBJECT_TYPE = "spring";

    /** How long a lock lasts by default after it was taken or renewed. */
    public static final Duration DEFAULT_TTL = Duration.ofSeconds(10);

    private static final int CAPACITY = 100_000;
    private static final Duration SECOND = Duration.ofSeconds(1);

    private final String objectType;
    private final Leases leases;
    private final Duration ttl;
    private final Map<String, TableLock> known = new LinkedHashMap<>(16, 0.75F, true); // guarded by itself
    private volatile Duration idleBetweenTries = Duration.ofMillis(100);
    private volatile TaskScheduler renewals;

    /**
     * A registry for the type {@link #OBJECT_TYPE}, with the host's name for operators and {@link #DEFAULT_TTL}.
     *
     * @param pool the pool, which stays the caller's. Its connections must not be those of the transaction under the lock
     */
    public ApplLockRegistry(DataSource pool) {
        this(ApplLocks.on(pool), OBJECT_TYPE, new Owner(Owner.hostName(), ""), DEFAULT_TTL);
    }

    /**
     * A registry.
     *
     * @param locks the operations, on a pool
     * @param objectType the type of the objects
     * @param owner the beginning of the operators, which random digits follow, and their department
     * @param ttl how long a lock lasts
     */
    public ApplLockRegistry(ApplLocks locks, String objectType, Owner owner, Duration ttl) {
        this.objectType = objectType;
        this.leases = Leases.by(locks).owner(owner).unrenewed();
        this.ttl = ttl;
    }

    /**
     * Sets how long a waiting thread sleeps between two tries, by default 100 ms. A refused try reads one row.
     *
     * @param idle how long
     */
    public void setIdleBetweenTries(Duration idle) {
        this.idleBetweenTries = idle;
    }

    /**
     * Sets a scheduler that renews each lock three times within its ttl while it is held.
     *
     * @param scheduler the scheduler, or null for none
     */
    public void setRenewalTaskScheduler(TaskScheduler scheduler) {
        this.renewals = scheduler;
    }

    @Override
    public FencedLock obtain(Object lockKey) {
        return lockOf(lockKey);
    }

    private TableLock lockOf(Object lockKey) {
        Assert.isInstanceOf(String.class, lockKey);
        synchronized (known) {
            TableLock lock = known.computeIfAbsent((String) lockKey, TableLock::new);
            if (known.size() > CAPACITY) {
                known.values().removeIf(other -> other != lock && !other.local.isLocked() && known.size() > CAPACITY);
            }
            return lock;
        }
    }

    @Override
    public void expireUnusedOlderThan(long age) {
        long now = System.nanoTime();
        synchronized (known) {
            known.values().removeIf(lock -> !lock.local.isLocked() && now - lock.lastUsed >= TimeUnit.MILLISECONDS.toNanos(age));
        }
    }

    @Override
    public void renewLock(Object lockKey) {
        renewLock(lockKey, ttl);
    }

    /**
     * Renews a lock of the current thread for another time.
     *
     * @param lockKey the key
     * @param customTtl how long the lock lasts from now on, rounded up to whole seconds
     */
    public void renewLock(Object lockKey, Duration customTtl) {
        TableLock lock = lockOf(lockKey);
        try {
            if (lock.grant().lease.renew(wholeSeconds(customTtl))) {
                return;
            }
        } catch (SQLException | ApplLockException error) {
            throw new DataAccessResourceFailureException("Failed to renew " + lock.object, error);
        }
        throw new IllegalStateException("Could not renew " + lock.object + ": the grant has ended");
    }

    private static Duration wholeSeconds(Duration wanted) {
        return wanted.compareTo(SECOND) < 0 ? SECOND : Duration.ofSeconds(wanted.plusSeconds(1).minusNanos(1).getSeconds());
    }

    /** Grant is the lock from when it is taken to when it is released. Another thread renews it. */
    private record Grant(Lease lease, Optional<ScheduledFuture<?>> renewing) {
        static Grant of(Lease lease, Duration wanted, TaskScheduler scheduler) {
            Duration pause = wanted.dividedBy(3);
            return new Grant(lease, Optional.ofNullable(scheduler).map(each -> each.scheduleWithFixedDelay(
                    () -> renew(lease, wanted), Instant.now().plus(pause), pause)));
        }

        private static void renew(Lease lease, Duration wanted) {
            try {
                lease.renew(wanted); // not a lost one
            } catch (SQLException | RuntimeException error) {
                // The next one may succeed. If none does, isLost reports it.
            }
        }

        boolean release() throws SQLException {
            renewing.ifPresent(task -> task.cancel(false));
            return lease.release();
        }
    }

    private final class TableLock implements FencedLock {
        private final ApplObject object;
        private final ReentrantLock local = new ReentrantLock();
        private volatile long lastUsed = System.nanoTime();
        private Grant grant; // guarded by local

        TableLock(String key) {
            this.object = new ApplObject(objectType, key);
        }

        Grant grant() {
            if (!local.isHeldByCurrentThread()) {
                throw new IllegalMonitorStateException("The current thread doesn't own the lock " + object);
            }
            return grant;
        }

        @Override
        public long fence() {
            return grant().lease.fence();
        }

        @Override
        public String operator() {
            return grant().lease.owner().operator();
        }

        @Override
        public boolean isLost() {
            return grant().lease.isLost();
        }

        @Override
        public void lock() {
            lock(ttl);
        }

        @Override
        public void lock(Duration lives) {
            local.lock();
            boolean interrupted = Thread.interrupted(); // a pool would refuse to wait for a connection
            boolean locked = false;
            try {
                while (!locked) {
                    try {
                        locked = takeInterruptibly(lives);
                        if (!locked) {
                            Thread.sleep(idleBetweenTries.toMillis());
                        }
                    } catch (InterruptedException now) {
                        interrupted = true;
                    }
                }
            } finally {
                end(locked, interrupted);
            }
        }

        /** end releases the local lock unless the database's lock was taken, and keeps an interrupt. */
        private void end(boolean locked, boolean interrupted) {
            if (!locked) {
                local.unlock();
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }

        @Override
        public void lockInterruptibly() throws InterruptedException {
            local.lockInterruptibly();
            await(ttl, Long.MAX_VALUE);
        }

        @Override
        public boolean tryLock() {
            if (!local.tryLock()) {
                return false;
            }
            boolean interrupted = Thread.interrupted();
            boolean locked = false;
            try {
                locked = take(ttl);
                return locked;
            } finally {
                end(locked, interrupted);
            }
        }

        @Override
        public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
            return tryLock(Duration.of(time, unit.toChronoUnit()), ttl);
        }

        @Override
        public boolean tryLock(Duration waitTime, Duration lives) throws InterruptedException {
            long began = System.nanoTime();
            if (!local.tryLock(waitTime.toNanos(), TimeUnit.NANOSECONDS)) {
                return false;
            }
            return await(lives, waitTime.toNanos() - (System.nanoTime() - began));
        }

        /** await begins with the local lock, and releases it unless it returns true. */
        private boolean await(Duration lives, long nanos) throws InterruptedException {
            long began = System.nanoTime();
            boolean locked = false;
            try {
                while (!locked) {
                    locked = takeInterruptibly(lives);
                    long left = nanos - (System.nanoTime() - began);
                    if (!locked && left <= 0) {
                        return false;
                    }
                    if (!locked) {
                        TimeUnit.NANOSECONDS.sleep(Math.min(left, idleBetweenTries.toNanos()));
                    }
                }
                return true;
            } finally {
                end(locked, false);
            }
        }

        /** takeInterruptibly recognizes an interrupt that a pool has turned into an SQLException. */
        private boolean takeInterruptibly(Duration lives) throws InterruptedException {
            try {
                return take(lives);
            } catch (CannotAcquireLockException error) {
                if (Thread.interrupted()) {
                    InterruptedException interrupt = new InterruptedException();
                    interrupt.initCause(error);
                    throw interrupt;
                }
                throw error;
            }
        }

        /** take begins with the local lock, and tries once to take the database's lock. */
        private boolean take(Duration lives) {
            try {
                return local.getHoldCount() > 1 ? takenAgain(wholeSeconds(lives)) : taken(wholeSeconds(lives));
            } catch (SQLException | RuntimeException error) {
                throw new CannotAcquireLockException("Failed to lock " + object, error);
            }
        }

        private boolean takenAgain(Duration lives) throws SQLException {
            if (!grant.lease.renew(lives)) {
                throw new IllegalStateException("the grant has ended that this thread holds");
            }
            return true;
        }

        private boolean taken(Duration lives) throws SQLException {
            try {
                Optional<Lease> lease = leases.ttl(lives).tryAcquire(object);
                if (lease.isPresent()) {
                    grant = granted(lease.get(), lives);
                }
                lastUsed = System.nanoTime();
                return lease.isPresent();
            } catch (SQLException | ApplLockException error) {
                if (ApplLocks.isTransient(error)) {
                    return false;
                }
                throw error;
            }
        }

        private Grant granted(Lease lease, Duration lives) throws SQLException {
            try {
                return Grant.of(lease, lives, renewals);
            } catch (RuntimeException | Error refused) { // by the scheduler
                lease.release();
                throw refused;
            }
        }

        @Override
        public void unlock() {
            Grant ended = grant();
            if (local.getHoldCount() > 1) {
                local.unlock();
                return;
            }
            try {
                if (!ended.release()) {
                    throw new ConcurrentModificationException("The lock " + object
                            + " had ended before it was released. What it protects may have been changed by others.");
                }
            } catch (SQLException | ApplLockException error) {
                throw new DataAccessResourceFailureException("Failed to release " + object, error);
            } finally {
                local.unlock();
            }
        }

        @Override
        public Condition newCondition() {
            throw new UnsupportedOperationException("Conditions are not supported");
        }
    }
}
