-- answer_appl_lock: TODO: what it does, in one sentence.
--
-- Contract   N TODO: it does nothing yet. One sentence for each answer.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64. Trailing blanks are trimmed first.
-- Out        p_ok_fl, p_outcome.
-- Raises     LK001 invalid argument. -911 and -913 as get_appl_lock.
-- Locks      TODO: which rows, by which statement, until when.
-- Race-free  TODO: two at once; a rule of the engine for each claim, and a file in testdata/interleavings.
-- Differs    As get_appl_lock.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE answer_appl_lock (...)
SPECIFIC answer_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_object_type, v_object_id, v_operator_id VARCHAR(4000);

    SET p_ok_fl = 'N';
    SET p_outcome = 'TODO';
    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('answer_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('answer_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_operator_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('answer_appl_lock', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, CODEUNITS32), 64);
    END IF;
    IF NOT_PLAIN(v_object_type || v_object_id || v_operator_id) THEN
        CALL appl_lock_check_text('answer_appl_lock', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('answer_appl_lock', 'p_object_id', v_object_id);
        CALL appl_lock_check_text('answer_appl_lock', 'p_operator_id', v_operator_id);
    END IF;

    -- S1: TODO: the one statement that decides.
END
@
