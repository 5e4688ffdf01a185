-- name: ApplLockViewers :many
SELECT
    v.object_type,
    v.object_id,
    v.operator_id,
    v.department_id,
    v.client_id,
    v.state,
    v.since_ts,
    v.seconds_left
FROM appl_lock_viewers AS v
WHERE (v.object_type > sqlc.arg('after_type') OR (v.object_type = sqlc.arg('after_type')
        AND (v.object_id > sqlc.arg('after_id') OR (v.object_id = sqlc.arg('after_id')
        AND (v.operator_id > sqlc.arg('after_operator_id') OR (v.operator_id = sqlc.arg('after_operator_id')
        AND v.client_id > sqlc.arg('after_client_id')))))))
    AND (sqlc.narg('object_type') IS NULL OR v.object_type = sqlc.narg('object_type'))
    AND (sqlc.narg('object_id') IS NULL OR v.object_id = sqlc.narg('object_id'))
    AND (sqlc.narg('operator_id') IS NULL OR v.operator_id = sqlc.narg('operator_id'))
    AND (sqlc.narg('department_id') IS NULL OR v.department_id = sqlc.narg('department_id'))
ORDER BY v.object_type, v.object_id, v.operator_id, v.client_id
LIMIT ?;
