-- list_appl_lock_policies: the policies of all types, or that of one.
--
-- Contract   One row for each type that has a policy. There are a few: it has no pages.
-- In         p_object_type 1..64, NULL = any. Trailing blanks are trimmed first.
-- Out        The columns of appl_lock_policy, 0 for a NULL, ordered by object_type as bytes.
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine.
-- Locks      Nothing; never waits and never writes.
-- Race-free  The answer is one snapshot.
-- Differs    As list_appl_locks.

DELIMITER $$

CREATE PROCEDURE list_appl_lock_policies_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation list_appl_lock_policies.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));

    IF p_object_type IS NOT NULL AND CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64
        OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('list_appl_lock_policies', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    END IF;

    SELECT
        p.object_type,
        COALESCE(p.default_ttl_seconds, 0) AS default_ttl_seconds,
        COALESCE(p.longest_ttl_seconds, 0) AS longest_ttl_seconds,
        p.take_reason_fl,
        p.history_level
    FROM appl_lock_policy AS p
    WHERE p_object_type IS NULL OR p.object_type = v_object_type
    ORDER BY p.object_type;
END$$

CREATE PROCEDURE list_appl_lock_policies(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'The policies of all types, or that of one.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'list_appl_lock_policies: is being replaced; call again, or install it again if that lasts';
    CALL list_appl_lock_policies_core(
        p_object_type
    );
END$$

DELIMITER ;
