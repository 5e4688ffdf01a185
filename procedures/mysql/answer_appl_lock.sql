-- answer_appl_lock: TODO: what it does, in one sentence.
--
-- Contract   N TODO: it does nothing yet. One sentence for each answer.
-- In         TODO: what NULL means.
-- Out        p_ok_fl, p_outcome.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine. TODO: what the engine raises.
-- Locks      TODO: which rows, by which statement, until when.
-- Race-free  TODO: two at once; a rule of the engine for each claim, and a file in testdata/interleavings.
-- Differs    TODO: from PostgreSQL, and why.

DELIMITER $$

CREATE PROCEDURE answer_appl_lock_core(...)
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout;
        RESIGNAL;
    END;

    CALL appl_lock_key('answer_appl_lock', p_object_type, p_object_id);
    CALL appl_lock_text('answer_appl_lock', 'p_operator_id', 'Y', 1, 64, p_operator_id);
    CALL appl_lock_enter();
    SET SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    -- S1: TODO: the one statement that decides.
    SET p_ok_fl = 'N';
    SET p_outcome = 'TODO';
    SET SESSION innodb_lock_wait_timeout = v_timeout;
END$$

DELIMITER ;
