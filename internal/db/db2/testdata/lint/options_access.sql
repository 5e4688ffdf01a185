-- breaks: options: not deterministic modifies sql data`, want `specific inquire_appl_lock language sql not deterministic reads sql data
-- inquire_appl_lock: who holds an object, since when and until when.
-- Contract   As in procedures/db2.
-- In         As in procedures/db2.
-- Out        As in procedures/db2.
-- Raises     As in procedures/db2.
-- Locks      As in procedures/db2.
-- Race-free  As in procedures/db2.
-- Differs    As in procedures/db2.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE inquire_appl_lock (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    OUT p_return_cd CHAR(1),
    OUT p_operator_id VARCHAR(256),
    OUT p_department_id VARCHAR(256),
    OUT p_fence BIGINT,
    OUT p_acquired_ts TIMESTAMP,
    OUT p_lock_ts TIMESTAMP,
    OUT p_expires_ts TIMESTAMP
)
SPECIFIC inquire_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_rows INTEGER DEFAULT 0;
    DECLARE v_now TIMESTAMP;
    DECLARE v_expires_ts TIMESTAMP;
    SET p_return_cd = 'N';
    SET p_operator_id = '';
    SET p_department_id = '';
    SET p_fence = 0;
    SET p_acquired_ts = NULL;
    SET p_lock_ts = NULL;
    SET p_expires_ts = NULL;
    SELECT COUNT(*), MAX(l.expires_ts)
    INTO v_rows, v_expires_ts
    FROM appl_lock AS l
    WHERE l.object_type = p_object_type
        AND l.object_id = p_object_id
    WITH CS;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    IF v_rows = 1 AND v_expires_ts > v_now THEN
        SET p_return_cd = 'Y';
        SET p_expires_ts = v_expires_ts;
    END IF;
END
@

COMMENT ON SPECIFIC PROCEDURE inquire_appl_lock IS 'Who holds an object, since when and until when.'
@
