-- name: GetApplLock :exec
CALL get_appl_lock_row(
    sqlc.arg('object_type'),
    sqlc.arg('object_id'),
    sqlc.arg('operator_id'),
    sqlc.arg('department_id'),
    sqlc.arg('ttl_seconds'),
    sqlc.arg('new_fl')
);

-- name: GetApplLocks :exec
CALL get_appl_lock_rows(
    sqlc.arg('gets')
);
