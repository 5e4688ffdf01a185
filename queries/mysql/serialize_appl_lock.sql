-- name: SerializeApplLock :exec
CALL serialize_appl_lock_row(
    sqlc.arg('object_type'),
    sqlc.arg('object_id')
);
