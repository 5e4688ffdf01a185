-- name: ReleaseApplLock :one
SELECT
    p_ok_fl::text AS ok_fl,
    p_outcome::text AS outcome,
    p_old_operator_id::text AS old_operator_id,
    p_old_department_id::text AS old_department_id,
    CASE WHEN @unflushed::boolean THEN set_config('synchronous_commit', 'off', true) = 'off' ELSE false END AS unflushed
FROM release_appl_lock_row(
    @object_type::text,
    @object_id::text,
    @operator_id::text,
    sqlc.narg('fence')::bigint,
    sqlc.narg('actor_id')::text,
    sqlc.narg('reason')::text
);
