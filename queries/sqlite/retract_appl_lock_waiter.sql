-- retract_appl_lock_waiter: say that an operator does not wait for an object any more.
--
-- Contract   As procedures/postgres/retract_appl_lock_waiter.sql.
-- In         The arguments as the facade has checked and trimmed them.
-- Out        Nothing.
-- Raises     Nothing of its own; SQLITE_BUSY as the engine has it.
-- Locks      The one write lock of the database file, to the end of the caller's transaction.
-- Race-free  SQLite lets one transaction write at a time.
-- Differs    It waits for any writer of the file, not only for one of this row.

-- name: RetractApplLockWaiter :exec
DELETE FROM appl_lock_waiter
WHERE object_type = @object_type
    AND object_id = @object_id
    AND operator_id = @operator_id
    AND client_id = @client_id;
