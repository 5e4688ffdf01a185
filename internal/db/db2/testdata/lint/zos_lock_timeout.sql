-- breaks: lock timeout: set where it must not be
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
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
PARAMETER CCSID UNICODE
ISOLATION LEVEL CS
CONCURRENT ACCESS RESOLUTION USE CURRENTLY COMMITTED
VALIDATE BIND
DISALLOW DEBUG MODE
BEGIN
    DECLARE v_max_rows BIGINT;
    SET p_purged = 0;
    SET v_max_rows = COALESCE(p_max_rows, 1000);
    IF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('purge_appl_locks', 'p_max_rows', 10000);
    END IF;
    SET CURRENT LOCK TIMEOUT 1;
END
@
