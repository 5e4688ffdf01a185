-- name: ApplLockHistory :many
SELECT
    e.event_id,
    e.event_ts,
    e.object_type,
    e.object_id,
    e.event,
    e.actor_id,
    e.db_user,
    e.program,
    e.from_operator_id,
    e.from_department_id,
    e.to_operator_id,
    e.to_department_id,
    e.from_fence,
    e.to_fence,
    e.reason
FROM appl_lock_history AS e
WHERE e.event_id > sqlc.arg('after_event_id')
    AND (sqlc.narg('object_type') IS NULL OR e.object_type = sqlc.narg('object_type'))
    AND (sqlc.narg('object_id') IS NULL OR e.object_id = sqlc.narg('object_id'))
    AND (CAST(sqlc.narg('since_seconds') AS SIGNED) IS NULL OR TIMESTAMPDIFF(SECOND, e.event_ts, UTC_TIMESTAMP()) <= CAST(sqlc.narg('since_seconds') AS SIGNED))
ORDER BY e.event_id
LIMIT ?;

-- name: ApplLockHistoryNewest :many
SELECT
    e.event_id,
    e.event_ts,
    e.object_type,
    e.object_id,
    e.event,
    e.actor_id,
    e.db_user,
    e.program,
    e.from_operator_id,
    e.from_department_id,
    e.to_operator_id,
    e.to_department_id,
    e.from_fence,
    e.to_fence,
    e.reason
FROM appl_lock_history AS e
WHERE e.event_id < sqlc.arg('after_event_id')
    AND (sqlc.narg('object_type') IS NULL OR e.object_type = sqlc.narg('object_type'))
    AND (sqlc.narg('object_id') IS NULL OR e.object_id = sqlc.narg('object_id'))
    AND (CAST(sqlc.narg('since_seconds') AS SIGNED) IS NULL OR TIMESTAMPDIFF(SECOND, e.event_ts, UTC_TIMESTAMP()) <= CAST(sqlc.narg('since_seconds') AS SIGNED))
ORDER BY e.event_id DESC
LIMIT ?;

-- name: ApplLockHistoryOf :many
SELECT
    h.event_id,
    h.event_ts,
    h.object_type,
    h.object_id,
    h.event,
    h.actor_id,
    h.db_user,
    h.program,
    h.from_operator_id,
    h.from_department_id,
    h.to_operator_id,
    h.to_department_id,
    h.from_fence,
    h.to_fence,
    h.reason
FROM (
    (
        SELECT e.event_id
        FROM appl_lock_history AS e
        WHERE e.actor_id >= sqlc.arg('operator_id')
            AND e.actor_id <= sqlc.arg('operator_id')
            AND e.event_id > sqlc.arg('after_event_id')
            AND (sqlc.narg('object_type') IS NULL OR e.object_type = sqlc.narg('object_type'))
            AND (sqlc.narg('object_id') IS NULL OR e.object_id = sqlc.narg('object_id'))
            AND (CAST(sqlc.narg('since_seconds') AS SIGNED) IS NULL OR TIMESTAMPDIFF(SECOND, e.event_ts, UTC_TIMESTAMP()) <= CAST(sqlc.narg('since_seconds') AS SIGNED))
        ORDER BY e.actor_id, e.event_id
        LIMIT ?
    )
    UNION
    (
        SELECT e.event_id
        FROM appl_lock_history AS e
        WHERE e.from_operator_id >= sqlc.arg('operator_id')
            AND e.from_operator_id <= sqlc.arg('operator_id')
            AND e.event_id > sqlc.arg('after_event_id')
            AND (sqlc.narg('object_type') IS NULL OR e.object_type = sqlc.narg('object_type'))
            AND (sqlc.narg('object_id') IS NULL OR e.object_id = sqlc.narg('object_id'))
            AND (CAST(sqlc.narg('since_seconds') AS SIGNED) IS NULL OR TIMESTAMPDIFF(SECOND, e.event_ts, UTC_TIMESTAMP()) <= CAST(sqlc.narg('since_seconds') AS SIGNED))
        ORDER BY e.from_operator_id, e.event_id
        LIMIT ?
    )
    UNION
    (
        SELECT e.event_id
        FROM appl_lock_history AS e
        WHERE e.to_operator_id >= sqlc.arg('operator_id')
            AND e.to_operator_id <= sqlc.arg('operator_id')
            AND e.event_id > sqlc.arg('after_event_id')
            AND (sqlc.narg('object_type') IS NULL OR e.object_type = sqlc.narg('object_type'))
            AND (sqlc.narg('object_id') IS NULL OR e.object_id = sqlc.narg('object_id'))
            AND (CAST(sqlc.narg('since_seconds') AS SIGNED) IS NULL OR TIMESTAMPDIFF(SECOND, e.event_ts, UTC_TIMESTAMP()) <= CAST(sqlc.narg('since_seconds') AS SIGNED))
        ORDER BY e.to_operator_id, e.event_id
        LIMIT ?
    )
) AS p
JOIN appl_lock_history AS h
    ON h.event_id = p.event_id
ORDER BY h.event_id
LIMIT ?;

-- name: ApplLockHistoryOfNewest :many
-- BETWEEN instead of =: with = MariaDB would read the operator's events from the newest down to the page.
SELECT
    h.event_id,
    h.event_ts,
    h.object_type,
    h.object_id,
    h.event,
    h.actor_id,
    h.db_user,
    h.program,
    h.from_operator_id,
    h.from_department_id,
    h.to_operator_id,
    h.to_department_id,
    h.from_fence,
    h.to_fence,
    h.reason
FROM (
    (
        SELECT e.event_id
        FROM appl_lock_history AS e
        WHERE e.actor_id >= sqlc.arg('operator_id')
            AND e.actor_id <= sqlc.arg('operator_id')
            AND e.event_id < sqlc.arg('after_event_id')
            AND (sqlc.narg('object_type') IS NULL OR e.object_type = sqlc.narg('object_type'))
            AND (sqlc.narg('object_id') IS NULL OR e.object_id = sqlc.narg('object_id'))
            AND (CAST(sqlc.narg('since_seconds') AS SIGNED) IS NULL OR TIMESTAMPDIFF(SECOND, e.event_ts, UTC_TIMESTAMP()) <= CAST(sqlc.narg('since_seconds') AS SIGNED))
        ORDER BY e.actor_id DESC, e.event_id DESC
        LIMIT ?
    )
    UNION
    (
        SELECT e.event_id
        FROM appl_lock_history AS e
        WHERE e.from_operator_id >= sqlc.arg('operator_id')
            AND e.from_operator_id <= sqlc.arg('operator_id')
            AND e.event_id < sqlc.arg('after_event_id')
            AND (sqlc.narg('object_type') IS NULL OR e.object_type = sqlc.narg('object_type'))
            AND (sqlc.narg('object_id') IS NULL OR e.object_id = sqlc.narg('object_id'))
            AND (CAST(sqlc.narg('since_seconds') AS SIGNED) IS NULL OR TIMESTAMPDIFF(SECOND, e.event_ts, UTC_TIMESTAMP()) <= CAST(sqlc.narg('since_seconds') AS SIGNED))
        ORDER BY e.from_operator_id DESC, e.event_id DESC
        LIMIT ?
    )
    UNION
    (
        SELECT e.event_id
        FROM appl_lock_history AS e
        WHERE e.to_operator_id >= sqlc.arg('operator_id')
            AND e.to_operator_id <= sqlc.arg('operator_id')
            AND e.event_id < sqlc.arg('after_event_id')
            AND (sqlc.narg('object_type') IS NULL OR e.object_type = sqlc.narg('object_type'))
            AND (sqlc.narg('object_id') IS NULL OR e.object_id = sqlc.narg('object_id'))
            AND (CAST(sqlc.narg('since_seconds') AS SIGNED) IS NULL OR TIMESTAMPDIFF(SECOND, e.event_ts, UTC_TIMESTAMP()) <= CAST(sqlc.narg('since_seconds') AS SIGNED))
        ORDER BY e.to_operator_id DESC, e.event_id DESC
        LIMIT ?
    )
) AS p
JOIN appl_lock_history AS h
    ON h.event_id = p.event_id
ORDER BY h.event_id DESC
LIMIT ?;
