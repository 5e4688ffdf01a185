-- transfer_appl_lock: hand a held object from one operator to another.
--
-- Contract   Y TRANSFERRED: p_from held it; p_to holds it now: a new grant, a greater fence.
--            That is an event of the history, with who did it and why.
--            The greatest ttl of the type's policy, if it has one, is that of the new grant, too, as p_expires_ts tells.
--            N HELD: somebody else than p_from holds it; p_old_* and p_expires_ts tell who and until when.
--            N FREE: nobody holds it; nothing changed.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_from_operator_id and
--            p_to_operator_id 1..64, may be equal; p_to_department_id 0..64, NULL = empty;
--            p_ttl_seconds 1..315360000, NULL = that of the grant that ends: expires_ts - lock_ts in whole
--            seconds, rounded up, at least 1; p_actor_id 1..64, NULL = p_from_operator_id; p_reason 0..255, NULL = empty.
--            Trailing blanks are trimmed first.
-- Out        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD),
--            p_fence (0 unless TRANSFERRED), p_expires_ts (NULL when FREE), p_seconds_left (whole seconds
--            from now to p_expires_ts, rounded up; 0 when FREE).
-- Raises     LK001 invalid argument. LK003 when the object changed hands thirty times during the call, or
--            an upgrade is replacing the routine. 1205 after 1 s of waiting for another
--            transaction, 1213 deadlock.
-- Locks      S1 locks the object's one row and answers HELD and FREE, S1b the row of its type's policy, or the gap for it,
--            for reading, S2 decides on the object's row; held to the end of the
--            caller's transaction. At REPEATABLE READ an object without a row leaves its gap locked so long.
-- Race-free  Transfer against release, take-over or another transfer: S2 changes the row only if it is still the very
--            row that S1 read (same operator, fence, lock_ts and expires_ts), and ROW_COUNT says so, because the fence
--            changes; of two transfers from the same operator one wins and the other answers HELD. The fence is greater
--            than that row's, the ttl that it keeps is that row's, and so is what the event names.
--            The event: under autocommit S1, S2 and the event are one transaction of the call's own.
--            REPEATABLE READ: only locking reads, so that a later get is not given a stale view.
-- Differs    A refusal locks the row until the caller's transaction ends, and waits for a transaction that
--            is changing the row: a plain read would fix the caller's snapshot too early. No 40001: InnoDB judges the newest row. What a
--            session's settings can do: procedures/README.md.

DELIMITER $$

CREATE PROCEDURE transfer_appl_lock_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_from_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT
)
COMMENT 'Internal to applock: the operation transfer_appl_lock.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
main: BEGIN
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_id, ''));
    DECLARE v_from_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_from_operator_id, ''));
    DECLARE v_to_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_to_operator_id, ''));
    DECLARE v_to_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_to_department_id, ''));
    DECLARE v_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_actor_id, v_from_operator_id));
    DECLARE v_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_reason, ''));
    DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    DECLARE v_round INT DEFAULT 1;
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_now DATETIME(6);
    DECLARE v_old_fence BIGINT;
    DECLARE v_old_lock_ts DATETIME(6);
    DECLARE v_old_expires_ts DATETIME(6);
    DECLARE v_longest_ttl_seconds BIGINT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_old_fence = NULL;
    -- 1422: a function or trigger, which has a transaction.
    DECLARE CONTINUE HANDLER FOR 1422 BEGIN END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout;
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    IF CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF CHAR_LENGTH(v_object_id) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_object_id', CHAR_LENGTH(v_object_id), 255);
    ELSEIF CHAR_LENGTH(v_from_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_from_operator_id', CHAR_LENGTH(v_from_operator_id), 64);
    ELSEIF CHAR_LENGTH(v_to_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_to_operator_id', CHAR_LENGTH(v_to_operator_id), 64);
    ELSEIF CHAR_LENGTH(v_to_department_id) > 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_to_department_id', CHAR_LENGTH(v_to_department_id), 64);
    ELSEIF p_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('transfer_appl_lock', 'p_ttl_seconds', 315360000);
    ELSEIF CHAR_LENGTH(v_actor_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_actor_id', CHAR_LENGTH(v_actor_id), 64);
    ELSEIF CHAR_LENGTH(v_reason) > 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_reason', CHAR_LENGTH(v_reason), 255);
    END IF;

    SET SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    CALL appl_lock_begin(v_began);
    REPEAT
        -- S1: who holds it?
        SELECT l.operator_id, l.department_id, l.fence, l.lock_ts, l.expires_ts
        INTO p_old_operator_id, p_old_department_id, v_old_fence, v_old_lock_ts, v_old_expires_ts
        FROM appl_lock AS l
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.operator_id <> ''
            AND l.expires_ts > UTC_TIMESTAMP(6)
        FOR UPDATE;
        SET v_now = UTC_TIMESTAMP(6);
        IF v_old_fence IS NULL OR p_old_operator_id <> v_from_operator_id THEN
            IF v_began THEN
                CALL appl_lock_end(TRUE);
            END IF;
            SET SESSION innodb_lock_wait_timeout = v_timeout;
            SET p_return_cd = 'N';
            SET p_outcome = IF(v_old_fence IS NULL, 'FREE', 'HELD');
            SET p_old_operator_id = IF(v_old_fence IS NULL, '', p_old_operator_id);
            SET p_old_department_id = IF(v_old_fence IS NULL, '', p_old_department_id);
            SET p_fence = 0;
            SET p_expires_ts = IF(v_old_fence IS NULL, NULL, v_old_expires_ts);
            SET p_seconds_left = IF(
                v_old_fence IS NULL, 0, GREATEST((TIMESTAMPDIFF(MICROSECOND, v_now, v_old_expires_ts) + 999999) DIV 1000000, 1)
            );
            LEAVE main;
        END IF;

        -- S1b: how long may it last? The aggregate makes it one row in any case.
        SELECT MIN(p.longest_ttl_seconds)
        INTO v_longest_ttl_seconds
        FROM appl_lock_policy AS p
        WHERE p.object_type = v_object_type
        LOCK IN SHARE MODE;

        -- S2: a new grant for the other operator, if it is still so.
        SET p_seconds_left = LEAST(COALESCE(
            p_ttl_seconds, GREATEST((TIMESTAMPDIFF(MICROSECOND, v_old_lock_ts, v_old_expires_ts) + 999999) DIV 1000000, 1)
        ), COALESCE(v_longest_ttl_seconds, 315360000));
        SET p_expires_ts = v_now + INTERVAL p_seconds_left SECOND;
        SET p_fence = GREATEST(v_old_fence + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', v_now));
        UPDATE appl_lock AS l
        SET l.fence = p_fence,
            l.operator_id = v_to_operator_id,
            l.department_id = v_to_department_id,
            l.acquired_ts = v_now,
            l.lock_ts = v_now,
            l.expires_ts = p_expires_ts,
            l.note = ''
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.operator_id = v_from_operator_id
            AND l.fence = v_old_fence
            AND l.lock_ts = v_old_lock_ts
            AND l.expires_ts = v_old_expires_ts
            AND l.expires_ts > v_now;
        IF ROW_COUNT() > 0 THEN
            CALL appl_lock_record(
                'TRANSFERRED', v_object_type, v_object_id, v_actor_id,
                v_from_operator_id, p_old_department_id, v_old_fence, v_to_operator_id, v_to_department_id, p_fence, v_reason
            );
            IF v_began THEN
                CALL appl_lock_end(TRUE);
            END IF;
            SET SESSION innodb_lock_wait_timeout = v_timeout;
            SET p_return_cd = 'Y';
            SET p_outcome = 'TRANSFERRED';
            SET p_old_operator_id = '';
            SET p_old_department_id = '';
            LEAVE main;
        END IF;
        SET v_round = v_round + 1;
    UNTIL v_round > 30 END REPEAT;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'transfer_appl_lock: the object changed hands during the call; call again';
END$$

CREATE PROCEDURE transfer_appl_lock(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_from_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT
)
COMMENT 'Hand a held object from one operator to another.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'transfer_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL transfer_appl_lock_core(
        p_object_type, p_object_id, p_from_operator_id, p_to_operator_id, p_to_department_id, p_ttl_seconds,
        p_actor_id, p_reason,
        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_expires_ts, p_seconds_left
    );
END$$

CREATE PROCEDURE transfer_appl_lock_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_from_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Hand a held object from one operator to another; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_fence BIGINT;
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_seconds_left BIGINT;
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'transfer_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL transfer_appl_lock_core(
        p_object_type, p_object_id, p_from_operator_id, p_to_operator_id, p_to_department_id, p_ttl_seconds,
        p_actor_id, p_reason,
        v_return_cd, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_expires_ts, v_seconds_left
    );
    SELECT
        v_return_cd AS p_return_cd,
        v_outcome AS p_outcome,
        v_old_operator_id AS p_old_operator_id,
        v_old_department_id AS p_old_department_id,
        v_fence AS p_fence,
        v_expires_ts AS p_expires_ts,
        v_seconds_left AS p_seconds_left;
END$$

DELIMITER ;
