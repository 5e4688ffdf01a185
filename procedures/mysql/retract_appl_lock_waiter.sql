-- retract_appl_lock_waiter: say that an operator does not wait for an object any more.
--
-- Contract   The operator is no waiter of the program p_client_id for this object, whether it was or not.
-- In         As announce_appl_lock_waiter.
-- Out        None; the row form returns p_ok_fl 'Y'.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine. 1205 after 1 s of waiting for another transaction.
--            1213 deadlock.
-- Locks      The waiter's row, to the end of the caller's transaction. At REPEATABLE READ the gap of a waiter without a row is
--            locked as long. Poll and purge pass over locked rows.
-- Race-free  Against announce, poll or purge of the same row: the call that locks it first goes first. An announce that waited
--            inserts a new row.
-- Differs    1213 among three calls for one waiter at once, as in announce_appl_lock_waiter.

DELIMITER $$

CREATE PROCEDURE retract_appl_lock_waiter_core(...)
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        RESIGNAL;
    END;

    CALL appl_lock_key('retract_appl_lock_waiter', p_object_type, p_object_id);
    CALL appl_lock_text('retract_appl_lock_waiter', 'p_operator_id', 'Y', 1, 255, p_operator_id);
    CALL appl_lock_text('retract_appl_lock_waiter', 'p_client_id', 'N', 1, 64, p_client_id);
    CALL appl_lock_enter();
    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    -- S1: remove the waiter.
    DELETE FROM appl_lock_waiter
    WHERE object_type = p_object_type
        AND object_id = p_object_id
        AND operator_id = p_operator_id
        AND client_id = p_client_id;
    SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
END$$

DELIMITER ;
