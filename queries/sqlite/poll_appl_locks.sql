-- poll_appl_locks: show which objects that a program waits for are free or will be next, and keep its waiters listed.
--
-- Contract   As procedures/postgres/poll_appl_locks.sql. The driver runs S1, S2 if S1 finds that it is time, and S3.
-- In         The arguments as the facade has checked and trimmed them.
-- Out        S1: whether the listing of a waiter must be extended, or its stored holder is out
--            of date, the present one having had the object for a second. S3: object_type,
--            object_id, free_in_us, first_fl, ordered by free_in_us, object_type, object_id.
-- Raises     Nothing of its own; SQLITE_BUSY as the engine has it.
-- Locks      S1 and S3 none. S2 the one write lock of the database file, to the end of the caller's transaction.
-- Race-free  SQLite lets one transaction write at a time. S3 was true at one moment. The statement names its index: with the
--            statistics of a small table SQLite would read the rows of all programs.
-- Differs    S2 waits for any writer of the file; it cannot skip a row.

-- name: PollApplLocksDue :one
SELECT count(*) > 0 AS due
FROM appl_lock_waiter AS w INDEXED BY appl_lock_waiter_client_ix
CROSS JOIN (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 AS now_ts) AS t
LEFT JOIN appl_lock_live AS l
    ON l.object_type = w.object_type
    AND l.object_id = w.object_id
WHERE w.client_id = @client_id
    AND (w.until_ts IS NULL OR w.until_ts > t.now_ts)
    AND (
        (w.holder_id <> l.operator_id AND l.acquired_ts < t.now_ts - 1000000)
        OR w.expires_ts < min(t.now_ts + 30000000, coalesce(w.until_ts, t.now_ts + 30000000))
    );

-- name: PollApplLocksKeep :exec
UPDATE appl_lock_waiter
SET expires_ts = min(
        CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + 60000000,
        coalesce(until_ts, CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + 60000000)
    ),
    holder_id = coalesce((
        SELECT l.operator_id
        FROM appl_lock_live AS l
        WHERE l.object_type = appl_lock_waiter.object_type
            AND l.object_id = appl_lock_waiter.object_id
    ), '')
WHERE (object_type, object_id, operator_id, +client_id) IN (
    SELECT
        w.object_type,
        w.object_id,
        w.operator_id,
        w.client_id
    FROM appl_lock_waiter AS w INDEXED BY appl_lock_waiter_client_ix
    WHERE w.client_id = @client_id
        AND (w.until_ts IS NULL OR w.until_ts > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000)
);

-- name: PollApplLocks :many
SELECT
    w.object_type,
    w.object_id,
    CAST(coalesce(l.expires_ts - w.now_ts, 0) AS INTEGER) AS free_in_us,
    CAST(iif(l.expires_ts IS NULL AND NOT EXISTS (
        SELECT 1
        FROM appl_lock_waiter AS o
        WHERE o.object_type = w.object_type
            AND o.object_id = w.object_id
            AND o.expires_ts > w.now_ts
            AND o.since_ts < w.since_ts
    ), 'Y', 'N') AS TEXT) AS first_fl
FROM (
    SELECT
        r.object_type,
        r.object_id,
        t.now_ts,
        min(r.since_ts) AS since_ts
    FROM appl_lock_waiter AS r INDEXED BY appl_lock_waiter_client_ix
    CROSS JOIN (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 AS now_ts) AS t
    WHERE r.client_id = @client_id
        AND (r.until_ts IS NULL OR r.until_ts > t.now_ts)
    GROUP BY r.object_type, r.object_id, t.now_ts
) AS w
LEFT JOIN appl_lock_live AS l
    ON l.object_type = w.object_type
    AND l.object_id = w.object_id
ORDER BY free_in_us, w.object_type, w.object_id
LIMIT @max_rows;
