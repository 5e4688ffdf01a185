-- name: ReleaseApplLocks :many
SELECT
    object_type::text AS object_type,
    object_id::text AS object_id,
    outcome::text AS outcome,
    old_operator_id::text AS old_operator_id,
    old_department_id::text AS old_department_id,
    fence::bigint AS fence,
    (expires_ts AT TIME ZONE 'UTC')::timestamp AS expires_ts,
    seconds_left::bigint AS seconds_left
FROM release_appl_locks(
    @operator_id::text,
    sqlc.narg('object_type')::text,
    sqlc.narg('actor_id')::text,
    sqlc.narg('reason')::text,
    @after_type::text,
    @after_id::text,
    @max_rows::bigint,
    sqlc.narg('dry_run_fl')::text
);
