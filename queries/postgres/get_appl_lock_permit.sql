-- name: GetApplLockPermit :many
SELECT
    outcome::text AS outcome,
    slot_id::text AS slot_id,
    operator_id::text AS operator_id,
    department_id::text AS department_id,
    fence::bigint AS fence,
    (acquired_ts AT TIME ZONE 'UTC')::timestamp AS acquired_ts,
    (expires_ts AT TIME ZONE 'UTC')::timestamp AS expires_ts,
    seconds_left::bigint AS seconds_left,
    note::text AS note
FROM get_appl_lock_permit(
    @object_type::text,
    @object_id::text,
    @permits::bigint,
    @operator_id::text,
    sqlc.narg('department_id')::text,
    sqlc.narg('ttl_seconds')::bigint
);
