-- see_appl_lock: list an operator as a viewer of an object, and show its holder, askers and other viewers. Call it once in each
-- heartbeat.
--
-- Contract   Lists the operator as a viewer for p_ttl_seconds, with its state, for the program p_client_id. Each further call
--            keeps it listed, since the first one; after the listing has ended, a call begins anew. Without a state the
--            program's row goes. Then at most 200 rows. HOLDER: the object's holder, even if it is the operator itself. ASKER:
--            each request of another operator. VIEWER: each program of another operator that is listed. Askers and viewers come
--            oldest first. The call is no lock, and the history does not record it. EDITING by the holder restarts its time to
--            answer (ask_appl_lock). Where the type's policy has presence N, the call records nothing and shows only holder and
--            askers.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255; p_department_id 0..64, NULL =
--            empty; p_client_id 1..64, the browser tab or program, under a name that no other program has; p_state VIEWING,
--            EDITING or IDLE, NULL = it leaves; p_ttl_seconds 1..300, NULL = 45. Trailing blanks are trimmed first.
-- Out        A result set: kind; operator_id; department_id; client_id (empty for HOLDER); state (empty unless VIEWER);
--            since_ts (start of the grant, the request or the listing); seconds_left (until the lock or the listing ends);
--            message (empty unless ASKER).
-- Raises     LK001 invalid argument. LK003 when the row came and went thirty times during the call. -911 and -913 as get_appl_lock.
-- Locks      S2 or S3 locks the operator's own row, S3b the requests that ask the operator for the object, S4 rows of the
--            object that have been dead for ten minutes. All to the end of the caller's transaction. The rest reads committed
--            rows without waiting (cur_commit, the default), by the primary key.
-- Race-free  Two calls for one row: the primary key lets one insert; the other waits, gets 23505, and its next round finds the row.
--            S4 judges a row again once it is locked: a viewer that has come back stays. S3a does not wait for an ask that is
--            under way: the next heartbeat restarts its time.
-- Differs    Whether a DELETE may skip locked rows is not documented for LUW. So only rows that have been dead for ten minutes
--            go, which calls seldom revive; then S4 waits up to 1 s. S3a skips a locked row; between it and S3b a wait of up to
--            1 s is possible.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE see_appl_lock (...)
SPECIFIC see_appl_lock
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_object_type, v_object_id, v_operator_id, v_department_id, v_client_id, v_state VARCHAR(4000);
    DECLARE v_ttl_seconds BIGINT;
    DECLARE v_round, v_changed, v_hidden, v_dead INTEGER DEFAULT 0;
    DECLARE v_now, v_expires_ts, v_before TIMESTAMP;

    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    SET v_department_id = RTRIM(COALESCE(p_department_id, ''));
    SET v_client_id = RTRIM(COALESCE(p_client_id, ''));
    SET v_state = RTRIM(COALESCE(p_state, 'LEFT'));
    SET v_ttl_seconds = COALESCE(p_ttl_seconds, 45);
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('see_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('see_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('see_appl_lock', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_department_id, CODEUNITS32) > 64 THEN
        CALL appl_lock_refuse_text('see_appl_lock', 'p_department_id', CHARACTER_LENGTH(v_department_id, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_client_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('see_appl_lock', 'p_client_id', CHARACTER_LENGTH(v_client_id, CODEUNITS32), 64);
    ELSEIF p_state IS NOT NULL AND v_state NOT IN ('VIEWING', 'EDITING', 'IDLE') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'see_appl_lock: p_state is VIEWING, EDITING, IDLE or NULL';
    ELSEIF v_ttl_seconds NOT BETWEEN 1 AND 300 THEN
        CALL appl_lock_refuse_number('see_appl_lock', 'p_ttl_seconds', 300);
    END IF;
    IF NOT_PLAIN(v_object_type || v_object_id || v_operator_id || v_department_id) THEN
        CALL appl_lock_check_text('see_appl_lock', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('see_appl_lock', 'p_object_id', v_object_id);
        CALL appl_lock_check_text('see_appl_lock', 'p_operator_id', v_operator_id);
        CALL appl_lock_check_text('see_appl_lock', 'p_department_id', v_department_id);
    END IF;

    SET CURRENT LOCK TIMEOUT 1;
    -- S1: is presence off?
    SELECT COUNT(*)
    INTO v_hidden
    FROM appl_lock_policy AS p
    WHERE p.object_type = v_object_type
        AND p.presence_fl = 'N'
    WITH CS;
    IF p_state IS NULL THEN
        DELETE FROM appl_lock_viewer
        WHERE object_type = v_object_type
            AND object_id = v_object_id
            AND operator_id = v_operator_id
            AND client_id = v_client_id;
    ELSEIF v_hidden = 0 THEN
        WHILE v_changed = 0 DO
            IF v_round = 30 THEN
                SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'see_appl_lock: the viewer changed; call again';
            END IF;
            SET v_round = v_round + 1;
            SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
            SET v_expires_ts = v_now + (v_ttl_seconds) SECOND;
            -- S2: it still looks, or looks again.
            UPDATE appl_lock_viewer AS v
            SET department_id = v_department_id,
                state = v_state,
                since_ts = CASE WHEN v.expires_ts > v_now THEN v.since_ts ELSE v_now END,
                seen_ts = v_now,
                expires_ts = v_expires_ts
            WHERE v.object_type = v_object_type
                AND v.object_id = v_object_id
                AND v.operator_id = v_operator_id
                AND v.client_id = v_client_id;
            GET DIAGNOSTICS v_changed = ROW_COUNT;
            IF v_changed = 0 THEN
                -- S3: a new one.
                BEGIN
                    DECLARE CONTINUE HANDLER FOR SQLSTATE '23505' SET v_changed = 0;
                    SET v_changed = 1;
                    INSERT INTO appl_lock_viewer (
                        object_type, object_id, operator_id, department_id, client_id, state, since_ts, seen_ts, expires_ts
                    )
                    VALUES (
                        v_object_type, v_object_id, v_operator_id, v_department_id, v_client_id, v_state, v_now, v_now, v_expires_ts
                    );
                END;
            END IF;
        END WHILE;
    END IF;

    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    IF v_state = 'EDITING' AND v_hidden = 0 THEN
        -- S3a: who asks the operator for the object?
        FOR request AS
            SELECT
                a.operator_id AS c_operator_id,
                a.client_id AS c_client_id,
                a.fence AS c_fence
            FROM appl_lock_ask AS a
            WHERE a.object_type = v_object_type
                AND a.object_id = v_object_id
                AND a.holder_id = v_operator_id
                AND a.shown_ts IS NOT NULL
            WITH CS SKIP LOCKED DATA
        DO
            -- S3b: an operator that edits is present: restart its time to answer the requests for its lock.
            UPDATE appl_lock_ask AS a
            SET edited_ts = v_now
            WHERE a.object_type = v_object_type
                AND a.object_id = v_object_id
                AND a.operator_id = c_operator_id
                AND a.client_id = c_client_id
                AND a.fence = c_fence
                AND a.shown_ts IS NOT NULL;
        END FOR;
    END IF;
    SET v_before = v_now - (600) SECOND;
    -- S4: remove the rows that have been dead for long.
    SELECT COUNT(*)
    INTO v_dead
    FROM appl_lock_viewer AS v
    WHERE v.object_type = v_object_type
        AND v.object_id = v_object_id
        AND v.expires_ts < v_before
    WITH CS;
    IF v_dead > 0 THEN
        DELETE FROM appl_lock_viewer
        WHERE object_type = v_object_type
            AND object_id = v_object_id
            AND expires_ts < v_before;
    END IF;

    -- S5: who is there?
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                m.kind,
                m.operator_id,
                m.department_id,
                m.client_id,
                m.state,
                m.since_ts,
                SECONDS_UP(v_now, m.expires_ts) AS seconds_left,
                m.message
            FROM (
                SELECT
                    1 AS part,
                    CAST('HOLDER' AS VARCHAR(8)) AS kind,
                    l.operator_id,
                    l.department_id,
                    '' AS client_id,
                    CAST('' AS VARCHAR(8)) AS state,
                    l.acquired_ts AS since_ts,
                    l.expires_ts,
                    '' AS message
                FROM appl_lock AS l
                WHERE l.object_type = v_object_type
                    AND l.object_id = v_object_id
                    AND l.released_ts IS NULL
                    AND l.expires_ts > v_now
                UNION ALL
                SELECT
                    2 AS part,
                    CAST('ASKER' AS VARCHAR(8)) AS kind,
                    a.operator_id,
                    a.department_id,
                    a.client_id,
                    CAST('' AS VARCHAR(8)) AS state,
                    a.since_ts,
                    a.expires_ts,
                    a.message
                FROM appl_lock_ask AS a
                WHERE a.object_type = v_object_type
                    AND a.object_id = v_object_id
                    AND a.operator_id <> v_operator_id
                    AND a.expires_ts > v_now
                UNION ALL
                SELECT
                    3 AS part,
                    CAST('VIEWER' AS VARCHAR(8)) AS kind,
                    v.operator_id,
                    v.department_id,
                    v.client_id,
                    v.state,
                    v.since_ts,
                    v.expires_ts,
                    '' AS message
                FROM appl_lock_viewer AS v
                WHERE v_hidden = 0
                    AND v.object_type = v_object_type
                    AND v.object_id = v_object_id
                    AND v.operator_id <> v_operator_id
                    AND v.expires_ts > v_now
            ) AS m
            ORDER BY m.part, m.since_ts, m.operator_id, m.client_id
            FETCH FIRST 200 ROWS ONLY
            WITH CS;
        OPEN answer;
    END;
END
@
