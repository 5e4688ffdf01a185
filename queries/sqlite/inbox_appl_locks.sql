-- inbox_appl_locks: what concerns an operator: what others did with its locks, who waits for them, and which of them end
-- within the hour.
--
-- Contract   As procedures/postgres/inbox_appl_locks.sql.
-- In         The arguments as the facade has checked and trimmed them; after_event_id 0 = no event has been seen.
-- Out        Rows as there; event_ts in microseconds.
-- Raises     Nothing of its own.
-- Locks      None. It reads what the reference reads.
-- Race-free  The answer is one snapshot. One transaction writes at a time, so that events are numbered as they are committed.
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
    m.reason
FROM (
    SELECT
        1 AS part,
        CASE e.event WHEN 'RELEASED' THEN 'RELEASED' ELSE 'TAKEN' END AS kind,
        e.event_id,
        e.object_type,
        e.object_id,
        CASE e.event WHEN 'RELEASED' THEN e.actor_id ELSE e.to_operator_id END AS other_operator_id,
        e.to_department_id AS other_department_id,
        e.event_ts,
        0 AS seconds_left,
        e.reason
    FROM appl_lock_event AS e
    WHERE e.from_operator_id = @operator_id
        AND e.event_id > @after_event_id
        AND e.event IN ('TAKEN', 'TRANSFERRED', 'RELEASED')
        AND e.actor_id <> @operator_id
        AND e.to_operator_id <> @operator_id
    UNION ALL
    SELECT
        1,
        'HANDED',
        e.event_id,
        e.object_type,
        e.object_id,
        e.from_operator_id,
        e.from_department_id,
        e.event_ts,
        0,
        e.reason
    FROM appl_lock_event AS e
    WHERE e.to_operator_id = @operator_id
        AND e.event_id > @after_event_id
        AND e.event = 'TRANSFERRED'
        AND e.actor_id <> @operator_id
    UNION ALL
    SELECT
        2,
        'AWAITED',
        0,
        w.object_type,
        w.object_id,
        w.operator_id,
        w.department_id,
        w.since_ts,
        (l.expires_ts - CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + 999999) / 1000000,
        ''
    FROM appl_lock_waiter AS w
    CROSS JOIN appl_lock AS l
    WHERE l.object_type = w.object_type
        AND l.object_id = w.object_id
        AND l.operator_id = @operator_id
        AND l.expires_ts > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
        AND w.operator_id <> @operator_id
        AND w.expires_ts > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
    UNION ALL
    SELECT
        3,
        'EXPIRING',
        0,
        l.object_type,
        l.object_id,
        '',
        '',
        l.expires_ts,
        (l.expires_ts - CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + 999999) / 1000000,
        ''
    FROM appl_lock AS l
    WHERE l.operator_id = @operator_id
        AND l.expires_ts > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
        AND l.expires_ts <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + 3600000000
) AS m
ORDER BY m.part, m.event_id, m.event_ts, m.object_type, m.object_id, m.other_operator_id
LIMIT @max_rows;
