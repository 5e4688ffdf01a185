-- list_appl_lock_waiters: one page of those who wait, in key order, all or those for a type or an object, or of
-- an operator or department.
--
-- Contract   At most p_max_rows waiters whose key is greater than (p_after_type, p_after_id,
--            p_after_operator_id, p_after_client_id). The next page starts after the last row of this
--            one; a page shorter than p_max_rows is the last.
-- In         p_object_type 1..64, p_object_id 1..255, p_operator_id 1..64, p_department_id 0..64: NULL = any.
--            p_after_type 0..64, p_after_id 0..255, p_after_operator_id 0..64, p_after_client_id 0..64: NULL =
--            from the start. p_max_rows 1..10000, NULL = 1000. Trailing blanks are trimmed first.
-- Out        The columns of appl_lock_waiter and seconds_left (whole seconds from now to expires_ts, rounded up),
--            ordered by object_type, object_id, operator_id, client_id as bytes.
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine.
-- Locks      Nothing; never waits and never writes.
-- Race-free  A page is one snapshot. One who waits through the whole listing is in it exactly once, because
--            the key does not change; one who comes or goes meanwhile may be in it or not.
-- Differs    As list_appl_locks.

DELIMITER $$

CREATE PROCEDURE list_appl_lock_waiters_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max_rows BIGINT
)
COMMENT 'Internal to applock: the operation list_appl_lock_waiters.'
READS SQL DATA
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
    DECLARE v_after_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_after_type, ''));
    DECLARE v_after_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_after_id, ''));
    DECLARE v_after_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_after_operator_id, ''));
    DECLARE v_after_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_after_client_id, ''));
    DECLARE v_max_rows BIGINT DEFAULT COALESCE(p_max_rows, 1000);

    IF p_object_type IS NOT NULL AND CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64
        OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('list_appl_lock_waiters', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF p_object_id IS NOT NULL AND CHAR_LENGTH(v_object_id) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('list_appl_lock_waiters', 'p_object_id', CHAR_LENGTH(v_object_id), 255);
    ELSEIF p_operator_id IS NOT NULL AND CHAR_LENGTH(v_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('list_appl_lock_waiters', 'p_operator_id', CHAR_LENGTH(v_operator_id), 64);
    ELSEIF CHAR_LENGTH(v_department_id) > 64 THEN
        CALL appl_lock_refuse_text('list_appl_lock_waiters', 'p_department_id', CHAR_LENGTH(v_department_id), 64);
    ELSEIF CHAR_LENGTH(v_after_type) > 64 THEN
        CALL appl_lock_refuse_text('list_appl_lock_waiters', 'p_after_type', CHAR_LENGTH(v_after_type), 64);
    ELSEIF CHAR_LENGTH(v_after_id) > 255 THEN
        CALL appl_lock_refuse_text('list_appl_lock_waiters', 'p_after_id', CHAR_LENGTH(v_after_id), 255);
    ELSEIF CHAR_LENGTH(v_after_operator_id) > 64 THEN
        CALL appl_lock_refuse_text('list_appl_lock_waiters', 'p_after_operator_id', CHAR_LENGTH(v_after_operator_id), 64);
    ELSEIF CHAR_LENGTH(v_after_client_id) > 64 THEN
        CALL appl_lock_refuse_text('list_appl_lock_waiters', 'p_after_client_id', CHAR_LENGTH(v_after_client_id), 64);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('list_appl_lock_waiters', 'p_max_rows', 10000);
    END IF;

    -- Id and operator are compared as ranges: when they are constant in a call, MariaDB (10.11) leaves them out of
    -- the ORDER BY of the session's next calls, too.
    SELECT
        w.object_type,
        w.object_id,
        w.operator_id,
        w.department_id,
        w.client_id,
        w.since_ts,
        w.until_ts,
        w.expires_ts,
        (TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), w.expires_ts) + 999999) DIV 1000000 AS seconds_left
    FROM appl_lock_waiter AS w
    WHERE (w.object_type > v_after_type OR (w.object_type = v_after_type
            AND (w.object_id > v_after_id OR (w.object_id = v_after_id
            AND (w.operator_id > v_after_operator_id OR (w.operator_id = v_after_operator_id
            AND w.client_id > v_after_client_id))))))
        AND (p_object_type IS NULL OR w.object_type = v_object_type)
        AND (p_object_id IS NULL OR (w.object_id >= v_object_id AND w.object_id <= v_object_id))
        AND (p_operator_id IS NULL OR (w.operator_id >= v_operator_id AND w.operator_id <= v_operator_id))
        AND (p_department_id IS NULL OR w.department_id = v_department_id)
        AND w.expires_ts > UTC_TIMESTAMP(6)
    ORDER BY w.object_type, w.object_id, w.operator_id, w.client_id
    LIMIT v_max_rows;
END$$

CREATE PROCEDURE list_appl_lock_waiters(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max_rows BIGINT
)
COMMENT 'One page of those who wait, in key order, all or those for a type or an object, or of an operator or department.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'list_appl_lock_waiters: is being replaced; call again, or install it again if that lasts';
    CALL list_appl_lock_waiters_core(
        p_object_type, p_object_id, p_operator_id, p_department_id,
        p_after_type, p_after_id, p_after_operator_id, p_after_client_id, p_max_rows
    );
END$$

DELIMITER ;
