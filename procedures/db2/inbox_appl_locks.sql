-- inbox_appl_locks: what concerns an operator: what others did with its locks, and who waits for them. It is for one call in
-- each heartbeat.
--
-- Contract   At most p_max_rows rows. First the events after p_after_event_id in which somebody else is the actor: TAKEN, another
--            operator has taken it from this one, or has handed it on; HANDED, it was transferred to this one; RELEASED, this one's
--            lock was ended. Then AWAITED: another operator waits for what this one holds, who waits longest first.
--            The next call names safe_event_id of this one; then an event may come twice.
-- In         p_operator_id 1..64; p_after_event_id 0 or greater, NULL = no event has been seen; p_max_rows 1..10000, NULL =
--            1000. Trailing blanks are trimmed first.
-- Out        kind; event_id (0 unless an event); object_type; object_id; other_operator_id and other_department_id (who has it
--            now, TAKEN; who had it, HANDED; who ended it, RELEASED, without department; who waits, AWAITED);
--            event_ts (of the event; since when that one waits); seconds_left (to the end of this one's lock; 0 for
--            events); reason; safe_event_id (of the newest event that is 15 minutes old, p_after_event_id at least).
-- Raises     LK001 invalid argument. Nothing else on purpose.
-- Locks      Nothing that lasts: what is committed is read (cur_commit, the default), by indexes: the operator's own events, the
--            events of the last 15 minutes, and who waits for it, whose locks are read by their keys.
-- Race-free  An event is numbered before its transaction commits. One that commits within 15 minutes of that is told; one whose
--            transaction stays open longer may be missed.
-- Differs    Db2 has no way to tell what is open that all of its platforms share: hence the 15 minutes.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE inbox_appl_locks (...)
SPECIFIC inbox_appl_locks
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
READS SQL DATA
BEGIN
    DECLARE v_operator_id VARCHAR(4000);
    DECLARE v_after_event_id, v_safe_event_id, v_max_rows BIGINT;
    DECLARE v_rows INTEGER DEFAULT 0;
    DECLARE v_limit INTEGER;
    DECLARE v_now, v_before TIMESTAMP;

    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    SET v_after_event_id = COALESCE(p_after_event_id, 0);
    SET v_max_rows = COALESCE(p_max_rows, 1000);
    IF CHARACTER_LENGTH(v_operator_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('inbox_appl_locks', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, CODEUNITS32), 64);
    ELSEIF v_after_event_id < 0 THEN
        CALL appl_lock_refuse_number('inbox_appl_locks', 'p_after_event_id', 99999999999999999);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('inbox_appl_locks', 'p_max_rows', 10000);
    END IF;
    IF NOT_PLAIN(v_operator_id) THEN
        CALL appl_lock_check_text('inbox_appl_locks', 'p_operator_id', v_operator_id);
    END IF;

    SET v_after_event_id = COALESCE(p_after_event_id, 0);
    SET v_limit = v_max_rows;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    SET v_before = v_now - (900) SECOND;
    -- S1: which event is behind all that may still come? The newest ones are read first, by the primary key.
    SELECT COUNT(*), COALESCE(MAX(o.event_id), v_after_event_id)
    INTO v_rows, v_safe_event_id
    FROM (
        SELECT e.event_id
        FROM appl_lock_event AS e
        WHERE e.event_id > v_after_event_id
            AND e.event_ts < v_before
        ORDER BY e.event_id DESC
        FETCH FIRST 1 ROWS ONLY
    ) AS o
    WITH CS;
    -- S2: what is there to tell?
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
                CASE WHEN m.expires_ts > v_now THEN SECONDS_UP(v_now, m.expires_ts) ELSE 0 END AS seconds_left,
                m.reason,
                v_safe_event_id AS safe_event_id
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
                WHERE w.holder_id = v_operator_id
                    AND w.operator_id <> v_operator_id
                    AND w.expires_ts > v_now
                    AND l.operator_id = v_operator_id
                    AND l.released_ts IS NULL
                    AND l.expires_ts > v_now
            ) AS m
            ORDER BY m.part, m.event_id, m.event_ts, m.object_type, m.object_id, m.other_operator_id
            FETCH FIRST v_limit ROWS ONLY
            WITH CS;
        OPEN answer;
    END;
END
@
