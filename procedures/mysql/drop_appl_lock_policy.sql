-- drop_appl_lock_policy: remove the policy of a type.
--
-- Contract   Y DROPPED: the type has no policy any more. It is an event, POLICY, with its actor and reason. N NONE: it had
--            none. A grant keeps the end that it has until it is renewed or transferred.
-- In         p_reason: 0..150, NULL = empty.
-- Out        p_ok_fl, p_outcome.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine. 1205 after 1 s of waiting for another transaction.
--            1213 deadlock.
-- Locks      The type's row, or its gap, to the end of the caller's transaction.
-- Race-free  Two at once: one waits for the other and answers NONE. The change and its event are one transaction.
-- Differs    As set_appl_lock_policy.

DELIMITER $$

CREATE PROCEDURE drop_appl_lock_policy_core(...)
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    -- 1422: a function or trigger, which has a transaction.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    SET p_reason = COALESCE(p_reason, '');
    CALL appl_lock_text('drop_appl_lock_policy', 'p_object_type', 'Y', 1, 64, p_object_type);
    CALL appl_lock_text('drop_appl_lock_policy', 'p_actor_id', 'Y', 1, 255, p_actor_id);
    CALL appl_lock_text('drop_appl_lock_policy', 'p_reason', 'N', 0, 150, p_reason);
    CALL appl_lock_enter();
    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    CALL appl_lock_begin(v_began);
    -- S1: remove it.
    DELETE FROM appl_lock_policy
    WHERE object_type = p_object_type;
    SET p_ok_fl = IF(ROW_COUNT() > 0, 'Y', 'N');
    SET p_outcome = IF(p_ok_fl = 'Y', 'DROPPED', 'NONE');
    IF p_ok_fl = 'Y' THEN
        CALL appl_lock_record(
            'POLICY', p_object_type, '', p_actor_id, '', '', 0, '', '', 0,
            CONCAT('dropped', IF(p_reason = '', '', ': '), p_reason)
        );
    END IF;
    IF v_began THEN
        CALL appl_lock_end(TRUE);
    END IF;
    SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
END$$

DELIMITER ;
