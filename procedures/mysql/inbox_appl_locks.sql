-- inbox_appl_locks: report what others did with an operator's locks, who waits or asks for them, and how its own requests were
-- answered. Call it once in each heartbeat.
--
-- Contract   First the events after p_after_event_id. TAKEN: another operator has taken this one's lock or handed it on to a
--            third. HANDED: another operator has transferred a lock to this one. RELEASED: another operator has ended its lock.
--            GIVEN and YIELDED: its lock went to an asker; they appear even if this operator was the actor. Then, oldest first,
--            AWAITED: another operator waits or asks for a lock of this one. LATER and DECLINED: a holder has answered this
--            one's request. A request that was answered NO leaves the holder's inbox. A lock that had expired before another
--            operator got it is no TAKEN.
-- In         p_after_event_id: NULL = no event has been seen. p_max_rows: 1..10000, NULL = 1000.
-- Out        event_id: 0 unless an event; other_*: the new holder (TAKEN, GIVEN, YIELDED), the former one (HANDED), the waiter
--            (AWAITED) or, without department, the actor (RELEASED, LATER, DECLINED); event_ts: of the event or of the wait's
--            begin; seconds_left: of the operator's lock, 0 unless AWAITED; safe_event_id: the next p_after_event_id; message,
--            client_id and fence: of a request to answer.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine.
-- Locks      Never waits. It reads the operator's own events from p_after_event_id on, the waiters and requests whose stored
--            holder it is, its own requests, and the lock of each by key. S3 writes once for each request shown, only where a
--            type's policy has a yield, and only where transaction and server may write. It skips rows that another transaction
--            has locked.
-- Race-free  The answer is one snapshot. An event is numbered before its transaction commits, so a later number may be visible
--            first. So safe_event_id is the operator's last event that is older than 15 minutes, and the next call reads the
--            younger ones again. S1 reads before the page, so S2 shows each request that S3 marks. S3 locks and changes it in
--            one statement, which names its grant.
-- Differs    Where the page is full, S3 marks a request only if appl_lock_place, which comes after S2, counts it on the page.
--            An event is missed if its transaction stays open for more than 15 minutes after it was numbered. In a Galera
--            cluster each node numbers for itself: an event of another node may have a lesser number than an earlier one.

DELIMITER $$

CREATE PROCEDURE inbox_appl_locks_core(...)
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_max_rows BIGINT DEFAULT COALESCE(p_max_rows, 1000);
    DECLARE v_after_event_id BIGINT DEFAULT COALESCE(p_after_event_id, 0);
    DECLARE v_now DATETIME(6);
    DECLARE v_more BOOLEAN DEFAULT TRUE;
    DECLARE v_object_type VARCHAR(64);
    DECLARE v_object_id VARCHAR(255);
    DECLARE v_asker_id VARCHAR(255);
    DECLARE v_client_id VARCHAR(64);
    DECLARE v_fence BIGINT;
    DECLARE v_since_ts DATETIME(6);
    DECLARE v_full BOOLEAN;
    DECLARE v_place BIGINT DEFAULT 0;
    DECLARE v_safe_updates BOOLEAN DEFAULT @@SESSION.sql_safe_updates;
    DECLARE shown CURSOR FOR
        SELECT q.object_type, q.object_id, q.operator_id, q.client_id, q.fence, q.since_ts
        FROM appl_lock_ask AS q FORCE INDEX (appl_lock_ask_holder_ix)
        STRAIGHT_JOIN appl_lock_policy AS p FORCE INDEX (PRIMARY)
            ON p.object_type = q.object_type
        STRAIGHT_JOIN appl_lock AS l FORCE INDEX (PRIMARY)
            ON l.object_type = q.object_type
            AND l.object_id = q.object_id
        WHERE q.holder_id = p_operator_id
            AND q.shown_ts IS NULL
            AND q.answer <> 'NO'
            AND q.expires_ts > v_now
            AND p.yield_after_seconds IS NOT NULL
            AND l.operator_id = p_operator_id
            AND l.fence = q.fence
            AND l.released_ts IS NULL
            AND l.expires_ts > v_now;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_more = FALSE;
    -- A server or a transaction that only reads.
    DECLARE CONTINUE HANDLER FOR 1290, 1792, 1836 SET v_more = FALSE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION sql_safe_updates = v_safe_updates;
        RESIGNAL;
    END;

    CALL appl_lock_text('inbox_appl_locks', 'p_operator_id', 'Y', 1, 255, p_operator_id);
    CALL appl_lock_number('inbox_appl_locks', 'p_after_event_id', 9223372036854775807, NULLIF(p_after_event_id, 0));
    CALL appl_lock_number('inbox_appl_locks', 'p_max_rows', 10000, v_max_rows);
    SET SESSION timestamp = DEFAULT;
    SET v_now = UTC_TIMESTAMP(6);
    -- S1: which requests that can run out of time have not been shown? The cursor keeps them.
    OPEN shown;

    -- S2: the page. The indexes are forced: else a call could read the whole history.
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
        -- A second read of the same events: on MariaDB, MAX OVER () would read all of them for each.
        GREATEST(v_after_event_id, COALESCE((
            SELECT MAX(s.event_id)
            FROM (
                (
                    SELECT e.event_id, e.event_ts
                    FROM appl_lock_event AS e FORCE INDEX (appl_lock_event_from_ix)
                    WHERE e.from_operator_id = p_operator_id
                        AND e.event_id > v_after_event_id
                        AND e.event IN ('TAKEN', 'TRANSFERRED', 'RELEASED', 'GIVEN', 'YIELDED')
                        AND (e.actor_id <> p_operator_id OR e.event IN ('GIVEN', 'YIELDED'))
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
                        AND e.event IN ('TRANSFERRED', 'GIVEN', 'YIELDED')
                        AND (e.actor_id <> p_operator_id OR e.event = 'YIELDED')
                    ORDER BY e.event_id
                    LIMIT v_max_rows
                )
                ORDER BY event_id
                LIMIT v_max_rows
            ) AS s
            WHERE s.event_ts < v_now - INTERVAL 900 SECOND
        ), 0)) AS safe_event_id,
        m.message,
        m.client_id,
        m.fence
    FROM (
        SELECT a.*
        FROM (
            (
                SELECT
                    1 AS part,
                    IF(e.event = 'TRANSFERRED', 'TAKEN', e.event) AS kind,
                    e.event_id,
                    e.object_type,
                    e.object_id,
                    IF(e.event = 'RELEASED', e.actor_id, e.to_operator_id) AS other_operator_id,
                    e.to_department_id AS other_department_id,
                    e.event_ts,
                    0 AS seconds_left,
                    e.reason,
                    '' AS message,
                    '' AS client_id,
                    0 AS fence
                FROM appl_lock_event AS e FORCE INDEX (appl_lock_event_from_ix)
                WHERE e.from_operator_id = p_operator_id
                    AND e.event_id > v_after_event_id
                    AND e.event IN ('TAKEN', 'TRANSFERRED', 'RELEASED', 'GIVEN', 'YIELDED')
                    AND (e.actor_id <> p_operator_id OR e.event IN ('GIVEN', 'YIELDED'))
                    AND e.to_operator_id <> p_operator_id
                ORDER BY e.event_id
                LIMIT v_max_rows
            )
            UNION ALL
            (
                SELECT
                    1, 'HANDED', e.event_id, e.object_type, e.object_id, e.from_operator_id, e.from_department_id, e.event_ts, 0, e.reason,
                    '', '', 0
                FROM appl_lock_event AS e FORCE INDEX (appl_lock_event_to_ix)
                WHERE e.to_operator_id = p_operator_id
                    AND e.event_id > v_after_event_id
                    AND e.event IN ('TRANSFERRED', 'GIVEN', 'YIELDED')
                    AND (e.actor_id <> p_operator_id OR e.event = 'YIELDED')
                ORDER BY e.event_id
                LIMIT v_max_rows
            )
            UNION ALL
            SELECT
                2, 'AWAITED', 0, w.object_type, w.object_id, w.operator_id, w.department_id, w.since_ts,
                (TIMESTAMPDIFF(MICROSECOND, v_now, l.expires_ts) + 999999) DIV 1000000, '', '', '', 0
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
            UNION ALL
            SELECT
                2, 'AWAITED', 0, q.object_type, q.object_id, q.operator_id, q.department_id, q.since_ts,
                (TIMESTAMPDIFF(MICROSECOND, v_now, l.expires_ts) + 999999) DIV 1000000, '', q.message, q.client_id, l.fence
            FROM appl_lock_ask AS q FORCE INDEX (appl_lock_ask_holder_ix)
            STRAIGHT_JOIN appl_lock AS l FORCE INDEX (PRIMARY)
                ON l.object_type = q.object_type
                AND l.object_id = q.object_id
            WHERE q.holder_id = p_operator_id
                AND q.answer <> 'NO'
                AND q.expires_ts > v_now
                AND l.operator_id = p_operator_id
                AND l.released_ts IS NULL
                AND l.expires_ts > v_now
            UNION ALL
            SELECT
                2, IF(q.answer = 'NO', 'DECLINED', 'LATER'), 0, q.object_type, q.object_id, q.holder_id, '', q.answered_ts, 0,
                q.answer_reason, '', '', 0
            FROM appl_lock_ask AS q FORCE INDEX (appl_lock_ask_operator_ix)
            WHERE q.operator_id = p_operator_id
                AND q.answer <> ''
                AND q.expires_ts > v_now
        ) AS a
        ORDER BY a.part, a.event_id, a.event_ts, a.object_type, a.object_id, a.other_operator_id
        LIMIT v_max_rows
    ) AS m
    ORDER BY m.part, m.event_id, m.event_ts, m.object_type, m.object_id, m.other_operator_id;

    SET v_full = FOUND_ROWS() = v_max_rows;
    IF LOCATE(@@GLOBAL.read_only, '0 OFF') > 0 THEN
        FETCH shown INTO v_object_type, v_object_id, v_asker_id, v_client_id, v_fence, v_since_ts;
        -- MariaDB's safe updates refuse S3, because it reads all rows of the inner SELECT.
        SET SESSION sql_safe_updates = FALSE;
        WHILE v_more DO
            IF v_full THEN
                CALL appl_lock_place(p_operator_id, v_after_event_id, v_max_rows, v_now, v_since_ts, v_place);
            END IF;
            -- S3: where the page has shown it, the time of its answer begins.
            UPDATE (
                SELECT r.object_type, r.object_id, r.operator_id, r.client_id
                FROM appl_lock_ask AS r FORCE INDEX (PRIMARY)
                WHERE r.object_type = v_object_type
                    AND r.object_id = v_object_id
                    AND r.operator_id = v_asker_id
                    AND r.client_id = v_client_id
                    AND r.fence = v_fence
                    AND r.shown_ts IS NULL
                    AND v_place <= v_max_rows
                LIMIT 1
                FOR UPDATE SKIP LOCKED
            ) AS k
            STRAIGHT_JOIN appl_lock_ask AS q FORCE INDEX (PRIMARY)
                ON q.object_type = k.object_type
                AND q.object_id = k.object_id
                AND q.operator_id = k.operator_id
                AND q.client_id = k.client_id
            SET q.shown_ts = UTC_TIMESTAMP(6);
            FETCH shown INTO v_object_type, v_object_id, v_asker_id, v_client_id, v_fence, v_since_ts;
        END WHILE;
        SET SESSION sql_safe_updates = v_safe_updates;
    END IF;
    CLOSE shown;
END$$

DELIMITER ;
