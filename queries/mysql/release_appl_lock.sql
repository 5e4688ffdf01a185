-- name: ReleaseApplLock :exec
CALL release_appl_lock_row(
    sqlc.arg('object_type'),
    sqlc.arg('object_id'),
    sqlc.arg('operator_id'),
    sqlc.arg('fence'),
    sqlc.arg('actor_id'),
    sqlc.arg('reason')
);
