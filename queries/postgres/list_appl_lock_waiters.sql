-- name: ListApplLockWaiters :many
SELECT
    object_type,
    object_id,
    operator_id,
    department_id,
    client_id,
    since_ts,
    until_ts,
    expires_ts
FROM list_appl_lock_waiters(
    sqlc.narg('object_type')::text,
    sqlc.narg('object_id')::text,
    sqlc.narg('operator_id')::text,
    sqlc.narg('department_id')::text,
    @after_type::text,
    @after_id::text,
    @after_operator_id::text,
    @after_client_id::text,
    @max_rows::bigint
);
