-- breaks: parameters: the parameters are
-- purge_appl_locks_row: remove the rows of objects that have been free for long; the answer is one row.
-- Contract   As in procedures/db2.
-- In         As in procedures/db2.
-- Out        As in procedures/db2.
-- Raises     As in procedures/db2.
-- Locks      As in procedures/db2.
-- Race-free  As in procedures/db2.
-- Differs    As in procedures/db2.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE purge_appl_locks_row (
    IN p_max_rows BIGINT,
    IN p_older_than_seconds BIGINT
)
SPECIFIC purge_appl_locks_row
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_purged BIGINT;
    CALL purge_appl_locks(
        p_older_than_seconds, p_max_rows,
        v_purged
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT v_purged AS p_purged
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
@

COMMENT ON SPECIFIC PROCEDURE purge_appl_locks_row IS 'Remove the rows of objects that have been free for long; the answer is one row.'
@
