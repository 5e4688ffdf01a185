-- name: SerializeApplLock :one
SELECT p_return_cd::text AS return_cd
FROM serialize_appl_lock_row(@object_type::text, @object_id::text);
