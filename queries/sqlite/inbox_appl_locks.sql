-- inbox_appl_locks: what concerns an operator: what others did with its locks, and who waits for them.
--
-- Contract   As procedures/postgres/inbox_appl_locks.sql.
-- In         The arguments as the facade has checked and trimmed them; after_event_id 0 = no event has been seen.
-- Out        Rows as there; event_ts in microseconds. last_event_id is the greatest number of all events; the driver makes
--            safe_event_id of it, or of the last event of a page behind which there may be more.
-- Raises     Nothing of its own.
-- Locks      None.
-- Race-free  The answer is one snapshot. One transaction writes at a time, so events are numbered as they are committed.
--            The indexes are named: no statistics lead to another one.
-- Differs    Nothing.

-- name: InboxApplLocks :many
SELECT
    m.kind,
    m.event_id,
    m.object_type,
    m.object_id,
    CAST(m.other_operator_id AS TEXT) AS other_operator_id,
    m.other_department_id,
    m.event_ts,
    CAST(m.seconds_left AS INTEGER) AS seconds_left,
    m.reason,
    CAST((SELECT coalesce(max(a.event_id), 0) FROM appl_lock_event AS a) AS INTEGER) AS last_event_id
FROM (
    SELECT *
    FROM (
        SELECT
            CASE e.event WHEN 'RELEASED' THEN 'RELEASED' ELSE 'TAKEN' END AS kind,
            e.event_id,
            e.object_type,
            e.object_id,
            CASE e.event WHEN 'RELEASED' THEN e.actor_id ELSE e.to_operator_id END AS other_operator_id,
            e.to_department_id AS other_department_id,
            e.event_ts,
            0 AS seconds_left,
            e.reason
        FROM appl_lock_event AS e INDEXED BY appl_lock_event_from_ix
        WHERE e.from_operator_id = @operator_id
            AND e.event_id > @after_event_id
            AND e.event IN ('TAKEN', 'TRANSFERRED', 'RELEASED')
            AND e.actor_id <> @operator_id
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
            e.reason
        FROM appl_lock_event AS e INDEXED BY appl_lock_event_to_ix
        WHERE e.to_operator_id = @operator_id
            AND e.event_id > @after_event_id
            AND e.event = 'TRANSFERRED'
            AND e.actor_id <> @operator_id
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
        ''
    FROM appl_lock_waiter AS w INDEXED BY appl_lock_waiter_holder_ix
    CROSS JOIN appl_lock_live AS l
    WHERE w.holder_id = @operator_id
        AND w.operator_id <> @operator_id
        AND w.expires_ts > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
        AND l.object_type = w.object_type
        AND l.object_id = w.object_id
        AND l.operator_id = @operator_id
) AS m
ORDER BY m.event_id = 0, m.event_id, m.event_ts, m.object_type, m.object_id, m.other_operator_id
LIMIT @max_rows;
