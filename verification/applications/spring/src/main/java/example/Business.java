package example;

import io.github.applock.Answer;
import io.github.applock.ApplObject;
import io.github.applock.Owner;
import java.sql.SQLException;
import java.util.Map;
import org.springframework.stereotype.Service;
import org.springframework.transaction.annotation.Transactional;

/** What is one transaction each. Spring commits after a checked exception, such as the driver's, unless rollbackFor names it. */
@Service
@Transactional(rollbackFor = SQLException.class)
class Business {
    private final Store store;

    Business(Store store) {
        this.store = store;
    }

    int save(String id, String operator, long fence, String name) throws SQLException {
        store.locks().serialize(new ApplObject("customer", id));
        int saves = store.save(id, name);
        store.locks().assertHeld(new ApplObject("customer", id), operator, fence);
        return saves;
    }

    void rollback(String id, String operator, String end, Map<String, Object> seen) throws SQLException {
        store.save(id, null);
        Answer taken = store.locks().get(new ApplObject("invoice", id), new Owner(operator, ""), null);
        Answer refused = store.locks().get(new ApplObject("customer", id), new Owner(operator, ""), null);
        store.save(id, null);
        seen.putAll(Map.of("granted", taken.granted(), "holder", refused.holder().orElseThrow().operator()));
        if (end.equals("rollback")) {
            throw new Undo();
        }
    }

    static class Undo extends RuntimeException {}
}
