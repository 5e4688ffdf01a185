-- purge_appl_lock_history: remove old events from the history.
--
-- Contract   As procedures/postgres/purge_appl_lock_history.sql. The driver runs PurgeApplLockHistoryNext as a plain read, outside the
--            write lock, and then the DELETE in one transaction with the event.
-- In         The arguments as the facade has checked them.
-- Out        The number of events removed.
-- Raises     Nothing of its own; SQLITE_BUSY as the engine has it.
-- Locks      The one write lock of the database file, to the end of the caller's transaction.
-- Race-free  SQLite lets one transaction write at a time.
-- Differs    It waits for any writer of the file.

-- name: PurgeApplLockHistoryNext :many
SELECT
    e.event_id,
    CAST(e.event_ts < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
        - CAST(@older_than_seconds AS INTEGER) * 1000000 AS INTEGER) AS is_old,
    CAST(e.event IN ('PURGED', 'HISTORY_PURGED') AND e.event_ts >= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
        - 34560000 * 1000000 AS INTEGER) AS stays
FROM appl_lock_event AS e
WHERE e.event_id > @behind_id
ORDER BY e.event_id
LIMIT @max_rows;

-- name: PurgeApplLockHistory :execrows
DELETE FROM appl_lock_event
WHERE event_id BETWEEN @first_event_id AND @last_event_id
    AND (event NOT IN ('PURGED', 'HISTORY_PURGED') OR event_ts < CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
        - 34560000 * 1000000);
