-- breaks: row read: a change of appl_lock is `WHERE object_type
-- purge_appl_locks: remove the rows of objects that have been free for long.
-- Contract   As in procedures/db2.
-- In         As in procedures/db2.
-- Out        As in procedures/db2.
-- Raises     As in procedures/db2.
-- Locks      As in procedures/db2.
-- Race-free  As in procedures/db2.
-- Differs    As in procedures/db2.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE purge_appl_locks (
    IN p_older_than_seconds BIGINT,
    IN p_max_rows BIGINT,
    OUT p_purged BIGINT
)
SPECIFIC purge_appl_locks
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_now TIMESTAMP;
    DECLARE v_before TIMESTAMP;
    DECLARE v_changed INTEGER DEFAULT 0;
    SET p_purged = 0;
    SET CURRENT LOCK TIMEOUT 1;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    SET v_before = v_now - (p_older_than_seconds) SECOND;
    FOR candidate AS
        SELECT
            l.object_type AS c_object_type,
            l.object_id AS c_object_id,
            l.fence AS c_fence,
            l.expires_ts AS c_expires_ts
        FROM appl_lock AS l
        WHERE l.expires_ts < v_before
        FETCH FIRST p_max_rows ROWS ONLY
        WITH CS
    DO
        DELETE FROM appl_lock
        WHERE object_type = c_object_type
            AND object_id = c_object_id
            AND fence = c_fence;
        GET DIAGNOSTICS v_changed = ROW_COUNT;
    END FOR;
END
@

COMMENT ON SPECIFIC PROCEDURE purge_appl_locks IS 'Remove the rows of objects that have been free for long.'
@
