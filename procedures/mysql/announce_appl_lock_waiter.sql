-- announce_appl_lock_waiter: say that an operator waits for an object, or still waits.
--
-- Contract   Lists the operator as a waiter of the program p_client_id for 60 s, but not longer than
--            p_wait_seconds. Called again, or kept by poll_appl_locks, it stays listed, and waits since the
--            first call; once it is not listed any more, a call begins a new wait. It takes nothing and
--            promises nothing: who waits is for others to see.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64;
--            p_department_id 0..64, NULL = empty; p_client_id 1..64, the waiting program, by a name that no
--            other one has; p_wait_seconds until it gives up, 1..315360000, NULL = never.
--            Trailing blanks are trimmed first.
-- Out        None; the row form returns p_return_cd 'Y'.
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine. 1205 after 1 s of waiting
--            for another transaction, 1213 deadlock.
-- Locks      S1 inserts or changes the waiter's one row; held to the end of the caller's transaction. Only
--            announce, retract and purge of this very waiter wait for it; poll passes over it.
-- Race-free  Two calls: the primary key lets one insert; ON DUPLICATE KEY UPDATE makes the other wait for an
--            exclusive lock, and whether the row is live is judged on it.
--            Against purge or retract: one of them has the row; an announce that waited inserts a new one.
-- Differs    Of three calls for one waiter at once, one of them a retract, one may become a deadlock's victim
--            (1213), because the row comes and goes: call again.

DELIMITER $$

CREATE PROCEDURE announce_appl_lock_waiter_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_wait_seconds BIGINT
)
COMMENT 'Internal to applock: the operation announce_appl_lock_waiter.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_id, ''));
    DECLARE v_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_operator_id, ''));
    DECLARE v_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_department_id, ''));
    DECLARE v_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_client_id, ''));
    DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    DECLARE v_now DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_until DATETIME(6);
    DECLARE v_expires DATETIME(6);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout;
        RESIGNAL;
    END;

    IF CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('announce_appl_lock_waiter', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF CHAR_LENGTH(v_object_id) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('announce_appl_lock_waiter', 'p_object_id', CHAR_LENGTH(v_object_id), 255);
    ELSEIF CHAR_LENGTH(v_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('announce_appl_lock_waiter', 'p_operator_id', CHAR_LENGTH(v_operator_id), 64);
    ELSEIF CHAR_LENGTH(v_department_id) > 64 THEN
        CALL appl_lock_refuse_text('announce_appl_lock_waiter', 'p_department_id', CHAR_LENGTH(v_department_id), 64);
    ELSEIF CHAR_LENGTH(v_client_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('announce_appl_lock_waiter', 'p_client_id', CHAR_LENGTH(v_client_id), 64);
    ELSEIF p_wait_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('announce_appl_lock_waiter', 'p_wait_seconds', 315360000);
    END IF;

    SET v_until = v_now + INTERVAL p_wait_seconds SECOND;
    SET v_expires = LEAST(v_now + INTERVAL 60 SECOND, COALESCE(v_until, v_now + INTERVAL 60 SECOND));
    SET SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    -- S1: a new wait, or the one that goes on. The assignments are made in this order, each seeing the ones
    -- before.
    INSERT INTO appl_lock_waiter (
        object_type,
        object_id,
        operator_id,
        department_id,
        client_id,
        since_ts,
        until_ts,
        expires_ts
    )
    VALUES (
        v_object_type,
        v_object_id,
        v_operator_id,
        v_department_id,
        v_client_id,
        v_now,
        v_until,
        v_expires
    )
    ON DUPLICATE KEY UPDATE
        department_id = v_department_id,
        since_ts = IF(expires_ts > v_now, since_ts, v_now),
        until_ts = v_until,
        expires_ts = v_expires;
    SET SESSION innodb_lock_wait_timeout = v_timeout;
END$$

CREATE PROCEDURE announce_appl_lock_waiter(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_wait_seconds BIGINT
)
COMMENT 'Say that an operator waits for an object, or still waits.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'announce_appl_lock_waiter: is being replaced; call again, or install it again if that lasts';
    CALL announce_appl_lock_waiter_core(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_client_id, p_wait_seconds
    );
END$$

CREATE PROCEDURE announce_appl_lock_waiter_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_wait_seconds BIGINT
)
COMMENT 'Say that an operator waits for an object, or still waits; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'announce_appl_lock_waiter: is being replaced; call again, or install it again if that lasts';
    CALL announce_appl_lock_waiter_core(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_client_id, p_wait_seconds
    );
    SELECT 'Y' AS p_return_cd;
END$$

DELIMITER ;
