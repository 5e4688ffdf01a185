package io.github.applock;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariDataSource;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLRecoverableException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a lease promises, also when its process, its connection or its answer is cut off. */
class LeaseTest {
    private static final Duration MINUTE = Duration.ofMinutes(1);
    private static final int OFTEN = 1000;

    private final ApplObject object = new ApplObject("report", UUID.randomUUID().toString());
    private final ExecutorService another = Executors.newCachedThreadPool();

    @AfterEach
    void end() {
        another.shutdownNow();
    }

    private static Leases leases(Server server) {
        return Leases.by(server.locks()).ttl(MINUTE);
    }

    private interface Question {
        boolean ask() throws SQLException;
    }

    /** until asks until the answer is yes, or the test is interrupted because that takes too long. */
    private static void until(Question question) throws Exception {
        while (!question.ask()) {
            Thread.sleep(5);
        }
    }

    /** Goal: the usual way. Method: a block that others see, and after which the object is free. */
    @ParameterizedTest
    @EnumSource
    void holdsForABlock(Server server) throws Exception {
        long fence;
        try (Lease lease = leases(server).owner(new Owner("web-1", "OPS")).acquire(object)) {
            lease.check();
            fence = lease.fence();
            HeldLock held = server.locks().inquire(object).orElseThrow();
            assertThat(held.owner()).isEqualTo(lease.owner());
            assertThat(held.owner().operator()).matches("web-1-[0-9a-f]{16}");
            assertThat(held.fence()).isEqualTo(fence);
            assertThat(lease.toString()).contains(object.toString(), "web-1", String.valueOf(fence));
        }
        assertThat(server.locks().inquire(object)).isEmpty();
        try (Lease next = leases(server).tryAcquire(object).orElseThrow()) {
            assertThat(next.fence()).isGreaterThan(fence);
            assertThat(next.release()).isTrue();
            assertThat(next.release()).isTrue();
            assertThat(next.lost()).isCompletedExceptionally(); // whoever asked for a call at its loss gets none
        }
    }

    /** Goal: two leases never share an object, also in one thread. Method: acquire again what one has. */
    @ParameterizedTest
    @EnumSource
    void reentryIsRefused(Server server) throws Exception {
        Leases leases = leases(server);
        try (Lease lease = leases.acquire(object)) {
            assertThat(leases.tryAcquire(object)).isEmpty();
            for (Duration wait : Arrays.asList(MINUTE, null)) {
                assertThatThrownBy(() -> leases(server).waiting(wait).acquire(object)).isInstanceOf(InvalidArgumentException.class)
                        .hasMessageContaining("wait for itself");
            }
            Future<Lease> other = another.submit(() -> leases.waiting(Duration.ofMillis(1)).acquire(object));
            assertThatThrownBy(() -> other.get(1, TimeUnit.MINUTES)).rootCause()
                    .hasMessageContaining("held by " + lease.owner().operator())
                    .isInstanceOfSatisfying(HeldException.class, held -> {
                        assertThat(held.answer().granted()).isFalse();
                        assertThat(held.answer().holder()).contains(lease.owner());
                    });
            assertThat(lease.isLost()).isFalse();
        }
        leases.waiting(null).acquire(object).close();
    }

    /** Goal: whoever waits is seen, gets the object after the release, and is listed no longer. Method: another thread. */
    @ParameterizedTest
    @EnumSource
    void waitsForTheRelease(Server server) throws Exception {
        Future<Lease> waiting;
        Filter waiters = Filter.ALL.where("object_type", object.type()).where("object_id", object.id());
        long fence;
        try (Lease lease = leases(server).acquire(object)) {
            fence = lease.fence();
            waiting = another.submit(() -> leases(server).waiting(null).acquire(object));
            until(() -> !server.locks().waiting(waiters).isEmpty());
            assertThat(server.locks().waiting(waiters)).singleElement().matches(waiter -> waiter.holder().orElseThrow().equals(lease.owner()));
        }
        try (Lease lease = waiting.get(1, TimeUnit.MINUTES)) {
            assertThat(lease.fence()).isGreaterThan(fence);
            assertThat(server.locks().waiting(waiters)).isEmpty();
        }
    }

    /** Goal: who has been listed longest may have a free object first. Method: one who never asks for it, and how long another waits. */
    @ParameterizedTest
    @EnumSource
    void leavesAMomentToTheFirst(Server server) throws Exception {
        server.locks().announce(object, new Owner("JDOE", ""), "desk", null);
        try (Waiting waiting = new Waiting(server.locks(), object, new Owner("ASMITH", ""), null)) {
            waiting.untilFree(null); // listed
            long began = System.nanoTime();
            waiting.untilFree(null);
            assertThat(Duration.ofNanos(System.nanoTime() - began)).isGreaterThan(Duration.ofMillis(69));
        }
    }

    /** Goal: an interrupt ends the wait, and leaves nothing. Method: interrupt a thread that is listed. */
    @ParameterizedTest
    @EnumSource
    void interruptEndsTheWait(Server server) throws Exception {
        Filter waiters = Filter.ALL.where("object_type", object.type()).where("object_id", object.id());
        try (Lease lease = leases(server).acquire(object)) {
            Thread[] thread = {null};
            Future<Lease> waiting = another.submit(() -> {
                thread[0] = Thread.currentThread();
                return leases(server).waiting(MINUTE).acquire(object);
            });
            until(() -> !server.locks().waiting(waiters).isEmpty());
            thread[0].interrupt();
            assertThatThrownBy(() -> waiting.get(1, TimeUnit.MINUTES)).hasCauseInstanceOf(InterruptedException.class);
            assertThat(server.locks().waiting(waiters)).isEmpty();
            assertThat(server.locks().inquire(object).orElseThrow().fence()).isEqualTo(lease.fence());
        }
    }

    /** Goal: a lease lives as long as it is held. Method: one that is renewed often, until its end has moved twice. */
    @ParameterizedTest
    @EnumSource
    void isRenewed(Server server) throws Exception {
        try (Lease lease = leases(server).renewals(OFTEN).acquire(object)) {
            for (int i = 0; i < 2; i++) {
                Instant end = server.locks().inquire(object).orElseThrow().expires();
                until(() -> server.locks().inquire(object).orElseThrow().expires().isAfter(end));
            }
            lease.check();
        }
    }

    /** Goal: a refused renewal is told, and takes nothing back. Method: the lock expires, and a stranger gets it. */
    @ParameterizedTest
    @EnumSource
    void refusedRenewalIsALoss(Server server) throws Exception {
        Lease lease = leases(server).renewals(OFTEN).acquire(object);
        CompletableFuture<Void> told = lease.lost().thenRunAsync(() -> { });
        until(() -> {
            server.expire(object); // again, since a renewal that had begun before may win
            return told.isDone();
        });
        assertThat(lease.isLost()).isTrue();
        assertThatThrownBy(lease::check).isInstanceOf(LostException.class).hasMessageContaining(object.toString());
        assertThat(lease.renew(MINUTE)).isFalse();
        Answer stranger = server.locks().get(object, new Owner("STRANGER", ""), MINUTE);
        assertThatThrownBy(lease::close).isInstanceOf(LostException.class);
        lease.close(); // once
        assertThat(server.locks().inquire(object).orElseThrow().fence()).isEqualTo(stranger.fence());
    }

    /** Goal: a loss that nobody has noticed is told at the end of the block. Method: the lock expires behind the back of one that is not renewed. */
    @ParameterizedTest
    @EnumSource
    void lossIsToldAtTheEnd(Server server) throws Exception {
        assertThatThrownBy(() -> {
            try (Lease lease = leases(server).unrenewed().acquire(object)) {
                server.expire(object);
                assertThat(lease.isLost()).isFalse();
            }
        }).isInstanceOf(LostException.class);
    }

    /** Goal: without a renewal in time the lease is lost by the clock here. Method: a pool that is closed, with and without renewals. */
    @ParameterizedTest
    @ValueSource(ints = {3, 0})
    void unreachableDatabaseIsALoss(int renewals) throws Exception {
        HikariDataSource pool = Server.POSTGRES.newPool(1, true);
        Lease lease = Leases.on(pool).ttl(Duration.ofSeconds(1)).renewals(renewals).acquire(object);
        pool.close();
        lease.lost().get(1, TimeUnit.MINUTES);
        assertThat(lease.isLost()).isTrue();
        assertThatThrownBy(lease::close).isInstanceOf(SQLException.class);
    }

    /** Goal: a connection that is cut costs nothing. Method: the database ends the only one of the pool, twice. */
    @ParameterizedTest
    @EnumSource
    void cutConnectionIsReplaced(Server server) throws Exception {
        try (HikariDataSource pool = server.newPool(1, true); Lease lease = Leases.on(pool).ttl(MINUTE).renewals(OFTEN).acquire(object)) {
            for (int i = 0; i < 2; i++) {
                String end = server == Server.POSTGRES ? "SELECT pg_terminate_backend(%d)" : "KILL %d";
                server.execute(end.formatted(connectionOf(pool, server)));
                Instant before = server.locks().inquire(object).orElseThrow().expires();
                until(() -> server.locks().inquire(object).orElseThrow().expires().isAfter(before));
            }
            lease.check();
        }
        assertThat(server.locks().inquire(object)).isEmpty();
    }

    private static long connectionOf(HikariDataSource pool, Server server) throws SQLException {
        try (Connection connection = pool.getConnection(); Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(server == Server.POSTGRES ? "SELECT pg_backend_pid()" : "SELECT connection_id()")) {
            row.next();
            return row.getLong(1);
        }
    }

    /** Goal: a get whose answer was lost leaves nothing behind. Method: it breaks off when the database has granted. */
    @ParameterizedTest
    @EnumSource
    void getWithoutAnAnswerIsReleased(Server server) throws Exception {
        Broken broken = new Broken(server.pool());
        Leases leases = Leases.on(broken.pool()).ttl(Duration.ofDays(1));
        for (Throwable error : List.of(new SQLRecoverableException("broken", "08006"), new IllegalStateException(), new StackOverflowError())) {
            broken.breakOff("get_appl_lock_row", error);
            assertThatThrownBy(() -> leases.acquire(object)).isSameAs(error);
            until(() -> server.locks().inquire(object).isEmpty());
            assertThat(server.locks().release(object, "NOBODY", null).outcome()).isEqualTo(Outcome.FREE);
        }
        try (Lease lease = leases.acquire(object)) {
            lease.check();
        }
    }

    /** Goal: a release whose answer was lost is no loss. Method: it breaks off when the database has released. */
    @ParameterizedTest
    @EnumSource
    void releaseWithoutAnAnswerIsRepeated(Server server) throws Exception {
        Broken broken = new Broken(server.pool());
        try (Lease lease = Leases.on(broken.pool()).acquire(object)) {
            broken.breakOff("release_appl_lock_row");
            assertThat(lease.isLost()).isFalse();
        }
        assertThat(server.locks().inquire(object)).isEmpty();
    }

    /** Goal: contention costs a retry, and nothing else. Method: the database refuses a poll, a get and a release once. */
    @ParameterizedTest
    @EnumSource
    void contentionIsRetried(Server server) throws Exception {
        Broken broken = new Broken(server.pool());
        try (Waiting waiting = new Waiting(ApplLocks.on(broken.pool()), object, new Owner("JDOE", ""), null)) {
            broken.contend("poll_appl_locks");
            waiting.untilFree(null);
        }
        broken.contend("get_appl_lock_row");
        try (Lease lease = Leases.on(broken.pool()).waiting(null).acquire(object)) {
            lease.check();
            broken.contend("release_appl_lock_row");
        }
        assertThat(server.locks().inquire(object)).isEmpty();
    }

    /** Goal: a mistake is told at once, and waits for nothing. Method: a ttl of parts of a second, and a blank name. */
    @Test
    void mistakesAreTold() {
        Leases leases = Leases.on(Server.POSTGRES.pool()).waiting(null);
        for (Callable<Lease> mistake : List.<Callable<Lease>>of(
                () -> leases.ttl(Duration.ofMillis(1500)).acquire(object), () -> leases.acquire(new ApplObject("", "1")))) {
            assertThatThrownBy(mistake::call).isInstanceOf(InvalidArgumentException.class);
        }
    }

    private Lease inState(String state, Leases leases, Server server) throws Exception {
        Leases shortly = leases.ttl(Duration.ofSeconds(1)).unrenewed().waiting(null);
        Lease lease = (state.endsWith("renewed") ? shortly : leases).acquire(object);
        switch (state) {
            case "entered" -> { }
            case "renewed" -> {
                while (!lease.renew(MINUTE)) { // a busy machine may have lost it
                    lease = shortly.acquire(object);
                }
                TimeUnit.SECONDS.sleep(1); // its ttl
            }
            case "released" -> assertThat(lease.release()).isTrue();
            case "taken" -> {
                server.locks().take(object, new Owner("STRANGER", ""), "theirs", lease.fence(), MINUTE);
                assertThat(lease.renew(MINUTE)).isFalse();
            }
            case "unrenewed" -> lease.lost().get(1, TimeUnit.MINUTES);
            default -> throw new AssertionError("the test has no way to play " + state);
        }
        return lease;
    }

    /** Goal: check and the signal answer in each state as in every other language. Method: play each row of the table of all languages. */
    @ParameterizedTest
    @EnumSource
    void answersByItsState(Server server) throws Exception {
        Map<String, String> never = Map.of("reentered", "each lease has an operator of its own, so a second one of its grant is refused",
                "forked", "a JVM does not fork: a child is another program, without the lease");
        for (String line : Files.readAllLines(Path.of("../../../testdata/lease_states.txt"))) {
            String[] row = line.replaceFirst("#.*", "").split(" +");
            if (row.length == 3 && !never.containsKey(row[0])) {
                Lease lease = inState(row[0], leases(server), server);
                assertThat(List.of(lease.lost().isDone(), lease.isLost())).as(line).containsOnly(row[2].equals("fired"));
                if (row[1].equals("passes")) {
                    lease.check();
                } else {
                    assertThatThrownBy(lease::check).as(line).isInstanceOf(LostException.class);
                }
                lease.release();
                server.locks().release(object, "STRANGER", null);
            }
        }
    }

    /** Holder is a program with a lease: it says its fence, waits for a line, says whether the lease is lost, and what its end is. */
    static final class Holder {
        public static void main(String[] arguments) throws Exception {
            Leases leases = Leases.on(Server.POSTGRES.pool()).ttl(Duration.ofSeconds(1)).renewals(Integer.parseInt(arguments[1]));
            try (Lease lease = leases.acquire(ApplObject.parse(arguments[0]))) {
                System.out.println(lease.fence());
                System.in.read();
                System.out.println(lease.isLost());
            } catch (LostException lost) {
                System.out.println("LostException");
            }
        }
    }

    private Process holder(int renewals) throws IOException {
        return new ProcessBuilder("java", "-cp", System.getProperty("java.class.path"), Holder.class.getName(), object.toString(),
                String.valueOf(renewals)).redirectError(ProcessBuilder.Redirect.INHERIT).start();
    }

    /**
     * Goal: a process that was paused for longer than its lease does not believe in it, by its clock alone as well. Method: stop it, take the
     * object, let it go on, with and without renewals.
     */
    @ParameterizedTest
    @ValueSource(ints = {3, 0})
    void pausedProcessKnows(int renewals) throws Exception {
        Process holder = holder(renewals);
        try (BufferedReader says = new BufferedReader(new InputStreamReader(holder.getInputStream()))) {
            long fence = Long.parseLong(says.readLine());
            signal("STOP", holder);
            try (Lease lease = leases(Server.POSTGRES).waiting(null).acquire(object)) {
                assertThat(lease.fence()).isGreaterThan(fence);
                signal("CONT", holder);
                holder.getOutputStream().write('\n');
                holder.getOutputStream().flush();
                assertThat(says.readLine()).isEqualTo("true");
                assertThat(says.readLine()).isEqualTo("LostException");
                lease.check();
            }
        } finally {
            holder.destroyForcibly();
        }
    }

    /** Goal: a process that is killed leaves its object to the next one. Method: kill -9, and wait. */
    @Test
    void killedProcessLetsGo() throws Exception {
        Process holder = holder(3);
        try (BufferedReader says = new BufferedReader(new InputStreamReader(holder.getInputStream()))) {
            long fence = Long.parseLong(says.readLine());
            signal("KILL", holder);
            try (Lease lease = leases(Server.POSTGRES).waiting(null).acquire(object)) {
                assertThat(lease.fence()).isGreaterThan(fence);
            }
        } finally {
            holder.destroyForcibly();
        }
    }

    private static void signal(String name, Process process) throws Exception {
        assertThat(new ProcessBuilder("kill", "-" + name, String.valueOf(process.pid())).start().waitFor()).isZero();
    }
}
