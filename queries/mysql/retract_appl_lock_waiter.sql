-- name: RetractApplLockWaiter :exec
CALL retract_appl_lock_waiter_row(
    sqlc.arg('object_type'),
    sqlc.arg('object_id'),
    sqlc.arg('operator_id'),
    sqlc.arg('client_id')
);
