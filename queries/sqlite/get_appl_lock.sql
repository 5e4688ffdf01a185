-- get_appl_lock: take or renew the lock on an object for one operator until it expires.
--
-- Contract   As procedures/postgres/get_appl_lock.sql. The driver reads (inquire_appl_lock), decides, and runs S1, or S2 where
--            the object has no row. S1 also moves a live grant, for take, transfer and pass. If no row comes back, the object
--            changed meanwhile, and the driver begins again. A change and its event are one transaction.
-- In         The arguments as the facade has checked and trimmed them; ttl_seconds is what the policy allows. from_* are the
--            values read; renews 1 = the grant goes on; lasts_seconds, up to ttl_seconds, is when it ends.
-- Out        fence, acquired_ts, expires_ts, seconds_left and note of the grant, or no row.
-- Raises     Nothing of its own; SQLITE_BUSY as the engine has it.
-- Locks      The one write lock of the database file, to the end of the caller's transaction.
-- Race-free  SQLite lets one transaction write at a time: S1 compares the row with the values read, and S2 yields to a row that
--            has come. The statement reads 'now' once, when it holds the write lock.
-- Differs    It waits for any writer of the file, not only for one of this object.

-- name: GetApplLock :one
UPDATE appl_lock
SET operator_id = @operator_id,
    department_id = @department_id,
    fence = CASE CAST(@renews AS INTEGER) WHEN 1 THEN fence ELSE max(fence + 1, CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000) END,
    acquired_ts = CASE CAST(@renews AS INTEGER) WHEN 1 THEN acquired_ts ELSE CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 END,
    lock_ts = max(lock_ts + 1, CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000),
    ttl_seconds = @ttl_seconds,
    expires_ts = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + CAST(@lasts_seconds AS INTEGER) * 1000000,
    note = CASE CAST(@renews AS INTEGER) WHEN 1 THEN note ELSE '' END,
    history_fl = @history_fl,
    released_ts = NULL
WHERE object_type = @object_type
    AND object_id = @object_id
    AND fence = @from_fence
    AND lock_ts = @from_lock_ts
    AND expires_ts = @from_expires_ts
    AND coalesce(released_ts, 0) = CAST(@from_released_ts AS INTEGER)
    AND (released_ts IS NULL AND expires_ts > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000) = CAST(@from_live AS INTEGER)
RETURNING
    fence,
    acquired_ts,
    expires_ts,
    CAST((expires_ts - CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + 999999) / 1000000 AS INTEGER) AS seconds_left,
    note;

-- name: GetApplLockNew :one
INSERT INTO appl_lock (
    object_type,
    object_id,
    operator_id,
    department_id,
    fence,
    acquired_ts,
    lock_ts,
    ttl_seconds,
    expires_ts,
    history_fl
)
SELECT
    @object_type,
    @object_id,
    @operator_id,
    @department_id,
    max(t.now_ts, coalesce((SELECT f.fence FROM appl_lock_fence AS f WHERE f.slot = 1), 0) + 1),
    t.now_ts,
    t.now_ts,
    @ttl_seconds,
    t.now_ts + @ttl_seconds * 1000000,
    @history_fl
FROM (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 AS now_ts) AS t
WHERE true
ON CONFLICT (object_type, object_id) DO NOTHING
RETURNING
    fence,
    acquired_ts,
    expires_ts,
    CAST((expires_ts - CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + 999999) / 1000000 AS INTEGER) AS seconds_left,
    note;
