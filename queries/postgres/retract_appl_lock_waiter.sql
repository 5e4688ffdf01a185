-- name: RetractApplLockWaiter :one
SELECT p_ok_fl::text AS ok_fl
FROM retract_appl_lock_waiter_row(@object_type::text, @object_id::text, @operator_id::text, @client_id::text);

-- name: RetractApplLockWaiters :many
SELECT r.p_ok_fl::text AS ok_fl
FROM jsonb_array_elements(CAST(@waiters::text AS jsonb)) AS w (waiter)
CROSS JOIN LATERAL retract_appl_lock_waiter_row(
    w.waiter ->> 'object_type',
    w.waiter ->> 'object_id',
    w.waiter ->> 'operator_id',
    w.waiter ->> 'client_id'
) AS r;
