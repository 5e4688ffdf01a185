-- appl_lock_history: one page of the history, oldest or newest first, all or that of a type, an object or an operator.
--
-- Contract   As the view of procedures/postgres/views.sql. The driver runs the statement for an object, for an operator, or for all, in the
--            one order or the other.
-- In         The arguments as the facade has checked and trimmed them; a NULL filter is any. The page starts after after_event_id;
--            newest first, before it.
-- Out        Rows of the view.
-- Raises     Nothing of its own.
-- Locks      None.
-- Race-free  A page is one snapshot. One transaction writes at a time, so events are numbered as they are committed.
--            An operator's page merges three indexes in the order of the page, and reads no more than the page.
-- Differs    Nothing.

-- name: ApplLockHistory :many
SELECT *
FROM appl_lock_history AS h
WHERE h.event_id > @after_event_id
    AND h.object_type = coalesce(sqlc.narg('object_type'), h.object_type)
    AND h.object_id = coalesce(sqlc.narg('object_id'), h.object_id)
    AND h.event_ts >= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - CAST(@since_seconds AS INTEGER) * 1000000
ORDER BY event_id
LIMIT @max_rows;

-- name: ApplLockHistoryOfObject :many
SELECT *
FROM appl_lock_history AS h
WHERE h.object_type = @object_type
    AND h.object_id = @object_id
    AND h.event_id > @after_event_id
    AND (
        h.actor_id = coalesce(sqlc.narg('operator_id'), h.actor_id)
        OR h.from_operator_id = sqlc.narg('operator_id')
        OR h.to_operator_id = sqlc.narg('operator_id')
    )
    AND h.event_ts >= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - CAST(@since_seconds AS INTEGER) * 1000000
ORDER BY event_id
LIMIT @max_rows;

-- name: ApplLockHistoryOfOperator :many
SELECT *
FROM appl_lock_history AS h
WHERE h.actor_id = @operator_id
    AND h.event_id > @after_event_id
    AND h.object_type = coalesce(sqlc.narg('object_type'), h.object_type)
    AND h.object_id = coalesce(sqlc.narg('object_id'), h.object_id)
    AND h.event_ts >= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - CAST(@since_seconds AS INTEGER) * 1000000
UNION
SELECT *
FROM appl_lock_history AS h
WHERE h.from_operator_id = @operator_id
    AND h.event_id > @after_event_id
    AND h.object_type = coalesce(sqlc.narg('object_type'), h.object_type)
    AND h.object_id = coalesce(sqlc.narg('object_id'), h.object_id)
    AND h.event_ts >= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - CAST(@since_seconds AS INTEGER) * 1000000
UNION
SELECT *
FROM appl_lock_history AS h
WHERE h.to_operator_id = @operator_id
    AND h.event_id > @after_event_id
    AND h.object_type = coalesce(sqlc.narg('object_type'), h.object_type)
    AND h.object_id = coalesce(sqlc.narg('object_id'), h.object_id)
    AND h.event_ts >= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - CAST(@since_seconds AS INTEGER) * 1000000
ORDER BY event_id
LIMIT @max_rows;

-- name: ApplLockHistoryNewest :many
SELECT *
FROM appl_lock_history AS h
WHERE h.event_id < @after_event_id
    AND h.object_type = coalesce(sqlc.narg('object_type'), h.object_type)
    AND h.object_id = coalesce(sqlc.narg('object_id'), h.object_id)
    AND h.event_ts >= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - CAST(@since_seconds AS INTEGER) * 1000000
ORDER BY event_id DESC
LIMIT @max_rows;

-- name: ApplLockHistoryOfObjectNewest :many
SELECT *
FROM appl_lock_history AS h
WHERE h.object_type = @object_type
    AND h.object_id = @object_id
    AND h.event_id < @after_event_id
    AND (
        h.actor_id = coalesce(sqlc.narg('operator_id'), h.actor_id)
        OR h.from_operator_id = sqlc.narg('operator_id')
        OR h.to_operator_id = sqlc.narg('operator_id')
    )
    AND h.event_ts >= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - CAST(@since_seconds AS INTEGER) * 1000000
ORDER BY event_id DESC
LIMIT @max_rows;

-- name: ApplLockHistoryOfOperatorNewest :many
SELECT *
FROM appl_lock_history AS h
WHERE h.actor_id = @operator_id
    AND h.event_id < @after_event_id
    AND h.object_type = coalesce(sqlc.narg('object_type'), h.object_type)
    AND h.object_id = coalesce(sqlc.narg('object_id'), h.object_id)
    AND h.event_ts >= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - CAST(@since_seconds AS INTEGER) * 1000000
UNION
SELECT *
FROM appl_lock_history AS h
WHERE h.from_operator_id = @operator_id
    AND h.event_id < @after_event_id
    AND h.object_type = coalesce(sqlc.narg('object_type'), h.object_type)
    AND h.object_id = coalesce(sqlc.narg('object_id'), h.object_id)
    AND h.event_ts >= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - CAST(@since_seconds AS INTEGER) * 1000000
UNION
SELECT *
FROM appl_lock_history AS h
WHERE h.to_operator_id = @operator_id
    AND h.event_id < @after_event_id
    AND h.object_type = coalesce(sqlc.narg('object_type'), h.object_type)
    AND h.object_id = coalesce(sqlc.narg('object_id'), h.object_id)
    AND h.event_ts >= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - CAST(@since_seconds AS INTEGER) * 1000000
ORDER BY event_id DESC
LIMIT @max_rows;
