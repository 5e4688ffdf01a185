-- name: RenewApplLocks :exec
CALL renew_appl_locks(
    sqlc.arg('grants')
);
