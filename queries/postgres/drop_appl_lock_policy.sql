-- name: DropApplLockPolicy :one
SELECT
    p_return_cd::text AS return_cd,
    p_outcome::text AS outcome
FROM drop_appl_lock_policy_row(@object_type::text, @actor_id::text, @reason::text);
