-- name: InquireApplLock :one
SELECT
    p_ok_fl::text AS ok_fl,
    p_operator_id::text AS operator_id,
    p_department_id::text AS department_id,
    p_fence::bigint AS fence,
    (p_acquired_ts AT TIME ZONE 'UTC')::timestamp AS acquired_ts,
    (p_lock_ts AT TIME ZONE 'UTC')::timestamp AS lock_ts,
    (p_expires_ts AT TIME ZONE 'UTC')::timestamp AS expires_ts,
    p_seconds_left::bigint AS seconds_left,
    p_note::text AS note
FROM inquire_appl_lock_row(@object_type::text, @object_id::text);
