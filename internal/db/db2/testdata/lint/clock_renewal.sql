-- breaks: clock: directly behind the SELECT of appl_lock stands `leave
-- breaks: clock: the clock is read elsewhere
-- renew_appl_locks: renew many grants in one call, each by its fence.
-- Contract   As in procedures/db2.
-- In         As in procedures/db2.
-- Out        As in procedures/db2.
-- Raises     As in procedures/db2.
-- Locks      As in procedures/db2.
-- Race-free  As in procedures/db2.
-- Differs    As in procedures/db2.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE renew_appl_locks (
    IN p_grants VARCHAR(32000)
)
SPECIFIC renew_appl_locks
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_object_type VARCHAR(4000);
    DECLARE v_object_id VARCHAR(4000);
    DECLARE v_left INTEGER DEFAULT 0;
    DECLARE v_rows INTEGER DEFAULT 0;
    DECLARE v_now TIMESTAMP;
    DECLARE v_old_fence BIGINT;
    SET CURRENT LOCK TIMEOUT 0;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    fields: WHILE v_left > 0 DO
        SELECT COUNT(*), MAX(l.fence)
        INTO v_rows, v_old_fence
        FROM appl_lock AS l
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
        WITH CS;
        LEAVE fields;
    END WHILE fields;
END
@

COMMENT ON SPECIFIC PROCEDURE renew_appl_locks IS 'Renew many grants in one call, each by its fence.'
@
