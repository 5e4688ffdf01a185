-- breaks: lock timeout: a table is used before the lock timeout is set
-- get_appl_lock: take or renew the lock on an object for one operator until it expires.
-- Contract   As in procedures/db2.
-- In         As in procedures/db2.
-- Out        As in procedures/db2.
-- Raises     As in procedures/db2.
-- Locks      As in procedures/db2.
-- Race-free  As in procedures/db2.
-- Differs    As in procedures/db2.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE get_appl_lock (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_department_id VARCHAR(4000),
    IN p_ttl_seconds BIGINT,
    OUT p_lock_fl CHAR(1),
    OUT p_outcome VARCHAR(11),
    OUT p_old_operator_id VARCHAR(256),
    OUT p_old_department_id VARCHAR(256),
    OUT p_fence BIGINT,
    OUT p_expires_ts TIMESTAMP
)
SPECIFIC get_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_changed INTEGER DEFAULT 0;
    DECLARE v_fence BIGINT;
    SET p_lock_fl = 'N';
    SET p_outcome = '';
    SET p_old_operator_id = '';
    SET p_old_department_id = '';
    SET p_fence = 0;
    SET p_expires_ts = NULL;
    BEGIN
        DECLARE CONTINUE HANDLER FOR SQLSTATE '23505' SET v_changed = 0;
        SET v_changed = 1;
        INSERT INTO appl_lock (object_type, object_id, operator_id, fence)
        VALUES (p_object_type, p_object_id, p_operator_id, v_fence);
    END;
    SET CURRENT LOCK TIMEOUT 1;
    IF v_changed = 1 THEN
        SET p_lock_fl = 'Y';
        LEAVE main;
    END IF;
END main
@

COMMENT ON SPECIFIC PROCEDURE get_appl_lock IS 'Take or renew the lock on an object for one operator until it expires.'
@
