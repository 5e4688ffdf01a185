package io.github.applock;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import javax.sql.DataSource;

/**
 * Runs a call so that it ends what it has begun, and nothing else. Autocommit ends each call. Without it a transaction that has begun is the
 * caller's. Where none has, a call on a pool runs under autocommit, which is then turned off again.
 */
final class Ending {
    private static final String IN_TRANSACTION = "25001"; // SQLSTATE of what only works outside one

    /** Work is what to do on a connection. */
    interface Work<T> {
        T on(Connection own) throws SQLException;
    }

    private final DataSource pool; // null on a connection of the caller's
    private final boolean joins; // whether to work in a transaction of the caller's, or to refuse it
    private final Map<Connection, Boolean> ofServer = Collections.synchronizedMap(new WeakHashMap<>());

    Ending(DataSource pool, boolean joins) {
        this.pool = pool;
        this.joins = joins;
    }

    /** needing names an operation that protects nothing without a transaction of the caller's. For the others it is null. */
    <T> T of(Connection own, String needing, Work<T> work) throws SQLException {
        boolean autocommit = own.getAutoCommit(); // as the driver has it
        if (autocommit && isSetAtServer(own)) {
            refuse(needing);
            return pool == null ? work.on(own) : alone(own, work);
        }
        if (!joins && pool == null) {
            throw new InvalidArgumentException("a lease needs a pool, or a connection with autocommit: this one has none", null);
        }
        if (!autocommit && (pool == null || isOfSpring()) || hasBegun(own) || !isTurnedOn(own, autocommit)) {
            if (!joins) {
                throw new InvalidArgumentException("a lease needs connections of its own, and this DataSource hands out the connection of a "
                        + "transaction: use the lease outside the transaction, or give it the pool behind it", null);
            }
            return work.on(own);
        }
        try {
            refuse(needing);
            return alone(own, work);
        } finally {
            turnOff(own, autocommit);
        }
    }

    private static void refuse(String needing) {
        if (needing != null) {
            throw new InvalidArgumentException(
                    needing + " needs a transaction: begin one, and give its connection, or a DataSource that hands it out", null);
        }
    }

    /**
     * alone works under autocommit. On MySQL and MariaDB, a procedure that ends with an error may have left its transaction open, for the
     * pool's next caller: docs/mysql.md, "Errors".
     */
    private static <T> T alone(Connection own, Work<T> work) throws SQLException {
        try {
            return work.on(own);
        } catch (SQLException | RuntimeException | Error error) {
            try {
                if (!isPostgres(own)) {
                    execute(own, "ROLLBACK"); // rollback() refuses to work under autocommit
                }
            } catch (SQLException another) {
                own.abort(Runnable::run);
                error.addSuppressed(another);
            }
            throw error;
        }
    }

    /** Connector/J does not notice a SET autocommit = 0, so each connection behind those of the pool is asked once. PostgreSQL has none. */
    private boolean isSetAtServer(Connection own) throws SQLException {
        if (isPostgres(own)) {
            return true;
        }
        Connection physical = own.isWrapperFor(Connection.class) ? own.unwrap(Connection.class) : own;
        Boolean set = ofServer.get(physical);
        if (set == null) {
            try (Statement statement = own.createStatement(); ResultSet row = statement.executeQuery("SELECT @@autocommit")) {
                set = row.next() && row.getBoolean(1);
            }
            ofServer.put(physical, set);
        }
        return set;
    }

    /** A manager of distributed transactions refuses setAutoCommit in one of its own, also where no statement has begun it yet. */
    private static boolean isTurnedOn(Connection own, boolean atServerAlone) throws SQLException {
        if (atServerAlone) {
            execute(own, "SET autocommit = 1");
            return true;
        }
        try {
            own.setAutoCommit(true);
            return own.getAutoCommit();
        } catch (SQLException refused) {
            return false;
        }
    }

    private static void turnOff(Connection own, boolean atServerAlone) throws SQLException {
        try {
            if (atServerAlone) {
                execute(own, "SET autocommit = 0");
            } else {
                own.setAutoCommit(false);
            }
        } catch (SQLException error) {
            own.abort(Runnable::run);
        }
    }

    /**
     * Reports whether a transaction has begun. JDBC has no question for that, but pgjdbc refuses setReadOnly in one, and MySQL and MariaDB
     * this statement, which is about the next transaction: turning autocommit on ends that.
     */
    private static boolean hasBegun(Connection own) throws SQLException {
        try {
            if (isPostgres(own)) {
                own.setReadOnly(own.isReadOnly());
            } else {
                execute(own, "SET TRANSACTION READ WRITE");
            }
            return false;
        } catch (SQLException error) {
            if (isPostgres(own) || IN_TRANSACTION.equals(error.getSQLState())) {
                return true;
            }
            throw error;
        }
    }

    /** Reports whether Spring's proxy hands out the connection of this thread's transaction, which no statement need have begun yet. */
    private boolean isOfSpring() throws SQLException {
        ClassLoader loader = pool.getClass().getClassLoader();
        try {
            Class<?> proxy = Class.forName("org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy", false, loader);
            Class<?> state = Class.forName("org.springframework.transaction.support.TransactionSynchronizationManager", true, loader);
            return pool.isWrapperFor(proxy) && (Boolean) state.getMethod("isActualTransactionActive").invoke(null);
        } catch (ReflectiveOperationException absent) {
            return false;
        }
    }

    static boolean isPostgres(Connection own) throws SQLException {
        return own.getMetaData().getDatabaseProductName().equals("PostgreSQL");
    }

    private static void execute(Connection own, String sql) throws SQLException {
        try (Statement statement = own.createStatement()) {
            statement.execute(sql);
        }
    }
}
