-- note_appl_lock: say why an operator holds an object, for whoever asks.
--
-- Contract   Y NOTED: the operator holds it (this very grant, if p_fence is given), and this is its note now. It lasts
--            as long as the grant, through renewals; the next grant begins without one.
--            N FREE: nobody holds it; nothing changed.
--            N HELD: another operator, or another grant than p_fence, holds it; p_old_* tell who. Nothing changed.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64;
--            p_fence 1 or greater, NULL = whichever grant; p_note 0..255, NULL = empty. Trailing blanks are trimmed first.
-- Out        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD).
-- Raises     LK001 invalid argument. LK003 when the object changed hands thirty times during the call, or
--            an upgrade is replacing the routine. 1205 after 1 s of waiting for another
--            transaction, 1213 deadlock.
-- Locks      S1 locks the object's one row and decides, S2 the same row; held to the end of the caller's
--            transaction. At REPEATABLE READ an object without a row leaves its gap locked so long.
-- Race-free  Note against release, take-over or transfer: S1 names operator, fence and expiry and is judged on the newest
--            row once it is locked; a note never lands on a later grant of another operator, nor, with p_fence, on one of
--            this operator. A released row has no operator. Whether S1 has noted comes out of it through
--            LAST_INSERT_ID(expr): ROW_COUNT would not tell the same note noted again from no row.
--            Note against renewal: the later one of the two changes the row that the other has left; neither is lost.
--            A get that has not committed yet: waits for it, because its outcome decides.
--            REPEATABLE READ: only locking reads, so that a later get is not given a stale view.
-- Differs    A refusal locks the row until the caller's transaction ends, and waits for a transaction that
--            is changing the row: a plain read would fix the caller's snapshot too early. No 40001: InnoDB
--            judges the newest row. What a session's settings can do: procedures/README.md.

DELIMITER $$

CREATE PROCEDURE note_appl_lock_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT,
    IN p_note LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation note_appl_lock.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
main: BEGIN
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_id, ''));
    DECLARE v_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_operator_id, ''));
    DECLARE v_note LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_note, ''));
    DECLARE v_insert_id BIGINT UNSIGNED DEFAULT LAST_INSERT_ID();
    DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    DECLARE v_round INT DEFAULT 1;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET p_outcome = 'FREE';
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout;
        DO LAST_INSERT_ID(v_insert_id);
        RESIGNAL;
    END;

    IF CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('note_appl_lock', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF CHAR_LENGTH(v_object_id) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('note_appl_lock', 'p_object_id', CHAR_LENGTH(v_object_id), 255);
    ELSEIF CHAR_LENGTH(v_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('note_appl_lock', 'p_operator_id', CHAR_LENGTH(v_operator_id), 64);
    ELSEIF p_fence < 1 THEN
        CALL appl_lock_refuse_number('note_appl_lock', 'p_fence', 9223372036854775807);
    ELSEIF CHAR_LENGTH(v_note) > 255 THEN
        CALL appl_lock_refuse_text('note_appl_lock', 'p_note', CHAR_LENGTH(v_note), 255);
    END IF;

    SET SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    REPEAT
        -- S1: note it on this grant.
        DO LAST_INSERT_ID(0);
        UPDATE appl_lock AS l
        SET l.fence = LAST_INSERT_ID(l.fence),
            l.note = v_note
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.operator_id = v_operator_id
            AND l.fence = COALESCE(p_fence, l.fence)
            AND l.expires_ts > UTC_TIMESTAMP(6);
        IF LAST_INSERT_ID() > 0 THEN
            SET SESSION innodb_lock_wait_timeout = v_timeout;
            DO LAST_INSERT_ID(v_insert_id);
            SET p_return_cd = 'Y';
            SET p_outcome = 'NOTED';
            SET p_old_operator_id = '';
            SET p_old_department_id = '';
            LEAVE main;
        END IF;

        -- S2: who holds it? When it is this grant after all, S1 tries again.
        SELECT
            IF(l.operator_id = v_operator_id AND l.fence = COALESCE(p_fence, l.fence), '', 'HELD'),
            l.operator_id,
            l.department_id
        INTO p_outcome, p_old_operator_id, p_old_department_id
        FROM appl_lock AS l
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.operator_id <> ''
            AND l.expires_ts > UTC_TIMESTAMP(6)
        FOR UPDATE;
        IF p_outcome <> '' THEN
            SET SESSION innodb_lock_wait_timeout = v_timeout;
            DO LAST_INSERT_ID(v_insert_id);
            SET p_return_cd = 'N';
            SET p_old_operator_id = IF(p_outcome = 'FREE', '', p_old_operator_id);
            SET p_old_department_id = IF(p_outcome = 'FREE', '', p_old_department_id);
            LEAVE main;
        END IF;
        SET v_round = v_round + 1;
    UNTIL v_round > 30 END REPEAT;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'note_appl_lock: the object changed hands during the call; call again';
END$$

CREATE PROCEDURE note_appl_lock(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT,
    IN p_note LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Say why an operator holds an object, for whoever asks.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'note_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL note_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_fence, p_note,
        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id
    );
END$$

CREATE PROCEDURE note_appl_lock_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT,
    IN p_note LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Say why an operator holds an object, for whoever asks; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'note_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL note_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_fence, p_note,
        v_return_cd, v_outcome, v_old_operator_id, v_old_department_id
    );
    SELECT
        v_return_cd AS p_return_cd,
        v_outcome AS p_outcome,
        v_old_operator_id AS p_old_operator_id,
        v_old_department_id AS p_old_department_id;
END$$

DELIMITER ;
