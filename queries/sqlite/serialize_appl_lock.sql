-- serialize_appl_lock: let one transaction at a time work on an object.
--
-- Contract   As procedures/postgres/serialize_appl_lock.sql. It changes no row: a write takes the write lock of the file.
-- In         The arguments as the facade has checked and trimmed them.
-- Out        Nothing.
-- Raises     Nothing of its own; SQLITE_BUSY as the engine has it, and SQLITE_BUSY_SNAPSHOT when the transaction has
--            read before (begin again, with this call first).
-- Locks      The one write lock of the database file, to the end of the caller's transaction.
-- Race-free  SQLite lets one transaction write at a time, and a transaction that has not read yet gets its snapshot together
--            with the write lock.
-- Differs    Transactions on different objects wait for each other, too.

-- name: SerializeApplLock :exec
UPDATE appl_lock
SET fence = fence
WHERE object_type = @object_type
    AND object_id = @object_id
    AND fence < 0;
