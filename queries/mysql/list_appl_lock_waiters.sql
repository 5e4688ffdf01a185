-- name: ListApplLockWaiters :exec
CALL list_appl_lock_waiters(
    sqlc.arg('object_type'),
    sqlc.arg('object_id'),
    sqlc.arg('operator_id'),
    sqlc.arg('department_id'),
    sqlc.arg('after_type'),
    sqlc.arg('after_id'),
    sqlc.arg('after_operator_id'),
    sqlc.arg('after_client_id'),
    sqlc.arg('max_rows')
);
