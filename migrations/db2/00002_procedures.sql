-- Installs the procedures. Made by `make snapshot` from procedures/db2: edit them there.

-- +goose Up
-- CURRENT SCHEMA and CURRENT PATH name the schema: applockctl and the printed script set them.

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
        SET v_message = p_routine || ': ' || p_argument || ' has ' || CAST(p_length AS VARCHAR(20))
            || ' characters, max ' || CAST(p_max_length AS VARCHAR(20));
    ELSE
        SET v_message = p_routine || ': ' || p_argument || ' must not contain ":"';
    END IF;
    SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_message;
END
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
COMMENT ON SPECIFIC PROCEDURE appl_lock_refuse_text IS 'Internal to applock: raises LK001 for a text argument.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE appl_lock_refuse_number IS 'Internal to applock: raises LK001 for a number argument.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE appl_lock_check_database IS 'Internal to applock: raises LK001 where it cannot work.'
-- +goose StatementEnd

-- +goose StatementBegin
CALL appl_lock_check_database()
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
    DECLARE v_object_type VARCHAR(4000);
    DECLARE v_object_id VARCHAR(4000);
    DECLARE v_operator_id VARCHAR(4000);
    DECLARE v_rows INTEGER DEFAULT 0;
    DECLARE v_now TIMESTAMP;
    DECLARE v_old_operator_id VARCHAR(256);
    DECLARE v_old_fence BIGINT;
    DECLARE v_old_expires_ts TIMESTAMP;
    DECLARE v_message VARCHAR(512);

    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('assert_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('assert_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_operator_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('assert_appl_lock', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, CODEUNITS32), 64);
    ELSEIF COALESCE(p_fence, 0) < 1 THEN
        CALL appl_lock_refuse_number('assert_appl_lock', 'p_fence', 9223372036854775807);
    END IF;

    SET CURRENT LOCK TIMEOUT 1;
    -- S1: who holds it, and keep it so. The aggregates make it one row in any case.
    SELECT COUNT(*), MAX(l.operator_id), MAX(l.fence), MAX(l.expires_ts)
    INTO v_rows, v_old_operator_id, v_old_fence, v_old_expires_ts
    FROM appl_lock AS l
    WHERE l.object_type = v_object_type
        AND l.object_id = v_object_id
    WITH RS USE AND KEEP SHARE LOCKS;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    IF v_rows = 0 OR v_old_expires_ts <= v_now THEN
        SIGNAL SQLSTATE 'LK002' SET MESSAGE_TEXT = 'assert_appl_lock: nobody holds it';
    END IF;
    IF v_old_operator_id <> v_operator_id OR v_old_fence <> p_fence THEN
        SET v_message = 'assert_appl_lock: held with fence ' || CAST(v_old_fence AS VARCHAR(20)) || ' by ' || v_old_operator_id;
        SIGNAL SQLSTATE 'LK002' SET MESSAGE_TEXT = v_message;
    END IF;
END main
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
            SELECT 'Y' AS p_return_cd
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE assert_appl_lock IS 'Fail unless exactly this grant is live, and keep it so to the end of the transaction.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE assert_appl_lock_row IS 'Fail unless exactly this grant is live, and keep it so to the end of the transaction; the answer is one row.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE get_appl_lock (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_department_id VARCHAR(4000),
    IN p_ttl_seconds BIGINT,
    OUT p_lock_fl CHAR(1),
    OUT p_outcome VARCHAR(11),
    OUT p_old_operator_id VARCHAR(256),
    OUT p_old_department_id VARCHAR(256),
    OUT p_fence BIGINT,
    OUT p_expires_ts TIMESTAMP
)
SPECIFIC get_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_object_type VARCHAR(4000);
    DECLARE v_object_id VARCHAR(4000);
    DECLARE v_operator_id VARCHAR(4000);
    DECLARE v_department_id VARCHAR(4000);
    DECLARE v_ttl_seconds BIGINT;
    DECLARE v_round INTEGER DEFAULT 0;
    DECLARE v_rows INTEGER DEFAULT 0;
    DECLARE v_changed INTEGER DEFAULT 0;
    DECLARE v_now TIMESTAMP;
    DECLARE v_old_operator_id VARCHAR(256);
    DECLARE v_old_department_id VARCHAR(256);
    DECLARE v_old_fence BIGINT;
    DECLARE v_old_acquired_ts TIMESTAMP;
    DECLARE v_old_expires_ts TIMESTAMP;
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts TIMESTAMP;
    DECLARE v_lock_ts TIMESTAMP;
    DECLARE v_expires_ts TIMESTAMP;

    SET p_lock_fl = 'N';
    SET p_outcome = '';
    SET p_old_operator_id = '';
    SET p_old_department_id = '';
    SET p_fence = 0;
    SET p_expires_ts = NULL;
    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    SET v_department_id = RTRIM(COALESCE(p_department_id, ''));
    SET v_ttl_seconds = COALESCE(p_ttl_seconds, 604800);
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('get_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('get_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_operator_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('get_appl_lock', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_department_id, CODEUNITS32) > 64 THEN
        CALL appl_lock_refuse_text('get_appl_lock', 'p_department_id', CHARACTER_LENGTH(v_department_id, CODEUNITS32), 64);
    ELSEIF v_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('get_appl_lock', 'p_ttl_seconds', 315360000);
    END IF;

    SET CURRENT LOCK TIMEOUT 1;
    WHILE v_round < 3 DO
        SET v_round = v_round + 1;

        -- S1: what is there? The aggregates make it one row in any case.
        SELECT COUNT(*), MAX(l.operator_id), MAX(l.department_id), MAX(l.fence), MAX(l.acquired_ts), MAX(l.expires_ts)
        INTO v_rows, v_old_operator_id, v_old_department_id, v_old_fence, v_old_acquired_ts, v_old_expires_ts
        FROM appl_lock AS l
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
        WITH CS;
        SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
        IF v_rows = 1 AND v_old_expires_ts > v_now AND v_old_operator_id <> v_operator_id THEN
            SET p_outcome = 'HELD';
            SET p_old_operator_id = v_old_operator_id;
            SET p_old_department_id = v_old_department_id;
            SET p_expires_ts = v_old_expires_ts;
            LEAVE main;
        END IF;

        SET v_expires_ts = v_now + (v_ttl_seconds) SECOND;
        IF v_rows = 1 AND v_old_expires_ts > v_now THEN
            SET v_outcome = 'RENEWED';
            SET v_fence = v_old_fence;
            SET v_acquired_ts = v_old_acquired_ts;
            SET v_lock_ts = v_now;
            -- Later than acquired_ts in every renewal, whatever the clock does, as in every dialect.
            IF v_lock_ts <= v_acquired_ts THEN
                SET v_lock_ts = v_acquired_ts + (0.000001) SECOND;
            END IF;
        ELSE
            SET v_outcome = 'ACQUIRED';
            SET v_fence = CAST(DAYS(v_now) - DAYS(DATE('1970-01-01')) AS BIGINT) * 86400000000
                + CAST(MIDNIGHT_SECONDS(v_now) AS BIGINT) * 1000000
                + MICROSECOND(v_now);
            IF v_rows = 1 AND v_old_fence >= v_fence THEN
                SET v_fence = v_old_fence + 1;
            END IF;
            SET v_acquired_ts = v_now;
            SET v_lock_ts = v_now;
        END IF;

        -- S2: take or renew, if it is still so.
        IF v_rows = 1 THEN
            UPDATE appl_lock AS l
            SET operator_id = v_operator_id,
                department_id = v_department_id,
                fence = v_fence,
                acquired_ts = v_acquired_ts,
                lock_ts = v_lock_ts,
                expires_ts = v_expires_ts
            WHERE l.object_type = v_object_type
                AND l.object_id = v_object_id
                AND l.fence = v_old_fence
                AND l.expires_ts = v_old_expires_ts;
            GET DIAGNOSTICS v_changed = ROW_COUNT;
        ELSE
            BEGIN
                DECLARE CONTINUE HANDLER FOR SQLSTATE '23505' SET v_changed = 0;
                SET v_changed = 1;
                INSERT INTO appl_lock (
                    object_type,
                    object_id,
                    operator_id,
                    department_id,
                    fence,
                    acquired_ts,
                    lock_ts,
                    expires_ts
                )
                VALUES (
                    v_object_type,
                    v_object_id,
                    v_operator_id,
                    v_department_id,
                    v_fence,
                    v_acquired_ts,
                    v_lock_ts,
                    v_expires_ts
                );
            END;
        END IF;
        IF v_changed = 1 THEN
            SET p_lock_fl = 'Y';
            SET p_outcome = v_outcome;
            SET p_fence = v_fence;
            SET p_expires_ts = v_expires_ts;
            LEAVE main;
        END IF;
    END WHILE;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'get_appl_lock: changed hands during the call; call again';
END main
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE get_appl_lock_row (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_department_id VARCHAR(4000),
    IN p_ttl_seconds BIGINT
)
SPECIFIC get_appl_lock_row
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_lock_fl CHAR(1);
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_old_operator_id VARCHAR(256);
    DECLARE v_old_department_id VARCHAR(256);
    DECLARE v_fence BIGINT;
    DECLARE v_expires_ts TIMESTAMP;
    CALL get_appl_lock(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_ttl_seconds,
        v_lock_fl, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_expires_ts
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                v_lock_fl AS p_lock_fl,
                v_outcome AS p_outcome,
                v_old_operator_id AS p_old_operator_id,
                v_old_department_id AS p_old_department_id,
                v_fence AS p_fence,
                v_expires_ts AS p_expires_ts
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE get_appl_lock IS 'Take or renew the lock on an object for one operator until it expires.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE get_appl_lock_row IS 'Take or renew the lock on an object for one operator until it expires; the answer is one row.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE inquire_appl_lock (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    OUT p_return_cd CHAR(1),
    OUT p_operator_id VARCHAR(256),
    OUT p_department_id VARCHAR(256),
    OUT p_fence BIGINT,
    OUT p_acquired_ts TIMESTAMP,
    OUT p_lock_ts TIMESTAMP,
    OUT p_expires_ts TIMESTAMP
)
SPECIFIC inquire_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
READS SQL DATA
main: BEGIN
    DECLARE v_object_type VARCHAR(4000);
    DECLARE v_object_id VARCHAR(4000);
    DECLARE v_rows INTEGER DEFAULT 0;
    DECLARE v_now TIMESTAMP;
    DECLARE v_operator_id VARCHAR(256);
    DECLARE v_department_id VARCHAR(256);
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts TIMESTAMP;
    DECLARE v_lock_ts TIMESTAMP;
    DECLARE v_expires_ts TIMESTAMP;

    SET p_return_cd = 'N';
    SET p_operator_id = '';
    SET p_department_id = '';
    SET p_fence = 0;
    SET p_acquired_ts = NULL;
    SET p_lock_ts = NULL;
    SET p_expires_ts = NULL;
    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('inquire_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('inquire_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    END IF;

    -- The aggregates make it one row in any case.
    SELECT
        COUNT(*), MAX(l.operator_id), MAX(l.department_id), MAX(l.fence),
        MAX(l.acquired_ts), MAX(l.lock_ts), MAX(l.expires_ts)
    INTO v_rows, v_operator_id, v_department_id, v_fence, v_acquired_ts, v_lock_ts, v_expires_ts
    FROM appl_lock AS l
    WHERE l.object_type = v_object_type
        AND l.object_id = v_object_id
    WITH CS;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    IF v_rows = 1 AND v_expires_ts > v_now THEN
        SET p_return_cd = 'Y';
        SET p_operator_id = v_operator_id;
        SET p_department_id = v_department_id;
        SET p_fence = v_fence;
        SET p_acquired_ts = v_acquired_ts;
        SET p_lock_ts = v_lock_ts;
        SET p_expires_ts = v_expires_ts;
    END IF;
END main
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
    DECLARE v_return_cd CHAR(1);
    DECLARE v_operator_id VARCHAR(256);
    DECLARE v_department_id VARCHAR(256);
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts TIMESTAMP;
    DECLARE v_lock_ts TIMESTAMP;
    DECLARE v_expires_ts TIMESTAMP;
    CALL inquire_appl_lock(
        p_object_type, p_object_id,
        v_return_cd, v_operator_id, v_department_id, v_fence, v_acquired_ts, v_lock_ts, v_expires_ts
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                v_return_cd AS p_return_cd,
                v_operator_id AS p_operator_id,
                v_department_id AS p_department_id,
                v_fence AS p_fence,
                v_acquired_ts AS p_acquired_ts,
                v_lock_ts AS p_lock_ts,
                v_expires_ts AS p_expires_ts
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE inquire_appl_lock IS 'Who holds an object, since when and until when.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE inquire_appl_lock_row IS 'Who holds an object, since when and until when; the answer is one row.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE list_appl_locks (
    IN p_object_type VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_department_id VARCHAR(4000),
    IN p_after_type VARCHAR(4000),
    IN p_after_id VARCHAR(4000),
    IN p_max_rows BIGINT
)
SPECIFIC list_appl_locks
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
READS SQL DATA
BEGIN
    DECLARE v_object_type VARCHAR(4000);
    DECLARE v_operator_id VARCHAR(4000);
    DECLARE v_department_id VARCHAR(4000);
    DECLARE v_after_type VARCHAR(4000);
    DECLARE v_after_id VARCHAR(4000);
    DECLARE v_max_rows BIGINT;
    DECLARE v_limit INTEGER;
    DECLARE v_now TIMESTAMP;

    SET v_object_type = RTRIM(p_object_type);
    SET v_operator_id = RTRIM(p_operator_id);
    SET v_department_id = RTRIM(p_department_id);
    SET v_after_type = RTRIM(COALESCE(p_after_type, ''));
    SET v_after_id = RTRIM(COALESCE(p_after_id, ''));
    SET v_max_rows = COALESCE(p_max_rows, 1000);
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('list_appl_locks', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_operator_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('list_appl_locks', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_department_id, CODEUNITS32) > 64 THEN
        CALL appl_lock_refuse_text('list_appl_locks', 'p_department_id', CHARACTER_LENGTH(v_department_id, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_after_type, CODEUNITS32) > 64 THEN
        CALL appl_lock_refuse_text('list_appl_locks', 'p_after_type', CHARACTER_LENGTH(v_after_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_after_id, CODEUNITS32) > 255 THEN
        CALL appl_lock_refuse_text('list_appl_locks', 'p_after_id', CHARACTER_LENGTH(v_after_id, CODEUNITS32), 255);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('list_appl_locks', 'p_max_rows', 10000);
    END IF;

    SET v_limit = v_max_rows;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                l.object_type,
                l.object_id,
                l.operator_id,
                l.department_id,
                l.fence,
                l.acquired_ts,
                l.lock_ts,
                l.expires_ts
            FROM appl_lock AS l
            WHERE l.object_type >= v_after_type
                AND (l.object_type > v_after_type OR l.object_id > v_after_id)
                AND (v_object_type IS NULL OR l.object_type = v_object_type)
                AND (v_operator_id IS NULL OR l.operator_id = v_operator_id)
                AND (v_department_id IS NULL OR l.department_id = v_department_id)
                AND l.expires_ts > v_now
            ORDER BY l.object_type, l.object_id
            FETCH FIRST v_limit ROWS ONLY
            WITH CS;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE list_appl_locks IS 'One page of the live locks in key order, all or those of a type, operator or department.'
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
    DECLARE v_older_than_seconds BIGINT;
    DECLARE v_max_rows BIGINT;
    DECLARE v_limit INTEGER;
    DECLARE v_now TIMESTAMP;
    DECLARE v_now_us BIGINT;
    DECLARE v_before TIMESTAMP;
    DECLARE v_changed INTEGER DEFAULT 0;
    DECLARE v_purged BIGINT DEFAULT 0;

    SET p_purged = 0;
    SET v_older_than_seconds = COALESCE(p_older_than_seconds, 2592000);
    SET v_max_rows = COALESCE(p_max_rows, 1000);
    IF v_older_than_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('purge_appl_locks', 'p_older_than_seconds', 315360000);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('purge_appl_locks', 'p_max_rows', 10000);
    END IF;

    SET v_limit = v_max_rows;
    SET CURRENT LOCK TIMEOUT 1;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    SET v_now_us = CAST(DAYS(v_now) - DAYS(DATE('1970-01-01')) AS BIGINT) * 86400000000
        + CAST(MIDNIGHT_SECONDS(v_now) AS BIGINT) * 1000000
        + MICROSECOND(v_now);
    SET v_before = v_now - (v_older_than_seconds) SECOND;
    -- S1: what could go?
    FOR candidate AS
        SELECT
            l.object_type AS c_object_type,
            l.object_id AS c_object_id,
            l.fence AS c_fence,
            l.expires_ts AS c_expires_ts
        FROM appl_lock AS l
        WHERE l.expires_ts < v_before
            AND l.fence < v_now_us
        FETCH FIRST v_limit ROWS ONLY
        WITH CS
    DO
        -- S2: remove it, if it is still so.
        DELETE FROM appl_lock
        WHERE object_type = c_object_type
            AND object_id = c_object_id
            AND fence = c_fence
            AND expires_ts = c_expires_ts;
        GET DIAGNOSTICS v_changed = ROW_COUNT;
        SET v_purged = v_purged + v_changed;
    END FOR;
    SET p_purged = v_purged;
END
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
            SELECT v_purged AS p_purged
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE purge_appl_locks IS 'Remove the rows of objects that have been free for long.'
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
    OUT p_return_cd CHAR(1),
    OUT p_outcome VARCHAR(11),
    OUT p_old_operator_id VARCHAR(256),
    OUT p_old_department_id VARCHAR(256)
)
SPECIFIC release_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_object_type VARCHAR(4000);
    DECLARE v_object_id VARCHAR(4000);
    DECLARE v_operator_id VARCHAR(4000);
    DECLARE v_round INTEGER DEFAULT 0;
    DECLARE v_rows INTEGER DEFAULT 0;
    DECLARE v_changed INTEGER DEFAULT 0;
    DECLARE v_now TIMESTAMP;
    DECLARE v_old_operator_id VARCHAR(256);
    DECLARE v_old_department_id VARCHAR(256);
    DECLARE v_old_fence BIGINT;
    DECLARE v_old_expires_ts TIMESTAMP;

    SET p_return_cd = 'N';
    SET p_outcome = '';
    SET p_old_operator_id = '';
    SET p_old_department_id = '';
    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('release_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('release_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_operator_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('release_appl_lock', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, CODEUNITS32), 64);
    ELSEIF p_fence < 1 THEN
        CALL appl_lock_refuse_number('release_appl_lock', 'p_fence', 9223372036854775807);
    END IF;

    SET CURRENT LOCK TIMEOUT 1;
    WHILE v_round < 3 DO
        SET v_round = v_round + 1;

        -- S1: who holds it? The aggregates make it one row in any case.
        SELECT COUNT(*), MAX(l.operator_id), MAX(l.department_id), MAX(l.fence), MAX(l.expires_ts)
        INTO v_rows, v_old_operator_id, v_old_department_id, v_old_fence, v_old_expires_ts
        FROM appl_lock AS l
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
        WITH CS;
        SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
        IF v_rows = 0 OR v_old_expires_ts <= v_now THEN
            SET p_return_cd = 'Y';
            SET p_outcome = 'FREE';
            LEAVE main;
        END IF;
        IF v_old_operator_id <> v_operator_id OR v_old_fence <> COALESCE(p_fence, v_old_fence) THEN
            SET p_outcome = 'HELD';
            SET p_old_operator_id = v_old_operator_id;
            SET p_old_department_id = v_old_department_id;
            LEAVE main;
        END IF;

        -- S2: end this grant, if it is still so.
        UPDATE appl_lock AS l
        SET expires_ts = v_now
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.fence = v_old_fence
            AND l.expires_ts = v_old_expires_ts;
        GET DIAGNOSTICS v_changed = ROW_COUNT;
        IF v_changed = 1 THEN
            SET p_return_cd = 'Y';
            SET p_outcome = 'RELEASED';
            LEAVE main;
        END IF;
    END WHILE;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'release_appl_lock: changed hands during the call; call again';
END main
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE release_appl_lock_row (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_fence BIGINT
)
SPECIFIC release_appl_lock_row
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_return_cd CHAR(1);
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_old_operator_id VARCHAR(256);
    DECLARE v_old_department_id VARCHAR(256);
    CALL release_appl_lock(
        p_object_type, p_object_id, p_operator_id, p_fence,
        v_return_cd, v_outcome, v_old_operator_id, v_old_department_id
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                v_return_cd AS p_return_cd,
                v_outcome AS p_outcome,
                v_old_operator_id AS p_old_operator_id,
                v_old_department_id AS p_old_department_id
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE release_appl_lock IS 'End the grant that an operator holds on an object.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE release_appl_lock_row IS 'End the grant that an operator holds on an object; the answer is one row.'
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
    DECLARE v_object_type VARCHAR(4000);
    DECLARE v_object_id VARCHAR(4000);

    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('serialize_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('serialize_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
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
            SELECT 'Y' AS p_return_cd
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE serialize_appl_lock IS 'Let one transaction at a time work on an object.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE serialize_appl_lock_row IS 'Let one transaction at a time work on an object; the answer is one row.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE transfer_appl_lock (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_from_operator_id VARCHAR(4000),
    IN p_to_operator_id VARCHAR(4000),
    IN p_to_department_id VARCHAR(4000),
    IN p_ttl_seconds BIGINT,
    OUT p_return_cd CHAR(1),
    OUT p_outcome VARCHAR(11),
    OUT p_old_operator_id VARCHAR(256),
    OUT p_old_department_id VARCHAR(256),
    OUT p_fence BIGINT,
    OUT p_expires_ts TIMESTAMP
)
SPECIFIC transfer_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_object_type VARCHAR(4000);
    DECLARE v_object_id VARCHAR(4000);
    DECLARE v_from_operator_id VARCHAR(4000);
    DECLARE v_to_operator_id VARCHAR(4000);
    DECLARE v_to_department_id VARCHAR(4000);
    DECLARE v_ttl_seconds BIGINT;
    DECLARE v_round INTEGER DEFAULT 0;
    DECLARE v_rows INTEGER DEFAULT 0;
    DECLARE v_changed INTEGER DEFAULT 0;
    DECLARE v_now TIMESTAMP;
    DECLARE v_old_operator_id VARCHAR(256);
    DECLARE v_old_department_id VARCHAR(256);
    DECLARE v_old_fence BIGINT;
    DECLARE v_old_expires_ts TIMESTAMP;
    DECLARE v_fence BIGINT;
    DECLARE v_expires_ts TIMESTAMP;

    SET p_return_cd = 'N';
    SET p_outcome = '';
    SET p_old_operator_id = '';
    SET p_old_department_id = '';
    SET p_fence = 0;
    SET p_expires_ts = NULL;
    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET v_from_operator_id = RTRIM(COALESCE(p_from_operator_id, ''));
    SET v_to_operator_id = RTRIM(COALESCE(p_to_operator_id, ''));
    SET v_to_department_id = RTRIM(COALESCE(p_to_department_id, ''));
    SET v_ttl_seconds = COALESCE(p_ttl_seconds, 604800);
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_from_operator_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_from_operator_id', CHARACTER_LENGTH(v_from_operator_id, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_to_operator_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_to_operator_id', CHARACTER_LENGTH(v_to_operator_id, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_to_department_id, CODEUNITS32) > 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_to_department_id', CHARACTER_LENGTH(v_to_department_id, CODEUNITS32), 64);
    ELSEIF v_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('transfer_appl_lock', 'p_ttl_seconds', 315360000);
    END IF;

    SET CURRENT LOCK TIMEOUT 1;
    WHILE v_round < 3 DO
        SET v_round = v_round + 1;

        -- S1: who holds it? The aggregates make it one row in any case.
        SELECT COUNT(*), MAX(l.operator_id), MAX(l.department_id), MAX(l.fence), MAX(l.expires_ts)
        INTO v_rows, v_old_operator_id, v_old_department_id, v_old_fence, v_old_expires_ts
        FROM appl_lock AS l
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
        WITH CS;
        SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
        IF v_rows = 0 OR v_old_expires_ts <= v_now THEN
            SET p_outcome = 'FREE';
            LEAVE main;
        END IF;
        IF v_old_operator_id <> v_from_operator_id THEN
            SET p_outcome = 'HELD';
            SET p_old_operator_id = v_old_operator_id;
            SET p_old_department_id = v_old_department_id;
            SET p_expires_ts = v_old_expires_ts;
            LEAVE main;
        END IF;

        SET v_expires_ts = v_now + (v_ttl_seconds) SECOND;
        SET v_fence = CAST(DAYS(v_now) - DAYS(DATE('1970-01-01')) AS BIGINT) * 86400000000
            + CAST(MIDNIGHT_SECONDS(v_now) AS BIGINT) * 1000000
            + MICROSECOND(v_now);
        IF v_old_fence >= v_fence THEN
            SET v_fence = v_old_fence + 1;
        END IF;

        -- S2: a new grant for the other operator, if it is still so.
        UPDATE appl_lock AS l
        SET operator_id = v_to_operator_id,
            department_id = v_to_department_id,
            fence = v_fence,
            acquired_ts = v_now,
            lock_ts = v_now,
            expires_ts = v_expires_ts
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.fence = v_old_fence
            AND l.expires_ts = v_old_expires_ts;
        GET DIAGNOSTICS v_changed = ROW_COUNT;
        IF v_changed = 1 THEN
            SET p_return_cd = 'Y';
            SET p_outcome = 'TRANSFERRED';
            SET p_fence = v_fence;
            SET p_expires_ts = v_expires_ts;
            LEAVE main;
        END IF;
    END WHILE;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'transfer_appl_lock: changed hands during the call; call again';
END main
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE transfer_appl_lock_row (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_from_operator_id VARCHAR(4000),
    IN p_to_operator_id VARCHAR(4000),
    IN p_to_department_id VARCHAR(4000),
    IN p_ttl_seconds BIGINT
)
SPECIFIC transfer_appl_lock_row
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_return_cd CHAR(1);
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_old_operator_id VARCHAR(256);
    DECLARE v_old_department_id VARCHAR(256);
    DECLARE v_fence BIGINT;
    DECLARE v_expires_ts TIMESTAMP;
    CALL transfer_appl_lock(
        p_object_type, p_object_id, p_from_operator_id, p_to_operator_id, p_to_department_id, p_ttl_seconds,
        v_return_cd, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_expires_ts
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT
                v_return_cd AS p_return_cd,
                v_outcome AS p_outcome,
                v_old_operator_id AS p_old_operator_id,
                v_old_department_id AS p_old_department_id,
                v_fence AS p_fence,
                v_expires_ts AS p_expires_ts
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE transfer_appl_lock IS 'Hand a held object from one operator to another.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON SPECIFIC PROCEDURE transfer_appl_lock_row IS 'Hand a held object from one operator to another; the answer is one row.'
-- +goose StatementEnd


-- +goose Down
-- CURRENT SCHEMA and CURRENT PATH name the schema: applockctl and the printed script set them.

-- +goose StatementBegin
DROP PROCEDURE transfer_appl_lock_row
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE transfer_appl_lock
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE serialize_appl_lock_row
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE serialize_appl_lock
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
DROP PROCEDURE list_appl_locks
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE inquire_appl_lock_row
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE inquire_appl_lock
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE get_appl_lock_row
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE get_appl_lock
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE assert_appl_lock_row
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE assert_appl_lock
-- +goose StatementEnd

-- +goose StatementBegin
DROP FUNCTION appl_lock_version
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE appl_lock_check_database
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE appl_lock_refuse_number
-- +goose StatementEnd

-- +goose StatementBegin
DROP PROCEDURE appl_lock_refuse_text
-- +goose StatementEnd


