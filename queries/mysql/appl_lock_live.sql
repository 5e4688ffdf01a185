-- name: ApplLockLive :many
SELECT
    l.object_type,
    l.object_id,
    l.operator_id,
    l.department_id,
    l.fence,
    l.acquired_ts,
    l.lock_ts,
    l.expires_ts,
    l.seconds_left,
    l.ttl_seconds,
    l.note
FROM appl_lock_live AS l
WHERE (l.object_type > sqlc.arg('after_type') OR (l.object_type = sqlc.arg('after_type') AND l.object_id > sqlc.arg('after_id')))
    AND (sqlc.narg('object_type') IS NULL OR (l.object_type >= sqlc.narg('object_type') AND l.object_type <= sqlc.narg('object_type')))
    AND (sqlc.narg('operator_id') IS NULL OR l.operator_id = sqlc.narg('operator_id'))
    AND (sqlc.narg('department_id') IS NULL OR l.department_id = sqlc.narg('department_id'))
    AND (CAST(sqlc.narg('older_than_seconds') AS SIGNED) IS NULL OR TIMESTAMPDIFF(SECOND, l.acquired_ts, UTC_TIMESTAMP()) >= CAST(sqlc.narg('older_than_seconds') AS SIGNED))
    AND (CAST(sqlc.narg('expires_within_seconds') AS SIGNED) IS NULL OR l.seconds_left <= CAST(sqlc.narg('expires_within_seconds') AS SIGNED))
ORDER BY l.object_type, l.object_id
LIMIT ?;

-- name: ApplLockLiveEndsSoonest :many
SELECT
    l.object_type,
    l.object_id,
    l.operator_id,
    l.department_id,
    l.fence,
    l.acquired_ts,
    l.lock_ts,
    l.expires_ts,
    l.seconds_left,
    l.ttl_seconds,
    l.note
FROM appl_lock_live AS l
WHERE (sqlc.narg('object_type') IS NULL OR (l.object_type >= sqlc.narg('object_type') AND l.object_type <= sqlc.narg('object_type')))
    AND (sqlc.narg('operator_id') IS NULL OR l.operator_id = sqlc.narg('operator_id'))
    AND (sqlc.narg('department_id') IS NULL OR l.department_id = sqlc.narg('department_id'))
    AND (CAST(sqlc.narg('older_than_seconds') AS SIGNED) IS NULL OR TIMESTAMPDIFF(SECOND, l.acquired_ts, UTC_TIMESTAMP()) >= CAST(sqlc.narg('older_than_seconds') AS SIGNED))
    AND (CAST(sqlc.narg('expires_within_seconds') AS SIGNED) IS NULL OR l.seconds_left <= CAST(sqlc.narg('expires_within_seconds') AS SIGNED))
ORDER BY l.expires_ts, l.object_type, l.object_id
LIMIT ?;

-- name: ApplLockLiveOldest :many
SELECT
    l.object_type,
    l.object_id,
    l.operator_id,
    l.department_id,
    l.fence,
    l.acquired_ts,
    l.lock_ts,
    l.expires_ts,
    l.seconds_left,
    l.ttl_seconds,
    l.note
FROM appl_lock_live AS l
WHERE (sqlc.narg('object_type') IS NULL OR (l.object_type >= sqlc.narg('object_type') AND l.object_type <= sqlc.narg('object_type')))
    AND (sqlc.narg('operator_id') IS NULL OR l.operator_id = sqlc.narg('operator_id'))
    AND (sqlc.narg('department_id') IS NULL OR l.department_id = sqlc.narg('department_id'))
    AND (CAST(sqlc.narg('older_than_seconds') AS SIGNED) IS NULL OR TIMESTAMPDIFF(SECOND, l.acquired_ts, UTC_TIMESTAMP()) >= CAST(sqlc.narg('older_than_seconds') AS SIGNED))
    AND (CAST(sqlc.narg('expires_within_seconds') AS SIGNED) IS NULL OR l.seconds_left <= CAST(sqlc.narg('expires_within_seconds') AS SIGNED))
ORDER BY l.acquired_ts, l.object_type, l.object_id
LIMIT ?;

-- name: ApplLockLiveWaitedFor :many
SELECT
    l.object_type,
    l.object_id,
    l.operator_id,
    l.department_id,
    l.fence,
    l.acquired_ts,
    l.lock_ts,
    l.expires_ts,
    l.seconds_left,
    l.ttl_seconds,
    l.note
FROM (
    SELECT w.object_type, w.object_id, MIN(w.since_ts) AS since_ts
    FROM appl_lock_waiting AS w
    GROUP BY w.object_type, w.object_id
) AS a
JOIN appl_lock_live AS l
    ON l.object_type = a.object_type
    AND l.object_id = a.object_id
WHERE (sqlc.narg('object_type') IS NULL OR (l.object_type >= sqlc.narg('object_type') AND l.object_type <= sqlc.narg('object_type')))
    AND (sqlc.narg('operator_id') IS NULL OR l.operator_id = sqlc.narg('operator_id'))
    AND (sqlc.narg('department_id') IS NULL OR l.department_id = sqlc.narg('department_id'))
    AND (CAST(sqlc.narg('older_than_seconds') AS SIGNED) IS NULL OR TIMESTAMPDIFF(SECOND, l.acquired_ts, UTC_TIMESTAMP()) >= CAST(sqlc.narg('older_than_seconds') AS SIGNED))
    AND (CAST(sqlc.narg('expires_within_seconds') AS SIGNED) IS NULL OR l.seconds_left <= CAST(sqlc.narg('expires_within_seconds') AS SIGNED))
ORDER BY a.since_ts, l.object_type, l.object_id
LIMIT ?;
