-- A guard of applock for MySQL and MariaDB. Run it with: mysql DATABASE < FILE
-- It replaces an earlier guard of the table, which is not guarded meanwhile. "applockctl guard print --down" prints what
-- removes it. The account that runs it becomes the owner, with whose rights the guard calls assert_appl_lock.

DROP TRIGGER IF EXISTS GUARD_ON_INSERT;
DROP TRIGGER IF EXISTS GUARD_ON_UPDATE;
DROP TRIGGER IF EXISTS GUARD_ON_DELETE;
DROP PROCEDURE IF EXISTS GUARD_PROCEDURE;

DELIMITER $$

CREATE PROCEDURE GUARD_PROCEDURE(IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin)
COMMENT 'applock: assert the lock of a row that is written.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_field CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT CHAR(9 USING utf8mb4);
    DECLARE v_line_end CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT CHAR(10 USING utf8mb4);
    DECLARE v_object LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT CONCAT(GUARD_TYPE, ':', RTRIM(p_object_id));
    DECLARE v_asserted LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT @appl_lock_asserted;
    DECLARE v_at INTEGER DEFAULT COALESCE(LOCATE(CONCAT(v_field, v_object, v_line_end), v_asserted), 0);
    DECLARE v_line LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT SUBSTRING_INDEX(LEFT(v_asserted, v_at - 1), v_line_end, -1);
    DECLARE v_fence LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT SUBSTRING_INDEX(v_line, v_field, 1);
    DECLARE v_message VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT LEFT(CONCAT('guard: a write without assert_appl_lock of ', COALESCE(v_object, 'NULL')), 128);

    IF v_at = 0 THEN
        SIGNAL SQLSTATE 'LK002' SET MESSAGE_TEXT = v_message;
    END IF;
    -- The line of the grant that assert_appl_lock has found last: fence, operator, object.
    CALL GUARD_ASSERT(GUARD_TYPE, p_object_id, SUBSTRING(v_line, CHAR_LENGTH(v_fence) + 2), v_fence);
END$$

CREATE TRIGGER GUARD_ON_UPDATE AFTER UPDATE ON GUARD_TABLE FOR EACH ROW
BEGIN
    CALL GUARD_PROCEDURE(OLD.GUARD_COLUMN);
    IF NOT (CAST(OLD.GUARD_COLUMN AS BINARY) <=> CAST(NEW.GUARD_COLUMN AS BINARY)) THEN
        CALL GUARD_PROCEDURE(NEW.GUARD_COLUMN);
    END IF;
END$$

CREATE TRIGGER GUARD_ON_DELETE AFTER DELETE ON GUARD_TABLE FOR EACH ROW
CALL GUARD_PROCEDURE(OLD.GUARD_COLUMN)$$

DELIMITER ;
