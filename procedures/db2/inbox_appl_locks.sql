-- inbox_appl_locks: report what others did with an operator's locks, who waits or asks for them, and how its own requests were
-- answered. Call it once in each heartbeat.
--
-- Contract   At most p_max_rows rows. First the events behind p_position. TAKEN: another operator has taken this one's lock or
--            handed it on to a third. HANDED: another operator has transferred a lock to this one. RELEASED: another operator
--            has ended its lock. GIVEN and YIELDED: its lock went to an asker; they appear even if this operator was the actor.
--            Then, oldest first, AWAITED: another operator waits or asks for a lock of this one. LATER and DECLINED: a holder
--            has answered this one's request. A request that was answered NO leaves the holder's inbox. Events and the rest have
--            half of the page each, and what the other leaves of its half. The next call passes next_position; where there is
--            no row, its position stays. So each event is told once.
-- In         p_operator_id 1..255; p_position, NULL or '' = from the start: a number up to which all is told, then numbers and
--            ranges that are told, as in 120,124,130-141; p_max_rows 1..10000, NULL = 1000. Trailing blanks are trimmed first.
-- Out        kind; event_id, 0 unless an event; object_type; object_id; other_operator_id and other_department_id, the new
--            holder (TAKEN, GIVEN, YIELDED), the former one (HANDED), the waiter (AWAITED) or, without department, the actor
--            (RELEASED, LATER, DECLINED); event_ts, of the event, the answer or the wait's begin; seconds_left of this
--            operator's lock, 0 unless AWAITED; reason; next_position, whose first number is of the newest event that is 15
--            minutes old; message, client_id and fence of a request to answer, else empty and 0.
-- Raises     LK001 invalid argument. -911 and -913 as get_appl_lock.
-- Locks      It reads committed rows (cur_commit, the default) by indexes: the operator's own events behind the first number of
--            p_position, the waiters and requests for its locks, those locks by key, and its own requests. S3b locks each new
--            request once, where a type's policy has a yield, to the end of the caller's transaction.
-- Race-free  An event is numbered before its transaction commits. It is news until a position has its number or a greater first
--            number, which no event gets before it is 15 minutes old. The page misses an event only if its transaction stays
--            open for longer. S4 shows the events that S2 has found. S3b changes a request only while it is for the grant that
--            S3 has read. A later request is for the next call.
-- Differs    The platforms of Db2 share no way to list open transactions: hence the 15 minutes. S3a counts the rows before a
--            request, and S4 reads the page after that. S3 skips a locked row; between it and S3b a wait of up to 1 s is
--            possible. A position has at most 4000 bytes, some 230 events of 15 minutes whose numbers do not follow one
--            another. Further events are told once it is shorter.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE inbox_appl_locks (...)
SPECIFIC inbox_appl_locks
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_operator_id, v_position, v_next_position, v_item VARCHAR(4000);
    DECLARE v_page VARCHAR(32000) DEFAULT ',';
    DECLARE v_max_rows, v_after_event_id, v_from_id, v_to_id, v_run_from_id, v_run_to_id BIGINT;
    DECLARE v_at, v_comma, v_dash INTEGER DEFAULT 1;
    DECLARE v_events, v_waiting INTEGER DEFAULT 0;
    DECLARE v_left_out_fl CHAR(1) DEFAULT 'N';
    DECLARE v_limit, v_place INTEGER;
    DECLARE v_now, v_before TIMESTAMP;

    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    SET v_position = COALESCE(NULLIF(RTRIM(p_position), ''), '0');
    SET v_max_rows = COALESCE(p_max_rows, 1000);
    IF CHARACTER_LENGTH(v_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('inbox_appl_locks', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, OCTETS), 255);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('inbox_appl_locks', 'p_max_rows', 10000);
    END IF;
    IF NOT_PLAIN(v_operator_id) THEN
        CALL appl_lock_check_text('inbox_appl_locks', 'p_operator_id', v_operator_id);
    END IF;
    SET v_item = REPLACE(REPLACE(v_position, '-', ''), ',', '');
    IF TRANSLATE(v_item, '0', '0123456789', '0') <> REPEAT('0', CHARACTER_LENGTH(v_item, CODEUNITS32))
        OR LOCATE(',,', ',' || REPLACE(v_position, '-', ',') || ',') > 0
        OR LOCATE(',', v_position || ',') NOT BETWEEN 2 AND 19
        OR LOCATE('-', SUBSTRING(v_position, 1, LOCATE(',', v_position || ',') - 1, CODEUNITS32)) > 0
    THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'inbox_appl_locks: p_position is not one of its answers';
    END IF;

    SET CURRENT LOCK TIMEOUT 1;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    SET v_before = v_now - (900) SECOND;
    -- S1: how many rows of the page are no events?
    SELECT COUNT(*)
    INTO v_waiting
    FROM (
        SELECT w.since_ts
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
        UNION ALL
        SELECT a.since_ts
        FROM appl_lock_ask AS a
        INNER JOIN appl_lock AS l
            ON l.object_type = a.object_type
            AND l.object_id = a.object_id
        WHERE a.holder_id = v_operator_id
            AND a.expires_ts > v_now
            AND a.answer <> 'NO'
            AND l.operator_id = v_operator_id
            AND l.released_ts IS NULL
            AND l.expires_ts > v_now
        UNION ALL
        SELECT a.answered_ts AS since_ts
        FROM appl_lock_ask AS a
        WHERE a.operator_id = v_operator_id
            AND a.expires_ts > v_now
            AND a.answer <> ''
    ) AS m
    WITH CS;
    SET v_limit = CASE WHEN v_max_rows - v_waiting > (v_max_rows + 1) / 2 THEN v_max_rows - v_waiting ELSE (v_max_rows + 1) / 2 END;
    -- S2: which events are news? v_from_id to v_to_id is the range of p_position to compare with, v_run_* that of next_position to end.
    SET v_at = LOCATE(',', v_position || ',') + 1;
    SET v_after_event_id = CAST(SUBSTRING(v_position, 1, v_at - 2, CODEUNITS32) AS BIGINT);
    SET v_next_position = SUBSTRING(v_position, 1, v_at - 2, CODEUNITS32);
    SET v_position = v_position || ',';
    SET v_from_id = 0;
    SET v_to_id = v_after_event_id;
    SET v_run_from_id = 0;
    SET v_run_to_id = v_after_event_id;
    FOR event AS
        SELECT o.event_id AS c_event_id, o.event_ts AS c_event_ts
        FROM (
            SELECT e.event_id, e.event_ts
            FROM appl_lock_event AS e
            WHERE e.from_operator_id = v_operator_id
                AND e.event_id > v_after_event_id
                AND e.event IN ('TAKEN', 'TRANSFERRED', 'RELEASED', 'GIVEN', 'YIELDED')
                AND (e.actor_id <> v_operator_id OR e.event IN ('GIVEN', 'YIELDED'))
                AND e.to_operator_id <> v_operator_id
            UNION ALL
            SELECT e.event_id, e.event_ts
            FROM appl_lock_event AS e
            WHERE e.to_operator_id = v_operator_id
                AND e.event_id > v_after_event_id
                AND e.event IN ('TRANSFERRED', 'GIVEN', 'YIELDED')
                AND (e.actor_id <> v_operator_id OR e.event = 'YIELDED')
        ) AS o
        ORDER BY c_event_id
        WITH CS
    DO
        WHILE v_to_id < c_event_id AND v_at < CHARACTER_LENGTH(v_position, CODEUNITS32) DO
            SET v_comma = LOCATE(',', v_position, v_at);
            SET v_item = SUBSTRING(v_position, v_at, v_comma - v_at, CODEUNITS32);
            SET v_dash = LOCATE('-', v_item || '-');
            SET v_from_id = CAST(SUBSTRING(v_item, 1, v_dash - 1, CODEUNITS32) AS BIGINT);
            SET v_to_id = CAST(SUBSTRING(v_item, LOCATE('-', v_item) + 1, v_comma - v_at - LOCATE('-', v_item), CODEUNITS32) AS BIGINT);
            SET v_at = v_comma + 1;
        END WHILE;
        IF c_event_id NOT BETWEEN v_from_id AND v_to_id THEN
            IF v_events = v_limit OR CHARACTER_LENGTH(v_page, CODEUNITS32) > 31900
                OR CHARACTER_LENGTH(v_position, CODEUNITS32) + CHARACTER_LENGTH(v_next_position, CODEUNITS32) > 3900 + v_at
            THEN
                SET v_left_out_fl = 'Y';
            ELSE
                SET v_page = v_page || CAST(c_event_id AS VARCHAR(20)) || ',';
                SET v_events = v_events + 1;
            END IF;
        END IF;
        IF v_left_out_fl = 'N' AND c_event_ts < v_before THEN
            SET v_next_position = CAST(c_event_id AS VARCHAR(20));
            SET v_run_from_id = 0;
            SET v_run_to_id = c_event_id;
        ELSEIF c_event_id BETWEEN v_from_id AND v_to_id OR LOCATE(',' || CAST(c_event_id AS VARCHAR(20)) || ',', v_page) > 0 THEN
            IF c_event_id > v_run_to_id + 1 OR v_run_from_id = 0 THEN
                IF v_run_to_id > v_run_from_id AND v_run_from_id > 0 THEN
                    SET v_next_position = v_next_position || '-' || CAST(v_run_to_id AS VARCHAR(20));
                END IF;
                SET v_next_position = v_next_position || ',' || CAST(c_event_id AS VARCHAR(20));
                SET v_run_from_id = c_event_id;
            END IF;
            SET v_run_to_id = c_event_id;
        END IF;
    END FOR;
    IF v_run_to_id > v_run_from_id AND v_run_from_id > 0 THEN
        SET v_next_position = v_next_position || '-' || CAST(v_run_to_id AS VARCHAR(20));
    END IF;
    SET v_limit = v_max_rows;
    -- S3: which requests will this page be the first to show? The time of an answer begins then.
    FOR request AS
        SELECT
            a.object_type AS c_object_type,
            a.object_id AS c_object_id,
            a.operator_id AS c_operator_id,
            a.client_id AS c_client_id,
            a.fence AS c_fence,
            a.since_ts AS c_since_ts
        FROM appl_lock_ask AS a
        INNER JOIN appl_lock_policy AS p
            ON p.object_type = a.object_type
        INNER JOIN appl_lock AS l
            ON l.object_type = a.object_type
            AND l.object_id = a.object_id
        WHERE a.holder_id = v_operator_id
            AND a.shown_ts IS NULL
            AND a.answer <> 'NO'
            AND a.expires_ts > v_now
            AND p.yield_after_seconds IS NOT NULL
            AND l.operator_id = v_operator_id
            AND l.fence = a.fence
            AND l.released_ts IS NULL
            AND l.expires_ts > v_now
        WITH CS SKIP LOCKED DATA
    DO
        -- S3a: where does it stand on the page? It counts the rows of S4, even if their locks have changed hands.
        SELECT COUNT(*)
        INTO v_place
        FROM (
            SELECT CAST(0 AS BIGINT) AS event_id
            FROM appl_lock_waiter AS w
            WHERE w.holder_id = v_operator_id
                AND w.operator_id <> v_operator_id
                AND w.expires_ts > v_now
                AND w.since_ts <= c_since_ts
            UNION ALL
            SELECT CAST(0 AS BIGINT) AS event_id
            FROM appl_lock_ask AS a
            WHERE a.holder_id = v_operator_id
                AND a.expires_ts > v_now
                AND a.answer <> 'NO'
                AND a.since_ts <= c_since_ts
            UNION ALL
            SELECT CAST(0 AS BIGINT) AS event_id
            FROM appl_lock_ask AS a
            WHERE a.operator_id = v_operator_id
                AND a.expires_ts > v_now
                AND a.answer <> ''
                AND a.answered_ts <= c_since_ts
        ) AS m
        WITH CS;
        IF v_events + v_place <= v_max_rows THEN
            -- S3b: it is shown.
            UPDATE appl_lock_ask AS a
            SET shown_ts = v_now
            WHERE a.object_type = c_object_type
                AND a.object_id = c_object_id
                AND a.operator_id = c_operator_id
                AND a.client_id = c_client_id
                AND a.fence = c_fence
                AND a.shown_ts IS NULL;
        END IF;
    END FOR;
    -- S4: the page.
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
                v_next_position AS next_position,
                m.message,
                m.client_id,
                m.fence
            FROM (
                SELECT
                    1 AS part, CAST(CASE WHEN e.event = 'TRANSFERRED' THEN 'TAKEN' ELSE e.event END AS VARCHAR(8)) AS kind, e.event_id,
                    e.object_type, e.object_id,
                    CASE WHEN e.event = 'RELEASED' THEN e.actor_id ELSE e.to_operator_id END AS other_operator_id,
                    e.to_department_id AS other_department_id, e.event_ts, v_now AS expires_ts, e.reason,
                    '' AS message, '' AS client_id, CAST(0 AS BIGINT) AS fence
                FROM appl_lock_event AS e
                WHERE e.from_operator_id = v_operator_id
                    AND e.event_id > v_after_event_id
                    AND LOCATE(',' || CAST(e.event_id AS VARCHAR(20)) || ',', v_page) > 0
                    AND e.event IN ('TAKEN', 'TRANSFERRED', 'RELEASED', 'GIVEN', 'YIELDED')
                    AND (e.actor_id <> v_operator_id OR e.event IN ('GIVEN', 'YIELDED'))
                    AND e.to_operator_id <> v_operator_id
                UNION ALL
                SELECT
                    1 AS part, CAST('HANDED' AS VARCHAR(8)) AS kind, e.event_id,
                    e.object_type, e.object_id, e.from_operator_id AS other_operator_id,
                    e.from_department_id AS other_department_id, e.event_ts, v_now AS expires_ts, e.reason,
                    '' AS message, '' AS client_id, CAST(0 AS BIGINT) AS fence
                FROM appl_lock_event AS e
                WHERE e.to_operator_id = v_operator_id
                    AND e.event_id > v_after_event_id
                    AND LOCATE(',' || CAST(e.event_id AS VARCHAR(20)) || ',', v_page) > 0
                    AND e.event IN ('TRANSFERRED', 'GIVEN', 'YIELDED')
                    AND (e.actor_id <> v_operator_id OR e.event = 'YIELDED')
                UNION ALL
                SELECT
                    2 AS part, CAST('AWAITED' AS VARCHAR(8)) AS kind, CAST(0 AS BIGINT) AS event_id,
                    w.object_type, w.object_id, w.operator_id AS other_operator_id,
                    w.department_id AS other_department_id, w.since_ts AS event_ts, l.expires_ts, '' AS reason,
                    '' AS message, '' AS client_id, CAST(0 AS BIGINT) AS fence
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
                UNION ALL
                SELECT
                    2 AS part, CAST('AWAITED' AS VARCHAR(8)) AS kind, CAST(0 AS BIGINT) AS event_id,
                    a.object_type, a.object_id, a.operator_id AS other_operator_id,
                    a.department_id AS other_department_id, a.since_ts AS event_ts, l.expires_ts, '' AS reason,
                    a.message, a.client_id, l.fence
                FROM appl_lock_ask AS a
                INNER JOIN appl_lock AS l
                    ON l.object_type = a.object_type
                    AND l.object_id = a.object_id
                WHERE a.holder_id = v_operator_id
                    AND a.expires_ts > v_now
                    AND a.answer <> 'NO'
                    AND l.operator_id = v_operator_id
                    AND l.released_ts IS NULL
                    AND l.expires_ts > v_now
                UNION ALL
                SELECT
                    2 AS part, CAST(CASE WHEN a.answer = 'NO' THEN 'DECLINED' ELSE a.answer END AS VARCHAR(8)) AS kind,
                    CAST(0 AS BIGINT) AS event_id,
                    a.object_type, a.object_id, a.holder_id AS other_operator_id,
                    '' AS other_department_id, a.answered_ts AS event_ts, v_now AS expires_ts, a.answer_reason AS reason,
                    '' AS message, '' AS client_id, CAST(0 AS BIGINT) AS fence
                FROM appl_lock_ask AS a
                WHERE a.operator_id = v_operator_id
                    AND a.expires_ts > v_now
                    AND a.answer <> ''
            ) AS m
            ORDER BY m.part, m.event_id, m.event_ts, m.object_type, m.object_id, m.other_operator_id
            FETCH FIRST v_limit ROWS ONLY
            WITH CS;
        OPEN answer;
    END;
END
@
