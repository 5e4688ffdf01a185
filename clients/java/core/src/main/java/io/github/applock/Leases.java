package io.github.applock;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;

/**
 * Acquires leases. An object is immutable: each method that sets something returns another one. Many threads may use it.
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
 * <p>Each lease has its own operator, so that two leases never share an object. Where a thread that has acquired an object would
 * wait for it, it is refused: if another thread is to release a lease, let that acquire it. A lease takes a connection of the pool for each call, so leave it one. In a transaction of the caller's it is refused: where the pool hands
 * out the transaction's connection, or is one connection without autocommit, each call is an {@link InvalidArgumentException}.
 */
public final class Leases {
    /** The default for how long an object stays locked after a crash. */
    public static final Duration DEFAULT_TTL = Duration.ofSeconds(30);

    private static final int RENEWALS = 3;
    private static final Duration FORGET_AGAIN = Duration.ofSeconds(2); // a get that was cut off no longer waits for a row by then

    private static final Map<String, Thread> ACQUIRED = new ConcurrentHashMap<>(); // by operator: which thread, as long as the lease is not lost

    private final ApplLocks locks;
    private final Owner owner;
    private final Duration ttl;
    private final Duration wait; // null is no limit
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
     * Leases on a pool. Their operators begin with the name of the host.
     *
     * @param pool the pool, which stays the caller's: not Spring's TransactionAwareDataSourceProxy, but the pool behind it
     * @return leases with {@link #DEFAULT_TTL}, acquired without waiting
     */
    public static Leases on(DataSource pool) {
        return by(ApplLocks.on(pool));
    }

    /**
     * Leases of another installation.
     *
     * @param locks the operations, on a pool, or on a connection with autocommit that nobody else uses
     * @return as above
     */
    public static Leases by(ApplLocks locks) {
        ScheduledThreadPoolExecutor later = new ScheduledThreadPoolExecutor(1, task -> daemon("applock release", task));
        later.setKeepAliveTime(FORGET_AGAIN.toNanos() * 2, TimeUnit.NANOSECONDS);
        later.allowCoreThreadTimeOut(true);
        return new Leases(locks.unjoined(), new Owner(Owner.hostName(), ""), DEFAULT_TTL, Duration.ZERO, RENEWALS, later);
    }

    static Thread daemon(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        return thread;
    }

    /**
     * Sets the owner of the leases.
     *
     * @param name the beginning of the operators, which random digits follow, and their department
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
     * Sets how long to wait for a held object.
     *
     * @param longest how long at most; null is no limit
     * @return the leases
     */
    public Leases waiting(Duration longest) {
        return new Leases(locks, owner, ttl, longest, renewals, later);
    }

    /**
     * Turns off the thread that renews the leases: the program calls {@link Lease#renew}.
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
     * Acquires an object, and waits for it up to the set time, listed as a waiter.
     *
     * @param object what to lock
     * @return the lease
     * @throws HeldException if another holder still has it
     * @throws InvalidArgumentException if this thread has a lease of it, and would wait for itself
     * @throws InterruptedException if the thread was interrupted; nothing is held then
     * @throws SQLException as {@link ApplLocks} says
     */
    public Lease acquire(ApplObject object) throws SQLException, InterruptedException {
        try (Waiting waiting = new Waiting(locks, object, newOwner(), wait)) {
            while (true) {
                try {
                    return take(object, waiting.owner());
                } catch (HeldException held) {
                    refuseItself(object, held);
                    waiting.untilFree(held);
                } catch (ContentionException error) {
                    waiting.untilFree(error);
                } catch (SQLException error) {
                    waiting.untilFree(Waiting.busy(error));
                }
            }
        }
    }

    /**
     * Acquires a free object, without waiting.
     *
     * @param object what to lock
     * @return the lease, or an empty Optional if the object is held
     * @throws SQLException as {@link ApplLocks} says
     */
    public Optional<Lease> tryAcquire(ApplObject object) throws SQLException {
        try {
            return Optional.of(take(object, newOwner()));
        } catch (HeldException held) {
            return Optional.empty();
        }
    }

    /** A thread that has a lease cannot release it while it waits for it. */
    private void refuseItself(ApplObject object, HeldException held) {
        String holder = held.answer().holder().map(Owner::operator).orElse("");
        if (!Duration.ZERO.equals(wait) && ACQUIRED.get(holder) == Thread.currentThread()) {
            throw new InvalidArgumentException("this thread has acquired a lease of " + object + ", and would wait for itself", null);
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
            Lease lease = new Lease(this, object, own, answer, before).start();
            ACQUIRED.put(own.operator(), Thread.currentThread());
            lease.lost().whenComplete((lost, released) -> ACQUIRED.remove(own.operator()));
            return lease;
        } catch (ApplLockException refused) {
            throw refused;
        } catch (SQLException | RuntimeException | Error unknown) {
            if (!(unknown instanceof SQLException error && ApplLocks.isTransient(error))) {
                forget(object, own);
            }
            throw unknown;
        }
    }

    /** Releases what a call without an answer may have taken, now and when the call can no longer run. No other caller has this operator. */
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
                } catch (SQLException | RuntimeException error) {
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
