-- breaks: row count: stands `set p_outcome = ''`
-- release_appl_lock: end the grant that an operator holds on an object.
-- Contract   As in procedures/db2.
-- In         As in procedures/db2.
-- Out        As in procedures/db2.
-- Raises     As in procedures/db2.
-- Locks      As in procedures/db2.
-- Race-free  As in procedures/db2.
-- Differs    As in procedures/db2.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE release_appl_lock (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_fence BIGINT,
    OUT p_return_cd CHAR(1),
    OUT p_outcome VARCHAR(11),
    OUT p_old_operator_id VARCHAR(256),
    OUT p_old_department_id VARCHAR(256)
)
SPECIFIC release_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_object_type VARCHAR(4000);
    DECLARE v_object_id VARCHAR(4000);
    DECLARE v_rows INTEGER DEFAULT 0;
    DECLARE v_changed INTEGER DEFAULT 0;
    DECLARE v_now TIMESTAMP;
    DECLARE v_old_fence BIGINT;
    DECLARE v_old_expires_ts TIMESTAMP;
    SET p_return_cd = 'N';
    SET p_outcome = '';
    SET p_old_operator_id = '';
    SET p_old_department_id = '';
    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET CURRENT LOCK TIMEOUT 1;
    SELECT COUNT(*), MAX(l.fence), MAX(l.expires_ts)
    INTO v_rows, v_old_fence, v_old_expires_ts
    FROM appl_lock AS l
    WHERE l.object_type = v_object_type
        AND l.object_id = v_object_id
    WITH CS;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    IF v_rows = 0 OR v_old_expires_ts <= v_now THEN
        SET p_return_cd = 'Y';
        SET p_outcome = 'FREE';
        LEAVE main;
    END IF;
    UPDATE appl_lock AS l
    SET expires_ts = v_now
    WHERE l.object_type = v_object_type
        AND l.object_id = v_object_id
        AND l.fence = v_old_fence
        AND l.expires_ts = v_old_expires_ts;
    SET p_outcome = '';
    GET DIAGNOSTICS v_changed = ROW_COUNT;
    IF v_changed = 1 THEN
        SET p_outcome = 'RELEASED';
        LEAVE main;
    END IF;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'release_appl_lock: changed hands during the call; call again';
END main
@

COMMENT ON SPECIFIC PROCEDURE release_appl_lock IS 'End the grant that an operator holds on an object.'
@
