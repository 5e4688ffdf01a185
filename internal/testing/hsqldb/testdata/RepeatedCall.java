import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;

/**
 * RepeatedCall shows that HSQLDB 2.7.1 (MVCC) now and then runs a CALL that has waited a second time without undoing
 * the first run: the procedure finds its own change before its first UPDATE. Run it by hand:
 * java -cp /usr/share/java/hsqldb.jar RepeatedCall.java
 */
public class RepeatedCall {
    private static final int FOUND_OWN_CHANGE = 90;
    private static final long MILLISECONDS = 30_000;

    public static void main(String[] arguments) throws Exception {
        try (Connection admin = connect(); Connection first = connect(); Connection second = connect()) {
            create(admin);
            first.setAutoCommit(false);
            second.setAutoCommit(false);
            ExecutorService waiter = Executors.newSingleThreadExecutor();
            Map<Integer, Integer> answers = new TreeMap<>();
            long end = System.currentTimeMillis() + MILLISECONDS;
            for (int value = 2; System.currentTimeMillis() < end; value += 2) {
                int own = value + 1;
                call(first, value);
                Future<Integer> answer = waiter.submit(() -> call(second, own));
                pauseAtRandom();
                first.rollback();
                answers.merge(answer.get(), 1, Integer::sum);
                second.commit();
            }
            waiter.shutdown();
            System.out.println("calls by answer; 1 to 3: changed in that round, over " + FOUND_OWN_CHANGE
                + ": found its own change: " + answers);
        }
    }

    private static Connection connect() throws SQLException {
        return DriverManager.getConnection("jdbc:hsqldb:mem:repeated", "SA", "");
    }

    private static void create(Connection admin) throws SQLException {
        try (Statement statement = admin.createStatement()) {
            statement.execute("SET DATABASE TRANSACTION CONTROL MVCC");
            statement.execute("CREATE TABLE t (k INTEGER NOT NULL PRIMARY KEY, v INTEGER NOT NULL)");
            statement.execute("INSERT INTO t VALUES (1, 0)");
            statement.execute("CREATE PROCEDURE change (IN own INTEGER, OUT answer INTEGER) MODIFIES SQL DATA"
                + " main: BEGIN ATOMIC"
                + " DECLARE found INTEGER DEFAULT 0; DECLARE changed INTEGER DEFAULT 0; DECLARE round INTEGER DEFAULT 0;"
                + " WHILE round < 3 DO SET round = round + 1;"
                + " SELECT MAX(v) INTO found FROM t WHERE k = 1;"
                + " IF found = own THEN SET answer = " + FOUND_OWN_CHANGE + " + round; LEAVE main; END IF;"
                + " UPDATE t SET v = own WHERE k = 1 AND v = found;"
                + " GET DIAGNOSTICS changed = ROW_COUNT;"
                + " IF changed = 1 THEN SET answer = round; LEAVE main; END IF;"
                + " END WHILE; SET answer = 0; END main");
        }
    }

    private static int call(Connection connection, int own) throws SQLException {
        try (CallableStatement statement = connection.prepareCall("{call change(?, ?)}")) {
            statement.setInt(1, own);
            statement.registerOutParameter(2, java.sql.Types.INTEGER);
            statement.execute();
            return statement.getInt(2);
        }
    }

    private static void pauseAtRandom() {
        long end = System.nanoTime() + ThreadLocalRandom.current().nextInt(400_000);
        while (System.nanoTime() < end) {
            Thread.onSpinWait();
        }
    }
}
