-- name: AskApplLock :one
SELECT
    p_ok_fl::text AS ok_fl,
    p_outcome::text AS outcome,
    p_old_operator_id::text AS old_operator_id,
    p_old_department_id::text AS old_department_id,
    p_fence::bigint AS fence,
    (p_acquired_ts AT TIME ZONE 'UTC')::timestamp AS acquired_ts,
    (p_expires_ts AT TIME ZONE 'UTC')::timestamp AS expires_ts,
    p_seconds_left::bigint AS seconds_left
FROM ask_appl_lock_row(
    @object_type::text,
    @object_id::text,
    @operator_id::text,
    @department_id::text,
    @client_id::text,
    @message::text,
    sqlc.narg('wait_seconds')::bigint
);
