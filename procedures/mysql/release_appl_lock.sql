-- release_appl_lock: end the grant that an operator holds on an object.
--
-- Contract   Y RELEASED: the operator held it (this very grant, if p_fence is given); it is free now.
--            Y FREE: nobody holds it; nothing changed.
--            N HELD: another operator, or another grant than p_fence, holds it; p_old_* tell who.
--            A release by another actor than the operator, or with a reason, is an event of the history: RELEASED. So is any
--            where the type's policy had the history told ALL when the operator last called get.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64;
--            p_fence 1 or greater, NULL = whichever grant; p_actor_id 1..64, NULL = p_operator_id; p_reason 0..255, NULL =
--            empty. Trailing blanks are trimmed first.
-- Out        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD).
-- Raises     LK001 invalid argument. LK003 when the object changed hands thirty times during the call, or
--            an upgrade is replacing the routine. 1205 after 1 s of waiting for another
--            transaction, 1213 deadlock.
-- Locks      S1 locks the object's one row and decides, S0, which reads what an event names, and S2 the same row; held to the end of the caller's
--            transaction. At REPEATABLE READ an object without a row leaves its gap locked so long.
-- Race-free  Release against take-over, renewal or transfer: S1 names operator, fence and expiry and is
--            judged on the newest row once it is locked; a later grant never matches. It takes the operator
--            out of the row when it does anything, so that ROW_COUNT says so whatever CLIENT_FOUND_ROWS is.
--            Two releases: the second finds a row without an operator and answers FREE, also if its time is
--            older than the first one's end of the grant.
--            An event: S1 ends only the grant that S0 has read, and all is one transaction. A grant that needs one for its own
--            sake S1 passes over, and so does S2: the next round has S0.
--            The row form has S1 before the core, for a grant of which no event tells: most releases end there.
--            A get that has not committed yet: waits for it, because its outcome decides.
--            REPEATABLE READ: only locking reads, so that a later get is not given a stale view.
-- Differs    A released row has no operator; other dialects keep it. A refusal locks the row until the
--            caller's transaction ends, and waits for a transaction that is changing the row: a plain read
--            would fix the caller's snapshot too early. No 40001: InnoDB judges the newest row. What a
--            session's settings can do: procedures/README.md.

DELIMITER $$

CREATE PROCEDURE release_appl_lock_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation release_appl_lock.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
main: BEGIN
    DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    DECLARE v_round INT DEFAULT 1;
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_fence BIGINT;
    DECLARE v_history_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET p_outcome = 'FREE';
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

    -- One look at arguments that are as they are stored: each instruction of a routine costs. (A blank equals nothing at all.)
    IF (
        RIGHT(p_object_type, 1) <> ' ' AND CHAR_LENGTH(p_object_type) <= 64 AND LOCATE(':', p_object_type) = 0
        AND RIGHT(p_object_id, 1) <> ' ' AND CHAR_LENGTH(p_object_id) <= 255
        AND RIGHT(p_operator_id, 1) <> ' ' AND CHAR_LENGTH(p_operator_id) <= 64
        AND COALESCE(p_fence, 1) >= 1
        AND COALESCE(p_actor_id, p_reason) IS NULL
    ) IS NOT TRUE THEN
        SET p_object_type = RTRIM(COALESCE(p_object_type, ''));
        SET p_object_id = RTRIM(COALESCE(p_object_id, ''));
        SET p_operator_id = RTRIM(COALESCE(p_operator_id, ''));
        SET v_actor_id = RTRIM(COALESCE(p_actor_id, p_operator_id));
        SET p_reason = RTRIM(COALESCE(p_reason, ''));
        IF CHAR_LENGTH(p_object_type) NOT BETWEEN 1 AND 64 OR LOCATE(':', p_object_type) > 0 THEN
            CALL appl_lock_refuse_text('release_appl_lock', 'p_object_type', CHAR_LENGTH(p_object_type), 64);
        ELSEIF CHAR_LENGTH(p_object_id) NOT BETWEEN 1 AND 255 THEN
            CALL appl_lock_refuse_text('release_appl_lock', 'p_object_id', CHAR_LENGTH(p_object_id), 255);
        ELSEIF CHAR_LENGTH(p_operator_id) NOT BETWEEN 1 AND 64 THEN
            CALL appl_lock_refuse_text('release_appl_lock', 'p_operator_id', CHAR_LENGTH(p_operator_id), 64);
        ELSEIF p_fence < 1 THEN
            CALL appl_lock_refuse_number('release_appl_lock', 'p_fence', 9223372036854775807);
        ELSEIF CHAR_LENGTH(v_actor_id) NOT BETWEEN 1 AND 64 THEN
            CALL appl_lock_refuse_text('release_appl_lock', 'p_actor_id', CHAR_LENGTH(v_actor_id), 64);
        ELSEIF CHAR_LENGTH(p_reason) > 255 THEN
            CALL appl_lock_refuse_text('release_appl_lock', 'p_reason', CHAR_LENGTH(p_reason), 255);
        END IF;
        IF v_actor_id = p_operator_id AND p_reason = '' THEN
            SET v_actor_id = NULL;
        END IF;
    END IF;

    SET SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    IF v_actor_id IS NOT NULL THEN
        CALL appl_lock_begin(v_began);
    END IF;
    REPEAT
        -- S0: which grant is it that an event will name? S1 ends that one.
        IF v_actor_id IS NOT NULL THEN
            SELECT l.department_id, l.fence, l.history_fl
            INTO v_department_id, v_fence, v_history_fl
            FROM appl_lock AS l
            WHERE l.object_type = p_object_type
                AND l.object_id = p_object_id
                AND l.operator_id = p_operator_id
                AND l.fence = COALESCE(p_fence, l.fence)
                AND l.expires_ts > UTC_TIMESTAMP(6)
            FOR UPDATE;
        END IF;

        -- S1: end this grant. Without an operator it is ended also for those who wait for the row with an
        -- older time than that of this statement.
        UPDATE appl_lock AS l
        SET l.operator_id = '',
            l.department_id = '',
            l.expires_ts = UTC_TIMESTAMP(6)
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
            AND l.operator_id = p_operator_id
            AND l.fence = COALESCE(v_fence, p_fence, l.fence)
            AND l.expires_ts > UTC_TIMESTAMP(6)
            AND (l.history_fl = 'N' OR v_actor_id IS NOT NULL);
        IF ROW_COUNT() > 0 THEN
            IF v_actor_id IS NOT NULL THEN
                IF v_history_fl = 'Y' OR v_actor_id <> p_operator_id OR p_reason <> '' THEN
                    CALL appl_lock_record(
                        'RELEASED', p_object_type, p_object_id, v_actor_id,
                        p_operator_id, v_department_id, v_fence, '', '', 0, p_reason
                    );
                END IF;
                IF v_began THEN
                    CALL appl_lock_end(TRUE);
                END IF;
            END IF;
            SET SESSION innodb_lock_wait_timeout = v_timeout;
            SET p_return_cd = 'Y';
            SET p_outcome = 'RELEASED';
            SET p_old_operator_id = '';
            SET p_old_department_id = '';
            LEAVE main;
        END IF;

        -- S2: who holds it? When it is this grant after all, S1 tries again.
        SELECT
            IF(l.operator_id = p_operator_id AND l.fence = COALESCE(p_fence, l.fence), '', 'HELD'),
            l.operator_id,
            l.department_id
        INTO p_outcome, p_old_operator_id, p_old_department_id
        FROM appl_lock AS l
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
            AND l.operator_id <> ''
            AND l.expires_ts > UTC_TIMESTAMP(6)
        FOR UPDATE;
        IF p_outcome <> '' THEN
            IF v_began THEN
                CALL appl_lock_end(TRUE);
            END IF;
            SET SESSION innodb_lock_wait_timeout = v_timeout;
            SET p_return_cd = IF(p_outcome = 'FREE', 'Y', 'N');
            SET p_old_operator_id = IF(p_outcome = 'FREE', '', p_old_operator_id);
            SET p_old_department_id = IF(p_outcome = 'FREE', '', p_old_department_id);
            LEAVE main;
        END IF;
        IF v_actor_id IS NULL THEN
            SET v_actor_id = p_operator_id;
            SET p_reason = '';
            CALL appl_lock_begin(v_began);
        END IF;
        SET v_round = v_round + 1;
    UNTIL v_round > 30 END REPEAT;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'release_appl_lock: the object changed hands during the call; call again';
END$$

CREATE PROCEDURE release_appl_lock(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'End the grant that an operator holds on an object.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'release_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL release_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_fence, p_actor_id, p_reason,
        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id
    );
END$$

CREATE PROCEDURE release_appl_lock_row_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation release_appl_lock, answered by one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT 'Y';
    DECLARE v_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '';
    DECLARE v_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '';

    IF COALESCE(p_actor_id, p_reason) IS NULL THEN
        BEGIN
            DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
            DECLARE EXIT HANDLER FOR SQLEXCEPTION
            BEGIN
                SET SESSION innodb_lock_wait_timeout = v_timeout;
                RESIGNAL;
            END;

            SET SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
            -- S1 for a grant of which no event tells. Arguments that are none match nothing: the core refuses them.
            UPDATE appl_lock AS l
            SET l.operator_id = '',
                l.department_id = '',
                l.expires_ts = UTC_TIMESTAMP(6)
            WHERE l.object_type = p_object_type
                AND l.object_id = p_object_id
                AND l.operator_id = p_operator_id
                AND l.operator_id <> ''
                AND l.fence = COALESCE(p_fence, l.fence)
                AND l.expires_ts > UTC_TIMESTAMP(6)
                AND l.history_fl = 'N';
            IF ROW_COUNT() > 0 THEN
                SET v_outcome = 'RELEASED';
            END IF;
            SET SESSION innodb_lock_wait_timeout = v_timeout;
        END;
    END IF;
    IF v_outcome IS NULL THEN
        CALL release_appl_lock_core(
            p_object_type, p_object_id, p_operator_id, p_fence, p_actor_id, p_reason,
            v_return_cd, v_outcome, v_old_operator_id, v_old_department_id
        );
    END IF;
    SELECT
        v_return_cd AS p_return_cd,
        v_outcome AS p_outcome,
        v_old_operator_id AS p_old_operator_id,
        v_old_department_id AS p_old_department_id;
END$$

CREATE PROCEDURE release_appl_lock_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'End the grant that an operator holds on an object; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'release_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL release_appl_lock_row_core(
        p_object_type, p_object_id, p_operator_id, p_fence, p_actor_id, p_reason
    );
END$$

DELIMITER ;
