-- breaks: signals: has 79 bytes, at most 70
-- assert_appl_lock: fail unless exactly this grant is live, and keep it so to the end of the transaction.
-- Contract   As in procedures/db2.
-- In         As in procedures/db2.
-- Out        As in procedures/db2.
-- Raises     As in procedures/db2.
-- Locks      As in procedures/db2.
-- Race-free  As in procedures/db2.
-- Differs    As in procedures/db2.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE assert_appl_lock (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_fence BIGINT
)
SPECIFIC assert_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_rows INTEGER DEFAULT 0;
    DECLARE v_now TIMESTAMP;
    DECLARE v_old_expires_ts TIMESTAMP;
    SET CURRENT LOCK TIMEOUT 1;
    SELECT COUNT(*), MAX(l.expires_ts)
    INTO v_rows, v_old_expires_ts
    FROM appl_lock AS l
    WHERE l.object_type = p_object_type
        AND l.object_id = p_object_id
    WITH RS USE AND KEEP SHARE LOCKS;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    IF v_rows = 0 OR v_old_expires_ts <= v_now THEN
        SIGNAL SQLSTATE 'LK002' SET MESSAGE_TEXT = 'assert_appl_lock: nobody holds it, or its lock expired a moment before the call';
    END IF;
END main
@

COMMENT ON SPECIFIC PROCEDURE assert_appl_lock IS 'Fail unless exactly this grant is live, and keep it so to the end of the transaction.'
@
