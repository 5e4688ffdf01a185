package io.github.applock.shedlock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.applock.Answer;
import io.github.applock.ApplLocks;
import io.github.applock.ApplObject;
import io.github.applock.Broken;
import io.github.applock.Filter;
import io.github.applock.HeldLock;
import io.github.applock.Owner;
import io.github.applock.Server;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.SQLException;
import java.time.Duration;
import java.util.UUID;
import net.javacrumbs.shedlock.core.ExtensibleLockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import net.javacrumbs.shedlock.support.LockException;
import net.javacrumbs.shedlock.test.support.AbstractExtensibleLockProviderIntegrationTest;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;

/** ShedLock's own tests of lock providers on each server, and what they do not ask. */
class ApplLockProviderTest {
    @Nested
    class OnPostgres extends Kit {
        OnPostgres() {
            super(Server.POSTGRES);
        }
    }

    @Nested
    class OnMariaDB extends Kit {
        OnMariaDB() {
            super(Server.MARIADB);
        }
    }

    @Nested
    class OnMySQL extends Kit {
        OnMySQL() {
            super(Server.MYSQL);
        }
    }

    abstract static class Kit extends AbstractExtensibleLockProviderIntegrationTest {
        private static final Duration SHORTEST = Duration.ofSeconds(1);
        private static final Owner STRANGER = new Owner("STRANGER", "");

        private final Server server;
        private final ApplObject object = new ApplObject(ApplLockProvider.OBJECT_TYPE, LOCK_NAME1);

        Kit(Server server) {
            this.server = server;
        }

        @Override
        protected ExtensibleLockProvider getLockProvider() {
            return new ApplLockProvider(server.pool());
        }

        @Override
        protected void assertUnlocked(String name) {
            assertThat(isLocked(name)).isFalse();
        }

        @Override
        protected void assertLocked(String name) {
            assertThat(isLocked(name)).isTrue();
        }

        private boolean isLocked(String name) {
            try {
                return server.locks().inquire(new ApplObject(ApplLockProvider.OBJECT_TYPE, name)).isPresent();
            } catch (SQLException error) {
                throw new IllegalStateException(error);
            }
        }

        /** The kit's lock lives 50 ms, and ours at least a second. */
        @Override
        @Test
        public void shouldTimeout() throws InterruptedException {
            doTestTimeout(SHORTEST);
        }

        /** The kit's lock lives 2 ms, and ours at least a second: its time passes without a wait. */
        @Override
        @Test
        public void shouldNotBeAbleToExtendExpiredLock() {
            SimpleLock lock = lock(Duration.ofMinutes(1));
            expire();
            assertThat(lock.extend(Duration.ofSeconds(10), Duration.ZERO)).isEmpty();
            assertUnlocked(LOCK_NAME1);
        }

        private void expire() {
            try {
                server.expire(object);
            } catch (SQLException error) {
                throw new IllegalStateException(error);
            }
        }

        private HeldLock held() throws SQLException {
            return server.locks().inquire(object).orElseThrow();
        }

        /** Goal: whoever took the lock over keeps it. Method: the task ends in each way after its lock has expired. */
        @Test
        void strangersLockIsKept() throws SQLException {
            SimpleLock unlocked = lock(Duration.ofMinutes(1));
            SimpleLock kept = lockAfterExpiry(Duration.ofSeconds(30));
            SimpleLock extended = lockAfterExpiry(Duration.ZERO);
            expire();
            Answer stranger = server.locks().get(object, STRANGER, null);
            unlocked.unlock();
            kept.unlock();
            assertThat(extended.extend(Duration.ofSeconds(10), Duration.ZERO)).isEmpty();
            assertThat(held().fence()).isEqualTo(stranger.fence());
            assertThat(held().secondsLeft()).isGreaterThan(600_000);
        }

        private SimpleLock lockAfterExpiry(Duration atLeast) {
            expire();
            return getLockProvider().lock(lockConfig(LOCK_NAME1, Duration.ofMinutes(1), atLeast)).orElseThrow();
        }

        /** Goal: a task whose lock has expired leaves none behind. Method: end it before at least, after the expiry. */
        @Test
        void expiredLockIsNotTakenAgain() {
            SimpleLock lock = getLockProvider().lock(lockConfig(LOCK_NAME1, Duration.ofMinutes(1), Duration.ofSeconds(30))).orElseThrow();
            expire();
            lock.unlock();
            assertUnlocked(LOCK_NAME1);
        }

        /** Goal: unlock leaves to the database what is left of at least, and no more. Method: a task that ends at once. */
        @Test
        void atLeastIsKept() throws SQLException {
            SimpleLock lock = getLockProvider().lock(lockConfig(LOCK_NAME1, Duration.ofHours(1), Duration.ofMinutes(10))).orElseThrow();
            long fence = held().fence();
            lock.unlock();
            assertThat(held().fence()).isEqualTo(fence);
            assertThat(held().secondsLeft()).isBetween(1L, 600L);
        }

        /** Goal: a thread that is interrupted keeps at least as well. Method: one that has less than a second left. */
        @Test
        void interruptKeepsAtLeast() throws SQLException {
            SimpleLock lock = getLockProvider().lock(lockConfig(LOCK_NAME1, Duration.ofHours(1), Duration.ofMillis(900))).orElseThrow();
            Thread.currentThread().interrupt();
            lock.unlock();
            assertThat(Thread.interrupted()).isTrue();
            assertThat(server.locks().live(Filter.ALL.where("object_type", object.type())).stream()
                    .filter(each -> each.object().equals(object)).allMatch(each -> each.secondsLeft() == 1)).isTrue();
        }

        /** Goal: people see which host runs what, in which department. Method: a provider with names of its own. */
        @Test
        void taskIsVisible() throws SQLException {
            ApplObject job = new ApplObject("job", LOCK_NAME1);
            SimpleLock lock = new ApplLockProvider(server.locks(), "job", new Owner("web-1", "OPS")).lock(lockConfig(LOCK_NAME1)).orElseThrow();
            Owner owner = server.locks().inquire(job).orElseThrow().owner();
            assertThat(owner.operator()).matches("web-1-[0-9a-f]{16}");
            assertThat(owner.department()).isEqualTo("OPS");
            lock.unlock();
        }

        /** Goal: a failure is neither a lock nor a refusal. Method: a name that is too long, and a pool that is closed. */
        @Test
        void failureIsAnException() {
            assertThatThrownBy(() -> getLockProvider().lock(lockConfig("x".repeat(256)))).isInstanceOf(LockException.class)
                    .hasRootCauseInstanceOf(SQLException.class);
            HikariDataSource closed = server.newPool(1, true);
            closed.close();
            assertThatThrownBy(() -> new ApplLockProvider(ApplLocks.on(closed), "job", STRANGER).lock(lockConfig(LOCK_NAME1)))
                    .isInstanceOf(LockException.class);
        }

        /** Goal: contention is a refusal, and costs an unlock a retry. Method: the database refuses each once. */
        @Test
        void contentionIsNoFailure() {
            Broken broken = new Broken(server.pool());
            ExtensibleLockProvider provider = new ApplLockProvider(broken.pool());
            broken.contend("get_appl_lock_row");
            assertThat(provider.lock(lockConfig(LOCK_NAME1))).isEmpty();
            SimpleLock lock = provider.lock(lockConfig(LOCK_NAME1, Duration.ofHours(1), Duration.ofMinutes(10))).orElseThrow();
            broken.contend("get_appl_lock_row");
            lock.unlock();
            assertLocked(LOCK_NAME1);
            expire();
        }

        /** Goal: pools without autocommit lock, too. Method: another provider is refused. */
        @Test
        void poolWithoutAutocommitLocks() {
            try (HikariDataSource pool = server.newPool(1, false)) {
                String name = UUID.randomUUID().toString();
                ExtensibleLockProvider provider = new ApplLockProvider(pool);
                SimpleLock lock = provider.lock(lockConfig(name)).orElseThrow();
                assertThat(getLockProvider().lock(lockConfig(name))).isEmpty();
                lock.unlock();
                assertUnlocked(name);
            }
        }
    }
}
