-- take_appl_lock: take a held object from whoever holds it, for a reason.
--
-- Contract   As procedures/postgres/take_appl_lock.sql. The driver runs S1 (the lock of
--            inquire_appl_lock), then S2, and starts again when S2 returns no row; they and the event are one transaction.
-- In         The arguments as the facade has checked and trimmed them; from_fence is S1's; ttl_seconds NULL = that of the
--            grant that ends.
-- Out        S2: fence, expires_ts and seconds_left of the new grant, or no row.
-- Raises     Nothing of its own; SQLITE_BUSY as the engine has it.
-- Locks      S1 none. S2 the one write lock of the database file, to the end of the caller's transaction.
-- Race-free  SQLite lets one transaction write at a time: S2 is judged on the last committed row, and
--            'now' is read once the write lock is held, the same one throughout the statement.
-- Differs    S2 waits for any writer of the file, not only for one of this object.

-- name: TakeApplLock :one
UPDATE appl_lock
SET operator_id = @operator_id,
    department_id = @department_id,
    fence = max(fence + 1, CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000),
    acquired_ts = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000,
    lock_ts = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000,
    expires_ts = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
        -- The ttl of the grant that ends, in whole seconds: the microsecond that lock_ts may be ahead is rounded off.
        + min(
            coalesce(
                CAST(sqlc.narg('ttl_seconds') AS INTEGER),
                max((expires_ts - lock_ts + 500000) / 1000000, 1)
            ),
            coalesce((SELECT p.longest_ttl_seconds FROM appl_lock_policy AS p WHERE p.object_type = @object_type), 315360000)
        ) * 1000000,
    note = ''
WHERE object_type = @object_type
    AND object_id = @object_id
    AND fence = @from_fence
    AND expires_ts > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
RETURNING
    fence,
    expires_ts,
    CAST((expires_ts - CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + 999999) / 1000000 AS INTEGER) AS seconds_left;
