-- name: PollApplLocks :exec
CALL poll_appl_locks(
    sqlc.arg('client_id'),
    sqlc.arg('max_rows')
);
