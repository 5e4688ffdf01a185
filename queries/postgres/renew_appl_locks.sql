-- name: RenewApplLocks :many
SELECT
    object_type::text AS object_type,
    object_id::text AS object_id,
    outcome::text AS outcome,
    old_operator_id::text AS old_operator_id,
    old_department_id::text AS old_department_id,
    (acquired_ts AT TIME ZONE 'UTC')::timestamp AS acquired_ts,
    (expires_ts AT TIME ZONE 'UTC')::timestamp AS expires_ts,
    seconds_left::bigint AS seconds_left
FROM renew_appl_locks(@grants::text);
