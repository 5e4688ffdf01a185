-- note_appl_lock: leave a note on why an operator holds an object, for everybody to read.
--
-- Contract   Y NOTED: the operator holds it (this very grant, if p_fence is given), and this is its note. It lasts as long as the grant.
--            N HELD: another operator or another grant holds it. N FREE: nobody holds it.
-- In         p_fence: NULL = any grant. p_note: NULL = empty.
-- Out        p_old_*: empty unless HELD.
-- Raises     LK001 invalid argument. LK003 the object changed hands thirty times during the call, or an upgrade is replacing
--            the routine. 1205 after 1 s of waiting for another transaction. 1213 deadlock.
-- Locks      The object's row, to the end of the caller's transaction. At REPEATABLE READ the gap of an object without a row is
--            locked as long.
-- Race-free  S1 locks and reads the row. S2 changes it only if it is as S1 has read it; else S1 runs again. An equal note is
--            not written again, because ROW_COUNT is 0 then as without a row.
-- Differs    A refusal waits for a transaction that is changing the row. No 40001: InnoDB judges the newest row.

DELIMITER $$

CREATE PROCEDURE note_appl_lock_core(...)
MODIFIES SQL DATA
SQL SECURITY DEFINER
main: BEGIN
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    DECLARE v_round INT DEFAULT 0;
    DECLARE v_fence BIGINT;
    DECLARE v_lock_ts DATETIME(6);
    DECLARE v_note VARCHAR(255);
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        RESIGNAL;
    END;

    SET p_note = COALESCE(p_note, '');
    CALL appl_lock_key('note_appl_lock', p_object_type, p_object_id);
    CALL appl_lock_text('note_appl_lock', 'p_operator_id', 'Y', 1, 255, p_operator_id);
    CALL appl_lock_number('note_appl_lock', 'p_fence', 9223372036854775807, p_fence);
    CALL appl_lock_text('note_appl_lock', 'p_note', 'N', 0, 255, p_note);
    CALL appl_lock_enter();
    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    REPEAT
        -- S1: who holds it?
        SET v_fence = NULL;
        SELECT l.operator_id, l.department_id, l.fence, l.lock_ts, l.note
        INTO p_old_operator_id, p_old_department_id, v_fence, v_lock_ts, v_note
        FROM appl_lock AS l
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
            AND l.released_ts IS NULL
            AND l.expires_ts > UTC_TIMESTAMP(6)
        FOR UPDATE;
        SET p_outcome = CASE
            WHEN v_fence IS NULL THEN 'FREE'
            WHEN p_old_operator_id <> p_operator_id OR v_fence <> p_fence THEN 'HELD'
            ELSE 'NOTED'
        END;
        IF p_outcome = 'NOTED' AND v_note <> p_note THEN
            -- S2: note it.
            UPDATE appl_lock AS l
            SET l.note = p_note
            WHERE l.object_type = p_object_type
                AND l.object_id = p_object_id
                AND l.fence = v_fence
                AND l.lock_ts = v_lock_ts
                AND l.released_ts IS NULL
                AND l.note = v_note;
            IF ROW_COUNT() = 0 THEN
                SET p_outcome = NULL;
            END IF;
        END IF;
        IF p_outcome IS NOT NULL THEN
            SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
            SET p_ok_fl = IF(p_outcome = 'NOTED', 'Y', 'N');
            SET p_old_operator_id = IF(p_outcome = 'HELD', p_old_operator_id, '');
            SET p_old_department_id = IF(p_outcome = 'HELD', p_old_department_id, '');
            LEAVE main;
        END IF;
        SET v_round = v_round + 1;
    UNTIL v_round >= 30 END REPEAT;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'note_appl_lock: the object changed hands during the call; call again';
END$$

DELIMITER ;
