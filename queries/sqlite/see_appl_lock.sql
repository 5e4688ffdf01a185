-- see_appl_lock: list an operator as a viewer of an object, and show its holder, askers and other viewers.
--
-- Contract   As procedures/postgres/see_appl_lock.sql. The driver runs S1, with S2 where the operator edits, or S3; then S4 and S5, in one transaction.
-- In         The arguments as the facade has checked and trimmed them; ttl_seconds NULL = 45.
-- Out        S5: rows as there; since_ts in microseconds.
-- Raises     Nothing of its own; SQLITE_BUSY as the engine has it.
-- Locks      The one write lock of the database file, to the end of the caller's transaction.
-- Race-free  SQLite lets one transaction write at a time: it judges on the last committed row whether it is live. A call begins
--            with the write, so the rows that it reads cannot change meanwhile.
-- Differs    It waits for any writer of the file; it cannot skip a row.

-- name: SeeApplLockKeep :exec
INSERT INTO appl_lock_viewer AS v (
    object_type,
    object_id,
    operator_id,
    department_id,
    client_id,
    state,
    since_ts,
    seen_ts,
    expires_ts
)
SELECT
    @object_type,
    @object_id,
    @operator_id,
    @department_id,
    @client_id,
    @state,
    t.now_ts,
    t.now_ts,
    t.now_ts + coalesce(CAST(sqlc.narg('ttl_seconds') AS INTEGER), 45) * 1000000
FROM (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 AS now_ts) AS t
WHERE NOT EXISTS (
    SELECT 1
    FROM appl_lock_policy AS p
    WHERE p.object_type = @object_type
        AND p.presence_fl = 'N'
)
ON CONFLICT (object_type, object_id, operator_id, client_id) DO UPDATE
SET department_id = excluded.department_id,
    state = excluded.state,
    since_ts = CASE WHEN v.expires_ts > excluded.seen_ts THEN v.since_ts ELSE excluded.since_ts END,
    seen_ts = excluded.seen_ts,
    expires_ts = excluded.expires_ts;

-- name: SeeApplLockEdit :exec
UPDATE appl_lock_ask
SET edited_ts = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
WHERE appl_lock_ask.object_type = @object_type
    AND appl_lock_ask.object_id = @object_id
    AND appl_lock_ask.holder_id = @operator_id
    AND appl_lock_ask.shown_ts IS NOT NULL
    AND NOT EXISTS (
        SELECT 1
        FROM appl_lock_policy AS p
        WHERE p.object_type = @object_type
            AND p.presence_fl = 'N'
    );

-- name: SeeApplLockLeave :exec
DELETE FROM appl_lock_viewer
WHERE object_type = @object_type
    AND object_id = @object_id
    AND operator_id = @operator_id
    AND client_id = @client_id;

-- name: SeeApplLockBury :exec
DELETE FROM appl_lock_viewer
WHERE object_type = @object_type
    AND object_id = @object_id
    AND expires_ts <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000;

-- name: SeeApplLock :many
SELECT
    m.kind,
    m.operator_id,
    m.department_id,
    m.client_id,
    m.state,
    m.since_ts,
    CAST(m.seconds_left AS INTEGER) AS seconds_left,
    m.message
FROM (
    SELECT
        1 AS part,
        'HOLDER' AS kind,
        l.operator_id,
        l.department_id,
        '' AS client_id,
        '' AS state,
        l.acquired_ts AS since_ts,
        l.seconds_left,
        '' AS message
    FROM appl_lock_live AS l
    WHERE l.object_type = @object_type
        AND l.object_id = @object_id
    UNION ALL
    SELECT
        2,
        'ASKER',
        a.operator_id,
        a.department_id,
        a.client_id,
        '',
        a.since_ts,
        (a.expires_ts - CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + 999999) / 1000000,
        a.message
    FROM appl_lock_ask AS a
    WHERE a.object_type = @object_type
        AND a.object_id = @object_id
        AND a.operator_id <> @operator_id
        AND a.expires_ts > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
    UNION ALL
    SELECT
        3,
        'VIEWER',
        v.operator_id,
        v.department_id,
        v.client_id,
        v.state,
        v.since_ts,
        v.seconds_left,
        ''
    FROM appl_lock_viewers AS v
    WHERE v.object_type = @object_type
        AND v.object_id = @object_id
        AND v.operator_id <> @operator_id
        AND NOT EXISTS (
            SELECT 1
            FROM appl_lock_policy AS p
            WHERE p.object_type = @object_type
                AND p.presence_fl = 'N'
        )
) AS m
ORDER BY m.part, m.since_ts, m.operator_id, m.client_id
LIMIT 200;
