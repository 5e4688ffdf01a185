import com.zaxxer.hikari.HikariDataSource;
import io.github.applock.Answer;
import io.github.applock.ApplLockException;
import io.github.applock.ApplLocks;
import io.github.applock.ApplObject;
import io.github.applock.Asker;
import io.github.applock.DerbyLocks;
import io.github.applock.Filter;
import io.github.applock.HeldLock;
import io.github.applock.InvalidArgumentException;
import io.github.applock.Lease;
import io.github.applock.Leases;
import io.github.applock.LockChange;
import io.github.applock.Owner;
import io.github.applock.Permit;
import io.github.applock.Policy;
import io.github.applock.Presence;
import io.github.applock.Renewal;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** Plays the scenarios for clients/clients_test.go through ApplLocks, and through DerbyLocks: java player.java DRIVER */
class Player {
    private final BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    private final PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    private final Connection connection;
    private final ApplLocks locks;
    private final DerbyLocks derby;

    private Player(Connection connection, DerbyLocks derby) {
        this.connection = connection;
        this.locks = ApplLocks.in(connection);
        this.derby = derby;
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("derby")) {
            System.setProperty("derby.stream.error.field", "java.lang.System.err"); // and no file
            Connection connection = DriverManager.getConnection("jdbc:derby:memory:player;create=true");
            DerbyLocks.install(connection);
            connection.setAutoCommit(false);
            new Player(connection, DerbyLocks.in(connection)).play();
            return;
        }
        try (Connection connection = connect(args[0])) {
            new Player(connection, null).play();
        }
    }

    private static Connection connect(String driver) throws SQLException {
        if (driver.equals("pgjdbc")) {
            return DriverManager.getConnection("jdbc:postgresql://" + env("PGHOST") + ":" + env("PGPORT") + "/" + env("PGDATABASE"),
                    env("PGUSER"), env("PGPASSWORD"));
        }
        String product = driver.equals("mariadb-java-client") ? "mariadb" : "mysql";
        return DriverManager.getConnection(
                "jdbc:" + product + "://" + env("MYSQL_HOST") + ":" + env("MYSQL_TCP_PORT") + "/" + env("MYSQL_DATABASE"),
                env("MYSQL_USER"), env("MYSQL_PWD"));
    }

    private static String env(String name) {
        return System.getenv(name);
    }

    private void play() throws Exception {
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            List<String> words = new ArrayList<>(Arrays.stream(line.split("\t", -1)).map(Player::decode).toList());
            String operation = words.remove(0);
            try {
                for (List<?> row : derby == null ? answer(operation, words) : committed(operation, words)) {
                    say("row", row.toArray());
                }
                say("end");
            } catch (ApplLockException error) {
                say("error", error.getSQLState(), error.getMessage());
            } catch (Unsayable argument) {
                say("error", InvalidArgumentException.STATE, operation + ": " + argument.getMessage() + " cannot be said in Java");
            }
        }
    }

    private List<List<?>> answer(String operation, List<String> a) throws Exception {
        switch (operation) {
            case "versions":
                return List.of(List.of("Java " + Runtime.version().feature(), connection.getMetaData().getDriverName() + " "
                        + connection.getMetaData().getDriverVersion().split(" ")[0]));
            case "increment":
                return increment(a.get(0));
            case "increment_leased":
                return incrementLeased();
            case "get_appl_lock":
                return List.of(granted(locks.get(object(a), new Owner(a.get(2), a.get(3)), seconds(a.get(4)), isSet("p_new_fl", a.get(5)))));
            case "get_appl_lock_permit":
                return permitted(locks.permit(object(a), a.get(2) == null ? 0 : number(a.get(2)), new Owner(a.get(3), a.get(4)),
                        seconds(a.get(5))));
            case "release_appl_lock":
                return List.of(ended(locks.release(object(a), a.get(2), number(a.get(3)), a.get(4), a.get(5))));
            case "inquire_appl_lock":
                return List.of(inquired(locks.inquire(object(a))));
            case "transfer_appl_lock":
                return List.of(handed(locks.transfer(
                        object(a), a.get(2), new Owner(a.get(3), a.get(4)), seconds(a.get(5)), a.get(6), a.get(7))));
            case "take_appl_lock":
                return List.of(handed(locks.take(
                        object(a), new Owner(a.get(2), a.get(3)), a.get(4), number(a.get(5)), seconds(a.get(6)))));
            case "note_appl_lock":
                return List.of(ended(locks.note(object(a), a.get(2), number(a.get(3)), a.get(4))));
            case "appl_lock_live":
                return locks.live(filter(a)).stream().<List<?>>map(Player::listed).toList();
            case "purge_appl_locks":
                return List.of(List.of(locks.purge(seconds(a.get(0)), number(a.get(1)))));
            case "purge_appl_lock_history":
                return List.of(List.of(locks.purgeHistory(seconds(a.get(0)), number(a.get(1)))));
            case "assert_appl_lock":
                return inTransaction(() -> locks.assertHeld(object(a), a.get(2), number(a.get(3))));
            case "serialize_appl_lock":
                return inTransaction(() -> locks.serialize(object(a)));
            case "transfer_appl_locks":
                return changed(locks.transferAll(a.get(0), new Owner(a.get(2), a.get(3)), seconds(a.get(4)), a.get(5), a.get(6),
                        page(a.get(1), a.subList(7, 11))));
            case "release_appl_locks":
                return changed(locks.releaseAll(a.get(0), a.get(2), a.get(3), page(a.get(1), a.subList(4, 8))));
            case "renew_appl_locks":
                return renew(a);
            case "ask_appl_lock":
                return List.of(handed(locks.ask(object(a), new Owner(a.get(2), a.get(3)), a.get(4), a.get(5), seconds(a.get(6)))));
            case "answer_appl_lock":
                return List.of(answered(locks.answer(object(a), a.get(2), number(a.get(3)), a.get(4), a.get(5),
                        oneOf(Asker.Reply.values(), "p_answer", a.get(6)), a.get(7))));
            case "see_appl_lock":
                return locks.see(object(a), new Owner(a.get(2), a.get(3)), a.get(4), oneOf(Presence.State.values(), "p_state", a.get(5)),
                        seconds(a.get(6))).stream().<List<?>>map(p -> List.of(p.kind(), p.owner().operator(), p.owner().department(),
                        p.client(), p.state(), p.since(), p.secondsLeft(), p.message())).toList();
            default:
                return waiting(operation, a);
        }
    }

    /** committed is an operation on Derby, and two things that a server's tests do without the player. */
    private List<List<?>> committed(String operation, List<String> a) throws SQLException {
        try {
            List<List<?>> rows = onDerby(operation, a);
            connection.commit();
            return rows;
        } finally {
            connection.rollback();
        }
    }

    private List<List<?>> onDerby(String operation, List<String> a) throws SQLException {
        switch (operation) {
            case "empty":
                return changed("DELETE FROM appl_lock");
            case "advance":
                return changed("UPDATE appl_lock SET acquired_ts = acquired_ts - %1$s, lock_ts = lock_ts - %1$s, expires_ts = expires_ts - %1$s, "
                        .concat("released_ts = released_ts - %1$s").formatted(a.get(0)));
            case "get_appl_lock":
                return List.of(granted(derby.get(object(a), new Owner(a.get(2), a.get(3)), seconds(a.get(4)), isSet("p_new_fl", a.get(5)))));
            case "release_appl_lock":
                return List.of(ended(derby.release(object(a), a.get(2), number(a.get(3)))));
            case "inquire_appl_lock":
                return List.of(inquired(derby.inquire(object(a))));
            case "transfer_appl_lock":
                return List.of(handed(derby.transfer(object(a), a.get(2), new Owner(a.get(3), a.get(4)), seconds(a.get(5)))));
            case "note_appl_lock":
                return List.of(ended(derby.note(object(a), a.get(2), number(a.get(3)), a.get(4))));
            case "appl_lock_live":
                return derby.live(filter(a)).stream().<List<?>>map(Player::listed).toList();
            case "purge_appl_locks":
                return List.of(List.of(derby.purge(seconds(a.get(0)), number(a.get(1)))));
            case "assert_appl_lock":
                derby.assertHeld(object(a), a.get(2), number(a.get(3)));
                return List.of();
            case "serialize_appl_lock":
                derby.serialize(object(a));
                return List.of();
            default:
                throw new IllegalArgumentException(operation + " is not offered on Derby");
        }
    }

    private List<List<?>> changed(String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate(sql);
            return List.of();
        }
    }

    private List<List<?>> waiting(String operation, List<String> a) throws SQLException {
        switch (operation) {
            case "announce_appl_lock_waiter":
                locks.announce(object(a), new Owner(a.get(2), a.get(3)), a.get(4), seconds(a.get(5)));
                return List.of();
            case "retract_appl_lock_waiter":
                locks.retract(object(a), a.get(2), a.get(3));
                return List.of();
            case "poll_appl_locks":
                return locks.poll(a.get(0), number(a.get(1))).stream()
                        .<List<?>>map(w -> List.of(w.object().type(), w.object().id(), w.freeInMicros(), yes(w.first()))).toList();
            case "appl_lock_waiting":
                return locks.waiting(filter(a)).stream().<List<?>>map(w -> Arrays.asList(w.object().type(), w.object().id(),
                        w.owner().operator(), w.owner().department(), w.client(), w.since(), w.until(), w.waitedSeconds(),
                        operator(w.holder()), department(w.holder()), w.secondsLeft())).toList();
            case "appl_lock_asking":
                return locks.asking(filter(a)).stream().<List<?>>map(w -> Arrays.asList(w.object().type(), w.object().id(),
                        w.owner().operator(), w.owner().department(), w.client(), w.message(), w.since(), w.until(), w.waitedSeconds(),
                        w.answer(), w.answerReason(), operator(w.holder()), department(w.holder()), w.secondsLeft())).toList();
            case "appl_lock_viewers":
                return locks.viewers(filter(a)).stream().<List<?>>map(v -> List.of(v.object().type(), v.object().id(),
                        v.owner().operator(), v.owner().department(), v.client(), v.state(), v.since(), v.secondsLeft())).toList();
            case "appl_lock_stats":
                return locks.stats(filter(a)).stream().<List<?>>map(s -> List.of(s.type(), s.department(), s.live(), s.expired(),
                        s.oldestSeconds(), s.nextExpirySeconds(), s.waiters(), s.longestWaitSeconds())).toList();
            case "inbox_appl_locks":
                return locks.inbox(a.get(0), a.get(1), number(a.get(2))).stream()
                        .<List<?>>map(n -> Arrays.asList(n.kind(), n.eventId(), n.object().type(), n.object().id(), n.other().operator(),
                                n.other().department(), n.at(), n.secondsLeft(), n.reason(), n.nextPosition(),
                                n.message(), n.clientId(), n.fence())).toList();
            case "set_appl_lock_policy":
                return List.of(laidDown(locks.setPolicy(new Policy(a.get(0), seconds(a.get(1)), seconds(a.get(2)),
                        flag("p_take_reason_fl", a.get(3)), a.get(6),
                        flag("p_presence_fl", a.get(7)), seconds(a.get(8))), a.get(4), a.get(5))));
            case "drop_appl_lock_policy":
                return List.of(laidDown(locks.dropPolicy(a.get(0), a.get(1), a.get(2))));
            case "appl_lock_policies":
                return locks.policies(filter(a)).stream().<List<?>>map(p -> Arrays.asList(p.type(), wholeSeconds(p.defaultTtl()),
                        wholeSeconds(p.longestTtl()), yes(p.takeReason()), p.history(),
                        yes(p.presence()), wholeSeconds(p.yieldAfter()))).toList();
            case "appl_lock_history":
                return locks.history(filter(a)).stream()
                        .<List<?>>map(e -> Arrays.asList(e.id(), e.at(), e.object().type(), e.object().id(), e.event(), e.actor(),
                                e.user(), e.program(), e.from().operator(), e.from().department(), e.to().operator(),
                                e.to().department(), e.fromFence(), e.toFence(), e.reason())).toList();
            default:
                throw new IllegalArgumentException("unknown operation " + operation);
        }
    }

    /** filter has names and values in turn. */
    private static Filter filter(List<String> a) {
        Filter filter = Filter.ALL;
        List<Object> after = new ArrayList<>();
        for (int i = 0; i < a.size(); i += 2) {
            String name = a.get(i);
            String value = a.get(i + 1);
            if (name.startsWith("after_")) {
                after.add(name.equals("after_event_id") ? number(value) : value);
                filter = filter.after(after.toArray());
            } else {
                filter = switch (name) {
                    case "max_rows" -> filter.rows(number(value));
                    case "since_seconds" -> filter.since(seconds(value));
                    default -> filter.where(name, value);
                };
            }
        }
        return filter;
    }

    private static Long wholeSeconds(Duration ttl) {
        return ttl == null ? null : ttl.toSeconds();
    }

    private static String operator(Optional<Owner> holder) {
        return holder.map(Owner::operator).orElse("");
    }

    private static String department(Optional<Owner> holder) {
        return holder.map(Owner::department).orElse("");
    }

    private static List<?> granted(Answer answer) {
        return Arrays.asList(answer.granted(), yes(answer.granted()), answer.outcome(), operator(answer.holder()),
                department(answer.holder()), answer.fence(), answer.acquired(), answer.expires(), answer.secondsLeft(), answer.note());
    }

    private static List<?> handed(Answer answer) {
        return granted(answer).subList(0, 9);
    }

    private static List<?> answered(Answer answer) {
        List<Object> row = new ArrayList<>(handed(answer));
        row.remove(5); // the fence, which is not told
        return row;
    }

    private static List<?> ended(Answer answer) {
        return granted(answer).subList(0, 5);
    }

    private static List<?> laidDown(Answer answer) {
        return granted(answer).subList(0, 3);
    }

    private static List<List<?>> permitted(Permit p) {
        if (p.granted()) {
            return List.of(Arrays.asList(true, p.outcome(), p.slot().id(), p.owner().operator(), p.owner().department(), p.fence(),
                    p.acquired(), p.expires(), p.secondsLeft(), p.note()));
        }
        return p.holders().stream().<List<?>>map(h -> Arrays.asList(false, p.outcome(), h.slot().id(), h.owner().operator(),
                h.owner().department(), h.fence(), h.acquired(), h.expires(), h.secondsLeft(), h.note())).toList();
    }

    private static List<?> inquired(Optional<HeldLock> found) {
        return found.<List<?>>map(lock -> List.of("Y", lock.owner().operator(), lock.owner().department(), lock.fence(),
                lock.acquired(), lock.locked(), lock.expires(), lock.secondsLeft(), lock.note()))
                .orElse(Arrays.asList("N", "", "", 0, null, null, null, 0, ""));
    }

    private static List<?> listed(HeldLock lock) {
        return List.of(lock.object().type(), lock.object().id(), lock.owner().operator(), lock.owner().department(), lock.fence(),
                lock.acquired(), lock.locked(), lock.expires(), lock.secondsLeft(), lock.ttl().toSeconds(), lock.note());
    }

    private interface Step {
        void take() throws SQLException;
    }

    private List<List<?>> inTransaction(Step step) throws SQLException {
        connection.setAutoCommit(false);
        try {
            step.take();
            connection.commit();
        } finally {
            connection.rollback();
            connection.setAutoCommit(true);
        }
        return List.of();
    }

    private List<List<?>> renew(List<String> a) throws SQLException {
        List<Renewal.Grant> grants = new ArrayList<>();
        for (int i = 0; i < a.size(); i += 5) {
            grants.add(new Renewal.Grant(object(a.subList(i, i + 2)), a.get(i + 2), number(a.get(i + 3)), seconds(a.get(i + 4))));
        }
        return locks.renew(grants).stream().<List<?>>map(result -> Arrays.asList(result.granted(), result.object().type(),
                result.object().id(), result.outcome(), operator(result.holder()), department(result.holder()),
                result.acquired(), result.expires(), result.secondsLeft()))
                .toList();
    }

    private static LockChange.Page page(String type, List<String> a) {
        return new LockChange.Page(type, object(a), number(a.get(2)), isSet("p_dry_run_fl", a.get(3)));
    }

    private static List<List<?>> changed(List<LockChange> changes) {
        return changes.stream().<List<?>>map(c -> Arrays.asList(c.granted(), c.object().type(), c.object().id(), c.outcome(),
                operator(c.holder()), department(c.holder()), c.fence(), c.expires(), c.secondsLeft())).toList();
    }

    private List<List<?>> increment(String operator) throws Exception {
        ApplObject counter = new ApplObject("counter", "1");
        Answer got = null;
        while (operator != null && (got == null || !got.granted())) {
            got = locks.get(counter, new Owner(operator, null), null);
        }
        count();
        if (operator != null) {
            locks.release(counter, operator, got.fence());
        }
        return List.of();
    }

    private List<List<?>> incrementLeased() throws Exception {
        try (HikariDataSource pool = new HikariDataSource()) {
            String url = connection.getMetaData().getURL().replaceFirst("[?].*", ""); // MariaDB's has a masked password there
            boolean isPostgres = url.startsWith("jdbc:postgresql:");
            pool.setJdbcUrl(url);
            pool.setUsername(env(isPostgres ? "PGUSER" : "MYSQL_USER"));
            pool.setPassword(env(isPostgres ? "PGPASSWORD" : "MYSQL_PWD"));
            try (Lease lease = Leases.on(pool).waiting(null).acquire(new ApplObject("counter", "1"))) {
                count();
                lease.check();
            }
        }
        return List.of();
    }

    /** The counter, between whose read and write the runner decides how long it takes. */
    private void count() throws Exception {
        try (Statement statement = connection.createStatement()) {
            long n;
            try (ResultSet row = statement.executeQuery("SELECT n FROM counter")) {
                row.next();
                n = row.getLong(1);
            }
            say("read", n);
            in.readLine();
            statement.executeUpdate("UPDATE counter SET n = " + (n + 1));
        }
    }

    private static ApplObject object(List<String> a) {
        return new ApplObject(a.get(0), a.get(1));
    }

    /** Unsayable names an argument whose type in the library does not have the value. */
    private static final class Unsayable extends RuntimeException {
        private static final long serialVersionUID = 1L;

        Unsayable(String parameter) {
            super(parameter);
        }
    }

    private static Boolean flag(String parameter, String text) {
        if (text == null) {
            return null;
        }
        return switch (text.stripTrailing()) {
            case "Y" -> true;
            case "N" -> false;
            default -> throw new Unsayable(parameter);
        };
    }

    private static <T extends Enum<T>> T oneOf(T[] values, String parameter, String text) {
        if (text == null) {
            return null;
        }
        return Arrays.stream(values).filter(value -> value.name().equals(text.stripTrailing())).findFirst()
                .orElseThrow(() -> new Unsayable(parameter));
    }

    private static boolean isSet(String parameter, String text) {
        return text != null && !text.isBlank() && flag(parameter, text);
    }

    private static Long number(String text) {
        return text == null ? null : Long.valueOf(text);
    }

    private static Duration seconds(String text) {
        return text == null ? null : Duration.ofSeconds(Long.parseLong(text));
    }

    private static String yes(boolean flag) {
        return flag ? "Y" : "N";
    }

    private void say(String kind, Object... values) {
        StringBuilder line = new StringBuilder(kind);
        for (Object value : values) {
            line.append('\t').append(encode(value));
        }
        out.print(line.append('\n'));
        out.flush();
    }

    private static String encode(Object value) {
        return value == null ? "\\N"
                : value.toString().replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r");
    }

    private static String decode(String field) {
        if (field.equals("\\N")) {
            return null;
        }
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < field.length(); i++) {
            char c = field.charAt(i);
            if (c == '\\') {
                c = switch (field.charAt(++i)) {
                    case 't' -> '\t';
                    case 'n' -> '\n';
                    case 'r' -> '\r';
                    default -> '\\';
                };
            }
            text.append(c);
        }
        return text.toString();
    }
}
