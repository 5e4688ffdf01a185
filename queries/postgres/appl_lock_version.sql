-- name: ApplLockVersion :one
SELECT version::integer AS version
FROM appl_lock_version() AS version;
