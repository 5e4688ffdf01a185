-- list_appl_lock_events: one page of the history, oldest first, all or that of a type, an object or an operator.
--
-- Contract   At most p_max_rows events whose event_id is greater than p_after_event_id. The next page starts after the
--            last row of this one; a page shorter than p_max_rows is the last. An operator's events are those in which it
--            is actor, former or new holder.
-- In         p_object_type 1..64, p_object_id 1..255, p_operator_id 1..64: NULL = any. p_since_seconds 1..315360000, back
--            from now, NULL = any. p_after_event_id 1 or greater, NULL = from the start. p_max_rows 1..10000, NULL = 1000.
--            Trailing blanks are trimmed first.
-- Out        The columns of appl_lock_event, ordered by event_id.
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine.
-- Locks      Nothing; never waits and never writes.
-- Race-free  A page is one snapshot. An event is numbered before its transaction commits: one that commits after a later
--            one was listed is behind those who go on from there.
-- Differs    As list_appl_locks. In a Galera cluster each node numbers for itself: an event of another node may have a
--            lesser number than an earlier one.

DELIMITER $$

CREATE PROCEDURE list_appl_lock_events_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_since_seconds BIGINT,
    IN p_after_event_id BIGINT,
    IN p_max_rows BIGINT
)
COMMENT 'Internal to applock: the operation list_appl_lock_events.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_id, ''));
    DECLARE v_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_operator_id, ''));
    DECLARE v_max_rows BIGINT DEFAULT COALESCE(p_max_rows, 1000);

    IF p_object_type IS NOT NULL AND CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64
        OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('list_appl_lock_events', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF p_object_id IS NOT NULL AND CHAR_LENGTH(v_object_id) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('list_appl_lock_events', 'p_object_id', CHAR_LENGTH(v_object_id), 255);
    ELSEIF p_operator_id IS NOT NULL AND CHAR_LENGTH(v_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('list_appl_lock_events', 'p_operator_id', CHAR_LENGTH(v_operator_id), 64);
    ELSEIF p_since_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('list_appl_lock_events', 'p_since_seconds', 315360000);
    ELSEIF p_after_event_id < 1 THEN
        CALL appl_lock_refuse_number('list_appl_lock_events', 'p_after_event_id', 9223372036854775807);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('list_appl_lock_events', 'p_max_rows', 10000);
    END IF;

    IF p_object_type IS NOT NULL AND p_object_id IS NOT NULL THEN
        -- A text of its own: only a plain comparison is a range of the object's index.
        SELECT
            e.event_id, e.event_ts, e.object_type, e.object_id, e.event, e.actor_id, e.db_user, e.program,
            e.from_operator_id, e.from_department_id, e.to_operator_id, e.to_department_id, e.from_fence, e.to_fence, e.reason
        FROM appl_lock_event AS e
        WHERE e.object_type = v_object_type
            AND e.object_id = v_object_id
            AND e.event_id > COALESCE(p_after_event_id, 0)
            AND (p_operator_id IS NULL OR v_operator_id IN (e.actor_id, e.from_operator_id, e.to_operator_id))
            AND (p_since_seconds IS NULL OR e.event_ts >= UTC_TIMESTAMP(6) - INTERVAL p_since_seconds SECOND)
        ORDER BY e.event_id
        LIMIT v_max_rows;
    ELSE
        SELECT
            e.event_id, e.event_ts, e.object_type, e.object_id, e.event, e.actor_id, e.db_user, e.program,
            e.from_operator_id, e.from_department_id, e.to_operator_id, e.to_department_id, e.from_fence, e.to_fence, e.reason
        FROM appl_lock_event AS e
        WHERE e.event_id > COALESCE(p_after_event_id, 0)
            AND (p_object_type IS NULL OR e.object_type = v_object_type)
            AND (p_object_id IS NULL OR e.object_id = v_object_id)
            AND (p_operator_id IS NULL OR v_operator_id IN (e.actor_id, e.from_operator_id, e.to_operator_id))
            AND (p_since_seconds IS NULL OR e.event_ts >= UTC_TIMESTAMP(6) - INTERVAL p_since_seconds SECOND)
        ORDER BY e.event_id
        LIMIT v_max_rows;
    END IF;
END$$

CREATE PROCEDURE list_appl_lock_events(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_since_seconds BIGINT,
    IN p_after_event_id BIGINT,
    IN p_max_rows BIGINT
)
COMMENT 'One page of the history, oldest first, all or that of a type, an object or an operator.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'list_appl_lock_events: is being replaced; call again, or install it again if that lasts';
    CALL list_appl_lock_events_core(
        p_object_type, p_object_id, p_operator_id, p_since_seconds, p_after_event_id, p_max_rows
    );
END$$

DELIMITER ;
