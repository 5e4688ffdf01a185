-- name: StatsApplLocks :exec
CALL stats_appl_locks(
    sqlc.arg('object_type'),
    sqlc.arg('department_id')
);
