-- name: PurgeApplLockHistory :exec
CALL purge_appl_lock_history_row(
    sqlc.arg('older_than_seconds'),
    sqlc.arg('max_rows')
);
