-- name: SetApplLockPolicy :exec
CALL set_appl_lock_policy_row(
    sqlc.arg('object_type'),
    sqlc.arg('default_ttl_seconds'),
    sqlc.arg('longest_ttl_seconds'),
    sqlc.arg('take_reason_fl'),
    sqlc.arg('actor_id'),
    sqlc.arg('reason'),
    sqlc.arg('history_level'),
    sqlc.arg('presence_fl'),
    sqlc.arg('yield_after_seconds')
);
