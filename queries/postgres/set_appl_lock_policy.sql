-- name: SetApplLockPolicy :one
SELECT
    p_ok_fl::text AS ok_fl,
    p_outcome::text AS outcome
FROM set_appl_lock_policy_row(
    @object_type::text,
    sqlc.narg('default_ttl_seconds')::bigint,
    sqlc.narg('longest_ttl_seconds')::bigint,
    @take_reason_fl::text,
    @actor_id::text,
    @reason::text,
    @history_level::text,
    @presence_fl::text,
    sqlc.narg('yield_after_seconds')::bigint
);
