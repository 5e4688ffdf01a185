package io.github.applock;

import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

/** Waits for an object, listed as a waiter if that takes longer than a moment. */
final class Waiting implements AutoCloseable {
    private static final long FIRST_PAUSE = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long LONGEST_PAUSE = TimeUnit.MILLISECONDS.toNanos(500);
    private static final long MOMENT = TimeUnit.MILLISECONDS.toNanos(50);

    private final ApplLocks locks;
    private final ApplObject object;
    private final Owner owner; // its operator is also the client
    private final Duration most; // null is no limit
    private final long began = System.nanoTime();
    private long pause = FIRST_PAUSE;
    private boolean announced;

    Waiting(ApplLocks locks, ApplObject object, Owner owner, Duration most) {
        this.locks = locks;
        this.object = object;
        this.owner = owner;
        this.most = most;
    }

    Owner owner() {
        return owner;
    }

    /** Returns when a retry may succeed, or throws the refusal when the time is over. */
    <E extends Exception> void untilFree(E refusal) throws E, SQLException, InterruptedException {
        if (left() <= 0) {
            throw refusal;
        }
        do {
            long moment = ThreadLocalRandom.current().nextLong(pause / 2, pause);
            TimeUnit.NANOSECONDS.sleep(Math.min(left(), moment));
            pause = Math.min(pause * 2, LONGEST_PAUSE);
        } while (left() > 0 && isHeld());
    }

    private long left() {
        return most == null ? Long.MAX_VALUE : most.toNanos() - (System.nanoTime() - began);
    }

    /** Lists a waiter that is not listed, or no longer, and retries. */
    private boolean isHeld() throws SQLException, InterruptedException {
        try {
            List<Waiter.Awaited> awaited = locks.poll(owner.operator(), null);
            if (!awaited.isEmpty()) {
                boolean held = awaited.get(0).freeInMicros() > 0;
                if (!held && !awaited.get(0).first()) {
                    TimeUnit.NANOSECONDS.sleep(Math.min(left(), MOMENT)); // for the program whose turn it is
                }
                return held;
            }
            announced = true;
            locks.announce(object, owner, owner.operator(), most == null ? null : Rows.roundedUp(most));
            return false;
        } catch (ContentionException error) {
            return true;
        } catch (SQLException error) {
            busy(error);
            return true;
        }
    }

    /** Returns an error that only reports other transactions in the way, and throws any other. */
    static SQLException busy(SQLException error) throws SQLException, InterruptedException {
        if (Thread.interrupted()) { // a pool has turned the interruption into an SQLException
            InterruptedException interrupt = new InterruptedException();
            interrupt.initCause(error);
            throw interrupt;
        }
        if (!ApplLocks.isTransient(error)) {
            throw error;
        }
        return error;
    }

    @Override
    public void close() {
        if (announced) {
            try {
                locks.retract(object, owner.operator(), owner.operator());
            } catch (SQLException | RuntimeException error) { // of which none may cost the caller the lease that it has now
                // The database forgets a waiter that does not poll.
            }
        }
    }
}
