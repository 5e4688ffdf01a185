-- name: AskApplLock :exec
CALL ask_appl_lock_row(
    sqlc.arg('object_type'),
    sqlc.arg('object_id'),
    sqlc.arg('operator_id'),
    sqlc.arg('department_id'),
    sqlc.arg('client_id'),
    sqlc.arg('message'),
    sqlc.arg('wait_seconds')
);
