package io.github.applock;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLRecoverableException;
import java.util.concurrent.atomic.AtomicReference;
import javax.sql.DataSource;

/** A pool whose connection breaks off when a statement is answered: the database has done it, and the caller does not know. */
final class Broken {
    private final DataSource pool;
    private final AtomicReference<String> next = new AtomicReference<>("");
    private volatile Throwable error;

    Broken(DataSource pool) {
        this.pool = pool;
    }

    /** Has the next statement of a routine break off. */
    void breakOff(String routine) {
        breakOff(routine, new SQLRecoverableException("the connection broke off", "08006"));
    }

    /** Has the next statement of a routine end with an exception. */
    void breakOff(String routine, Throwable exception) {
        error = exception;
        next.set(routine);
    }

    DataSource pool() {
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
                    try {
                        return method.invoke(statement, arguments);
                    } finally {
                        if (method.getName().equals("executeQuery")) {
                            throw error;
                        }
                    }
                });
    }
}
