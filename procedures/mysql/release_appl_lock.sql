-- release_appl_lock: end the grant that an operator holds on an object.
--
-- Contract   Y RELEASED: the operator held it (this very grant, if p_fence is given); it is free now. Y FREE: nobody holds it. If the
--            operator's own grant had expired, it is marked as released. N HELD: another operator or another grant holds it.
--            A release by another actor, with a reason, or under history ALL, there also of an expired grant, is an event, RELEASED.
-- In         p_fence: NULL = any grant. p_actor_id: NULL = p_operator_id. p_reason: NULL = empty.
-- Out        p_old_*: empty unless HELD.
-- Raises     LK001 invalid argument. LK003 the object changed hands thirty times during the call, or an upgrade is replacing
--            the routine. 1205 after 1 s of waiting for another transaction. 1213 deadlock.
-- Locks      The object's row, to the end of the caller's transaction. At REPEATABLE READ the gap of an object without a row is
--            locked as long.
-- Race-free  S1 names operator, fence and expiry, and sees the newest row. It skips a grant whose release is an event. If it
--            has changed nothing, S2 reads the row, and S3 changes it only if it is as S2 has read it; else S2 runs again. S1
--            and S3 set released_ts, which was NULL, so ROW_COUNT is 1 with and without CLIENT_FOUND_ROWS. The event and S3 are
--            one transaction. It uses only locking reads, so it waits for an uncommitted get, and fixes no snapshot that is too
--            old for a later get.
-- Differs    A refusal waits for a transaction that is changing the row. No 40001: InnoDB judges the newest row.

DELIMITER $$

CREATE PROCEDURE release_appl_lock_core(...)
MODIFIES SQL DATA
SQL SECURITY DEFINER
main: BEGIN
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        RESIGNAL;
    END;

    CALL appl_lock_enter();
    IF p_actor_id IS NULL AND p_reason IS NULL AND p_operator_id <> '' THEN
        SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
        -- S1: end a live grant whose release is no event. A match proves the arguments valid.
        UPDATE appl_lock AS l
        SET l.released_ts = UTC_TIMESTAMP(6), l.note = ''
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
            AND l.operator_id = p_operator_id
            AND l.fence = COALESCE(p_fence, l.fence)
            AND l.expires_ts > UTC_TIMESTAMP(6)
            AND l.released_ts IS NULL
            AND l.history_fl = 'N';
        IF ROW_COUNT() > 0 THEN
            SET p_outcome = 'RELEASED';
        END IF;
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        IF p_outcome IS NOT NULL THEN
            SET p_ok_fl = 'Y';
            SET p_old_operator_id = '';
            SET p_old_department_id = '';
            LEAVE main;
        END IF;
    END IF;
    CALL appl_lock_key('release_appl_lock', p_object_type, p_object_id);
    CALL appl_lock_text('release_appl_lock', 'p_operator_id', 'Y', 1, 255, p_operator_id);
    IF p_fence < 1 THEN
        CALL appl_lock_number('release_appl_lock', 'p_fence', 9223372036854775807, p_fence);
    END IF;
    IF p_actor_id IS NOT NULL THEN
        CALL appl_lock_text('release_appl_lock', 'p_actor_id', 'Y', 1, 255, p_actor_id);
    END IF;
    IF p_reason IS NOT NULL THEN
        CALL appl_lock_text('release_appl_lock', 'p_reason', 'N', 0, 255, p_reason);
    END IF;
    CALL appl_lock_release(
        p_object_type, p_object_id, p_operator_id, p_fence, COALESCE(p_actor_id, p_operator_id), COALESCE(p_reason, ''),
        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id
    );
END$$

CREATE PROCEDURE appl_lock_release(
    IN p_object_type VARCHAR(64),
    IN p_object_id VARCHAR(255),
    IN p_operator_id VARCHAR(255),
    IN p_fence BIGINT,
    IN p_actor_id VARCHAR(255),
    IN p_reason VARCHAR(255),
    OUT p_ok_fl CHAR(1),
    OUT p_outcome VARCHAR(11),
    OUT p_old_operator_id VARCHAR(255),
    OUT p_old_department_id VARCHAR(64)
)
COMMENT 'Internal to applock: ends a grant and records its event, or returns why not.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
main: BEGIN
    DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    DECLARE v_round INT DEFAULT 0;
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_own BOOLEAN;
    DECLARE v_live BOOLEAN;
    DECLARE v_tell BOOLEAN;
    DECLARE v_fence BIGINT;
    DECLARE v_lock_ts DATETIME(6);
    DECLARE v_expires_ts DATETIME(6);
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- 1422: a function or trigger, which has a transaction.
    DECLARE CONTINUE HANDLER FOR 1422 BEGIN END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    REPEAT
        -- S2: what is there? The second time the row stays locked.
        IF v_round > 0 THEN
            CALL appl_lock_begin(v_began);
        END IF;
        SET v_own = FALSE;
        SET v_live = FALSE;
        SELECT
            l.operator_id, l.department_id, l.fence, l.lock_ts, l.expires_ts,
            l.operator_id = p_operator_id AND l.fence = COALESCE(p_fence, l.fence) AND l.released_ts IS NULL,
            l.released_ts IS NULL AND l.expires_ts > UTC_TIMESTAMP(6),
            l.history_fl = 'Y' OR l.expires_ts > UTC_TIMESTAMP(6) AND (p_actor_id <> p_operator_id OR p_reason <> '')
        INTO p_old_operator_id, p_old_department_id, v_fence, v_lock_ts, v_expires_ts, v_own, v_live, v_tell
        FROM appl_lock AS l
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
        FOR UPDATE;
        SET p_outcome = CASE WHEN NOT v_live THEN 'FREE' WHEN v_own THEN 'RELEASED' ELSE 'HELD' END;
        IF v_own THEN
            IF v_tell AND v_round = 0 THEN
                CALL appl_lock_begin(v_began);
            END IF;
            -- S3: end it, if it is as S2 has read it.
            UPDATE appl_lock AS l
            SET l.released_ts = UTC_TIMESTAMP(6), l.note = ''
            WHERE l.object_type = p_object_type
                AND l.object_id = p_object_id
                AND l.fence = v_fence
                AND l.lock_ts = v_lock_ts
                AND l.expires_ts = v_expires_ts
                AND l.released_ts IS NULL;
            IF ROW_COUNT() = 0 THEN
                SET p_outcome = NULL;
            ELSEIF v_tell THEN
                CALL appl_lock_record(
                    'RELEASED', p_object_type, p_object_id, p_actor_id,
                    p_operator_id, p_old_department_id, v_fence, '', '', 0, p_reason
                );
            END IF;
        END IF;
        IF v_began THEN
            CALL appl_lock_end(TRUE);
            SET v_began = FALSE;
        END IF;
        IF p_outcome IS NOT NULL THEN
            SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
            SET p_ok_fl = IF(p_outcome = 'HELD', 'N', 'Y');
            SET p_old_operator_id = IF(p_outcome = 'HELD', p_old_operator_id, '');
            SET p_old_department_id = IF(p_outcome = 'HELD', p_old_department_id, '');
            LEAVE main;
        END IF;
        SET v_round = v_round + 1;
    UNTIL v_round >= 30 END REPEAT;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'release_appl_lock: the object changed hands during the call; call again';
END$$

CREATE PROCEDURE release_appl_lock_row_core(...)
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    ...
END$$

DELIMITER ;
