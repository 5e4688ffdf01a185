-- name: ApplLockWaiting :many
SELECT
    w.object_type::text AS object_type,
    w.object_id::text AS object_id,
    w.operator_id::text AS operator_id,
    w.department_id::text AS department_id,
    w.client_id::text AS client_id,
    (w.since_ts AT TIME ZONE 'UTC')::timestamp AS since_ts,
    (w.until_ts AT TIME ZONE 'UTC')::timestamp AS until_ts,
    w.waited_seconds::bigint AS waited_seconds,
    w.holder_id::text AS holder_id,
    w.holder_department_id::text AS holder_department_id,
    w.seconds_left::bigint AS seconds_left
FROM appl_lock_waiting AS w
WHERE (w.object_type::text, w.object_id::text, w.operator_id::text, w.client_id::text)
        > (@after_type::text, @after_id::text, @after_operator_id::text,
            @after_client_id::text)
    AND (sqlc.narg('object_type')::text IS NULL OR w.object_type::text = sqlc.narg('object_type')::text)
    AND (sqlc.narg('object_id')::text IS NULL OR w.object_id::text = sqlc.narg('object_id')::text)
    AND (sqlc.narg('operator_id')::text IS NULL OR w.operator_id::text = sqlc.narg('operator_id')::text)
    AND (sqlc.narg('department_id')::text IS NULL OR w.department_id::text = sqlc.narg('department_id')::text)
ORDER BY w.object_type, w.object_id, w.operator_id, w.client_id
LIMIT @max_rows::bigint;
