package io.github.applock;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.SQLRecoverableException;
import java.util.concurrent.atomic.AtomicReference;
import javax.sql.DataSource;

/** A pool whose connection breaks off when a statement is answered: the database has done it, and the caller does not know. */
public final class Broken {
    private final DataSource pool;
    private final AtomicReference<String> next = new AtomicReference<>("");
    private volatile Throwable error;
    private volatile boolean done;

    public Broken(DataSource pool) {
        this.pool = pool;
    }

    /** Has the next statement of a routine break off. */
    void breakOff(String routine) {
        breakOff(routine, new SQLRecoverableException("the connection broke off", "08006"));
    }

    /** Has the next statement of a routine end with an exception. */
    void breakOff(String routine, Throwable exception) {
        fail(routine, exception, true);
    }

    /** Has the next statement of a routine do nothing, because the object changed hands too often. */
    public void contend(String routine) {
        fail(routine, new SQLException(routine + ": contended", ContentionException.STATE), false);
    }

    private void fail(String routine, Throwable exception, boolean isDone) {
        error = exception;
        done = isDone;
        next.set(routine);
    }

    public DataSource pool() {
        return wrapped(DataSource.class, pool);
    }

    private <T> T wrapped(Class<T> type, T own) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
            try {
                Object result = method.invoke(own, arguments);
                String routine = next.get();
                if (result instanceof Connection connection) {
                    return wrapped(Connection.class, connection);
                }
                if (result instanceof PreparedStatement statement && !routine.isEmpty() && arguments[0].toString().contains(routine + "(")) {
                    next.set("");
                    return brokenOff(statement);
                }
                return result;
            } catch (InvocationTargetException error) {
                throw error.getCause();
            }
        }));
    }

    private PreparedStatement brokenOff(PreparedStatement statement) {
        return (PreparedStatement) Proxy.newProxyInstance(PreparedStatement.class.getClassLoader(), new Class<?>[] {PreparedStatement.class},
                (proxy, method, arguments) -> {
                    boolean fails = method.getName().equals("executeQuery");
                    try {
                        return fails && !done ? null : method.invoke(statement, arguments);
                    } finally {
                        if (fails) {
                            throw error;
                        }
                    }
                });
    }
}
