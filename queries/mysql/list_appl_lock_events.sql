-- name: ListApplLockEvents :exec
CALL list_appl_lock_events(
    sqlc.arg('object_type'),
    sqlc.arg('object_id'),
    sqlc.arg('operator_id'),
    sqlc.arg('since_seconds'),
    sqlc.arg('after_event_id'),
    sqlc.arg('max_rows')
);
