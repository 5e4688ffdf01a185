import io.github.applock.Answer;
import io.github.applock.ApplObject;
import io.github.applock.DerbyLocks;
import io.github.applock.HeldLock;
import io.github.applock.Owner;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.Optional;

/** The verbs, each with the IN parameters of its operation. They return its OUT parameters. Routines.java, which is generated, calls them. */
public final class Verbs {
    private Verbs() {}

    static Object[] get_appl_lock(String type, String id, String operator, String department, Long ttl, String onlyNew) throws SQLException {
        boolean isNew = isSet("get_appl_lock", "p_new_fl", onlyNew);
        Answer got = locks().get(new ApplObject(type, id), new Owner(operator, department), seconds(ttl), isNew);
        return answer(got, got.fence(), time(got.acquired()), time(got.expires()), got.secondsLeft(), got.note());
    }

    static Object[] release_appl_lock(String type, String id, String operator, Long fence, String actor, String reason) throws SQLException {
        return answer(locks().release(new ApplObject(type, id), operator, fence));
    }

    static Object[] inquire_appl_lock(String type, String id) throws SQLException {
        Optional<HeldLock> held = locks().inquire(new ApplObject(type, id));
        if (held.isEmpty()) {
            return new Object[] {"N", "", "", 0L, null, null, null, 0L, ""};
        }
        HeldLock lock = held.get();
        return new Object[] {"Y", lock.owner().operator(), lock.owner().department(), lock.fence(), time(lock.acquired()), time(lock.locked()),
            time(lock.expires()), lock.secondsLeft(), lock.note()};
    }

    static Object[] transfer_appl_lock(String type, String id, String from, String to, String department, Long ttl, String actor, String reason)
            throws SQLException {
        Answer moved = locks().transfer(new ApplObject(type, id), from, new Owner(to, department), seconds(ttl));
        return answer(moved, moved.fence(), time(moved.acquired()), time(moved.expires()), moved.secondsLeft());
    }

    static Object[] note_appl_lock(String type, String id, String operator, Long fence, String note) throws SQLException {
        return answer(locks().note(new ApplObject(type, id), operator, fence, note));
    }

    static Object[] assert_appl_lock(String type, String id, String operator, Long fence) throws SQLException {
        locks().assertHeld(new ApplObject(type, id), operator, fence);
        return new Object[0];
    }

    static Object[] serialize_appl_lock(String type, String id) throws SQLException {
        locks().serialize(new ApplObject(type, id));
        return new Object[0];
    }

    static Object[] purge_appl_locks(Long age, Long most) throws SQLException {
        return new Object[] {locks().purge(seconds(age), most)};
    }

    static DerbyLocks locks() throws SQLException {
        return DerbyLocks.in(DriverManager.getConnection("jdbc:default:connection"));
    }

    private static Object[] answer(Answer answer, Object... more) {
        Owner holder = answer.holder().orElse(new Owner("", ""));
        Object[] all = new Object[4 + more.length];
        System.arraycopy(new Object[] {answer.granted() ? "Y" : "N", answer.outcome().name(), holder.operator(), holder.department()}, 0, all, 0, 4);
        System.arraycopy(more, 0, all, 4, more.length);
        return all;
    }

    private static boolean isSet(String routine, String parameter, String flag) throws SQLException {
        String value = flag == null ? "" : flag.strip();
        if (!value.isEmpty() && !value.equals("Y") && !value.equals("N")) {
            throw new SQLException(routine + ": " + parameter + " must be Y or N", "LK001");
        }
        return value.equals("Y");
    }

    private static Duration seconds(Long seconds) {
        return seconds == null ? null : Duration.ofSeconds(seconds);
    }

    static Timestamp time(Instant time) {
        return time == null ? null : Timestamp.valueOf(LocalDateTime.ofInstant(time, ZoneOffset.UTC));
    }

    /** moment is the function appl_lock_time: the timestamp of microseconds of the epoch. */
    public static Timestamp moment(Long micros) {
        return micros == null ? null : time(Instant.EPOCH.plus(micros, ChronoUnit.MICROS));
    }

    /** version is the function appl_lock_version. */
    public static int version() {
        return 1;
    }

    /** row returns the answer of a row form. */
    static ResultSet row(String columns, Object... values) throws SQLException {
        Connection connection = DriverManager.getConnection("jdbc:default:connection");
        PreparedStatement statement = connection.prepareStatement("SELECT " + columns + " FROM SYSIBM.SYSDUMMY1");
        for (int i = 0; i < values.length; i++) {
            if (values[i] == null) {
                statement.setNull(i + 1, Types.TIMESTAMP); // all else is never NULL
            } else {
                statement.setObject(i + 1, values[i]);
            }
        }
        return statement.executeQuery();
    }
}
