-- name: SeeApplLock :exec
CALL see_appl_lock(
    sqlc.arg('object_type'),
    sqlc.arg('object_id'),
    sqlc.arg('operator_id'),
    sqlc.arg('department_id'),
    sqlc.arg('client_id'),
    sqlc.arg('state'),
    sqlc.arg('ttl_seconds')
);
