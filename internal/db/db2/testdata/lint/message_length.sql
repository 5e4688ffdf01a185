-- breaks: message length: makes a message of 81 bytes, at most 70
-- appl_lock_refuse_number: internal to applock: raises LK001 for a number argument.
-- Contract   As in procedures/db2.
-- Raises     As in procedures/db2.
-- Locks      As in procedures/db2.
-- Differs    As in procedures/db2.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE appl_lock_refuse_number (
    IN p_routine VARCHAR(64),
    IN p_argument VARCHAR(64),
    IN p_max BIGINT
)
SPECIFIC appl_lock_refuse_number
LANGUAGE SQL
NOT DETERMINISTIC
CONTAINS SQL
BEGIN
    DECLARE v_message VARCHAR(256);
    SET v_message = p_routine || ': ' || p_argument || ' must be a whole number from 1 to ' || CAST(p_max AS VARCHAR(20));
    SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_message;
END
@

COMMENT ON SPECIFIC PROCEDURE appl_lock_refuse_number IS 'Internal to applock: raises LK001 for a number argument.'
@
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
    DECLARE v_max_rows BIGINT;
    SET p_purged = 0;
    SET v_max_rows = COALESCE(p_max_rows, 1000);
    IF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('purge_appl_locks', 'p_older_than_seconds', 315360000);
    END IF;
    SET CURRENT LOCK TIMEOUT 1;
END
@

COMMENT ON SPECIFIC PROCEDURE purge_appl_locks IS 'Remove the rows of objects that have been free for long.'
@
