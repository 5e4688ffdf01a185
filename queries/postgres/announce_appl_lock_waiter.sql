-- name: AnnounceApplLockWaiter :one
SELECT p_ok_fl::text AS ok_fl
FROM announce_appl_lock_waiter_row(
    @object_type::text,
    @object_id::text,
    @operator_id::text,
    @department_id::text,
    @client_id::text,
    sqlc.narg('wait_seconds')::bigint
);
