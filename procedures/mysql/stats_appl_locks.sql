-- stats_appl_locks: how many locks and waiters there are of each type and department, and how old and how long.
--
-- Contract   One row for each type and department that has a row in appl_lock, or somebody who is listed in
--            appl_lock_waiter: live locks by the department of the holder, waiters by their own. What is free is
--            nobody's, and has the empty one. The sum of live and expired is the number of rows of appl_lock.
-- In         p_object_type 1..64, p_department_id 0..64: NULL = any. Trailing blanks are trimmed first.
-- Out        live, expired (free again, and not purged), oldest_seconds (since acquired_ts, of live locks),
--            next_expiry_seconds (to expires_ts, of live locks), waiters (listed now), longest_wait_seconds (since
--            since_ts), ordered by object_type, department_id as bytes. Seconds are whole ones: what lies behind is
--            rounded down, what lies ahead is rounded up; 0 for none, and for what the clock was set back behind.
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine.
-- Locks      Nothing; never waits and never writes. It reads each table once, from end to end, or what there is of the
--            type, and keeps a temporary table of the answer's size.
-- Race-free  The answer is one snapshot, and one time is the now of all its rows.
-- Differs    As list_appl_locks.

DELIMITER $$

CREATE PROCEDURE stats_appl_locks_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation stats_appl_locks.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_department_id, ''));

    IF p_object_type IS NOT NULL AND CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64
        OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('stats_appl_locks', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF CHAR_LENGTH(v_department_id) > 64 THEN
        CALL appl_lock_refuse_text('stats_appl_locks', 'p_department_id', CHAR_LENGTH(v_department_id), 64);
    END IF;

    SELECT
        s.object_type,
        s.department_id,
        CAST(SUM(s.live) AS SIGNED) AS live,
        CAST(SUM(s.expired) AS SIGNED) AS expired,
        MAX(s.oldest_seconds) AS oldest_seconds,
        MAX(s.next_expiry_seconds) AS next_expiry_seconds,
        CAST(SUM(s.waiters) AS SIGNED) AS waiters,
        MAX(s.longest_wait_seconds) AS longest_wait_seconds
    FROM (
        SELECT
            l.object_type,
            l.department_id,
            SUM(l.is_live) AS live,
            SUM(NOT l.is_live) AS expired,
            GREATEST(COALESCE(TIMESTAMPDIFF(SECOND, MIN(IF(l.is_live, l.acquired_ts, NULL)), UTC_TIMESTAMP(6)), 0), 0) AS oldest_seconds,
            COALESCE((TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), MIN(IF(l.is_live, l.expires_ts, NULL))) + 999999) DIV 1000000, 0)
                AS next_expiry_seconds,
            0 AS waiters,
            0 AS longest_wait_seconds
        FROM (
            SELECT
                a.object_type,
                IF(a.operator_id <> '' AND a.expires_ts > UTC_TIMESTAMP(6), a.department_id, '') AS department_id,
                a.acquired_ts,
                a.expires_ts,
                a.operator_id <> '' AND a.expires_ts > UTC_TIMESTAMP(6) AS is_live
            FROM appl_lock AS a
            WHERE p_object_type IS NULL OR a.object_type = v_object_type
        ) AS l
        WHERE p_department_id IS NULL OR l.department_id = v_department_id
        GROUP BY l.object_type, l.department_id
        UNION ALL
        SELECT
            w.object_type,
            w.department_id,
            0 AS live,
            0 AS expired,
            0 AS oldest_seconds,
            0 AS next_expiry_seconds,
            COUNT(*) AS waiters,
            GREATEST(TIMESTAMPDIFF(SECOND, MIN(w.since_ts), UTC_TIMESTAMP(6)), 0) AS longest_wait_seconds
        FROM appl_lock_waiter AS w
        WHERE (p_object_type IS NULL OR w.object_type = v_object_type)
            AND (p_department_id IS NULL OR w.department_id = v_department_id)
            AND w.expires_ts > UTC_TIMESTAMP(6)
        GROUP BY w.object_type, w.department_id
    ) AS s
    GROUP BY s.object_type, s.department_id
    ORDER BY s.object_type, s.department_id;
END$$

CREATE PROCEDURE stats_appl_locks(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'How many locks and waiters there are of each type and department, and how old and how long.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'stats_appl_locks: is being replaced; call again, or install it again if that lasts';
    CALL stats_appl_locks_core(p_object_type, p_department_id);
END$$

DELIMITER ;
