package com.github.applock.shedlock;

import com.github.applock.Answer;
import com.github.applock.ApplLocks;
import com.github.applock.ApplObject;
import com.github.applock.Owner;
import com.github.applock.Renewal;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
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
 * other. Each time a task is locked, it is by an operator of its own, and what is extended or unlocked is that very grant: whoever has
 * taken the lock over after an expiry keeps it.
 *
 * <p>The database's clock decides. It counts whole seconds: lockAtMostFor is rounded up, and is at least one second. An extension never
 * makes a lock end sooner. Of lockAtLeastFor, whole seconds are left to the database, and unlock waits for what is less than one.
 * Safe for use by many threads.
 */
public final class ApplLockProvider implements ExtensibleLockProvider {
    /** The type of the objects, unless another one is given. */
    public static final String OBJECT_TYPE = "shedlock";

    private static final Duration SECOND = Duration.ofSeconds(1);
    private static final int ATTEMPTS = 3;

    private final ApplLocks locks;
    private final String objectType;
    private final Owner owner;

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
     * @param owner how operators begin, with random digits behind, and their department
     */
    public ApplLockProvider(ApplLocks locks, String objectType, Owner owner) {
        this.locks = locks;
        this.objectType = objectType;
        this.owner = owner;
    }

    @Override
    public Optional<SimpleLock> lock(LockConfiguration configuration) {
        ApplObject object = new ApplObject(objectType, configuration.getName());
        Owner own = Owner.unique(owner.operator(), owner.department());
        try {
            Answer answer = locks.get(object, own, atMost(configuration));
            return answer.yes() ? Optional.of(new Grant(configuration, object, own, answer.fence())) : Optional.empty();
        } catch (SQLException error) {
            if (ApplLocks.isTransient(error)) {
                return Optional.empty();
            }
            forget(object, own, error);
            throw new LockException("Cannot lock " + object, error);
        }
    }

    /** forget releases what a call that broke off may have taken: nobody else is this operator. */
    private void forget(ApplObject object, Owner own, SQLException error) {
        try {
            locks.release(object, own.operator(), null);
        } catch (SQLException another) {
            error.addSuppressed(another);
        }
    }

    private static Duration atMost(LockConfiguration configuration) {
        Duration wanted = configuration.getLockAtMostFor();
        return wanted.compareTo(SECOND) < 0 ? SECOND : wanted;
    }

    private interface Step<T> {
        T take() throws SQLException;
    }

    /** again takes a step that another transaction may stand in the way of. */
    private static <T> T again(String what, Step<T> step) {
        for (int attempt = 1; ; attempt++) {
            try {
                return step.take();
            } catch (SQLException error) {
                if (attempt == ATTEMPTS || !ApplLocks.isTransient(error)) {
                    throw new LockException("Cannot " + what, error);
                }
            }
        }
    }

    /** Grant is the lock from one lock or extension to the next extension or unlock. */
    private final class Grant extends AbstractSimpleLock {
        private final ApplObject object;
        private final Owner own;
        private final long fence;
        private final long since = System.nanoTime(); // after the answer, so that at least is not less

        Grant(LockConfiguration configuration, ApplObject object, Owner own, long fence) {
            super(configuration);
            this.object = object;
            this.own = own;
            this.fence = fence;
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
                if (left.compareTo(Duration.ZERO) > 0) {
                    keep(left);
                } else {
                    release(fence);
                }
            } finally {
                if (interrupted) {
                    Thread.currentThread().interrupt();
                }
            }
        }

        private void release(long number) {
            again("unlock " + object, () -> locks.release(object, own.operator(), number));
        }

        /** keep has the database end the lock: sooner than at most, and not before at least. */
        private void keep(Duration left) {
            Answer answer = again("unlock " + object, () -> locks.get(object, new Owner(own.operator(), null), left));
            if (answer.outcome().equals(Answer.ACQUIRED)) { // it had ended, which is another grant now
                release(answer.fence());
            }
        }

        @Override
        protected Optional<SimpleLock> doExtend(LockConfiguration longer) {
            List<Renewal.Grant> grants = List.of(new Renewal.Grant(object, own.operator(), fence, atMost(longer)));
            for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
                for (Renewal.Result result : again("extend " + object, () -> locks.renew(grants))) {
                    return result.outcome().equals(Answer.RENEWED)
                            ? Optional.of(new Grant(longer, object, own, fence)) : Optional.empty();
                }
            }
            return Optional.empty(); // another transaction keeps the row
        }
    }
}
