-- inbox_appl_locks: what concerns an operator: what others did with its locks, who waits for them, and which of them end
-- within the hour. It is for one call in each heartbeat.
--
-- Contract   At most p_max_rows rows. First the events of the history after p_after_event_id in which somebody else is the
--            actor: TAKEN, another operator has taken it from this one, or has handed it on to a third; HANDED, it was
--            transferred to this one; RELEASED, this one's lock was ended. The next call starts after the greatest event_id
--            of this one. Then how it is now: AWAITED, another operator waits for what this one holds, who waits longest
--            first; EXPIRING, this one's lock ends within the hour, what ends first first. What had expired when another
--            operator got it was lost, and not taken.
-- In         p_operator_id 1..64; p_after_event_id 1 or greater, NULL = no event has been seen; p_max_rows 1..10000, NULL =
--            1000. Trailing blanks are trimmed first.
-- Out        kind; event_id (0 unless an event); object_type; object_id; other_operator_id and other_department_id (who has it
--            now, TAKEN; who had it, HANDED; who ended it, RELEASED, without department; who waits, AWAITED; empty,
--            EXPIRING); event_ts (of the event; since when that one waits; expires_ts); seconds_left (from now to the end of
--            this one's lock; 0 for events); reason.
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine.
-- Locks      Nothing; never waits and never writes. It reads the operator's own events from p_after_event_id on,
--            each waiter, and each row of appl_lock: it has no index by operator, which each get would pay for.
-- Race-free  The answer is one snapshot. An event is numbered before its transaction commits: one that commits after a later
--            one was read is behind those who go on from there. Its lock's next renewal tells all the same.
-- Differs    As list_appl_locks. In a Galera cluster each node numbers for itself: an event of another node may have a
--            lesser number than an earlier one.

DELIMITER $$

CREATE PROCEDURE inbox_appl_locks_core(
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_event_id BIGINT,
    IN p_max_rows BIGINT
)
COMMENT 'Internal to applock: the operation inbox_appl_locks.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_operator_id, ''));
    DECLARE v_max_rows BIGINT DEFAULT COALESCE(p_max_rows, 1000);
    DECLARE v_now DATETIME(6) DEFAULT UTC_TIMESTAMP(6);

    IF CHAR_LENGTH(v_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('inbox_appl_locks', 'p_operator_id', CHAR_LENGTH(v_operator_id), 64);
    ELSEIF p_after_event_id < 1 THEN
        CALL appl_lock_refuse_number('inbox_appl_locks', 'p_after_event_id', 9223372036854775807);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('inbox_appl_locks', 'p_max_rows', 10000);
    END IF;

    SELECT
        m.kind,
        m.event_id,
        m.object_type,
        m.object_id,
        m.other_operator_id,
        m.other_department_id,
        m.event_ts,
        m.seconds_left,
        m.reason
    FROM (
        -- By these indexes, whatever the statistics say: else each call could read the whole history.
        (
            SELECT
                1 AS part,
                IF(e.event = 'RELEASED', 'RELEASED', 'TAKEN') AS kind,
                e.event_id,
                e.object_type,
                e.object_id,
                IF(e.event = 'RELEASED', e.actor_id, e.to_operator_id) AS other_operator_id,
                e.to_department_id AS other_department_id,
                e.event_ts,
                0 AS seconds_left,
                e.reason
            FROM appl_lock_event AS e FORCE INDEX (appl_lock_event_from_ix)
            WHERE e.from_operator_id = v_operator_id
                AND e.event_id > COALESCE(p_after_event_id, 0)
                AND e.event IN ('TAKEN', 'TRANSFERRED', 'RELEASED')
                AND e.actor_id <> v_operator_id
                AND e.to_operator_id <> v_operator_id
            ORDER BY e.event_id
            LIMIT v_max_rows
        )
        UNION ALL
        (
            SELECT
                1,
                'HANDED',
                e.event_id,
                e.object_type,
                e.object_id,
                e.from_operator_id,
                e.from_department_id,
                e.event_ts,
                0,
                e.reason
            FROM appl_lock_event AS e FORCE INDEX (appl_lock_event_to_ix)
            WHERE e.to_operator_id = v_operator_id
                AND e.event_id > COALESCE(p_after_event_id, 0)
                AND e.event = 'TRANSFERRED'
                AND e.actor_id <> v_operator_id
            ORDER BY e.event_id
            LIMIT v_max_rows
        )
        UNION ALL
        SELECT
            2,
            'AWAITED',
            0,
            w.object_type,
            w.object_id,
            w.operator_id,
            w.department_id,
            w.since_ts,
            (TIMESTAMPDIFF(MICROSECOND, v_now, l.expires_ts) + 999999) DIV 1000000,
            ''
        FROM appl_lock_waiter AS w
        STRAIGHT_JOIN appl_lock AS l FORCE INDEX (PRIMARY)
            ON l.object_type = w.object_type
            AND l.object_id = w.object_id
        WHERE l.operator_id = v_operator_id
            AND l.expires_ts > v_now
            AND w.operator_id <> v_operator_id
            AND w.expires_ts > v_now
        UNION ALL
        SELECT
            3,
            'EXPIRING',
            0,
            l.object_type,
            l.object_id,
            '',
            '',
            l.expires_ts,
            (TIMESTAMPDIFF(MICROSECOND, v_now, l.expires_ts) + 999999) DIV 1000000,
            ''
        FROM appl_lock AS l
        WHERE l.operator_id = v_operator_id
            AND l.expires_ts > v_now
            AND l.expires_ts <= v_now + INTERVAL 1 HOUR
    ) AS m
    ORDER BY m.part, m.event_id, m.event_ts, m.object_type, m.object_id, m.other_operator_id
    LIMIT v_max_rows;
END$$

CREATE PROCEDURE inbox_appl_locks(
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_event_id BIGINT,
    IN p_max_rows BIGINT
)
COMMENT 'What concerns an operator: what others did with its locks, who waits for them, and which of them end within the hour.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'inbox_appl_locks: is being replaced; call again, or install it again if that lasts';
    CALL inbox_appl_locks_core(p_operator_id, p_after_event_id, p_max_rows);
END$$

DELIMITER ;
