-- breaks: row form: `p_max_rows` is not what a row form has there
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
    IN p_older_than_seconds BIGINT,
    IN p_max_rows BIGINT
)
SPECIFIC purge_appl_locks_row
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_purged BIGINT;
    CALL purge_appl_locks(
        p_max_rows, p_older_than_seconds,
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
