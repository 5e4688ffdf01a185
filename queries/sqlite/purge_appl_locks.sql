-- purge_appl_locks: remove the rows of objects that have been free for long.
--
-- Contract   As procedures/postgres/purge_appl_locks.sql. The driver runs S1, S2, S3, and S4 with the greatest fence of S3, in one
--            transaction with the event.
-- In         The arguments as the facade has checked them.
-- Out        S3: the fence of each row removed.
-- Raises     Nothing of its own; SQLITE_BUSY as the engine has it.
-- Locks      The one write lock of the database file, to the end of the caller's transaction.
-- Race-free  SQLite lets one transaction write at a time. A row goes only when its fence lies in the past, and S4 keeps it
--            in the same transaction: no later grant of that object has a smaller one. The + keeps S1 and S2 from the index of
--            programs.
-- Differs    It waits for any writer of the file; it cannot skip a row.

-- name: PurgeApplLockWaiters :exec
DELETE FROM appl_lock_waiter
WHERE (object_type, object_id, operator_id, +client_id) IN (
    SELECT
        w.object_type,
        w.object_id,
        w.operator_id,
        w.client_id
    FROM appl_lock_waiter AS w
    WHERE w.expires_ts < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
            - CAST(@older_than_seconds AS INTEGER) * 1000000
    LIMIT @max_rows
);

-- name: PurgeApplLockAsks :exec
DELETE FROM appl_lock_ask
WHERE (object_type, object_id, +operator_id, client_id) IN (
    SELECT
        a.object_type,
        a.object_id,
        a.operator_id,
        a.client_id
    FROM appl_lock_ask AS a
    WHERE a.expires_ts < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
            - CAST(@older_than_seconds AS INTEGER) * 1000000
    LIMIT @max_rows
);

-- name: PurgeApplLockViewers :exec
DELETE FROM appl_lock_viewer
WHERE (object_type, object_id, operator_id, client_id) IN (
    SELECT
        v.object_type,
        v.object_id,
        v.operator_id,
        v.client_id
    FROM appl_lock_viewer AS v
    WHERE v.expires_ts < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
            - CAST(@older_than_seconds AS INTEGER) * 1000000
    LIMIT @max_rows
);

-- name: PurgeApplLocks :many
DELETE FROM appl_lock
WHERE (object_type, object_id) IN (
    SELECT
        l.object_type,
        l.object_id
    FROM appl_lock AS l
    WHERE coalesce(l.released_ts, l.expires_ts) < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
            - CAST(@older_than_seconds AS INTEGER) * 1000000
        AND l.fence < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
    LIMIT @max_rows
)
RETURNING fence;

-- name: PurgeApplLocksFence :exec
INSERT INTO appl_lock_fence AS f (
    slot,
    fence
)
VALUES (
    1,
    @fence
)
ON CONFLICT (slot) DO UPDATE
SET fence = max(f.fence, excluded.fence);
