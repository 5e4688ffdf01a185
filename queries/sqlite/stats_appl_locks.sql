-- stats_appl_locks: how many locks and waiters there are of each type and department, and how old and how long.
--
-- Contract   As procedures/postgres/stats_appl_locks.sql.
-- In         The arguments as the facade has checked and trimmed them; a NULL filter is any.
-- Out        A row for each type and department, ordered by object_type, department_id as bytes.
-- Raises     Nothing of its own.
-- Locks      None. It reads each table once, from end to end.
-- Race-free  The answer is one snapshot.
-- Differs    Nothing.

-- name: StatsApplLocks :many
SELECT
    s.object_type,
    s.department_id,
    CAST(sum(s.live) AS INTEGER) AS live,
    CAST(sum(s.expired) AS INTEGER) AS expired,
    CAST(max(0, max(s.oldest_seconds)) AS INTEGER) AS oldest_seconds,
    CAST(max(s.next_expiry_seconds) AS INTEGER) AS next_expiry_seconds,
    CAST(sum(s.waiters) AS INTEGER) AS waiters,
    CAST(max(0, max(s.longest_wait_seconds)) AS INTEGER) AS longest_wait_seconds
FROM (
    SELECT
        l.object_type,
        l.department_id,
        sum(l.left_us > 0) AS live,
        sum(l.left_us <= 0) AS expired,
        coalesce(max(CASE WHEN l.left_us > 0 THEN l.age_us END), 0) / 1000000 AS oldest_seconds,
        coalesce(min(CASE WHEN l.left_us > 0 THEN l.left_us + 999999 END), 0) / 1000000 AS next_expiry_seconds,
        0 AS waiters,
        0 AS longest_wait_seconds
    FROM (
        SELECT
            a.object_type,
            CASE WHEN a.expires_ts > t.now_ts THEN a.department_id ELSE '' END AS department_id,
            a.expires_ts - t.now_ts AS left_us,
            t.now_ts - a.acquired_ts AS age_us
        FROM appl_lock AS a
        CROSS JOIN (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 AS now_ts) AS t
        WHERE a.object_type = coalesce(sqlc.narg('object_type'), a.object_type)
    ) AS l
    WHERE CAST(sqlc.narg('department_id') AS TEXT) IS NULL OR l.department_id = CAST(sqlc.narg('department_id') AS TEXT)
    GROUP BY l.object_type, l.department_id
    UNION ALL
    SELECT
        w.object_type,
        w.department_id,
        0 AS live,
        0 AS expired,
        0 AS oldest_seconds,
        0 AS next_expiry_seconds,
        count(*) AS waiters,
        max(t.now_ts - w.since_ts) / 1000000 AS longest_wait_seconds
    FROM appl_lock_waiter AS w
    CROSS JOIN (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 AS now_ts) AS t
    WHERE w.object_type = coalesce(sqlc.narg('object_type'), w.object_type)
        AND w.department_id = coalesce(sqlc.narg('department_id'), w.department_id)
        AND w.expires_ts > t.now_ts
    GROUP BY w.object_type, w.department_id
) AS s
GROUP BY s.object_type, s.department_id
ORDER BY s.object_type, s.department_id;
