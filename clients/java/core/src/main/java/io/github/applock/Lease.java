package io.github.applock;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A lock for as long as a block of a program runs, which a daemon thread renews meanwhile: {@link Leases} acquires it. Safe for use by many
 * threads.
 *
 * <p>A lease is lost when a renewal is refused, or when none has succeeded for as long as the lock lasts, by the clock of this process, which
 * goes on while the process is paused. It stays lost. A block that was paused cannot know: pass {@link #owner} and {@link #fence} to
 * {@link ApplLocks#assertHeld} in the transaction that writes.
 */
public final class Lease implements AutoCloseable {
    private static final long SECOND = TimeUnit.SECONDS.toNanos(1);
    private static final long BUSY = TimeUnit.MILLISECONDS.toNanos(10);

    private final Leases leases;
    private final ApplObject object;
    private final Owner owner;
    private final long fence;
    private final CompletableFuture<Void> lost = new CompletableFuture<>();
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile boolean failed; // before it was released
    private volatile long lives; // how long it is trusted after a renewal
    private volatile long deadline; // by System.nanoTime
    private CompletableFuture<Void> watch; // guarded by this

    Lease(Leases leases, ApplObject object, Owner owner, Answer answer, long asked) {
        this.leases = leases;
        this.object = object;
        this.owner = owner;
        this.fence = answer.fence();
        this.deadline = asked;
        trust(asked, leases.ttl(), answer.secondsLeft());
    }

    Lease start() {
        if (leases.renewals() > 0) {
            Leases.daemon("applock renew " + object, this::keep).start();
        }
        return this;
    }

    /**
     * Returns the locked object.
     *
     * @return the object
     */
    public ApplObject object() {
        return object;
    }

    /**
     * Returns the holder.
     *
     * @return the owner, whose operator no other lease has
     */
    public Owner owner() {
        return owner;
    }

    /**
     * Returns the fence of the grant, which is greater for every later grant of the same object. Store it with what is written under the
     * lease, so that a reader can refuse writes of an earlier grant.
     *
     * @return the fence
     */
    public long fence() {
        return fence;
    }

    /**
     * Reports whether a block can no longer rely on the lease.
     *
     * @return whether it is lost, or was released
     */
    public boolean isLost() {
        if (System.nanoTime() - deadline >= 0) {
            lose();
        }
        return failed || ended.getCount() == 0;
    }

    /**
     * Fails if the lease is lost, for a block that calls it between its steps.
     *
     * @throws LostException if it is lost, or was released
     */
    public void check() {
        if (isLost()) {
            throw new LostException(this + (failed ? " is lost" : " was released"), null);
        }
    }

    /**
     * Returns a future for the loss of the lease, for a block that cannot call {@link #check}.
     *
     * @return a future that completes when the lease is lost. When it is released before, the future completes with a
     *     {@link java.util.concurrent.CancellationException}: it is done, and a {@code thenRun} does not run
     */
    public CompletableFuture<Void> lost() {
        return lost.copy();
    }

    private void lose() {
        if (ended.getCount() > 0) {
            failed = true;
            lost.complete(null);
        }
    }

    /** Starts the time for which this process trusts the lock: from before the call, and a little less than in the database. */
    private synchronized void trust(long asked, Duration wanted, long secondsLeft) {
        long time = Math.min(wanted.toNanos(), TimeUnit.SECONDS.toNanos(secondsLeft)); // a policy may have cut it
        long until = asked + time - Math.min(time / 10, SECOND);
        lives = time;
        if (until - deadline <= 0 || ended.getCount() == 0) {
            return;
        }
        deadline = until;
        if (watch != null) {
            watch.cancel(false);
        }
        watch = new CompletableFuture<Void>().completeOnTimeout(null, until - System.nanoTime(), TimeUnit.NANOSECONDS);
        watch.thenRunAsync(this::isLost);
    }

    private void keep() {
        long pause = lives / leases.renewals();
        while (!isEndedWithin(pause) && !isLost()) {
            try {
                renew(leases.ttl());
                pause = lives / leases.renewals();
            } catch (SQLException | RuntimeException error) {
                pause = Math.min(lives / 10, SECOND); // the next one may succeed, on another connection
            }
        }
    }

    private boolean isEndedWithin(long nanos) {
        try {
            return ended.await(nanos, TimeUnit.NANOSECONDS);
        } catch (InterruptedException stop) {
            return true; // the program ends its threads; the clock then ends the trust
        }
    }

    /**
     * Renews the lease now, as the thread does. It retries while another transaction is changing the lock.
     *
     * @param time how long the lock lasts from now on, in whole seconds. It never ends earlier than before
     * @return whether the lease is renewed; if not, it is lost, or was released
     * @throws SQLException as documented at {@link ApplLocks}; the lease is not lost by that
     */
    public boolean renew(Duration time) throws SQLException {
        List<Renewal.Grant> grant = List.of(new Renewal.Grant(object, owner.operator(), fence, time));
        while (!isLost()) {
            long asked = System.nanoTime();
            for (Renewal.Result result : leases.locks().renew(grant)) {
                if (result.granted()) {
                    trust(asked, time, result.secondsLeft());
                } else {
                    lose();
                }
                return result.granted();
            }
            LockSupport.parkNanos(BUSY);
        }
        return false;
    }

    /**
     * Releases the lease, once.
     *
     * @return whether it was held until now: false if it is lost
     * @throws SQLException as documented at {@link ApplLocks}; then it is released in the background, or expires
     */
    public boolean release() throws SQLException {
        synchronized (this) {
            isLost();
            if (ended.getCount() == 0) {
                return !failed;
            }
            ended.countDown();
            watch.cancel(false);
        }
        boolean interrupted = Thread.interrupted(); // a pool would refuse to wait for a connection
        boolean brokeOff = false;
        try {
            while (true) {
                try {
                    Outcome outcome = leases.locks().release(object, owner.operator(), fence).outcome();
                    if (outcome != Outcome.RELEASED && !(brokeOff && outcome == Outcome.FREE)) {
                        failed = true;
                        lost.complete(null);
                    }
                    return !failed;
                } catch (ContentionException error) { // it has released nothing
                    if (System.nanoTime() - deadline >= 0) {
                        leases.forget(object, owner);
                        throw error;
                    }
                } catch (RuntimeException | Error error) {
                    leases.forget(object, owner);
                    throw error;
                } catch (SQLException error) {
                    boolean interruptedNow = Thread.interrupted();
                    interrupted |= interruptedNow;
                    boolean again = interruptedNow || ApplLocks.isTransient(error);
                    if (System.nanoTime() - deadline >= 0 || !again && brokeOff) {
                        leases.forget(object, owner);
                        throw error;
                    }
                    brokeOff = true; // it may have released
                }
            }
        } finally {
            lost.cancel(false);
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /**
     * Releases the lease, at the end of its block.
     *
     * @throws LostException if it was lost, so that the block may not have been alone
     * @throws SQLException as {@link #release} says
     */
    @Override
    public void close() throws SQLException {
        if (ended.getCount() > 0 && !release()) {
            throw new LostException(this + " was lost before it was released", null);
        }
    }

    @Override
    public String toString() {
        return "lease of " + object + " for " + owner.operator() + ", fence " + fence;
    }
}
