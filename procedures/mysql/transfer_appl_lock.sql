-- transfer_appl_lock: hand a held object from one operator to another.
--
-- Contract   Y TRANSFERRED: p_from held it; p_to holds it now: a new grant, a greater fence, an empty note. N HELD: another
--            operator holds it; p_old_* and p_expires_ts tell who and until when. N FREE: nobody holds it.
--            It is an event, TRANSFERRED, with its actor and reason.
-- In         p_to_operator_id: another than p_from. p_to_department_id: NULL = empty. p_ttl_seconds: NULL = that of the grant that
--            ends; the policy's longest is the limit.
--            p_actor_id: NULL = unknown, and empty in the event. p_reason: NULL = empty.
-- Out        p_fence: 0 unless TRANSFERRED. p_acquired_ts, p_expires_ts: NULL when FREE.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine. 1205 after 1 s of waiting for another transaction. 1213 deadlock.
-- Locks      As appl_lock_move.
-- Race-free  As appl_lock_move. Of two transfers from the same operator one wins, and the other answers HELD.
-- Differs    A refusal waits for a transaction that is changing the row, and in a transaction locks the row until it ends.

DELIMITER $$

CREATE PROCEDURE transfer_appl_lock_core(...)
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();

    SET p_to_department_id = COALESCE(p_to_department_id, '');
    SET p_reason = COALESCE(p_reason, '');
    CALL appl_lock_key('transfer_appl_lock', p_object_type, p_object_id);
    CALL appl_lock_text('transfer_appl_lock', 'p_from_operator_id', 'Y', 1, 255, p_from_operator_id);
    CALL appl_lock_text('transfer_appl_lock', 'p_to_operator_id', 'Y', 1, 255, p_to_operator_id);
    IF p_to_operator_id = p_from_operator_id THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'transfer_appl_lock: p_to_operator_id must be another one';
    END IF;
    CALL appl_lock_text('transfer_appl_lock', 'p_to_department_id', 'Y', 0, 64, p_to_department_id);
    CALL appl_lock_number('transfer_appl_lock', 'p_ttl_seconds', 315360000, p_ttl_seconds);
    CALL appl_lock_text('transfer_appl_lock', 'p_actor_id', 'Y', IF(p_actor_id IS NULL, 0, 1), 255, p_actor_id);
    CALL appl_lock_text('transfer_appl_lock', 'p_reason', 'N', 0, 255, p_reason);
    CALL appl_lock_enter();
    CALL appl_lock_move(
        'TRANSFERRED', p_object_type, p_object_id, p_from_operator_id, NULL, p_to_operator_id, p_to_department_id, p_ttl_seconds,
        COALESCE(p_actor_id, ''), p_reason, NULL, NULL,
        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_acquired_ts, p_expires_ts, p_seconds_left
    );
END$$

DELIMITER ;
