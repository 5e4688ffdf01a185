-- Installs the procedures. Made by `make snapshot` from procedures/db2: edit them there.

-- +goose Up
-- CURRENT SCHEMA and CURRENT PATH name the schema: the client sets them.

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE appl_lock_refuse_text (
    IN p_routine VARCHAR(64),
    IN p_argument VARCHAR(64),
    IN p_length BIGINT,
    IN p_max_length BIGINT
)
SPECIFIC appl_lock_refuse_text
LANGUAGE SQL
NOT DETERMINISTIC
CONTAINS SQL
BEGIN
    DECLARE v_message VARCHAR(256);
    IF p_length = 0 THEN
        SET v_message = p_routine || ': ' || p_argument || ' must not be empty';
    ELSEIF p_length > p_max_length THEN
        SET v_message = p_routine || ': ' || p_argument || ' is ' || CAST(p_length AS VARCHAR(20))
            || ' characters, max ' || CAST(p_max_length AS VARCHAR(20));
    ELSE
        SET v_message = p_routine || ': ' || p_argument || ' must not contain ":"';
    END IF;
    SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_message;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE appl_lock_refuse_text IS 'Internal to applock: raises LK001 for a text argument.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE appl_lock_refuse_number (
    IN p_routine VARCHAR(64),
    IN p_argument VARCHAR(64),
    IN p_max BIGINT
)
SPECIFIC appl_lock_refuse_number
LANGUAGE SQL
NOT DETERMINISTIC
CONTAINS SQL
BEGIN
    DECLARE v_message VARCHAR(256);
    SET v_message = p_routine || ': ' || p_argument || ' must be 1 to ' || CAST(p_max AS VARCHAR(20));
    SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_message;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE appl_lock_refuse_number IS 'Internal to applock: raises LK001 for a number argument.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE appl_lock_check_text (
    IN p_routine VARCHAR(64),
    IN p_argument VARCHAR(64),
    IN p_text VARCHAR(32000)
)
SPECIFIC appl_lock_check_text
LANGUAGE SQL
NOT DETERMINISTIC
CONTAINS SQL
BEGIN
    DECLARE v_message VARCHAR(256);
    DECLARE v_left INTEGER DEFAULT 0;
    DECLARE v_bytes VARCHAR(16);
    SET v_left = COALESCE(CHARACTER_LENGTH(p_text, CODEUNITS32), 0);
    WHILE v_left > 0 DO
        SET v_bytes = HEX(SUBSTRING(p_text, v_left, 1, CODEUNITS32));
        SET v_left = v_left - 1;
        IF LOCATE(
            '/' || v_bytes || '/',
            '/00/01/02/03/04/05/06/07/08/09/0A/0B/0C/0D/0E/0F'
            || '/10/11/12/13/14/15/16/17/18/19/1A/1B/1C/1D/1E/1F/7F'
            || '/C280/C281/C282/C283/C284/C285/C286/C287'
            || '/C288/C289/C28A/C28B/C28C/C28D/C28E/C28F'
            || '/C290/C291/C292/C293/C294/C295/C296/C297'
            || '/C298/C299/C29A/C29B/C29C/C29D/C29E/C29F/'
        ) > 0 THEN
            SET v_message = p_routine || ': ' || p_argument || ' has a control character';
            SET v_left = 0;
        END IF;
    END WHILE;
    IF v_message IS NOT NULL THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_message;
    END IF;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE appl_lock_check_text IS 'Internal to applock: raises LK001 for a control character.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE appl_lock_check_database ()
SPECIFIC appl_lock_check_database
LANGUAGE SQL
NOT DETERMINISTIC
CONTAINS SQL
BEGIN
    DECLARE v_lower VARCHAR(1) DEFAULT 'a';
    DECLARE v_upper VARCHAR(1) DEFAULT 'A';
    DECLARE v_empty VARCHAR(1) DEFAULT '';
    IF v_lower = v_upper THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'appl_lock: this database takes a and A for equal';
    END IF;
    IF v_empty IS NULL THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'appl_lock: this database takes an empty string for NULL';
    END IF;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE appl_lock_check_database IS 'Internal to applock: raises LK001 in a database that it does not support.'
-- +goose StatementEnd

-- +goose StatementBegin
CALL appl_lock_check_database()
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE appl_lock_record (
    IN p_event_ts TIMESTAMP,
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_event VARCHAR(16),
    IN p_actor_id VARCHAR(4000),
    IN p_from_operator_id VARCHAR(4000),
    IN p_from_department_id VARCHAR(4000),
    IN p_to_operator_id VARCHAR(4000),
    IN p_to_department_id VARCHAR(4000),
    IN p_from_fence BIGINT,
    IN p_to_fence BIGINT,
    IN p_reason VARCHAR(4000)
)
SPECIFIC appl_lock_record
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    INSERT INTO appl_lock_event (
        event_ts, object_type, object_id, event, actor_id, db_user, program,
        from_operator_id, from_department_id, to_operator_id, to_department_id, from_fence, to_fence, reason
    )
    VALUES (
        p_event_ts, p_object_type, p_object_id, p_event, p_actor_id, SESSION_USER, '',
        p_from_operator_id, p_from_department_id, p_to_operator_id, p_to_department_id, p_from_fence, p_to_fence, p_reason
    );
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE appl_lock_record IS 'Internal to applock: writes an event of the history.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE appl_lock_move (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_from_operator_id VARCHAR(4000),
    IN p_expected_fence BIGINT,
    IN p_to_operator_id VARCHAR(4000),
    IN p_to_department_id VARCHAR(4000),
    IN p_ttl_seconds BIGINT,
    IN p_event VARCHAR(16),
    IN p_actor_id VARCHAR(4000),
    IN p_reason VARCHAR(4000),
    IN p_unchanged_ts TIMESTAMP,
    IN p_first_seconds BIGINT,
    OUT p_outcome VARCHAR(11),
    OUT p_old_operator_id VARCHAR(256),
    OUT p_old_department_id VARCHAR(256),
    OUT p_fence BIGINT,
    OUT p_acquired_ts TIMESTAMP,
    OUT p_expires_ts TIMESTAMP,
    OUT p_seconds_left BIGINT
)
SPECIFIC appl_lock_move
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_round, v_rows, v_policies, v_changed INTEGER DEFAULT 0;
    DECLARE v_begun, v_now, v_lock_ts, v_expires_ts, v_old_acquired_ts, v_old_lock_ts, v_old_expires_ts, v_old_released_ts TIMESTAMP;
    DECLARE v_old_operator_id, v_old_department_id VARCHAR(256);
    DECLARE v_fence, v_old_fence, v_ttl_seconds, v_old_ttl_seconds, v_default_ttl_seconds, v_longest_ttl_seconds, v_first_seconds BIGINT;

    SET p_outcome = 'FREE';
    SET p_old_operator_id = '';
    SET p_old_department_id = '';
    SET p_fence = 0;
    SET p_acquired_ts = NULL;
    SET p_expires_ts = NULL;
    SET p_seconds_left = 0;
    SET CURRENT LOCK TIMEOUT 1;
    WHILE v_round < 30 DO
        SET v_round = v_round + 1;

        -- S1: who holds it? The aggregates always return one row.
        SELECT
            COUNT(*), MAX(l.operator_id), MAX(l.department_id), MAX(l.fence), MAX(l.acquired_ts), MAX(l.lock_ts),
            MAX(l.ttl_seconds), MAX(l.expires_ts), MAX(l.released_ts)
        INTO
            v_rows, v_old_operator_id, v_old_department_id, v_old_fence, v_old_acquired_ts, v_old_lock_ts,
            v_old_ttl_seconds, v_old_expires_ts, v_old_released_ts
        FROM appl_lock AS l
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
        WITH CS;
        SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
        IF v_rows = 0 OR v_old_released_ts IS NOT NULL OR v_old_expires_ts <= v_now THEN
            LEAVE main;
        END IF;
        IF v_old_operator_id <> COALESCE(p_from_operator_id, v_old_operator_id)
            OR v_old_fence <> COALESCE(p_expected_fence, v_old_fence)
            OR v_old_lock_ts <> COALESCE(p_unchanged_ts, v_old_lock_ts)
        THEN
            SET p_outcome = 'HELD';
            SET p_old_operator_id = v_old_operator_id;
            SET p_old_department_id = v_old_department_id;
            SET p_acquired_ts = v_old_acquired_ts;
            SET p_expires_ts = v_old_expires_ts;
            SET p_seconds_left = CAST(DAYS(v_old_expires_ts) - DAYS(v_now) AS BIGINT) * 86400
                + MIDNIGHT_SECONDS(v_old_expires_ts) - MIDNIGHT_SECONDS(v_now)
                + CASE WHEN MICROSECOND(v_old_expires_ts) > MICROSECOND(v_now) THEN 1 ELSE 0 END;
            LEAVE main;
        END IF;

        -- S1b: how long may the new grant last?
        SELECT COUNT(*), MAX(p.default_ttl_seconds), MAX(p.longest_ttl_seconds)
        INTO v_policies, v_default_ttl_seconds, v_longest_ttl_seconds
        FROM appl_lock_policy AS p
        WHERE p.object_type = p_object_type
        WITH CS;
        SET v_ttl_seconds = COALESCE(p_ttl_seconds, v_old_ttl_seconds);
        IF p_first_seconds IS NOT NULL THEN
            SET v_ttl_seconds = COALESCE(v_default_ttl_seconds, 604800);
        END IF;
        IF v_ttl_seconds > v_longest_ttl_seconds THEN
            SET v_ttl_seconds = v_longest_ttl_seconds;
        END IF;
        SET v_first_seconds = v_ttl_seconds;
        IF p_first_seconds < v_ttl_seconds THEN
            SET v_first_seconds = p_first_seconds;
        END IF;
        SET v_expires_ts = v_now + (v_first_seconds) SECOND;
        SET v_lock_ts = v_now;
        IF v_old_lock_ts >= v_now THEN
            SET v_lock_ts = v_old_lock_ts + (0.000001) SECOND;
        END IF;
        SET v_fence = CAST(DAYS(v_now) - DAYS(DATE('1970-01-01')) AS BIGINT) * 86400000000
            + CAST(MIDNIGHT_SECONDS(v_now) AS BIGINT) * 1000000 + MICROSECOND(v_now);
        IF v_old_fence >= v_fence THEN
            SET v_fence = v_old_fence + 1;
        END IF;

        -- S2: a new grant, if the row is unchanged.
        UPDATE appl_lock AS l
        SET operator_id = p_to_operator_id,
            department_id = p_to_department_id,
            fence = v_fence,
            acquired_ts = v_now,
            lock_ts = v_lock_ts,
            ttl_seconds = v_ttl_seconds,
            expires_ts = v_expires_ts,
            note = ''
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
            AND l.fence = v_old_fence
            AND l.lock_ts = v_old_lock_ts
            AND l.expires_ts = v_old_expires_ts
            AND l.released_ts IS NULL;
        GET DIAGNOSTICS v_changed = ROW_COUNT;
        IF v_changed = 1 THEN
            -- S3: S2 took long, or the clock was set back meanwhile: count the times from now.
            SET v_begun = v_now;
            SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
            IF v_now NOT BETWEEN v_begun AND v_begun + (1) SECOND THEN
                SET v_expires_ts = v_now + (v_first_seconds) SECOND;
                IF v_lock_ts < v_now THEN
                    SET v_lock_ts = v_now;
                END IF;
                IF CAST(DAYS(v_now) - DAYS(DATE('1970-01-01')) AS BIGINT) * 86400000000
                    + CAST(MIDNIGHT_SECONDS(v_now) AS BIGINT) * 1000000 + MICROSECOND(v_now) > v_fence THEN
                    SET v_fence = CAST(DAYS(v_now) - DAYS(DATE('1970-01-01')) AS BIGINT) * 86400000000
                        + CAST(MIDNIGHT_SECONDS(v_now) AS BIGINT) * 1000000 + MICROSECOND(v_now);
                END IF;
                UPDATE appl_lock AS l
                SET fence = v_fence,
                    acquired_ts = v_now,
                    lock_ts = v_lock_ts,
                    expires_ts = v_expires_ts
                WHERE l.object_type = p_object_type
                    AND l.object_id = p_object_id;
                SET v_begun = v_now;
            END IF;
            CALL appl_lock_record(
                v_now, p_object_type, p_object_id, p_event, p_actor_id, v_old_operator_id, v_old_department_id,
                p_to_operator_id, p_to_department_id, v_old_fence, v_fence, p_reason
            );
            SET p_outcome = p_event;
            SET p_old_operator_id = v_old_operator_id;
            SET p_old_department_id = v_old_department_id;
            SET p_fence = v_fence;
            SET p_acquired_ts = v_begun;
            SET p_expires_ts = v_expires_ts;
            SET p_seconds_left = v_first_seconds;
            LEAVE main;
        END IF;
    END WHILE;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'appl_lock: changed hands during the call; call again';
END main
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE appl_lock_move IS 'Internal to applock: moves the grant of a held object to an operator.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE VIEW appl_lock_live AS
SELECT
    l.object_type,
    l.object_id,
    l.operator_id,
    l.department_id,
    l.fence,
    l.acquired_ts,
    l.lock_ts,
    l.expires_ts,
    CAST(DAYS(l.expires_ts) - DAYS(t.now_ts) AS BIGINT) * 86400
        + MIDNIGHT_SECONDS(l.expires_ts) - MIDNIGHT_SECONDS(t.now_ts)
        + CASE WHEN MICROSECOND(l.expires_ts) > MICROSECOND(t.now_ts) THEN 1 ELSE 0 END AS seconds_left,
    l.ttl_seconds,
    l.note
FROM appl_lock AS l
INNER JOIN (SELECT CURRENT TIMESTAMP - CURRENT TIMEZONE AS now_ts FROM SYSIBM.SYSDUMMY1) AS t
    ON l.expires_ts > t.now_ts
WHERE l.released_ts IS NULL
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON TABLE appl_lock_live IS 'A row for each live lock.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE VIEW appl_lock_waiting AS
SELECT
    w.object_type,
    w.object_id,
    w.operator_id,
    w.department_id,
    w.client_id,
    w.since_ts,
    w.until_ts,
    CASE WHEN w.since_ts < t.now_ts THEN CAST(DAYS(t.now_ts) - DAYS(w.since_ts) AS BIGINT) * 86400
        + MIDNIGHT_SECONDS(t.now_ts) - MIDNIGHT_SECONDS(w.since_ts)
        - CASE WHEN MICROSECOND(w.since_ts) > MICROSECOND(t.now_ts) THEN 1 ELSE 0 END ELSE 0 END AS waited_seconds,
    COALESCE(l.operator_id, '') AS holder_id,
    COALESCE(l.department_id, '') AS holder_department_id,
    CASE WHEN l.expires_ts IS NOT NULL THEN CAST(DAYS(l.expires_ts) - DAYS(t.now_ts) AS BIGINT) * 86400
        + MIDNIGHT_SECONDS(l.expires_ts) - MIDNIGHT_SECONDS(t.now_ts)
        + CASE WHEN MICROSECOND(l.expires_ts) > MICROSECOND(t.now_ts) THEN 1 ELSE 0 END ELSE 0 END AS seconds_left
FROM appl_lock_waiter AS w
INNER JOIN (SELECT CURRENT TIMESTAMP - CURRENT TIMEZONE AS now_ts FROM SYSIBM.SYSDUMMY1) AS t
    ON w.expires_ts > t.now_ts
LEFT OUTER JOIN appl_lock AS l
    ON l.object_type = w.object_type
    AND l.object_id = w.object_id
    AND l.released_ts IS NULL
    AND l.expires_ts > t.now_ts
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON TABLE appl_lock_waiting IS 'A row for each operator that waits for an object, in each program.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE VIEW appl_lock_asking AS
SELECT
    a.object_type,
    a.object_id,
    a.operator_id,
    a.department_id,
    a.client_id,
    a.message,
    a.since_ts,
    a.until_ts,
    CASE WHEN a.since_ts < t.now_ts THEN CAST(DAYS(t.now_ts) - DAYS(a.since_ts) AS BIGINT) * 86400
        + MIDNIGHT_SECONDS(t.now_ts) - MIDNIGHT_SECONDS(a.since_ts)
        - CASE WHEN MICROSECOND(a.since_ts) > MICROSECOND(t.now_ts) THEN 1 ELSE 0 END ELSE 0 END AS waited_seconds,
    a.answer,
    a.answer_reason,
    COALESCE(l.operator_id, '') AS holder_id,
    COALESCE(l.department_id, '') AS holder_department_id,
    CASE WHEN l.expires_ts IS NOT NULL THEN CAST(DAYS(l.expires_ts) - DAYS(t.now_ts) AS BIGINT) * 86400
        + MIDNIGHT_SECONDS(l.expires_ts) - MIDNIGHT_SECONDS(t.now_ts)
        + CASE WHEN MICROSECOND(l.expires_ts) > MICROSECOND(t.now_ts) THEN 1 ELSE 0 END ELSE 0 END AS seconds_left
FROM appl_lock_ask AS a
INNER JOIN (SELECT CURRENT TIMESTAMP - CURRENT TIMEZONE AS now_ts FROM SYSIBM.SYSDUMMY1) AS t
    ON a.expires_ts > t.now_ts
LEFT OUTER JOIN appl_lock AS l
    ON l.object_type = a.object_type
    AND l.object_id = a.object_id
    AND l.released_ts IS NULL
    AND l.expires_ts > t.now_ts
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON TABLE appl_lock_asking IS 'A row for each operator that asks for an object, in each program.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE VIEW appl_lock_viewers AS
SELECT
    v.object_type,
    v.object_id,
    v.operator_id,
    v.department_id,
    v.client_id,
    v.state,
    v.since_ts,
    CAST(DAYS(v.expires_ts) - DAYS(t.now_ts) AS BIGINT) * 86400
        + MIDNIGHT_SECONDS(v.expires_ts) - MIDNIGHT_SECONDS(t.now_ts)
        + CASE WHEN MICROSECOND(v.expires_ts) > MICROSECOND(t.now_ts) THEN 1 ELSE 0 END AS seconds_left
FROM appl_lock_viewer AS v
INNER JOIN (SELECT CURRENT TIMESTAMP - CURRENT TIMEZONE AS now_ts FROM SYSIBM.SYSDUMMY1) AS t
    ON v.expires_ts > t.now_ts
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON TABLE appl_lock_viewers IS 'A row for each operator that looks at an object, in each program, as see_appl_lock lists it. On PostgreSQL only the primary has it.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE VIEW appl_lock_history AS
SELECT
    e.event_id,
    e.event_ts,
    e.object_type,
    e.object_id,
    e.event,
    e.actor_id,
    e.db_user,
    e.program,
    e.from_operator_id,
    e.from_department_id,
    e.to_operator_id,
    e.to_department_id,
    e.from_fence,
    e.to_fence,
    e.reason
FROM appl_lock_event AS e
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON TABLE appl_lock_history IS 'A row for each event of the history.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE VIEW appl_lock_policies AS
SELECT
    p.object_type,
    p.default_ttl_seconds,
    p.longest_ttl_seconds,
    p.take_reason_fl,
    p.history_level,
    p.presence_fl,
    p.yield_after_seconds
FROM appl_lock_policy AS p
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON TABLE appl_lock_policies IS 'A row for each type that has a policy.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE VIEW appl_lock_stats AS
SELECT
    s.object_type,
    s.department_id,
    CAST(SUM(s.live) AS BIGINT) AS live,
    CAST(SUM(s.expired) AS BIGINT) AS expired,
    MAX(s.oldest_seconds) AS oldest_seconds,
    COALESCE(MIN(s.expiry_seconds), 0) AS next_expiry_seconds,
    CAST(SUM(s.waiters) AS BIGINT) AS waiters,
    MAX(s.wait_seconds) AS longest_wait_seconds
FROM (
    SELECT
        l.object_type,
        CASE WHEN l.released_ts IS NULL AND l.expires_ts > t.now_ts THEN l.department_id ELSE '' END AS department_id,
        CASE WHEN l.released_ts IS NULL AND l.expires_ts > t.now_ts THEN 1 ELSE 0 END AS live,
        CASE WHEN l.released_ts IS NULL AND l.expires_ts > t.now_ts THEN 0 ELSE 1 END AS expired,
        CASE
            WHEN l.released_ts IS NULL AND l.expires_ts > t.now_ts AND l.acquired_ts < t.now_ts THEN
                CAST(DAYS(t.now_ts) - DAYS(l.acquired_ts) AS BIGINT) * 86400
                    + MIDNIGHT_SECONDS(t.now_ts) - MIDNIGHT_SECONDS(l.acquired_ts)
                    - CASE WHEN MICROSECOND(l.acquired_ts) > MICROSECOND(t.now_ts) THEN 1 ELSE 0 END
            ELSE 0
        END AS oldest_seconds,
        CASE
            WHEN l.released_ts IS NULL AND l.expires_ts > t.now_ts THEN
                CAST(DAYS(l.expires_ts) - DAYS(t.now_ts) AS BIGINT) * 86400
                    + MIDNIGHT_SECONDS(l.expires_ts) - MIDNIGHT_SECONDS(t.now_ts)
                    + CASE WHEN MICROSECOND(l.expires_ts) > MICROSECOND(t.now_ts) THEN 1 ELSE 0 END
        END AS expiry_seconds,
        0 AS waiters,
        CAST(0 AS BIGINT) AS wait_seconds
    FROM appl_lock AS l
    INNER JOIN (SELECT CURRENT TIMESTAMP - CURRENT TIMEZONE AS now_ts FROM SYSIBM.SYSDUMMY1) AS t
        ON 1 = 1
    UNION ALL
    SELECT
        w.object_type,
        w.department_id,
        0 AS live,
        0 AS expired,
        CAST(0 AS BIGINT) AS oldest_seconds,
        CAST(NULL AS BIGINT) AS expiry_seconds,
        1 AS waiters,
        CASE WHEN w.since_ts < t.now_ts THEN CAST(DAYS(t.now_ts) - DAYS(w.since_ts) AS BIGINT) * 86400
            + MIDNIGHT_SECONDS(t.now_ts) - MIDNIGHT_SECONDS(w.since_ts)
            - CASE WHEN MICROSECOND(w.since_ts) > MICROSECOND(t.now_ts) THEN 1 ELSE 0 END ELSE 0 END AS wait_seconds
    FROM appl_lock_waiter AS w
    INNER JOIN (SELECT CURRENT TIMESTAMP - CURRENT TIMEZONE AS now_ts FROM SYSIBM.SYSDUMMY1) AS t
        ON w.expires_ts > t.now_ts
) AS s
GROUP BY s.object_type, s.department_id
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON TABLE appl_lock_stats IS 'A row for each type and department that has rows in the tables.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE VIEW appl_lock_number AS
WITH digit (d) AS (
    SELECT 0 FROM SYSIBM.SYSDUMMY1
    UNION ALL SELECT 1 FROM SYSIBM.SYSDUMMY1
    UNION ALL SELECT 2 FROM SYSIBM.SYSDUMMY1
    UNION ALL SELECT 3 FROM SYSIBM.SYSDUMMY1
    UNION ALL SELECT 4 FROM SYSIBM.SYSDUMMY1
    UNION ALL SELECT 5 FROM SYSIBM.SYSDUMMY1
    UNION ALL SELECT 6 FROM SYSIBM.SYSDUMMY1
    UNION ALL SELECT 7 FROM SYSIBM.SYSDUMMY1
    UNION ALL SELECT 8 FROM SYSIBM.SYSDUMMY1
    UNION ALL SELECT 9 FROM SYSIBM.SYSDUMMY1
)
SELECT
    m.d AS thousand,
    1000 * m.d + 100 * c.d + 10 * x.d + i.d AS n
FROM digit AS m, digit AS c, digit AS x, digit AS i
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON TABLE appl_lock_number IS 'Internal to applock: the numbers 0 to 9999.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE announce_appl_lock_waiter (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_department_id VARCHAR(4000),
    IN p_client_id VARCHAR(4000),
    IN p_wait_seconds BIGINT
)
SPECIFIC announce_appl_lock_waiter
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_object_type, v_object_id, v_operator_id, v_department_id, v_client_id VARCHAR(4000);
    DECLARE v_round, v_rows, v_changed INTEGER DEFAULT 0;
    DECLARE v_now, v_until_ts, v_expires_ts, v_old_expires_ts, v_old_released_ts TIMESTAMP;
    DECLARE v_holder_id VARCHAR(256);

    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    SET v_department_id = RTRIM(COALESCE(p_department_id, ''));
    SET v_client_id = RTRIM(COALESCE(p_client_id, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('announce_appl_lock_waiter', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('announce_appl_lock_waiter', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('announce_appl_lock_waiter', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_department_id, CODEUNITS32) > 64 THEN
        CALL appl_lock_refuse_text('announce_appl_lock_waiter', 'p_department_id', CHARACTER_LENGTH(v_department_id, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_client_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('announce_appl_lock_waiter', 'p_client_id', CHARACTER_LENGTH(v_client_id, CODEUNITS32), 64);
    ELSEIF p_wait_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('announce_appl_lock_waiter', 'p_wait_seconds', 315360000);
    END IF;
    IF LENGTH(RTRIM(TRANSLATE(
        v_object_type || v_object_id || v_operator_id || v_department_id, ' ',
        '0123456789abcdefghijklmnopqrstuvwxyz'
        || 'ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:-_/+*=()%&?', ' '))) > 0 THEN
        CALL appl_lock_check_text('announce_appl_lock_waiter', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('announce_appl_lock_waiter', 'p_object_id', v_object_id);
        CALL appl_lock_check_text('announce_appl_lock_waiter', 'p_operator_id', v_operator_id);
        CALL appl_lock_check_text('announce_appl_lock_waiter', 'p_department_id', v_department_id);
    END IF;

    SET CURRENT LOCK TIMEOUT 1;
    WHILE v_round < 30 DO
        SET v_round = v_round + 1;
        -- S1: who holds it? The aggregates always return one row.
        SELECT COUNT(*), MAX(l.operator_id), MAX(l.expires_ts), MAX(l.released_ts)
        INTO v_rows, v_holder_id, v_old_expires_ts, v_old_released_ts
        FROM appl_lock AS l
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
        WITH CS;
        SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
        IF v_rows = 0 OR v_old_released_ts IS NOT NULL OR v_old_expires_ts <= v_now THEN
            SET v_holder_id = '';
        END IF;
        -- NULL stays NULL: it never gives up.
        SET v_until_ts = v_now + (p_wait_seconds) SECOND;
        SET v_expires_ts = v_now + (60) SECOND;
        IF v_until_ts < v_expires_ts THEN
            SET v_expires_ts = v_until_ts;
        END IF;

        -- S1b: continue the wait, or begin a new one in the row of an ended one.
        UPDATE appl_lock_waiter AS w
        SET department_id = v_department_id,
            since_ts = CASE WHEN w.expires_ts > v_now THEN w.since_ts ELSE v_now END,
            until_ts = v_until_ts,
            expires_ts = v_expires_ts,
            holder_id = v_holder_id
        WHERE w.object_type = v_object_type
            AND w.object_id = v_object_id
            AND w.operator_id = v_operator_id
            AND w.client_id = v_client_id;
        GET DIAGNOSTICS v_changed = ROW_COUNT;
        IF v_changed = 1 THEN
            LEAVE main;
        END IF;

        -- S2: a new one.
        BEGIN
            DECLARE CONTINUE HANDLER FOR SQLSTATE '23505' SET v_changed = 0;
            SET v_changed = 1;
            INSERT INTO appl_lock_waiter (
                object_type, object_id, operator_id, department_id, client_id, since_ts, until_ts, expires_ts, holder_id
            )
            VALUES (
                v_object_type, v_object_id, v_operator_id, v_department_id, v_client_id, v_now, v_until_ts, v_expires_ts, v_holder_id
            );
        END;
        IF v_changed = 1 THEN
            LEAVE main;
        END IF;
    END WHILE;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'announce_appl_lock_waiter: the wait changed; call again';
END main
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE announce_appl_lock_waiter IS 'Say that an operator waits for an object, or still waits.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE announce_appl_lock_waiter_row (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_department_id VARCHAR(4000),
    IN p_client_id VARCHAR(4000),
    IN p_wait_seconds BIGINT
)
SPECIFIC announce_appl_lock_waiter_row
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    CALL announce_appl_lock_waiter(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_client_id, p_wait_seconds
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                'Y' AS p_ok_fl
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE announce_appl_lock_waiter_row IS 'Say that an operator waits for an object, or still waits; the answer is one row.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE answer_appl_lock (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_fence BIGINT,
    IN p_asker_id VARCHAR(4000),
    IN p_client_id VARCHAR(4000),
    IN p_answer VARCHAR(4000),
    IN p_reason VARCHAR(4000),
    OUT p_ok_fl CHAR(1),
    OUT p_outcome VARCHAR(11),
    OUT p_old_operator_id VARCHAR(1020),
    OUT p_old_department_id VARCHAR(256),
    OUT p_acquired_ts TIMESTAMP,
    OUT p_expires_ts TIMESTAMP,
    OUT p_seconds_left BIGINT
)
SPECIFIC answer_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_object_type, v_object_id, v_operator_id, v_asker_id, v_client_id, v_answer, v_reason VARCHAR(4000);
    DECLARE v_rows, v_changed INTEGER DEFAULT 0;
    DECLARE v_now, v_acquired_ts, v_expires_ts, v_old_acquired_ts, v_old_expires_ts, v_old_released_ts TIMESTAMP;
    DECLARE v_old_fence, v_new_fence, v_seconds_left BIGINT;
    DECLARE v_old_operator_id, v_old_department_id, v_department_id VARCHAR(256);
    DECLARE v_outcome VARCHAR(11);

    SET p_ok_fl = 'N';
    SET p_outcome = '';
    SET p_old_operator_id = '';
    SET p_old_department_id = '';
    SET p_acquired_ts = NULL;
    SET p_expires_ts = NULL;
    SET p_seconds_left = 0;
    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    SET v_asker_id = RTRIM(COALESCE(p_asker_id, ''));
    SET v_client_id = RTRIM(p_client_id);
    SET v_answer = RTRIM(COALESCE(p_answer, ''));
    SET v_reason = RTRIM(COALESCE(p_reason, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('answer_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('answer_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('answer_appl_lock', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, OCTETS), 255);
    ELSEIF COALESCE(p_fence, 0) < 1 THEN
        CALL appl_lock_refuse_number('answer_appl_lock', 'p_fence', 99999999999999999);
    ELSEIF CHARACTER_LENGTH(v_asker_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('answer_appl_lock', 'p_asker_id', CHARACTER_LENGTH(v_asker_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_client_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('answer_appl_lock', 'p_client_id', CHARACTER_LENGTH(v_client_id, CODEUNITS32), 64);
    ELSEIF v_answer NOT IN ('GIVE', 'LATER', 'NO') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'answer_appl_lock: p_answer must be GIVE, LATER or NO';
    ELSEIF CHARACTER_LENGTH(v_reason, CODEUNITS32) > 255 THEN
        CALL appl_lock_refuse_text('answer_appl_lock', 'p_reason', CHARACTER_LENGTH(v_reason, CODEUNITS32), 255);
    END IF;
    IF LENGTH(RTRIM(TRANSLATE(
        v_object_type || v_object_id || v_operator_id || v_asker_id, ' ',
        '0123456789abcdefghijklmnopqrstuvwxyz'
        || 'ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:-_/+*=()%&?', ' '))) > 0 THEN
        CALL appl_lock_check_text('answer_appl_lock', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('answer_appl_lock', 'p_object_id', v_object_id);
        CALL appl_lock_check_text('answer_appl_lock', 'p_operator_id', v_operator_id);
        CALL appl_lock_check_text('answer_appl_lock', 'p_asker_id', v_asker_id);
    END IF;

    SET CURRENT LOCK TIMEOUT 1;
    -- S1: does the operator hold it by that grant? The aggregates always return one row.
    SELECT COUNT(*), MAX(l.operator_id), MAX(l.department_id), MAX(l.fence), MAX(l.acquired_ts), MAX(l.expires_ts), MAX(l.released_ts)
    INTO v_rows, v_old_operator_id, v_old_department_id, v_old_fence, v_old_acquired_ts, v_old_expires_ts, v_old_released_ts
    FROM appl_lock AS l
    WHERE l.object_type = v_object_type
        AND l.object_id = v_object_id
    WITH CS;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    IF v_rows = 0 OR v_old_released_ts IS NOT NULL OR v_old_expires_ts <= v_now THEN
        SET p_outcome = 'FREE';
        LEAVE main;
    ELSEIF v_old_operator_id <> v_operator_id OR v_old_fence <> p_fence THEN
        SET p_outcome = 'HELD';
        SET p_old_operator_id = v_old_operator_id;
        SET p_old_department_id = v_old_department_id;
        SET p_acquired_ts = v_old_acquired_ts;
        SET p_expires_ts = v_old_expires_ts;
        SET p_seconds_left = CAST(DAYS(v_old_expires_ts) - DAYS(v_now) AS BIGINT) * 86400
            + MIDNIGHT_SECONDS(v_old_expires_ts) - MIDNIGHT_SECONDS(v_now)
            + CASE WHEN MICROSECOND(v_old_expires_ts) > MICROSECOND(v_now) THEN 1 ELSE 0 END;
        LEAVE main;
    END IF;

    -- S2: does the asker still ask?
    IF v_answer = 'GIVE' THEN
        UPDATE appl_lock_ask AS a
        SET answer = a.answer
        WHERE a.object_type = v_object_type
            AND a.object_id = v_object_id
            AND a.operator_id = v_asker_id
            AND (v_client_id IS NULL OR a.client_id = v_client_id)
            AND a.expires_ts > v_now;
        GET DIAGNOSTICS v_changed = ROW_COUNT;
    ELSE
        UPDATE appl_lock_ask AS a
        SET holder_id = v_operator_id,
            fence = p_fence,
            answer = v_answer,
            answer_reason = v_reason,
            answered_ts = v_now
        WHERE a.object_type = v_object_type
            AND a.object_id = v_object_id
            AND a.operator_id = v_asker_id
            AND (v_client_id IS NULL OR a.client_id = v_client_id)
            AND a.expires_ts > v_now;
        GET DIAGNOSTICS v_changed = ROW_COUNT;
    END IF;
    IF v_changed = 0 THEN
        SET p_outcome = 'GONE';
        LEAVE main;
    ELSEIF v_answer <> 'GIVE' THEN
        SET p_ok_fl = 'Y';
        SET p_outcome = 'TOLD';
        SET p_acquired_ts = v_old_acquired_ts;
        SET p_expires_ts = v_old_expires_ts;
        SET p_seconds_left = CAST(DAYS(v_old_expires_ts) - DAYS(v_now) AS BIGINT) * 86400
            + MIDNIGHT_SECONDS(v_old_expires_ts) - MIDNIGHT_SECONDS(v_now)
            + CASE WHEN MICROSECOND(v_old_expires_ts) > MICROSECOND(v_now) THEN 1 ELSE 0 END;
        LEAVE main;
    END IF;
    SELECT COUNT(*), MAX(o.department_id)
    INTO v_rows, v_department_id
    FROM (
        SELECT a.department_id
        FROM appl_lock_ask AS a
        WHERE a.object_type = v_object_type
            AND a.object_id = v_object_id
            AND a.operator_id = v_asker_id
            AND (v_client_id IS NULL OR a.client_id = v_client_id)
            AND a.expires_ts > v_now
        ORDER BY a.client_id
        FETCH FIRST 1 ROWS ONLY
    ) AS o
    WITH CS;

    -- S3: grant it to the asker, and remove the asker's requests.
    CALL appl_lock_move(
        v_object_type, v_object_id, v_operator_id, p_fence, v_asker_id, v_department_id, NULL, 'GIVEN', v_operator_id, v_reason, NULL, 60,
        v_outcome, v_old_operator_id, v_old_department_id, v_new_fence, v_acquired_ts, v_expires_ts,
        v_seconds_left
    );
    SET p_outcome = v_outcome;
    SET p_acquired_ts = v_acquired_ts;
    SET p_expires_ts = v_expires_ts;
    SET p_seconds_left = v_seconds_left;
    IF v_outcome = 'GIVEN' THEN
        SET p_ok_fl = 'Y';
        DELETE FROM appl_lock_ask
        WHERE object_type = v_object_type
            AND object_id = v_object_id
            AND operator_id = v_asker_id;
    ELSE
        SET p_old_operator_id = v_old_operator_id;
        SET p_old_department_id = v_old_department_id;
    END IF;
END main
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE answer_appl_lock IS 'Answer an operator who asks for a held object: give it, or say later or no.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE answer_appl_lock_row (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_fence BIGINT,
    IN p_asker_id VARCHAR(4000),
    IN p_client_id VARCHAR(4000),
    IN p_answer VARCHAR(4000),
    IN p_reason VARCHAR(4000)
)
SPECIFIC answer_appl_lock_row
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_ok_fl CHAR(1);
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_old_operator_id VARCHAR(1020);
    DECLARE v_old_department_id VARCHAR(256);
    DECLARE v_acquired_ts TIMESTAMP;
    DECLARE v_expires_ts TIMESTAMP;
    DECLARE v_seconds_left BIGINT;
    CALL answer_appl_lock(
        p_object_type, p_object_id, p_operator_id, p_fence, p_asker_id, p_client_id, p_answer, p_reason,
        v_ok_fl, v_outcome, v_old_operator_id, v_old_department_id, v_acquired_ts, v_expires_ts, v_seconds_left
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                v_ok_fl AS p_ok_fl,
                v_outcome AS p_outcome,
                v_old_operator_id AS p_old_operator_id,
                v_old_department_id AS p_old_department_id,
                v_acquired_ts AS p_acquired_ts,
                v_expires_ts AS p_expires_ts,
                v_seconds_left AS p_seconds_left
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE answer_appl_lock_row IS 'Answer an operator who asks for a held object: give it, or say later or no; the answer is one row.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION appl_lock_version ()
RETURNS INTEGER
SPECIFIC appl_lock_version
LANGUAGE SQL
NOT DETERMINISTIC
CONTAINS SQL
RETURN 1
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC FUNCTION appl_lock_version IS 'The version of the installed contract.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE ask_appl_lock (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_department_id VARCHAR(4000),
    IN p_client_id VARCHAR(4000),
    IN p_message VARCHAR(4000),
    IN p_wait_seconds BIGINT,
    OUT p_ok_fl CHAR(1),
    OUT p_outcome VARCHAR(11),
    OUT p_old_operator_id VARCHAR(1020),
    OUT p_old_department_id VARCHAR(256),
    OUT p_fence BIGINT,
    OUT p_acquired_ts TIMESTAMP,
    OUT p_expires_ts TIMESTAMP,
    OUT p_seconds_left BIGINT
)
SPECIFIC ask_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_object_type, v_object_id, v_operator_id, v_department_id, v_client_id, v_message VARCHAR(4000);
    DECLARE v_round, v_rows, v_changed INTEGER DEFAULT 0;
    DECLARE v_now, v_until_ts, v_ask_ends_ts, v_shown_ts, v_answered_ts, v_edited_ts, v_silent_ts TIMESTAMP;
    DECLARE v_acquired_ts, v_expires_ts, v_old_acquired_ts, v_old_lock_ts, v_old_expires_ts, v_old_released_ts TIMESTAMP;
    DECLARE v_fence, v_seconds_left, v_old_fence, v_old_ttl_seconds, v_yield_after_seconds BIGINT;
    DECLARE v_old_operator_id, v_old_department_id VARCHAR(256);
    DECLARE v_outcome VARCHAR(11);

    SET p_ok_fl = 'N';
    SET p_outcome = '';
    SET p_old_operator_id = '';
    SET p_old_department_id = '';
    SET p_fence = 0;
    SET p_acquired_ts = NULL;
    SET p_expires_ts = NULL;
    SET p_seconds_left = 0;
    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    SET v_department_id = RTRIM(COALESCE(p_department_id, ''));
    SET v_client_id = RTRIM(COALESCE(p_client_id, ''));
    SET v_message = RTRIM(COALESCE(p_message, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('ask_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('ask_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('ask_appl_lock', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_department_id, CODEUNITS32) > 64 THEN
        CALL appl_lock_refuse_text('ask_appl_lock', 'p_department_id', CHARACTER_LENGTH(v_department_id, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_client_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('ask_appl_lock', 'p_client_id', CHARACTER_LENGTH(v_client_id, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_message, CODEUNITS32) > 255 THEN
        CALL appl_lock_refuse_text('ask_appl_lock', 'p_message', CHARACTER_LENGTH(v_message, CODEUNITS32), 255);
    ELSEIF p_wait_seconds NOT BETWEEN 0 AND 315360000 THEN
        CALL appl_lock_refuse_number('ask_appl_lock', 'p_wait_seconds', 315360000);
    END IF;
    IF LENGTH(RTRIM(TRANSLATE(
        v_object_type || v_object_id || v_operator_id || v_department_id || v_message, ' ',
        '0123456789abcdefghijklmnopqrstuvwxyz'
        || 'ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:-_/+*=()%&?', ' '))) > 0 THEN
        CALL appl_lock_check_text('ask_appl_lock', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('ask_appl_lock', 'p_object_id', v_object_id);
        CALL appl_lock_check_text('ask_appl_lock', 'p_operator_id', v_operator_id);
        CALL appl_lock_check_text('ask_appl_lock', 'p_department_id', v_department_id);
        CALL appl_lock_check_text('ask_appl_lock', 'p_message', v_message);
    END IF;

    SET CURRENT LOCK TIMEOUT 1;
    WHILE v_round < 30 DO
        SET v_round = v_round + 1;

        -- S1: who holds it, and how long may the holder leave a request unanswered?
        SELECT
            COUNT(*), MAX(l.operator_id), MAX(l.department_id), MAX(l.fence), MAX(l.acquired_ts), MAX(l.lock_ts),
            MAX(l.ttl_seconds), MAX(l.expires_ts), MAX(l.released_ts), MAX(p.yield_after_seconds)
        INTO
            v_rows, v_old_operator_id, v_old_department_id, v_old_fence, v_old_acquired_ts, v_old_lock_ts,
            v_old_ttl_seconds, v_old_expires_ts, v_old_released_ts, v_yield_after_seconds
        FROM appl_lock AS l
        LEFT OUTER JOIN appl_lock_policy AS p
            ON p.object_type = l.object_type
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
        WITH CS;
        SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
        SET v_outcome = 'ASKED';
        IF v_rows = 0 OR v_old_released_ts IS NOT NULL OR v_old_expires_ts <= v_now THEN
            SET v_outcome = 'FREE';
        ELSEIF v_old_operator_id = v_operator_id THEN
            SET v_outcome = 'OWN';
        END IF;
        IF p_wait_seconds = 0 THEN
            SET v_outcome = 'WITHDRAWN';
        END IF;
        IF v_outcome <> 'ASKED' THEN
            -- S4: there is nothing to ask for.
            DELETE FROM appl_lock_ask
            WHERE object_type = v_object_type
                AND object_id = v_object_id
                AND operator_id = v_operator_id
                AND client_id = v_client_id;
            SET p_outcome = v_outcome;
            IF v_outcome = 'WITHDRAWN' THEN
                SET p_ok_fl = 'Y';
            ELSEIF v_outcome = 'OWN' THEN
                SET p_acquired_ts = v_old_acquired_ts;
                SET p_expires_ts = v_old_expires_ts;
                SET p_seconds_left = CAST(DAYS(v_old_expires_ts) - DAYS(v_now) AS BIGINT) * 86400
                    + MIDNIGHT_SECONDS(v_old_expires_ts) - MIDNIGHT_SECONDS(v_now)
                    + CASE WHEN MICROSECOND(v_old_expires_ts) > MICROSECOND(v_now) THEN 1 ELSE 0 END;
            END IF;
            LEAVE main;
        END IF;
        -- NULL stays NULL: it never gives up.
        SET v_until_ts = v_now + (p_wait_seconds) SECOND;
        SET v_ask_ends_ts = v_now + (60) SECOND;
        IF v_until_ts < v_ask_ends_ts THEN
            SET v_ask_ends_ts = v_until_ts;
        END IF;

        -- S2: the request that goes on. It begins anew with another holder, grant or message, and when it was dead.
        UPDATE appl_lock_ask AS a
        SET department_id = v_department_id,
            message = v_message,
            since_ts = CASE WHEN a.expires_ts > v_now THEN a.since_ts ELSE v_now END,
            until_ts = v_until_ts,
            expires_ts = v_ask_ends_ts,
            holder_id = v_old_operator_id,
            fence = v_old_fence,
            shown_ts = CASE WHEN a.expires_ts > v_now AND a.fence = v_old_fence AND a.message = v_message THEN a.shown_ts END,
            answer = CASE WHEN a.expires_ts > v_now AND a.fence = v_old_fence AND a.message = v_message THEN a.answer ELSE '' END,
            answer_reason = CASE
                WHEN a.expires_ts > v_now AND a.fence = v_old_fence AND a.message = v_message THEN a.answer_reason
                ELSE ''
            END,
            answered_ts = CASE WHEN a.expires_ts > v_now AND a.fence = v_old_fence AND a.message = v_message THEN a.answered_ts END,
            edited_ts = CASE WHEN a.expires_ts > v_now AND a.fence = v_old_fence AND a.message = v_message THEN a.edited_ts END
        WHERE a.object_type = v_object_type
            AND a.object_id = v_object_id
            AND a.operator_id = v_operator_id
            AND a.client_id = v_client_id;
        GET DIAGNOSTICS v_changed = ROW_COUNT;
        IF v_changed = 0 THEN
            -- S2b: a new one.
            BEGIN
                DECLARE CONTINUE HANDLER FOR SQLSTATE '23505' SET v_changed = 0;
                SET v_changed = 1;
                INSERT INTO appl_lock_ask (
                    object_type, object_id, operator_id, department_id, client_id, message,
                    since_ts, until_ts, expires_ts, holder_id, fence, answer, answer_reason
                )
                VALUES (
                    v_object_type, v_object_id, v_operator_id, v_department_id, v_client_id, v_message,
                    v_now, v_until_ts, v_ask_ends_ts, v_old_operator_id, v_old_fence, '', ''
                );
            END;
        END IF;
        IF v_changed = 1 THEN
            SET p_ok_fl = 'Y';
            SET p_outcome = 'ASKED';
            SET p_old_operator_id = v_old_operator_id;
            SET p_old_department_id = v_old_department_id;
            SET p_acquired_ts = v_old_acquired_ts;
            SET p_expires_ts = v_old_expires_ts;
            SET p_seconds_left = CAST(DAYS(v_old_expires_ts) - DAYS(v_now) AS BIGINT) * 86400
                + MIDNIGHT_SECONDS(v_old_expires_ts) - MIDNIGHT_SECONDS(v_now)
                + CASE WHEN MICROSECOND(v_old_expires_ts) > MICROSECOND(v_now) THEN 1 ELSE 0 END;
            -- A lock of less than an hour is a program's lease, with nobody there to answer.
            IF v_yield_after_seconds IS NULL OR v_old_ttl_seconds < 3600 THEN
                LEAVE main;
            END IF;
            -- S2c: since when has the request been unanswered? NULL: the holder's inbox has not shown it.
            SELECT COUNT(*), MAX(a.shown_ts), MAX(a.answered_ts), MAX(a.edited_ts)
            INTO v_rows, v_shown_ts, v_answered_ts, v_edited_ts
            FROM appl_lock_ask AS a
            WHERE a.object_type = v_object_type
                AND a.object_id = v_object_id
                AND a.operator_id = v_operator_id
                AND a.client_id = v_client_id
            WITH CS;
            SET v_silent_ts = v_shown_ts;
            IF v_answered_ts > v_silent_ts THEN
                SET v_silent_ts = v_answered_ts;
            END IF;
            IF v_old_lock_ts > v_silent_ts THEN
                SET v_silent_ts = v_old_lock_ts;
            END IF;
            IF v_edited_ts > v_silent_ts THEN
                SET v_silent_ts = v_edited_ts;
            END IF;
            IF v_silent_ts + (v_yield_after_seconds) SECOND <= v_now THEN
                -- S3: the holder's time to answer is over.
                CALL appl_lock_move(
                    v_object_type, v_object_id, v_old_operator_id, v_old_fence, v_operator_id, v_department_id, NULL,
                    'YIELDED', v_operator_id, 'no answer for ' || CAST(v_yield_after_seconds AS VARCHAR(20)) || ' s', v_old_lock_ts, 60,
                    v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_acquired_ts, v_expires_ts,
                    v_seconds_left
                );
                IF v_outcome = 'YIELDED' THEN
                    SET p_outcome = 'GIVEN';
                    SET p_fence = v_fence;
                    SET p_acquired_ts = v_acquired_ts;
                    SET p_expires_ts = v_expires_ts;
                    SET p_seconds_left = v_seconds_left;
                    DELETE FROM appl_lock_ask
                    WHERE object_type = v_object_type
                        AND object_id = v_object_id
                        AND operator_id = v_operator_id;
                END IF;
            END IF;
            LEAVE main;
        END IF;
    END WHILE;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'ask_appl_lock: the request changed; call again';
END main
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE ask_appl_lock IS 'Ask an object''s holder for it, with a message, or keep the request listed.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE ask_appl_lock_row (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_department_id VARCHAR(4000),
    IN p_client_id VARCHAR(4000),
    IN p_message VARCHAR(4000),
    IN p_wait_seconds BIGINT
)
SPECIFIC ask_appl_lock_row
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_ok_fl CHAR(1);
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_old_operator_id VARCHAR(1020);
    DECLARE v_old_department_id VARCHAR(256);
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts TIMESTAMP;
    DECLARE v_expires_ts TIMESTAMP;
    DECLARE v_seconds_left BIGINT;
    CALL ask_appl_lock(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_client_id, p_message, p_wait_seconds,
        v_ok_fl, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_acquired_ts, v_expires_ts, v_seconds_left
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                v_ok_fl AS p_ok_fl,
                v_outcome AS p_outcome,
                v_old_operator_id AS p_old_operator_id,
                v_old_department_id AS p_old_department_id,
                v_fence AS p_fence,
                v_acquired_ts AS p_acquired_ts,
                v_expires_ts AS p_expires_ts,
                v_seconds_left AS p_seconds_left
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE ask_appl_lock_row IS 'Ask an object''s holder for it, with a message, or keep the request listed; the answer is one row.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE assert_appl_lock (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_fence BIGINT
)
SPECIFIC assert_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_object_type, v_object_id, v_operator_id VARCHAR(4000);
    DECLARE v_rows INTEGER DEFAULT 0;
    DECLARE v_now, v_old_expires_ts, v_old_released_ts TIMESTAMP;
    DECLARE v_old_operator_id VARCHAR(256);
    DECLARE v_old_fence BIGINT;
    DECLARE v_message VARCHAR(512);

    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('assert_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('assert_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('assert_appl_lock', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, OCTETS), 255);
    ELSEIF COALESCE(p_fence, 0) < 1 THEN
        CALL appl_lock_refuse_number('assert_appl_lock', 'p_fence', 9223372036854775807);
    END IF;
    IF LENGTH(RTRIM(TRANSLATE(
        v_object_type || v_object_id || v_operator_id, ' ',
        '0123456789abcdefghijklmnopqrstuvwxyz'
        || 'ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:-_/+*=()%&?', ' '))) > 0 THEN
        CALL appl_lock_check_text('assert_appl_lock', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('assert_appl_lock', 'p_object_id', v_object_id);
        CALL appl_lock_check_text('assert_appl_lock', 'p_operator_id', v_operator_id);
    END IF;

    SET CURRENT LOCK TIMEOUT 1;
    -- S1: who holds it, and keep it so. The aggregates always return one row.
    SELECT COUNT(*), MAX(l.operator_id), MAX(l.fence), MAX(l.expires_ts), MAX(l.released_ts)
    INTO v_rows, v_old_operator_id, v_old_fence, v_old_expires_ts, v_old_released_ts
    FROM appl_lock AS l
    WHERE l.object_type = v_object_type
        AND l.object_id = v_object_id
    WITH RS USE AND KEEP SHARE LOCKS;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    IF v_rows = 0 OR v_old_released_ts IS NOT NULL OR v_old_expires_ts <= v_now THEN
        SIGNAL SQLSTATE 'LK002' SET MESSAGE_TEXT = 'assert_appl_lock: nobody holds it';
    END IF;
    IF v_old_operator_id <> v_operator_id OR v_old_fence <> p_fence THEN
        SET v_message = 'assert_appl_lock: held with fence ' || CAST(v_old_fence AS VARCHAR(20)) || ' by ' || v_old_operator_id;
        SIGNAL SQLSTATE 'LK002' SET MESSAGE_TEXT = v_message;
    END IF;
END main
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE assert_appl_lock IS 'Fail unless exactly this grant is live, and keep it so to the end of the transaction.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE assert_appl_lock_row (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_fence BIGINT
)
SPECIFIC assert_appl_lock_row
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    CALL assert_appl_lock(
        p_object_type, p_object_id, p_operator_id, p_fence
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                'Y' AS p_ok_fl
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE assert_appl_lock_row IS 'Fail unless exactly this grant is live, and keep it so to the end of the transaction; the answer is one row.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE drop_appl_lock_policy (
    IN p_object_type VARCHAR(4000),
    IN p_actor_id VARCHAR(4000),
    IN p_reason VARCHAR(4000),
    OUT p_ok_fl CHAR(1),
    OUT p_outcome VARCHAR(11)
)
SPECIFIC drop_appl_lock_policy
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_object_type, v_actor_id, v_reason VARCHAR(4000);
    DECLARE v_told VARCHAR(1020) DEFAULT 'dropped';
    DECLARE v_changed INTEGER DEFAULT 0;
    DECLARE v_now TIMESTAMP;

    SET p_ok_fl = 'N';
    SET p_outcome = 'NONE';
    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_actor_id = RTRIM(COALESCE(p_actor_id, ''));
    SET v_reason = RTRIM(COALESCE(p_reason, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('drop_appl_lock_policy', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_actor_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('drop_appl_lock_policy', 'p_actor_id', CHARACTER_LENGTH(v_actor_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_reason, CODEUNITS32) > 150 THEN
        CALL appl_lock_refuse_text('drop_appl_lock_policy', 'p_reason', CHARACTER_LENGTH(v_reason, CODEUNITS32), 150);
    END IF;
    IF LENGTH(RTRIM(TRANSLATE(
        v_object_type || v_actor_id, ' ',
        '0123456789abcdefghijklmnopqrstuvwxyz'
        || 'ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:-_/+*=()%&?', ' '))) > 0 THEN
        CALL appl_lock_check_text('drop_appl_lock_policy', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('drop_appl_lock_policy', 'p_actor_id', v_actor_id);
    END IF;

    IF v_reason <> '' THEN
        SET v_told = v_told || ': ' || v_reason;
    END IF;
    SET CURRENT LOCK TIMEOUT 1;
    -- S1: remove it.
    DELETE FROM appl_lock_policy AS p
    WHERE p.object_type = v_object_type;
    GET DIAGNOSTICS v_changed = ROW_COUNT;
    IF v_changed = 1 THEN
        SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
        CALL appl_lock_record(v_now, v_object_type, '', 'POLICY', v_actor_id, '', '', '', '', 0, 0, v_told);
        SET p_ok_fl = 'Y';
        SET p_outcome = 'DROPPED';
    END IF;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE drop_appl_lock_policy IS 'Remove the policy of a type.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE drop_appl_lock_policy_row (
    IN p_object_type VARCHAR(4000),
    IN p_actor_id VARCHAR(4000),
    IN p_reason VARCHAR(4000)
)
SPECIFIC drop_appl_lock_policy_row
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_ok_fl CHAR(1);
    DECLARE v_outcome VARCHAR(11);
    CALL drop_appl_lock_policy(
        p_object_type, p_actor_id, p_reason,
        v_ok_fl, v_outcome
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                v_ok_fl AS p_ok_fl,
                v_outcome AS p_outcome
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE drop_appl_lock_policy_row IS 'Remove the policy of a type; the answer is one row.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE get_appl_lock (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_department_id VARCHAR(4000),
    IN p_ttl_seconds BIGINT,
    IN p_new_fl VARCHAR(4000),
    OUT p_ok_fl CHAR(1),
    OUT p_outcome VARCHAR(11),
    OUT p_old_operator_id VARCHAR(1020),
    OUT p_old_department_id VARCHAR(256),
    OUT p_fence BIGINT,
    OUT p_acquired_ts TIMESTAMP,
    OUT p_expires_ts TIMESTAMP,
    OUT p_seconds_left BIGINT,
    OUT p_note VARCHAR(1020)
)
SPECIFIC get_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_object_type, v_object_id, v_operator_id, v_department_id, v_new_fl VARCHAR(4000);
    DECLARE v_ttl_seconds, v_default_ttl_seconds, v_longest_ttl_seconds, v_old_fence, v_old_ttl_seconds BIGINT;
    DECLARE v_purged_fence, v_fence BIGINT;
    DECLARE v_policies, v_round, v_rows, v_marks, v_changed INTEGER DEFAULT 0;
    DECLARE v_history_level VARCHAR(8);
    DECLARE v_history_fl, v_old_history_fl CHAR(1);
    DECLARE v_begun, v_now, v_old_acquired_ts, v_old_lock_ts, v_old_expires_ts, v_old_released_ts TIMESTAMP;
    DECLARE v_acquired_ts, v_lock_ts, v_expires_ts TIMESTAMP;
    DECLARE v_old_operator_id, v_old_department_id VARCHAR(256);
    DECLARE v_old_note VARCHAR(1020);
    DECLARE v_outcome VARCHAR(11);

    SET p_ok_fl = 'N';
    SET p_outcome = '';
    SET p_old_operator_id = '';
    SET p_old_department_id = '';
    SET p_fence = 0;
    SET p_acquired_ts = NULL;
    SET p_expires_ts = NULL;
    SET p_seconds_left = 0;
    SET p_note = '';
    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    SET v_department_id = RTRIM(p_department_id);
    SET v_new_fl = RTRIM(COALESCE(p_new_fl, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('get_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('get_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('get_appl_lock', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_department_id, CODEUNITS32) > 64 THEN
        CALL appl_lock_refuse_text('get_appl_lock', 'p_department_id', CHARACTER_LENGTH(v_department_id, CODEUNITS32), 64);
    ELSEIF p_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('get_appl_lock', 'p_ttl_seconds', 315360000);
    ELSEIF v_new_fl NOT IN ('Y', 'N', '') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'get_appl_lock: p_new_fl must be Y or N';
    END IF;
    IF LENGTH(RTRIM(TRANSLATE(
        v_object_type || v_object_id || v_operator_id || COALESCE(v_department_id, ''), ' ',
        '0123456789abcdefghijklmnopqrstuvwxyz'
        || 'ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:-_/+*=()%&?', ' '))) > 0 THEN
        CALL appl_lock_check_text('get_appl_lock', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('get_appl_lock', 'p_object_id', v_object_id);
        CALL appl_lock_check_text('get_appl_lock', 'p_operator_id', v_operator_id);
        CALL appl_lock_check_text('get_appl_lock', 'p_department_id', v_department_id);
    END IF;

    SET CURRENT LOCK TIMEOUT 1;
    WHILE v_round < 30 DO
        SET v_round = v_round + 1;

        -- S1: what is there? The aggregates always return one row.
        SELECT
            COUNT(*), MAX(l.operator_id), MAX(l.department_id), MAX(l.fence), MAX(l.acquired_ts), MAX(l.lock_ts),
            MAX(l.ttl_seconds), MAX(l.expires_ts), MAX(l.note), MAX(l.history_fl), MAX(l.released_ts)
        INTO
            v_rows, v_old_operator_id, v_old_department_id, v_old_fence, v_old_acquired_ts, v_old_lock_ts,
            v_old_ttl_seconds, v_old_expires_ts, v_old_note, v_old_history_fl, v_old_released_ts
        FROM appl_lock AS l
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
        WITH CS;
        SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
        SET v_outcome = 'ACQUIRED';
        IF v_rows = 1 AND v_old_released_ts IS NULL AND v_old_expires_ts > v_now THEN
            SET v_outcome = 'RENEWED';
            IF v_old_operator_id <> v_operator_id OR v_new_fl = 'Y' THEN
                IF v_old_history_fl = 'Y' THEN
                    CALL appl_lock_record(
                        v_now, v_object_type, v_object_id, 'REFUSED', v_operator_id,
                        v_old_operator_id, v_old_department_id, v_old_operator_id, v_old_department_id, v_old_fence, v_old_fence, ''
                    );
                END IF;
                SET p_outcome = 'HELD';
                SET p_old_operator_id = v_old_operator_id;
                SET p_old_department_id = v_old_department_id;
                SET p_acquired_ts = v_old_acquired_ts;
                SET p_expires_ts = v_old_expires_ts;
                SET p_note = v_old_note;
                SET p_seconds_left = CAST(DAYS(v_old_expires_ts) - DAYS(v_now) AS BIGINT) * 86400
                    + MIDNIGHT_SECONDS(v_old_expires_ts) - MIDNIGHT_SECONDS(v_now)
                    + CASE WHEN MICROSECOND(v_old_expires_ts) > MICROSECOND(v_now) THEN 1 ELSE 0 END;
                LEAVE main;
            END IF;
        END IF;

        -- S1b: what does the type's policy say?
        SELECT COUNT(*), MAX(p.default_ttl_seconds), MAX(p.longest_ttl_seconds), MAX(p.history_level)
        INTO v_policies, v_default_ttl_seconds, v_longest_ttl_seconds, v_history_level
        FROM appl_lock_policy AS p
        WHERE p.object_type = v_object_type
        WITH CS;
        SET v_history_fl = CASE WHEN v_history_level = 'ALL' THEN 'Y' ELSE 'N' END;
        SET v_department_id = RTRIM(p_department_id);
        SET v_acquired_ts = v_now;
        SET v_lock_ts = v_now;
        IF v_rows = 1 AND v_old_lock_ts >= v_now THEN
            SET v_lock_ts = v_old_lock_ts + (0.000001) SECOND;
        END IF;
        IF v_outcome = 'RENEWED' THEN
            SET v_fence = v_old_fence;
            SET v_acquired_ts = v_old_acquired_ts;
            SET v_department_id = COALESCE(v_department_id, v_old_department_id);
            SET v_ttl_seconds = COALESCE(p_ttl_seconds, v_old_ttl_seconds);
        ELSE
            SET v_purged_fence = 0;
            IF v_rows = 0 THEN
                -- S1c: what is the greatest fence that a purge has removed?
                SELECT COUNT(*), COALESCE(MAX(f.fence), 0)
                INTO v_marks, v_purged_fence
                FROM appl_lock_fence AS f
                WITH CS;
            END IF;
            SET v_fence = CAST(DAYS(v_now) - DAYS(DATE('1970-01-01')) AS BIGINT) * 86400000000
                + CAST(MIDNIGHT_SECONDS(v_now) AS BIGINT) * 1000000 + MICROSECOND(v_now);
            IF COALESCE(v_old_fence, v_purged_fence) >= v_fence THEN
                SET v_fence = COALESCE(v_old_fence, v_purged_fence) + 1;
            END IF;
            SET v_department_id = COALESCE(v_department_id, '');
            SET v_ttl_seconds = COALESCE(p_ttl_seconds, v_default_ttl_seconds, 604800);
        END IF;
        IF v_ttl_seconds > v_longest_ttl_seconds THEN
            SET v_ttl_seconds = v_longest_ttl_seconds;
        END IF;
        SET v_expires_ts = v_now + (v_ttl_seconds) SECOND;

        -- S2: take or renew, if the row is unchanged.
        IF v_rows = 1 THEN
            UPDATE appl_lock AS l
            SET operator_id = v_operator_id,
                department_id = v_department_id,
                fence = v_fence,
                acquired_ts = v_acquired_ts,
                lock_ts = v_lock_ts,
                ttl_seconds = v_ttl_seconds,
                expires_ts = v_expires_ts,
                note = CASE WHEN v_outcome = 'RENEWED' THEN l.note ELSE '' END,
                history_fl = v_history_fl,
                released_ts = NULL
            WHERE l.object_type = v_object_type
                AND l.object_id = v_object_id
                AND l.fence = v_old_fence
                AND l.lock_ts = v_old_lock_ts
                AND l.expires_ts = v_old_expires_ts
                AND (l.released_ts = v_old_released_ts OR (l.released_ts IS NULL AND v_old_released_ts IS NULL))
                AND l.note = v_old_note;
            GET DIAGNOSTICS v_changed = ROW_COUNT;
        ELSE
            BEGIN
                DECLARE CONTINUE HANDLER FOR SQLSTATE '23505' SET v_changed = 0;
                SET v_changed = 1;
                INSERT INTO appl_lock (
                    object_type, object_id, operator_id, department_id, fence,
                    acquired_ts, lock_ts, ttl_seconds, expires_ts, note, history_fl
                )
                VALUES (
                    v_object_type, v_object_id, v_operator_id, v_department_id, v_fence,
                    v_acquired_ts, v_lock_ts, v_ttl_seconds, v_expires_ts, '', v_history_fl
                );
            END;
        END IF;
        IF v_changed = 1 THEN
            -- S3: S2 took long, or the clock was set back meanwhile: count the times from now.
            SET v_begun = v_now;
            SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
            IF v_now NOT BETWEEN v_begun AND v_begun + (1) SECOND THEN
                SELECT COUNT(*), COALESCE(MAX(f.fence), 0)
                INTO v_marks, v_purged_fence
                FROM appl_lock_fence AS f
                WITH CS;
                SET v_expires_ts = v_now + (v_ttl_seconds) SECOND;
                IF v_lock_ts < v_now THEN
                    SET v_lock_ts = v_now;
                END IF;
                IF v_outcome = 'ACQUIRED' THEN
                    SET v_acquired_ts = v_now;
                    IF CAST(DAYS(v_now) - DAYS(DATE('1970-01-01')) AS BIGINT) * 86400000000
                        + CAST(MIDNIGHT_SECONDS(v_now) AS BIGINT) * 1000000 + MICROSECOND(v_now) > v_fence THEN
                        SET v_fence = CAST(DAYS(v_now) - DAYS(DATE('1970-01-01')) AS BIGINT) * 86400000000
                            + CAST(MIDNIGHT_SECONDS(v_now) AS BIGINT) * 1000000 + MICROSECOND(v_now);
                    END IF;
                    IF v_purged_fence >= v_fence THEN
                        SET v_fence = v_purged_fence + 1;
                    END IF;
                END IF;
                UPDATE appl_lock AS l
                SET fence = v_fence,
                    acquired_ts = v_acquired_ts,
                    lock_ts = v_lock_ts,
                    expires_ts = v_expires_ts
                WHERE l.object_type = v_object_type
                    AND l.object_id = v_object_id;
            END IF;

            IF v_outcome = 'ACQUIRED' AND v_rows = 1 AND v_old_released_ts IS NULL AND v_old_operator_id <> v_operator_id THEN
                CALL appl_lock_record(
                    v_now, v_object_type, v_object_id, 'OVERTAKEN', v_operator_id,
                    v_old_operator_id, v_old_department_id, v_operator_id, v_department_id, v_old_fence, v_fence, ''
                );
            ELSEIF v_history_fl = 'Y' AND v_outcome = 'ACQUIRED' THEN
                CALL appl_lock_record(
                    v_now, v_object_type, v_object_id, v_outcome, v_operator_id,
                    '', '', v_operator_id, v_department_id, 0, v_fence, ''
                );
            ELSEIF v_history_fl = 'Y' THEN
                CALL appl_lock_record(
                    v_now, v_object_type, v_object_id, v_outcome, v_operator_id,
                    v_operator_id, v_department_id, v_operator_id, v_department_id, v_fence, v_fence, ''
                );
            END IF;
            SET p_ok_fl = 'Y';
            SET p_outcome = v_outcome;
            SET p_fence = v_fence;
            SET p_acquired_ts = v_acquired_ts;
            SET p_expires_ts = v_expires_ts;
            SET p_note = CASE WHEN v_outcome = 'RENEWED' THEN v_old_note ELSE '' END;
            SET p_seconds_left = v_ttl_seconds;
            LEAVE main;
        END IF;
    END WHILE;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'get_appl_lock: changed hands during the call; call again';
END main
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE get_appl_lock IS 'Take or renew the lock on an object for one operator until it expires.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE get_appl_lock_row (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_department_id VARCHAR(4000),
    IN p_ttl_seconds BIGINT,
    IN p_new_fl VARCHAR(4000)
)
SPECIFIC get_appl_lock_row
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_ok_fl CHAR(1);
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_old_operator_id VARCHAR(1020);
    DECLARE v_old_department_id VARCHAR(256);
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts TIMESTAMP;
    DECLARE v_expires_ts TIMESTAMP;
    DECLARE v_seconds_left BIGINT;
    DECLARE v_note VARCHAR(1020);
    CALL get_appl_lock(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_ttl_seconds, p_new_fl,
        v_ok_fl, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_acquired_ts, v_expires_ts,
        v_seconds_left, v_note
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                v_ok_fl AS p_ok_fl,
                v_outcome AS p_outcome,
                v_old_operator_id AS p_old_operator_id,
                v_old_department_id AS p_old_department_id,
                v_fence AS p_fence,
                v_acquired_ts AS p_acquired_ts,
                v_expires_ts AS p_expires_ts,
                v_seconds_left AS p_seconds_left,
                v_note AS p_note
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE get_appl_lock_row IS 'Take or renew the lock on an object for one operator until it expires; the answer is one row.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE get_appl_lock_permit (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_permits BIGINT,
    IN p_operator_id VARCHAR(4000),
    IN p_department_id VARCHAR(4000),
    IN p_ttl_seconds BIGINT
)
SPECIFIC get_appl_lock_permit
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_object_type, v_object_id, v_operator_id, v_department_id, v_chosen_id VARCHAR(4000);
    DECLARE v_count, v_length, v_first, v_at, v_slot, v_free, v_chosen INTEGER DEFAULT 0;
    DECLARE v_tried VARCHAR(8000) DEFAULT '#';
    DECLARE v_rows INTEGER DEFAULT 0;
    DECLARE v_now, v_live_expires_ts, v_live_released_ts TIMESTAMP;
    DECLARE v_live_operator_id, v_live_department_id, v_own_department_id VARCHAR(256);
    DECLARE v_ok_fl CHAR(1) DEFAULT 'N';
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_old_operator_id, v_old_department_id VARCHAR(256);
    DECLARE v_fence, v_seconds_left BIGINT;
    DECLARE v_acquired_ts, v_expires_ts TIMESTAMP;
    DECLARE v_note VARCHAR(1020);

    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    SET v_department_id = RTRIM(p_department_id);
    SET v_length = CASE WHEN p_permits < 10 THEN 253 WHEN p_permits < 100 THEN 252 WHEN p_permits < 1000 THEN 251 ELSE 250 END;
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('get_appl_lock_permit', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF COALESCE(p_permits, 0) NOT BETWEEN 1 AND 1000 THEN
        CALL appl_lock_refuse_number('get_appl_lock_permit', 'p_permits', 1000);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND v_length THEN
        CALL appl_lock_refuse_text('get_appl_lock_permit', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), v_length);
    ELSEIF CHARACTER_LENGTH(v_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('get_appl_lock_permit', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_department_id, CODEUNITS32) > 64 THEN
        CALL appl_lock_refuse_text('get_appl_lock_permit', 'p_department_id', CHARACTER_LENGTH(v_department_id, CODEUNITS32), 64);
    ELSEIF p_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('get_appl_lock_permit', 'p_ttl_seconds', 315360000);
    END IF;
    IF LENGTH(RTRIM(TRANSLATE(
        v_object_type || v_object_id || v_operator_id || COALESCE(v_department_id, ''), ' ',
        '0123456789abcdefghijklmnopqrstuvwxyz'
        || 'ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:-_/+*=()%&?', ' '))) > 0 THEN
        CALL appl_lock_check_text('get_appl_lock_permit', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('get_appl_lock_permit', 'p_object_id', v_object_id);
        CALL appl_lock_check_text('get_appl_lock_permit', 'p_operator_id', v_operator_id);
        CALL appl_lock_check_text('get_appl_lock_permit', 'p_department_id', v_department_id);
    END IF;

    -- Each operator begins with a slot of its own, as far as there are enough.
    SET v_count = p_permits;
    WHILE v_at < CHARACTER_LENGTH(v_operator_id, OCTETS) DO
        SET v_at = v_at + 1;
        SET v_first = MOD(v_first * 31 + LOCATE(
            SUBSTRING(v_operator_id, v_at, 1, CODEUNITS32),
            '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ' || 'abcdefghijklmnopqrstuvwxyz'
        ), v_count);
    END WHILE;

    rounds: WHILE v_ok_fl = 'N' DO
        -- S1: the operator's own slot, or else the next free one. The aggregates always return one row.
        SET v_at = 0;
        SET v_free = 0;
        SET v_chosen = 0;
        slots: WHILE v_at < v_count DO
            SET v_slot = MOD(v_first + v_at, v_count) + 1;
            SET v_at = v_at + 1;
            SET v_chosen_id = v_object_id || '#' || CAST(v_slot AS VARCHAR(4));
            IF LOCATE('#' || CAST(v_slot AS VARCHAR(4)) || '#', v_tried) = 0 THEN
                SELECT COUNT(*), MAX(l.operator_id), MAX(l.department_id), MAX(l.expires_ts), MAX(l.released_ts)
                INTO v_rows, v_live_operator_id, v_live_department_id, v_live_expires_ts, v_live_released_ts
                FROM appl_lock AS l
                WHERE l.object_type = v_object_type
                    AND l.object_id = v_chosen_id
                WITH CS;
                SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
                IF v_rows = 0 OR v_live_released_ts IS NOT NULL OR v_live_expires_ts <= v_now THEN
                    IF v_free = 0 THEN
                        SET v_free = v_slot;
                    END IF;
                ELSEIF v_live_operator_id = v_operator_id THEN
                    SET v_chosen = v_slot;
                    SET v_own_department_id = v_live_department_id;
                    LEAVE slots;
                END IF;
            END IF;
        END WHILE slots;
        IF v_chosen = 0 THEN
            SET v_chosen = v_free;
        END IF;
        IF v_chosen = 0 THEN
            LEAVE rounds;
        END IF;

        -- S2: get it.
        SET v_chosen_id = v_object_id || '#' || CAST(v_chosen AS VARCHAR(4));
        CALL get_appl_lock(
            v_object_type, v_chosen_id, v_operator_id, v_department_id, p_ttl_seconds, NULL,
            v_ok_fl, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_acquired_ts, v_expires_ts,
            v_seconds_left, v_note
        );
        SET v_tried = v_tried || CAST(v_chosen AS VARCHAR(4)) || '#';
    END WHILE rounds;

    IF v_ok_fl = 'Y' THEN
        BEGIN
            DECLARE granted CURSOR WITH RETURN FOR
                SELECT
                    v_outcome AS outcome,
                    v_chosen_id AS slot_id,
                    v_operator_id AS operator_id,
                    COALESCE(v_department_id, CASE WHEN v_outcome = 'RENEWED' THEN v_own_department_id END, '') AS department_id,
                    v_fence AS fence,
                    v_acquired_ts AS acquired_ts,
                    v_expires_ts AS expires_ts,
                    v_seconds_left AS seconds_left,
                    v_note AS note
                FROM SYSIBM.SYSDUMMY1;
            OPEN granted;
        END;
    ELSE
        -- S3: who holds them?
        BEGIN
            DECLARE answer CURSOR WITH RETURN FOR
                WITH told (place, slot_id) AS (
                    SELECT p.n + 1, CAST(v_object_id || '#' || CAST(p.n + 1 AS VARCHAR(4)) AS VARCHAR(1020))
                    FROM appl_lock_number AS p
                    WHERE p.thousand = 0
                        AND p.n < v_count
                )
                SELECT
                    CAST('FULL' AS VARCHAR(11)) AS outcome,
                    t.slot_id,
                    COALESCE(l.operator_id, '') AS operator_id,
                    COALESCE(l.department_id, '') AS department_id,
                    COALESCE(l.fence, 0) AS fence,
                    l.acquired_ts,
                    l.expires_ts,
                    CASE WHEN l.expires_ts > v_now THEN CAST(DAYS(l.expires_ts) - DAYS(v_now) AS BIGINT) * 86400
                        + MIDNIGHT_SECONDS(l.expires_ts) - MIDNIGHT_SECONDS(v_now)
                        + CASE WHEN MICROSECOND(l.expires_ts) > MICROSECOND(v_now) THEN 1 ELSE 0 END ELSE 0 END AS seconds_left,
                    COALESCE(l.note, '') AS note
                FROM told AS t
                LEFT OUTER JOIN appl_lock AS l
                    ON l.object_type = v_object_type
                    AND l.object_id = t.slot_id
                    AND l.released_ts IS NULL
                    AND l.expires_ts > v_now
                ORDER BY seconds_left, t.place
                WITH CS;
            OPEN answer;
        END;
    END IF;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE get_appl_lock_permit IS 'Take or renew one of the N permits of an object for one operator until it expires.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE inbox_appl_locks (
    IN p_operator_id VARCHAR(4000),
    IN p_position VARCHAR(4000),
    IN p_max_rows BIGINT
)
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
    IF LENGTH(RTRIM(TRANSLATE(
        v_operator_id, ' ',
        '0123456789abcdefghijklmnopqrstuvwxyz'
        || 'ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:-_/+*=()%&?', ' '))) > 0 THEN
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
                CASE WHEN m.expires_ts > v_now THEN CAST(DAYS(m.expires_ts) - DAYS(v_now) AS BIGINT) * 86400
                    + MIDNIGHT_SECONDS(m.expires_ts) - MIDNIGHT_SECONDS(v_now)
                    + CASE WHEN MICROSECOND(m.expires_ts) > MICROSECOND(v_now) THEN 1 ELSE 0 END ELSE 0 END AS seconds_left,
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
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE inbox_appl_locks IS 'Report what others did with an operator''s locks, who waits or asks for them, and how its requests were answered.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE inquire_appl_lock (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    OUT p_ok_fl CHAR(1),
    OUT p_operator_id VARCHAR(1020),
    OUT p_department_id VARCHAR(256),
    OUT p_fence BIGINT,
    OUT p_acquired_ts TIMESTAMP,
    OUT p_lock_ts TIMESTAMP,
    OUT p_expires_ts TIMESTAMP,
    OUT p_seconds_left BIGINT,
    OUT p_note VARCHAR(1020)
)
SPECIFIC inquire_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
READS SQL DATA
main: BEGIN
    DECLARE v_object_type, v_object_id VARCHAR(4000);
    DECLARE v_rows INTEGER DEFAULT 0;
    DECLARE v_now, v_acquired_ts, v_lock_ts, v_expires_ts, v_released_ts TIMESTAMP;
    DECLARE v_operator_id, v_department_id VARCHAR(256);
    DECLARE v_fence BIGINT;
    DECLARE v_note VARCHAR(1020);

    SET p_ok_fl = 'N';
    SET p_operator_id = '';
    SET p_department_id = '';
    SET p_fence = 0;
    SET p_acquired_ts = NULL;
    SET p_lock_ts = NULL;
    SET p_expires_ts = NULL;
    SET p_seconds_left = 0;
    SET p_note = '';
    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('inquire_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('inquire_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    END IF;
    IF LENGTH(RTRIM(TRANSLATE(
        v_object_type || v_object_id, ' ',
        '0123456789abcdefghijklmnopqrstuvwxyz'
        || 'ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:-_/+*=()%&?', ' '))) > 0 THEN
        CALL appl_lock_check_text('inquire_appl_lock', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('inquire_appl_lock', 'p_object_id', v_object_id);
    END IF;

    -- The aggregates always return one row.
    SELECT
        COUNT(*), MAX(l.operator_id), MAX(l.department_id), MAX(l.fence),
        MAX(l.acquired_ts), MAX(l.lock_ts), MAX(l.expires_ts), MAX(l.released_ts), MAX(l.note)
    INTO v_rows, v_operator_id, v_department_id, v_fence, v_acquired_ts, v_lock_ts, v_expires_ts, v_released_ts, v_note
    FROM appl_lock AS l
    WHERE l.object_type = v_object_type
        AND l.object_id = v_object_id
    WITH CS;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    IF v_rows = 1 AND v_released_ts IS NULL AND v_expires_ts > v_now THEN
        SET p_ok_fl = 'Y';
        SET p_operator_id = v_operator_id;
        SET p_department_id = v_department_id;
        SET p_fence = v_fence;
        SET p_acquired_ts = v_acquired_ts;
        SET p_lock_ts = v_lock_ts;
        SET p_expires_ts = v_expires_ts;
        SET p_note = v_note;
        SET p_seconds_left = CAST(DAYS(v_expires_ts) - DAYS(v_now) AS BIGINT) * 86400
            + MIDNIGHT_SECONDS(v_expires_ts) - MIDNIGHT_SECONDS(v_now)
            + CASE WHEN MICROSECOND(v_expires_ts) > MICROSECOND(v_now) THEN 1 ELSE 0 END;
    END IF;
END main
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE inquire_appl_lock IS 'Show who holds an object, since when and until when.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE inquire_appl_lock_row (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000)
)
SPECIFIC inquire_appl_lock_row
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
READS SQL DATA
BEGIN
    DECLARE v_ok_fl CHAR(1);
    DECLARE v_operator_id VARCHAR(1020);
    DECLARE v_department_id VARCHAR(256);
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts TIMESTAMP;
    DECLARE v_lock_ts TIMESTAMP;
    DECLARE v_expires_ts TIMESTAMP;
    DECLARE v_seconds_left BIGINT;
    DECLARE v_note VARCHAR(1020);
    CALL inquire_appl_lock(
        p_object_type, p_object_id,
        v_ok_fl, v_operator_id, v_department_id, v_fence, v_acquired_ts, v_lock_ts, v_expires_ts, v_seconds_left, v_note
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                v_ok_fl AS p_ok_fl,
                v_operator_id AS p_operator_id,
                v_department_id AS p_department_id,
                v_fence AS p_fence,
                v_acquired_ts AS p_acquired_ts,
                v_lock_ts AS p_lock_ts,
                v_expires_ts AS p_expires_ts,
                v_seconds_left AS p_seconds_left,
                v_note AS p_note
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE inquire_appl_lock_row IS 'Show who holds an object, since when and until when; the answer is one row.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE note_appl_lock (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_fence BIGINT,
    IN p_note VARCHAR(4000),
    OUT p_ok_fl CHAR(1),
    OUT p_outcome VARCHAR(11),
    OUT p_old_operator_id VARCHAR(1020),
    OUT p_old_department_id VARCHAR(256)
)
SPECIFIC note_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_object_type, v_object_id, v_operator_id, v_note VARCHAR(4000);
    DECLARE v_round, v_rows, v_changed INTEGER DEFAULT 0;
    DECLARE v_now, v_old_lock_ts, v_old_expires_ts, v_old_released_ts TIMESTAMP;
    DECLARE v_old_operator_id, v_old_department_id VARCHAR(256);
    DECLARE v_old_fence BIGINT;

    SET p_ok_fl = 'N';
    SET p_outcome = '';
    SET p_old_operator_id = '';
    SET p_old_department_id = '';
    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    SET v_note = RTRIM(COALESCE(p_note, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('note_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('note_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('note_appl_lock', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, OCTETS), 255);
    ELSEIF p_fence < 1 THEN
        CALL appl_lock_refuse_number('note_appl_lock', 'p_fence', 9223372036854775807);
    ELSEIF CHARACTER_LENGTH(v_note, CODEUNITS32) > 255 THEN
        CALL appl_lock_refuse_text('note_appl_lock', 'p_note', CHARACTER_LENGTH(v_note, CODEUNITS32), 255);
    END IF;
    IF LENGTH(RTRIM(TRANSLATE(
        v_object_type || v_object_id || v_operator_id, ' ',
        '0123456789abcdefghijklmnopqrstuvwxyz'
        || 'ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:-_/+*=()%&?', ' '))) > 0 THEN
        CALL appl_lock_check_text('note_appl_lock', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('note_appl_lock', 'p_object_id', v_object_id);
        CALL appl_lock_check_text('note_appl_lock', 'p_operator_id', v_operator_id);
    END IF;

    SET CURRENT LOCK TIMEOUT 1;
    WHILE v_round < 30 DO
        SET v_round = v_round + 1;

        -- S1: who holds it? The aggregates always return one row.
        SELECT
            COUNT(*), MAX(l.operator_id), MAX(l.department_id), MAX(l.fence), MAX(l.lock_ts), MAX(l.expires_ts), MAX(l.released_ts)
        INTO v_rows, v_old_operator_id, v_old_department_id, v_old_fence, v_old_lock_ts, v_old_expires_ts, v_old_released_ts
        FROM appl_lock AS l
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
        WITH CS;
        SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
        IF v_rows = 0 OR v_old_released_ts IS NOT NULL OR v_old_expires_ts <= v_now THEN
            SET p_outcome = 'FREE';
            LEAVE main;
        END IF;
        IF v_old_operator_id <> v_operator_id OR v_old_fence <> COALESCE(p_fence, v_old_fence) THEN
            SET p_outcome = 'HELD';
            SET p_old_operator_id = v_old_operator_id;
            SET p_old_department_id = v_old_department_id;
            LEAVE main;
        END IF;

        -- S2: note it on this grant, if the row is unchanged.
        UPDATE appl_lock AS l
        SET note = v_note
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.fence = v_old_fence
            AND l.lock_ts = v_old_lock_ts
            AND l.expires_ts = v_old_expires_ts
            AND l.released_ts IS NULL;
        GET DIAGNOSTICS v_changed = ROW_COUNT;
        IF v_changed = 1 THEN
            SET p_ok_fl = 'Y';
            SET p_outcome = 'NOTED';
            LEAVE main;
        END IF;
    END WHILE;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'note_appl_lock: changed hands during the call; call again';
END main
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE note_appl_lock IS 'Leave a note on why an operator holds an object, for everybody to read.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE note_appl_lock_row (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_fence BIGINT,
    IN p_note VARCHAR(4000)
)
SPECIFIC note_appl_lock_row
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_ok_fl CHAR(1);
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_old_operator_id VARCHAR(1020);
    DECLARE v_old_department_id VARCHAR(256);
    CALL note_appl_lock(
        p_object_type, p_object_id, p_operator_id, p_fence, p_note,
        v_ok_fl, v_outcome, v_old_operator_id, v_old_department_id
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                v_ok_fl AS p_ok_fl,
                v_outcome AS p_outcome,
                v_old_operator_id AS p_old_operator_id,
                v_old_department_id AS p_old_department_id
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE note_appl_lock_row IS 'Leave a note on why an operator holds an object, for everybody to read; the answer is one row.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE poll_appl_locks (
    IN p_client_id VARCHAR(4000),
    IN p_max_rows BIGINT
)
SPECIFIC poll_appl_locks
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_client_id VARCHAR(4000);
    DECLARE v_max_rows BIGINT;
    DECLARE v_rows, v_ending, v_moved INTEGER DEFAULT 0;
    DECLARE v_limit INTEGER;
    DECLARE v_now, v_soon, v_ago, v_expires_ts TIMESTAMP;

    SET v_client_id = RTRIM(COALESCE(p_client_id, ''));
    SET v_max_rows = COALESCE(p_max_rows, 1000);
    IF CHARACTER_LENGTH(v_client_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('poll_appl_locks', 'p_client_id', CHARACTER_LENGTH(v_client_id, CODEUNITS32), 64);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('poll_appl_locks', 'p_max_rows', 10000);
    END IF;

    SET v_limit = v_max_rows;
    SET CURRENT LOCK TIMEOUT 1;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    SET v_soon = v_now + (30) SECOND;
    SET v_ago = v_now - (1) SECOND;
    SET v_expires_ts = v_now + (60) SECOND;

    -- S1: must one of them be kept listed, and has an object changed hands?
    SELECT
        COUNT(*),
        COALESCE(SUM(CASE WHEN w.expires_ts < v_soon AND (w.until_ts IS NULL OR w.until_ts > w.expires_ts) THEN 1 ELSE 0 END), 0),
        COALESCE(SUM(CASE WHEN w.holder_id <> l.operator_id AND l.acquired_ts < v_ago THEN 1 ELSE 0 END), 0)
    INTO v_rows, v_ending, v_moved
    FROM appl_lock_waiter AS w
    LEFT OUTER JOIN appl_lock AS l
        ON l.object_type = w.object_type
        AND l.object_id = w.object_id
        AND l.released_ts IS NULL
        AND l.expires_ts > v_now
    WHERE w.client_id = v_client_id
        AND (w.until_ts IS NULL OR w.until_ts > v_now)
    WITH CS;

    -- S2: then keep all of them, so that the next poll need not.
    IF v_ending > 0 THEN
        UPDATE appl_lock_waiter AS w
        SET expires_ts = CASE WHEN w.until_ts < v_expires_ts THEN w.until_ts ELSE v_expires_ts END
        WHERE w.client_id = v_client_id
            AND (w.until_ts IS NULL OR (w.until_ts > v_now AND w.until_ts > w.expires_ts));
    END IF;

    -- S3: store the new holders. While an object goes from hand to hand, polls write nothing.
    IF v_moved > 0 THEN
        UPDATE appl_lock_waiter AS w
        SET holder_id = COALESCE((
            SELECT l.operator_id
            FROM appl_lock AS l
            WHERE l.object_type = w.object_type
                AND l.object_id = w.object_id
                AND l.released_ts IS NULL
                AND l.expires_ts > v_now
        ), '')
        WHERE w.client_id = v_client_id
            AND (w.until_ts IS NULL OR w.until_ts > v_now)
            AND EXISTS (
                SELECT 1
                FROM appl_lock AS l
                WHERE l.object_type = w.object_type
                    AND l.object_id = w.object_id
                    AND l.operator_id <> w.holder_id
                    AND l.released_ts IS NULL
                    AND l.expires_ts > v_now
                    AND l.acquired_ts < v_ago
            )
        WITH CS;
    END IF;

    -- S4: when will each be free?
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                a.object_type,
                a.object_id,
                CASE WHEN l.expires_ts IS NOT NULL THEN CAST(DAYS(l.expires_ts) - DAYS(v_now) AS BIGINT) * 86400000000
                    + CAST(MIDNIGHT_SECONDS(l.expires_ts) - MIDNIGHT_SECONDS(v_now) AS BIGINT) * 1000000
                    + MICROSECOND(l.expires_ts) - MICROSECOND(v_now) ELSE 0 END AS free_in_us,
                CASE
                    WHEN l.expires_ts IS NOT NULL THEN 'N'
                    WHEN EXISTS (
                        SELECT 1
                        FROM appl_lock_waiter AS o
                        WHERE o.object_type = a.object_type
                            AND o.object_id = a.object_id
                            AND o.expires_ts > v_now
                            AND o.since_ts < a.since_ts
                    ) THEN 'N'
                    ELSE 'Y'
                END AS first_fl
            FROM (
                SELECT w.object_type, w.object_id, MIN(w.since_ts) AS since_ts
                FROM appl_lock_waiter AS w
                WHERE w.client_id = v_client_id
                    AND (w.until_ts IS NULL OR w.until_ts > v_now)
                GROUP BY w.object_type, w.object_id
            ) AS a
            LEFT OUTER JOIN appl_lock AS l
                ON l.object_type = a.object_type
                AND l.object_id = a.object_id
                AND l.released_ts IS NULL
                AND l.expires_ts > v_now
            ORDER BY free_in_us, object_type, object_id
            FETCH FIRST v_limit ROWS ONLY
            WITH CS;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE poll_appl_locks IS 'Show which objects that a program waits for are free or will be next, and keep its waiters listed.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE purge_appl_lock_history (
    IN p_older_than_seconds BIGINT,
    IN p_max_rows BIGINT,
    OUT p_purged BIGINT
)
SPECIFIC purge_appl_lock_history
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_older_than_seconds, v_max_rows BIGINT;
    DECLARE v_purged BIGINT DEFAULT 0;
    DECLARE v_limit INTEGER;
    DECLARE v_now, v_before, v_kept TIMESTAMP;
    DECLARE v_changed INTEGER DEFAULT 0;

    SET p_purged = 0;
    SET v_older_than_seconds = COALESCE(p_older_than_seconds, 34560000);
    SET v_max_rows = COALESCE(p_max_rows, 1000);
    IF v_older_than_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('purge_appl_lock_history', 'p_older_than_seconds', 315360000);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('purge_appl_lock_history', 'p_max_rows', 10000);
    END IF;

    SET v_limit = v_max_rows;
    SET CURRENT LOCK TIMEOUT 1;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    SET v_before = v_now - (v_older_than_seconds) SECOND;
    SET v_kept = v_now - (34560000) SECOND;
    -- S1: which events are old enough?
    FOR event AS
        SELECT e.event_id AS c_event_id
        FROM appl_lock_event AS e
        WHERE e.event_ts < v_before
            AND (e.event NOT IN ('PURGED', 'HISTORY_PURGED') OR e.event_ts < v_kept)
        ORDER BY e.event_id
        FETCH FIRST v_limit ROWS ONLY
        WITH CS
    DO
        -- S2: remove it.
        DELETE FROM appl_lock_event
        WHERE event_id = c_event_id;
        GET DIAGNOSTICS v_changed = ROW_COUNT;
        SET v_purged = v_purged + v_changed;
    END FOR;

    IF v_purged > 0 THEN
        CALL appl_lock_record(v_now, '', '', 'HISTORY_PURGED', '', '', '', '', '', 0, 0, CAST(v_purged AS VARCHAR(20)));
    END IF;
    SET p_purged = v_purged;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE purge_appl_lock_history IS 'Remove old events from the history.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE purge_appl_lock_history_row (
    IN p_older_than_seconds BIGINT,
    IN p_max_rows BIGINT
)
SPECIFIC purge_appl_lock_history_row
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_purged BIGINT;
    CALL purge_appl_lock_history(
        p_older_than_seconds, p_max_rows,
        v_purged
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                v_purged AS p_purged
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE purge_appl_lock_history_row IS 'Remove old events from the history; the answer is one row.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE purge_appl_locks (
    IN p_older_than_seconds BIGINT,
    IN p_max_rows BIGINT,
    OUT p_purged BIGINT
)
SPECIFIC purge_appl_locks
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_older_than_seconds, v_max_rows, v_now_us, v_highest_fence BIGINT;
    DECLARE v_purged BIGINT DEFAULT 0;
    DECLARE v_limit INTEGER;
    DECLARE v_now, v_before TIMESTAMP;
    DECLARE v_changed INTEGER DEFAULT 0;

    SET p_purged = 0;
    SET v_older_than_seconds = COALESCE(p_older_than_seconds, 2592000);
    SET v_max_rows = COALESCE(p_max_rows, 1000);
    IF v_older_than_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('purge_appl_locks', 'p_older_than_seconds', 315360000);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('purge_appl_locks', 'p_max_rows', 10000);
    END IF;

    SET v_limit = v_max_rows;
    SET v_highest_fence = 0;
    SET CURRENT LOCK TIMEOUT 1;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    SET v_now_us = CAST(DAYS(v_now) - DAYS(DATE('1970-01-01')) AS BIGINT) * 86400000000
        + CAST(MIDNIGHT_SECONDS(v_now) AS BIGINT) * 1000000 + MICROSECOND(v_now);
    SET v_before = v_now - (v_older_than_seconds) SECOND;
    -- S1: what could go?
    FOR candidate AS
        SELECT
            l.object_type AS c_object_type,
            l.object_id AS c_object_id,
            l.fence AS c_fence,
            l.lock_ts AS c_lock_ts,
            l.expires_ts AS c_expires_ts,
            l.released_ts AS c_released_ts
        FROM appl_lock AS l
        WHERE COALESCE(l.released_ts, l.expires_ts) < v_before
            AND l.fence < v_now_us
        FETCH FIRST v_limit ROWS ONLY
        WITH CS
    DO
        IF c_fence > v_highest_fence THEN
            SET v_highest_fence = c_fence;
            UPDATE appl_lock_fence AS f
            SET fence = v_highest_fence
            WHERE f.fence < v_highest_fence;
        END IF;
        -- S2: remove it, if it is unchanged.
        DELETE FROM appl_lock
        WHERE object_type = c_object_type
            AND object_id = c_object_id
            AND fence = c_fence
            AND lock_ts = c_lock_ts
            AND expires_ts = c_expires_ts
            AND (released_ts = c_released_ts OR (released_ts IS NULL AND c_released_ts IS NULL));
        GET DIAGNOSTICS v_changed = ROW_COUNT;
        SET v_purged = v_purged + v_changed;
    END FOR;

    IF v_purged < v_max_rows THEN
        -- S3: which waiters could go?
        FOR waiter AS
            SELECT
                w.object_type AS c_waiter_type,
                w.object_id AS c_waiter_id,
                w.operator_id AS c_waiter_operator,
                w.client_id AS c_waiter_client,
                w.expires_ts AS c_waiter_expires
            FROM appl_lock_waiter AS w
            WHERE w.expires_ts < v_before
            FETCH FIRST v_limit ROWS ONLY
            WITH CS
        DO
            -- S4: remove it, if it is unchanged.
            DELETE FROM appl_lock_waiter
            WHERE object_type = c_waiter_type
                AND object_id = c_waiter_id
                AND operator_id = c_waiter_operator
                AND client_id = c_waiter_client
                AND expires_ts = c_waiter_expires;
        END FOR;

        -- S5: which requests could go?
        FOR request AS
            SELECT
                a.object_type AS c_request_type,
                a.object_id AS c_request_id,
                a.operator_id AS c_request_operator,
                a.client_id AS c_request_client,
                a.expires_ts AS c_request_expires
            FROM appl_lock_ask AS a
            WHERE a.expires_ts < v_before
            FETCH FIRST v_limit ROWS ONLY
            WITH CS
        DO
            -- S6: remove it, if it is unchanged.
            DELETE FROM appl_lock_ask
            WHERE object_type = c_request_type
                AND object_id = c_request_id
                AND operator_id = c_request_operator
                AND client_id = c_request_client
                AND expires_ts = c_request_expires;
        END FOR;

        -- S7: which viewers could go?
        FOR viewer AS
            SELECT
                v.object_type AS c_viewer_type,
                v.object_id AS c_viewer_id,
                v.operator_id AS c_viewer_operator,
                v.client_id AS c_viewer_client,
                v.expires_ts AS c_viewer_expires
            FROM appl_lock_viewer AS v
            WHERE v.expires_ts < v_before
            FETCH FIRST v_limit ROWS ONLY
            WITH CS
        DO
            -- S8: remove it, if it is unchanged.
            DELETE FROM appl_lock_viewer
            WHERE object_type = c_viewer_type
                AND object_id = c_viewer_id
                AND operator_id = c_viewer_operator
                AND client_id = c_viewer_client
                AND expires_ts = c_viewer_expires;
        END FOR;
    END IF;

    IF v_purged > 0 THEN
        CALL appl_lock_record(v_now, '', '', 'PURGED', '', '', '', '', '', 0, 0, CAST(v_purged AS VARCHAR(20)));
    END IF;
    SET p_purged = v_purged;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE purge_appl_locks IS 'Remove the rows of objects that have been free for long.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE purge_appl_locks_row (
    IN p_older_than_seconds BIGINT,
    IN p_max_rows BIGINT
)
SPECIFIC purge_appl_locks_row
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_purged BIGINT;
    CALL purge_appl_locks(
        p_older_than_seconds, p_max_rows,
        v_purged
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                v_purged AS p_purged
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE purge_appl_locks_row IS 'Remove the rows of objects that have been free for long; the answer is one row.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE release_appl_lock (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_fence BIGINT,
    IN p_actor_id VARCHAR(4000),
    IN p_reason VARCHAR(4000),
    OUT p_ok_fl CHAR(1),
    OUT p_outcome VARCHAR(11),
    OUT p_old_operator_id VARCHAR(1020),
    OUT p_old_department_id VARCHAR(256)
)
SPECIFIC release_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_object_type, v_object_id, v_operator_id, v_actor_id, v_reason VARCHAR(4000);
    DECLARE v_round, v_rows, v_changed INTEGER DEFAULT 0;
    DECLARE v_now, v_old_lock_ts, v_old_expires_ts, v_old_released_ts TIMESTAMP;
    DECLARE v_old_operator_id, v_old_department_id VARCHAR(256);
    DECLARE v_old_fence BIGINT;
    DECLARE v_old_history_fl CHAR(1);

    SET p_ok_fl = 'N';
    SET p_outcome = '';
    SET p_old_operator_id = '';
    SET p_old_department_id = '';
    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    SET v_actor_id = RTRIM(COALESCE(p_actor_id, v_operator_id));
    SET v_reason = RTRIM(COALESCE(p_reason, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('release_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('release_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('release_appl_lock', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, OCTETS), 255);
    ELSEIF p_fence < 1 THEN
        CALL appl_lock_refuse_number('release_appl_lock', 'p_fence', 9223372036854775807);
    ELSEIF CHARACTER_LENGTH(v_actor_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('release_appl_lock', 'p_actor_id', CHARACTER_LENGTH(v_actor_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_reason, CODEUNITS32) > 255 THEN
        CALL appl_lock_refuse_text('release_appl_lock', 'p_reason', CHARACTER_LENGTH(v_reason, CODEUNITS32), 255);
    END IF;
    IF LENGTH(RTRIM(TRANSLATE(
        v_object_type || v_object_id || v_operator_id || v_actor_id, ' ',
        '0123456789abcdefghijklmnopqrstuvwxyz'
        || 'ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:-_/+*=()%&?', ' '))) > 0 THEN
        CALL appl_lock_check_text('release_appl_lock', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('release_appl_lock', 'p_object_id', v_object_id);
        CALL appl_lock_check_text('release_appl_lock', 'p_operator_id', v_operator_id);
        CALL appl_lock_check_text('release_appl_lock', 'p_actor_id', v_actor_id);
    END IF;

    SET CURRENT LOCK TIMEOUT 1;
    WHILE v_round < 30 DO
        SET v_round = v_round + 1;

        -- S1: who holds it? The aggregates always return one row.
        SELECT
            COUNT(*), MAX(l.operator_id), MAX(l.department_id), MAX(l.fence), MAX(l.lock_ts), MAX(l.expires_ts),
            MAX(l.released_ts), MAX(l.history_fl)
        INTO
            v_rows, v_old_operator_id, v_old_department_id, v_old_fence, v_old_lock_ts, v_old_expires_ts,
            v_old_released_ts, v_old_history_fl
        FROM appl_lock AS l
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
        WITH CS;
        SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
        IF v_rows = 0 OR v_old_released_ts IS NOT NULL
            OR v_old_expires_ts <= v_now AND (v_old_operator_id <> v_operator_id OR v_old_fence <> COALESCE(p_fence, v_old_fence))
        THEN
            SET p_ok_fl = 'Y';
            SET p_outcome = 'FREE';
            LEAVE main;
        END IF;
        IF v_old_operator_id <> v_operator_id OR v_old_fence <> COALESCE(p_fence, v_old_fence) THEN
            SET p_outcome = 'HELD';
            SET p_old_operator_id = v_old_operator_id;
            SET p_old_department_id = v_old_department_id;
            LEAVE main;
        END IF;

        -- S2: end this grant, if the row is unchanged. It stays released even if the clock is set back.
        UPDATE appl_lock AS l
        SET released_ts = v_now, note = ''
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.fence = v_old_fence
            AND l.lock_ts = v_old_lock_ts
            AND l.expires_ts = v_old_expires_ts
            AND l.released_ts IS NULL;
        GET DIAGNOSTICS v_changed = ROW_COUNT;
        IF v_changed = 1 THEN
            SET p_ok_fl = 'Y';
            SET p_outcome = 'FREE';
            IF v_old_expires_ts > v_now THEN
                SET p_outcome = 'RELEASED';
            END IF;
            IF v_old_history_fl = 'Y' OR v_old_released_ts IS NULL AND v_old_expires_ts > v_now AND (v_actor_id <> v_operator_id OR v_reason <> '') THEN
                CALL appl_lock_record(
                    v_now, v_object_type, v_object_id, 'RELEASED', v_actor_id,
                    v_operator_id, v_old_department_id, '', '', v_old_fence, 0, v_reason
                );
            END IF;
            LEAVE main;
        END IF;
    END WHILE;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'release_appl_lock: changed hands during the call; call again';
END main
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE release_appl_lock IS 'End the grant that an operator holds on an object.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE release_appl_lock_row (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_fence BIGINT,
    IN p_actor_id VARCHAR(4000),
    IN p_reason VARCHAR(4000)
)
SPECIFIC release_appl_lock_row
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_ok_fl CHAR(1);
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_old_operator_id VARCHAR(1020);
    DECLARE v_old_department_id VARCHAR(256);
    CALL release_appl_lock(
        p_object_type, p_object_id, p_operator_id, p_fence, p_actor_id, p_reason,
        v_ok_fl, v_outcome, v_old_operator_id, v_old_department_id
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                v_ok_fl AS p_ok_fl,
                v_outcome AS p_outcome,
                v_old_operator_id AS p_old_operator_id,
                v_old_department_id AS p_old_department_id
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE release_appl_lock_row IS 'End the grant that an operator holds on an object; the answer is one row.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE appl_lock_move_page (
    IN p_from_operator_id VARCHAR(4000),
    IN p_object_type VARCHAR(4000),
    IN p_to_operator_id VARCHAR(4000),
    IN p_to_department_id VARCHAR(4000),
    IN p_ttl_seconds BIGINT,
    IN p_actor_id VARCHAR(4000),
    IN p_reason VARCHAR(4000),
    IN p_after_type VARCHAR(4000),
    IN p_after_id VARCHAR(4000),
    IN p_max_rows BIGINT,
    IN p_dry_run_fl VARCHAR(4000),
    OUT p_told INTEGER,
    OUT p_answers CLOB(16M)
)
SPECIFIC appl_lock_move_page
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_limit INTEGER;
    DECLARE v_now, v_acquired_ts, v_expires_ts TIMESTAMP;
    DECLARE v_ok_fl, v_verdict CHAR(1);
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_old_operator_id, v_old_department_id VARCHAR(256);
    DECLARE v_fence, v_seconds_left BIGINT;
    DECLARE v_told INTEGER DEFAULT 0;
    DECLARE v_answers CLOB(16M) DEFAULT '';

    SET p_told = 0;
    SET p_answers = '';
    SET v_limit = p_max_rows;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    -- S1: the page.
    FOR candidate AS
        SELECT l.object_type AS c_object_type, l.object_id AS c_object_id
        FROM appl_lock AS l
        WHERE l.object_type >= p_after_type
            AND (l.object_type > p_after_type OR l.object_id > p_after_id)
            AND (p_object_type IS NULL OR l.object_type = p_object_type)
            AND l.operator_id = p_from_operator_id
            AND l.released_ts IS NULL
            AND l.expires_ts > v_now
        ORDER BY l.object_type, l.object_id
        FETCH FIRST v_limit ROWS ONLY
        WITH CS
    DO
        SET v_verdict = 'W';
        IF p_dry_run_fl <> 'Y' AND p_to_operator_id IS NULL THEN
            -- S2: end it.
            CALL release_appl_lock(
                c_object_type, c_object_id, p_from_operator_id, NULL, p_actor_id, p_reason,
                v_ok_fl, v_outcome, v_old_operator_id, v_old_department_id
            );
            SET v_verdict = CASE WHEN v_outcome = 'RELEASED' THEN 'D' ELSE 'L' END;
        ELSEIF p_dry_run_fl <> 'Y' THEN
            -- S2: hand it over.
            CALL appl_lock_move(
                c_object_type, c_object_id, p_from_operator_id, NULL, p_to_operator_id, p_to_department_id, p_ttl_seconds,
                'TRANSFERRED', p_actor_id, p_reason, NULL, NULL,
                v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_acquired_ts, v_expires_ts,
                v_seconds_left
            );
            SET v_verdict = CASE WHEN v_outcome = 'TRANSFERRED' THEN 'D' ELSE 'L' END;
        END IF;
        -- A result (W: nothing yet, D: done, L: lost) and a key: 320 characters for each lock.
        SET v_told = v_told + 1;
        SET v_answers = v_answers || v_verdict
            || c_object_type || REPEAT(' ', 64 - CHARACTER_LENGTH(c_object_type, CODEUNITS32))
            || c_object_id || REPEAT(' ', 255 - CHARACTER_LENGTH(c_object_id, CODEUNITS32));
    END FOR;
    SET p_told = v_told;
    SET p_answers = v_answers;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE appl_lock_move_page IS 'Internal to applock: hands over or releases a page of the locks of an operator.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE release_appl_locks (
    IN p_operator_id VARCHAR(4000),
    IN p_object_type VARCHAR(4000),
    IN p_actor_id VARCHAR(4000),
    IN p_reason VARCHAR(4000),
    IN p_after_type VARCHAR(4000),
    IN p_after_id VARCHAR(4000),
    IN p_max_rows BIGINT,
    IN p_dry_run_fl VARCHAR(4000)
)
SPECIFIC release_appl_locks
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_operator_id VARCHAR(4000);
    DECLARE v_object_type, v_actor_id, v_reason, v_after_type, v_after_id, v_dry_run_fl VARCHAR(4000);
    DECLARE v_max_rows BIGINT;
    DECLARE v_now TIMESTAMP;
    DECLARE v_told INTEGER DEFAULT 0;
    DECLARE v_answers CLOB(16M);

    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    SET v_object_type = RTRIM(p_object_type);
    SET v_actor_id = RTRIM(COALESCE(p_actor_id, v_operator_id));
    SET v_reason = RTRIM(COALESCE(p_reason, ''));
    SET v_after_type = RTRIM(COALESCE(p_after_type, ''));
    SET v_after_id = RTRIM(COALESCE(p_after_id, ''));
    SET v_dry_run_fl = RTRIM(COALESCE(p_dry_run_fl, ''));
    SET v_max_rows = COALESCE(p_max_rows, 1000);
    IF CHARACTER_LENGTH(v_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('release_appl_locks', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('release_appl_locks', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_actor_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('release_appl_locks', 'p_actor_id', CHARACTER_LENGTH(v_actor_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_reason, CODEUNITS32) > 255 THEN
        CALL appl_lock_refuse_text('release_appl_locks', 'p_reason', CHARACTER_LENGTH(v_reason, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_after_type, CODEUNITS32) > 64 THEN
        CALL appl_lock_refuse_text('release_appl_locks', 'p_after_type', CHARACTER_LENGTH(v_after_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_after_id, CODEUNITS32) > 255 THEN
        CALL appl_lock_refuse_text('release_appl_locks', 'p_after_id', CHARACTER_LENGTH(v_after_id, CODEUNITS32), 255);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('release_appl_locks', 'p_max_rows', 10000);
    ELSEIF v_dry_run_fl NOT IN ('Y', 'N', '') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'release_appl_locks: p_dry_run_fl must be Y or N';
    END IF;
    IF LENGTH(RTRIM(TRANSLATE(
        v_operator_id || COALESCE(v_object_type, '') || v_actor_id, ' ',
        '0123456789abcdefghijklmnopqrstuvwxyz'
        || 'ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:-_/+*=()%&?', ' '))) > 0 THEN
        CALL appl_lock_check_text('release_appl_locks', 'p_operator_id', v_operator_id);
        CALL appl_lock_check_text('release_appl_locks', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('release_appl_locks', 'p_actor_id', v_actor_id);
    END IF;

    CALL appl_lock_move_page(
        v_operator_id, v_object_type, NULL, NULL, NULL, v_actor_id, v_reason, v_after_type, v_after_id, v_max_rows, v_dry_run_fl,
        v_told, v_answers
    );

    -- S3: the answer, with the holders of locks that were lost.
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            WITH told (n, verdict, object_type, object_id) AS (
                SELECT
                    p.n,
                    CAST(SUBSTRING(v_answers, 320 * p.n + 1, 1, CODEUNITS32) AS CHAR(1)),
                    RTRIM(CAST(SUBSTRING(v_answers, 320 * p.n + 2, 64, CODEUNITS32) AS VARCHAR(256))),
                    RTRIM(CAST(SUBSTRING(v_answers, 320 * p.n + 66, 255, CODEUNITS32) AS VARCHAR(1020)))
                FROM appl_lock_number AS p
                WHERE p.n < v_told
            )
            SELECT
                t.object_type,
                t.object_id,
                CASE
                    WHEN t.verdict = 'W' THEN CAST('WOULD_RELEASE' AS VARCHAR(16))
                    WHEN t.verdict = 'D' THEN 'RELEASED'
                    WHEN l.expires_ts IS NOT NULL THEN 'HELD'
                    ELSE 'FREE'
                END AS outcome,
                CASE WHEN t.verdict = 'L' AND l.expires_ts IS NOT NULL THEN l.operator_id ELSE '' END AS old_operator_id,
                CASE WHEN t.verdict = 'L' AND l.expires_ts IS NOT NULL THEN l.department_id ELSE '' END AS old_department_id,
                CASE WHEN t.verdict = 'L' THEN 0 ELSE COALESCE(r.fence, 0) END AS fence,
                l.expires_ts,
                CASE WHEN l.expires_ts IS NOT NULL THEN CAST(DAYS(l.expires_ts) - DAYS(v_now) AS BIGINT) * 86400
                    + MIDNIGHT_SECONDS(l.expires_ts) - MIDNIGHT_SECONDS(v_now)
                    + CASE WHEN MICROSECOND(l.expires_ts) > MICROSECOND(v_now) THEN 1 ELSE 0 END ELSE 0 END AS seconds_left
            FROM told AS t
            LEFT OUTER JOIN appl_lock AS r
                ON r.object_type = t.object_type
                AND r.object_id = t.object_id
            LEFT OUTER JOIN appl_lock AS l
                ON l.object_type = t.object_type
                AND l.object_id = t.object_id
                AND l.released_ts IS NULL
                AND l.expires_ts > v_now
            ORDER BY t.n
            WITH CS;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE release_appl_locks IS 'Release what an operator holds, all or of a type, page by page.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE renew_appl_locks (
    IN p_grants VARCHAR(32000)
)
SPECIFIC renew_appl_locks
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_pass, v_left, v_at, v_colon, v_length, v_field, v_count, v_type_at, v_id_at, v_policies INTEGER DEFAULT 0;
    DECLARE v_rest VARCHAR(32000);
    DECLARE v_value, v_object_type, v_object_id, v_operator_id, v_fence_text, v_ttl_text, v_last_type VARCHAR(4000);
    DECLARE v_last_id VARCHAR(4000);
    DECLARE v_digits VARCHAR(20);
    DECLARE v_fence, v_ttl_seconds, v_longest_ttl_seconds BIGINT;
    DECLARE v_reason VARCHAR(64) DEFAULT '';
    DECLARE v_message, v_old_operator_id, v_old_department_id VARCHAR(256);
    DECLARE v_rows, v_changed, v_told INTEGER DEFAULT 0;
    DECLARE v_now, v_lock_ts, v_expires_ts, v_old_lock_ts, v_old_expires_ts, v_old_released_ts TIMESTAMP;
    DECLARE v_old_fence BIGINT;
    DECLARE v_old_history_fl, v_verdict CHAR(1);
    DECLARE v_answers VARCHAR(30000) DEFAULT '';

    IF COALESCE(CHARACTER_LENGTH(p_grants, CODEUNITS32), 0) = 0 THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'renew_appl_locks: p_grants must not be empty';
    END IF;
    IF LENGTH(RTRIM(TRANSLATE(
        p_grants, ' ',
        '0123456789abcdefghijklmnopqrstuvwxyz'
        || 'ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:-_/+*=()%&?', ' '))) > 0 THEN
        CALL appl_lock_check_text('renew_appl_locks', 'p_grants', p_grants);
    END IF;

    SET CURRENT LOCK TIMEOUT 0;
    -- The first pass checks all grants, the second renews them: a bad one leaves all as it was.
    fields: WHILE v_pass < 2 OR v_left > 0 DO
        IF v_left = 0 THEN
            SET v_pass = v_pass + 1;
            SET v_rest = p_grants;
            SET v_left = CHARACTER_LENGTH(p_grants, CODEUNITS32);
            SET v_at = 1;
            SET v_count = 0;
            SET v_last_type = '';
            SET v_last_id = '';
        ELSE
            SET v_colon = LOCATE(':', v_rest);
            SET v_length = -1;
            IF v_colon BETWEEN 2 AND 4 THEN
                SET v_digits = SUBSTRING(v_rest, 1, v_colon - 1, CODEUNITS32);
                IF TRANSLATE(v_digits, '0', '0123456789', '0') = REPEAT('0', v_colon - 1) THEN
                    SET v_length = CAST(v_digits AS INTEGER);
                END IF;
            END IF;
            IF v_length < 0 OR v_colon + v_length > v_left THEN
                SET v_reason = 'no field at character ' || CAST(v_at AS VARCHAR(10));
                LEAVE fields;
            END IF;
            SET v_value = RTRIM(SUBSTRING(v_rest, v_colon + 1, v_length, CODEUNITS32));
            SET v_field = v_field + 1;
            IF v_field = 1 THEN
                SET v_object_type = v_value;
                SET v_type_at = v_at + v_colon;
            ELSEIF v_field = 2 THEN
                SET v_object_id = v_value;
                SET v_id_at = v_at + v_colon;
            ELSEIF v_field = 3 THEN
                SET v_operator_id = v_value;
            ELSEIF v_field = 4 THEN
                SET v_fence_text = v_value;
            ELSE
                SET v_ttl_text = v_value;
            END IF;
            SET v_at = v_at + v_colon + v_length;
            SET v_left = v_left - v_colon - v_length;
            SET v_rest = SUBSTRING(v_rest, v_colon + v_length + 1, v_left, CODEUNITS32);
            IF v_left = 0 AND v_field < 5 THEN
                SET v_reason = 'a grant with too few fields';
                LEAVE fields;
            END IF;
        END IF;

        IF v_field = 5 THEN
            SET v_field = 0;
            SET v_count = v_count + 1;
            IF v_count > 1000 THEN
                SET v_reason = 'more than 1000 grants';
                LEAVE fields;
            END IF;
            SET v_fence = 0;
            SET v_ttl_seconds = 0;
            IF CHARACTER_LENGTH(v_fence_text, CODEUNITS32) BETWEEN 1 AND 19
                AND TRANSLATE(v_fence_text, '0', '0123456789', '0') = REPEAT('0', CHARACTER_LENGTH(v_fence_text, CODEUNITS32))
                AND (CHARACTER_LENGTH(v_fence_text, CODEUNITS32) < 19 OR v_fence_text <= '9223372036854775807')
            THEN
                SET v_digits = v_fence_text;
                SET v_fence = CAST(v_digits AS BIGINT);
            END IF;
            IF CHARACTER_LENGTH(v_ttl_text, CODEUNITS32) BETWEEN 1 AND 9
                AND TRANSLATE(v_ttl_text, '0', '0123456789', '0') = REPEAT('0', CHARACTER_LENGTH(v_ttl_text, CODEUNITS32))
            THEN
                SET v_digits = v_ttl_text;
                SET v_ttl_seconds = CAST(v_digits AS BIGINT);
            END IF;
            IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
                SET v_reason = 'no valid object_type';
            ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
                SET v_reason = 'no valid object_id';
            ELSEIF CHARACTER_LENGTH(v_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
                SET v_reason = 'no valid operator_id';
            ELSEIF v_fence < 1 THEN
                SET v_reason = 'no valid fence';
            ELSEIF v_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
                SET v_reason = 'no valid ttl_seconds';
            ELSEIF v_object_type = v_last_type AND v_object_id = v_last_id THEN
                SET v_reason = 'the same object twice';
            END IF;
            IF v_reason <> '' THEN
                SET v_reason = v_reason || ' in grant ' || CAST(v_count AS VARCHAR(10));
                LEAVE fields;
            END IF;
            SET v_last_type = v_object_type;
            SET v_last_id = v_object_id;

            IF v_pass = 2 THEN
                -- S1: is this grant live? The aggregates always return one row.
                SELECT
                    COUNT(*), MAX(l.operator_id), MAX(l.department_id), MAX(l.fence), MAX(l.lock_ts), MAX(l.expires_ts),
                    MAX(l.released_ts), MAX(l.history_fl)
                INTO
                    v_rows, v_old_operator_id, v_old_department_id, v_old_fence, v_old_lock_ts, v_old_expires_ts,
                    v_old_released_ts, v_old_history_fl
                FROM appl_lock AS l
                WHERE l.object_type = v_object_type
                    AND l.object_id = v_object_id
                WITH CS;
                SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
                SET v_verdict = 'L';
                SET v_changed = 1;
                IF v_rows = 1 AND v_old_released_ts IS NULL AND v_old_expires_ts > v_now
                    AND v_old_operator_id = v_operator_id AND v_old_fence = v_fence
                THEN
                    SET v_lock_ts = v_now;
                    IF v_old_lock_ts >= v_now THEN
                        SET v_lock_ts = v_old_lock_ts + (0.000001) SECOND;
                    END IF;
                    -- S1b: how long may the grant last?
                    SELECT COUNT(*), MAX(p.longest_ttl_seconds)
                    INTO v_policies, v_longest_ttl_seconds
                    FROM appl_lock_policy AS p
                    WHERE p.object_type = v_object_type
                    WITH CS;
                    IF v_ttl_seconds > v_longest_ttl_seconds THEN
                        SET v_ttl_seconds = v_longest_ttl_seconds;
                    END IF;
                    SET v_expires_ts = v_now + (v_ttl_seconds) SECOND;
                    SET v_verdict = 'R';
                    IF v_old_expires_ts > v_expires_ts THEN
                        SET v_expires_ts = v_old_expires_ts;
                        SET v_verdict = 'K';
                    END IF;

                    -- S2: renew it, if the row is unchanged.
                    UPDATE appl_lock AS l
                    SET lock_ts = v_lock_ts,
                        ttl_seconds = v_ttl_seconds,
                        expires_ts = v_expires_ts
                    WHERE l.object_type = v_object_type
                        AND l.object_id = v_object_id
                        AND l.fence = v_old_fence
                        AND l.lock_ts = v_old_lock_ts
                        AND l.expires_ts = v_old_expires_ts
                        AND l.released_ts IS NULL;
                    GET DIAGNOSTICS v_changed = ROW_COUNT;
                    IF v_changed = 1 AND v_old_history_fl = 'Y' THEN
                        CALL appl_lock_record(
                            v_now, v_object_type, v_object_id, 'RENEWED', v_operator_id,
                            v_operator_id, v_old_department_id, v_operator_id, v_old_department_id, v_fence, v_fence, ''
                        );
                    END IF;
                END IF;
                IF v_changed = 1 THEN
                    -- A result (L: lost, R: renewed, K: renewed, with its later end kept), the place of its key in p_grants,
                    -- and its ttl: 30 characters for each grant.
                    SET v_told = v_told + 1;
                    SET v_answers = v_answers || v_verdict
                        || CAST(v_type_at AS CHAR(5)) || CAST(CHARACTER_LENGTH(v_object_type, CODEUNITS32) AS CHAR(5))
                        || CAST(v_id_at AS CHAR(5)) || CAST(CHARACTER_LENGTH(v_object_id, CODEUNITS32) AS CHAR(5))
                        || CAST(v_ttl_seconds AS CHAR(9));
                END IF;
            END IF;
        END IF;
    END WHILE fields;
    IF v_reason <> '' THEN
        SET v_message = 'renew_appl_locks: p_grants has ' || v_reason;
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_message;
    END IF;

    -- S3: the answer, with the holders of locks that are lost.
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            WITH told (verdict, object_type, object_id, ttl_seconds) AS (
                -- Most places are empty, which is NULL as a number.
                SELECT
                    SUBSTR(v_answers, 30 * p.n + 1, 1),
                    CAST(SUBSTRING(
                        p_grants,
                        CAST(NULLIF(SUBSTR(v_answers, 30 * p.n + 2, 5), '') AS INTEGER),
                        CAST(NULLIF(SUBSTR(v_answers, 30 * p.n + 7, 5), '') AS INTEGER),
                        CODEUNITS32
                    ) AS VARCHAR(256)),
                    CAST(SUBSTRING(
                        p_grants,
                        CAST(NULLIF(SUBSTR(v_answers, 30 * p.n + 12, 5), '') AS INTEGER),
                        CAST(NULLIF(SUBSTR(v_answers, 30 * p.n + 17, 5), '') AS INTEGER),
                        CODEUNITS32
                    ) AS VARCHAR(1020)),
                    CAST(NULLIF(SUBSTR(v_answers, 30 * p.n + 22, 9), '') AS BIGINT)
                FROM appl_lock_number AS p
                WHERE p.thousand = 0
                    AND p.n < v_told
            )
            SELECT
                t.object_type,
                t.object_id,
                CASE
                    WHEN t.verdict <> 'L' THEN CAST('RENEWED' AS VARCHAR(11))
                    WHEN l.expires_ts > v_now THEN 'HELD'
                    ELSE 'FREE'
                END AS outcome,
                CASE WHEN t.verdict = 'L' AND l.expires_ts > v_now THEN l.operator_id ELSE '' END AS old_operator_id,
                CASE WHEN t.verdict = 'L' AND l.expires_ts > v_now THEN l.department_id ELSE '' END AS old_department_id,
                CASE WHEN t.verdict = 'L' AND l.expires_ts > v_now THEN l.acquired_ts END AS acquired_ts,
                CASE WHEN t.verdict <> 'L' OR l.expires_ts > v_now THEN l.expires_ts END AS expires_ts,
                CASE
                    WHEN t.verdict = 'R' THEN t.ttl_seconds
                    WHEN l.expires_ts > v_now THEN CAST(DAYS(l.expires_ts) - DAYS(v_now) AS BIGINT) * 86400
                        + MIDNIGHT_SECONDS(l.expires_ts) - MIDNIGHT_SECONDS(v_now)
                        + CASE WHEN MICROSECOND(l.expires_ts) > MICROSECOND(v_now) THEN 1 ELSE 0 END
                    ELSE 0
                END AS seconds_left
            FROM told AS t
            LEFT OUTER JOIN appl_lock AS l
                ON l.object_type = t.object_type
                AND l.object_id = t.object_id
                AND (t.verdict <> 'L' OR l.released_ts IS NULL)
            ORDER BY object_type, object_id
            WITH CS;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE renew_appl_locks IS 'Renew many grants in one call, each by its fence.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE retract_appl_lock_waiter (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_client_id VARCHAR(4000)
)
SPECIFIC retract_appl_lock_waiter
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_object_type, v_object_id, v_operator_id, v_client_id VARCHAR(4000);

    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    SET v_client_id = RTRIM(COALESCE(p_client_id, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('retract_appl_lock_waiter', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('retract_appl_lock_waiter', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('retract_appl_lock_waiter', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_client_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('retract_appl_lock_waiter', 'p_client_id', CHARACTER_LENGTH(v_client_id, CODEUNITS32), 64);
    END IF;
    IF LENGTH(RTRIM(TRANSLATE(
        v_object_type || v_object_id || v_operator_id, ' ',
        '0123456789abcdefghijklmnopqrstuvwxyz'
        || 'ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:-_/+*=()%&?', ' '))) > 0 THEN
        CALL appl_lock_check_text('retract_appl_lock_waiter', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('retract_appl_lock_waiter', 'p_object_id', v_object_id);
        CALL appl_lock_check_text('retract_appl_lock_waiter', 'p_operator_id', v_operator_id);
    END IF;

    SET CURRENT LOCK TIMEOUT 1;
    -- S1: remove the waiter.
    DELETE FROM appl_lock_waiter
    WHERE object_type = v_object_type
        AND object_id = v_object_id
        AND operator_id = v_operator_id
        AND client_id = v_client_id;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE retract_appl_lock_waiter IS 'Say that an operator does not wait for an object any more.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE retract_appl_lock_waiter_row (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_client_id VARCHAR(4000)
)
SPECIFIC retract_appl_lock_waiter_row
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    CALL retract_appl_lock_waiter(
        p_object_type, p_object_id, p_operator_id, p_client_id
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                'Y' AS p_ok_fl
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE retract_appl_lock_waiter_row IS 'Say that an operator does not wait for an object any more; the answer is one row.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE see_appl_lock (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_department_id VARCHAR(4000),
    IN p_client_id VARCHAR(4000),
    IN p_state VARCHAR(4000),
    IN p_ttl_seconds BIGINT
)
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
    IF LENGTH(RTRIM(TRANSLATE(
        v_object_type || v_object_id || v_operator_id || v_department_id, ' ',
        '0123456789abcdefghijklmnopqrstuvwxyz'
        || 'ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:-_/+*=()%&?', ' '))) > 0 THEN
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
                CAST(DAYS(m.expires_ts) - DAYS(v_now) AS BIGINT) * 86400
                    + MIDNIGHT_SECONDS(m.expires_ts) - MIDNIGHT_SECONDS(v_now)
                    + CASE WHEN MICROSECOND(m.expires_ts) > MICROSECOND(v_now) THEN 1 ELSE 0 END AS seconds_left,
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
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE see_appl_lock IS 'List an operator as a viewer of an object, and show its holder, askers and other viewers.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE serialize_appl_lock (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000)
)
SPECIFIC serialize_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_object_type, v_object_id VARCHAR(4000);

    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('serialize_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('serialize_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    END IF;
    IF LENGTH(RTRIM(TRANSLATE(
        v_object_type || v_object_id, ' ',
        '0123456789abcdefghijklmnopqrstuvwxyz'
        || 'ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:-_/+*=()%&?', ' '))) > 0 THEN
        CALL appl_lock_check_text('serialize_appl_lock', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('serialize_appl_lock', 'p_object_id', v_object_id);
    END IF;

    -- S1: take the turn.
    INSERT INTO appl_lock_serialize (object_type, object_id)
    VALUES (v_object_type, v_object_id);

    -- S2: leave nothing behind.
    DELETE FROM appl_lock_serialize
    WHERE object_type = v_object_type
        AND object_id = v_object_id;
END main
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE serialize_appl_lock IS 'Let one transaction at a time work on an object.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE serialize_appl_lock_row (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000)
)
SPECIFIC serialize_appl_lock_row
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    CALL serialize_appl_lock(
        p_object_type, p_object_id
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                'Y' AS p_ok_fl
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE serialize_appl_lock_row IS 'Let one transaction at a time work on an object; the answer is one row.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE set_appl_lock_policy (
    IN p_object_type VARCHAR(4000),
    IN p_default_ttl_seconds BIGINT,
    IN p_longest_ttl_seconds BIGINT,
    IN p_take_reason_fl VARCHAR(4000),
    IN p_actor_id VARCHAR(4000),
    IN p_reason VARCHAR(4000),
    IN p_history_level VARCHAR(4000),
    IN p_presence_fl VARCHAR(4000),
    IN p_yield_after_seconds BIGINT,
    OUT p_ok_fl CHAR(1),
    OUT p_outcome VARCHAR(11)
)
SPECIFIC set_appl_lock_policy
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_object_type, v_take_reason_fl, v_actor_id, v_reason, v_history_level, v_presence_fl VARCHAR(4000);
    DECLARE v_longest_ttl_seconds BIGINT;
    DECLARE v_told VARCHAR(1020);
    DECLARE v_round, v_changed INTEGER DEFAULT 0;
    DECLARE v_now TIMESTAMP;

    SET p_ok_fl = 'N';
    SET p_outcome = '';
    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_longest_ttl_seconds = COALESCE(p_longest_ttl_seconds, 315360000);
    SET v_take_reason_fl = RTRIM(COALESCE(p_take_reason_fl, 'Y'));
    SET v_actor_id = RTRIM(COALESCE(p_actor_id, ''));
    SET v_reason = RTRIM(COALESCE(p_reason, ''));
    SET v_history_level = RTRIM(COALESCE(p_history_level, 'CHANGES'));
    SET v_presence_fl = RTRIM(COALESCE(p_presence_fl, 'Y'));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('set_appl_lock_policy', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF v_longest_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('set_appl_lock_policy', 'p_longest_ttl_seconds', 315360000);
    ELSEIF p_default_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('set_appl_lock_policy', 'p_default_ttl_seconds', 315360000);
    ELSEIF p_default_ttl_seconds > v_longest_ttl_seconds THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'set_appl_lock_policy: p_default_ttl_seconds > the longest';
    ELSEIF v_take_reason_fl NOT IN ('Y', 'N') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'set_appl_lock_policy: p_take_reason_fl must be Y or N';
    ELSEIF CHARACTER_LENGTH(v_actor_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('set_appl_lock_policy', 'p_actor_id', CHARACTER_LENGTH(v_actor_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_reason, CODEUNITS32) > 150 THEN
        CALL appl_lock_refuse_text('set_appl_lock_policy', 'p_reason', CHARACTER_LENGTH(v_reason, CODEUNITS32), 150);
    ELSEIF v_history_level NOT IN ('ALL', 'CHANGES') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'set_appl_lock_policy: p_history_level is ALL or CHANGES';
    ELSEIF v_presence_fl NOT IN ('Y', 'N') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'set_appl_lock_policy: p_presence_fl must be Y or N';
    ELSEIF p_yield_after_seconds NOT BETWEEN 60 AND 315360000 THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'set_appl_lock_policy: p_yield_after_seconds 60..315360000';
    END IF;
    IF LENGTH(RTRIM(TRANSLATE(
        v_object_type || v_actor_id, ' ',
        '0123456789abcdefghijklmnopqrstuvwxyz'
        || 'ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:-_/+*=()%&?', ' '))) > 0 THEN
        CALL appl_lock_check_text('set_appl_lock_policy', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('set_appl_lock_policy', 'p_actor_id', v_actor_id);
    END IF;

    SET v_told = 'default ' || COALESCE(CAST(p_default_ttl_seconds AS VARCHAR(20)), 'none')
        || ', longest ' || COALESCE(CAST(p_longest_ttl_seconds AS VARCHAR(20)), 'none')
        || ', take reason ' || v_take_reason_fl || ', history ' || v_history_level
        || ', presence ' || v_presence_fl
        || ', yield after ' || COALESCE(CAST(p_yield_after_seconds AS VARCHAR(20)), 'none');
    IF v_reason <> '' THEN
        SET v_told = v_told || ': ' || v_reason;
    END IF;
    SET CURRENT LOCK TIMEOUT 1;
    WHILE v_round < 30 DO
        SET v_round = v_round + 1;

        -- S1: the new policy.
        UPDATE appl_lock_policy AS p
        SET default_ttl_seconds = p_default_ttl_seconds,
            longest_ttl_seconds = p_longest_ttl_seconds,
            take_reason_fl = v_take_reason_fl,
            history_level = v_history_level,
            presence_fl = v_presence_fl,
            yield_after_seconds = p_yield_after_seconds
        WHERE p.object_type = v_object_type;
        GET DIAGNOSTICS v_changed = ROW_COUNT;
        IF v_changed = 0 THEN
            -- S2: it had none.
            BEGIN
                DECLARE CONTINUE HANDLER FOR SQLSTATE '23505' SET v_changed = 0;
                SET v_changed = 1;
                INSERT INTO appl_lock_policy (
                    object_type, default_ttl_seconds, longest_ttl_seconds, take_reason_fl, history_level, presence_fl,
                    yield_after_seconds
                )
                VALUES (
                    v_object_type, p_default_ttl_seconds, p_longest_ttl_seconds, v_take_reason_fl, v_history_level, v_presence_fl,
                    p_yield_after_seconds
                );
            END;
        END IF;
        IF v_changed = 1 THEN
            SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
            CALL appl_lock_record(v_now, v_object_type, '', 'POLICY', v_actor_id, '', '', '', '', 0, 0, v_told);
            SET p_ok_fl = 'Y';
            SET p_outcome = 'SET';
            LEAVE main;
        END IF;
    END WHILE;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'set_appl_lock_policy: changed during the call; call again';
END main
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE set_appl_lock_policy IS 'Set a type''s policy: how long its locks last, whether a take needs a reason, what the history records, and who sees whom.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE set_appl_lock_policy_row (
    IN p_object_type VARCHAR(4000),
    IN p_default_ttl_seconds BIGINT,
    IN p_longest_ttl_seconds BIGINT,
    IN p_take_reason_fl VARCHAR(4000),
    IN p_actor_id VARCHAR(4000),
    IN p_reason VARCHAR(4000),
    IN p_history_level VARCHAR(4000),
    IN p_presence_fl VARCHAR(4000),
    IN p_yield_after_seconds BIGINT
)
SPECIFIC set_appl_lock_policy_row
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_ok_fl CHAR(1);
    DECLARE v_outcome VARCHAR(11);
    CALL set_appl_lock_policy(
        p_object_type, p_default_ttl_seconds, p_longest_ttl_seconds, p_take_reason_fl, p_actor_id, p_reason,
        p_history_level, p_presence_fl, p_yield_after_seconds,
        v_ok_fl, v_outcome
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                v_ok_fl AS p_ok_fl,
                v_outcome AS p_outcome
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE set_appl_lock_policy_row IS 'Set a type''s policy: how long its locks last, whether a take needs a reason, what the history records, and who sees whom; the answer is one row.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE take_appl_lock (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_department_id VARCHAR(4000),
    IN p_reason VARCHAR(4000),
    IN p_expected_fence BIGINT,
    IN p_ttl_seconds BIGINT,
    OUT p_ok_fl CHAR(1),
    OUT p_outcome VARCHAR(11),
    OUT p_old_operator_id VARCHAR(1020),
    OUT p_old_department_id VARCHAR(256),
    OUT p_fence BIGINT,
    OUT p_acquired_ts TIMESTAMP,
    OUT p_expires_ts TIMESTAMP,
    OUT p_seconds_left BIGINT
)
SPECIFIC take_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_object_type, v_object_id, v_operator_id, v_department_id, v_reason VARCHAR(4000);
    DECLARE v_policies INTEGER DEFAULT 0;
    DECLARE v_take_reason_fl CHAR(1);
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_old_operator_id, v_old_department_id VARCHAR(256);
    DECLARE v_fence, v_seconds_left BIGINT;
    DECLARE v_acquired_ts, v_expires_ts TIMESTAMP;

    SET p_ok_fl = 'N';
    SET p_outcome = '';
    SET p_old_operator_id = '';
    SET p_old_department_id = '';
    SET p_fence = 0;
    SET p_acquired_ts = NULL;
    SET p_expires_ts = NULL;
    SET p_seconds_left = 0;
    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    SET v_department_id = RTRIM(COALESCE(p_department_id, ''));
    SET v_reason = RTRIM(COALESCE(p_reason, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_department_id, CODEUNITS32) > 64 THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_department_id', CHARACTER_LENGTH(v_department_id, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_reason, CODEUNITS32) > 255 THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_reason', CHARACTER_LENGTH(v_reason, CODEUNITS32), 255);
    ELSEIF p_expected_fence < 1 THEN
        CALL appl_lock_refuse_number('take_appl_lock', 'p_expected_fence', 99999999999999999);
    ELSEIF p_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('take_appl_lock', 'p_ttl_seconds', 315360000);
    END IF;
    IF LENGTH(RTRIM(TRANSLATE(
        v_object_type || v_object_id || v_operator_id || v_department_id, ' ',
        '0123456789abcdefghijklmnopqrstuvwxyz'
        || 'ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:-_/+*=()%&?', ' '))) > 0 THEN
        CALL appl_lock_check_text('take_appl_lock', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('take_appl_lock', 'p_object_id', v_object_id);
        CALL appl_lock_check_text('take_appl_lock', 'p_operator_id', v_operator_id);
        CALL appl_lock_check_text('take_appl_lock', 'p_department_id', v_department_id);
    END IF;

    SET CURRENT LOCK TIMEOUT 1;
    -- S1: does the type's policy require a reason?
    SELECT COUNT(*), MAX(p.take_reason_fl)
    INTO v_policies, v_take_reason_fl
    FROM appl_lock_policy AS p
    WHERE p.object_type = v_object_type
    WITH CS;
    IF v_reason = '' AND COALESCE(v_take_reason_fl, 'Y') = 'Y' THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_reason', 0, 255);
    END IF;
    CALL appl_lock_move(
        v_object_type, v_object_id, NULL, p_expected_fence, v_operator_id, v_department_id, p_ttl_seconds, 'TAKEN', v_operator_id, v_reason,
        NULL, NULL,
        v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_acquired_ts, v_expires_ts, v_seconds_left
    );
    SET p_outcome = v_outcome;
    SET p_fence = v_fence;
    SET p_acquired_ts = v_acquired_ts;
    SET p_expires_ts = v_expires_ts;
    SET p_seconds_left = v_seconds_left;
    IF v_outcome = 'TAKEN' THEN
        SET p_ok_fl = 'Y';
    END IF;
    IF v_outcome = 'HELD' OR v_old_operator_id <> v_operator_id THEN
        SET p_old_operator_id = v_old_operator_id;
        SET p_old_department_id = v_old_department_id;
    END IF;
END main
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE take_appl_lock IS 'Take a held object from its holder, for a reason.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE take_appl_lock_row (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_department_id VARCHAR(4000),
    IN p_reason VARCHAR(4000),
    IN p_expected_fence BIGINT,
    IN p_ttl_seconds BIGINT
)
SPECIFIC take_appl_lock_row
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_ok_fl CHAR(1);
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_old_operator_id VARCHAR(1020);
    DECLARE v_old_department_id VARCHAR(256);
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts TIMESTAMP;
    DECLARE v_expires_ts TIMESTAMP;
    DECLARE v_seconds_left BIGINT;
    CALL take_appl_lock(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_reason, p_expected_fence, p_ttl_seconds,
        v_ok_fl, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_acquired_ts, v_expires_ts, v_seconds_left
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                v_ok_fl AS p_ok_fl,
                v_outcome AS p_outcome,
                v_old_operator_id AS p_old_operator_id,
                v_old_department_id AS p_old_department_id,
                v_fence AS p_fence,
                v_acquired_ts AS p_acquired_ts,
                v_expires_ts AS p_expires_ts,
                v_seconds_left AS p_seconds_left
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE take_appl_lock_row IS 'Take a held object from its holder, for a reason; the answer is one row.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE transfer_appl_lock (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_from_operator_id VARCHAR(4000),
    IN p_to_operator_id VARCHAR(4000),
    IN p_to_department_id VARCHAR(4000),
    IN p_ttl_seconds BIGINT,
    IN p_actor_id VARCHAR(4000),
    IN p_reason VARCHAR(4000),
    OUT p_ok_fl CHAR(1),
    OUT p_outcome VARCHAR(11),
    OUT p_old_operator_id VARCHAR(1020),
    OUT p_old_department_id VARCHAR(256),
    OUT p_fence BIGINT,
    OUT p_acquired_ts TIMESTAMP,
    OUT p_expires_ts TIMESTAMP,
    OUT p_seconds_left BIGINT
)
SPECIFIC transfer_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_object_type, v_object_id, v_from_operator_id, v_to_operator_id, v_to_department_id VARCHAR(4000);
    DECLARE v_actor_id, v_reason VARCHAR(4000);
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_old_operator_id, v_old_department_id VARCHAR(256);
    DECLARE v_fence, v_seconds_left BIGINT;
    DECLARE v_acquired_ts, v_expires_ts TIMESTAMP;

    SET p_ok_fl = 'N';
    SET p_outcome = '';
    SET p_old_operator_id = '';
    SET p_old_department_id = '';
    SET p_fence = 0;
    SET p_acquired_ts = NULL;
    SET p_expires_ts = NULL;
    SET p_seconds_left = 0;
    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET v_from_operator_id = RTRIM(COALESCE(p_from_operator_id, ''));
    SET v_to_operator_id = RTRIM(COALESCE(p_to_operator_id, ''));
    SET v_to_department_id = RTRIM(COALESCE(p_to_department_id, ''));
    SET v_actor_id = RTRIM(p_actor_id);
    SET v_reason = RTRIM(COALESCE(p_reason, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_from_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_from_operator_id', CHARACTER_LENGTH(v_from_operator_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_to_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_to_operator_id', CHARACTER_LENGTH(v_to_operator_id, OCTETS), 255);
    ELSEIF v_to_operator_id = v_from_operator_id THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'transfer_appl_lock: p_to_operator_id must be another one';
    ELSEIF CHARACTER_LENGTH(v_to_department_id, CODEUNITS32) > 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_to_department_id', CHARACTER_LENGTH(v_to_department_id, CODEUNITS32), 64);
    ELSEIF p_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('transfer_appl_lock', 'p_ttl_seconds', 315360000);
    ELSEIF CHARACTER_LENGTH(v_actor_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_actor_id', CHARACTER_LENGTH(v_actor_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_reason, CODEUNITS32) > 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_reason', CHARACTER_LENGTH(v_reason, CODEUNITS32), 255);
    END IF;
    IF LENGTH(RTRIM(TRANSLATE(
        v_object_type || v_object_id || v_from_operator_id || v_to_operator_id || v_to_department_id || COALESCE(v_actor_id, ''), ' ',
        '0123456789abcdefghijklmnopqrstuvwxyz'
        || 'ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:-_/+*=()%&?', ' '))) > 0 THEN
        CALL appl_lock_check_text('transfer_appl_lock', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('transfer_appl_lock', 'p_object_id', v_object_id);
        CALL appl_lock_check_text('transfer_appl_lock', 'p_from_operator_id', v_from_operator_id);
        CALL appl_lock_check_text('transfer_appl_lock', 'p_to_operator_id', v_to_operator_id);
        CALL appl_lock_check_text('transfer_appl_lock', 'p_to_department_id', v_to_department_id);
        CALL appl_lock_check_text('transfer_appl_lock', 'p_actor_id', v_actor_id);
    END IF;

    CALL appl_lock_move(
        v_object_type, v_object_id, v_from_operator_id, NULL, v_to_operator_id, v_to_department_id, p_ttl_seconds,
        'TRANSFERRED', COALESCE(v_actor_id, ''), v_reason, NULL, NULL,
        v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_acquired_ts, v_expires_ts, v_seconds_left
    );
    SET p_outcome = v_outcome;
    SET p_fence = v_fence;
    SET p_acquired_ts = v_acquired_ts;
    SET p_expires_ts = v_expires_ts;
    SET p_seconds_left = v_seconds_left;
    IF v_outcome = 'TRANSFERRED' THEN
        SET p_ok_fl = 'Y';
    ELSEIF v_outcome = 'HELD' THEN
        SET p_old_operator_id = v_old_operator_id;
        SET p_old_department_id = v_old_department_id;
    END IF;
END main
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE transfer_appl_lock IS 'Hand a held object from one operator to another.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE transfer_appl_lock_row (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_from_operator_id VARCHAR(4000),
    IN p_to_operator_id VARCHAR(4000),
    IN p_to_department_id VARCHAR(4000),
    IN p_ttl_seconds BIGINT,
    IN p_actor_id VARCHAR(4000),
    IN p_reason VARCHAR(4000)
)
SPECIFIC transfer_appl_lock_row
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_ok_fl CHAR(1);
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_old_operator_id VARCHAR(1020);
    DECLARE v_old_department_id VARCHAR(256);
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts TIMESTAMP;
    DECLARE v_expires_ts TIMESTAMP;
    DECLARE v_seconds_left BIGINT;
    CALL transfer_appl_lock(
        p_object_type, p_object_id, p_from_operator_id, p_to_operator_id, p_to_department_id, p_ttl_seconds, p_actor_id,
        p_reason,
        v_ok_fl, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_acquired_ts, v_expires_ts, v_seconds_left
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                v_ok_fl AS p_ok_fl,
                v_outcome AS p_outcome,
                v_old_operator_id AS p_old_operator_id,
                v_old_department_id AS p_old_department_id,
                v_fence AS p_fence,
                v_acquired_ts AS p_acquired_ts,
                v_expires_ts AS p_expires_ts,
                v_seconds_left AS p_seconds_left
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE transfer_appl_lock_row IS 'Hand a held object from one operator to another; the answer is one row.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE transfer_appl_locks (
    IN p_from_operator_id VARCHAR(4000),
    IN p_object_type VARCHAR(4000),
    IN p_to_operator_id VARCHAR(4000),
    IN p_to_department_id VARCHAR(4000),
    IN p_ttl_seconds BIGINT,
    IN p_actor_id VARCHAR(4000),
    IN p_reason VARCHAR(4000),
    IN p_after_type VARCHAR(4000),
    IN p_after_id VARCHAR(4000),
    IN p_max_rows BIGINT,
    IN p_dry_run_fl VARCHAR(4000)
)
SPECIFIC transfer_appl_locks
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_from_operator_id, v_to_operator_id, v_to_department_id VARCHAR(4000);
    DECLARE v_object_type, v_actor_id, v_reason, v_after_type, v_after_id, v_dry_run_fl VARCHAR(4000);
    DECLARE v_max_rows BIGINT;
    DECLARE v_now TIMESTAMP;
    DECLARE v_told INTEGER DEFAULT 0;
    DECLARE v_answers CLOB(16M);

    SET v_from_operator_id = RTRIM(COALESCE(p_from_operator_id, ''));
    SET v_object_type = RTRIM(p_object_type);
    SET v_to_operator_id = RTRIM(COALESCE(p_to_operator_id, ''));
    SET v_to_department_id = RTRIM(COALESCE(p_to_department_id, ''));
    SET v_actor_id = RTRIM(p_actor_id);
    SET v_reason = RTRIM(COALESCE(p_reason, ''));
    SET v_after_type = RTRIM(COALESCE(p_after_type, ''));
    SET v_after_id = RTRIM(COALESCE(p_after_id, ''));
    SET v_dry_run_fl = RTRIM(COALESCE(p_dry_run_fl, ''));
    SET v_max_rows = COALESCE(p_max_rows, 1000);
    IF CHARACTER_LENGTH(v_from_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_from_operator_id', CHARACTER_LENGTH(v_from_operator_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_to_operator_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_to_operator_id', CHARACTER_LENGTH(v_to_operator_id, OCTETS), 255);
    ELSEIF v_to_operator_id = v_from_operator_id THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'transfer_appl_locks: p_to_operator_id must be another one';
    ELSEIF CHARACTER_LENGTH(v_to_department_id, CODEUNITS32) > 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_to_department_id', CHARACTER_LENGTH(v_to_department_id, CODEUNITS32), 64);
    ELSEIF p_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('transfer_appl_locks', 'p_ttl_seconds', 315360000);
    ELSEIF CHARACTER_LENGTH(v_actor_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_actor_id', CHARACTER_LENGTH(v_actor_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_reason, CODEUNITS32) > 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_reason', CHARACTER_LENGTH(v_reason, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_after_type, CODEUNITS32) > 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_after_type', CHARACTER_LENGTH(v_after_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_after_id, CODEUNITS32) > 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_after_id', CHARACTER_LENGTH(v_after_id, CODEUNITS32), 255);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('transfer_appl_locks', 'p_max_rows', 10000);
    ELSEIF v_dry_run_fl NOT IN ('Y', 'N', '') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'transfer_appl_locks: p_dry_run_fl must be Y or N';
    END IF;
    IF LENGTH(RTRIM(TRANSLATE(
        v_from_operator_id || COALESCE(v_object_type, '') || v_to_operator_id || v_to_department_id || COALESCE(v_actor_id, ''), ' ',
        '0123456789abcdefghijklmnopqrstuvwxyz'
        || 'ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:-_/+*=()%&?', ' '))) > 0 THEN
        CALL appl_lock_check_text('transfer_appl_locks', 'p_from_operator_id', v_from_operator_id);
        CALL appl_lock_check_text('transfer_appl_locks', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('transfer_appl_locks', 'p_to_operator_id', v_to_operator_id);
        CALL appl_lock_check_text('transfer_appl_locks', 'p_to_department_id', v_to_department_id);
        CALL appl_lock_check_text('transfer_appl_locks', 'p_actor_id', v_actor_id);
    END IF;

    CALL appl_lock_move_page(
        v_from_operator_id, v_object_type, v_to_operator_id, v_to_department_id, p_ttl_seconds, COALESCE(v_actor_id, ''), v_reason,
        v_after_type, v_after_id, v_max_rows, v_dry_run_fl,
        v_told, v_answers
    );

    -- S3: the answer, with the holders of locks that were lost.
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            WITH told (n, verdict, object_type, object_id) AS (
                SELECT
                    p.n,
                    CAST(SUBSTRING(v_answers, 320 * p.n + 1, 1, CODEUNITS32) AS CHAR(1)),
                    RTRIM(CAST(SUBSTRING(v_answers, 320 * p.n + 2, 64, CODEUNITS32) AS VARCHAR(256))),
                    RTRIM(CAST(SUBSTRING(v_answers, 320 * p.n + 66, 255, CODEUNITS32) AS VARCHAR(1020)))
                FROM appl_lock_number AS p
                WHERE p.n < v_told
            )
            SELECT
                t.object_type,
                t.object_id,
                CASE
                    WHEN t.verdict = 'W' THEN CAST('WOULD_TRANSFER' AS VARCHAR(16))
                    WHEN t.verdict = 'D' THEN 'TRANSFERRED'
                    WHEN l.expires_ts IS NOT NULL THEN 'HELD'
                    ELSE 'FREE'
                END AS outcome,
                CASE WHEN t.verdict = 'L' AND l.expires_ts IS NOT NULL THEN l.operator_id ELSE '' END AS old_operator_id,
                CASE WHEN t.verdict = 'L' AND l.expires_ts IS NOT NULL THEN l.department_id ELSE '' END AS old_department_id,
                CASE WHEN t.verdict = 'L' THEN 0 ELSE COALESCE(r.fence, 0) END AS fence,
                l.expires_ts,
                CASE WHEN l.expires_ts IS NOT NULL THEN CAST(DAYS(l.expires_ts) - DAYS(v_now) AS BIGINT) * 86400
                    + MIDNIGHT_SECONDS(l.expires_ts) - MIDNIGHT_SECONDS(v_now)
                    + CASE WHEN MICROSECOND(l.expires_ts) > MICROSECOND(v_now) THEN 1 ELSE 0 END ELSE 0 END AS seconds_left
            FROM told AS t
            LEFT OUTER JOIN appl_lock AS r
                ON r.object_type = t.object_type
                AND r.object_id = t.object_id
            LEFT OUTER JOIN appl_lock AS l
                ON l.object_type = t.object_type
                AND l.object_id = t.object_id
                AND l.released_ts IS NULL
                AND l.expires_ts > v_now
            ORDER BY t.n
            WITH CS;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE transfer_appl_locks IS 'Hand over what an operator holds, all or of a type, page by page.'
-- +goose StatementEnd

-- +goose Down
-- CURRENT SCHEMA and CURRENT PATH name the schema: the client sets them.

-- +goose StatementBegin
DROP PROCEDURE transfer_appl_locks
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE transfer_appl_lock_row
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE transfer_appl_lock
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE take_appl_lock_row
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE take_appl_lock
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE set_appl_lock_policy_row
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE set_appl_lock_policy
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE serialize_appl_lock_row
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE serialize_appl_lock
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE see_appl_lock
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE retract_appl_lock_waiter_row
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE retract_appl_lock_waiter
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE renew_appl_locks
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE release_appl_locks
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE appl_lock_move_page
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE release_appl_lock_row
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE release_appl_lock
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE purge_appl_locks_row
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE purge_appl_locks
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE purge_appl_lock_history_row
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE purge_appl_lock_history
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE poll_appl_locks
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE note_appl_lock_row
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE note_appl_lock
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE inquire_appl_lock_row
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE inquire_appl_lock
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE inbox_appl_locks
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE get_appl_lock_permit
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE get_appl_lock_row
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE get_appl_lock
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE drop_appl_lock_policy_row
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE drop_appl_lock_policy
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE assert_appl_lock_row
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE assert_appl_lock
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE ask_appl_lock_row
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE ask_appl_lock
-- +goose StatementEnd

-- +goose StatementBegin
DROP FUNCTION appl_lock_version
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE answer_appl_lock_row
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE answer_appl_lock
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE announce_appl_lock_waiter_row
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE announce_appl_lock_waiter
-- +goose StatementEnd

-- +goose StatementBegin
DROP VIEW appl_lock_number
-- +goose StatementEnd

-- +goose StatementBegin
DROP VIEW appl_lock_stats
-- +goose StatementEnd

-- +goose StatementBegin
DROP VIEW appl_lock_policies
-- +goose StatementEnd

-- +goose StatementBegin
DROP VIEW appl_lock_history
-- +goose StatementEnd

-- +goose StatementBegin
DROP VIEW appl_lock_viewers
-- +goose StatementEnd

-- +goose StatementBegin
DROP VIEW appl_lock_asking
-- +goose StatementEnd

-- +goose StatementBegin
DROP VIEW appl_lock_waiting
-- +goose StatementEnd

-- +goose StatementBegin
DROP VIEW appl_lock_live
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE appl_lock_move
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE appl_lock_record
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE appl_lock_check_database
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE appl_lock_check_text
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE appl_lock_refuse_number
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE appl_lock_refuse_text
-- +goose StatementEnd
