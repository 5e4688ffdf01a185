-- name: TransferApplLocks :exec
CALL transfer_appl_locks(
    sqlc.arg('from_operator_id'),
    sqlc.arg('object_type'),
    sqlc.arg('to_operator_id'),
    sqlc.arg('to_department_id'),
    sqlc.arg('ttl_seconds'),
    sqlc.arg('actor_id'),
    sqlc.arg('reason'),
    sqlc.arg('after_type'),
    sqlc.arg('after_id'),
    sqlc.arg('max_rows'),
    sqlc.arg('dry_run_fl')
);
