-- renew_appl_locks: renew many grants in one call, each by its fence.
--
-- Contract   As procedures/postgres/renew_appl_locks.sql. In one transaction, the driver runs S1 for each grant. If S1 does not
--            renew it, the driver reads the object (inquire_appl_lock).
-- In         The arguments as the facade has checked and trimmed them.
-- Out        S1: the values for the answer and the history, or no row.
-- Raises     Nothing of its own; SQLITE_BUSY as the engine has it.
-- Locks      The one write lock of the database file, to the end of the caller's transaction.
-- Race-free  SQLite lets one transaction write at a time: a grant that S1 does not renew has ended, and stays so.
-- Differs    It waits for any writer of the file, and cannot skip a row, so each grant has its answer.

-- name: RenewApplLock :one
UPDATE appl_lock
SET lock_ts = max(lock_ts + 1, CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000),
    ttl_seconds = min(
        CAST(@ttl_seconds AS INTEGER),
        coalesce((SELECT p.longest_ttl_seconds FROM appl_lock_policy AS p WHERE p.object_type = @object_type), 315360000)
    ),
    expires_ts = max(expires_ts, CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + min(
        CAST(@ttl_seconds AS INTEGER),
        coalesce((SELECT p.longest_ttl_seconds FROM appl_lock_policy AS p WHERE p.object_type = @object_type), 315360000)
    ) * 1000000)
WHERE object_type = @object_type
    AND object_id = @object_id
    AND operator_id = @operator_id
    AND fence = @fence
    AND released_ts IS NULL
    AND expires_ts > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
RETURNING
    expires_ts,
    CAST((expires_ts - CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + 999999) / 1000000 AS INTEGER) AS seconds_left,
    department_id,
    history_fl;
