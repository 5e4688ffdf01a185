-- breaks: row form: `v_lock_ts` is not what a row form has there
-- inquire_appl_lock_row: who holds an object, since when and until when; the answer is one row.
-- Contract   As in procedures/db2.
-- In         As in procedures/db2.
-- Out        As in procedures/db2.
-- Raises     As in procedures/db2.
-- Locks      As in procedures/db2.
-- Race-free  As in procedures/db2.
-- Differs    As in procedures/db2.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE inquire_appl_lock_row (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000)
)
SPECIFIC inquire_appl_lock_row
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
READS SQL DATA
BEGIN
    DECLARE v_return_cd CHAR(1);
    DECLARE v_operator_id VARCHAR(256);
    DECLARE v_department_id VARCHAR(256);
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts TIMESTAMP;
    DECLARE v_lock_ts TIMESTAMP;
    DECLARE v_expires_ts TIMESTAMP;
    CALL inquire_appl_lock(
        p_object_type, p_object_id,
        v_return_cd, v_operator_id, v_department_id, v_fence, v_acquired_ts, v_lock_ts, v_expires_ts
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                v_return_cd AS p_return_cd,
                v_operator_id AS p_operator_id,
                v_department_id AS p_department_id,
                v_fence AS p_fence,
                v_lock_ts AS p_lock_ts,
                v_acquired_ts AS p_acquired_ts,
                v_expires_ts AS p_expires_ts
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
@

COMMENT ON SPECIFIC PROCEDURE inquire_appl_lock_row IS 'Who holds an object, since when and until when; the answer is one row.'
@
