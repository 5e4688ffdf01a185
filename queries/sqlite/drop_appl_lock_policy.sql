-- drop_appl_lock_policy: remove the policy of a type.
--
-- Contract   As procedures/postgres/drop_appl_lock_policy.sql. The driver runs S1 and the event in one transaction.
-- In         The arguments as the facade has checked and trimmed them.
-- Out        S1: the number of rows that it removed.
-- Raises     Nothing of its own; SQLITE_BUSY as the engine has it.
-- Locks      The one write lock of the database file, to the end of the caller's transaction.
-- Race-free  SQLite lets one transaction write at a time.
-- Differs    It waits for any writer of the file.

-- name: DropApplLockPolicy :execrows
DELETE FROM appl_lock_policy
WHERE object_type = @object_type;
