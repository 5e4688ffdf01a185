-- inquire_appl_lock: show who holds an object, since when and until when.
--
-- Contract   Y and the lock, when somebody holds the object. N and blanks (empty strings, numbers 0, NULL timestamps) when it is free.
-- In         p_object_type, p_object_id.
-- Out        As the view appl_lock_live.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine.
-- Locks      Nothing; it neither waits nor writes.
-- Race-free  One read of one committed row: what it says was true at one moment.
-- Differs    At REPEATABLE READ that moment is the transaction's snapshot, which it fixes: a get, assert or serialize that is to see the
--            newest data comes first. In a transaction at SERIALIZABLE InnoDB makes it a locking read, which waits.

DELIMITER $$

CREATE PROCEDURE inquire_appl_lock_core(...)
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();

    CALL appl_lock_key('inquire_appl_lock', p_object_type, p_object_id);
    SET SESSION timestamp = DEFAULT;
    IF @appl_lock_own IS NOT NULL THEN
        CALL appl_lock_enter();
    END IF;
    SELECT
        'Y',
        l.operator_id,
        l.department_id,
        l.fence,
        l.acquired_ts,
        l.lock_ts,
        l.expires_ts,
        (TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.expires_ts) + 999999) DIV 1000000,
        l.note
    INTO p_ok_fl, p_operator_id, p_department_id, p_fence, p_acquired_ts, p_lock_ts, p_expires_ts, p_seconds_left, p_note
    FROM appl_lock AS l
    WHERE l.object_type = p_object_type
        AND l.object_id = p_object_id
        AND l.released_ts IS NULL
        AND l.expires_ts > UTC_TIMESTAMP(6);
    IF p_ok_fl IS NULL THEN
        SET p_ok_fl = 'N';
        SET p_operator_id = '';
        SET p_department_id = '';
        SET p_fence = 0;
        SET p_seconds_left = 0;
        SET p_note = '';
    END IF;
END$$

DELIMITER ;
