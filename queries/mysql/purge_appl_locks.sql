-- name: PurgeApplLocks :exec
CALL purge_appl_locks_row(
    sqlc.arg('older_than_seconds'),
    sqlc.arg('max_rows')
);
