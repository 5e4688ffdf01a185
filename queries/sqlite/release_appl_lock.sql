-- release_appl_lock: end the grant that an operator holds on an object.
--
-- Contract   As procedures/postgres/release_appl_lock.sql. The driver runs S1 (the lock of
--            inquire_appl_lock), then S2, and starts again when S2 changes no row. With an actor or a reason they and the event
--            are one transaction. So they are for a lock of whose release the history is told anyway, which S2 leaves alone
--            outside a transaction.
-- In         The arguments as the facade has checked and trimmed them; fence NULL = whichever grant.
-- Out        S2: whether the history is told anyway, or no row.
-- Raises     Nothing of its own; SQLITE_BUSY as the engine has it.
-- Locks      S1 none. S2 the one write lock of the database file, to the end of the caller's transaction.
-- Race-free  SQLite lets one transaction write at a time: S2 is judged on the last committed row.
-- Differs    S2 waits for any writer of the file, not only for one of this object.

-- name: ReleaseApplLock :one
UPDATE appl_lock
SET lock_ts = max(lock_ts, CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000),
    expires_ts = 0
WHERE object_type = @object_type
    AND object_id = @object_id
    AND operator_id = @operator_id
    AND fence = coalesce(sqlc.narg('fence'), fence)
    AND expires_ts > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
    AND (history_fl = 'N' OR CAST(@in_tx AS INTEGER) <> 0)
RETURNING history_fl;
