-- name: ApplLockViewers :many
SELECT
    v.object_type::text AS object_type,
    v.object_id::text AS object_id,
    v.operator_id::text AS operator_id,
    v.department_id::text AS department_id,
    v.client_id::text AS client_id,
    v.state::text AS state,
    (v.since_ts AT TIME ZONE 'UTC')::timestamp AS since_ts,
    v.seconds_left::bigint AS seconds_left
FROM appl_lock_viewers AS v
WHERE (v.object_type::text, v.object_id::text, v.operator_id::text, v.client_id::text)
        > (@after_type::text, @after_id::text, @after_operator_id::text,
            @after_client_id::text)
    AND (sqlc.narg('object_type')::text IS NULL OR v.object_type::text = sqlc.narg('object_type')::text)
    AND (sqlc.narg('object_id')::text IS NULL OR v.object_id::text = sqlc.narg('object_id')::text)
    AND (sqlc.narg('operator_id')::text IS NULL OR v.operator_id::text = sqlc.narg('operator_id')::text)
    AND (sqlc.narg('department_id')::text IS NULL OR v.department_id::text = sqlc.narg('department_id')::text)
ORDER BY v.object_type, v.object_id, v.operator_id, v.client_id
LIMIT @max_rows::bigint;
