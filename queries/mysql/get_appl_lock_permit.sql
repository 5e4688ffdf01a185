-- name: GetApplLockPermit :exec
CALL get_appl_lock_permit(
    sqlc.arg('object_type'),
    sqlc.arg('object_id'),
    sqlc.arg('permits'),
    sqlc.arg('operator_id'),
    sqlc.arg('department_id'),
    sqlc.arg('ttl_seconds')
);
