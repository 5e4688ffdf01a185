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
--            this one's lock; 0 for events); reason. Timestamps are UTC.
-- Raises     LK001 invalid argument. Nothing else on purpose.
-- Locks      Nothing that lasts: what is committed is read (cur_commit, the default). It reads the operator's own events from p_after_event_id on,
--            each waiter, and each row of appl_lock: it has no index by operator, which each get would pay for.
-- Race-free  An event never changes. An event is numbered before its transaction commits: one that commits after a later
--            one was read is behind those who go on from there. Its lock's next renewal tells all the same.
-- Differs    Nothing.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE inbox_appl_locks (
    IN p_operator_id VARCHAR(4000),
    IN p_after_event_id BIGINT,
    IN p_max_rows BIGINT
)
SPECIFIC inbox_appl_locks
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
READS SQL DATA
BEGIN
    DECLARE v_operator_id VARCHAR(4000);
    DECLARE v_after_event_id BIGINT;
    DECLARE v_max_rows BIGINT;
    DECLARE v_limit INTEGER;
    DECLARE v_now TIMESTAMP;
    DECLARE v_soon TIMESTAMP;

    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    SET v_after_event_id = COALESCE(p_after_event_id, 1);
    SET v_max_rows = COALESCE(p_max_rows, 1000);
    IF CHARACTER_LENGTH(v_operator_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('inbox_appl_locks', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, CODEUNITS32), 64);
    ELSEIF v_after_event_id < 1 THEN
        CALL appl_lock_refuse_number('inbox_appl_locks', 'p_after_event_id', 99999999999999999);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('inbox_appl_locks', 'p_max_rows', 10000);
    END IF;

    IF p_after_event_id IS NULL THEN
        SET v_after_event_id = 0;
    END IF;
    SET v_limit = v_max_rows;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    SET v_soon = v_now + (3600) SECOND;
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                m.kind,
                m.event_id,
                m.object_type,
                m.object_id,
                m.other_operator_id,
                m.other_department_id,
                m.event_ts,
                CASE
                    WHEN m.expires_ts > v_now THEN
                        CAST(DAYS(m.expires_ts) - DAYS(v_now) AS BIGINT) * 86400
                        + MIDNIGHT_SECONDS(m.expires_ts) - MIDNIGHT_SECONDS(v_now)
                        + CASE WHEN MICROSECOND(m.expires_ts) > MICROSECOND(v_now) THEN 1 ELSE 0 END
                    ELSE 0
                END AS seconds_left,
                m.reason
            FROM (
                SELECT
                    1 AS part,
                    CAST(CASE WHEN e.event = 'RELEASED' THEN e.event ELSE 'TAKEN' END AS VARCHAR(8)) AS kind,
                    e.event_id,
                    e.object_type,
                    e.object_id,
                    CASE WHEN e.event = 'RELEASED' THEN e.actor_id ELSE e.to_operator_id END AS other_operator_id,
                    e.to_department_id AS other_department_id,
                    e.event_ts,
                    v_now AS expires_ts,
                    e.reason
                FROM appl_lock_event AS e
                WHERE e.from_operator_id = v_operator_id
                    AND e.event_id > v_after_event_id
                    AND e.event IN ('TAKEN', 'TRANSFERRED', 'RELEASED')
                    AND e.actor_id <> v_operator_id
                    AND e.to_operator_id <> v_operator_id
                UNION ALL
                SELECT
                    1 AS part,
                    CAST('HANDED' AS VARCHAR(8)) AS kind,
                    e.event_id,
                    e.object_type,
                    e.object_id,
                    e.from_operator_id AS other_operator_id,
                    e.from_department_id AS other_department_id,
                    e.event_ts,
                    v_now AS expires_ts,
                    e.reason
                FROM appl_lock_event AS e
                WHERE e.to_operator_id = v_operator_id
                    AND e.event_id > v_after_event_id
                    AND e.event = 'TRANSFERRED'
                    AND e.actor_id <> v_operator_id
                UNION ALL
                SELECT
                    2 AS part,
                    CAST('AWAITED' AS VARCHAR(8)) AS kind,
                    CAST(0 AS BIGINT) AS event_id,
                    w.object_type,
                    w.object_id,
                    w.operator_id AS other_operator_id,
                    w.department_id AS other_department_id,
                    w.since_ts AS event_ts,
                    l.expires_ts,
                    '' AS reason
                FROM appl_lock_waiter AS w
                INNER JOIN appl_lock AS l
                    ON l.object_type = w.object_type
                    AND l.object_id = w.object_id
                WHERE l.operator_id = v_operator_id
                    AND l.expires_ts > v_now
                    AND w.operator_id <> v_operator_id
                    AND w.expires_ts > v_now
                UNION ALL
                SELECT
                    3 AS part,
                    CAST('EXPIRING' AS VARCHAR(8)) AS kind,
                    CAST(0 AS BIGINT) AS event_id,
                    l.object_type,
                    l.object_id,
                    '' AS other_operator_id,
                    '' AS other_department_id,
                    l.expires_ts AS event_ts,
                    l.expires_ts,
                    '' AS reason
                FROM appl_lock AS l
                WHERE l.operator_id = v_operator_id
                    AND l.expires_ts > v_now
                    AND l.expires_ts <= v_soon
            ) AS m
            ORDER BY m.part, m.event_id, m.event_ts, m.object_type, m.object_id, m.other_operator_id
            FETCH FIRST v_limit ROWS ONLY
            WITH CS;
        OPEN answer;
    END;
END
@

COMMENT ON SPECIFIC PROCEDURE inbox_appl_locks IS 'What concerns an operator: what others did with its locks, who waits for them, and which of them end within the hour.'
@
