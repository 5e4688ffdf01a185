import com.zaxxer.hikari.HikariDataSource;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.Lock;
import java.util.regex.Pattern;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;

/**
 * Takes and releases locks for a while, in so many threads with an object each, and prints how often a second, as JSON: with our
 * procedures, with the least that procedures can be, with ShedLock, with Spring's JdbcLockRegistry, and as a row that is inserted and
 * deleted. They take turns, and the first turn of each, in which Java compiles, does not count. The environment has the database, and
 * the arguments are:
 * PRODUCT ROUNDS MILLISECONDS THREADS...
 */
public class Cycles {
    /** Once is one lock taken and released by one of the threads. */
    interface Once {
        void run(int thread) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        String product = args[0];
        int rounds = Integer.parseInt(args[1]);
        Duration round = Duration.ofMillis(Long.parseLong(args[2]));
        List<String> answers = new ArrayList<>();
        try (HikariDataSource pool = new HikariDataSource()) {
            pool.setJdbcUrl(System.getenv("BENCH_JDBC_URL"));
            pool.setUsername(System.getenv("BENCH_USER"));
            pool.setPassword(System.getenv("BENCH_PASSWORD"));
            pool.setMaximumPoolSize(Integer.parseInt(args[args.length - 1]));
            Map<String, Once> contenders = contenders(pool, product);
            for (int i = 3; i < args.length; i++) {
                answers.addAll(compete(contenders, Integer.parseInt(args[i]), rounds, round));
            }
        }
        System.out.println("[" + String.join(",\n", answers) + "]");
    }

    static Map<String, Once> contenders(HikariDataSource pool, String product) throws Exception {
        JdbcTemplate jdbc = new JdbcTemplate(pool);
        // As its README has them. PostgreSQL rounds up to the next millisecond, where it is told to keep three digits: a lock that
        // has just been released is taken until then.
        String timestamp = product.equals("postgres") ? "TIMESTAMP" : "TIMESTAMP(3)";
        jdbc.execute("DROP TABLE IF EXISTS shedlock");
        jdbc.execute("DROP TABLE IF EXISTS INT_LOCK");
        jdbc.execute("CREATE TABLE shedlock (name VARCHAR(64) NOT NULL PRIMARY KEY, lock_until " + timestamp + " NOT NULL,"
                + " locked_at " + timestamp + " NOT NULL, locked_by VARCHAR(255) NOT NULL)");
        jdbc.execute(springsTable(product.equals("postgres") ? "postgresql" : "mysql"));
        LockProvider shedLock = new JdbcTemplateLockProvider(
                JdbcTemplateLockProvider.Configuration.builder().withJdbcTemplate(jdbc).usingDbTime().build());
        DefaultLockRepository repository = new DefaultLockRepository(pool);
        repository.setTransactionManager(new JdbcTransactionManager(pool));
        repository.afterPropertiesSet();
        repository.afterSingletonsInstantiated();
        repository.start();
        JdbcLockRegistry spring = new JdbcLockRegistry(repository);
        Map<String, Once> contenders = new LinkedHashMap<>();
        contenders.put("our procedures", ourProcedures(pool, product, "java"));
        contenders.put("procedures of one UPDATE", theLeast(pool, product));
        contenders.put("ShedLock", thread -> shedLock
                .lock(new LockConfiguration(Instant.now(), "cycle" + thread, Duration.ofMinutes(1), Duration.ZERO))
                .orElseThrow().unlock());
        contenders.put("JdbcLockRegistry", thread -> {
            Lock lock = spring.obtain("cycle" + thread);
            lock.lock();
            lock.unlock();
        });
        contenders.put("insert and delete", thread -> {
            update(pool, "INSERT INTO bench_plain VALUES ('java', ?)", thread);
            update(pool, "DELETE FROM bench_plain WHERE object_type = 'java' AND object_id = ?", thread);
        });
        return contenders;
    }

    /** The table of the registry, as its own script makes it. */
    static String springsTable(String script) throws Exception {
        try (InputStream text = JdbcLockRegistry.class.getResourceAsStream("/org/springframework/integration/jdbc/schema-" + script + ".sql")) {
            var table = Pattern.compile("CREATE TABLE INT_LOCK[^;]*")
                    .matcher(new String(text.readAllBytes(), StandardCharsets.UTF_8));
            if (!table.find()) {
                throw new IllegalStateException("the script has no INT_LOCK");
            }
            return table.group();
        }
    }

    /** The procedures in the form whose answer is a row, which costs less than OUT parameters, as applock-java calls them. */
    static Once ourProcedures(HikariDataSource pool, String product, String type) {
        String call = product.equals("postgres") ? "SELECT * FROM applock." : "CALL ";
        return thread -> {
            long fence;
            try (Connection connection = pool.getConnection();
                    PreparedStatement get = connection.prepareStatement(call + "get_appl_lock_row(?, ?, ?, ?, ?, NULL)")) {
                get.setString(1, type);
                get.setString(2, Integer.toString(thread));
                get.setString(3, "JDOE");
                get.setString(4, "CS");
                get.setLong(5, 60);
                try (var answer = get.executeQuery()) {
                    answer.next();
                    expectYes(answer.getString("p_ok_fl"));
                    fence = answer.getLong("p_fence");
                }
            }
            try (Connection connection = pool.getConnection();
                    PreparedStatement release = connection.prepareStatement(call + "release_appl_lock_row(?, ?, ?, ?, NULL, NULL)")) {
                release.setString(1, type);
                release.setString(2, Integer.toString(thread));
                release.setString(3, "JDOE");
                release.setLong(4, fence);
                try (var answer = release.executeQuery()) {
                    answer.next();
                    expectYes(answer.getString("p_ok_fl"));
                }
            }
        };
    }

    /** What no lock that procedures keep can do without. The rows of as many threads as the pool has connections are made first. */
    static Once theLeast(HikariDataSource pool, String product) throws Exception {
        Once makesTheRow = ourProcedures(pool, product, "least");
        for (int thread = 0; thread < pool.getMaximumPoolSize(); thread++) {
            makesTheRow.run(thread);
        }
        String call = product.equals("postgres") ? "SELECT " : "CALL ";
        return thread -> {
            for (String procedure : List.of("bench_take", "bench_give")) {
                try (Connection connection = pool.getConnection();
                        PreparedStatement prepared = connection.prepareStatement(call + procedure + "('least', ?)")) {
                    prepared.setString(1, Integer.toString(thread));
                    prepared.execute();
                }
            }
        };
    }

    static void expectYes(String flag) {
        if (!"Y".equals(flag)) {
            throw new IllegalStateException("the answer is " + flag);
        }
    }

    static void update(HikariDataSource pool, String statement, int thread) throws SQLException {
        try (Connection connection = pool.getConnection();
                PreparedStatement prepared = connection.prepareStatement(statement)) {
            prepared.setString(1, Integer.toString(thread));
            prepared.executeUpdate();
        }
    }

    /** Has all take turns, and returns the rates of each as JSON. */
    static List<String> compete(Map<String, Once> contenders, int threads, int rounds, Duration round) throws Exception {
        Map<String, List<String>> rates = new LinkedHashMap<>();
        for (int i = 0; i <= rounds; i++) {
            for (var each : contenders.entrySet()) {
                double rate = rate(each.getValue(), threads, round);
                if (i > 0) {
                    rates.computeIfAbsent(each.getKey(), name -> new ArrayList<>()).add(Double.toString(rate));
                }
            }
        }
        List<String> answers = new ArrayList<>();
        rates.forEach((name, values) -> answers.add(
                "{\"name\": \"" + name + "\", \"threads\": " + threads + ", \"rates\": " + values + "}"));
        return answers;
    }

    static double rate(Once once, int threads, Duration round) throws Exception {
        long began = System.nanoTime();
        List<Callable<Long>> tasks = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            int thread = i;
            tasks.add(() -> {
                long count = 0;
                do {
                    once.run(thread);
                    count++;
                } while (System.nanoTime() - began < round.toNanos());
                return count;
            });
        }
        ExecutorService executor = Executors.newFixedThreadPool(threads);
        try {
            long sum = 0;
            for (Future<Long> each : executor.invokeAll(tasks)) {
                sum += each.get();
            }
            return sum / ((System.nanoTime() - began) / 1e9);
        } finally {
            executor.shutdown();
        }
    }
}
