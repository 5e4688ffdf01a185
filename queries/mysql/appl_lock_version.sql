-- name: ApplLockVersion :exec
CALL appl_lock_version();
