-- assert_appl_lock: fail unless exactly this grant is live, and keep it so to the end of the transaction.
--
-- Contract   As procedures/postgres/assert_appl_lock.sql. One changed row means that the grant is live. Else the driver reads
--            the holder (inquire_appl_lock) and raises LK002.
-- In         The arguments as the facade has checked and trimmed them.
-- Out        The number of rows changed.
-- Raises     Nothing of its own; SQLITE_BUSY as the engine has it.
-- Locks      The one write lock of the database file, to the end of the caller's transaction.
-- Race-free  SQLite lets one transaction write at a time: while this one is open, nobody changes the grant.
-- Differs    The row is written as it is, because SQLite has no share lock; every other writer of the file waits.

-- name: AssertApplLock :execrows
UPDATE appl_lock
SET fence = fence
WHERE object_type = @object_type
    AND object_id = @object_id
    AND operator_id = @operator_id
    AND fence = @fence
    AND released_ts IS NULL
    AND expires_ts > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000;
