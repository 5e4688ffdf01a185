-- name: ApplLockWaiting :many
SELECT
    w.object_type,
    w.object_id,
    w.operator_id,
    w.department_id,
    w.client_id,
    w.since_ts,
    w.until_ts,
    w.waited_seconds,
    w.holder_id,
    w.holder_department_id,
    w.seconds_left
FROM appl_lock_waiting AS w
WHERE (w.object_type > sqlc.arg('after_type') OR (w.object_type = sqlc.arg('after_type')
        AND (w.object_id > sqlc.arg('after_id') OR (w.object_id = sqlc.arg('after_id')
        AND (w.operator_id > sqlc.arg('after_operator_id') OR (w.operator_id = sqlc.arg('after_operator_id')
        AND w.client_id > sqlc.arg('after_client_id')))))))
    AND (sqlc.narg('object_type') IS NULL OR w.object_type = sqlc.narg('object_type'))
    AND (sqlc.narg('object_id') IS NULL OR w.object_id = sqlc.narg('object_id'))
    AND (sqlc.narg('operator_id') IS NULL OR w.operator_id = sqlc.narg('operator_id'))
    AND (sqlc.narg('department_id') IS NULL OR w.department_id = sqlc.narg('department_id'))
ORDER BY w.object_type, w.object_id, w.operator_id, w.client_id
LIMIT ?;
