-- A type is the range from its first key on. With = and without statistics the server would sort the whole type.
-- name: ApplLockLive :many
SELECT
    l.object_type::text AS object_type,
    l.object_id::text AS object_id,
    l.operator_id::text AS operator_id,
    l.department_id::text AS department_id,
    l.fence::bigint AS fence,
    (l.acquired_ts AT TIME ZONE 'UTC')::timestamp AS acquired_ts,
    (l.lock_ts AT TIME ZONE 'UTC')::timestamp AS lock_ts,
    (l.expires_ts AT TIME ZONE 'UTC')::timestamp AS expires_ts,
    l.seconds_left::bigint AS seconds_left,
    l.ttl_seconds::bigint AS ttl_seconds,
    l.note::text AS note
FROM appl_lock_live AS l
WHERE (l.object_type::text, l.object_id::text) > (@after_type::text, @after_id::text)
    AND (sqlc.narg('object_type')::text IS NULL OR l.object_type::text <= sqlc.narg('object_type')::text)
    AND (sqlc.narg('operator_id')::text IS NULL OR l.operator_id::text = sqlc.narg('operator_id')::text)
    AND (sqlc.narg('department_id')::text IS NULL OR l.department_id::text = sqlc.narg('department_id')::text)
    AND (
        @older_than_seconds::bigint = 0
        OR l.acquired_ts <= statement_timestamp() - pg_catalog.make_interval(secs => @older_than_seconds::bigint)
    )
    AND (@expires_within_seconds::bigint = 0 OR l.seconds_left <= @expires_within_seconds::bigint)
ORDER BY l.object_type, l.object_id
LIMIT @max_rows::bigint;

-- name: ApplLockLiveByTime :many
SELECT
    l.object_type::text AS object_type,
    l.object_id::text AS object_id,
    l.operator_id::text AS operator_id,
    l.department_id::text AS department_id,
    l.fence::bigint AS fence,
    (l.acquired_ts AT TIME ZONE 'UTC')::timestamp AS acquired_ts,
    (l.lock_ts AT TIME ZONE 'UTC')::timestamp AS lock_ts,
    (l.expires_ts AT TIME ZONE 'UTC')::timestamp AS expires_ts,
    l.seconds_left::bigint AS seconds_left,
    l.ttl_seconds::bigint AS ttl_seconds,
    l.note::text AS note
FROM appl_lock_live AS l
WHERE (sqlc.narg('object_type')::text IS NULL OR l.object_type::text = sqlc.narg('object_type')::text)
    AND (sqlc.narg('operator_id')::text IS NULL OR l.operator_id::text = sqlc.narg('operator_id')::text)
    AND (sqlc.narg('department_id')::text IS NULL OR l.department_id::text = sqlc.narg('department_id')::text)
    AND (
        @older_than_seconds::bigint = 0
        OR l.acquired_ts <= statement_timestamp() - pg_catalog.make_interval(secs => @older_than_seconds::bigint)
    )
    AND (@expires_within_seconds::bigint = 0 OR l.seconds_left <= @expires_within_seconds::bigint)
ORDER BY CASE WHEN @oldest::boolean THEN l.acquired_ts ELSE l.expires_ts END, l.object_type, l.object_id
LIMIT @max_rows::bigint;

-- name: ApplLockLiveWaitedFor :many
SELECT
    l.object_type::text AS object_type,
    l.object_id::text AS object_id,
    l.operator_id::text AS operator_id,
    l.department_id::text AS department_id,
    l.fence::bigint AS fence,
    (l.acquired_ts AT TIME ZONE 'UTC')::timestamp AS acquired_ts,
    (l.lock_ts AT TIME ZONE 'UTC')::timestamp AS lock_ts,
    (l.expires_ts AT TIME ZONE 'UTC')::timestamp AS expires_ts,
    l.seconds_left::bigint AS seconds_left,
    l.ttl_seconds::bigint AS ttl_seconds,
    l.note::text AS note
FROM appl_lock_live AS l
INNER JOIN (
    SELECT w.object_type, w.object_id, min(w.since_ts) AS since_ts
    FROM appl_lock_waiting AS w
    GROUP BY w.object_type, w.object_id
) AS w
    ON w.object_type::text = l.object_type::text
    AND w.object_id::text = l.object_id::text
WHERE (sqlc.narg('object_type')::text IS NULL OR l.object_type::text = sqlc.narg('object_type')::text)
    AND (sqlc.narg('operator_id')::text IS NULL OR l.operator_id::text = sqlc.narg('operator_id')::text)
    AND (sqlc.narg('department_id')::text IS NULL OR l.department_id::text = sqlc.narg('department_id')::text)
    AND (
        @older_than_seconds::bigint = 0
        OR l.acquired_ts <= statement_timestamp() - pg_catalog.make_interval(secs => @older_than_seconds::bigint)
    )
    AND (@expires_within_seconds::bigint = 0 OR l.seconds_left <= @expires_within_seconds::bigint)
ORDER BY w.since_ts, l.object_type, l.object_id
LIMIT @max_rows::bigint;
