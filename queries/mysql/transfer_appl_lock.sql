-- name: TransferApplLock :exec
CALL transfer_appl_lock_row(
    sqlc.arg('object_type'),
    sqlc.arg('object_id'),
    sqlc.arg('from_operator_id'),
    sqlc.arg('to_operator_id'),
    sqlc.arg('to_department_id'),
    sqlc.arg('ttl_seconds'),
    sqlc.arg('actor_id'),
    sqlc.arg('reason')
);
