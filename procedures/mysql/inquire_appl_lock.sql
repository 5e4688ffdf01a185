-- inquire_appl_lock: who holds an object, since when and until when.
--
-- Contract   Y and the lock, when somebody holds the object.
--            N and blanks (empty strings, numbers 0, NULL timestamps), when it is free or expired.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255. Trailing blanks are trimmed.
-- Out        p_return_cd, p_operator_id, p_department_id, p_fence, p_acquired_ts, p_lock_ts, p_expires_ts,
--            p_seconds_left (whole seconds from now to p_expires_ts, rounded up; 0 when N), p_note (empty when N).
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine.
-- Locks      Nothing; never waits and never writes.
-- Race-free  One read of one committed row version: what it says was true at one moment.
--            REPEATABLE READ: that moment is the transaction's snapshot.
-- Differs    At REPEATABLE READ it fixes the snapshot of the caller's transaction, as every plain read does:
--            a get, assert or serialize that is to see the newest data comes first. In a transaction at
--            SERIALIZABLE InnoDB turns the read into a locking one, which waits.

DELIMITER $$

CREATE PROCEDURE inquire_appl_lock_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_acquired_ts DATETIME(6),
    OUT p_lock_ts DATETIME(6),
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT,
    OUT p_note VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation inquire_appl_lock.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_id, ''));
    DECLARE CONTINUE HANDLER FOR NOT FOUND
    BEGIN
        SET p_return_cd = 'N';
        SET p_operator_id = '';
        SET p_department_id = '';
        SET p_fence = 0;
        SET p_seconds_left = 0;
        SET p_note = '';
    END;

    IF CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('inquire_appl_lock', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF CHAR_LENGTH(v_object_id) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('inquire_appl_lock', 'p_object_id', CHAR_LENGTH(v_object_id), 255);
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
    INTO p_return_cd, p_operator_id, p_department_id, p_fence, p_acquired_ts, p_lock_ts, p_expires_ts, p_seconds_left, p_note
    FROM appl_lock AS l
    WHERE l.object_type = v_object_type
        AND l.object_id = v_object_id
        AND l.operator_id <> ''
        AND l.expires_ts > UTC_TIMESTAMP(6);
END$$

CREATE PROCEDURE inquire_appl_lock(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_acquired_ts DATETIME(6),
    OUT p_lock_ts DATETIME(6),
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT,
    OUT p_note VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Who holds an object, since when and until when.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'inquire_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL inquire_appl_lock_core(
        p_object_type, p_object_id,
        p_return_cd, p_operator_id, p_department_id, p_fence, p_acquired_ts, p_lock_ts, p_expires_ts, p_seconds_left, p_note
    );
END$$

CREATE PROCEDURE inquire_appl_lock_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Who holds an object, since when and until when; the answer is one row.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts DATETIME(6);
    DECLARE v_lock_ts DATETIME(6);
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_seconds_left BIGINT;
    DECLARE v_note VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'inquire_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL inquire_appl_lock_core(
        p_object_type, p_object_id,
        v_return_cd, v_operator_id, v_department_id, v_fence, v_acquired_ts, v_lock_ts, v_expires_ts, v_seconds_left, v_note
    );
    SELECT
        v_return_cd AS p_return_cd,
        v_operator_id AS p_operator_id,
        v_department_id AS p_department_id,
        v_fence AS p_fence,
        v_acquired_ts AS p_acquired_ts,
        v_lock_ts AS p_lock_ts,
        v_expires_ts AS p_expires_ts,
        v_seconds_left AS p_seconds_left,
        v_note AS p_note;
END$$

DELIMITER ;
