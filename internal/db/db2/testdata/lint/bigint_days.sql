-- breaks: bigint: set v_now_us =(days(v_now)
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
    DECLARE v_now_us BIGINT;
    SET p_purged = 0;
    SET CURRENT LOCK TIMEOUT 1;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    SET v_now_us = (DAYS(v_now) - DAYS(DATE('1970-01-01'))) * 86400000000
        + CAST(MIDNIGHT_SECONDS(v_now) AS BIGINT) * 1000000
        + MICROSECOND(v_now);
END
@

COMMENT ON SPECIFIC PROCEDURE purge_appl_locks IS 'Remove the rows of objects that have been free for long.'
@
