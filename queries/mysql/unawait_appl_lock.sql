-- name: UnawaitApplLock :exec
CALL unawait_appl_lock_row(
    sqlc.arg('object_type'),
    sqlc.arg('object_id'),
    sqlc.arg('operator_id'),
    sqlc.arg('client_id')
);
