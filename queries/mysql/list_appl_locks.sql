-- name: ListApplLocks :exec
CALL list_appl_locks(
    sqlc.arg('object_type'),
    sqlc.arg('operator_id'),
    sqlc.arg('department_id'),
    sqlc.arg('after_type'),
    sqlc.arg('after_id'),
    sqlc.arg('max_rows')
);
