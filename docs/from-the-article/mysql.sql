-- The four procedures of the article "Using Stored Procedures to Lock Application Objects", with its
-- parameters in its order and types, on top of applock's. For sites whose programs call the article's.
--
-- Install    After `applockctl migrate up`, as the account that ran it, into the same database:
--                mysql applock < mysql.sql
--            (or mariadb). Doing it again drops the procedures and their grants first: grant again.
-- Call       CALL applock.get_customer_lock(42, 'JDOE', 'CS', @lock_fl, @operator, @department). Callers need
--            EXECUTE on these procedures; they run with the rights of the account that installed them.
-- Object     customer:<p_customer_id>, as the full API has it. 7 days, as in the article, or the longest of a policy.
-- Out        'Y' or 'N'. Blank is CHAR(8) blank, never NULL, and arrives as MySQL has every CHAR: without its
--            trailing blanks, unless sql_mode has PAD_CHAR_TO_FULL_LENGTH. Only the time of a lock that is not
--            held is NULL. The time is UTC, a DATETIME(6): TIMESTAMP has no value in the hour that daylight
--            saving skips.
-- Raises     22001 for an operator or department of more than 8 characters: also the holder's, who has locked
--            through the full API; nothing has changed then. LK001, LK003 and what the database raises as in
--            get_appl_lock and its siblings. (An argument is checked by the server, before it gets here: in a
--            sql_mode that is not strict it cuts a longer one off. Keep the mode strict.)

-- A routine keeps the sql_mode that it was created with: so it is ours, not the session's.
SET @applock_sql_mode = @@SESSION.sql_mode;
SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION';

DROP PROCEDURE IF EXISTS get_customer_lock;
DROP PROCEDURE IF EXISTS release_customer_lock;
DROP PROCEDURE IF EXISTS inquire_customer_lock;
DROP PROCEDURE IF EXISTS transfer_customer_lock;

DELIMITER $$

CREATE PROCEDURE get_customer_lock(
    IN p_customer_id BIGINT,
    IN p_operator_id CHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id CHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_lock_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id CHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id CHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'get_appl_lock for the object customer:id, with the parameters of GET_APPL_LOCK in the article.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts DATETIME(6);
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_seconds_left BIGINT;
    DECLARE v_note VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_message VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

    IF p_customer_id IS NULL THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'get_customer_lock: p_customer_id must not be NULL';
    END IF;
    CALL get_appl_lock(
        'customer', CAST(p_customer_id AS CHAR), p_operator_id, COALESCE(p_department_id, ''), 604800, NULL,
        p_lock_fl, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_acquired_ts, v_expires_ts,
        v_seconds_left, v_note
    );
    IF CHAR_LENGTH(v_old_operator_id) > 8 OR CHAR_LENGTH(v_old_department_id) > 8 THEN
        SET v_message = LEFT(CONCAT('get_customer_lock: holder too long for CHAR(8): ', v_old_operator_id, ', ', v_old_department_id), 128);
        SIGNAL SQLSTATE '22001' SET MESSAGE_TEXT = v_message;
    END IF;
    SET p_old_operator_id = v_old_operator_id;
    SET p_old_department_id = v_old_department_id;
END$$

CREATE PROCEDURE release_customer_lock(
    IN p_customer_id BIGINT,
    IN p_operator_id CHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id CHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id CHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'release_appl_lock for the object customer:id, with the parameters of RELEASE_APPL_LOCK in the article.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_message VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

    IF p_customer_id IS NULL THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'release_customer_lock: p_customer_id must not be NULL';
    END IF;
    CALL release_appl_lock(
        'customer', CAST(p_customer_id AS CHAR), p_operator_id, NULL, NULL, NULL,
        p_return_cd, v_outcome, v_old_operator_id, v_old_department_id
    );
    IF CHAR_LENGTH(v_old_operator_id) > 8 OR CHAR_LENGTH(v_old_department_id) > 8 THEN
        SET v_message = LEFT(CONCAT('release_customer_lock: holder too long for CHAR(8): ', v_old_operator_id, ', ', v_old_department_id), 128);
        SIGNAL SQLSTATE '22001' SET MESSAGE_TEXT = v_message;
    END IF;
    SET p_old_operator_id = v_old_operator_id;
    SET p_old_department_id = v_old_department_id;
END$$

CREATE PROCEDURE inquire_customer_lock(
    IN p_customer_id BIGINT,
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_operator_id CHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_department_id CHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_lock_ts DATETIME(6)
)
COMMENT 'inquire_appl_lock for the object customer:id, with the parameters of INQUIRE_APPL_LOCK in the article.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts DATETIME(6);
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_seconds_left BIGINT;
    DECLARE v_note VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_message VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

    IF p_customer_id IS NULL THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'inquire_customer_lock: p_customer_id must not be NULL';
    END IF;
    CALL inquire_appl_lock(
        'customer', CAST(p_customer_id AS CHAR),
        p_return_cd, v_operator_id, v_department_id, v_fence, v_acquired_ts, p_lock_ts, v_expires_ts, v_seconds_left, v_note
    );
    IF CHAR_LENGTH(v_operator_id) > 8 OR CHAR_LENGTH(v_department_id) > 8 THEN
        SET v_message = LEFT(CONCAT('inquire_customer_lock: holder too long for CHAR(8): ', v_operator_id, ', ', v_department_id), 128);
        SIGNAL SQLSTATE '22001' SET MESSAGE_TEXT = v_message;
    END IF;
    SET p_operator_id = v_operator_id;
    SET p_department_id = v_department_id;
END$$

CREATE PROCEDURE transfer_customer_lock(
    IN p_customer_id BIGINT,
    IN p_from_operator_id CHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_operator_id CHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_department_id CHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id CHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id CHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'transfer_appl_lock for the object customer:id, with the parameters of TRANSFER_APPL_LOCK in the article.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts DATETIME(6);
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_seconds_left BIGINT;
    DECLARE v_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_message VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

    IF p_customer_id IS NULL THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'transfer_customer_lock: p_customer_id must not be NULL';
    END IF;
    CALL transfer_appl_lock(
        'customer', CAST(p_customer_id AS CHAR), p_from_operator_id, p_to_operator_id, p_to_department_id, 604800,
        NULL, NULL,
        p_return_cd, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_acquired_ts, v_expires_ts,
        v_seconds_left
    );
    IF CHAR_LENGTH(v_old_operator_id) > 8 OR CHAR_LENGTH(v_old_department_id) > 8 THEN
        SET v_message = LEFT(CONCAT('transfer_customer_lock: holder too long for CHAR(8): ', v_old_operator_id, ', ', v_old_department_id), 128);
        SIGNAL SQLSTATE '22001' SET MESSAGE_TEXT = v_message;
    END IF;
    SET p_old_operator_id = v_old_operator_id;
    SET p_old_department_id = v_old_department_id;
END$$

DELIMITER ;

SET SESSION sql_mode = @applock_sql_mode;
