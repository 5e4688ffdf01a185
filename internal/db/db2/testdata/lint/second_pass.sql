-- breaks: second pass: outside of `IF v_pass = 2 THEN`
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
    DECLARE v_pass INTEGER DEFAULT 0;
    DECLARE v_changed INTEGER DEFAULT 0;
    DECLARE v_expires_ts TIMESTAMP;
    DECLARE v_old_fence BIGINT;
    DECLARE v_old_expires_ts TIMESTAMP;
    SET CURRENT LOCK TIMEOUT 0;
    IF v_pass = 1 THEN
        UPDATE appl_lock AS l
        SET expires_ts = v_expires_ts
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.fence = v_old_fence
            AND l.expires_ts = v_old_expires_ts;
        GET DIAGNOSTICS v_changed = ROW_COUNT;
    END IF;
END
@

COMMENT ON SPECIFIC PROCEDURE renew_appl_locks IS 'Renew many grants in one call, each by its fence.'
@
