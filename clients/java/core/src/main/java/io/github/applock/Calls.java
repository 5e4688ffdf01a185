package io.github.applock;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.sql.DataSource;

/** Calls sends one statement for each operation, on a pool or on the caller's connection. */
final class Calls {
    private static final long CONTRACT = 1; // the version of the procedures that this library calls

    private static final int LOCK_WAIT_TIMEOUT = 1205; // of MySQL and MariaDB, which has the SQLSTATE HY000 or 40001
    private static final Set<String> TRANSIENT = Set.of("40001", "40P01", "55P03", "40XL1");

    private final DataSource pool;
    private final Connection connection;
    private final String schema;
    private final Ending ending;
    private final AtomicBoolean checked = new AtomicBoolean();

    Calls(DataSource pool, Connection connection, String schema, Ending ending) {
        this.pool = pool;
        this.connection = connection;
        this.schema = schema;
        this.ending = ending;
    }

    Calls schema(String name) {
        return new Calls(pool, connection, name, ending);
    }

    Calls unjoined() {
        return new Calls(pool, connection, schema, new Ending(pool, false));
    }

    void check() throws SQLException {
        checked.set(true);
        try {
            VersionException.compare(one("appl_lock_version", row -> row.getLong(1)), CONTRACT);
        } catch (SQLException | RuntimeException | Error error) {
            checked.set(false);
            throw error;
        }
    }

    interface Reader<T> {
        T read(ResultSet row) throws SQLException;
    }

    <T> T one(String routine, Reader<T> reader, Object... arguments) throws SQLException {
        return call(routine, reader, arguments).get(0);
    }

    <T> List<T> call(String routine, Reader<T> reader, Object... arguments) throws SQLException {
        return ask(null, own -> routine(own, routine, arguments), reader);
    }

    /** within calls what protects nothing without a transaction of the caller's. */
    void within(String routine, Object... arguments) throws SQLException {
        ask(routine.replace("_row", ""), own -> routine(own, routine, arguments), row -> null);
    }

    <T> List<T> read(String view, List<String> key, Filter filter, Reader<T> reader) throws SQLException {
        return ask(null, own -> {
            List<Object> values = new ArrayList<>();
            List<String> conditions = filter.conditions(Ending.isPostgres(own), key, values);
            String where = conditions.isEmpty() ? "" : " WHERE " + String.join(" AND ", conditions);
            return prepared(own, "SELECT * FROM " + prefix(own) + view + where + " ORDER BY " + String.join(", ", key)
                    + " LIMIT " + filter.rows(), values);
        }, reader);
    }

    interface Statements {
        PreparedStatement on(Connection own) throws SQLException;
    }

    private <T> List<T> ask(String needing, Statements statements, Reader<T> reader) throws SQLException {
        if (pool != null && !checked.get()) {
            check();
        }
        try {
            if (connection != null) {
                return ending.of(connection, needing, own -> askOn(own, statements, reader));
            }
            try (Connection own = pool.getConnection()) {
                return ending.of(own, needing, each -> askOn(each, statements, reader));
            }
        } catch (SQLException error) {
            throw ApplLockException.driversOwn(error);
        }
    }

    private static <T> List<T> askOn(Connection own, Statements statements, Reader<T> reader) throws SQLException {
        try (PreparedStatement statement = statements.on(own); ResultSet rows = statement.executeQuery()) {
            List<T> answer = new ArrayList<>();
            while (rows.next()) {
                answer.add(reader.read(rows));
            }
            return answer;
        }
    }

    private PreparedStatement routine(Connection own, String name, Object... arguments) throws SQLException {
        String marks = String.join(", ", Collections.nCopies(arguments.length, "?"));
        return prepared(own, (Ending.isPostgres(own) ? "SELECT * FROM " : "CALL ") + prefix(own) + name + "(" + marks + ")",
                Arrays.asList(arguments));
    }

    private static PreparedStatement prepared(Connection own, String sql, List<Object> values) throws SQLException {
        PreparedStatement statement = own.prepareStatement(sql);
        for (int i = 0; i < values.size(); i++) {
            if (values.get(i) == null) {
                statement.setNull(i + 1, Types.NULL); // of whatever type the routine has there
            } else {
                statement.setObject(i + 1, values.get(i) instanceof Number number ? Rows.whole(number) : values.get(i));
            }
        }
        return statement;
    }

    /** prefix is the name of the schema with a dot. */
    private String prefix(Connection own) throws SQLException {
        if (Ending.isPostgres(own)) {
            return "\"" + (schema == null ? ApplLocks.DEFAULT_SCHEMA : schema).replace("\"", "\"\"") + "\".";
        }
        return schema == null ? "" : "`" + schema.replace("`", "``") + "`.";
    }

    static boolean isTransient(Exception error) {
        return error instanceof ContentionException || error instanceof SQLException own
                && (own.getErrorCode() == LOCK_WAIT_TIMEOUT || own.getSQLState() != null && TRANSIENT.contains(own.getSQLState()));
    }
}
