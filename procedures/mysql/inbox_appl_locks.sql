-- inbox_appl_locks: report what others did with an operator's locks, who waits or asks for them, and how its own requests were
-- answered. Call it once in each heartbeat.
--
-- Contract   First the events behind p_position. TAKEN: another operator has taken this one's lock or handed it on to a
--            third. HANDED: another operator has transferred a lock to this one. RELEASED: another operator has ended its lock.
--            GIVEN and YIELDED: its lock went to an asker; they appear even if this operator was the actor. Then, oldest first,
--            AWAITED: another operator waits or asks for a lock of this one. LATER and DECLINED: a holder has answered this
--            one's request. A request that was answered NO leaves the holder's inbox. A lock that had expired before another
--            operator got it is no TAKEN. Events and the rest have half of the page each, and what the other leaves of its half.
--            The next call passes next_position; where there is no row, its position stays. So each event is told once.
-- In         p_position: NULL or '' = from the start. Its first number is one up to which all is told. Then come numbers and
--            ranges that are told, as in 120,124,130-141. p_max_rows: 1..10000, NULL = 1000.
-- Out        event_id: 0 unless an event; other_*: the new holder (TAKEN, GIVEN, YIELDED), the former one (HANDED), the waiter
--            (AWAITED) or, without department, the actor (RELEASED, LATER, DECLINED); event_ts: of the event or of the wait's
--            begin; seconds_left: of the operator's lock, 0 unless AWAITED; next_position; message, client_id and fence: of a
--            request to answer.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine.
-- Locks      Never waits. It reads the operator's own events behind the first number of p_position, the waiters and requests
--            whose stored holder it is, its own requests, and the lock of each by key. S5 writes once for each request shown,
--            only where a type's policy has a yield, and only where transaction and server may write. It skips rows that
--            another transaction has locked.
-- Race-free  S4 shows the events that S1 has found, and S3 keeps their numbers. An event is numbered before its transaction
--            commits, so a later number may be visible first; the earlier one is news then, since no position has it. The first
--            number of next_position is the operator's last event that is older than 15 minutes, but none behind the page. A
--            cursor keeps the requests that had room in S2. S5 locks and changes each in one statement, which names its grant.
-- Differs    An event is missed if its transaction stays open for more than 15 minutes after it was numbered. On a full page S4
--            may leave out a request that S5 marks, if an older waiter appears between S2 and S4. In a Galera cluster each node
--            numbers for itself: an event of another node may have a lesser number than an earlier one.

DELIMITER $$

CREATE PROCEDURE inbox_appl_locks_core(...)
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_max_rows BIGINT DEFAULT COALESCE(p_max_rows, 1000);
    DECLARE v_position LONGTEXT DEFAULT COALESCE(NULLIF(p_position, ''), '0');
    -- Its ranges as JSON.
    DECLARE v_told LONGTEXT DEFAULT CONCAT('[[', REPLACE(REPLACE(v_position, ',', '],['), '-', ','), ']]');
    DECLARE v_told_rows BIGINT DEFAULT 0;
    DECLARE v_after_event_id BIGINT;
    DECLARE v_old_event_id BIGINT;
    DECLARE v_page LONGTEXT;
    DECLARE v_events BIGINT;
    DECLARE v_room BIGINT;
    DECLARE v_waiting BIGINT;
    DECLARE v_left_out_ts DATETIME(6);
    DECLARE v_now DATETIME(6);
    DECLARE v_more BOOLEAN DEFAULT TRUE;
    DECLARE v_object_type VARCHAR(64);
    DECLARE v_object_id VARCHAR(255);
    DECLARE v_asker_id VARCHAR(255);
    DECLARE v_client_id VARCHAR(64);
    DECLARE v_fence BIGINT;
    DECLARE v_safe_updates BOOLEAN DEFAULT COALESCE(@appl_lock_safe, @@SESSION.sql_safe_updates + 0);
    DECLARE v_max_length BIGINT UNSIGNED DEFAULT COALESCE(@appl_lock_length, @@SESSION.group_concat_max_len);
    DECLARE shown CURSOR FOR
        SELECT q.object_type, q.object_id, q.operator_id, q.client_id, q.fence
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
            AND (v_left_out_ts IS NULL OR q.since_ts < v_left_out_ts)
            AND p.yield_after_seconds IS NOT NULL
            AND l.operator_id = p_operator_id
            AND l.fence = q.fence
            AND l.released_ts IS NULL
            AND l.expires_ts > v_now;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_more = FALSE;
    -- A server or a transaction that only reads.
    DECLARE CONTINUE HANDLER FOR 1290, 1792, 1836 SET v_more = FALSE;
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION sql_safe_updates = v_safe_updates, @appl_lock_safe = NULL;
        SET SESSION group_concat_max_len = v_max_length, @appl_lock_length = NULL;
        RESIGNAL;
    END;

    CALL appl_lock_text('inbox_appl_locks', 'p_operator_id', 'Y', 1, 255, p_operator_id);
    IF NOT v_position REGEXP '^[0-9]{1,18}(,[0-9][0-9,-]*)?$' OR NOT JSON_VALID(v_told) THEN
        SIGNAL SQLSTATE 'LK001'
            SET MESSAGE_TEXT = 'inbox_appl_locks: p_position is not one of its answers';
    END IF;
    CALL appl_lock_number('inbox_appl_locks', 'p_max_rows', 10000, v_max_rows);
    SET SESSION timestamp = DEFAULT;
    IF @appl_lock_own IS NOT NULL THEN
        CALL appl_lock_enter();
    END IF;
    SET v_now = UTC_TIMESTAMP(6);
    SET v_after_event_id = SUBSTRING_INDEX(v_position, ',', 1);
    IF v_position LIKE '%,%' THEN
        SET v_told_rows = (
            SELECT LEAST(SUM(COALESCE(j.to_id, j.from_id) - j.from_id + 1), 1000000000)
            FROM JSON_TABLE(v_told, '$[*]' COLUMNS (from_id BIGINT PATH '$[0]', to_id BIGINT PATH '$[1]')) AS j
        );
    END IF;

    -- S1: which events are news, and which is the last that is old? The indexes are forced: else a call could read the whole history.
    SET v_told_rows = v_told_rows + v_max_rows;
    SET @appl_lock_length = v_max_length, SESSION group_concat_max_len = 4294967295;
    SELECT GROUP_CONCAT(a.event_id ORDER BY a.event_id), COUNT(*), COALESCE(MAX(IF(a.event_ts < v_now - INTERVAL 900 SECOND, a.event_id, 0)), 0)
    INTO v_page, v_events, v_old_event_id
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
            LIMIT v_told_rows
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
            LIMIT v_told_rows
        )
    ) AS a;
    IF v_events > 0 AND v_told_rows > v_max_rows THEN
        -- An event is told if more ranges have begun than ended before it. On MariaDB MAX OVER () would take the square of the time.
        SELECT GROUP_CONCAT(t.event_id ORDER BY t.event_id), COUNT(*)
        INTO v_page, v_events
        FROM (
            SELECT a.event_id, a.step, SUM(a.step) OVER (ORDER BY a.event_id, a.step = 0 ROWS UNBOUNDED PRECEDING) AS ranges
            FROM (
                SELECT j.event_id, 0 AS step
                FROM JSON_TABLE(CONCAT('[', v_page, ']'), '$[*]' COLUMNS (event_id BIGINT PATH '$')) AS j
                UNION ALL
                SELECT j.from_id, 1
                FROM JSON_TABLE(v_told, '$[*]' COLUMNS (from_id BIGINT PATH '$[0]')) AS j
                UNION ALL
                SELECT COALESCE(j.to_id, j.from_id) + 1, -1
                FROM JSON_TABLE(v_told, '$[*]' COLUMNS (from_id BIGINT PATH '$[0]', to_id BIGINT PATH '$[1]')) AS j
            ) AS a
        ) AS t
        WHERE t.step = 0
            AND t.ranges = 0;
    END IF;

    -- S2: how many other rows have room, and since when does the first wait that has none?
    SET v_room = GREATEST(v_max_rows DIV 2, v_max_rows - v_events) + 1;
    SELECT COUNT(*), MAX(s.since_ts)
    INTO v_waiting, v_left_out_ts
    FROM (
        SELECT w.since_ts
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
        SELECT q.since_ts
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
        SELECT q.answered_ts
        FROM appl_lock_ask AS q FORCE INDEX (appl_lock_ask_operator_ix)
        WHERE q.operator_id = p_operator_id
            AND q.answer <> ''
            AND q.expires_ts > v_now
        ORDER BY since_ts
        LIMIT v_room
    ) AS s;
    IF v_waiting = v_room THEN
        SET v_waiting = v_room - 1;
    ELSE
        SET v_left_out_ts = NULL;
    END IF;
    SET v_events = LEAST(v_events, v_max_rows - v_waiting);
    SET v_page = IF(v_events = 0, '', SUBSTRING_INDEX(v_page, ',', v_events));
    SET v_position = '';

    -- S3: up to which event has each transaction ended, and what behind it is told now? Ranges that meet become one. What is left out
    -- has greater numbers than the page.
    IF v_events + v_waiting > 0 THEN
        SET v_after_event_id = GREATEST(v_after_event_id, IF(
            v_events > 0 AND v_events + v_waiting >= v_max_rows,
            LEAST(v_old_event_id, CAST(SUBSTRING_INDEX(v_page, ',', -1) AS SIGNED)),
            v_old_event_id
        ));
        SELECT CONCAT_WS(',', v_after_event_id, GROUP_CONCAT(IF(g.to_id > g.from_id, CONCAT(g.from_id, '-', g.to_id), g.to_id) ORDER BY g.to_id))
        INTO v_position
        FROM (
            SELECT MIN(r.from_id) AS from_id, MAX(r.to_id) AS to_id
            FROM (
                SELECT i.from_id, i.to_id, SUM(i.apart) OVER (ORDER BY i.from_id ROWS UNBOUNDED PRECEDING) AS island
                FROM (
                    SELECT o.from_id, o.to_id, o.from_id > COALESCE(LAG(o.to_id) OVER (ORDER BY o.from_id), 0) + 1 AS apart
                    FROM (
                        SELECT j.from_id, COALESCE(j.to_id, j.from_id) AS to_id
                        FROM JSON_TABLE(v_told, '$[*]' COLUMNS (from_id BIGINT PATH '$[0]', to_id BIGINT PATH '$[1]')) AS j
                        UNION ALL
                        SELECT j.event_id, j.event_id
                        FROM JSON_TABLE(CONCAT('[', v_page, ']'), '$[*]' COLUMNS (event_id BIGINT PATH '$')) AS j
                    ) AS o
                    WHERE o.to_id > v_after_event_id
                ) AS i
            ) AS r
            GROUP BY r.island
        ) AS g;
        OPEN shown;
    END IF;
    SET SESSION group_concat_max_len = v_max_length, @appl_lock_length = NULL;

    -- S4: the page.
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
        v_position AS next_position,
        m.message,
        m.client_id,
        m.fence
    FROM (
        SELECT
            1 AS part,
            CASE WHEN e.to_operator_id = p_operator_id THEN 'HANDED' WHEN e.event = 'TRANSFERRED' THEN 'TAKEN' ELSE e.event END AS kind,
            e.event_id,
            e.object_type,
            e.object_id,
            CASE
                WHEN e.to_operator_id = p_operator_id THEN e.from_operator_id
                WHEN e.event = 'RELEASED' THEN e.actor_id
                ELSE e.to_operator_id
            END AS other_operator_id,
            IF(e.to_operator_id = p_operator_id, e.from_department_id, e.to_department_id) AS other_department_id,
            e.event_ts,
            0 AS seconds_left,
            e.reason,
            '' AS message,
            '' AS client_id,
            0 AS fence
        FROM JSON_TABLE(CONCAT('[', v_page, ']'), '$[*]' COLUMNS (event_id BIGINT PATH '$')) AS j
        STRAIGHT_JOIN appl_lock_event AS e FORCE INDEX (PRIMARY)
            ON e.event_id = j.event_id
        UNION ALL
        SELECT
            2, 'AWAITED', 0, w.object_type, w.object_id, w.operator_id, w.department_id, w.since_ts,
            (TIMESTAMPDIFF(MICROSECOND, v_now, l.expires_ts) + 999999) DIV 1000000, '', '', '', 0
        FROM appl_lock_waiter AS w FORCE INDEX (appl_lock_waiter_holder_ix)
        STRAIGHT_JOIN appl_lock AS l FORCE INDEX (PRIMARY)
            ON l.object_type = w.object_type
            AND l.object_id = w.object_id
        WHERE v_waiting > 0
            AND w.holder_id = p_operator_id
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
        WHERE v_waiting > 0
            AND q.holder_id = p_operator_id
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
        WHERE v_waiting > 0
            AND q.operator_id = p_operator_id
            AND q.answer <> ''
            AND q.expires_ts > v_now
    ) AS m
    ORDER BY m.part, m.event_id, m.event_ts, m.object_type, m.object_id, m.other_operator_id
    LIMIT v_max_rows;

    IF v_waiting > 0 AND LOCATE(@@GLOBAL.read_only, '0 OFF') > 0 THEN
        FETCH shown INTO v_object_type, v_object_id, v_asker_id, v_client_id, v_fence;
        -- MariaDB's safe updates refuse S5, because it reads all rows of the inner SELECT.
        IF v_more THEN
            SET @appl_lock_safe = v_safe_updates, SESSION sql_safe_updates = FALSE;
        END IF;
        WHILE v_more DO
            -- S5: the page has shown it, so the time of its answer begins.
            UPDATE (
                SELECT r.object_type, r.object_id, r.operator_id, r.client_id
                FROM appl_lock_ask AS r FORCE INDEX (PRIMARY)
                WHERE r.object_type = v_object_type
                    AND r.object_id = v_object_id
                    AND r.operator_id = v_asker_id
                    AND r.client_id = v_client_id
                    AND r.fence = v_fence
                    AND r.shown_ts IS NULL
                LIMIT 1
                FOR UPDATE SKIP LOCKED
            ) AS k
            STRAIGHT_JOIN appl_lock_ask AS q FORCE INDEX (PRIMARY)
                ON q.object_type = k.object_type
                AND q.object_id = k.object_id
                AND q.operator_id = k.operator_id
                AND q.client_id = k.client_id
            SET q.shown_ts = UTC_TIMESTAMP(6);
            FETCH shown INTO v_object_type, v_object_id, v_asker_id, v_client_id, v_fence;
        END WHILE;
        SET SESSION sql_safe_updates = v_safe_updates, @appl_lock_safe = NULL;
    END IF;
END$$

DELIMITER ;
