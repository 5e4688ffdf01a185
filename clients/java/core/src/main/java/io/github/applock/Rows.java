package io.github.applock;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.Calendar;
import java.util.TimeZone;

/** Rows reads the columns of the routines and views, and writes their arguments. */
final class Rows {
    private Rows() {
    }

    static Long whole(Number number) {
        if (number == null || number instanceof Long || number instanceof Integer) {
            return number == null ? null : Long.valueOf(number.longValue());
        }
        throw new InvalidArgumentException("a whole number must be a long or an int, and not " + number, null);
    }

    static Long seconds(String argument, Duration duration) {
        if (duration == null) {
            return null;
        }
        if (duration.getNano() != 0) {
            throw new InvalidArgumentException(argument + " must be whole seconds, and is " + duration, null);
        }
        return duration.getSeconds();
    }

    static Duration roundedUp(Duration duration) {
        return duration.getNano() == 0 ? duration : Duration.ofSeconds(Math.addExact(duration.getSeconds(), 1));
    }

    static Answer plainAnswer(String operation, ResultSet row) throws SQLException {
        return Answer.of(operation, outcome(operation, row), old(row, "p_"));
    }

    static Answer grant(String operation, ResultSet row, String note) throws SQLException {
        return Answer.of(operation, outcome(operation, row), old(row, "p_"), row.getLong("p_fence"),
                instant(row, "p_acquired_ts"), instant(row, "p_expires_ts"), row.getLong("p_seconds_left"), note);
    }

    static Answer laidDown(String operation, ResultSet row) throws SQLException {
        return Answer.of(operation, outcome(operation, row), Owner.NOBODY);
    }

    static Outcome outcome(String operation, ResultSet row) throws SQLException {
        return Outcome.of(operation, row.getString("p_outcome"));
    }

    static Owner old(ResultSet row, String prefix) throws SQLException {
        return new Owner(row.getString(prefix + "old_operator_id"), row.getString(prefix + "old_department_id"));
    }

    static Owner owner(ResultSet row) throws SQLException {
        return new Owner(row.getString("operator_id"), row.getString("department_id"));
    }

    static ApplObject object(ResultSet row) throws SQLException {
        return new ApplObject(row.getString("object_type"), row.getString("object_id"));
    }

    static HeldLock held(ResultSet row, String prefix, ApplObject object, Duration ttl) throws SQLException {
        return new HeldLock(object, new Owner(row.getString(prefix + "operator_id"), row.getString(prefix + "department_id")),
                row.getLong(prefix + "fence"), instant(row, prefix + "acquired_ts"), instant(row, prefix + "lock_ts"),
                instant(row, prefix + "expires_ts"), row.getLong(prefix + "seconds_left"), ttl, row.getString(prefix + "note"));
    }

    /**
     * instant reads UTC, in any time zone of the program or the session. The type of MySQL and MariaDB has no zone, and MariaDB's driver makes
     * a LocalDateTime or a text by way of the program's, which may skip the hour.
     */
    static Instant instant(ResultSet row, String column) throws SQLException {
        Timestamp time = row.getTimestamp(column, Calendar.getInstance(TimeZone.getTimeZone(ZoneOffset.UTC)));
        return time == null ? null : time.toInstant();
    }

    static LockChange changed(String operation, ResultSet row) throws SQLException {
        Outcome outcome = Outcome.of(operation, row.getString("outcome"));
        return new LockChange(object(row), outcome.grants(operation), outcome, old(row, "").known(), row.getLong("fence"),
                instant(row, "expires_ts"), row.getLong("seconds_left"));
    }

    static String flag(Boolean value) {
        return value == null ? null : value ? "Y" : "N";
    }

    static Duration duration(ResultSet row, String column) throws SQLException {
        long seconds = row.getLong(column);
        return row.wasNull() ? null : Duration.ofSeconds(seconds);
    }
}
