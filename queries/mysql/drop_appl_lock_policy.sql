-- name: DropApplLockPolicy :exec
CALL drop_appl_lock_policy_row(
    sqlc.arg('object_type'),
    sqlc.arg('actor_id'),
    sqlc.arg('reason')
);
