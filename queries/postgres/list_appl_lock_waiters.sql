-- name: ListApplLockWaiters :many
SELECT
    object_type::text AS object_type,
    object_id::text AS object_id,
    operator_id::text AS operator_id,
    department_id::text AS department_id,
    client_id::text AS client_id,
    since_ts::timestamptz AS since_ts,
    until_ts::timestamptz AS until_ts,
    expires_ts::timestamptz AS expires_ts,
    seconds_left::bigint AS seconds_left
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
