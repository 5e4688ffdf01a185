-- name: GetApplLock :one
SELECT
    p_ok_fl::text AS ok_fl,
    p_outcome::text AS outcome,
    p_old_operator_id::text AS old_operator_id,
    p_old_department_id::text AS old_department_id,
    p_fence::bigint AS fence,
    (p_acquired_ts AT TIME ZONE 'UTC')::timestamp AS acquired_ts,
    (p_expires_ts AT TIME ZONE 'UTC')::timestamp AS expires_ts,
    p_seconds_left::bigint AS seconds_left,
    p_note::text AS note
FROM get_appl_lock_row(
    @object_type::text,
    @object_id::text,
    @operator_id::text,
    sqlc.narg('department_id')::text,
    sqlc.narg('ttl_seconds')::bigint,
    sqlc.narg('new_fl')::text
);

-- name: GetApplLocks :many
SELECT
    r.p_ok_fl::text AS ok_fl,
    r.p_outcome::text AS outcome,
    r.p_old_operator_id::text AS old_operator_id,
    r.p_old_department_id::text AS old_department_id,
    r.p_fence::bigint AS fence,
    (r.p_acquired_ts AT TIME ZONE 'UTC')::timestamp AS acquired_ts,
    (r.p_expires_ts AT TIME ZONE 'UTC')::timestamp AS expires_ts,
    r.p_seconds_left::bigint AS seconds_left,
    r.p_note::text AS note
FROM jsonb_array_elements(CAST(@gets::text AS jsonb)) WITH ORDINALITY AS g (get, place)
CROSS JOIN LATERAL get_appl_lock_row(
    g.get ->> 'object_type',
    g.get ->> 'object_id',
    g.get ->> 'operator_id',
    g.get ->> 'department_id',
    (g.get ->> 'ttl_seconds')::bigint,
    NULL::text
) AS r
ORDER BY g.place;
