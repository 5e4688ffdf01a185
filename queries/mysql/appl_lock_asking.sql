-- name: ApplLockAsking :many
SELECT
    a.object_type,
    a.object_id,
    a.operator_id,
    a.department_id,
    a.client_id,
    a.message,
    a.since_ts,
    a.until_ts,
    a.waited_seconds,
    a.answer,
    a.answer_reason,
    a.holder_id,
    a.holder_department_id,
    a.seconds_left
FROM appl_lock_asking AS a
WHERE (a.object_type > sqlc.arg('after_type') OR (a.object_type = sqlc.arg('after_type')
        AND (a.object_id > sqlc.arg('after_id') OR (a.object_id = sqlc.arg('after_id')
        AND (a.operator_id > sqlc.arg('after_operator_id') OR (a.operator_id = sqlc.arg('after_operator_id')
        AND a.client_id > sqlc.arg('after_client_id')))))))
    AND (sqlc.narg('object_type') IS NULL OR a.object_type = sqlc.narg('object_type'))
    AND (sqlc.narg('object_id') IS NULL OR a.object_id = sqlc.narg('object_id'))
    AND (sqlc.narg('operator_id') IS NULL OR a.operator_id = sqlc.narg('operator_id'))
    AND (sqlc.narg('department_id') IS NULL OR a.department_id = sqlc.narg('department_id'))
ORDER BY a.object_type, a.object_id, a.operator_id, a.client_id
LIMIT ?;
