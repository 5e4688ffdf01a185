-- take_appl_lock: take a held object from whoever holds it, for a reason.
--
-- Contract   Y TAKEN: somebody held it, by the grant p_expected_fence or, if that is NULL, by whichever; p_operator_id
--            holds it now: a new grant, a greater fence, an empty note. p_old_* tell from whom it was taken. Of what it
--            holds itself an operator gets a new grant, too, and p_old_* are empty: nobody was displaced.
--            That is an event of the history, TAKEN, with the reason: p_operator_id is the actor.
--            The greatest ttl of the type's policy, if it has one, is that of the new grant, too, as p_expires_ts tells.
--            N HELD: another grant than p_expected_fence holds it; p_old_* and p_expires_ts tell who and until when.
--            N FREE: nobody holds it; nothing changed: get_appl_lock gets it.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64; p_department_id
--            0..64, NULL = empty; p_reason 1..255, or empty if the type's policy says N;
--            p_expected_fence 1 or greater, NULL = whichever;
--            p_ttl_seconds 1..315360000, NULL = that of the grant that ends: expires_ts - lock_ts in whole
--            seconds, rounded up, at least 1.
--            Trailing blanks are trimmed first.
-- Out        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id (empty when FREE, and when p_operator_id
--            held it), p_fence (0 unless TAKEN), p_expires_ts (NULL when FREE), p_seconds_left (whole seconds
--            from now to p_expires_ts, rounded up; 0 when FREE).
-- Raises     LK001 invalid argument. LK003 when the object changed hands thirty times during the call, or
--            an upgrade is replacing the routine. 1205 after 1 s of waiting for another
--            transaction, 1213 deadlock.
-- Locks      S1 locks the object's one row and answers HELD and FREE, S2 decides on the same row; held to the end of the
--            caller's transaction. At REPEATABLE READ an object without a row leaves its gap locked so long.
-- Race-free  Take against renewal, release, transfer or another take: S2 changes the row only if it is still the very
--            row that S1 read (same fence, lock_ts and expires_ts), and ROW_COUNT says so, because the fence
--            changes. A renewal that went first keeps the fence, and S1 reads its ttl; any other change ends that grant, and of
--            two takes that expect the same fence one wins and the other answers HELD.
--            The event: under autocommit S1, S2 and the event are one transaction of the call's own.
--            REPEATABLE READ: only locking reads, so that a later get is not given a stale view.
-- Differs    A refusal locks the row until the caller's transaction ends, and waits for a transaction that
--            is changing the row: a plain read would fix the caller's snapshot too early. No 40001: InnoDB judges the newest row. What a
--            session's settings can do: procedures/README.md.

DELIMITER $$

CREATE PROCEDURE take_appl_lock_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_expected_fence BIGINT,
    IN p_ttl_seconds BIGINT,
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT
)
COMMENT 'Internal to applock: the operation take_appl_lock.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
main: BEGIN
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_id, ''));
    DECLARE v_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_operator_id, ''));
    DECLARE v_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_department_id, ''));
    DECLARE v_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_reason, ''));
    DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    DECLARE v_round INT DEFAULT 1;
    DECLARE v_longest_ttl_seconds BIGINT;
    DECLARE v_take_reason_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_now DATETIME(6);
    DECLARE v_old_fence BIGINT;
    DECLARE v_old_lock_ts DATETIME(6);
    DECLARE v_old_expires_ts DATETIME(6);
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
        CALL appl_lock_refuse_text('take_appl_lock', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF CHAR_LENGTH(v_object_id) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_object_id', CHAR_LENGTH(v_object_id), 255);
    ELSEIF CHAR_LENGTH(v_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_operator_id', CHAR_LENGTH(v_operator_id), 64);
    ELSEIF CHAR_LENGTH(v_department_id) > 64 THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_department_id', CHAR_LENGTH(v_department_id), 64);
    ELSEIF CHAR_LENGTH(v_reason) > 255 THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_reason', CHAR_LENGTH(v_reason), 255);
    ELSEIF p_expected_fence < 1 THEN
        CALL appl_lock_refuse_number('take_appl_lock', 'p_expected_fence', 9223372036854775807);
    ELSEIF p_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('take_appl_lock', 'p_ttl_seconds', 315360000);
    END IF;

    SET SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    CALL appl_lock_begin(v_began);
    -- What is laid down for the type? The aggregates make it one row in any case.
    SELECT MIN(p.longest_ttl_seconds), MIN(p.take_reason_fl)
    INTO v_longest_ttl_seconds, v_take_reason_fl
    FROM appl_lock_policy AS p
    WHERE p.object_type = v_object_type
    LOCK IN SHARE MODE;
    IF v_reason = '' AND COALESCE(v_take_reason_fl, 'Y') = 'Y' THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_reason', 0, 255);
    END IF;
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
        IF v_old_fence IS NULL OR v_old_fence <> p_expected_fence THEN
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

        -- S2: a new grant, if it is still so.
        SET p_seconds_left = LEAST(COALESCE(
            p_ttl_seconds, GREATEST((TIMESTAMPDIFF(MICROSECOND, v_old_lock_ts, v_old_expires_ts) + 999999) DIV 1000000, 1)
        ), COALESCE(v_longest_ttl_seconds, 315360000));
        SET p_expires_ts = v_now + INTERVAL p_seconds_left SECOND;
        SET p_fence = GREATEST(v_old_fence + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', v_now));
        UPDATE appl_lock AS l
        SET l.fence = p_fence,
            l.operator_id = v_operator_id,
            l.department_id = v_department_id,
            l.acquired_ts = v_now,
            l.lock_ts = v_now,
            l.expires_ts = p_expires_ts,
            l.note = ''
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.fence = v_old_fence
            AND l.lock_ts = v_old_lock_ts
            AND l.expires_ts = v_old_expires_ts
            AND l.expires_ts > v_now;
        IF ROW_COUNT() > 0 THEN
            CALL appl_lock_record(
                'TAKEN', v_object_type, v_object_id, v_operator_id,
                p_old_operator_id, p_old_department_id, v_old_fence, v_operator_id, v_department_id, p_fence, v_reason
            );
            IF v_began THEN
                CALL appl_lock_end(TRUE);
            END IF;
            SET SESSION innodb_lock_wait_timeout = v_timeout;
            SET p_return_cd = 'Y';
            SET p_outcome = 'TAKEN';
            IF p_old_operator_id = v_operator_id THEN
                SET p_old_operator_id = '';
                SET p_old_department_id = '';
            END IF;
            LEAVE main;
        END IF;
        SET v_round = v_round + 1;
    UNTIL v_round > 30 END REPEAT;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'take_appl_lock: the object changed hands during the call; call again';
END$$

CREATE PROCEDURE take_appl_lock(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_expected_fence BIGINT,
    IN p_ttl_seconds BIGINT,
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT
)
COMMENT 'Take a held object from whoever holds it, for a reason.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'take_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL take_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_reason, p_expected_fence, p_ttl_seconds,
        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_expires_ts, p_seconds_left
    );
END$$

CREATE PROCEDURE take_appl_lock_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_expected_fence BIGINT,
    IN p_ttl_seconds BIGINT
)
COMMENT 'Take a held object from whoever holds it, for a reason; the answer is one row.'
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
            MESSAGE_TEXT = 'take_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL take_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_reason, p_expected_fence, p_ttl_seconds,
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
