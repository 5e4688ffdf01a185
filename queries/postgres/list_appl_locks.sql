-- name: ListApplLocks :many
SELECT
    object_type::text AS object_type,
    object_id::text AS object_id,
    operator_id::text AS operator_id,
    department_id::text AS department_id,
    fence::bigint AS fence,
    acquired_ts::timestamptz AS acquired_ts,
    lock_ts::timestamptz AS lock_ts,
    expires_ts::timestamptz AS expires_ts,
    seconds_left::bigint AS seconds_left,
    note::text AS note
FROM list_appl_locks(
    sqlc.narg('object_type')::text,
    sqlc.narg('operator_id')::text,
    sqlc.narg('department_id')::text,
    @after_type::text,
    @after_id::text,
    @max_rows::bigint
);
