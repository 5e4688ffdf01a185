-- name: StatsApplLocks :many
SELECT
    object_type::text AS object_type,
    department_id::text AS department_id,
    live::bigint AS live,
    expired::bigint AS expired,
    oldest_seconds::bigint AS oldest_seconds,
    next_expiry_seconds::bigint AS next_expiry_seconds,
    waiters::bigint AS waiters,
    longest_wait_seconds::bigint AS longest_wait_seconds
FROM stats_appl_locks(
    sqlc.narg('object_type')::text,
    sqlc.narg('department_id')::text
);
