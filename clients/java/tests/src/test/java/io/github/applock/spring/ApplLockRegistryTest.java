package io.github.applock.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.applock.Answer;
import io.github.applock.ApplLocks;
import io.github.applock.ApplObject;
import io.github.applock.Broken;
import io.github.applock.HeldLock;
import io.github.applock.InvalidArgumentException;
import io.github.applock.LostException;
import io.github.applock.Owner;
import io.github.applock.Server;
import com.zaxxer.hikari.HikariDataSource;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.ConcurrentModificationException;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import javax.sql.DataSource;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.dao.CannotAcquireLockException;
import org.springframework.scheduling.TaskScheduler;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;

/**
 * The registry on each server. Spring Integration publishes no tests for registries; these ask what JdbcLockRegistryTests asks
 * of its own one, and what a lock that others see and release has to keep besides.
 */
class ApplLockRegistryTest {
    private static final Duration MINUTE = Duration.ofMinutes(1);

    private final String key = UUID.randomUUID().toString();
    private final ApplObject object = new ApplObject(ApplLockRegistry.OBJECT_TYPE, key);
    private final ExecutorService another = Executors.newCachedThreadPool();

    @AfterEach
    void end() {
        another.shutdownNow();
    }

    private static ApplLockRegistry registry(Server server) {
        return registry(server, MINUTE);
    }

    private static ApplLockRegistry registry(Server server, Duration ttl) {
        ApplLockRegistry registry = new ApplLockRegistry(server.locks(), ApplLockRegistry.OBJECT_TYPE, new Owner("web-1", "OPS"), ttl);
        registry.setIdleBetweenTries(Duration.ofMillis(5));
        return registry;
    }

    private <T> T elsewhere(Callable<T> work) throws Exception {
        return another.submit(work).get(1, TimeUnit.MINUTES);
    }

    private HeldLock held(Server server) throws SQLException {
        return server.locks().inquire(object).orElseThrow();
    }

    /** Goal: each way of locking locks, and unlock lets go. Method: ask the database. */
    @ParameterizedTest
    @EnumSource
    void locksAndUnlocks(Server server) throws Exception {
        FencedLock lock = registry(server).obtain(key);
        List<Callable<Boolean>> ways = List.of(
                () -> { lock.lock(); return true; },
                () -> { lock.lock(MINUTE); return true; },
                () -> { lock.lockInterruptibly(); return true; },
                lock::tryLock,
                () -> lock.tryLock(1, TimeUnit.SECONDS),
                () -> lock.tryLock(Duration.ZERO, MINUTE));
        long before = 0;
        for (Callable<Boolean> way : ways) {
            assertThat((boolean) way.call()).isTrue();
            assertThat(lock.fence()).isEqualTo(held(server).fence()).isGreaterThan(before);
            assertThat(lock.operator()).isEqualTo(held(server).owner().operator()).matches("web-1-[0-9a-f]{16}");
            assertThat(held(server).owner().department()).isEqualTo("OPS");
            assertThat(lock.isLost()).isFalse();
            before = lock.fence();
            lock.unlock();
            assertThat(server.locks().inquire(object)).isEmpty();
        }
    }

    /** Goal: the usual way, as the page shows it. Method: what is written under the lock asserts it. */
    @Test
    void usualWay() throws Exception {
        DataSource pool = Server.POSTGRES.pool();
        ThreadPoolTaskScheduler scheduler = new ThreadPoolTaskScheduler();
        scheduler.initialize();
        try {
            ApplLockRegistry registry = new ApplLockRegistry(pool);
            registry.setRenewalTaskScheduler(scheduler);
            FencedLock lock = registry.obtain("aggregate");
            lock.lock();
            try {
                write(lock.operator(), lock.fence());
            } finally {
                lock.unlock();
            }
        } finally {
            scheduler.shutdown();
        }
        assertThatThrownBy(() -> write("nobody", 1)).isInstanceOf(LostException.class);
    }

    private static void write(String operator, long fence) throws SQLException {
        try (Connection connection = Server.POSTGRES.pool().getConnection()) {
            connection.setAutoCommit(false);
            ApplLocks.in(connection).assertHeld(new ApplObject(ApplLockRegistry.OBJECT_TYPE, "aggregate"), operator, fence);
            connection.commit();
        }
    }

    /** Goal: a ttl of one's own counts. Method: ask the database for the seconds that are left. */
    @ParameterizedTest
    @EnumSource
    void ttlIsTheCallers(Server server) throws Exception {
        FencedLock lock = registry(server).obtain(key);
        lock.lock(Duration.ofMillis(90_001));
        assertThat(held(server).secondsLeft()).isBetween(61L, 91L);
        lock.unlock();
        assertThat(lock.tryLock(Duration.ZERO, Duration.ofMinutes(3))).isTrue();
        assertThat(held(server).secondsLeft()).isBetween(91L, 180L);
        lock.unlock();
    }

    /** Goal: the thread that holds a lock gets it again, and keeps it until the last unlock. Method: twice, and another thread. */
    @ParameterizedTest
    @EnumSource
    void isReentrant(Server server) throws Exception {
        ApplLockRegistry registry = registry(server);
        FencedLock lock = registry.obtain(key);
        lock.lock();
        long fence = lock.fence();
        assertThat(registry.obtain(key)).isSameAs(lock);
        assertThat(lock.tryLock()).isTrue();
        assertThat(lock.fence()).isEqualTo(fence);
        lock.unlock();
        assertThat((boolean) elsewhere(lock::tryLock)).isFalse();
        assertThat(held(server).fence()).isEqualTo(fence);
        lock.unlock();
        assertThat((boolean) elsewhere(() -> {
            boolean locked = lock.tryLock();
            lock.unlock();
            return locked;
        })).isTrue();
    }

    /** Goal: nobody gets a lock twice who has lost it between. Method: take it again after the expiry; another one has it. */
    @ParameterizedTest
    @EnumSource
    void reentryAfterLossFails(Server server) throws Exception {
        FencedLock lock = registry(server).obtain(key);
        lock.lock();
        server.expire(object);
        assertThatThrownBy(lock::tryLock).isInstanceOf(CannotAcquireLockException.class);
        assertThat(lock.isLost()).isTrue();
        assertThatThrownBy(lock::unlock).isInstanceOf(ConcurrentModificationException.class);
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
        assertThat(lock.tryLock()).isTrue();
        lock.unlock();
    }

    /** Goal: only the thread that holds a lock can use it. Method: another one tries everything. */
    @ParameterizedTest
    @EnumSource
    void isOfItsThread(Server server) throws Exception {
        ApplLockRegistry registry = registry(server);
        FencedLock lock = registry.obtain(key);
        lock.lock();
        for (Callable<Object> use : List.<Callable<Object>>of(
                () -> { lock.unlock(); return null; }, lock::fence, lock::operator, lock::isLost,
                () -> { registry.renewLock(key); return null; })) {
            assertThatThrownBy(() -> elsewhere(use)).isInstanceOf(ExecutionException.class)
                    .hasCauseInstanceOf(IllegalMonitorStateException.class).hasMessageContaining("own");
        }
        lock.unlock();
        assertThatThrownBy(lock::newCondition).isInstanceOf(UnsupportedOperationException.class);
    }

    /** Goal: one at a time, among processes and among threads. Method: two registries, whose threads count together. */
    @ParameterizedTest
    @EnumSource
    void excludesThreadsAndProcesses(Server server) throws Exception {
        int[] counter = {0};
        List<Future<?>> counting = new ArrayList<>();
        for (ApplLockRegistry registry : List.of(registry(server), registry(server))) {
            for (int thread = 0; thread < 3; thread++) {
                counting.add(another.submit(() -> {
                    for (int i = 0; i < 10; i++) {
                        FencedLock lock = registry.obtain(key);
                        lock.lock();
                        int n = counter[0];
                        server.locks().inquire(object); // a while
                        counter[0] = n + 1;
                        lock.unlock();
                    }
                    return null;
                }));
            }
        }
        for (Future<?> each : counting) {
            each.get(2, TimeUnit.MINUTES);
        }
        assertThat(counter[0]).isEqualTo(60);
    }

    /** Goal: a lock that is held is waited for, and no longer than told. Method: other registries, one before the release and one after. */
    @ParameterizedTest
    @EnumSource
    void waitsForAnotherProcess(Server server) throws Exception {
        FencedLock mine = registry(server).obtain(key);
        FencedLock theirs = registry(server).obtain(key);
        mine.lock();
        assertThat(theirs.tryLock()).isFalse();
        assertThat(theirs.tryLock(20, TimeUnit.MILLISECONDS)).isFalse();
        Future<Long> waiting = another.submit(() -> {
            theirs.lock();
            long fence = theirs.fence();
            theirs.unlock();
            return fence;
        });
        long fence = mine.fence();
        mine.unlock();
        assertThat(waiting.get(1, TimeUnit.MINUTES)).isGreaterThan(fence);
    }

    /** Goal: an interrupt ends the waits that say so, and no others, and is not forgotten. Method: interrupt each. */
    @ParameterizedTest
    @EnumSource
    void interrupts(Server server) throws Exception {
        Answer stranger = server.locks().get(object, new Owner("STRANGER", ""), MINUTE);
        FencedLock lock = registry(server).obtain(key);
        Thread.currentThread().interrupt();
        assertThatThrownBy(lock::lockInterruptibly).isInstanceOf(InterruptedException.class);
        for (Callable<?> wait : List.<Callable<?>>of(
                () -> { lock.lockInterruptibly(); return null; },
                () -> lock.tryLock(1, TimeUnit.HOURS))) {
            CountDownLatch begun = new CountDownLatch(1);
            Thread[] waiter = {null};
            Future<?> waiting = another.submit(() -> {
                waiter[0] = Thread.currentThread();
                begun.countDown();
                return wait.call();
            });
            begun.await();
            waiter[0].interrupt();
            assertThatThrownBy(() -> waiting.get(1, TimeUnit.MINUTES)).hasCauseInstanceOf(InterruptedException.class);
        }
        server.locks().release(object, "STRANGER", stranger.fence());
        Thread.currentThread().interrupt();
        assertThat(lock.tryLock()).isTrue();
        lock.lock();
        lock.unlock();
        lock.unlock();
        assertThat(Thread.interrupted()).isTrue();
        assertThat(server.locks().inquire(object)).isEmpty();
    }

    /** Goal: lock and unlock are not interrupted where a pool would be. Method: a pool whose only connection somebody has, and an interrupt. */
    @Test
    void waitsForThePoolThroughInterrupts() throws Exception {
        try (HikariDataSource pool = Server.POSTGRES.newPool(1, true)) {
            FencedLock lock = new ApplLockRegistry(pool).obtain(key);
            Thread[] waiter = {null};
            CountDownLatch begun = new CountDownLatch(1);
            Future<Boolean> waiting;
            try (Connection only = pool.getConnection()) {
                assertThat(only).isNotNull();
                waiting = another.submit(() -> {
                    waiter[0] = Thread.currentThread();
                    begun.countDown();
                    lock.lock();
                    lock.unlock();
                    return Thread.interrupted();
                });
                begun.await();
                while (pool.getHikariPoolMXBean().getThreadsAwaitingConnection() == 0) {
                    Thread.onSpinWait();
                }
                waiter[0].interrupt();
            }
            assertThat((boolean) waiting.get(1, TimeUnit.MINUTES)).isTrue();
        }
        assertThat(Server.POSTGRES.locks().inquire(object)).isEmpty();
    }

    private void assertHeld(Server server, String operator, long fence) throws SQLException {
        try (Connection connection = server.pool().getConnection()) {
            connection.setAutoCommit(false);
            try {
                ApplLocks.in(connection).assertHeld(object, operator, fence);
            } finally {
                connection.rollback();
            }
        }
    }

    /** Goal: whoever took the lock over keeps it, and the loser is told. Method: everything that the loser can do. */
    @ParameterizedTest
    @EnumSource
    void strangersLockIsKept(Server server) throws Exception {
        ApplLockRegistry registry = registry(server);
        FencedLock lock = registry.obtain(key);
        lock.lock();
        String operator = lock.operator();
        long fence = lock.fence();
        assertHeld(server, operator, fence);
        server.expire(object);
        FencedLock theirs = registry(server).obtain(key);
        assertThat(theirs.tryLock()).isTrue();
        assertThat(theirs.fence()).isGreaterThan(fence);
        assertThatThrownBy(() -> assertHeld(server, operator, fence)).isInstanceOf(LostException.class);
        assertThatThrownBy(() -> registry.renewLock(key)).isInstanceOf(IllegalStateException.class);
        assertThat(lock.isLost()).isTrue();
        assertThatThrownBy(lock::unlock).isInstanceOf(ConcurrentModificationException.class);
        assertThat(held(server).fence()).isEqualTo(theirs.fence());
        theirs.unlock();
    }

    /** Goal: a renewal by hand lasts as long as it says. Method: ask the database for the seconds that are left. */
    @ParameterizedTest
    @EnumSource
    void renewsByHand(Server server) throws Exception {
        ApplLockRegistry registry = registry(server);
        FencedLock lock = registry.obtain(key);
        lock.lock();
        registry.renewLock(key);
        assertThat(held(server).secondsLeft()).isBetween(1L, 60L);
        registry.renewLock(key, Duration.ofHours(1));
        assertThat(held(server).secondsLeft()).isBetween(61L, 3600L);
        assertThat(held(server).fence()).isEqualTo(lock.fence());
        lock.unlock();
    }

    /** Impatient is a scheduler that notes how long it is to wait between two runs, and does not. */
    private static final class Impatient extends ThreadPoolTaskScheduler {
        private static final long serialVersionUID = 1L;

        private final List<Duration> delays = new CopyOnWriteArrayList<>();

        @Override
        public ScheduledFuture<?> scheduleWithFixedDelay(Runnable task, Instant start, Duration delay) {
            delays.add(delay);
            return super.scheduleWithFixedDelay(task, Instant.now(), Duration.ofMillis(10));
        }
    }

    /** Goal: with a scheduler a lock lives as long as it is held, and a lost one does not come back. Method: wait for renewals; expire it. */
    @ParameterizedTest
    @EnumSource
    void renewsBySchedule(Server server) throws Exception {
        Impatient scheduler = new Impatient();
        scheduler.initialize();
        try {
            ApplLockRegistry registry = registry(server, MINUTE);
            registry.setRenewalTaskScheduler(scheduler);
            FencedLock lock = registry.obtain(key);
            lock.lock();
            HeldLock first = held(server);
            while (!held(server).expires().isAfter(first.expires())) {
                Thread.onSpinWait();
            }
            assertThat(scheduler.delays).containsExactly(MINUTE.dividedBy(3));
            assertThat(held(server).fence()).isEqualTo(lock.fence());
            assertThat(lock.isLost()).isFalse();
            while (!lock.isLost()) {
                server.expire(object); // again, since a renewal that had begun before may win
            }
            assertThat(server.locks().inquire(object)).isEmpty();
            assertThatThrownBy(lock::unlock).isInstanceOf(ConcurrentModificationException.class);

            lock.lock();
            lock.unlock();
            assertThat(scheduler.getScheduledThreadPoolExecutor().getQueue()).allMatch(task -> ((Future<?>) task).isCancelled());
        } finally {
            scheduler.shutdown();
        }
    }

    /** Goal: contention is a refused try, and no end of the renewals. Method: the database refuses each once; a scheduler whose task the test runs. */
    @ParameterizedTest
    @EnumSource
    void contentionIsNoFailure(Server server) throws Exception {
        Broken broken = new Broken(server.pool());
        ApplLockRegistry registry = new ApplLockRegistry(broken.pool());
        Runnable[] renewal = {null};
        registry.setRenewalTaskScheduler((TaskScheduler) Proxy.newProxyInstance(
                getClass().getClassLoader(), new Class<?>[] {TaskScheduler.class}, (proxy, method, arguments) -> {
                    renewal[0] = (Runnable) arguments[0];
                    return null;
                }));
        FencedLock lock = registry.obtain(key);
        broken.contend("get_appl_lock_row");
        assertThat(lock.tryLock()).isFalse();
        assertThat(lock.tryLock()).isTrue();
        broken.contend("renew_appl_locks");
        renewal[0].run();
        broken.contend("release_appl_lock_row");
        lock.unlock();
        assertThat(server.locks().inquire(object)).isEmpty();
    }

    /** Goal: locks that nobody holds are forgotten, and no others. Method: one of each. */
    @ParameterizedTest
    @EnumSource
    void forgetsUnusedLocks(Server server) {
        ApplLockRegistry registry = registry(server);
        FencedLock used = registry.obtain(key);
        FencedLock unused = registry.obtain(key + "2");
        used.lock();
        registry.expireUnusedOlderThan(TimeUnit.HOURS.toMillis(1));
        assertThat(registry.obtain(key + "2")).isSameAs(unused);
        registry.expireUnusedOlderThan(0);
        assertThat(registry.obtain(key)).isSameAs(used);
        assertThat(registry.obtain(key + "2")).isNotSameAs(unused);
        used.unlock();
    }

    /** Goal: a lock that was forgotten excludes the one that took its place. Method: hold one, and try the other. */
    @ParameterizedTest
    @EnumSource
    void forgottenLockStillExcludes(Server server) {
        ApplLockRegistry registry = registry(server);
        FencedLock forgotten = registry.obtain(key);
        registry.expireUnusedOlderThan(0);
        FencedLock lock = registry.obtain(key);
        forgotten.lock();
        assertThat(lock.tryLock()).isFalse();
        forgotten.unlock();
        assertThat(lock.tryLock()).isTrue();
        lock.unlock();
    }

    /** Goal: a row that another transaction is busy with is no failure. Method: one that has got the lock, and rolls back. */
    @ParameterizedTest
    @EnumSource
    void waitsForATransaction(Server server) throws Exception {
        FencedLock lock = registry(server).obtain(key);
        try (Connection busy = server.pool().getConnection()) {
            busy.setAutoCommit(false);
            ApplLocks.in(busy).get(object, new Owner("STRANGER", ""), MINUTE);
            assertThat(lock.tryLock()).isFalse(); // after a second, by the database's lock timeout
            Future<?> waiting = another.submit(() -> {
                lock.lock();
                lock.unlock();
            });
            busy.rollback();
            busy.setAutoCommit(true);
            waiting.get(1, TimeUnit.MINUTES);
        }
    }

    /** Goal: a scheduler that takes no task leaves nothing locked, here or there. Method: one that is shut down. */
    @ParameterizedTest
    @EnumSource
    void refusedRenewalsLeaveNothingLocked(Server server) throws Exception {
        ThreadPoolTaskScheduler scheduler = new ThreadPoolTaskScheduler();
        scheduler.initialize();
        scheduler.shutdown();
        ApplLockRegistry registry = registry(server);
        registry.setRenewalTaskScheduler(scheduler);
        FencedLock lock = registry.obtain(key);
        assertThatThrownBy(lock::tryLock).isInstanceOf(CannotAcquireLockException.class);
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
        assertThat(server.locks().inquire(object)).isEmpty();
    }

    /** Goal: a failure leaves nothing locked, here or there. Method: a key that is too long, and a pool that is closed. */
    @Test
    void failureLeavesNothingLocked() throws Exception {
        ApplLockRegistry registry = registry(Server.POSTGRES);
        FencedLock tooLong = registry.obtain("x".repeat(256));
        assertThatThrownBy(tooLong::lock).isInstanceOf(CannotAcquireLockException.class).hasCauseInstanceOf(InvalidArgumentException.class);
        assertThatThrownBy(tooLong::unlock).isInstanceOf(IllegalMonitorStateException.class);
        HikariDataSource closed = Server.POSTGRES.newPool(1, true);
        closed.close();
        FencedLock unreachable = new ApplLockRegistry(closed).obtain(key);
        for (Callable<Object> way : List.<Callable<Object>>of(
                () -> { unreachable.lock(); return null; }, unreachable::tryLock, () -> unreachable.tryLock(1, TimeUnit.HOURS))) {
            assertThatThrownBy(way::call).isInstanceOf(CannotAcquireLockException.class);
            assertThatThrownBy(unreachable::unlock).isInstanceOf(IllegalMonitorStateException.class);
        }
        assertThatThrownBy(() -> registry.obtain(42)).isInstanceOf(IllegalArgumentException.class);
    }
}
