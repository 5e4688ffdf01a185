-- purge_appl_lock_history: remove old events from the history.
--
-- Contract   As procedures/postgres/purge_appl_lock_history.sql. The driver writes the event in the same transaction.
-- In         The arguments as the facade has checked them.
-- Out        The number of events removed.
-- Raises     Nothing of its own; SQLITE_BUSY as the engine has it.
-- Locks      The one write lock of the database file, to the end of the caller's transaction.
-- Race-free  SQLite lets one transaction write at a time.
-- Differs    It waits for any writer of the file.

-- name: PurgeApplLockHistory :execrows
DELETE FROM appl_lock_event
WHERE event_id IN (
    SELECT e.event_id
    FROM appl_lock_event AS e
    WHERE e.event_ts < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
            - CASE
                WHEN e.event IN ('PURGED', 'HISTORY_PURGED') THEN max(34560000, CAST(@older_than_seconds AS INTEGER))
                ELSE CAST(@older_than_seconds AS INTEGER)
            END * 1000000
    ORDER BY e.event_id
    LIMIT @max_rows
);
