-- name: InboxApplLocks :exec
CALL inbox_appl_locks(
    sqlc.arg('operator_id'),
    sqlc.arg('after_event_id'),
    sqlc.arg('max_rows')
);
