package example;

import io.github.applock.Answer;
import io.github.applock.ApplLocks;
import io.github.applock.ApplObject;
import io.github.applock.HeldException;
import io.github.applock.Lease;
import io.github.applock.Leases;
import io.github.applock.LostException;
import io.github.applock.Owner;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.sql.DataSource;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

@RestController
class Customers {
    private final DataSource pool;
    private final JdbcTemplate jdbc;
    private final Business business;
    private final ApplLocks locks;
    private final String live;

    Customers(DataSource pool, JdbcTemplate jdbc, Business business) {
        this.pool = pool;
        this.jdbc = jdbc;
        this.business = business;
        locks = ApplLocks.on(pool);
        live = System.getenv("DATABASE_URL").startsWith("mysql") ? "appl_lock_live" : "applock.appl_lock_live";
    }

    @PostMapping("/lock/{id}")
    ResponseEntity<Map<String, Object>> lock(@PathVariable String id, String operator) throws SQLException {
        Answer lock = locks.get(new ApplObject("customer", id), new Owner(operator, ""), Duration.ofDays(3));
        return lock.granted()
                ? ResponseEntity.ok(Map.of("granted", true, "fence", lock.fence(), "expires", lock.expires()))
                : ResponseEntity.status(HttpStatus.CONFLICT)
                        .body(Map.of("granted", false, "holder", lock.holder().orElseThrow().operator(), "expires", lock.expires()));
    }

    @PutMapping("/save/{id}")
    Map<String, Object> save(@PathVariable String id, String operator, long fence, String name) throws SQLException {
        return Map.of("granted", true, "saves", business.save(id, operator, fence, name));
    }

    @PostMapping("/rollback/{id}")
    Map<String, Object> rollback(@PathVariable String id, String operator, String end) throws SQLException {
        Map<String, Object> seen = new HashMap<>();
        try {
            business.rollback(id, operator, end, seen);
        } catch (Business.Undo undone) {
            // as the caller wished
        }
        return seen;
    }

    @PostMapping("/work/{id}")
    void work(@PathVariable String id, long ttl, HttpServletResponse answer) throws SQLException, InterruptedException, IOException {
        try (Lease lease = Leases.on(pool).ttl(Duration.ofSeconds(ttl)).acquire(new ApplObject("job", id))) {
            say(answer, "{\"pid\": %d, \"operator\": \"%s\", \"fence\": %d}",
                    ProcessHandle.current().pid(), lease.owner().operator(), lease.fence());
            while (!"done".equals(jdbc.queryForObject("SELECT name FROM customer WHERE id = ?", String.class, id))) {
                lease.check();
                Thread.sleep(200);
            }
        }
        say(answer, "{\"done\": true}");
    }

    private static void say(HttpServletResponse answer, String format, Object... values) throws IOException {
        answer.getWriter().println(format.formatted(values));
        answer.flushBuffer();
    }

    @GetMapping("/list")
    List<Map<String, Object>> list() {
        return jdbc.queryForList("SELECT c.id, c.name, l.operator_id AS operator FROM customer AS c LEFT JOIN " + live
                + " AS l ON l.object_type = 'customer' AND l.object_id = c.id ORDER BY c.id");
    }

    @ExceptionHandler
    @ResponseStatus(HttpStatus.CONFLICT)
    Map<String, Object> refused(HeldException held) {
        return Map.of("granted", false, "holder", held.answer().holder().orElseThrow().operator());
    }

    @ExceptionHandler
    @ResponseStatus(HttpStatus.CONFLICT)
    Map<String, Object> refused(LostException lost) {
        return Map.of("granted", false);
    }
}
