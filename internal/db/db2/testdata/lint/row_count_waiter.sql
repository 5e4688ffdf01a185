-- breaks: row count: behind a change of appl_lock_waiter stands `if
-- await_appl_lock: say that an operator waits for an object, or still waits.
-- Contract   As in procedures/db2.
-- In         As in procedures/db2.
-- Out        As in procedures/db2.
-- Raises     As in procedures/db2.
-- Locks      As in procedures/db2.
-- Race-free  As in procedures/db2.
-- Differs    As in procedures/db2.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE await_appl_lock (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_department_id VARCHAR(4000),
    IN p_client_id VARCHAR(4000),
    IN p_wait_seconds BIGINT
)
SPECIFIC await_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_object_type VARCHAR(4000);
    DECLARE v_object_id VARCHAR(4000);
    DECLARE v_operator_id VARCHAR(4000);
    DECLARE v_client_id VARCHAR(4000);
    DECLARE v_changed INTEGER DEFAULT 0;
    DECLARE v_now TIMESTAMP;
    SET CURRENT LOCK TIMEOUT 1;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    UPDATE appl_lock_waiter AS w
    SET since_ts = CASE WHEN w.expires_ts > v_now THEN w.since_ts ELSE v_now END
    WHERE w.object_type = v_object_type
        AND w.object_id = v_object_id
        AND w.operator_id = v_operator_id
        AND w.client_id = v_client_id;
    IF v_changed = 1 THEN
        LEAVE main;
    END IF;
    BEGIN
        DECLARE CONTINUE HANDLER FOR SQLSTATE '23505' SET v_changed = 0;
        SET v_changed = 1;
        INSERT INTO appl_lock_waiter (object_type, object_id)
        VALUES (v_object_type, v_object_id);
    END;
END main
@

COMMENT ON SPECIFIC PROCEDURE await_appl_lock IS 'Say that an operator waits for an object, or still waits.'
@
