-- breaks: list columns: lacks `DECLARE answer CURSOR WITH RETURN FOR SELECT w.object_type
-- list_appl_lock_waiters: one page of those who wait, in key order, all or those for a type or an object, or of an operator or department.
-- Contract   As in procedures/db2.
-- In         As in procedures/db2.
-- Out        As in procedures/db2.
-- Raises     As in procedures/db2.
-- Locks      As in procedures/db2.
-- Race-free  As in procedures/db2.
-- Differs    As in procedures/db2.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE list_appl_lock_waiters (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_department_id VARCHAR(4000),
    IN p_after_type VARCHAR(4000),
    IN p_after_id VARCHAR(4000),
    IN p_after_operator_id VARCHAR(4000),
    IN p_after_client_id VARCHAR(4000),
    IN p_max_rows BIGINT
)
SPECIFIC list_appl_lock_waiters
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
READS SQL DATA
BEGIN
    DECLARE answer CURSOR WITH RETURN FOR
        SELECT
            w.object_type,
            w.object_id,
            w.operator_id,
            w.department_id,
            w.client_id,
            w.until_ts,
            w.since_ts,
            w.expires_ts
        FROM appl_lock_waiter AS w
        WHERE w.object_type = p_object_type
        ORDER BY w.object_type, w.object_id
        WITH CS;
    OPEN answer;
END
@

COMMENT ON SPECIFIC PROCEDURE list_appl_lock_waiters IS 'One page of those who wait, in key order, all or those for a type or an object, or of an operator or department.'
@
