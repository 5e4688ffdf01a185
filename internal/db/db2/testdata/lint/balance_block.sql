-- breaks: balance: one END too few
-- list_appl_locks: one page of the live locks in key order, all or those of a type, operator or department.
-- Contract   As in procedures/db2.
-- In         As in procedures/db2.
-- Out        As in procedures/db2.
-- Raises     As in procedures/db2.
-- Locks      As in procedures/db2.
-- Race-free  As in procedures/db2.
-- Differs    As in procedures/db2.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE list_appl_locks (
    IN p_object_type VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_department_id VARCHAR(4000),
    IN p_after_type VARCHAR(4000),
    IN p_after_id VARCHAR(4000),
    IN p_max_rows BIGINT
)
SPECIFIC list_appl_locks
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
READS SQL DATA
BEGIN
    BEGIN
    DECLARE answer CURSOR WITH RETURN FOR
        SELECT
            l.object_type,
            l.object_id,
            l.operator_id,
            l.department_id,
            l.fence,
            l.acquired_ts,
            l.lock_ts,
            l.expires_ts
        FROM appl_lock AS l
        WHERE l.object_type = p_object_type
        ORDER BY l.object_type, l.object_id
        WITH CS;
    OPEN answer;
END
@

COMMENT ON SPECIFIC PROCEDURE list_appl_locks IS 'One page of the live locks in key order, all or those of a type, operator or department.'
@
