-- list_appl_locks: one page of the live locks in key order, all or those of a type, operator or department.
--
-- Contract   At most p_max_rows live locks whose key is greater than (p_after_type, p_after_id). The next
--            page starts after the last row of this one; a page shorter than p_max_rows is the last.
-- In         p_object_type 1..64, p_operator_id 1..64, p_department_id 0..64: NULL = any. p_after_type
--            0..64, p_after_id 0..255: NULL = from the start. p_max_rows 1..10000, NULL = 1000.
--            Trailing blanks are trimmed first.
-- Out        The columns of appl_lock and seconds_left (whole seconds from now to expires_ts, rounded up), ordered by
--            object_type, object_id as bytes.
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine.
-- Locks      Nothing; never waits and never writes.
-- Race-free  A page is one snapshot. A lock that lives through the whole listing is in it exactly once,
--            because its key does not change; one that comes or goes meanwhile may be in it or not.
-- Differs    A procedure with a result set. utf8mb4_bin sorts the control characters below blank as if a
--            value that ends before them went on with blanks. Snapshot and SERIALIZABLE as in
--            inquire_appl_lock.

DELIMITER $$

CREATE PROCEDURE list_appl_locks_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max_rows BIGINT
)
COMMENT 'Internal to applock: the operation list_appl_locks.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_operator_id, ''));
    DECLARE v_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_department_id, ''));
    DECLARE v_after_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_after_type, ''));
    DECLARE v_after_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_after_id, ''));
    DECLARE v_max_rows BIGINT DEFAULT COALESCE(p_max_rows, 1000);

    IF p_object_type IS NOT NULL AND CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64
        OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('list_appl_locks', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF p_operator_id IS NOT NULL AND CHAR_LENGTH(v_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('list_appl_locks', 'p_operator_id', CHAR_LENGTH(v_operator_id), 64);
    ELSEIF CHAR_LENGTH(v_department_id) > 64 THEN
        CALL appl_lock_refuse_text('list_appl_locks', 'p_department_id', CHAR_LENGTH(v_department_id), 64);
    ELSEIF CHAR_LENGTH(v_after_type) > 64 THEN
        CALL appl_lock_refuse_text('list_appl_locks', 'p_after_type', CHAR_LENGTH(v_after_type), 64);
    ELSEIF CHAR_LENGTH(v_after_id) > 255 THEN
        CALL appl_lock_refuse_text('list_appl_locks', 'p_after_id', CHAR_LENGTH(v_after_id), 255);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('list_appl_locks', 'p_max_rows', 10000);
    END IF;

    SELECT
        l.object_type,
        l.object_id,
        l.operator_id,
        l.department_id,
        l.fence,
        l.acquired_ts,
        l.lock_ts,
        l.expires_ts,
        (TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.expires_ts) + 999999) DIV 1000000 AS seconds_left,
        l.note
    FROM appl_lock AS l
    WHERE (l.object_type > v_after_type OR (l.object_type = v_after_type AND l.object_id > v_after_id))
        AND (p_object_type IS NULL OR l.object_type = v_object_type)
        AND (p_operator_id IS NULL OR l.operator_id = v_operator_id)
        AND (p_department_id IS NULL OR l.department_id = v_department_id)
        AND l.operator_id <> ''
        AND l.expires_ts > UTC_TIMESTAMP(6)
    ORDER BY l.object_type, l.object_id
    LIMIT v_max_rows;
END$$

CREATE PROCEDURE list_appl_locks(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max_rows BIGINT
)
COMMENT 'One page of the live locks in key order, all or those of a type, operator or department.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'list_appl_locks: is being replaced; call again, or install it again if that lasts';
    CALL list_appl_locks_core(
        p_object_type, p_operator_id, p_department_id, p_after_type, p_after_id, p_max_rows
    );
END$$

DELIMITER ;
