-- name: ApplLockAsking :many
SELECT
    a.object_type::text AS object_type,
    a.object_id::text AS object_id,
    a.operator_id::text AS operator_id,
    a.department_id::text AS department_id,
    a.client_id::text AS client_id,
    a.message::text AS message,
    (a.since_ts AT TIME ZONE 'UTC')::timestamp AS since_ts,
    (a.until_ts AT TIME ZONE 'UTC')::timestamp AS until_ts,
    a.waited_seconds::bigint AS waited_seconds,
    a.answer::text AS answer,
    a.answer_reason::text AS answer_reason,
    a.holder_id::text AS holder_id,
    a.holder_department_id::text AS holder_department_id,
    a.seconds_left::bigint AS seconds_left
FROM appl_lock_asking AS a
WHERE (a.object_type::text, a.object_id::text, a.operator_id::text, a.client_id::text)
        > (@after_type::text, @after_id::text, @after_operator_id::text,
            @after_client_id::text)
    AND (sqlc.narg('object_type')::text IS NULL OR a.object_type::text = sqlc.narg('object_type')::text)
    AND (sqlc.narg('object_id')::text IS NULL OR a.object_id::text = sqlc.narg('object_id')::text)
    AND (sqlc.narg('operator_id')::text IS NULL OR a.operator_id::text = sqlc.narg('operator_id')::text)
    AND (sqlc.narg('department_id')::text IS NULL OR a.department_id::text = sqlc.narg('department_id')::text)
ORDER BY a.object_type, a.object_id, a.operator_id, a.client_id
LIMIT @max_rows::bigint;
