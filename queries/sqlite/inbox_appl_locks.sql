-- inbox_appl_locks: report what others did with an operator's locks, who waits or asks for them, and how its own requests were
-- answered.
--
-- Contract   As procedures/postgres/inbox_appl_locks.sql.
-- In         The arguments as the facade has checked and trimmed them; after_event_id is the first number of a position.
-- Out        Rows as there; event_ts in microseconds. last_event_id is the greatest number of all events; next_position, which
--            the driver makes, is that number, or the last event of a full page; unshown 1 = the driver runs S2 for the row,
--            unless another writer has the file or it is read-only.
-- Raises     Nothing of its own.
-- Locks      S1 none. S2 the one write lock of the database file.
-- Race-free  The answer is one snapshot. One transaction writes at a time, so events are numbered as they are committed.
--            The statement names its indexes, so statistics cannot lead to others.
-- Differs    Nothing.

-- name: InboxApplLocks :many
SELECT
    CAST(m.kind AS TEXT) AS kind,
    m.event_id,
    m.object_type,
    m.object_id,
    CAST(m.other_operator_id AS TEXT) AS other_operator_id,
    m.other_department_id,
    m.event_ts,
    CAST(m.seconds_left AS INTEGER) AS seconds_left,
    m.reason,
    m.message,
    m.client_id,
    CAST(m.fence AS INTEGER) AS fence,
    CAST(m.unshown AS INTEGER) AS unshown,
    CAST((SELECT coalesce(max(a.event_id), 0) FROM appl_lock_event AS a) AS INTEGER) AS last_event_id
FROM (
    SELECT
        p.*,
        row_number() OVER (
            PARTITION BY p.event_id = 0
            ORDER BY p.event_id, p.event_ts, p.object_type, p.object_id, p.other_operator_id
        ) AS place
    FROM (
        SELECT *
        FROM (
            SELECT
                CASE e.event WHEN 'TRANSFERRED' THEN 'TAKEN' ELSE e.event END AS kind,
                e.event_id,
                e.object_type,
                e.object_id,
                CASE e.event WHEN 'RELEASED' THEN e.actor_id ELSE e.to_operator_id END AS other_operator_id,
                e.to_department_id AS other_department_id,
                e.event_ts,
                0 AS seconds_left,
                e.reason,
                '' AS message,
                '' AS client_id,
                0 AS fence,
                0 AS unshown
            FROM appl_lock_event AS e INDEXED BY appl_lock_event_from_ix
            WHERE e.from_operator_id = @operator_id
                AND e.event_id > @after_event_id
                AND e.event IN ('TAKEN', 'TRANSFERRED', 'RELEASED', 'GIVEN', 'YIELDED')
                AND (e.actor_id <> @operator_id OR e.event IN ('GIVEN', 'YIELDED'))
                AND e.to_operator_id <> @operator_id
            UNION ALL
            SELECT
                'HANDED',
                e.event_id,
                e.object_type,
                e.object_id,
                e.from_operator_id,
                e.from_department_id,
                e.event_ts,
                0,
                e.reason,
                '',
                '',
                0,
                0
            FROM appl_lock_event AS e INDEXED BY appl_lock_event_to_ix
            WHERE e.to_operator_id = @operator_id
                AND e.event_id > @after_event_id
                AND e.event IN ('TRANSFERRED', 'GIVEN', 'YIELDED')
                AND (e.actor_id <> @operator_id OR e.event = 'YIELDED')
            ORDER BY event_id
            LIMIT @max_rows
        )
        UNION ALL
        SELECT
            'AWAITED',
            0,
            w.object_type,
            w.object_id,
            w.operator_id,
            w.department_id,
            w.since_ts,
            l.seconds_left,
            '',
            '',
            '',
            0,
            0
        FROM appl_lock_waiter AS w INDEXED BY appl_lock_waiter_holder_ix
        CROSS JOIN appl_lock_live AS l
        WHERE w.holder_id = @operator_id
            AND w.operator_id <> @operator_id
            AND w.expires_ts > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
            AND l.object_type = w.object_type
            AND l.object_id = w.object_id
            AND l.operator_id = @operator_id
        UNION ALL
        SELECT
            'AWAITED',
            0,
            a.object_type,
            a.object_id,
            a.operator_id,
            a.department_id,
            a.since_ts,
            l.seconds_left,
            '',
            a.message,
            a.client_id,
            l.fence,
            a.shown_ts IS NULL AND a.fence = l.fence AND EXISTS (
                SELECT 1
                FROM appl_lock_policy AS p
                WHERE p.object_type = a.object_type
                    AND p.yield_after_seconds IS NOT NULL
            )
        FROM appl_lock_ask AS a INDEXED BY appl_lock_ask_holder_ix
        CROSS JOIN appl_lock_live AS l
        WHERE a.holder_id = @operator_id
            AND a.expires_ts > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
            AND a.answer <> 'NO'
            AND l.object_type = a.object_type
            AND l.object_id = a.object_id
            AND l.operator_id = @operator_id
        UNION ALL
        SELECT
            CASE a.answer WHEN 'NO' THEN 'DECLINED' ELSE 'LATER' END,
            0,
            a.object_type,
            a.object_id,
            a.holder_id,
            '',
            a.answered_ts,
            0,
            a.answer_reason,
            '',
            '',
            0,
            0
        FROM appl_lock_ask AS a INDEXED BY appl_lock_ask_operator_ix
        WHERE a.operator_id = @operator_id
            AND a.expires_ts > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
            AND a.answer <> ''
    ) AS p
    ORDER BY place, p.event_id = 0
    LIMIT @max_rows
) AS m
ORDER BY m.event_id = 0, m.event_id, m.event_ts, m.object_type, m.object_id, m.other_operator_id;

-- name: ShowApplLockAsk :exec
UPDATE appl_lock_ask
SET shown_ts = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
WHERE object_type = @object_type
    AND object_id = @object_id
    AND operator_id = @operator_id
    AND client_id = @client_id
    AND fence = @fence
    AND shown_ts IS NULL;
