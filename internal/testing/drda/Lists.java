import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** The waiters, and the verbs that answer with many rows. Times are microseconds of the epoch, as in DerbyLocks. */
final class Lists {
    private static final long SECOND = 1_000_000;
    private static final long LONGEST = 315_360_000;

    private Lists() {}

    static Object[] announce_appl_lock_waiter(String type, String id, String operator, String department, String client, Long wait) throws SQLException {
        String[] key = key("announce_appl_lock_waiter", type, id, operator, client);
        String where = text("announce_appl_lock_waiter", "p_department_id", department, 0, 64, true);
        long seconds = number("announce_appl_lock_waiter", "p_wait_seconds", wait == null ? 1 : wait, LONGEST);
        long now = now();
        String until = wait == null ? "CAST(NULL AS BIGINT)" : Long.toString(now + seconds * SECOND);
        long expires = wait == null ? now + 60 * SECOND : now + Math.min(60, seconds) * SECOND;
        change("DELETE FROM appl_lock_waiter WHERE object_type = ? AND object_id = ? AND operator_id = ? AND client_id = ? AND expires_ts <= " + now, key);
        String set = "UPDATE appl_lock_waiter SET until_ts = " + until + ", expires_ts = " + expires
                + ", department_id = ? WHERE object_type = ? AND object_id = ? AND operator_id = ? AND client_id = ?";
        if (change(set, where, key[0], key[1], key[2], key[3]) == 0) {
            change("INSERT INTO appl_lock_waiter VALUES (?, ?, ?, ?, ?, " + now + ", " + until + ", " + expires + ")", key[0], key[1], key[2], key[3], where);
        }
        return new Object[0];
    }

    static Object[] retract_appl_lock_waiter(String type, String id, String operator, String client) throws SQLException {
        change("DELETE FROM appl_lock_waiter WHERE object_type = ? AND object_id = ? AND operator_id = ? AND client_id = ?",
                key("retract_appl_lock_waiter", type, id, operator, client));
        return new Object[0];
    }

    static ResultSet poll_appl_locks(String client, Long most) throws SQLException {
        String program = text("poll_appl_locks", "p_client_id", client, 1, 64, false);
        long rows = number("poll_appl_locks", "p_max_rows", most == null ? 1000 : most, 10_000);
        long now = now();
        String waits = "client_id = ? AND (until_ts IS NULL OR until_ts > " + now + ")";
        String ends = "SELECT 1 FROM appl_lock_waiter WHERE " + waits + " AND expires_ts < " + (now + 30 * SECOND)
                + " AND (until_ts IS NULL OR until_ts > expires_ts)";
        if (isFound(ends, program)) {
            long expires = now + 60 * SECOND;
            change("UPDATE appl_lock_waiter SET expires_ts = CASE WHEN until_ts < " + expires + " THEN until_ts ELSE " + expires + " END WHERE " + waits
                    + " AND (until_ts IS NULL OR until_ts > expires_ts)", program);
        }
        PreparedStatement answer = prepare("""
                SELECT a.object_type, a.object_id, CASE WHEN l.expires_ts IS NULL THEN 0 ELSE l.expires_ts - NOW END AS free_in_us,
                    CASE WHEN l.expires_ts IS NOT NULL OR o.since_ts < a.since_ts THEN 'N' ELSE 'Y' END AS first_fl
                FROM (SELECT object_type, object_id, MIN(since_ts) AS since_ts FROM appl_lock_waiter WHERE WAITS GROUP BY object_type, object_id) AS a
                LEFT OUTER JOIN (SELECT object_type, object_id, expires_ts FROM appl_lock WHERE released_ts IS NULL AND expires_ts > NOW) AS l
                    ON l.object_type = a.object_type AND l.object_id = a.object_id
                LEFT OUTER JOIN (SELECT object_type, object_id, MIN(since_ts) AS since_ts FROM appl_lock_waiter WHERE expires_ts > NOW
                    GROUP BY object_type, object_id) AS o
                    ON o.object_type = a.object_type AND o.object_id = a.object_id
                ORDER BY free_in_us, object_type, object_id
                """.replace("WAITS", waits).replace("NOW", Long.toString(now)), program);
        answer.setMaxRows((int) rows);
        return answer.executeQuery();
    }

    /** Each grant is five fields, of which each is the number of its characters, a colon, and the characters. */
    static ResultSet renew_appl_locks(String grants) throws SQLException {
        List<Grant> parsed = Grant.parse(grants);
        long now = now();
        makeAnswers();
        for (Grant grant : parsed) {
            renew(grant, now);
        }
        return prepare("SELECT object_type, object_id, outcome, old_operator_id, old_department_id, appl_lock_time(acquired_ts) AS acquired_ts,"
                + " appl_lock_time(expires_ts) AS expires_ts, seconds_left FROM SESSION.answers ORDER BY object_type, object_id").executeQuery();
    }

    private static void renew(Grant grant, long now) throws SQLException {
        String set = """
                UPDATE appl_lock SET lock_ts = CASE WHEN lock_ts >= %1$d THEN lock_ts + 1 ELSE %1$d END, ttl_seconds = %2$d,
                    expires_ts = CASE WHEN expires_ts > %3$d THEN expires_ts ELSE %3$d END
                """.formatted(now, grant.ttl, now + grant.ttl * SECOND);
        String live = " WHERE object_type = ? AND object_id = ? AND released_ts IS NULL AND expires_ts > " + now;
        String own = live + " AND operator_id = ? AND fence = " + grant.fence;
        String answer = "INSERT INTO SESSION.answers SELECT object_type, object_id, ";
        String end = "expires_ts, (expires_ts - %d + 999999) / 1000000 FROM appl_lock".formatted(now);
        if (change(set + own, grant.type, grant.id, grant.operator) == 1) {
            change(answer + "'RENEWED', '', '', CAST(NULL AS BIGINT), " + end + own, grant.type, grant.id, grant.operator);
        } else if (change(answer + "'HELD', operator_id, department_id, acquired_ts, " + end + live, grant.type, grant.id) == 0) {
            change("INSERT INTO SESSION.answers VALUES (?, ?, 'FREE', '', '', NULL, NULL, 0)", grant.type, grant.id);
        }
    }

    private static void makeAnswers() throws SQLException {
        try {
            change("DELETE FROM SESSION.answers");
        } catch (SQLException missing) {
            change("DECLARE GLOBAL TEMPORARY TABLE SESSION.answers (object_type VARCHAR(128), object_id VARCHAR(510), outcome VARCHAR(20),"
                    + " old_operator_id VARCHAR(255), old_department_id VARCHAR(128), acquired_ts BIGINT, expires_ts BIGINT, seconds_left BIGINT)"
                    + " ON COMMIT PRESERVE ROWS NOT LOGGED");
        }
    }

    private record Grant(String type, String id, String operator, long fence, long ttl) {
        private static final String WRONG = "renew_appl_locks: p_grants has a bad grant";

        static List<Grant> parse(String grants) throws SQLException {
            List<String> fields = new ArrayList<>();
            int[] all = (grants == null ? "" : grants).codePoints().toArray();
            try {
                for (int at = 0; at < all.length;) {
                    int colon = at;
                    while (all[colon] != ':') {
                        colon++;
                    }
                    int length = Integer.parseInt(new String(all, at, colon - at));
                    fields.add(new String(all, colon + 1, length));
                    at = colon + 1 + length;
                }
                List<Grant> parsed = new ArrayList<>();
                Set<List<String>> objects = new HashSet<>();
                for (int i = 0; i < fields.size() || i == 0; i += 5) {
                    Grant grant = of(fields.subList(i, i + 5));
                    parsed.add(grant);
                    if (!objects.add(List.of(grant.type, grant.id))) {
                        throw new SQLException(WRONG, "LK001");
                    }
                }
                return parsed;
            } catch (IndexOutOfBoundsException | NumberFormatException wrong) {
                throw new SQLException(WRONG, "LK001");
            }
        }

        private static Grant of(List<String> fields) throws SQLException {
            try {
                String[] key = key("renew_appl_locks", fields.get(0), fields.get(1), fields.get(2), "none");
                return new Grant(key[0], key[1], key[2], number("renew_appl_locks", "fence", Long.valueOf(fields.get(3)), Long.MAX_VALUE),
                        number("renew_appl_locks", "ttl", Long.valueOf(fields.get(4)), LONGEST));
            } catch (SQLException wrong) {
                throw new SQLException(WRONG, "LK001");
            }
        }
    }

    private static String[] key(String routine, String type, String id, String operator, String client) throws SQLException {
        String plainType = text(routine, "p_object_type", type, 1, 64, true);
        if (plainType.indexOf(':') >= 0) {
            throw new SQLException(routine + ": p_object_type must not contain a colon", "LK001");
        }
        return new String[] {plainType, text(routine, "p_object_id", id, 1, 255, true), text(routine, "p_operator_id", operator, 1, 255, true),
            text(routine, "p_client_id", client, 1, 64, false)};
    }

    private static String text(String routine, String parameter, String value, int shortest, int longest, boolean isPlain) throws SQLException {
        String trimmed = value == null ? "" : value.replaceFirst(" +$", "");
        int length = trimmed.codePointCount(0, trimmed.length());
        if (length < shortest || length > longest) {
            throw new SQLException(routine + ": " + parameter + " must have " + shortest + " to " + longest + " characters", "LK001");
        }
        if (isPlain && trimmed.codePoints().anyMatch(Character::isISOControl)) {
            throw new SQLException(routine + ": " + parameter + " must not contain a control character", "LK001");
        }
        return trimmed;
    }

    private static long number(String routine, String parameter, long value, long most) throws SQLException {
        if (value < 1 || value > most) {
            throw new SQLException(routine + ": " + parameter + " must be between 1 and " + most, "LK001");
        }
        return value;
    }

    private static boolean isFound(String sql, String... values) throws SQLException {
        try (PreparedStatement statement = prepare(sql, values); ResultSet rows = statement.executeQuery()) {
            return rows.next();
        }
    }

    private static long now() {
        return 1000 * System.currentTimeMillis();
    }

    private static int change(String sql, String... values) throws SQLException {
        try (PreparedStatement statement = prepare(sql, values)) {
            return statement.executeUpdate();
        }
    }

    private static PreparedStatement prepare(String sql, String... values) throws SQLException {
        Connection connection = DriverManager.getConnection("jdbc:default:connection");
        PreparedStatement statement = connection.prepareStatement(sql);
        for (int i = 0; i < values.length; i++) {
            statement.setString(i + 1, values[i]);
        }
        return statement;
    }
}
