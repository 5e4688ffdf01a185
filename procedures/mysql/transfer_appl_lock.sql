-- transfer_appl_lock: hand a held object from one operator to another.
--
-- Contract   Y TRANSFERRED: p_from held it; p_to holds it now: a new grant, a greater fence.
--            N HELD: somebody else than p_from holds it; p_old_* and p_expires_ts tell who and until when.
--            N FREE: nobody holds it; nothing changed.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_from_operator_id and
--            p_to_operator_id 1..64, may be equal; p_to_department_id 0..64, NULL = empty;
--            p_ttl_seconds 1..315360000, NULL = that of the grant that ends: expires_ts - lock_ts in whole
--            seconds, rounded up, at least 1. Trailing blanks are trimmed first.
-- Out        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD),
--            p_fence (0 unless TRANSFERRED), p_expires_ts (NULL when FREE), p_seconds_left (whole seconds
--            from now to p_expires_ts, rounded up; 0 when FREE).
-- Raises     LK001 invalid argument. LK003 when the object changed hands thirty times during the call, or
--            an upgrade is replacing the routine. 1205 after 1 s of waiting for another
--            transaction, 1213 deadlock.
-- Locks      S1 locks the object's one row and decides, S2 the same row; held to the end of the caller's
--            transaction. At REPEATABLE READ an object without a row leaves its gap locked so long.
-- Race-free  Transfer against release, take-over or another transfer: S1 names the old operator and the
--            expiry and is judged on the newest row once it is locked; of two transfers from the same
--            operator one wins and the other answers HELD. The fence is computed under the row lock and
--            comes out of S1 through LAST_INSERT_ID(expr).
--            Ttl of NULL: S1 leaves the row alone unless the grant has the ttl that the new one would get: 7 days
--            in the first round, later what S2 has read in the round before. A renewal with another ttl in
--            between costs a round.
--            REPEATABLE READ: only locking reads, so that a later get is not given a stale view.
-- Differs    A refusal locks the row until the caller's transaction ends, and waits for a transaction that
--            is changing the row: a plain read would fix the caller's snapshot too early. The time is read
--            before a wait, so that a grant may begin up to 1 s before its answer; what is left of it is the
--            whole ttl even so, because it is rounded up. No 40001: InnoDB judges the newest row. What a
--            session's settings can do: procedures/README.md.

DELIMITER $$

CREATE PROCEDURE transfer_appl_lock_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_from_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
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
    DECLARE v_insert_id BIGINT UNSIGNED DEFAULT LAST_INSERT_ID();
    DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    DECLARE v_round INT DEFAULT IF(p_ttl_seconds IS NULL, -1, 0);
    DECLARE v_now DATETIME(6);
    DECLARE v_holds BOOLEAN;
    DECLARE CONTINUE HANDLER FOR NOT FOUND
    BEGIN
        SET v_holds = NULL;
        SET p_expires_ts = NULL;
        SET p_seconds_left = 0;
    END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout;
        DO LAST_INSERT_ID(v_insert_id);
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
    END IF;

    SET SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    SET p_old_operator_id = '';
    SET p_old_department_id = '';
    -- The ttl of the new grant, and what is left of it at first. For NULL the most likely one, until S2 has read it.
    SET p_seconds_left = COALESCE(p_ttl_seconds, 604800);
    WHILE v_round < 30 DO
        SET v_round = v_round + 1;
        SET v_now = UTC_TIMESTAMP(6);
        SET p_expires_ts = v_now + INTERVAL p_seconds_left SECOND;

        -- S1: a new grant for the other operator.
        DO LAST_INSERT_ID(0);
        UPDATE appl_lock AS l
        SET l.fence = LAST_INSERT_ID(GREATEST(l.fence + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', v_now))),
            l.operator_id = v_to_operator_id,
            l.department_id = v_to_department_id,
            l.acquired_ts = v_now,
            l.lock_ts = v_now,
            l.expires_ts = p_expires_ts,
            l.note = ''
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.operator_id = v_from_operator_id
            AND l.expires_ts > v_now
            AND p_seconds_left = COALESCE(
                p_ttl_seconds, GREATEST((TIMESTAMPDIFF(MICROSECOND, l.lock_ts, l.expires_ts) + 999999) DIV 1000000, 1)
            );
        IF LAST_INSERT_ID() > 0 THEN
            SET p_fence = LAST_INSERT_ID();
            SET SESSION innodb_lock_wait_timeout = v_timeout;
            DO LAST_INSERT_ID(v_insert_id);
            SET p_return_cd = 'Y';
            SET p_outcome = 'TRANSFERRED';
            LEAVE main;
        END IF;

        -- S2: who holds it? When it is p_from after all, with which ttl will S1 try again?
        SELECT
            l.operator_id,
            l.department_id,
            l.expires_ts,
            IF(
                l.operator_id = v_from_operator_id,
                COALESCE(
                    p_ttl_seconds, GREATEST((TIMESTAMPDIFF(MICROSECOND, l.lock_ts, l.expires_ts) + 999999) DIV 1000000, 1)
                ),
                (TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.expires_ts) + 999999) DIV 1000000
            ),
            l.operator_id = v_from_operator_id
        INTO p_old_operator_id, p_old_department_id, p_expires_ts, p_seconds_left, v_holds
        FROM appl_lock AS l
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.operator_id <> ''
            AND l.expires_ts > UTC_TIMESTAMP(6)
        FOR UPDATE;
        IF v_holds IS NULL OR NOT v_holds THEN
            SET SESSION innodb_lock_wait_timeout = v_timeout;
            DO LAST_INSERT_ID(v_insert_id);
            SET p_return_cd = 'N';
            SET p_outcome = IF(v_holds IS NULL, 'FREE', 'HELD');
            SET p_fence = 0;
            LEAVE main;
        END IF;
        SET p_old_operator_id = '';
        SET p_old_department_id = '';
    END WHILE;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'transfer_appl_lock: the object changed hands during the call; call again';
END$$

CREATE PROCEDURE transfer_appl_lock(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_from_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
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
        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_expires_ts, p_seconds_left
    );
END$$

CREATE PROCEDURE transfer_appl_lock_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_from_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT
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
