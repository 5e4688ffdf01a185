package io.github.applock;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Selects rows of a view, and a page of them. An object is immutable: each method returns another one.
 */
public final class Filter {
    /** All rows: the first 1000 in the order of the view's key. */
    public static final Filter ALL = new Filter(Map.of(), null, List.of(), 1000);

    private final Map<String, Object> columns;
    private final Duration since;
    private final List<Object> after;
    private final long rows;

    private Filter(Map<String, Object> columns, Duration since, List<Object> after, long rows) {
        this.columns = columns;
        this.since = since;
        this.after = after;
        this.rows = rows;
    }

    /**
     * Only rows with a value in a column.
     *
     * @param column the name of a column of the view. The history also has operator_id, who caused an event or is named in it
     * @param value the value, or null for any
     * @return the filter
     */
    public Filter where(String column, Object value) {
        if (!column.matches("\\w+")) {
            throw new IllegalArgumentException("not a column: " + column);
        }
        Map<String, Object> more = new LinkedHashMap<>(columns);
        if (value != null) {
            more.put(column, value);
        }
        return new Filter(more, since, after, rows);
    }

    /**
     * Only events up to an age.
     *
     * @param age the greatest age, or null for any
     * @return the filter
     */
    public Filter since(Duration age) {
        return new Filter(columns, age, after, rows);
    }

    /**
     * Only rows after another one.
     *
     * @param key the key of the last row of the page before, in the order of the view
     * @return the filter
     */
    public Filter after(Object... key) {
        return new Filter(columns, since, List.of(key), rows);
    }

    /**
     * The size of the page.
     *
     * @param most the most rows
     * @return the filter
     */
    public Filter rows(long most) {
        return new Filter(columns, since, after, most);
    }

    long rows() {
        return rows;
    }

    /** conditions returns the text between WHERE and ORDER BY, and adds the values of its question marks. */
    List<String> conditions(boolean postgres, List<String> key, List<Object> values) {
        List<String> conditions = new ArrayList<>();
        columns.forEach((column, value) -> {
            boolean ofEvent = column.equals("operator_id") && key.contains("event_id");
            conditions.add(ofEvent ? "? IN (actor_id, from_operator_id, to_operator_id)" : column + " = ?");
            values.add(value);
        });
        if (since != null) {
            long ago = Rows.seconds("since", since);
            conditions.add("event_ts >= " + (postgres
                    ? "statement_timestamp() - " + ago + " * interval '1 second'" : "UTC_TIMESTAMP(6) - INTERVAL " + ago + " SECOND"));
        }
        if (!after.isEmpty()) {
            conditions.add(postgres ? behind(key, values) : behind(key, 0, values));
        }
        return conditions;
    }

    private String behind(List<String> key, List<Object> values) {
        values.addAll(after);
        return "(" + String.join(", ", key) + ") > (" + String.join(", ", Collections.nCopies(key.size(), "?")) + ")";
    }

    /** Other products than PostgreSQL read a range of the key only if each column is compared. */
    private String behind(List<String> key, int from, List<Object> values) {
        String column = key.get(from);
        values.add(after.get(from));
        if (from == key.size() - 1) {
            return column + " > ?";
        }
        values.add(after.get(from));
        return "(" + column + " > ? OR " + column + " = ? AND " + behind(key, from + 1, values) + ")";
    }
}
