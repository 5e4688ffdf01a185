-- retract_appl_lock_waiter: say that an operator does not wait for an object any more.
--
-- Contract   The operator is no waiter of the program p_client_id for this object, whether it was or not.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255;
--            p_client_id 1..64. Trailing blanks are trimmed first.
-- Out        None; the row form returns p_ok_fl 'Y'.
-- Raises     LK001 invalid argument. -911 and -913 as get_appl_lock.
-- Locks      S1 deletes the waiter's one row; held to the end of the caller's transaction. It locks nothing else, so it cannot
--            deadlock by itself.
-- Race-free  Against announce, poll or purge of the same row: the call that locks it first goes first. An announce that waited
--            inserts a new row.
-- Differs    Nothing.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE retract_appl_lock_waiter (...)
SPECIFIC retract_appl_lock_waiter
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_object_type, v_object_id, v_operator_id, v_client_id VARCHAR(4000);

    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    SET v_client_id = RTRIM(COALESCE(p_client_id, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('retract_appl_lock_waiter', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('retract_appl_lock_waiter', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('retract_appl_lock_waiter', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_client_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('retract_appl_lock_waiter', 'p_client_id', CHARACTER_LENGTH(v_client_id, CODEUNITS32), 64);
    END IF;
    IF NOT_PLAIN(v_object_type || v_object_id || v_operator_id) THEN
        CALL appl_lock_check_text('retract_appl_lock_waiter', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('retract_appl_lock_waiter', 'p_object_id', v_object_id);
        CALL appl_lock_check_text('retract_appl_lock_waiter', 'p_operator_id', v_operator_id);
    END IF;

    SET CURRENT LOCK TIMEOUT 1;
    -- S1: remove the waiter.
    DELETE FROM appl_lock_waiter
    WHERE object_type = v_object_type
        AND object_id = v_object_id
        AND operator_id = v_operator_id
        AND client_id = v_client_id;
END
@
