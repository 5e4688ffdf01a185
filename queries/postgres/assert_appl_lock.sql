-- name: AssertApplLock :one
SELECT p_ok_fl::text AS ok_fl
FROM assert_appl_lock_row(@object_type::text, @object_id::text, @operator_id::text, @fence::bigint);
