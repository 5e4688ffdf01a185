-- get_appl_lock: take or renew the lock on an object for one operator until it expires.
--
-- Contract   As procedures/postgres/get_appl_lock.sql. The driver runs S1, then S2, and starts again
--            when S2 returns no row. S2 leaves alone what is another's and was not released: when S1 finds that expired, S3
--            and S4 take it, in one transaction with the event. S2 also leaves alone what it has to tell the history of, outside a
--            transaction: then all begins again in one.
-- In         The arguments as the facade has checked and trimmed them, times in microseconds; department_id and
--            ttl_seconds NULL = those of the grant in a renewal; in a new grant empty and the policy's, else 604800.
-- Out        S1: the holder, or no row. S2: outcome, fence, expires_ts, seconds_left, note, or no row. S3: whose lock has
--            expired, or no row. S4: fence, expires_ts, seconds_left.
-- Raises     Nothing of its own; SQLITE_BUSY as the engine has it.
-- Locks      S1 none. S2 the one write lock of the database file, to the end of the caller's transaction.
-- Race-free  SQLite lets one transaction write at a time: S2 is judged on the last committed row, and
--            'now' is read once the write lock is held, the same one throughout the statement. So is what
--            a NULL keeps: nobody changes the row between S2's reading and its writing.
-- Differs    S2 waits for any writer of the file, not only for one of this object.

-- name: GetApplLockHolder :one
SELECT
    operator_id,
    department_id,
    expires_ts,
    CAST((expires_ts - CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + 999999) / 1000000 AS INTEGER) AS seconds_left,
    note,
    fence,
    history_fl
FROM appl_lock
WHERE object_type = @object_type
    AND object_id = @object_id
    AND operator_id <> @operator_id
    AND expires_ts > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000;

-- name: GetApplLock :one
INSERT INTO appl_lock AS l (
    object_type,
    object_id,
    operator_id,
    department_id,
    fence,
    acquired_ts,
    lock_ts,
    expires_ts,
    history_fl
)
SELECT
    @object_type,
    @object_id,
    @operator_id,
    coalesce(sqlc.narg('department_id'), g.department_id, '') AS department_id,
    t.now_ts,
    t.now_ts,
    t.now_ts,
    -- The ttl of the grant, if there is one to renew, is that of its last get or renewal in whole seconds: the
    -- microsecond that lock_ts may be ahead is rounded off.
    t.now_ts + min(
        coalesce(
            CAST(sqlc.narg('ttl_seconds') AS INTEGER),
            max((g.expires_ts - g.lock_ts + 500000) / 1000000, 1),
            p.default_ttl_seconds,
            604800
        ),
        coalesce(p.longest_ttl_seconds, 315360000)
    ) * 1000000 AS expires_ts,
    CASE p.history_level WHEN 'ALL' THEN 'Y' ELSE 'N' END AS history_fl
FROM (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 AS now_ts) AS t
LEFT JOIN appl_lock AS g
    ON g.object_type = @object_type
    AND g.object_id = @object_id
    AND g.operator_id = @operator_id
    AND g.expires_ts > t.now_ts
LEFT JOIN appl_lock_policy AS p
    ON p.object_type = @object_type
WHERE CAST(@in_tx AS INTEGER) <> 0
    OR coalesce(p.history_level, 'CHANGES') <> 'ALL'
ON CONFLICT (object_type, object_id) DO UPDATE
SET operator_id = excluded.operator_id,
    department_id = excluded.department_id,
    fence = CASE
        WHEN l.operator_id = excluded.operator_id AND l.expires_ts > excluded.lock_ts THEN l.fence
        ELSE max(l.fence + 1, excluded.fence)
    END,
    acquired_ts = CASE
        WHEN l.operator_id = excluded.operator_id AND l.expires_ts > excluded.lock_ts THEN l.acquired_ts
        ELSE excluded.acquired_ts
    END,
    -- Later than acquired_ts in every renewal, whatever the clock does: so the row itself tells
    -- RENEWED from ACQUIRED.
    lock_ts = CASE
        WHEN l.operator_id = excluded.operator_id AND l.expires_ts > excluded.lock_ts
            THEN max(excluded.lock_ts, l.acquired_ts + 1)
        ELSE excluded.lock_ts
    END,
    expires_ts = excluded.expires_ts,
    note = CASE
        WHEN l.operator_id = excluded.operator_id AND l.expires_ts > excluded.lock_ts THEN l.note
        ELSE ''
    END,
    history_fl = excluded.history_fl
WHERE l.operator_id = excluded.operator_id
    -- A release puts lock_ts behind expires_ts.
    OR (l.expires_ts <= excluded.lock_ts AND l.expires_ts <= l.lock_ts)
RETURNING
    CAST(CASE WHEN lock_ts = acquired_ts THEN 'ACQUIRED' ELSE 'RENEWED' END AS TEXT) AS outcome,
    fence,
    expires_ts,
    CAST((expires_ts - CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + 999999) / 1000000 AS INTEGER) AS seconds_left,
    note,
    department_id,
    history_fl;

-- name: GetApplLockExpired :one
SELECT
    operator_id,
    department_id,
    fence
FROM appl_lock
WHERE object_type = @object_type
    AND object_id = @object_id
    AND operator_id <> @operator_id
    AND lock_ts < expires_ts
    AND expires_ts <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000;

-- name: OvertakeApplLock :one
UPDATE appl_lock
SET operator_id = @operator_id,
    department_id = @department_id,
    fence = max(fence + 1, CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000),
    acquired_ts = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000,
    note = '',
    lock_ts = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000,
    expires_ts = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + min(
        coalesce(
            CAST(sqlc.narg('ttl_seconds') AS INTEGER),
            (SELECT p.default_ttl_seconds FROM appl_lock_policy AS p WHERE p.object_type = @object_type),
            604800
        ),
        coalesce((SELECT p.longest_ttl_seconds FROM appl_lock_policy AS p WHERE p.object_type = @object_type), 315360000)
    ) * 1000000,
    history_fl = CASE (SELECT p.history_level FROM appl_lock_policy AS p WHERE p.object_type = @object_type)
        WHEN 'ALL' THEN 'Y'
        ELSE 'N'
    END
WHERE object_type = @object_type
    AND object_id = @object_id
RETURNING
    fence,
    expires_ts,
    CAST((expires_ts - CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + 999999) / 1000000 AS INTEGER) AS seconds_left;
