-- assert_appl_lock: fail unless exactly this grant is live, and keep it so to the end of the transaction.
--
-- Contract   Returns when p_operator_id holds the object under p_fence; then nobody releases, transfers
--            or takes over that grant before the caller's transaction ends, even if it expires
--            meanwhile. Called first in the transaction that writes the protected data, it fences off
--            a holder that lost its lock without noticing. Under autocommit it is a check only.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64;
--            p_fence 1 or greater. Trailing blanks are trimmed first.
-- Out        None; the row form returns p_return_cd 'Y'. It leaves the grant in @appl_lock_asserted, which the session
--            keeps, for the guards of docs/guard.md.
-- Raises     LK001 invalid argument. LK002 when the grant is not live; the message names the holder.
--            LK003 when an upgrade is replacing the routine. 1205 after 1 s of waiting for another
--            transaction, 1213 deadlock.
-- Locks      S1 takes a share lock on the object's one row and decides; held to the end of the caller's
--            transaction. Other asserts of the grant do not wait for it; its renewal elsewhere does. A renewal or
--            release in the same transaction may then deadlock with somebody who waits for the row (MariaDB).
--            At REPEATABLE READ an object without a row leaves its gap locked so long.
-- Race-free  Assert against take-over, release, transfer: whoever locks the row first goes first; S1
--            names the grant and is judged on the newest row once it is locked.
--            REPEATABLE READ: only locking reads, so the caller's snapshot is not older than the lock.
-- Differs    The message names the holder only: MySQL cuts it off at 128 characters, and has a question mark
--            for each character outside the basic plane. No 40001: InnoDB judges the newest row. What a
--            session's settings can do: procedures/README.md.

DELIMITER $$

CREATE PROCEDURE assert_appl_lock_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT
)
COMMENT 'Internal to applock: the operation assert_appl_lock.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
main: BEGIN
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_id, ''));
    DECLARE v_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_operator_id, ''));
    DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    DECLARE v_grant LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT CONCAT(
        CHAR(10 USING utf8mb4), p_fence, CHAR(9 USING utf8mb4), v_operator_id, CHAR(9 USING utf8mb4), v_object_type, ':', v_object_id
    );
    DECLARE v_live BOOLEAN DEFAULT FALSE;
    DECLARE v_message VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT 'assert_appl_lock: nobody holds it';
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout;
        RESIGNAL;
    END;

    IF CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('assert_appl_lock', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF CHAR_LENGTH(v_object_id) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('assert_appl_lock', 'p_object_id', CHAR_LENGTH(v_object_id), 255);
    ELSEIF CHAR_LENGTH(v_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('assert_appl_lock', 'p_operator_id', CHAR_LENGTH(v_operator_id), 64);
    ELSEIF COALESCE(p_fence, 0) < 1 THEN
        CALL appl_lock_refuse_number('assert_appl_lock', 'p_fence', 9223372036854775807);
    END IF;

    SET SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    -- S1: is this grant live? If so it becomes a line for guards, newest first: one that is cut off loses its end, by which
    -- a guard would find it.
    SELECT
        TRUE,
        IF(
            LOCATE(CONCAT(v_grant, CHAR(10 USING utf8mb4)), @appl_lock_asserted) > 0,
            @appl_lock_asserted,
            LEFT(CONCAT(v_grant, COALESCE(@appl_lock_asserted, CHAR(10 USING utf8mb4))), 16000)
        )
    INTO v_live, @appl_lock_asserted
    FROM appl_lock AS l
    WHERE l.object_type = v_object_type
        AND l.object_id = v_object_id
        AND l.operator_id = v_operator_id
        AND l.fence = p_fence
        AND l.expires_ts > UTC_TIMESTAMP(6)
    LOCK IN SHARE MODE;
    IF v_live THEN
        SET SESSION innodb_lock_wait_timeout = v_timeout;
        LEAVE main;
    END IF;

    SELECT CONCAT('assert_appl_lock: ', l.operator_id, ' holds it with fence ', l.fence)
    INTO v_message
    FROM appl_lock AS l
    WHERE l.object_type = v_object_type
        AND l.object_id = v_object_id
        AND l.operator_id <> ''
        AND l.expires_ts > UTC_TIMESTAMP(6)
    LOCK IN SHARE MODE;
    SIGNAL SQLSTATE 'LK002' SET MESSAGE_TEXT = v_message;
END$$

CREATE PROCEDURE assert_appl_lock(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT
)
COMMENT 'Fail unless exactly this grant is live, and keep it so to the end of the transaction.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'assert_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL assert_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_fence
    );
END$$

CREATE PROCEDURE assert_appl_lock_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT
)
COMMENT 'Fail unless exactly this grant is live, and keep it so to the end of the transaction; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'assert_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL assert_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_fence
    );
    SELECT 'Y' AS p_return_cd;
END$$

DELIMITER ;
