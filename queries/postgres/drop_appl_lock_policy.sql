-- name: DropApplLockPolicy :one
SELECT
    p_ok_fl::text AS ok_fl,
    p_outcome::text AS outcome
FROM drop_appl_lock_policy_row(@object_type::text, @actor_id::text, @reason::text);
