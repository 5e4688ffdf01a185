-- name: ReleaseApplLocks :exec
CALL release_appl_locks(
    sqlc.arg('operator_id'),
    sqlc.arg('object_type'),
    sqlc.arg('actor_id'),
    sqlc.arg('reason'),
    sqlc.arg('after_type'),
    sqlc.arg('after_id'),
    sqlc.arg('max_rows'),
    sqlc.arg('dry_run_fl')
);
