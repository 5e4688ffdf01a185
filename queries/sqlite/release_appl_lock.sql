-- release_appl_lock: end the grant that an operator holds on an object.
--
-- Contract   As procedures/postgres/release_appl_lock.sql. The driver reads (inquire_appl_lock), decides, and runs S1. If it
--            changes no row, the object changed meanwhile, and the driver begins again. S1 and an event are one transaction.
-- In         The arguments as the facade has checked and trimmed them; from_* are the values read.
-- Out        The number of rows changed.
-- Raises     Nothing of its own; SQLITE_BUSY as the engine has it.
-- Locks      The one write lock of the database file, to the end of the caller's transaction. A refusal takes none.
-- Race-free  SQLite lets one transaction write at a time: S1 compares the row with the values read.
-- Differs    It waits for any writer of the file, not only for one of this object.

-- name: ReleaseApplLock :execrows
UPDATE appl_lock
SET released_ts = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000, note = ''
WHERE object_type = @object_type
    AND object_id = @object_id
    AND fence = @from_fence
    AND lock_ts = @from_lock_ts
    AND expires_ts = @from_expires_ts
    AND coalesce(released_ts, 0) = CAST(@from_released_ts AS INTEGER)
    AND (released_ts IS NULL AND expires_ts > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000) = CAST(@from_live AS INTEGER);
