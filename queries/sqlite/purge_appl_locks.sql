-- purge_appl_locks: remove the rows of objects that have been free for long.
--
-- Contract   As procedures/postgres/purge_appl_locks.sql. The driver runs the statements named ...Due as plain reads, outside the
--            write lock, however large the table is. Then it removes what they found, row by row, in one transaction with the
--            greatest fence and the event.
-- In         The arguments as the facade has checked them.
-- Out        PurgeApplLocksDue: the objects that could go. PurgeApplLocks: the fence of the row, or no row if it has changed.
-- Raises     Nothing of its own; SQLITE_BUSY as the engine has it.
-- Locks      The one write lock of the database file, to the end of the caller's transaction.
-- Race-free  Each DELETE judges its row again. A row goes only when its fence lies in the past, and PurgeApplLocksFence keeps
--            that fence in the same transaction: no later grant of that object has a smaller one. The + keeps SQLite from the
--            index of programs.
-- Differs    It waits for any writer of the file; it cannot skip a row.

-- name: PurgeApplLocksDue :many
SELECT
    l.object_type,
    l.object_id
FROM appl_lock AS l
WHERE coalesce(l.released_ts, l.expires_ts) < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
        - CAST(@older_than_seconds AS INTEGER) * 1000000
    AND l.fence < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
LIMIT @max_rows;

-- name: PurgeApplLocks :one
DELETE FROM appl_lock
WHERE object_type = @object_type
    AND object_id = @object_id
    AND coalesce(released_ts, expires_ts) < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
        - CAST(@older_than_seconds AS INTEGER) * 1000000
    AND fence < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
RETURNING fence;

-- name: PurgeApplLockWaitersDue :many
SELECT
    w.object_type,
    w.object_id,
    w.operator_id,
    w.client_id
FROM appl_lock_waiter AS w
WHERE w.expires_ts < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
        - CAST(@older_than_seconds AS INTEGER) * 1000000
LIMIT @max_rows;

-- name: PurgeApplLockWaiters :exec
DELETE FROM appl_lock_waiter
WHERE object_type = @object_type
    AND object_id = @object_id
    AND operator_id = @operator_id
    AND +client_id = @client_id
    AND expires_ts < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
        - CAST(@older_than_seconds AS INTEGER) * 1000000;

-- name: PurgeApplLockAsksDue :many
SELECT
    a.object_type,
    a.object_id,
    a.operator_id,
    a.client_id
FROM appl_lock_ask AS a
WHERE a.expires_ts < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
        - CAST(@older_than_seconds AS INTEGER) * 1000000
LIMIT @max_rows;

-- name: PurgeApplLockAsks :exec
DELETE FROM appl_lock_ask
WHERE object_type = @object_type
    AND object_id = @object_id
    AND +operator_id = @operator_id
    AND client_id = @client_id
    AND expires_ts < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
        - CAST(@older_than_seconds AS INTEGER) * 1000000;

-- name: PurgeApplLockViewersDue :many
SELECT
    v.object_type,
    v.object_id,
    v.operator_id,
    v.client_id
FROM appl_lock_viewer AS v
WHERE v.expires_ts < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
        - CAST(@older_than_seconds AS INTEGER) * 1000000
LIMIT @max_rows;

-- name: PurgeApplLockViewers :exec
DELETE FROM appl_lock_viewer
WHERE object_type = @object_type
    AND object_id = @object_id
    AND operator_id = @operator_id
    AND client_id = @client_id
    AND expires_ts < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
        - CAST(@older_than_seconds AS INTEGER) * 1000000;

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
