package io.github.applock;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;

/**
 * How leases are acquired. An object does not change: each method that sets something returns another one. Safe for use by many threads.
 *
 * <pre>{@code
 * Leases leases = Leases.on(pool).ttl(Duration.ofSeconds(30)).waiting(Duration.ofMinutes(1));
 * try (Lease lease = leases.acquire(new ApplObject("report", "daily"))) {
 *     for (Page page : pages) {
 *         lease.check();
 *         publish(page, lease.fence());
 *     }
 * }
 * }</pre>
 *
 * <p>Each lease has an operator of its own, so that two never share an object, also in one thread: whoever acquires again what it has waits
 * for itself. A lease takes a connection of the pool for each call, so leave it one.
 */
public final class Leases {
    /** How long an object stays locked after a crash, unless another time is given. */
    public static final Duration DEFAULT_TTL = Duration.ofSeconds(30);

    private static final int RENEWALS = 3;
    private static final Duration FORGET_AGAIN = Duration.ofSeconds(2); // a get that was cut off waits no longer for a row

    private final ApplLocks locks;
    private final Owner owner;
    private final Duration ttl;
    private final Duration wait; // null is for ever
    private final int renewals; // in a ttl
    private final ScheduledThreadPoolExecutor later;

    private Leases(ApplLocks locks, Owner owner, Duration ttl, Duration wait, int renewals, ScheduledThreadPoolExecutor later) {
        this.locks = locks;
        this.owner = owner;
        this.ttl = ttl;
        this.wait = wait;
        this.renewals = renewals;
        this.later = later;
    }

    /**
     * Leases on a pool, whose operators begin with the name of the host.
     *
     * @param pool the pool, which stays the caller's
     * @return leases of {@link #DEFAULT_TTL}, for which nobody waits
     */
    public static Leases on(DataSource pool) {
        return by(ApplLocks.on(pool));
    }

    /**
     * Leases of another installation.
     *
     * @param locks the operations, on a pool
     * @return as above
     */
    public static Leases by(ApplLocks locks) {
        ScheduledThreadPoolExecutor later = new ScheduledThreadPoolExecutor(1, task -> daemon("applock release", task));
        later.setKeepAliveTime(FORGET_AGAIN.toNanos() * 2, TimeUnit.NANOSECONDS);
        later.allowCoreThreadTimeOut(true);
        return new Leases(locks, new Owner(Owner.hostName(), ""), DEFAULT_TTL, Duration.ZERO, RENEWALS, later);
    }

    static Thread daemon(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        return thread;
    }

    /**
     * Sets who holds the leases.
     *
     * @param name how the operators begin, with random digits behind, and their department
     * @return the leases
     */
    public Leases owner(Owner name) {
        return new Leases(locks, name, ttl, wait, renewals, later);
    }

    /**
     * Sets how long an object stays locked after a crash. A lease is renewed every third of it.
     *
     * @param time at least one second, in whole seconds
     * @return the leases
     */
    public Leases ttl(Duration time) {
        return new Leases(locks, owner, Objects.requireNonNull(time), wait, renewals, later);
    }

    /**
     * Sets how long to wait for whoever holds the object.
     *
     * @param longest how long at most; null is without a limit
     * @return the leases
     */
    public Leases waiting(Duration longest) {
        return new Leases(locks, owner, ttl, longest, renewals, later);
    }

    /**
     * Has no thread renew the leases: the program calls {@link Lease#renew}.
     *
     * @return the leases
     */
    public Leases unrenewed() {
        return renewals(0);
    }

    /** Sets how often a lease is renewed in a ttl. */
    Leases renewals(int times) {
        return new Leases(locks, owner, ttl, wait, times, later);
    }

    /**
     * Acquires an object, and waits for it as told. Meanwhile it is listed as a waiter.
     *
     * @param object what to lock
     * @return the lease
     * @throws HeldException if somebody else still holds it
     * @throws InterruptedException if the thread was interrupted; nothing is held then
     * @throws SQLException as {@link ApplLocks} says
     */
    public Lease acquire(ApplObject object) throws SQLException, InterruptedException {
        try (Waiting waiting = new Waiting(locks, object, newOwner(), wait)) {
            while (true) {
                try {
                    return take(object, waiting.owner());
                } catch (HeldException held) {
                    waiting.untilFree(held);
                } catch (SQLException error) {
                    waiting.untilFree(Waiting.busy(error));
                }
            }
        }
    }

    /**
     * Acquires an object that nobody holds, without waiting.
     *
     * @param object what to lock
     * @return the lease, or nothing if somebody holds the object
     * @throws SQLException as {@link ApplLocks} says
     */
    public Optional<Lease> tryAcquire(ApplObject object) throws SQLException {
        try {
            return Optional.of(take(object, newOwner()));
        } catch (HeldException held) {
            return Optional.empty();
        }
    }

    private Owner newOwner() {
        return Owner.unique(owner.operator(), owner.department());
    }

    private Lease take(ApplObject object, Owner own) throws SQLException {
        long before = System.nanoTime();
        try {
            Answer answer = locks.get(object, own, ttl);
            if (!answer.granted()) {
                throw new HeldException(object, answer);
            }
            return new Lease(this, object, own, answer, before).start();
        } catch (ApplLockException refused) {
            throw refused;
        } catch (SQLException unknown) {
            if (!ApplLocks.isTransient(unknown)) {
                forget(object, own);
            }
            throw unknown;
        }
    }

    /** Releases what a call without an answer may have left, at once and when it can no longer run: nobody else is this operator. */
    void forget(ApplObject object, Owner own) {
        long began = System.nanoTime();
        later.execute(new Runnable() {
            @Override
            public void run() {
                long since = System.nanoTime() - began;
                boolean ended;
                try {
                    Outcome outcome = locks.release(object, own.operator(), null).outcome();
                    ended = outcome == Outcome.RELEASED || since >= FORGET_AGAIN.toNanos();
                } catch (SQLException error) {
                    ended = since >= ttl.toNanos();
                }
                if (!ended) {
                    later.schedule(this, FORGET_AGAIN.toNanos(), TimeUnit.NANOSECONDS);
                }
            }
        });
    }

    ApplLocks locks() {
        return locks;
    }

    Duration ttl() {
        return ttl;
    }

    int renewals() {
        return renewals;
    }
}
