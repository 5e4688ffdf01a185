-- name: RetractApplLockWaiter :one
SELECT p_return_cd::text AS return_cd
FROM retract_appl_lock_waiter_row(@object_type::text, @object_id::text, @operator_id::text, @client_id::text);
