-- name: ListApplLockPolicies :exec
CALL list_appl_lock_policies(
    sqlc.arg('object_type')
);
