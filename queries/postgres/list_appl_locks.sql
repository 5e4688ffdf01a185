-- name: ListApplLocks :many
SELECT
    object_type,
    object_id,
    operator_id,
    department_id,
    fence,
    acquired_ts,
    lock_ts,
    expires_ts
FROM list_appl_locks(
    sqlc.narg('object_type')::text,
    sqlc.narg('operator_id')::text,
    sqlc.narg('department_id')::text,
    @after_type::text,
    @after_id::text,
    @max_rows::bigint
);
