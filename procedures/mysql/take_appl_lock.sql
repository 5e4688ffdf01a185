-- take_appl_lock: take a held object from its holder, for a reason.
--
-- Contract   Y TAKEN: an operator held it, by the grant p_expected_fence (NULL = any grant). Now p_operator_id holds it: a new
--            grant, a greater fence, an empty note. The former holder is in p_old_*, which are empty when p_operator_id held it
--            itself.
--            N HELD: another grant than p_expected_fence holds it. N FREE: nobody holds it: get_appl_lock gets it.
--            It is an event, TAKEN, with the reason and p_operator_id as its actor.
-- In         p_department_id: NULL = empty. p_reason: may be empty only if the type's policy says so. p_ttl_seconds: NULL = that of the
--            grant that ends; the policy's longest is the limit.
-- Out        p_fence: 0 unless TAKEN. p_acquired_ts, p_expires_ts: NULL when FREE.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine. 1205 after 1 s of waiting for another transaction. 1213 deadlock.
-- Locks      As appl_lock_move.
-- Race-free  As appl_lock_move. Of two takes that expect the same fence one wins, and the other answers HELD.
-- Differs    A refusal waits for a transaction that is changing the row, and in a transaction locks the row until it ends.

DELIMITER $$

CREATE PROCEDURE take_appl_lock_core(...)
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();

    SET p_department_id = COALESCE(p_department_id, '');
    SET p_reason = COALESCE(p_reason, '');
    CALL appl_lock_owner('take_appl_lock', p_object_type, p_object_id, p_operator_id, p_department_id);
    IF p_expected_fence < 1 OR p_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_number('take_appl_lock', 'p_expected_fence', 9223372036854775807, p_expected_fence);
        CALL appl_lock_number('take_appl_lock', 'p_ttl_seconds', 315360000, p_ttl_seconds);
    END IF;
    CALL appl_lock_text('take_appl_lock', 'p_reason', 'N', 0, 255, p_reason);
    CALL appl_lock_enter();
    CALL appl_lock_move(
        'TAKEN', p_object_type, p_object_id, NULL, p_expected_fence, p_operator_id, p_department_id, p_ttl_seconds,
        p_operator_id, p_reason, NULL, NULL,
        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_acquired_ts, p_expires_ts, p_seconds_left
    );
END$$

DELIMITER ;
