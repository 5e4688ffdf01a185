-- list_appl_lock_events: one page of the history, oldest first, all or that of a type, an object or an operator.
--
-- Contract   As procedures/postgres/list_appl_lock_events.sql. The driver runs the statement for an object or the other one.
-- In         The arguments as the facade has checked and trimmed them; a NULL filter is any.
-- Out        Rows of appl_lock_event, ordered by event_id.
-- Raises     Nothing of its own.
-- Locks      None.
-- Race-free  A page is one snapshot. One transaction writes at a time, so that events are numbered as they are committed.
-- Differs    Nothing.

-- name: ListApplLockEvents :many
SELECT
    event_id, event_ts, object_type, object_id, event, actor_id, db_user, program,
    from_operator_id, from_department_id, to_operator_id, to_department_id, from_fence, to_fence, reason
FROM appl_lock_event
WHERE event_id > @after_event_id
    AND object_type = coalesce(sqlc.narg('object_type'), object_type)
    AND object_id = coalesce(sqlc.narg('object_id'), object_id)
    AND (
        actor_id = coalesce(sqlc.narg('operator_id'), actor_id)
        OR from_operator_id = sqlc.narg('operator_id')
        OR to_operator_id = sqlc.narg('operator_id')
    )
    AND event_ts >= coalesce(CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - CAST(sqlc.narg('since_seconds') AS INTEGER) * 1000000, event_ts)
ORDER BY event_id
LIMIT @max_rows;

-- name: ListApplLockEventsOfObject :many
SELECT
    event_id, event_ts, object_type, object_id, event, actor_id, db_user, program,
    from_operator_id, from_department_id, to_operator_id, to_department_id, from_fence, to_fence, reason
FROM appl_lock_event
WHERE object_type = @object_type
    AND object_id = @object_id
    AND event_id > @after_event_id
    AND (
        actor_id = coalesce(sqlc.narg('operator_id'), actor_id)
        OR from_operator_id = sqlc.narg('operator_id')
        OR to_operator_id = sqlc.narg('operator_id')
    )
    AND event_ts >= coalesce(CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - CAST(sqlc.narg('since_seconds') AS INTEGER) * 1000000, event_ts)
ORDER BY event_id
LIMIT @max_rows;
