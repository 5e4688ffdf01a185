-- breaks: options: modifies sql data`, want `specific appl_lock_refuse_number language sql not deterministic contains sql`
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
MODIFIES SQL DATA
BEGIN
    DECLARE v_message VARCHAR(256);
    SET v_message = p_routine || ': ' || p_argument || ' must be 1 to ' || CAST(p_max AS VARCHAR(20));
    SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_message;
END
@

COMMENT ON SPECIFIC PROCEDURE appl_lock_refuse_number IS 'Internal to applock: raises LK001 for a number argument.'
@
