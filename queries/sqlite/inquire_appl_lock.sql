-- inquire_appl_lock: who holds an object, since when and until when.
--
-- Contract   As procedures/postgres/inquire_appl_lock.sql; no row is the answer N.
-- In         The arguments as the facade has checked and trimmed them.
-- Out        The lock with seconds_left, or no row.
-- Raises     Nothing of its own.
-- Locks      None.
-- Race-free  One read of one committed row version.
-- Differs    Nothing.

-- name: InquireApplLock :one
SELECT
    object_type,
    object_id,
    operator_id,
    department_id,
    fence,
    acquired_ts,
    lock_ts,
    expires_ts,
    CAST((expires_ts - CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + 999999) / 1000000 AS INTEGER) AS seconds_left,
    note
FROM appl_lock
WHERE object_type = @object_type
    AND object_id = @object_id
    AND expires_ts > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000;
