package io.github.applock;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import javax.sql.DataSource;

/** A database with the operations, which the environment names: see clients/java_test.go. */
public enum Server {
    POSTGRES("applock.appl_lock", "clock_timestamp()"),
    MARIADB("appl_lock", "UTC_TIMESTAMP(6)"),
    MYSQL("appl_lock", "UTC_TIMESTAMP(6)");

    private final String table;
    private final String now;
    private HikariDataSource pool;

    Server(String table, String now) {
        this.table = table;
        this.now = now;
    }

    /** The pool of all tests. */
    public synchronized DataSource pool() {
        if (pool == null) {
            pool = newPool(16, true);
        }
        return pool;
    }

    /** A pool of one's own, with what a test wants of it. */
    public HikariDataSource newPool(int size, boolean autocommit) {
        return newPool(size, autocommit, url(), null);
    }

    /** As above, by the URL of any driver, and with a first statement on each connection. */
    public HikariDataSource newPool(int size, boolean autocommit, String url, String first) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setConnectionInitSql(first);
        config.setUsername(user());
        config.setPassword(password());
        config.setMaximumPoolSize(size);
        config.setMinimumIdle(1);
        config.setAutoCommit(autocommit);
        return new HikariDataSource(config);
    }

    public String url() {
        return variable("URL");
    }

    public String user() {
        return variable("USER");
    }

    public String password() {
        return variable("PASSWORD");
    }

    private String variable(String what) {
        String name = "APPLOCK_TEST_JDBC_" + name() + "_" + what;
        String value = System.getenv(name);
        if (value == null) {
            throw new IllegalStateException(name + " is not set: run the tests by make test-clients");
        }
        return value;
    }

    public ApplLocks locks() {
        return ApplLocks.on(pool());
    }

    /** Lets the time of a lock pass. */
    public void expire(ApplObject object) throws SQLException {
        String sql = "UPDATE " + table + " SET expires_ts = " + now + " WHERE object_type = ? AND object_id = ?";
        try (Connection connection = pool().getConnection(); PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setString(1, object.type());
            statement.setString(2, object.id());
            if (statement.executeUpdate() != 1) {
                throw new IllegalStateException(object + " is no row");
            }
        }
    }

    public void execute(String... statements) throws SQLException {
        try (Connection connection = pool().getConnection(); Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }
}
