-- name: TakeApplLock :exec
CALL take_appl_lock_row(
    sqlc.arg('object_type'),
    sqlc.arg('object_id'),
    sqlc.arg('operator_id'),
    sqlc.arg('department_id'),
    sqlc.arg('reason'),
    sqlc.arg('expected_fence'),
    sqlc.arg('ttl_seconds')
);
