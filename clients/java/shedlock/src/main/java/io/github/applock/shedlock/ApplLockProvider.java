package io.github.applock.shedlock;

import io.github.applock.Answer;
import io.github.applock.ApplLockException;
import io.github.applock.ApplLocks;
import io.github.applock.ApplObject;
import io.github.applock.Lease;
import io.github.applock.Leases;
import io.github.applock.Outcome;
import io.github.applock.Owner;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import net.javacrumbs.shedlock.core.AbstractSimpleLock;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.LockException;

/**
 * ShedLock's locks as locks of applock: the task {@code report} is the object {@code shedlock:report}, visible and releasable like any
 * other. Each time a task is locked, it gets its own operator, and only this grant is extended or unlocked. A holder that took the lock
 * over after an expiry keeps it.
 *
 * <p>The database's clock decides. It counts whole seconds: lockAtMostFor is rounded up, and is at least one second. An extension never
 * makes a lock end earlier. The database keeps the whole seconds of lockAtLeastFor, and unlock waits for the rest of less than one.
 * Safe for use by many threads.
 */
public final class ApplLockProvider implements ExtensibleLockProvider {
    /** The default type of the objects. */
    public static final String OBJECT_TYPE = "shedlock";

    private static final Duration SECOND = Duration.ofSeconds(1);
    private static final int ATTEMPTS = 3;

    private final ApplLocks locks;
    private final String objectType;
    private final Leases leases;

    /**
     * A provider for the type {@link #OBJECT_TYPE}, and with the host's name for operators.
     *
     * @param pool the pool, which stays the caller's. Its connections must not be those of the task's transaction
     */
    public ApplLockProvider(DataSource pool) {
        this(ApplLocks.on(pool), OBJECT_TYPE, new Owner(Owner.hostName(), ""));
    }

    /**
     * A provider.
     *
     * @param locks the operations, on a pool
     * @param objectType the type of the objects
     * @param owner the beginning of the operators, which random digits follow, and their department
     */
    public ApplLockProvider(ApplLocks locks, String objectType, Owner owner) {
        this.locks = locks;
        this.objectType = objectType;
        this.leases = Leases.by(locks).owner(owner).unrenewed();
    }

    @Override
    public Optional<SimpleLock> lock(LockConfiguration configuration) {
        ApplObject object = new ApplObject(objectType, configuration.getName());
        try {
            return leases.ttl(atMost(configuration)).tryAcquire(object).map(lease -> new Grant(configuration, lease));
        } catch (SQLException | ApplLockException error) {
            if (ApplLocks.isTransient(error)) {
                return Optional.empty();
            }
            throw new LockException("Cannot lock " + object, error);
        }
    }

    private static Duration atMost(LockConfiguration configuration) {
        return wholeSeconds(configuration.getLockAtMostFor());
    }

    private static Duration wholeSeconds(Duration wanted) {
        return wanted.compareTo(SECOND) < 0 ? SECOND : Duration.ofSeconds(wanted.plusSeconds(1).minusNanos(1).getSeconds());
    }

    private interface Step<T> {
        T take() throws SQLException;
    }

    /** again retries a step that another transaction may block. */
    private static <T> T again(String what, Step<T> step) {
        for (int attempt = 1; ; attempt++) {
            try {
                return step.take();
            } catch (SQLException | ApplLockException error) {
                if (attempt == ATTEMPTS || !ApplLocks.isTransient(error)) {
                    throw new LockException("Cannot " + what, error);
                }
            }
        }
    }

    /** Grant is the lock from one lock or extension to the next extension or unlock. */
    private final class Grant extends AbstractSimpleLock {
        private final Lease lease;
        private final long since = System.nanoTime(); // after the answer, so that lockAtLeastFor is never shorter

        Grant(LockConfiguration configuration, Lease lease) {
            super(configuration);
            this.lease = lease;
        }

        @Override
        protected void doUnlock() {
            Duration left = lockConfiguration.getLockAtLeastFor().minusNanos(System.nanoTime() - since);
            boolean interrupted = Thread.interrupted(); // a pool would refuse to wait for a connection
            try {
                if (!interrupted && left.compareTo(SECOND) < 0) {
                    TimeUnit.NANOSECONDS.sleep(left.toNanos());
                    left = Duration.ZERO;
                }
            } catch (InterruptedException now) {
                interrupted = true;
            }
            try {
                if (left.compareTo(Duration.ZERO) <= 0 || !keep(wholeSeconds(left))) {
                    again("unlock " + lease.object(), lease::release);
                }
            } finally {
                if (interrupted) {
                    Thread.currentThread().interrupt();
                }
            }
        }

        /** keep shortens the lock in the database to lockAtLeastFor. It returns whether the lock was still there. */
        private boolean keep(Duration left) {
            Owner own = new Owner(lease.owner().operator(), null);
            Answer answer = again("unlock " + lease.object(), () -> locks.get(lease.object(), own, left));
            if (answer.outcome() == Outcome.ACQUIRED) { // the lock had ended, and this is a new grant
                again("unlock " + lease.object(), () -> locks.release(lease.object(), own.operator(), answer.fence()));
            }
            return answer.outcome() == Outcome.RENEWED;
        }

        @Override
        protected Optional<SimpleLock> doExtend(LockConfiguration longer) {
            return again("extend " + lease.object(), () -> lease.renew(atMost(longer)))
                    ? Optional.of(new Grant(longer, lease)) : Optional.empty();
        }
    }
}
