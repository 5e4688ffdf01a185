-- name: AskApplLock :one
SELECT
    p_ok_fl::text AS ok_fl,
    p_outcome::text AS outcome
FROM ask_appl_lock_row(@object_type::text, @object_id::text, @operator_id::text);
