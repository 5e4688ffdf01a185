-- name: AssertApplLock :one
SELECT p_return_cd::text AS return_cd
FROM assert_appl_lock_row(@object_type::text, @object_id::text, @operator_id::text, @fence::bigint);
