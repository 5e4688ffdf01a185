-- announce_appl_lock_waiter: say that an operator waits for an object, or still waits.
--
-- Contract   As procedures/postgres/announce_appl_lock_waiter.sql.
-- In         The arguments as the facade has checked and trimmed them; wait_seconds NULL = never gives up.
-- Out        Nothing.
-- Raises     Nothing of its own; SQLITE_BUSY as the engine has it.
-- Locks      The one write lock of the database file, to the end of the caller's transaction.
-- Race-free  SQLite lets one transaction write at a time: it judges on the last committed row whether it is live, and 'now' is
--            read once the write lock is held.
-- Differs    It waits for any writer of the file, not only for one of this row.

-- name: AnnounceApplLockWaiter :exec
INSERT INTO appl_lock_waiter AS w (
    object_type,
    object_id,
    operator_id,
    department_id,
    client_id,
    since_ts,
    until_ts,
    expires_ts,
    holder_id
)
SELECT
    @object_type,
    @object_id,
    @operator_id,
    @department_id,
    @client_id,
    t.now_ts,
    t.now_ts + CAST(sqlc.narg('wait_seconds') AS INTEGER) * 1000000,
    t.now_ts + min(60, coalesce(CAST(sqlc.narg('wait_seconds') AS INTEGER), 60)) * 1000000,
    coalesce(l.operator_id, '')
FROM (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 AS now_ts) AS t
LEFT JOIN appl_lock_live AS l
    ON l.object_type = @object_type
    AND l.object_id = @object_id
WHERE true
ON CONFLICT (object_type, object_id, operator_id, client_id) DO UPDATE
SET department_id = excluded.department_id,
    since_ts = CASE WHEN w.expires_ts > excluded.since_ts THEN w.since_ts ELSE excluded.since_ts END,
    until_ts = excluded.until_ts,
    expires_ts = excluded.expires_ts,
    holder_id = excluded.holder_id;
