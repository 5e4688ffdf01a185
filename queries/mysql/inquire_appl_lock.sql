-- name: InquireApplLock :exec
CALL inquire_appl_lock_row(
    sqlc.arg('object_type'),
    sqlc.arg('object_id')
);
