-- name: TransferApplLock :one
SELECT
    p_ok_fl::text AS ok_fl,
    p_outcome::text AS outcome,
    p_old_operator_id::text AS old_operator_id,
    p_old_department_id::text AS old_department_id,
    p_fence::bigint AS fence,
    (p_acquired_ts AT TIME ZONE 'UTC')::timestamp AS acquired_ts,
    (p_expires_ts AT TIME ZONE 'UTC')::timestamp AS expires_ts,
    p_seconds_left::bigint AS seconds_left
FROM transfer_appl_lock_row(
    @object_type::text,
    @object_id::text,
    @from_operator_id::text,
    @to_operator_id::text,
    @to_department_id::text,
    sqlc.narg('ttl_seconds')::bigint,
    sqlc.narg('actor_id')::text,
    sqlc.narg('reason')::text
);
