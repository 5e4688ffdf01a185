-- name: ReleaseApplLock :exec
CALL release_appl_lock_row(
    sqlc.arg('object_type'),
    sqlc.arg('object_id'),
    sqlc.arg('operator_id'),
    sqlc.arg('fence'),
    sqlc.arg('actor_id'),
    sqlc.arg('reason')
);

-- name: PassApplLock :exec
CALL release_appl_lock_pass(
    sqlc.arg('object_type'),
    sqlc.arg('object_id'),
    sqlc.arg('operator_id'),
    sqlc.arg('fence'),
    sqlc.arg('next_operator_id'),
    sqlc.arg('next_department_id'),
    sqlc.arg('ttl_seconds')
);
