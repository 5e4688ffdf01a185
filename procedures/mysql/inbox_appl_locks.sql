-- inbox_appl_locks: what concerns an operator: what others did with its locks, and who waits for them. It is for one call in each
-- heartbeat.
--
-- Contract   First the events after p_after_event_id in which another than the operator is the actor: TAKEN, another operator has taken
--            its lock, or has handed it on to a third; HANDED, one was transferred to it; RELEASED, its lock was ended. Then AWAITED:
--            another operator waits for what this one holds, who waits longest first. What had expired is lost, and not taken.
-- In         p_after_event_id: NULL = no event has been seen. p_max_rows: 1..10000, NULL = 1000.
-- Out        event_id: 0 unless an event. other_*: who has it now, TAKEN; who had it, HANDED; who ended it, RELEASED; who waits. event_ts:
--            of the event; since when that one waits. seconds_left: of the operator's lock; 0 for events. safe_event_id: the next
--            p_after_event_id.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine.
-- Locks      Nothing; never waits and never writes. It reads the operator's own events from p_after_event_id on, the waiters that are
--            listed with the operator as the holder, and the lock of each by key.
-- Race-free  The answer is one snapshot. An event is numbered before its transaction commits, so a later number may be visible first.
--            safe_event_id is the last of the operator's events that is older than 15 minutes: a later call reads again what is younger.
-- Differs    An event may be missed whose transaction stays open for more than 15 minutes after it was numbered. In a Galera cluster
--            each node numbers for itself: an event of another node may have a lesser number than an earlier one.

DELIMITER $$

CREATE PROCEDURE inbox_appl_locks_core(...)
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_max_rows BIGINT DEFAULT COALESCE(p_max_rows, 1000);
    DECLARE v_after_event_id BIGINT DEFAULT COALESCE(p_after_event_id, 0);
    DECLARE v_now DATETIME(6);

    CALL appl_lock_text('inbox_appl_locks', 'p_operator_id', 'Y', 1, 64, p_operator_id);
    CALL appl_lock_number('inbox_appl_locks', 'p_after_event_id', 9223372036854775807, NULLIF(p_after_event_id, 0));
    CALL appl_lock_number('inbox_appl_locks', 'p_max_rows', 10000, v_max_rows);
    SET SESSION timestamp = DEFAULT;
    SET v_now = UTC_TIMESTAMP(6);

    -- By these indexes, whatever the statistics say: else each call could read the whole history.
    SELECT
        m.kind,
        m.event_id,
        m.object_type,
        m.object_id,
        m.other_operator_id,
        m.other_department_id,
        m.event_ts,
        m.seconds_left,
        m.reason,
        -- Of the same events, read once more: on MariaDB, MAX OVER () would read all of them for each.
        GREATEST(v_after_event_id, COALESCE((
            SELECT MAX(s.event_id)
            FROM (
                (
                    SELECT e.event_id, e.event_ts
                    FROM appl_lock_event AS e FORCE INDEX (appl_lock_event_from_ix)
                    WHERE e.from_operator_id = p_operator_id
                        AND e.event_id > v_after_event_id
                        AND e.event IN ('TAKEN', 'TRANSFERRED', 'RELEASED')
                        AND e.actor_id <> p_operator_id
                        AND e.to_operator_id <> p_operator_id
                    ORDER BY e.event_id
                    LIMIT v_max_rows
                )
                UNION ALL
                (
                    SELECT e.event_id, e.event_ts
                    FROM appl_lock_event AS e FORCE INDEX (appl_lock_event_to_ix)
                    WHERE e.to_operator_id = p_operator_id
                        AND e.event_id > v_after_event_id
                        AND e.event = 'TRANSFERRED'
                        AND e.actor_id <> p_operator_id
                    ORDER BY e.event_id
                    LIMIT v_max_rows
                )
                ORDER BY event_id
                LIMIT v_max_rows
            ) AS s
            WHERE s.event_ts < v_now - INTERVAL 900 SECOND
        ), 0)) AS safe_event_id
    FROM (
        SELECT a.*
        FROM (
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
                WHERE e.from_operator_id = p_operator_id
                    AND e.event_id > v_after_event_id
                    AND e.event IN ('TAKEN', 'TRANSFERRED', 'RELEASED')
                    AND e.actor_id <> p_operator_id
                    AND e.to_operator_id <> p_operator_id
                ORDER BY e.event_id
                LIMIT v_max_rows
            )
            UNION ALL
            (
                SELECT
                    1, 'HANDED', e.event_id, e.object_type, e.object_id, e.from_operator_id, e.from_department_id, e.event_ts, 0, e.reason
                FROM appl_lock_event AS e FORCE INDEX (appl_lock_event_to_ix)
                WHERE e.to_operator_id = p_operator_id
                    AND e.event_id > v_after_event_id
                    AND e.event = 'TRANSFERRED'
                    AND e.actor_id <> p_operator_id
                ORDER BY e.event_id
                LIMIT v_max_rows
            )
            UNION ALL
            SELECT
                2, 'AWAITED', 0, w.object_type, w.object_id, w.operator_id, w.department_id, w.since_ts,
                (TIMESTAMPDIFF(MICROSECOND, v_now, l.expires_ts) + 999999) DIV 1000000, ''
            FROM appl_lock_waiter AS w FORCE INDEX (appl_lock_waiter_holder_ix)
            STRAIGHT_JOIN appl_lock AS l FORCE INDEX (PRIMARY)
                ON l.object_type = w.object_type
                AND l.object_id = w.object_id
            WHERE w.holder_id = p_operator_id
                AND w.operator_id <> p_operator_id
                AND w.expires_ts > v_now
                AND l.operator_id = p_operator_id
                AND l.released_ts IS NULL
                AND l.expires_ts > v_now
        ) AS a
        ORDER BY a.part, a.event_id, a.event_ts, a.object_type, a.object_id, a.other_operator_id
        LIMIT v_max_rows
    ) AS m
    ORDER BY m.part, m.event_id, m.event_ts, m.object_type, m.object_id, m.other_operator_id;
END$$

DELIMITER ;
