-- name: SerializeApplLock :one
SELECT p_ok_fl::text AS ok_fl
FROM serialize_appl_lock_row(@object_type::text, @object_id::text);
