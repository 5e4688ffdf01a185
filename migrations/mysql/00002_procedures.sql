-- Installs the procedures. Made by `make snapshot` from procedures/mysql: edit them there.

-- +goose Up
-- A routine keeps the sql_mode that it was created with: so it is ours, not the session's.
SET @applock_sql_mode = @@SESSION.sql_mode;
SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION';

DROP PROCEDURE IF EXISTS appl_lock_text;
-- +goose StatementBegin
-- appl_lock_owner, appl_lock_key, appl_lock_text, appl_lock_number: check arguments. Internal: nobody is granted these.
--
-- Contract   Each returns when the argument is good, trimmed of trailing blanks, and raises otherwise. A NULL text stays NULL,
--            unless it must not be empty; a NULL number is good.
-- In         p_routine and p_argument name the argument in the message. p_name_fl: Y for a name, which has no control character.
-- Out        The trimmed text.
-- Raises     LK001 with the routine, the argument and the reason.
-- Locks      Nothing.
-- Race-free  They read nothing.
-- Differs    Procedures: creating a function needs SUPER where the binary log is on.

CREATE PROCEDURE appl_lock_text(
    IN p_routine VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_argument VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_name_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_min_length BIGINT,
    IN p_max_length BIGINT,
    INOUT p_text LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: checks a text argument.'
CONTAINS SQL
SQL SECURITY DEFINER
BEGIN
    DECLARE v_message VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    SET p_text = RTRIM(p_text);
    SET v_message = CASE
        WHEN CHAR_LENGTH(COALESCE(p_text, '')) < p_min_length THEN ' must not be empty'
        WHEN CHAR_LENGTH(p_text) > p_max_length
            THEN CONCAT(' has ', CHAR_LENGTH(p_text), ' characters, at most ', p_max_length, ' are allowed')
        WHEN p_argument = 'p_object_type' AND LOCATE(':', p_text) > 0
            THEN ' must not contain ":", which ends the type in type:id'
        -- The UTF-8 of U+0000 to U+001F, U+007F, and U+0080 to U+009F.
        WHEN p_name_fl = 'Y' AND HEX(p_text) REGEXP '^(..)*([01].|7F|C2[89].)' THEN ' must not contain a control character'
    END;
    IF v_message IS NOT NULL THEN
        SET v_message = CONCAT(p_routine, ': ', p_argument, v_message);
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_message;
    END IF;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS appl_lock_key;
-- +goose StatementBegin
CREATE PROCEDURE appl_lock_key(
    IN p_routine VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    INOUT p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    INOUT p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: checks the type and the id of an object.'
CONTAINS SQL
SQL SECURITY DEFINER
BEGIN
    CALL appl_lock_text(p_routine, 'p_object_type', 'Y', 1, 64, p_object_type);
    CALL appl_lock_text(p_routine, 'p_object_id', 'Y', 1, 255, p_object_id);
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS appl_lock_owner;
-- +goose StatementBegin
CREATE PROCEDURE appl_lock_owner(
    IN p_routine VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    INOUT p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    INOUT p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    INOUT p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    INOUT p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: checks an object, an operator and a department.'
CONTAINS SQL
SQL SECURITY DEFINER
BEGIN
    DECLARE v_all LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT CONCAT_WS('', p_object_type, p_object_id, p_operator_id, p_department_id);
    -- Each CALL costs as much as a look by key. Printable ASCII without blanks needs none: JSON_QUOTE makes a control character longer.
    IF (
        LENGTH(JSON_QUOTE(v_all)) = CHAR_LENGTH(v_all) + 2
        AND LOCATE(' ', v_all) = 0
        AND LOCATE(x'7F', v_all) = 0
        AND LOCATE(':', p_object_type) = 0
        AND CHAR_LENGTH(p_object_type) BETWEEN 1 AND 64
        AND CHAR_LENGTH(p_object_id) BETWEEN 1 AND 255
        AND CHAR_LENGTH(p_operator_id) BETWEEN 1 AND 255
        AND COALESCE(CHAR_LENGTH(p_department_id), 0) <= 64
    ) IS NOT TRUE THEN
        CALL appl_lock_key(p_routine, p_object_type, p_object_id);
        CALL appl_lock_text(p_routine, 'p_operator_id', 'Y', 1, 255, p_operator_id);
        CALL appl_lock_text(p_routine, 'p_department_id', 'Y', 0, 64, p_department_id);
    END IF;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS appl_lock_number;
-- +goose StatementBegin
CREATE PROCEDURE appl_lock_number(
    IN p_routine VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_argument VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max BIGINT,
    IN p_number BIGINT
)
COMMENT 'Internal to applock: checks a number argument.'
CONTAINS SQL
SQL SECURITY DEFINER
BEGIN
    DECLARE v_message VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    IF p_number NOT BETWEEN 1 AND p_max THEN
        SET v_message = CONCAT(p_routine, ': ', p_argument, ' must lie between 1 and ', p_max);
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_message;
    END IF;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS appl_lock_record;
-- +goose StatementBegin
-- appl_lock_record: write an event of the history. Internal: nobody is granted it.
--
-- Contract   Writes one row of appl_lock_event, with the user of the session. (MySQL tells the program's name only to a reader of
--            performance_schema.) The number is the table's next one, whatever SET insert_id said, and LAST_INSERT_ID stays.
--            Numbers never fall, as fences do not: where the next one is behind the clock by more than a minute, the event gets
--            the clock, in microseconds, which raises the table's numbers. So a counter that was lost or set back does no harm.
-- In         The columns of the event.
-- Out        None.
-- Raises     Nothing of its own.
-- Locks      Nothing but the new row.
-- Race-free  The routine resets a forced number before the INSERT. MySQL then forces 0 once: that row is deleted, and the next
--            INSERT gets the table's number.
--            Connections raise to numbers that are 1024 apart, so two that raise at once have two numbers, and neither waits; a
--            number that exists nevertheless is drawn anew. A raised number is the table's at once, whatever becomes of the transaction.
-- Differs    From PostgreSQL, where no session chooses a number. The raise is an INSERT: DDL would commit the caller's transaction.
--            A minute, not a second, since it costs two more writes; inbox_appl_locks looks back further. The engine keeps the
--            table's number above every row.

CREATE PROCEDURE appl_lock_record(
    IN p_event VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_actor_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_from_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_from_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_from_fence BIGINT,
    IN p_to_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_fence BIGINT,
    IN p_reason VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: writes an event of the history.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_insert_id BIGINT UNSIGNED DEFAULT LAST_INSERT_ID();
    DECLARE v_clock BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
    DECLARE v_event_id BIGINT;
    DECLARE v_step BIGINT;
    DECLARE v_taken BOOLEAN DEFAULT FALSE;
    -- Somebody else has raised the numbers meanwhile, or has drawn this one since.
    DECLARE CONTINUE HANDLER FOR 1062 SET v_taken = TRUE;
    IF @@SESSION.insert_id <> 0 THEN
        SET SESSION insert_id = 0;
    END IF;
    DO LAST_INSERT_ID(0);
    numbered: LOOP
        INSERT INTO appl_lock_event (
            event_id, event_ts, object_type, object_id, event, actor_id, db_user, program,
            from_operator_id, from_department_id, to_operator_id, to_department_id, from_fence, to_fence, reason
        )
        VALUES (
            v_event_id, UTC_TIMESTAMP(6), p_object_type, p_object_id, p_event, p_actor_id, LEFT(USER(), 255), '',
            p_from_operator_id, p_from_department_id, p_to_operator_id, p_to_department_id, p_from_fence, p_to_fence, p_reason
        );
        IF v_taken THEN
            SET v_taken = FALSE;
            SET v_event_id = NULL;
            DO LAST_INSERT_ID(0);
            ITERATE numbered;
        END IF;
        IF v_event_id > 0 OR LAST_INSERT_ID() > v_clock - 60000000 THEN
            LEAVE numbered;
        END IF;
        DELETE FROM appl_lock_event WHERE event_id = LAST_INSERT_ID();
        IF LAST_INSERT_ID() > 0 THEN
            -- 1024 of this server's numbers apart, so that what others draw behind the number of one meets no number of another.
            SET v_step = 1024 * @@SESSION.auto_increment_increment;
            SET v_event_id = (v_clock DIV v_step + MOD(CONNECTION_ID(), 1024)) * v_step + @@SESSION.auto_increment_offset;
        END IF;
    END LOOP numbered;
    DO LAST_INSERT_ID(v_insert_id);
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS appl_lock_move;
-- +goose StatementBegin
-- appl_lock_move: hand a held object to an operator, for take, transfer, answer and ask. appl_lock_holder, appl_lock_unask:
-- helpers of answer and ask. Internal: nobody is granted these.
--
-- Contract   As take_appl_lock, p_event TAKEN, and transfer_appl_lock, p_event TRANSFERRED. With p_first_seconds the ttl is the
--            policy's, but the grant ends after p_first_seconds unless it is renewed.
--            appl_lock_holder returns the holder of an object. appl_lock_unask removes an operator's requests for an object.
-- In         Checked arguments. p_from_operator_id, p_expected_fence: NULL = any. p_unchanged_ts: the lock_ts that the grant
--            must still have: a renewal since then makes the answer HELD. p_first_seconds: NULL = as long as the ttl says.
-- Out        As the operations.
-- Raises     As the operations.
-- Locks      The object's row, to the end of the caller's transaction, and the policy's for reading. With p_lock,
--            appl_lock_holder locks the row. In a transaction appl_lock_unask locks the requests, and skips those that another
--            transaction has locked.
-- Race-free  S1 reads the row and locks it, so S2 changes what S1 has read. S1, S2 and the event are one transaction: the caller's,
--            or one of the call's own. It uses only locking reads: a plain read would fix a snapshot that is too old for a later
--            get.
-- Differs    No 40001: InnoDB judges the newest row.

CREATE PROCEDURE appl_lock_move(
    IN p_event VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_from_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_expected_fence BIGINT,
    IN p_to_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
    IN p_actor_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_unchanged_ts DATETIME(6),
    IN p_first_seconds BIGINT,
    OUT p_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_acquired_ts DATETIME(6),
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT
)
COMMENT 'Internal to applock: moves the grant of a held object to an operator.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
main: BEGIN
    DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_now DATETIME(6);
    DECLARE v_fence BIGINT;
    DECLARE v_lock_ts DATETIME(6);
    DECLARE v_ttl_seconds BIGINT;
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_default_ttl_seconds BIGINT;
    DECLARE v_longest_ttl_seconds BIGINT;
    DECLARE v_all_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_take_reason_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- 1422: a function or trigger, which has a transaction.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    CALL appl_lock_policy(p_object_type, v_default_ttl_seconds, v_longest_ttl_seconds, v_all_fl, v_take_reason_fl);
    IF p_event = 'TAKEN' AND v_take_reason_fl = 'Y' THEN
        CALL appl_lock_text('take_appl_lock', 'p_reason', 'N', 1, 255, p_reason);
    END IF;
    CALL appl_lock_begin(v_began);
    -- S1: who holds it?
    SET p_old_operator_id = '';
    SET p_old_department_id = '';
    SELECT l.operator_id, l.department_id, l.fence, l.acquired_ts, l.lock_ts, l.ttl_seconds, l.expires_ts
    INTO p_old_operator_id, p_old_department_id, v_fence, p_acquired_ts, v_lock_ts, v_ttl_seconds, v_expires_ts
    FROM appl_lock AS l
    WHERE l.object_type = p_object_type
        AND l.object_id = p_object_id
        AND l.released_ts IS NULL
        AND l.expires_ts > UTC_TIMESTAMP(6)
    FOR UPDATE;
    SET v_now = UTC_TIMESTAMP(6);
    IF v_fence IS NULL OR p_old_operator_id <> p_from_operator_id OR v_fence <> p_expected_fence OR v_lock_ts <> p_unchanged_ts THEN
        IF v_began THEN
            CALL appl_lock_end(TRUE);
        END IF;
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        SET p_ok_fl = 'N';
        SET p_outcome = IF(v_fence IS NULL, 'FREE', 'HELD');
        SET p_fence = 0;
        SET p_expires_ts = v_expires_ts;
        SET p_seconds_left = COALESCE(GREATEST((TIMESTAMPDIFF(MICROSECOND, v_now, v_expires_ts) + 999999) DIV 1000000, 1), 0);
        LEAVE main;
    END IF;

    -- S2: a new grant.
    SET p_fence = GREATEST(v_fence + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', v_now));
    SET v_ttl_seconds = LEAST(
        IF(p_first_seconds IS NULL, COALESCE(p_ttl_seconds, v_ttl_seconds), v_default_ttl_seconds), v_longest_ttl_seconds
    );
    SET p_seconds_left = LEAST(v_ttl_seconds, COALESCE(p_first_seconds, v_ttl_seconds));
    SET p_acquired_ts = v_now;
    SET p_expires_ts = v_now + INTERVAL p_seconds_left SECOND;
    UPDATE appl_lock AS l
    SET l.operator_id = p_to_operator_id,
        l.department_id = p_to_department_id,
        l.fence = p_fence,
        l.acquired_ts = v_now,
        l.lock_ts = GREATEST(v_now, v_lock_ts + INTERVAL 1 MICROSECOND),
        l.ttl_seconds = v_ttl_seconds,
        l.expires_ts = p_expires_ts,
        l.note = ''
    WHERE l.object_type = p_object_type
        AND l.object_id = p_object_id;
    CALL appl_lock_record(
        p_event, p_object_type, p_object_id, p_actor_id, p_old_operator_id, p_old_department_id, v_fence,
        p_to_operator_id, p_to_department_id, p_fence, p_reason
    );
    IF v_began THEN
        CALL appl_lock_end(TRUE);
    END IF;
    SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
    SET p_ok_fl = 'Y';
    SET p_outcome = p_event;
    -- Only a take answers with the former holder.
    IF p_event <> 'TAKEN' OR p_old_operator_id = p_to_operator_id THEN
        SET p_old_operator_id = '';
        SET p_old_department_id = '';
    END IF;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS appl_lock_holder;
-- +goose StatementBegin
CREATE PROCEDURE appl_lock_holder(
    IN p_lock BOOLEAN,
    IN p_object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_holder_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_acquired_ts DATETIME(6),
    OUT p_lock_ts DATETIME(6),
    OUT p_ttl_seconds BIGINT,
    OUT p_expires_ts DATETIME(6)
)
COMMENT 'Internal to applock: returns the holder of an object, NULL for none, optionally by a locking read.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    IF p_lock THEN
        SELECT l.operator_id, l.department_id, l.fence, l.acquired_ts, l.lock_ts, l.ttl_seconds, l.expires_ts
        INTO p_holder_id, p_department_id, p_fence, p_acquired_ts, p_lock_ts, p_ttl_seconds, p_expires_ts
        FROM appl_lock AS l
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
            AND l.released_ts IS NULL
            AND l.expires_ts > UTC_TIMESTAMP(6)
        FOR UPDATE;
    ELSE
        SELECT l.operator_id, l.department_id, l.fence, l.acquired_ts, l.lock_ts, l.ttl_seconds, l.expires_ts
        INTO p_holder_id, p_department_id, p_fence, p_acquired_ts, p_lock_ts, p_ttl_seconds, p_expires_ts
        FROM appl_lock AS l
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
            AND l.released_ts IS NULL
            AND l.expires_ts > UTC_TIMESTAMP(6);
    END IF;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS appl_lock_unask;
-- +goose StatementBegin
CREATE PROCEDURE appl_lock_unask(
    IN p_object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: removes the requests of an operator for an object, except rows that another transaction has locked.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_client_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_more BOOLEAN DEFAULT TRUE;
    DECLARE requests CURSOR FOR
        SELECT a.client_id
        FROM appl_lock_ask AS a FORCE INDEX (PRIMARY)
        WHERE a.object_type = p_object_type
            AND a.object_id = p_object_id
            AND a.operator_id = p_operator_id
        FOR UPDATE SKIP LOCKED;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_more = FALSE;
    OPEN requests;
    FETCH requests INTO v_client_id;
    WHILE v_more DO
        DELETE FROM appl_lock_ask
        WHERE object_type = p_object_type
            AND object_id = p_object_id
            AND operator_id = p_operator_id
            AND client_id = v_client_id;
        FETCH requests INTO v_client_id;
    END WHILE;
    CLOSE requests;
END;
-- +goose StatementEnd

DROP VIEW IF EXISTS appl_lock_live;
-- +goose StatementBegin
-- The views: locks, waiters, requests, viewers, events, policies and numbers, for SELECT. internal/db/views.go has their
-- columns.
--
-- Contract   A row for each live lock, waiter, request and viewer that is listed, event, policy, and type with department. Page
--            by a WHERE on the key behind the last row, ORDER BY and LIMIT. Join appl_lock_live with a table by (object_type, object_id).
-- In         None.
-- Out        Their columns. Seconds that lie ahead are rounded up, those that lie behind are rounded down.
-- Raises     Nothing.
-- Locks      Nothing; a reader waits only in a transaction at SERIALIZABLE.
-- Race-free  A query is one snapshot, in a transaction at REPEATABLE READ that of the transaction.
-- Differs    UTC_TIMESTAMP(6) is the clock, so SET timestamp deceives the session's own reads. `(a, b) > (?, ?)` is no range here: write
--            `a > ? OR a = ? AND b > ?`. appl_lock_stats reads the tables from end to end and makes a temporary table.

CREATE ALGORITHM = MERGE SQL SECURITY DEFINER VIEW appl_lock_live AS
SELECT
    l.object_type,
    l.object_id,
    l.operator_id,
    l.department_id,
    l.fence,
    l.acquired_ts,
    l.lock_ts,
    l.expires_ts,
    (TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.expires_ts) + 999999) DIV 1000000 AS seconds_left,
    l.ttl_seconds,
    l.note
FROM appl_lock AS l
WHERE l.released_ts IS NULL
    AND l.expires_ts > UTC_TIMESTAMP(6);
-- +goose StatementEnd

DROP VIEW IF EXISTS appl_lock_waiting;
-- +goose StatementBegin
CREATE ALGORITHM = MERGE SQL SECURITY DEFINER VIEW appl_lock_waiting AS
SELECT
    w.object_type,
    w.object_id,
    w.operator_id,
    w.department_id,
    w.client_id,
    w.since_ts,
    w.until_ts,
    GREATEST(TIMESTAMPDIFF(SECOND, w.since_ts, UTC_TIMESTAMP(6)), 0) AS waited_seconds,
    COALESCE(l.operator_id, '') AS holder_id,
    COALESCE(l.department_id, '') AS holder_department_id,
    COALESCE((TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.expires_ts) + 999999) DIV 1000000, 0) AS seconds_left
FROM appl_lock_waiter AS w FORCE INDEX (PRIMARY)
LEFT JOIN appl_lock AS l
    ON l.object_type = w.object_type
    AND l.object_id = w.object_id
    AND l.released_ts IS NULL
    AND l.expires_ts > UTC_TIMESTAMP(6)
WHERE w.expires_ts > UTC_TIMESTAMP(6);
-- +goose StatementEnd

DROP VIEW IF EXISTS appl_lock_asking;
-- +goose StatementBegin
CREATE ALGORITHM = MERGE SQL SECURITY DEFINER VIEW appl_lock_asking AS
SELECT
    a.object_type,
    a.object_id,
    a.operator_id,
    a.department_id,
    a.client_id,
    a.message,
    a.since_ts,
    a.until_ts,
    GREATEST(TIMESTAMPDIFF(SECOND, a.since_ts, UTC_TIMESTAMP(6)), 0) AS waited_seconds,
    a.answer,
    a.answer_reason,
    COALESCE(l.operator_id, '') AS holder_id,
    COALESCE(l.department_id, '') AS holder_department_id,
    COALESCE((TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.expires_ts) + 999999) DIV 1000000, 0) AS seconds_left
FROM appl_lock_ask AS a FORCE INDEX (PRIMARY)
LEFT JOIN appl_lock AS l
    ON l.object_type = a.object_type
    AND l.object_id = a.object_id
    AND l.released_ts IS NULL
    AND l.expires_ts > UTC_TIMESTAMP(6)
WHERE a.expires_ts > UTC_TIMESTAMP(6);
-- +goose StatementEnd

DROP VIEW IF EXISTS appl_lock_viewers;
-- +goose StatementBegin
CREATE ALGORITHM = MERGE SQL SECURITY DEFINER VIEW appl_lock_viewers AS
SELECT
    v.object_type,
    v.object_id,
    v.operator_id,
    v.department_id,
    v.client_id,
    v.state,
    v.since_ts,
    GREATEST((TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), v.expires_ts) + 999999) DIV 1000000, 1) AS seconds_left
FROM appl_lock_viewer AS v FORCE INDEX (PRIMARY)
WHERE v.expires_ts > UTC_TIMESTAMP(6);
-- +goose StatementEnd

DROP VIEW IF EXISTS appl_lock_history;
-- +goose StatementBegin
CREATE ALGORITHM = MERGE SQL SECURITY DEFINER VIEW appl_lock_history AS
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
FROM appl_lock_event AS e;
-- +goose StatementEnd

DROP VIEW IF EXISTS appl_lock_policies;
-- +goose StatementBegin
CREATE ALGORITHM = MERGE SQL SECURITY DEFINER VIEW appl_lock_policies AS
SELECT
    p.object_type,
    p.default_ttl_seconds,
    p.longest_ttl_seconds,
    p.take_reason_fl,
    p.history_level,
    p.presence_fl,
    p.yield_after_seconds
FROM appl_lock_policy AS p;
-- +goose StatementEnd

DROP VIEW IF EXISTS appl_lock_stats;
-- +goose StatementBegin
CREATE ALGORITHM = TEMPTABLE SQL SECURITY DEFINER VIEW appl_lock_stats AS
SELECT
    s.object_type,
    s.department_id,
    CAST(SUM(s.live) AS SIGNED) AS live,
    CAST(SUM(s.expired) AS SIGNED) AS expired,
    MAX(s.oldest_seconds) AS oldest_seconds,
    MAX(s.next_expiry_seconds) AS next_expiry_seconds,
    CAST(SUM(s.waiters) AS SIGNED) AS waiters,
    MAX(s.longest_wait_seconds) AS longest_wait_seconds
FROM (
    SELECT
        l.object_type,
        l.department_id,
        SUM(l.is_live) AS live,
        SUM(1 - l.is_live) AS expired,
        GREATEST(COALESCE(TIMESTAMPDIFF(SECOND, MIN(IF(l.is_live, l.acquired_ts, NULL)), UTC_TIMESTAMP(6)), 0), 0) AS oldest_seconds,
        COALESCE((TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), MIN(IF(l.is_live, l.expires_ts, NULL))) + 999999) DIV 1000000, 0)
            AS next_expiry_seconds,
        0 AS waiters,
        0 AS longest_wait_seconds
    FROM (
        SELECT
            a.object_type,
            IF(a.released_ts IS NULL AND a.expires_ts > UTC_TIMESTAMP(6), a.department_id, '') AS department_id,
            a.acquired_ts,
            a.expires_ts,
            a.released_ts IS NULL AND a.expires_ts > UTC_TIMESTAMP(6) AS is_live
        FROM appl_lock AS a
    ) AS l
    GROUP BY l.object_type, l.department_id
    UNION ALL
    SELECT
        w.object_type,
        w.department_id,
        0 AS live,
        0 AS expired,
        0 AS oldest_seconds,
        0 AS next_expiry_seconds,
        COUNT(*) AS waiters,
        GREATEST(TIMESTAMPDIFF(SECOND, MIN(w.since_ts), UTC_TIMESTAMP(6)), 0) AS longest_wait_seconds
    FROM appl_lock_waiter AS w
    WHERE w.expires_ts > UTC_TIMESTAMP(6)
    GROUP BY w.object_type, w.department_id
) AS s
GROUP BY s.object_type, s.department_id;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS announce_appl_lock_waiter_core;
-- +goose StatementBegin
-- announce_appl_lock_waiter: say that an operator waits for an object, or still waits.
--
-- Contract   Lists the operator as a waiter of the program p_client_id for 60 s, but not longer than p_wait_seconds, with the
--            object's holder. Called again, or kept by poll_appl_locks, it stays listed, and waits since the first call.
-- In         p_department_id: NULL = empty. p_client_id: a name that no other program has. p_wait_seconds: NULL = never gives up.
-- Out        None; the row form returns p_ok_fl 'Y'.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine. 1205 after 1 s of waiting for another transaction.
--            1213 deadlock.
-- Locks      The waiter's row, to the end of the caller's transaction. Only announce, retract and purge of it wait; poll passes over it.
-- Race-free  Two calls: the primary key lets one insert. ON DUPLICATE KEY UPDATE makes the other wait for an exclusive lock,
--            then it judges whether the row is live. Against purge or retract: an announce that waited inserts a new row.
--            The holder is a hint: inbox_appl_locks verifies it, and poll_appl_locks refreshes it.
-- Differs    Of three calls for one waiter at once, one of them a retract, one may become a deadlock's victim (1213): call again.
--            S1 is a plain read: call it outside of transactions.

CREATE PROCEDURE announce_appl_lock_waiter_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_wait_seconds BIGINT
)
COMMENT 'Internal to applock: the operation announce_appl_lock_waiter.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    DECLARE v_now DATETIME(6);
    DECLARE v_until DATETIME(6);
    DECLARE v_expires DATETIME(6);
    DECLARE v_holder_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '';
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        RESIGNAL;
    END;

    SET p_department_id = COALESCE(p_department_id, '');
    CALL appl_lock_owner('announce_appl_lock_waiter', p_object_type, p_object_id, p_operator_id, p_department_id);
    CALL appl_lock_text('announce_appl_lock_waiter', 'p_client_id', 'N', 1, 64, p_client_id);
    IF p_wait_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_number('announce_appl_lock_waiter', 'p_wait_seconds', 315360000, p_wait_seconds);
    END IF;
    CALL appl_lock_enter();

    SET v_now = UTC_TIMESTAMP(6);
    SET v_until = v_now + INTERVAL p_wait_seconds SECOND;
    SET v_expires = LEAST(v_now + INTERVAL 60 SECOND, COALESCE(v_until, v_now + INTERVAL 60 SECOND));
    -- S1: who holds it?
    SELECT l.operator_id
    INTO v_holder_id
    FROM appl_lock AS l
    WHERE l.object_type = p_object_type
        AND l.object_id = p_object_id
        AND l.released_ts IS NULL
        AND l.expires_ts > v_now;
    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    -- S2: a new wait, or the one that goes on. Each assignment sees the ones before it.
    INSERT INTO appl_lock_waiter (
        object_type, object_id, operator_id, department_id, client_id, since_ts, until_ts, expires_ts, holder_id
    )
    VALUES (
        p_object_type, p_object_id, p_operator_id, p_department_id, p_client_id, v_now, v_until, v_expires, v_holder_id
    )
    ON DUPLICATE KEY UPDATE
        department_id = p_department_id,
        since_ts = IF(expires_ts > v_now, since_ts, v_now),
        until_ts = v_until,
        expires_ts = v_expires,
        holder_id = v_holder_id;
    SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS announce_appl_lock_waiter;
-- +goose StatementBegin
CREATE PROCEDURE announce_appl_lock_waiter(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_wait_seconds BIGINT
)
COMMENT 'Say that an operator waits for an object, or still waits.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'announce_appl_lock_waiter: is being replaced; call again, or install it again if that lasts';
    CALL announce_appl_lock_waiter_core(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_client_id, p_wait_seconds
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS announce_appl_lock_waiter_row;
-- +goose StatementBegin
CREATE PROCEDURE announce_appl_lock_waiter_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_wait_seconds BIGINT
)
COMMENT 'Say that an operator waits for an object, or still waits; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'announce_appl_lock_waiter: is being replaced; call again, or install it again if that lasts';
    CALL announce_appl_lock_waiter_core(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_client_id, p_wait_seconds
    );
    SELECT
        'Y' AS p_ok_fl;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS answer_appl_lock_core;
-- +goose StatementBegin
-- answer_appl_lock: answer an operator who asks for a held object: give it, or say later or no.
--
-- Contract   Y GIVEN, after GIVE: the asker holds the object: a new grant, a greater fence, an empty note, the ttl of the
--            type's policy. The grant ends after 60 s unless the asker calls get first, which returns the fence and renews for
--            the ttl. So an asker who has left blocks the object for 60 s only. It is an event that always reaches the former
--            holder's inbox: every operator can read the fence, so another may have made the call.
--            Y TOLD, after LATER and NO: the asker finds the answer in its inbox.
--            N HELD: another operator or grant holds the object; p_old_*, p_acquired_ts and p_expires_ts tell who, since and until
--            when.
--            N FREE: nobody holds it. N GONE: the asker is not listed any more. Nothing changed.
-- In         p_operator_id: the holder. p_fence: its grant. p_client_id: the asker's program, NULL = any. p_answer: GIVE, LATER
--            or NO. p_reason: NULL = empty.
-- Out        p_old_*: empty unless HELD. p_acquired_ts, p_expires_ts: of the lock as it is now; NULL when FREE or GONE.
-- Raises     LK001 invalid argument. LK003 as appl_lock_move, or an upgrade is replacing the routine. 1205 after 1 s of waiting for
--            another transaction. 1213 deadlock.
-- Locks      S1 reads without a lock. S2 locks the asker's rows for the object, at REPEATABLE READ also the gaps around them,
--            S3 and S4 the object's row. All to the end of the caller's transaction, or of the call's own.
-- Race-free  An answer and an ask lock the request's row first and the lock's row second, so they cannot deadlock. An asker
--            that withdraws its request locks its row before S2, which then finds none, or after S4, when it holds the object.
--            S4 names the grant, and judges the newest row. Of two answers one gives, the other finds HELD. S4 skips a request
--            that came after S2 while another transaction has locked it; its next call removes it.
--            In a transaction it uses only locking reads: a plain read would fix a snapshot that is too old for a later get.
-- Differs    In a transaction each call waits for another transaction that is changing the lock or the request, and locks the
--            rows until its own ends. No 40001: InnoDB judges the newest row.

CREATE PROCEDURE answer_appl_lock_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT,
    IN p_asker_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_answer LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_acquired_ts DATETIME(6),
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT
)
COMMENT 'Internal to applock: the operation answer_appl_lock.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    DECLARE v_open BOOLEAN DEFAULT TRUE;
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_client_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_holder_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_holder_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_fence BIGINT;
    DECLARE v_lock_ts DATETIME(6);
    DECLARE v_ttl_seconds BIGINT;
    DECLARE v_expires_ts DATETIME(6);
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- 1422: a function or trigger, which has a transaction.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    SET p_answer = RTRIM(p_answer);
    SET p_reason = COALESCE(p_reason, '');
    CALL appl_lock_key('answer_appl_lock', p_object_type, p_object_id);
    CALL appl_lock_text('answer_appl_lock', 'p_operator_id', 'Y', 1, 255, p_operator_id);
    CALL appl_lock_number('answer_appl_lock', 'p_fence', 9223372036854775807, COALESCE(p_fence, 0));
    CALL appl_lock_text('answer_appl_lock', 'p_asker_id', 'Y', 1, 255, p_asker_id);
    CALL appl_lock_text('answer_appl_lock', 'p_client_id', 'N', IF(p_client_id IS NULL, 0, 1), 64, p_client_id);
    IF (p_answer IN ('GIVE', 'LATER', 'NO')) IS NOT TRUE THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'answer_appl_lock: p_answer must be GIVE, LATER or NO';
    END IF;
    CALL appl_lock_text('answer_appl_lock', 'p_reason', 'N', 0, 255, p_reason);
    CALL appl_lock_look(v_open);
    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);

    IF NOT v_open THEN
        -- S1: does the operator hold it by that grant?
        CALL appl_lock_holder(
            FALSE, p_object_type, p_object_id, v_holder_id, v_holder_department_id, v_fence, p_acquired_ts, v_lock_ts, v_ttl_seconds,
            v_expires_ts
        );
    END IF;
    IF v_open OR (v_holder_id = p_operator_id AND v_fence = p_fence) THEN
        IF NOT v_open THEN
            CALL appl_lock_begin(v_began);
        END IF;
        -- S2: does the asker still ask? (The aggregate locks all of its rows and always returns one row.)
        SELECT MIN(a.client_id)
        INTO v_client_id
        FROM appl_lock_ask AS a FORCE INDEX (PRIMARY)
        WHERE a.object_type = p_object_type
            AND a.object_id = p_object_id
            AND a.operator_id = p_asker_id
            AND a.client_id = COALESCE(p_client_id, a.client_id)
            AND a.expires_ts > UTC_TIMESTAMP(6)
        FOR UPDATE;
    END IF;
    IF v_open THEN
        -- S3: as S1, in a transaction, where the request's row comes first.
        CALL appl_lock_holder(
            TRUE, p_object_type, p_object_id, v_holder_id, v_holder_department_id, v_fence, p_acquired_ts, v_lock_ts, v_ttl_seconds,
            v_expires_ts
        );
    END IF;
    SET p_ok_fl = 'N';
    SET p_old_operator_id = '';
    SET p_old_department_id = '';
    SET p_expires_ts = v_expires_ts;
    SET p_seconds_left = COALESCE(GREATEST((TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), v_expires_ts) + 999999) DIV 1000000, 1), 0);
    IF v_holder_id IS NULL THEN
        SET p_outcome = 'FREE';
    ELSEIF v_holder_id <> p_operator_id OR v_fence <> p_fence THEN
        SET p_outcome = 'HELD';
        SET p_old_operator_id = v_holder_id;
        SET p_old_department_id = v_holder_department_id;
    ELSEIF v_client_id IS NULL THEN
        SET p_outcome = 'GONE';
        SET p_acquired_ts = NULL;
        SET p_expires_ts = NULL;
        SET p_seconds_left = 0;
    ELSEIF p_answer = 'GIVE' THEN
        SELECT a.department_id
        INTO v_department_id
        FROM appl_lock_ask AS a
        WHERE a.object_type = p_object_type
            AND a.object_id = p_object_id
            AND a.operator_id = p_asker_id
            AND a.client_id = v_client_id
        FOR UPDATE;
        -- S4: grant it to the asker, and remove the asker's requests.
        CALL appl_lock_move(
            'GIVEN', p_object_type, p_object_id, p_operator_id, p_fence, p_asker_id, v_department_id, NULL,
            p_operator_id, p_reason, NULL, 60,
            p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id, v_fence, p_acquired_ts, p_expires_ts,
            p_seconds_left
        );
        IF p_ok_fl = 'Y' THEN
            CALL appl_lock_unask(p_object_type, p_object_id, p_asker_id);
        END IF;
    ELSE
        -- S5: store the answer for the asker.
        UPDATE appl_lock_ask AS a FORCE INDEX (PRIMARY)
        SET a.holder_id = p_operator_id,
            a.fence = p_fence,
            a.answer = p_answer,
            a.answer_reason = p_reason,
            a.answered_ts = UTC_TIMESTAMP(6)
        WHERE a.object_type = p_object_type
            AND a.object_id = p_object_id
            AND a.operator_id = p_asker_id
            AND a.client_id = COALESCE(p_client_id, a.client_id)
            AND a.expires_ts > UTC_TIMESTAMP(6);
        SET p_ok_fl = 'Y';
        SET p_outcome = 'TOLD';
    END IF;
    IF v_began THEN
        CALL appl_lock_end(TRUE);
    END IF;
    SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS answer_appl_lock;
-- +goose StatementBegin
CREATE PROCEDURE answer_appl_lock(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT,
    IN p_asker_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_answer LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_acquired_ts DATETIME(6),
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT
)
COMMENT 'Answer an operator who asks for a held object: give it, or say later or no.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'answer_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL answer_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_fence, p_asker_id, p_client_id, p_answer, p_reason,
        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id, p_acquired_ts, p_expires_ts, p_seconds_left
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS answer_appl_lock_row;
-- +goose StatementBegin
CREATE PROCEDURE answer_appl_lock_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT,
    IN p_asker_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_answer LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Answer an operator who asks for a held object: give it, or say later or no; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_acquired_ts DATETIME(6);
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_seconds_left BIGINT;
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'answer_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL answer_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_fence, p_asker_id, p_client_id, p_answer, p_reason,
        v_ok_fl, v_outcome, v_old_operator_id, v_old_department_id, v_acquired_ts, v_expires_ts, v_seconds_left
    );
    SELECT
        v_ok_fl AS p_ok_fl,
        v_outcome AS p_outcome,
        v_old_operator_id AS p_old_operator_id,
        v_old_department_id AS p_old_department_id,
        v_acquired_ts AS p_acquired_ts,
        v_expires_ts AS p_expires_ts,
        v_seconds_left AS p_seconds_left;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS get_appl_lock_check;
-- +goose StatementBegin
-- get_appl_lock_check, get_appl_lock_insert, get_appl_lock_tell, get_appl_lock_late: the rare branches of get_appl_lock.
-- appl_lock_policy: the policy of a type. Internal: nobody is granted these.
--
-- Contract   Check trims and checks get_appl_lock's arguments. Insert grants an object that has no row; if it has one by then,
--            nothing changes, p_outcome is NULL, and with p_lock the answer is the row, locked. p_began: in a transaction of the
--            call's own, which the caller ends. Late computes the times anew of a grant or renewal that took more than a second.
--            The policy is the defaults where there is none.
-- In         As get_appl_lock. p_lock_ts: of the row that is late.
-- Out        As get_appl_lock. p_all_fl Y: history ALL.
-- Raises     LK001 invalid argument. 1205, 1213 as get_appl_lock.
-- Locks      The object's row; the policy's row, or its gap, and that of appl_lock_fence, for reading; in a transaction until it ends.
-- Race-free  ON DUPLICATE KEY UPDATE waits for an exclusive lock on the row that is there and changes nothing. (A failed INSERT
--            would take a shared lock, and two of those deadlock.) LAST_INSERT_ID tells whether it inserted, ROW_COUNT cannot.
--            A new row's fence is greater than every purged one: appl_lock_fence is read once the row is there. In a
--            transaction it is read for share, because a plain read would fix the caller's snapshot. If more than a second has
--            passed since the clock was read, or it went back, times and fence are computed anew in the same transaction,
--            before others see them.
-- Differs    A purge in a transaction and a get of a new object in another one wait for each other, for 1 s at most.

CREATE PROCEDURE get_appl_lock_check(
    INOUT p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    INOUT p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    INOUT p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    INOUT p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
    IN p_new_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: checks the arguments of get_appl_lock.'
CONTAINS SQL
SQL SECURITY DEFINER
BEGIN
    CALL appl_lock_owner('get_appl_lock', p_object_type, p_object_id, p_operator_id, p_department_id);
    IF p_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_number('get_appl_lock', 'p_ttl_seconds', 315360000, p_ttl_seconds);
    END IF;
    IF p_new_fl NOT IN ('Y', 'N', '') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'get_appl_lock: p_new_fl must be Y or N';
    END IF;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS appl_lock_policy;
-- +goose StatementBegin
CREATE PROCEDURE appl_lock_policy(
    IN p_object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_default_ttl_seconds BIGINT,
    OUT p_longest_ttl_seconds BIGINT,
    OUT p_all_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_take_reason_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: returns the policy of a type.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    -- The aggregates always return one row.
    SELECT
        COALESCE(MIN(p.default_ttl_seconds), 604800),
        COALESCE(MIN(p.longest_ttl_seconds), 315360000),
        IF(MIN(p.history_level) = 'ALL', 'Y', 'N'),
        COALESCE(MIN(p.take_reason_fl), 'Y')
    INTO p_default_ttl_seconds, p_longest_ttl_seconds, p_all_fl, p_take_reason_fl
    FROM appl_lock_policy AS p
    WHERE p.object_type = p_object_type
    LOCK IN SHARE MODE;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS get_appl_lock_insert;
-- +goose StatementBegin
CREATE PROCEDURE get_appl_lock_insert(
    IN p_object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
    IN p_lock BOOLEAN,
    INOUT p_began BOOLEAN,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_seconds_left BIGINT,
    OUT p_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_fence BIGINT,
    OUT p_acquired_ts DATETIME(6),
    OUT p_old_lock_ts DATETIME(6),
    OUT p_old_ttl_seconds BIGINT,
    OUT p_expires_ts DATETIME(6),
    OUT p_note VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_history_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_released_ts DATETIME(6)
)
COMMENT 'Internal to applock: grants an object that has no row, or else reads and locks the row in a transaction.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_insert_id BIGINT UNSIGNED DEFAULT LAST_INSERT_ID();
    DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    DECLARE v_now DATETIME(6);
    DECLARE v_purged_fence BIGINT;
    DECLARE v_default_ttl_seconds BIGINT;
    DECLARE v_longest_ttl_seconds BIGINT;
    DECLARE v_all_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_take_reason_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    -- 1422: a function or trigger, which has a transaction.
    DECLARE CONTINUE HANDLER FOR 1422 BEGIN END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        DO LAST_INSERT_ID(v_insert_id);
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        IF p_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    CALL appl_lock_policy(p_object_type, v_default_ttl_seconds, v_longest_ttl_seconds, v_all_fl, v_take_reason_fl);
    SET p_seconds_left = LEAST(COALESCE(p_ttl_seconds, v_default_ttl_seconds), v_longest_ttl_seconds);
    CALL appl_lock_begin(p_began);
    SET v_now = UTC_TIMESTAMP(6);
    SET p_fence = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', v_now);
    SET p_expires_ts = v_now + INTERVAL p_seconds_left SECOND;
    -- S1: insert, or yield.
    INSERT INTO appl_lock (
        object_type, object_id, operator_id, department_id, fence, acquired_ts, lock_ts, ttl_seconds, expires_ts, history_fl
    )
    VALUES (
        p_object_type, p_object_id, p_operator_id, COALESCE(RTRIM(p_department_id), ''), LAST_INSERT_ID(p_fence), v_now, v_now,
        p_seconds_left, p_expires_ts, v_all_fl
    )
    ON DUPLICATE KEY UPDATE fence = fence + LAST_INSERT_ID(0);
    IF LAST_INSERT_ID() = 0 AND p_lock THEN
        -- S2: the row, which S1 has locked.
        SELECT
            l.operator_id, l.department_id, l.fence, l.acquired_ts, l.lock_ts, l.ttl_seconds,
            l.expires_ts, l.note, l.history_fl, l.released_ts
        INTO
            p_old_operator_id, p_old_department_id, p_old_fence, p_acquired_ts, p_old_lock_ts, p_old_ttl_seconds,
            p_expires_ts, p_note, p_old_history_fl, p_old_released_ts
        FROM appl_lock AS l
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
        FOR UPDATE;
    ELSEIF LAST_INSERT_ID() > 0 THEN
        SET p_outcome = 'ACQUIRED';
        SET p_acquired_ts = v_now;
        SET p_note = '';
        IF p_lock THEN
            SELECT f.fence INTO v_purged_fence FROM appl_lock_fence AS f WHERE f.slot = 1 LOCK IN SHARE MODE;
        ELSE
            SELECT f.fence INTO v_purged_fence FROM appl_lock_fence AS f WHERE f.slot = 1;
        END IF;
        IF p_fence <= v_purged_fence OR UTC_TIMESTAMP(6) NOT BETWEEN v_now AND v_now + INTERVAL 1 SECOND THEN
            CALL get_appl_lock_late(
                p_object_type, p_object_id, 'INSERTED', p_seconds_left, v_now, v_purged_fence, p_fence, p_acquired_ts, p_expires_ts
            );
        END IF;
        IF v_all_fl = 'Y' THEN
            CALL appl_lock_record(
                'ACQUIRED', p_object_type, p_object_id, p_operator_id,
                '', '', 0, p_operator_id, COALESCE(RTRIM(p_department_id), ''), p_fence, ''
            );
        END IF;
    END IF;
    DO LAST_INSERT_ID(v_insert_id);
    IF p_began AND (p_outcome IS NOT NULL OR NOT p_lock) THEN
        CALL appl_lock_end(TRUE);
        SET p_began = FALSE;
    END IF;
    SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS get_appl_lock_tell;
-- +goose StatementBegin
CREATE PROCEDURE get_appl_lock_tell(
    IN p_event VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT,
    IN p_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_old_fence BIGINT
)
COMMENT 'Internal to applock: records a grant or renewal in the history.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT COALESCE(p_department_id, IF(p_event = 'RENEWED', p_old_department_id, ''));
    CASE p_event
        WHEN 'ACQUIRED' THEN
            CALL appl_lock_record(
                p_event, p_object_type, p_object_id, p_operator_id, '', '', 0, p_operator_id, v_department_id, p_fence, ''
            );
        WHEN 'RENEWED' THEN
            CALL appl_lock_record(
                p_event, p_object_type, p_object_id, p_operator_id,
                p_operator_id, v_department_id, p_fence, p_operator_id, v_department_id, p_fence, ''
            );
        ELSE
            CALL appl_lock_record(
                p_event, p_object_type, p_object_id, p_operator_id,
                p_old_operator_id, p_old_department_id, p_old_fence, p_operator_id, v_department_id, p_fence, ''
            );
    END CASE;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS get_appl_lock_late;
-- +goose StatementBegin
CREATE PROCEDURE get_appl_lock_late(
    IN p_object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
    IN p_lock_ts DATETIME(6),
    IN p_purged_fence BIGINT,
    INOUT p_fence BIGINT,
    INOUT p_acquired_ts DATETIME(6),
    INOUT p_expires_ts DATETIME(6)
)
COMMENT 'Internal to applock: sets the times of a grant or renewal, and the fence of a new row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_now DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_fence BIGINT DEFAULT p_fence;
    IF p_outcome = 'INSERTED' THEN
        SET v_fence = GREATEST(p_fence + 1, COALESCE(p_purged_fence, 0) + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', v_now));
    END IF;
    UPDATE appl_lock AS l
    SET l.fence = v_fence,
        l.lock_ts = GREATEST(v_now, p_lock_ts + INTERVAL 1 MICROSECOND),
        l.acquired_ts = IF(p_outcome = 'RENEWED', l.acquired_ts, l.lock_ts),
        l.expires_ts = v_now + INTERVAL p_ttl_seconds SECOND
    WHERE l.object_type = p_object_type
        AND l.object_id = p_object_id
        AND l.fence = p_fence
        AND l.lock_ts = p_lock_ts
        AND l.released_ts IS NULL;
    IF ROW_COUNT() > 0 THEN
        SET p_fence = v_fence;
        SET p_acquired_ts = IF(p_outcome = 'RENEWED', p_acquired_ts, GREATEST(v_now, p_lock_ts + INTERVAL 1 MICROSECOND));
        SET p_expires_ts = v_now + INTERVAL p_ttl_seconds SECOND;
    END IF;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS get_appl_lock_rows_core;
-- +goose StatementBegin
-- get_appl_lock_rows: get_appl_lock_row for each of a list, one after the other.
--
-- Contract   A result set of one row for each get, in the order of the list. Each get is independent. A caller that wants all
--            or none uses a transaction and rolls it back.
-- In         p_gets: a JSON array of 0 to 10000 gets such as {"object_type": "customer", "object_id": "42", "operator_id": "JDOE",
--            "department_id": "CS", "ttl_seconds": 60}. A missing value is NULL. Types are checked before the first get.
-- Out        As get_appl_lock_row.
-- Raises     As get_appl_lock: the gets before it have been made.
-- Locks      As get_appl_lock.
-- Race-free  As get_appl_lock.
-- Differs    For MySQL and MariaDB only: on PostgreSQL a query joins the row form to a list.

CREATE PROCEDURE get_appl_lock_rows_core(
    IN p_gets LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation get_appl_lock, for many.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_reason VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_gets JSON;
    DECLARE v_left BOOLEAN DEFAULT TRUE;
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_ttl_seconds BIGINT;
    -- A missing value is NULL. A list with a value of a wrong type has been refused before.
    DECLARE c_gets CURSOR FOR
        SELECT j.object_type, j.object_id, j.operator_id, j.department_id, j.ttl_seconds
        FROM JSON_TABLE(v_gets, '$[*]' COLUMNS (
            place FOR ORDINALITY,
            object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.object_type',
            object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.object_id',
            operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.operator_id',
            department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.department_id',
            ttl_seconds BIGINT PATH '$.ttl_seconds'
        )) AS j
        ORDER BY j.place;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_left = FALSE;

    BEGIN
        -- MySQL raises this for JSON that is nested too deep, even from JSON_VALID.
        DECLARE EXIT HANDLER FOR SQLSTATE '22032' SET v_reason = 'is not a list of gets';
        IF p_gets IS NULL THEN
            SET v_reason = 'must not be empty';
        ELSEIF NOT JSON_VALID(p_gets) THEN
            SET v_reason = 'is not a list of gets';
        ELSEIF JSON_TYPE(p_gets) <> 'ARRAY' THEN
            SET v_reason = 'is not a list of gets';
        ELSEIF JSON_LENGTH(p_gets) > 10000 THEN
            SET v_reason = CONCAT('has ', JSON_LENGTH(p_gets), ' gets, at most 10000 are allowed');
        END IF;
    END;
    IF v_reason IS NULL THEN
        SET v_gets = p_gets;
        -- Only types are checked here, because JSON_TABLE converts them. Each get checks the rest.
        SELECT CONCAT('has a value of a wrong type in get ', MIN(j.place))
        INTO v_reason
        FROM JSON_TABLE(v_gets, '$[*]' COLUMNS (
            place FOR ORDINALITY,
            object_type JSON PATH '$.object_type',
            object_id JSON PATH '$.object_id',
            operator_id JSON PATH '$.operator_id',
            department_id JSON PATH '$.department_id',
            ttl_seconds JSON PATH '$.ttl_seconds'
        )) AS j
        WHERE JSON_TYPE(j.object_type) NOT IN ('STRING', 'NULL')
            OR JSON_TYPE(j.object_id) NOT IN ('STRING', 'NULL')
            OR JSON_TYPE(j.operator_id) NOT IN ('STRING', 'NULL')
            OR JSON_TYPE(j.department_id) NOT IN ('STRING', 'NULL')
            OR JSON_TYPE(j.ttl_seconds) NOT IN ('INTEGER', 'NULL');
    END IF;
    IF v_reason IS NOT NULL THEN
        SET v_reason = CONCAT('get_appl_lock: p_gets ', v_reason);
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_reason;
    END IF;

    OPEN c_gets;
    FETCH c_gets INTO v_object_type, v_object_id, v_operator_id, v_department_id, v_ttl_seconds;
    WHILE v_left DO
        CALL get_appl_lock_row(v_object_type, v_object_id, v_operator_id, v_department_id, v_ttl_seconds, NULL);
        FETCH c_gets INTO v_object_type, v_object_id, v_operator_id, v_department_id, v_ttl_seconds;
    END WHILE;
    CLOSE c_gets;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS get_appl_lock_rows;
-- +goose StatementBegin
CREATE PROCEDURE get_appl_lock_rows(
    IN p_gets LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Take or renew the lock on an object for one operator until it expires; for each of a list, one row each.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'get_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL get_appl_lock_rows_core(
        p_gets
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS appl_lock_move_page;
-- +goose StatementBegin
-- appl_lock_move_page: hand over or release a page of what an operator holds, for transfer_appl_locks and release_appl_locks. Internal:
-- nobody is granted it.
--
-- Contract   As transfer_appl_locks and release_appl_locks, which name themselves in p_routine.
-- In         As the operations; their arguments are checked here.
-- Out        As the operations.
-- Raises     As the operations.
-- Locks      The objects' rows, to the end of the transaction, and their policies' for reading.
-- Race-free  S1 is a plain read. S2 locks one row after the other and waits for none. S3 is the operation on one object, whose
--            row S2 has locked. All of a page is one transaction: the caller's, or one of the call's own.
-- Differs    No 40001: InnoDB judges the newest row.

CREATE PROCEDURE appl_lock_move_page(
    IN p_routine VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_from_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max_rows BIGINT,
    IN p_dry_run_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: hands over or releases a page of the locks of an operator.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_release BOOLEAN DEFAULT p_routine = 'release_appl_locks';
    DECLARE v_message VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_max_rows BIGINT DEFAULT COALESCE(p_max_rows, 1000);
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_at_end BOOLEAN DEFAULT FALSE;
    DECLARE v_free BOOLEAN;
    DECLARE v_now DATETIME(6);
    DECLARE v_row_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_row_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_outcome VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts DATETIME(6);
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_seconds_left BIGINT;
    DECLARE v_rows INT DEFAULT 0;
    DECLARE v_part LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '';
    DECLARE v_told LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '';
    DECLARE page CURSOR FOR
        SELECT l.object_type, l.object_id, l.fence, l.expires_ts
        FROM appl_lock AS l
        WHERE (l.object_type > p_after_type OR (l.object_type = p_after_type AND l.object_id > p_after_id))
            AND (p_object_type IS NULL OR l.object_type = p_object_type)
            AND l.operator_id = p_from_operator_id
            AND l.released_ts IS NULL
            AND l.expires_ts > v_now
        ORDER BY l.object_type, l.object_id
        LIMIT v_max_rows;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_at_end = TRUE;
    -- 1422: a function or trigger, which has a transaction.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    CALL appl_lock_text(p_routine, IF(v_release, 'p_operator_id', 'p_from_operator_id'), 'Y', 1, 255, p_from_operator_id);
    IF p_object_type IS NOT NULL THEN
        CALL appl_lock_text(p_routine, 'p_object_type', 'Y', 1, 64, p_object_type);
    END IF;
    IF v_release THEN
        SET p_actor_id = COALESCE(p_actor_id, p_from_operator_id);
    ELSE
        CALL appl_lock_text(p_routine, 'p_to_operator_id', 'Y', 1, 255, p_to_operator_id);
        IF p_to_operator_id = p_from_operator_id THEN
            SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'transfer_appl_locks: p_to_operator_id must be another one';
        END IF;
        SET p_to_department_id = COALESCE(p_to_department_id, '');
        CALL appl_lock_text(p_routine, 'p_to_department_id', 'Y', 0, 64, p_to_department_id);
        CALL appl_lock_number(p_routine, 'p_ttl_seconds', 315360000, p_ttl_seconds);
    END IF;
    CALL appl_lock_text(p_routine, 'p_actor_id', 'Y', IF(p_actor_id IS NULL, 0, 1), 255, p_actor_id);
    SET p_reason = COALESCE(p_reason, '');
    SET p_after_type = COALESCE(p_after_type, '');
    SET p_after_id = COALESCE(p_after_id, '');
    CALL appl_lock_text(p_routine, 'p_reason', 'N', 0, 255, p_reason);
    CALL appl_lock_text(p_routine, 'p_after_type', 'N', 0, 64, p_after_type);
    CALL appl_lock_text(p_routine, 'p_after_id', 'N', 0, 255, p_after_id);
    CALL appl_lock_number(p_routine, 'p_max_rows', 10000, v_max_rows);
    IF p_dry_run_fl NOT IN ('Y', 'N', '') THEN
        SET v_message = CONCAT(p_routine, ': p_dry_run_fl must be Y or N');
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_message;
    END IF;

    CALL appl_lock_enter();
    -- S1: the page. The cursor has all of it before the first lock changes, and outside of the transaction of S2 and S3.
    SET v_now = UTC_TIMESTAMP(6);
    OPEN page;
    IF COALESCE(p_dry_run_fl, '') <> 'Y' THEN
        CALL appl_lock_begin(v_began);
    END IF;
    locks: LOOP
        FETCH page INTO v_row_type, v_row_id, v_fence, v_expires_ts;
        IF v_at_end THEN
            LEAVE locks;
        END IF;
        SET v_outcome = IF(v_release, 'WOULD_RELEASE', 'WOULD_TRANSFER');
        SET v_old_operator_id = '';
        SET v_old_department_id = '';
        IF COALESCE(p_dry_run_fl, '') <> 'Y' THEN
            -- S2: can the row be locked at once, and which grant does it have?
            SET v_free = FALSE;
            SELECT TRUE, l.fence, l.expires_ts
            INTO v_free, v_fence, v_expires_ts
            FROM appl_lock AS l
            WHERE l.object_type = v_row_type
                AND l.object_id = v_row_id
            FOR UPDATE SKIP LOCKED;
            -- A locked row has set it, too.
            SET v_at_end = FALSE;
            SET v_outcome = IF(v_free, '', 'BUSY');
        END IF;
        SET v_now = UTC_TIMESTAMP(6);
        SET v_seconds_left = GREATEST((TIMESTAMPDIFF(MICROSECOND, v_now, v_expires_ts) + 999999) DIV 1000000, 1);
        -- S3: end it, or hand it over.
        IF v_outcome = '' AND v_release THEN
            CALL appl_lock_release(
                v_row_type, v_row_id, p_from_operator_id, NULL, p_actor_id, p_reason,
                v_ok_fl, v_outcome, v_old_operator_id, v_old_department_id
            );
            SET v_fence = IF(v_outcome = 'RELEASED', v_fence, 0);
            SET v_expires_ts = IF(v_outcome = 'HELD', v_expires_ts, NULL);
            SET v_seconds_left = IF(v_outcome = 'HELD', v_seconds_left, 0);
        ELSEIF v_outcome = '' THEN
            CALL appl_lock_move(
                'TRANSFERRED', v_row_type, v_row_id, p_from_operator_id, NULL, p_to_operator_id, p_to_department_id, p_ttl_seconds,
                COALESCE(p_actor_id, ''), p_reason, NULL, NULL,
                v_ok_fl, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_acquired_ts, v_expires_ts,
                v_seconds_left
            );
        END IF;
        SET v_part = CONCAT(v_part, ',', JSON_ARRAY(
            v_row_type, v_row_id, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_expires_ts, v_seconds_left
        ));
        -- To append copies all that is there, so the long text grows a hundred rows at a time.
        SET v_rows = v_rows + 1;
        IF v_rows MOD 100 = 0 THEN
            SET v_told = CONCAT(v_told, v_part);
            SET v_part = '';
        END IF;
    END LOOP locks;
    CLOSE page;
    SET v_told = CONCAT('[', SUBSTR(CONCAT(v_told, v_part), 2), ']');
    -- An answer longer than max_allowed_packet is NULL. It cannot be returned, so the page is refused.
    IF v_told IS NULL THEN
        SET v_message = CONCAT(p_routine, ': p_max_rows is too much for max_allowed_packet');
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_message;
    END IF;
    IF v_began THEN
        CALL appl_lock_end(TRUE);
    END IF;

    SELECT
        t.object_type, t.object_id, t.outcome, t.old_operator_id, t.old_department_id, t.fence, t.expires_ts, t.seconds_left
    FROM JSON_TABLE(v_told, '$[*]' COLUMNS (
        place FOR ORDINALITY,
        object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[0]',
        object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[1]',
        outcome VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[2]',
        old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[3]',
        old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[4]',
        fence BIGINT PATH '$[5]',
        expires_ts DATETIME(6) PATH '$[6]',
        seconds_left BIGINT PATH '$[7]'
    )) AS t
    ORDER BY t.place;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS release_appl_lock_pass_core;
-- +goose StatementBegin
-- release_appl_lock_pass: release_appl_lock, and get_appl_lock for the next operator, in one transaction.
--
-- Contract   released RELEASED: the grant was live; it has ended, and the next operator has a new one with a greater fence. Nobody finds
--            the object free in between. FREE, HELD: as release_appl_lock; nothing is taken. The events are those of both calls.
-- In         p_fence: the grant to end. p_next_department_id and p_ttl_seconds: as those of a new grant of get_appl_lock.
-- Out        One row: released, outcome, fence, expires_ts, seconds_left. All but released are empty, NULL or 0 unless RELEASED.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine. 1205 after 1 s of waiting for another transaction. 1213 deadlock.
-- Locks      The object's row, to the end of the caller's transaction, and the policy's for reading.
-- Race-free  S1 names operator, fence and expiry, and sees the newest row. It raises the fence, so ROW_COUNT is 1 with and
--            without CLIENT_FOUND_ROWS. It first skips a grant whose change is an event. Then S2 locks the row, and S1 and the
--            events are one transaction: the caller's, or one of the call's own.
--            It uses only locking reads: a plain read would fix a snapshot that is too old for a later get.
-- Differs    For MySQL and MariaDB only: on PostgreSQL a query joins the two row forms.

CREATE PROCEDURE release_appl_lock_pass_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT,
    IN p_next_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_next_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT
)
COMMENT 'Internal to applock: the operation release_appl_lock, with a get for the next operator.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_told BOOLEAN;
    DECLARE v_now DATETIME(6);
    DECLARE v_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_history_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT 'N';
    DECLARE v_fence BIGINT;
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_seconds_left BIGINT;
    DECLARE v_default_ttl_seconds BIGINT DEFAULT 604800;
    DECLARE v_longest_ttl_seconds BIGINT DEFAULT 315360000;
    DECLARE v_all_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT 'N';
    DECLARE v_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_released VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    CALL appl_lock_enter();
    IF (
        -- A row with this grant proves the arguments valid. Names of printable ASCII need no closer look: JSON_QUOTE makes a
        -- control character longer.
        p_fence > 0
        AND LENGTH(JSON_QUOTE(p_next_operator_id)) BETWEEN 3 AND LEAST(CHAR_LENGTH(RTRIM(p_next_operator_id)), 255) + 2
        AND LOCATE(x'7F', p_next_operator_id) = 0
        AND (p_next_department_id IS NULL OR p_next_department_id = '')
        AND (p_ttl_seconds IS NULL OR p_ttl_seconds BETWEEN 1 AND 315360000)
    ) IS NOT TRUE THEN
        CALL get_appl_lock_check(p_object_type, p_object_id, p_next_operator_id, p_next_department_id, p_ttl_seconds, NULL);
        CALL appl_lock_number('release_appl_lock', 'p_fence', 9223372036854775807, COALESCE(p_fence, 0));
    END IF;
    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    SELECT COALESCE(p.default_ttl_seconds, 604800), COALESCE(p.longest_ttl_seconds, 315360000), IF(p.history_level = 'ALL', 'Y', 'N')
    INTO v_default_ttl_seconds, v_longest_ttl_seconds, v_all_fl
    FROM appl_lock_policy AS p
    WHERE p.object_type = p_object_type
    LOCK IN SHARE MODE;
    SET v_seconds_left = LEAST(COALESCE(p_ttl_seconds, v_default_ttl_seconds), v_longest_ttl_seconds);
    SET v_told = v_all_fl = 'Y';
    REPEAT
        IF v_told THEN
            CALL get_appl_lock_check(p_object_type, p_object_id, p_next_operator_id, p_next_department_id, p_ttl_seconds, NULL);
            CALL appl_lock_text('release_appl_lock', 'p_operator_id', 'Y', 1, 255, p_operator_id);
            CALL appl_lock_begin(v_began);
            -- S2: which events?
            SELECT l.department_id, l.history_fl INTO v_old_department_id, v_history_fl
            FROM appl_lock AS l
            WHERE l.object_type = p_object_type
                AND l.object_id = p_object_id
            FOR UPDATE;
        END IF;
        SET v_now = UTC_TIMESTAMP(6);
        SET v_fence = GREATEST(p_fence + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', v_now));
        SET v_expires_ts = v_now + INTERVAL v_seconds_left SECOND;
        -- S1: end the grant if it is live, and begin the next one.
        UPDATE appl_lock AS l
        SET l.operator_id = RTRIM(p_next_operator_id),
            l.department_id = COALESCE(RTRIM(p_next_department_id), ''),
            l.fence = v_fence,
            l.acquired_ts = v_now,
            l.lock_ts = GREATEST(v_now, l.lock_ts + INTERVAL 1 MICROSECOND),
            l.ttl_seconds = v_seconds_left,
            l.expires_ts = v_expires_ts,
            l.note = '',
            l.history_fl = v_all_fl
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
            AND l.operator_id = p_operator_id
            AND l.fence = p_fence
            AND l.expires_ts > UTC_TIMESTAMP(6)
            AND l.released_ts IS NULL
            AND (l.history_fl = 'N' OR v_told);
        IF ROW_COUNT() > 0 THEN
            SET v_released = 'RELEASED';
            IF v_history_fl = 'Y' THEN
                CALL appl_lock_record(
                    'RELEASED', p_object_type, p_object_id, p_operator_id,
                    p_operator_id, v_old_department_id, p_fence, '', '', 0, ''
                );
            END IF;
            IF v_all_fl = 'Y' THEN
                CALL get_appl_lock_tell(
                    'ACQUIRED', p_object_type, p_object_id, p_next_operator_id, p_next_department_id, v_fence, '', '', 0
                );
            END IF;
        ELSEIF v_told THEN
            -- S3: why not? RELEASED: the clock was set back, and nobody has the object.
            CALL appl_lock_release(
                p_object_type, p_object_id, p_operator_id, p_fence, p_operator_id, '',
                v_ok_fl, v_released, v_old_operator_id, v_old_department_id
            );
            SET v_released = IF(v_released = 'HELD', 'HELD', 'FREE');
        END IF;
        SET v_told = TRUE;
    UNTIL v_released IS NOT NULL END REPEAT;
    IF v_began THEN
        CALL appl_lock_end(TRUE);
    END IF;
    SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
    -- seconds_left counts from now, after any wait.
    SELECT
        v_released AS released, IF(v_released = 'RELEASED', 'ACQUIRED', '') AS outcome, IF(v_released = 'RELEASED', v_fence, 0) AS fence,
        IF(v_released = 'RELEASED', v_now, NULL) AS acquired_ts, IF(v_released = 'RELEASED', v_expires_ts, NULL) AS expires_ts,
        IF(v_released = 'RELEASED', GREATEST((TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), v_expires_ts) + 999999) DIV 1000000, 0), 0) AS seconds_left;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS release_appl_lock_pass;
-- +goose StatementBegin
CREATE PROCEDURE release_appl_lock_pass(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT,
    IN p_next_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_next_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT
)
COMMENT 'End the grant that an operator holds on an object, and get it for the next operator; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'release_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL release_appl_lock_pass_core(
        p_object_type, p_object_id, p_operator_id, p_fence, p_next_operator_id, p_next_department_id, p_ttl_seconds
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS appl_lock_refuse;
-- +goose StatementBegin
-- appl_lock_enter, appl_lock_look, appl_lock_inside, appl_lock_refuse, appl_lock_restore, appl_lock_begin, appl_lock_end: what a
-- call needs from its session, and transactions of a call's own. Internal: nobody is granted these.
--
-- Contract   Enter comes first in a verb that writes. From then on time is the server's, whatever SET timestamp said. It
--            refuses a server that is read only, and a session in which a killed call has left its transaction open. Look does
--            the same and tells whether a transaction is open; if none is, it leaves read_only to appl_lock_begin. In a
--            function or trigger both raise 1422, because of a COMMIT that they never reach. Then call appl_lock_inside, which
--            does the same there, and assume that a transaction is open.
--            Begin begins a transaction, unless the caller has one, and p_began tells which. End ends it. Between them
--            @appl_lock_own is set: FALSE until there is a savepoint, TRUE from then on. KILL QUERY runs no handler and leaves
--            both. So the next call finds the marker, and the savepoint proves that the transaction is still the same.
--            A setting that a call changes is in @appl_lock_wait, @appl_lock_safe or @appl_lock_length meanwhile, as it was, and
--            the next call puts back what is there. A call within another keeps what the outer one has put there.
-- In         p_commit: FALSE rolls back. p_open: TRUE.
-- Out        p_open, p_began.
-- Raises     1290 the server is read only. 1179 a killed call left its transaction open: send ROLLBACK. If it was killed before
--            it had its savepoint, the caller's next transaction is mistaken for it once.
-- Locks      Nothing.
-- Race-free  SET TRANSACTION raises 1568 when a transaction is open. Its READ WRITE is for the next transaction only, so the caller
--            of appl_lock_look reads before it writes, and appl_lock_begin reads: a session whose transactions are read only
--            stays so.
-- Differs    A function or trigger keeps the time of its statement, so appl_lock_inside sets that time from SYSDATE.

CREATE PROCEDURE appl_lock_refuse()
COMMENT 'Internal to applock: refuses a server or a session that must not write.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_set BOOLEAN DEFAULT @appl_lock_own;
    DECLARE v_left BOOLEAN DEFAULT TRUE;
    -- 1305: no such savepoint. If the killed call had set it, its transaction has ended, and what is open now is the caller's.
    DECLARE CONTINUE HANDLER FOR 1305 SET v_left = NOT v_set;
    IF LOCATE(@@GLOBAL.read_only, '0 OFF') = 0 THEN
        SIGNAL SQLSTATE 'HY000' SET
            MYSQL_ERRNO = 1290, MESSAGE_TEXT = 'applock: the server is read_only: call the primary, or end read_only there';
    END IF;
    SET @appl_lock_own = FALSE;
    RELEASE SAVEPOINT appl_lock_own;
    IF v_left THEN
        SAVEPOINT appl_lock_own;
        SET @appl_lock_own = TRUE;
        SIGNAL SQLSTATE '25000' SET
            MYSQL_ERRNO = 1179, MESSAGE_TEXT = 'applock: a call that was killed has left its transaction open: send ROLLBACK';
    END IF;
    SET @appl_lock_own = NULL;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS appl_lock_restore;
-- +goose StatementBegin
CREATE PROCEDURE appl_lock_restore()
COMMENT 'Internal to applock: puts settings back that a killed call had changed.'
CONTAINS SQL
SQL SECURITY DEFINER
BEGIN
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    DECLARE v_safe_updates BOOLEAN DEFAULT COALESCE(@appl_lock_safe, @@SESSION.sql_safe_updates + 0);
    DECLARE v_max_length BIGINT UNSIGNED DEFAULT COALESCE(@appl_lock_length, @@SESSION.group_concat_max_len);
    SET SESSION innodb_lock_wait_timeout = v_timeout, SESSION sql_safe_updates = v_safe_updates, SESSION group_concat_max_len = v_max_length,
        @appl_lock_wait = NULL, @appl_lock_safe = NULL, @appl_lock_length = NULL;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS appl_lock_enter;
-- +goose StatementBegin
CREATE PROCEDURE appl_lock_enter()
COMMENT 'Internal to applock: corrects the time, and refuses a server or a session that must not write.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    SET SESSION timestamp = DEFAULT;
    IF COALESCE(@appl_lock_wait, @appl_lock_safe, @appl_lock_length) IS NOT NULL THEN
        CALL appl_lock_restore();
    END IF;
    IF LOCATE(@@GLOBAL.read_only, '0 OFF') = 0 OR @appl_lock_own IS NOT NULL THEN
        CALL appl_lock_refuse();
    END IF;
    IF FALSE THEN
        COMMIT;
    END IF;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS appl_lock_look;
-- +goose StatementBegin
CREATE PROCEDURE appl_lock_look(
    INOUT p_open BOOLEAN
)
COMMENT 'Internal to applock: appl_lock_enter, and returns whether a transaction is open.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE CONTINUE HANDLER FOR 1568 SET p_open = TRUE;
    SET SESSION timestamp = DEFAULT;
    IF @@SESSION.autocommit THEN
        SET p_open = FALSE;
        SET TRANSACTION READ WRITE;
    END IF;
    IF COALESCE(@appl_lock_wait, @appl_lock_safe, @appl_lock_length) IS NOT NULL THEN
        CALL appl_lock_restore();
    END IF;
    IF p_open THEN
        IF LOCATE(@@GLOBAL.read_only, '0 OFF') = 0 OR @appl_lock_own IS NOT NULL THEN
            CALL appl_lock_refuse();
        END IF;
    END IF;
    IF FALSE THEN
        COMMIT;
    END IF;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS appl_lock_inside;
-- +goose StatementBegin
CREATE PROCEDURE appl_lock_inside()
COMMENT 'Internal to applock: appl_lock_enter for a function or trigger.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_time_zone VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT @@SESSION.time_zone;
    -- UTC: in another zone SYSDATE is ambiguous for an hour a year.
    SET SESSION time_zone = '+00:00';
    SET SESSION timestamp = UNIX_TIMESTAMP(SYSDATE(6));
    SET SESSION timestamp = DEFAULT;
    SET SESSION time_zone = v_time_zone;
    IF @appl_lock_own IS NOT NULL THEN
        SIGNAL SQLSTATE '25000' SET
            MYSQL_ERRNO = 1179,
            MESSAGE_TEXT = 'applock: a call that was killed may have left its transaction open: send ROLLBACK, then call get once by CALL';
    END IF;
    IF LOCATE(@@GLOBAL.read_only, '0 OFF') = 0 THEN
        CALL appl_lock_refuse();
    END IF;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS appl_lock_begin;
-- +goose StatementBegin
CREATE PROCEDURE appl_lock_begin(
    OUT p_began BOOLEAN
)
COMMENT 'Internal to applock: begins a transaction, unless there is one.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_slot INT;
    DECLARE EXIT HANDLER FOR 1568 BEGIN END;
    SET p_began = FALSE;
    IF LOCATE(@@GLOBAL.read_only, '0 OFF') = 0 THEN
        CALL appl_lock_refuse();
    END IF;
    IF @@SESSION.autocommit THEN
        SET TRANSACTION READ WRITE;
        SELECT s.slot, FALSE INTO v_slot, @appl_lock_own FROM appl_lock_serialize AS s WHERE s.slot = 0;
        START TRANSACTION;
        SAVEPOINT appl_lock_own;
        SET @appl_lock_own = TRUE;
        SET p_began = TRUE;
    END IF;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS appl_lock_end;
-- +goose StatementBegin
CREATE PROCEDURE appl_lock_end(
    IN p_commit BOOLEAN
)
COMMENT 'Internal to applock: ends a transaction that appl_lock_begin has begun.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    IF p_commit THEN
        COMMIT AND NO CHAIN NO RELEASE;
    ELSE
        ROLLBACK AND NO CHAIN NO RELEASE;
    END IF;
    SET @appl_lock_own = NULL;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS appl_lock_version_core;
-- +goose StatementBegin
-- appl_lock_version: the version of the installed contract.
--
-- Contract   A whole number that grows when an operation is added or changes its signature or answers.
-- In         None.
-- Out        One row with the version.
-- Raises     LK003 an upgrade is replacing the routine.
-- Locks      Nothing.
-- Race-free  A constant.
-- Differs    A procedure with a result set: creating a function needs SUPER where the binary log is on.

CREATE PROCEDURE appl_lock_version_core()
COMMENT 'Internal to applock: the operation appl_lock_version.'
CONTAINS SQL
SQL SECURITY DEFINER
BEGIN
    SELECT 1 AS p_version;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS appl_lock_version;
-- +goose StatementBegin
CREATE PROCEDURE appl_lock_version()
COMMENT 'The version of the installed contract.'
CONTAINS SQL
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'appl_lock_version: is being replaced; call again, or install it again if that lasts';
    CALL appl_lock_version_core();
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS ask_appl_lock_core;
-- +goose StatementBegin
-- ask_appl_lock: ask an object's holder for it, with a message, or keep the request listed.
--
-- Contract   Y ASKED: the request is listed for 60 s, but not longer than p_wait_seconds, and the holder finds it in its inbox.
--            Each further call keeps it listed, since the first one. The holder is in p_old_*, p_acquired_ts and p_expires_ts.
--            Y GIVEN: the holder has neither renewed, edited (see_appl_lock) nor answered for as long as the type's policy
--            allows. The caller holds the object now, as after the GIVE of answer_appl_lock; p_old_operator_id held it.
--            Y WITHDRAWN: p_wait_seconds was 0, and the request is gone, if there was one.
--            N FREE: nobody holds the object. N OWN: the operator holds it itself. Both remove its request.
-- In         p_department_id, p_message: NULL = empty. p_client_id: a name that no other program has. p_wait_seconds: 0 = takes the
--            request back, NULL = never gives up.
-- Out        p_old_*: empty unless ASKED or GIVEN. p_fence: 0 unless GIVEN. p_acquired_ts, p_expires_ts: NULL when FREE or WITHDRAWN.
-- Raises     LK001 invalid argument. LK003 as appl_lock_move, or an upgrade is replacing the routine. 1205 after 1 s of waiting for
--            another transaction. 1213 deadlock.
-- Locks      The request's row, and the policy's for reading, to the end of the caller's transaction. If the caller gets the
--            object, also its row as appl_lock_move, and the operator's other requests that nobody is changing. A request
--            delays no waiting program.
-- Race-free  An answer and an ask lock the request's row first and the lock's row second, so they cannot deadlock. The caller's
--            other requests are skipped where another transaction has locked them; its next call removes them.
--            Two calls: the primary key lets one insert. ON DUPLICATE KEY UPDATE makes the other wait for an exclusive lock,
--            then it judges that row anew. Each renewal restarts the holder's time to answer: S6 names the lock_ts that S2 has
--            read, so a renewal in between keeps the lock. Of two askers one gets it.
--            In a transaction it uses only locking reads: a plain read would fix a snapshot that is too old for a GIVEN or a
--            later get.
-- Differs    In a transaction S2 waits for another transaction that is changing the lock, and locks its row until the caller's
--            ends. At REPEATABLE READ it also locks the gap of an object or a request that has no row. No 40001: InnoDB judges
--            the newest row.

CREATE PROCEDURE ask_appl_lock_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_message LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_wait_seconds BIGINT,
    OUT p_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_acquired_ts DATETIME(6),
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT
)
COMMENT 'Internal to applock: the operation ask_appl_lock.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    DECLARE v_open BOOLEAN DEFAULT TRUE;
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_now DATETIME(6);
    DECLARE v_until DATETIME(6);
    DECLARE v_expires DATETIME(6);
    DECLARE v_holder_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts DATETIME(6);
    DECLARE v_lock_ts DATETIME(6);
    DECLARE v_ttl_seconds BIGINT;
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_patience BIGINT;
    DECLARE v_due BOOLEAN DEFAULT FALSE;
    DECLARE v_moved_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT 'N';
    DECLARE v_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_from_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_from_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_seconds_left BIGINT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- 1422: a function or trigger, which has a transaction.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    SET p_department_id = COALESCE(p_department_id, '');
    SET p_message = COALESCE(p_message, '');
    CALL appl_lock_owner('ask_appl_lock', p_object_type, p_object_id, p_operator_id, p_department_id);
    CALL appl_lock_text('ask_appl_lock', 'p_client_id', 'N', 1, 64, p_client_id);
    CALL appl_lock_text('ask_appl_lock', 'p_message', 'Y', 0, 255, p_message);
    CALL appl_lock_number('ask_appl_lock', 'p_wait_seconds', 315360000, NULLIF(p_wait_seconds, 0));
    CALL appl_lock_look(v_open);
    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);

    IF p_wait_seconds IS NULL OR p_wait_seconds > 0 THEN
        IF v_open THEN
            -- S1: the request's row comes first. A new one is dead until S4.
            INSERT INTO appl_lock_ask (
                object_type, object_id, operator_id, department_id, client_id, message, since_ts, expires_ts, holder_id, fence, answer,
                answer_reason
            )
            VALUES (
                p_object_type, p_object_id, p_operator_id, '', p_client_id, '', UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), '', 0, '', ''
            )
            ON DUPLICATE KEY UPDATE message = appl_lock_ask.message;
        END IF;
        -- S2: who holds it?
        CALL appl_lock_holder(
            v_open, p_object_type, p_object_id, v_holder_id, v_department_id, v_fence, v_acquired_ts, v_lock_ts, v_ttl_seconds,
            v_expires_ts
        );
        -- A lock of less than an hour is a program's lease, with nobody there to answer.
        IF v_holder_id <> p_operator_id AND v_ttl_seconds >= 3600 THEN
            -- S3: how long may the holder leave a request unanswered?
            SELECT p.yield_after_seconds
            INTO v_patience
            FROM appl_lock_policy AS p
            WHERE p.object_type = p_object_type
            LOCK IN SHARE MODE;
        END IF;
    END IF;
    SET v_now = UTC_TIMESTAMP(6);
    SET p_ok_fl = 'N';
    SET p_outcome = 'FREE';
    SET p_old_operator_id = '';
    SET p_old_department_id = '';
    SET p_fence = 0;
    SET p_acquired_ts = v_acquired_ts;
    SET p_expires_ts = v_expires_ts;
    SET p_seconds_left = COALESCE(GREATEST((TIMESTAMPDIFF(MICROSECOND, v_now, v_expires_ts) + 999999) DIV 1000000, 1), 0);
    IF NOT v_open THEN
        CALL appl_lock_begin(v_began);
    END IF;

    IF v_holder_id <> p_operator_id THEN
        SET p_ok_fl = 'Y';
        SET p_outcome = 'ASKED';
        SET p_old_operator_id = v_holder_id;
        SET p_old_department_id = v_department_id;
        SET v_until = v_now + INTERVAL p_wait_seconds SECOND;
        SET v_expires = LEAST(v_now + INTERVAL 60 SECOND, COALESCE(v_until, v_now + INTERVAL 60 SECOND));
        -- S4: a new request, or the one that goes on. It begins anew with another grant or message, or if it was dead.
        -- Each assignment sees the ones before it.
        INSERT INTO appl_lock_ask (
            object_type, object_id, operator_id, department_id, client_id, message, since_ts, until_ts, expires_ts, holder_id, fence,
            answer, answer_reason
        )
        VALUES (
            p_object_type, p_object_id, p_operator_id, p_department_id, p_client_id, p_message, v_now, v_until, v_expires, v_holder_id,
            v_fence, '', ''
        )
        ON DUPLICATE KEY UPDATE
            since_ts = IF(expires_ts > v_now, since_ts, v_now),
            shown_ts = IF(expires_ts > v_now AND fence = v_fence AND message = p_message, shown_ts, NULL),
            answer = IF(expires_ts > v_now AND fence = v_fence AND message = p_message, answer, ''),
            answer_reason = IF(expires_ts > v_now AND fence = v_fence AND message = p_message, answer_reason, ''),
            answered_ts = IF(expires_ts > v_now AND fence = v_fence AND message = p_message, answered_ts, NULL),
            edited_ts = IF(expires_ts > v_now AND fence = v_fence AND message = p_message, edited_ts, NULL),
            department_id = p_department_id,
            message = p_message,
            until_ts = v_until,
            expires_ts = v_expires,
            holder_id = v_holder_id,
            fence = v_fence;
        IF v_patience IS NOT NULL THEN
            -- S5: is the holder's time to answer over? NULL: its inbox has not shown the request.
            SELECT
                GREATEST(a.shown_ts, COALESCE(a.answered_ts, a.shown_ts), COALESCE(a.edited_ts, a.shown_ts), v_lock_ts)
                + INTERVAL v_patience SECOND <= v_now
            INTO v_due
            FROM appl_lock_ask AS a
            WHERE a.object_type = p_object_type
                AND a.object_id = p_object_id
                AND a.operator_id = p_operator_id
                AND a.client_id = p_client_id
            FOR UPDATE;
        END IF;
        IF v_due THEN
            -- S6: grant it to the caller, and remove the caller's requests.
            CALL appl_lock_move(
                'YIELDED', p_object_type, p_object_id, v_holder_id, v_fence, p_operator_id, p_department_id, NULL,
                p_operator_id, CONCAT('no answer for ', v_patience, ' s'), v_lock_ts, 60,
                v_moved_fl, v_outcome, v_from_operator_id, v_from_department_id, p_fence, v_acquired_ts,
                v_expires_ts, v_seconds_left
            );
        END IF;
        IF v_moved_fl = 'Y' THEN
            SET p_outcome = 'GIVEN';
            SET p_acquired_ts = v_acquired_ts;
            SET p_expires_ts = v_expires_ts;
            SET p_seconds_left = v_seconds_left;
            CALL appl_lock_unask(p_object_type, p_object_id, p_operator_id);
        END IF;
    ELSE
        -- S7: there is nothing to ask for.
        DELETE FROM appl_lock_ask
        WHERE object_type = p_object_type
            AND object_id = p_object_id
            AND operator_id = p_operator_id
            AND client_id = p_client_id;
        SET p_ok_fl = IF(p_wait_seconds = 0, 'Y', 'N');
        SET p_outcome = CASE WHEN p_wait_seconds = 0 THEN 'WITHDRAWN' WHEN v_holder_id IS NULL THEN 'FREE' ELSE 'OWN' END;
    END IF;
    IF v_began THEN
        CALL appl_lock_end(TRUE);
    END IF;
    SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS ask_appl_lock;
-- +goose StatementBegin
CREATE PROCEDURE ask_appl_lock(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_message LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_wait_seconds BIGINT,
    OUT p_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_acquired_ts DATETIME(6),
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT
)
COMMENT 'Ask an object''s holder for it, with a message, or keep the request listed.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'ask_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL ask_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_client_id, p_message, p_wait_seconds,
        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_acquired_ts, p_expires_ts, p_seconds_left
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS ask_appl_lock_row;
-- +goose StatementBegin
CREATE PROCEDURE ask_appl_lock_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_message LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_wait_seconds BIGINT
)
COMMENT 'Ask an object''s holder for it, with a message, or keep the request listed; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts DATETIME(6);
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_seconds_left BIGINT;
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'ask_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL ask_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_client_id, p_message, p_wait_seconds,
        v_ok_fl, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_acquired_ts, v_expires_ts, v_seconds_left
    );
    SELECT
        v_ok_fl AS p_ok_fl,
        v_outcome AS p_outcome,
        v_old_operator_id AS p_old_operator_id,
        v_old_department_id AS p_old_department_id,
        v_fence AS p_fence,
        v_acquired_ts AS p_acquired_ts,
        v_expires_ts AS p_expires_ts,
        v_seconds_left AS p_seconds_left;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS assert_appl_lock_core;
-- +goose StatementBegin
-- assert_appl_lock: fail unless exactly this grant is live, and keep it so to the end of the transaction.
--
-- Contract   Returns when p_operator_id holds the object under p_fence; then nobody releases, transfers or takes over that grant before
--            the caller's transaction ends, even if it expires meanwhile. Called first in the transaction that writes the protected data,
--            it fences off a holder that lost its lock without noticing. Under autocommit it is a check only.
-- In         p_fence: 1 or greater.
-- Out        None; the row form returns p_ok_fl 'Y'. It leaves the grant in @appl_lock_asserted, for the guards of docs/guard.md.
-- Raises     LK001 invalid argument. LK002 the grant is not live; the message names the holder. LK003 an upgrade is replacing the
--            routine. 1205 after 1 s of waiting for another transaction. 1213 deadlock.
-- Locks      S1 takes a share lock on the object's row, to the end of the caller's transaction. Other asserts of the grant do not wait
--            for it; its renewal elsewhere does. A renewal or release in the same transaction may then deadlock with a call that waits
--            for the row (MariaDB). At REPEATABLE READ the gap of an object without a row is locked as long.
-- Race-free  Assert against take-over, release, transfer: the call that locks the row first goes first. S1 is a locking read
--            that names the grant and sees the newest row.
-- Differs    A message has at most 128 characters, and so 61 of a longer operator's. MySQL has a question mark for each
--            character outside the basic plane.

CREATE PROCEDURE assert_appl_lock_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT
)
COMMENT 'Internal to applock: the operation assert_appl_lock.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
main: BEGIN
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    DECLARE v_grant LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_live BOOLEAN DEFAULT FALSE;
    DECLARE v_message VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT 'assert_appl_lock: nobody holds it';
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        RESIGNAL;
    END;

    CALL appl_lock_key('assert_appl_lock', p_object_type, p_object_id);
    CALL appl_lock_text('assert_appl_lock', 'p_operator_id', 'Y', 1, 255, p_operator_id);
    CALL appl_lock_number('assert_appl_lock', 'p_fence', 9223372036854775807, COALESCE(p_fence, 0));
    CALL appl_lock_enter();
    SET v_grant = CONCAT(
        CHAR(10 USING utf8mb4), p_fence, CHAR(9 USING utf8mb4), p_operator_id, CHAR(9 USING utf8mb4), p_object_type, ':', p_object_id
    );
    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    -- S1: is this grant live? If so it becomes a line for guards, newest first. A line that is cut off loses its end, so no
    -- guard matches it.
    SELECT
        TRUE,
        IF(
            LOCATE(CONCAT(v_grant, CHAR(10 USING utf8mb4)), @appl_lock_asserted) > 0,
            @appl_lock_asserted,
            LEFT(CONCAT(v_grant, COALESCE(@appl_lock_asserted, CHAR(10 USING utf8mb4))), 16000)
        )
    INTO v_live, @appl_lock_asserted
    FROM appl_lock AS l
    WHERE l.object_type = p_object_type
        AND l.object_id = p_object_id
        AND l.operator_id = p_operator_id
        AND l.fence = p_fence
        AND l.released_ts IS NULL
        AND l.expires_ts > UTC_TIMESTAMP(6)
    LOCK IN SHARE MODE;
    IF v_live THEN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        LEAVE main;
    END IF;

    SELECT CONCAT(
        'assert_appl_lock: ', IF(CHAR_LENGTH(l.operator_id) > 64, CONCAT(LEFT(l.operator_id, 61), '...'), l.operator_id),
        ' holds it with fence ', l.fence
    )
    INTO v_message
    FROM appl_lock AS l
    WHERE l.object_type = p_object_type
        AND l.object_id = p_object_id
        AND l.released_ts IS NULL
        AND l.expires_ts > UTC_TIMESTAMP(6)
    LOCK IN SHARE MODE;
    SIGNAL SQLSTATE 'LK002' SET MESSAGE_TEXT = v_message;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS assert_appl_lock;
-- +goose StatementBegin
CREATE PROCEDURE assert_appl_lock(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT
)
COMMENT 'Fail unless exactly this grant is live, and keep it so to the end of the transaction.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'assert_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL assert_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_fence
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS assert_appl_lock_row;
-- +goose StatementBegin
CREATE PROCEDURE assert_appl_lock_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT
)
COMMENT 'Fail unless exactly this grant is live, and keep it so to the end of the transaction; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'assert_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL assert_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_fence
    );
    SELECT
        'Y' AS p_ok_fl;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS drop_appl_lock_policy_core;
-- +goose StatementBegin
-- drop_appl_lock_policy: remove the policy of a type.
--
-- Contract   Y DROPPED: the type has no policy any more. It is an event, POLICY, with its actor and reason. N NONE: it had
--            none. A grant keeps the end that it has until it is renewed or transferred.
-- In         p_reason: 0..150, NULL = empty.
-- Out        p_ok_fl, p_outcome.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine. 1205 after 1 s of waiting for another transaction.
--            1213 deadlock.
-- Locks      The type's row, or its gap, to the end of the caller's transaction.
-- Race-free  Two at once: one waits for the other and answers NONE. The change and its event are one transaction.
-- Differs    As set_appl_lock_policy.

CREATE PROCEDURE drop_appl_lock_policy_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation drop_appl_lock_policy.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    -- 1422: a function or trigger, which has a transaction.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    SET p_reason = COALESCE(p_reason, '');
    CALL appl_lock_text('drop_appl_lock_policy', 'p_object_type', 'Y', 1, 64, p_object_type);
    CALL appl_lock_text('drop_appl_lock_policy', 'p_actor_id', 'Y', 1, 255, p_actor_id);
    CALL appl_lock_text('drop_appl_lock_policy', 'p_reason', 'N', 0, 150, p_reason);
    CALL appl_lock_enter();
    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    CALL appl_lock_begin(v_began);
    -- S1: remove it.
    DELETE FROM appl_lock_policy
    WHERE object_type = p_object_type;
    SET p_ok_fl = IF(ROW_COUNT() > 0, 'Y', 'N');
    SET p_outcome = IF(p_ok_fl = 'Y', 'DROPPED', 'NONE');
    IF p_ok_fl = 'Y' THEN
        CALL appl_lock_record(
            'POLICY', p_object_type, '', p_actor_id, '', '', 0, '', '', 0,
            CONCAT('dropped', IF(p_reason = '', '', ': '), p_reason)
        );
    END IF;
    IF v_began THEN
        CALL appl_lock_end(TRUE);
    END IF;
    SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS drop_appl_lock_policy;
-- +goose StatementBegin
CREATE PROCEDURE drop_appl_lock_policy(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Remove the policy of a type.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'drop_appl_lock_policy: is being replaced; call again, or install it again if that lasts';
    CALL drop_appl_lock_policy_core(
        p_object_type, p_actor_id, p_reason,
        p_ok_fl, p_outcome
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS drop_appl_lock_policy_row;
-- +goose StatementBegin
CREATE PROCEDURE drop_appl_lock_policy_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Remove the policy of a type; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'drop_appl_lock_policy: is being replaced; call again, or install it again if that lasts';
    CALL drop_appl_lock_policy_core(
        p_object_type, p_actor_id, p_reason,
        v_ok_fl, v_outcome
    );
    SELECT
        v_ok_fl AS p_ok_fl,
        v_outcome AS p_outcome;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS get_appl_lock_core;
-- +goose StatementBegin
-- get_appl_lock: take or renew the lock on an object for one operator until it expires.
--
-- Contract   Y ACQUIRED: nobody held it: a new grant, a greater fence. Y RENEWED: this operator holds it: the same grant, and its ttl
--            counts from now. N HELD: another operator holds it, or this one and p_new_fl is Y; the answer tells who, since
--            when and until when.
--            The type's policy sets the default ttl and the longest one. Events: OVERTAKEN, when another operator's grant had
--            expired unreleased; under history ALL also ACQUIRED, RENEWED and REFUSED.
-- In         p_department_id and p_ttl_seconds: NULL keeps those of the grant; in a new grant '' and the policy's, else 604800.
-- Out        p_old_*: empty unless HELD. p_fence: 0 when HELD. p_note: the holder's, or one's own when RENEWED.
-- Raises     LK001 invalid argument. LK003 the object changed hands thirty times during the call, or an upgrade is replacing
--            the routine. 1205 after 1 s of waiting for another transaction. 1213 deadlock.
-- Locks      Outside a transaction: nothing when HELD; the row, while one statement changes it. In a transaction, a function or a
--            trigger: the row, also when HELD, and the policy's row for reading, until the transaction ends.
-- Race-free  S1 reads the row, S2 decides, S3 changes it. Each grant, renewal and transfer raises fence or lock_ts. A grant names
--            both and released_ts, so it matches only the row that S1 has read; otherwise the call begins again. A renewal
--            passes others of the same grant: it names all that it answers with, and its lock_ts must be the greater one, so
--            the end that counts is that of the later clock. S3 raises lock_ts, so ROW_COUNT is 1 with and without
--            CLIENT_FOUND_ROWS. The fifth attempt locks the row in S1, in the transaction of S3.
--            No row: get_appl_lock_insert inserts, or yields to one that was inserted meanwhile; then the call begins again.
--            In a transaction a plain read would fix the caller's snapshot before the grant. There the insert that yields comes
--            first, and S1 locks: the row exists by then. (Two locking reads of a missing row, and two inserts, would deadlock.)
--            An event and its change are one transaction: the caller's, or one of the call's own.
-- Differs    In a transaction a refusal waits for another transaction that is changing the row. No 40001: InnoDB judges the
--            newest row. Outside a transaction, a grant on an existing row or a renewal that took more than a second keeps the
--            times of its start, which others have seen.

CREATE PROCEDURE get_appl_lock_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
    IN p_new_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_acquired_ts DATETIME(6),
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT,
    OUT p_note VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation get_appl_lock.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
main: BEGIN
    DECLARE v_round INT DEFAULT 0;
    DECLARE v_open BOOLEAN DEFAULT TRUE;
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_now DATETIME(6);
    -- The row as S1 has read it, with p_old_operator_id, p_old_department_id, p_acquired_ts, p_expires_ts and p_note.
    DECLARE v_fence BIGINT;
    DECLARE v_lock_ts DATETIME(6);
    DECLARE v_ttl_seconds BIGINT;
    DECLARE v_history_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_released_ts DATETIME(6);
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- 1422: a function or trigger, which has a transaction.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();

    CALL appl_lock_look(v_open);
    REPEAT
        -- S1: what is there? Where other calls were quicker four times, the row is locked from here on.
        IF NOT (v_open OR v_round > 3) THEN
            SELECT
                l.operator_id, l.department_id, l.fence, l.acquired_ts, l.lock_ts, l.ttl_seconds,
                l.expires_ts, l.note, l.history_fl, l.released_ts
            INTO
                p_old_operator_id, p_old_department_id, v_fence, p_acquired_ts, v_lock_ts, v_ttl_seconds,
                p_expires_ts, p_note, v_history_fl, v_released_ts
            FROM appl_lock AS l
            WHERE l.object_type = p_object_type
                AND l.object_id = p_object_id;
        END IF;
        IF v_fence IS NULL THEN
            CALL get_appl_lock_check(p_object_type, p_object_id, p_operator_id, p_department_id, p_ttl_seconds, p_new_fl);
            CALL get_appl_lock_insert(
                p_object_type, p_object_id, p_operator_id, p_department_id, p_ttl_seconds, v_open OR v_round > 3,
                v_began, p_outcome, p_fence, p_seconds_left, p_old_operator_id, p_old_department_id, v_fence, p_acquired_ts,
                v_lock_ts, v_ttl_seconds, p_expires_ts, p_note, v_history_fl, v_released_ts
            );
        ELSEIF (
            -- A row proves type and id valid, and each argument that equals its column. An operator of printable ASCII needs no
            -- closer look: JSON_QUOTE makes a control character longer.
            (
                p_operator_id = p_old_operator_id
                OR LENGTH(JSON_QUOTE(p_operator_id)) BETWEEN 3 AND LEAST(CHAR_LENGTH(RTRIM(p_operator_id)), 255) + 2
                AND LOCATE(x'7F', p_operator_id) = 0
            )
            AND (p_department_id IS NULL OR p_department_id = p_old_department_id)
            AND (p_ttl_seconds IS NULL OR p_ttl_seconds BETWEEN 1 AND 315360000)
            AND (p_new_fl IS NULL OR p_new_fl = 'Y')
        ) IS NOT TRUE THEN
            CALL get_appl_lock_check(p_object_type, p_object_id, p_operator_id, p_department_id, p_ttl_seconds, p_new_fl);
        END IF;
        SET v_now = UTC_TIMESTAMP(6);

        IF p_outcome IS NULL AND v_fence IS NOT NULL AND v_released_ts IS NULL AND p_expires_ts > v_now
            AND (p_old_operator_id <> p_operator_id OR p_new_fl = 'Y')
        THEN
            -- S2: another operator holds it.
            IF v_began THEN
                CALL appl_lock_end(TRUE);
            END IF;
            IF v_history_fl = 'Y' THEN
                CALL appl_lock_record(
                    'REFUSED', p_object_type, p_object_id, p_operator_id,
                    p_old_operator_id, p_old_department_id, v_fence, p_old_operator_id, p_old_department_id, v_fence, ''
                );
            END IF;
            SET p_ok_fl = 'N';
            SET p_outcome = 'HELD';
            SET p_fence = 0;
            SET p_seconds_left = (TIMESTAMPDIFF(MICROSECOND, v_now, p_expires_ts) + 999999) DIV 1000000;
            LEAVE main;
        END IF;

        IF p_outcome IS NULL AND v_fence IS NOT NULL THEN
            BEGIN
                DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
                DECLARE v_default_ttl_seconds BIGINT DEFAULT 604800;
                DECLARE v_longest_ttl_seconds BIGINT DEFAULT 315360000;
                DECLARE v_all_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT 'N';
                DECLARE v_new_lock_ts DATETIME(6) DEFAULT GREATEST(v_now, v_lock_ts + INTERVAL 1 MICROSECOND);
                DECLARE v_event VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
                DECLARE EXIT HANDLER FOR SQLEXCEPTION
                BEGIN
                    SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
                    IF v_began THEN
                        CALL appl_lock_end(FALSE);
                    END IF;
                    RESIGNAL;
                END;

                -- S2: it is free, or the operator's own. Does the type have a policy? Most have none.
                IF v_open THEN
                    CALL appl_lock_policy(p_object_type, v_default_ttl_seconds, v_longest_ttl_seconds, v_all_fl, v_event);
                ELSE
                    SELECT
                        COALESCE(p.default_ttl_seconds, 604800), COALESCE(p.longest_ttl_seconds, 315360000),
                        IF(p.history_level = 'ALL', 'Y', 'N')
                    INTO v_default_ttl_seconds, v_longest_ttl_seconds, v_all_fl
                    FROM appl_lock_policy AS p
                    WHERE p.object_type = p_object_type;
                END IF;
                IF v_released_ts IS NULL AND p_expires_ts > v_now THEN
                    SET p_outcome = 'RENEWED';
                    SET p_fence = v_fence;
                    SET v_event = IF(v_all_fl = 'Y', 'RENEWED', NULL);
                    SET p_seconds_left = LEAST(COALESCE(p_ttl_seconds, v_ttl_seconds), v_longest_ttl_seconds);
                ELSE
                    SET p_outcome = 'ACQUIRED';
                    SET p_acquired_ts = v_now;
                    SET p_note = '';
                    SET p_fence = GREATEST(v_fence + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', v_now));
                    SET v_event = CASE
                        WHEN v_released_ts IS NULL AND p_old_operator_id <> p_operator_id THEN 'OVERTAKEN'
                        WHEN v_all_fl = 'Y' THEN 'ACQUIRED'
                    END;
                    SET p_seconds_left = LEAST(COALESCE(p_ttl_seconds, v_default_ttl_seconds), v_longest_ttl_seconds);
                END IF;
                IF NOT v_began AND (v_event IS NOT NULL OR LOCATE(@@GLOBAL.read_only, '0 OFF') = 0) THEN
                    CALL appl_lock_begin(v_began);
                END IF;

                -- S3: change it, if it is as S1 has read it.
                SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
                SET p_expires_ts = v_now + INTERVAL p_seconds_left SECOND;
                IF p_outcome = 'RENEWED' THEN
                    UPDATE appl_lock AS l
                    SET l.department_id = COALESCE(RTRIM(p_department_id), l.department_id),
                        l.lock_ts = v_new_lock_ts,
                        l.ttl_seconds = p_seconds_left,
                        l.expires_ts = p_expires_ts,
                        l.history_fl = v_all_fl
                    WHERE l.object_type = p_object_type
                        AND l.object_id = p_object_id
                        AND l.fence = v_fence
                        AND l.lock_ts < v_new_lock_ts
                        AND (p_ttl_seconds IS NOT NULL OR l.ttl_seconds = v_ttl_seconds)
                        AND l.expires_ts > v_now
                        AND l.released_ts IS NULL
                        AND l.note = p_note;
                ELSE
                    UPDATE appl_lock AS l
                    SET l.operator_id = RTRIM(p_operator_id),
                        l.department_id = COALESCE(RTRIM(p_department_id), ''),
                        l.fence = p_fence,
                        l.acquired_ts = v_now,
                        l.lock_ts = v_new_lock_ts,
                        l.ttl_seconds = p_seconds_left,
                        l.expires_ts = p_expires_ts,
                        l.note = '',
                        l.history_fl = v_all_fl,
                        l.released_ts = NULL
                    WHERE l.object_type = p_object_type
                        AND l.object_id = p_object_id
                        AND l.fence = v_fence
                        AND l.lock_ts = v_lock_ts
                        AND l.released_ts <=> v_released_ts;
                END IF;
                IF ROW_COUNT() = 0 THEN
                    SET p_outcome = NULL;
                END IF;
                SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
                IF v_event IS NOT NULL AND p_outcome IS NOT NULL THEN
                    CALL get_appl_lock_tell(
                        v_event, p_object_type, p_object_id, p_operator_id, RTRIM(p_department_id), p_fence,
                        p_old_operator_id, p_old_department_id, v_fence
                    );
                END IF;
                IF p_outcome IS NOT NULL AND TIMESTAMPDIFF(MICROSECOND, v_now, UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 1000000 THEN
                    IF v_open OR v_began THEN
                        CALL get_appl_lock_late(
                            p_object_type, p_object_id, p_outcome, p_seconds_left, v_new_lock_ts, NULL, p_fence, p_acquired_ts,
                            p_expires_ts
                        );
                    ELSE
                        -- Others have seen these times, so they stay; p_seconds_left counts from now.
                        SET p_seconds_left = GREATEST(
                            (TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), p_expires_ts) + 999999) DIV 1000000, 0
                        );
                    END IF;
                END IF;
                IF v_began THEN
                    CALL appl_lock_end(TRUE);
                    SET v_began = FALSE;
                END IF;
            END;
        END IF;
        IF p_outcome IS NOT NULL THEN
            SET p_ok_fl = 'Y';
            SET p_old_operator_id = '';
            SET p_old_department_id = '';
            LEAVE main;
        END IF;
        SET v_fence = NULL;
        SET v_round = v_round + 1;
    UNTIL v_round >= 30 END REPEAT;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'get_appl_lock: the object changed hands during the call; call again';
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS get_appl_lock;
-- +goose StatementBegin
CREATE PROCEDURE get_appl_lock(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
    IN p_new_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_acquired_ts DATETIME(6),
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT,
    OUT p_note VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Take or renew the lock on an object for one operator until it expires.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'get_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL get_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_ttl_seconds, p_new_fl,
        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_acquired_ts, p_expires_ts,
        p_seconds_left, p_note
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS get_appl_lock_row_core;
-- +goose StatementBegin
CREATE PROCEDURE get_appl_lock_row_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
    IN p_new_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation get_appl_lock, answered by one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE p_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE p_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE p_fence BIGINT;
    DECLARE p_acquired_ts DATETIME(6);
    DECLARE p_expires_ts DATETIME(6);
    DECLARE p_seconds_left BIGINT;
    DECLARE p_note VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    main: BEGIN
        DECLARE v_round INT DEFAULT 0;
        DECLARE v_open BOOLEAN DEFAULT TRUE;
        DECLARE v_began BOOLEAN DEFAULT FALSE;
        DECLARE v_now DATETIME(6);
        -- The row as S1 has read it, with p_old_operator_id, p_old_department_id, p_acquired_ts, p_expires_ts and p_note.
        DECLARE v_fence BIGINT;
        DECLARE v_lock_ts DATETIME(6);
        DECLARE v_ttl_seconds BIGINT;
        DECLARE v_history_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
        DECLARE v_released_ts DATETIME(6);
        DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

        BEGIN
            DECLARE CONTINUE HANDLER FOR 1568 SET v_open = TRUE;
            SET SESSION timestamp = DEFAULT;
            IF @@SESSION.autocommit THEN
                SET v_open = FALSE;
                SET TRANSACTION READ WRITE;
            END IF;
            IF COALESCE(@appl_lock_wait, @appl_lock_safe, @appl_lock_length) IS NOT NULL THEN
                CALL appl_lock_restore();
            END IF;
            IF v_open THEN
                IF LOCATE(@@GLOBAL.read_only, '0 OFF') = 0 OR @appl_lock_own IS NOT NULL THEN
                    CALL appl_lock_refuse();
                END IF;
            END IF;
        END;
        REPEAT
            -- S1: what is there? Where other calls were quicker four times, the row is locked from here on.
            IF NOT (v_open OR v_round > 3) THEN
                SELECT
                    l.operator_id, l.department_id, l.fence, l.acquired_ts, l.lock_ts, l.ttl_seconds,
                    l.expires_ts, l.note, l.history_fl, l.released_ts
                INTO
                    p_old_operator_id, p_old_department_id, v_fence, p_acquired_ts, v_lock_ts, v_ttl_seconds,
                    p_expires_ts, p_note, v_history_fl, v_released_ts
                FROM appl_lock AS l
                WHERE l.object_type = p_object_type
                    AND l.object_id = p_object_id;
            END IF;
            IF v_fence IS NULL THEN
                CALL get_appl_lock_check(p_object_type, p_object_id, p_operator_id, p_department_id, p_ttl_seconds, p_new_fl);
                CALL get_appl_lock_insert(
                    p_object_type, p_object_id, p_operator_id, p_department_id, p_ttl_seconds, v_open OR v_round > 3,
                    v_began, p_outcome, p_fence, p_seconds_left, p_old_operator_id, p_old_department_id, v_fence, p_acquired_ts,
                    v_lock_ts, v_ttl_seconds, p_expires_ts, p_note, v_history_fl, v_released_ts
                );
            ELSEIF (
                -- A row proves type and id valid, and each argument that equals its column. An operator of printable ASCII needs no
                -- closer look: JSON_QUOTE makes a control character longer.
                (
                    p_operator_id = p_old_operator_id
                    OR LENGTH(JSON_QUOTE(p_operator_id)) BETWEEN 3 AND LEAST(CHAR_LENGTH(RTRIM(p_operator_id)), 255) + 2
                    AND LOCATE(x'7F', p_operator_id) = 0
                )
                AND (p_department_id IS NULL OR p_department_id = p_old_department_id)
                AND (p_ttl_seconds IS NULL OR p_ttl_seconds BETWEEN 1 AND 315360000)
                AND (p_new_fl IS NULL OR p_new_fl = 'Y')
            ) IS NOT TRUE THEN
                CALL get_appl_lock_check(p_object_type, p_object_id, p_operator_id, p_department_id, p_ttl_seconds, p_new_fl);
            END IF;
            SET v_now = UTC_TIMESTAMP(6);

            IF p_outcome IS NULL AND v_fence IS NOT NULL AND v_released_ts IS NULL AND p_expires_ts > v_now
                AND (p_old_operator_id <> p_operator_id OR p_new_fl = 'Y')
            THEN
                -- S2: another operator holds it.
                IF v_began THEN
                    CALL appl_lock_end(TRUE);
                END IF;
                IF v_history_fl = 'Y' THEN
                    CALL appl_lock_record(
                        'REFUSED', p_object_type, p_object_id, p_operator_id,
                        p_old_operator_id, p_old_department_id, v_fence, p_old_operator_id, p_old_department_id, v_fence, ''
                    );
                END IF;
                SET p_ok_fl = 'N';
                SET p_outcome = 'HELD';
                SET p_fence = 0;
                SET p_seconds_left = (TIMESTAMPDIFF(MICROSECOND, v_now, p_expires_ts) + 999999) DIV 1000000;
                LEAVE main;
            END IF;

            IF p_outcome IS NULL AND v_fence IS NOT NULL THEN
                BEGIN
                    DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
                    DECLARE v_default_ttl_seconds BIGINT DEFAULT 604800;
                    DECLARE v_longest_ttl_seconds BIGINT DEFAULT 315360000;
                    DECLARE v_all_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT 'N';
                    DECLARE v_new_lock_ts DATETIME(6) DEFAULT GREATEST(v_now, v_lock_ts + INTERVAL 1 MICROSECOND);
                    DECLARE v_event VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
                    DECLARE EXIT HANDLER FOR SQLEXCEPTION
                    BEGIN
                        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
                        IF v_began THEN
                            CALL appl_lock_end(FALSE);
                        END IF;
                        RESIGNAL;
                    END;

                    -- S2: it is free, or the operator's own. Does the type have a policy? Most have none.
                    IF v_open THEN
                        CALL appl_lock_policy(p_object_type, v_default_ttl_seconds, v_longest_ttl_seconds, v_all_fl, v_event);
                    ELSE
                        SELECT
                            COALESCE(p.default_ttl_seconds, 604800), COALESCE(p.longest_ttl_seconds, 315360000),
                            IF(p.history_level = 'ALL', 'Y', 'N')
                        INTO v_default_ttl_seconds, v_longest_ttl_seconds, v_all_fl
                        FROM appl_lock_policy AS p
                        WHERE p.object_type = p_object_type;
                    END IF;
                    IF v_released_ts IS NULL AND p_expires_ts > v_now THEN
                        SET p_outcome = 'RENEWED';
                        SET p_fence = v_fence;
                        SET v_event = IF(v_all_fl = 'Y', 'RENEWED', NULL);
                        SET p_seconds_left = LEAST(COALESCE(p_ttl_seconds, v_ttl_seconds), v_longest_ttl_seconds);
                    ELSE
                        SET p_outcome = 'ACQUIRED';
                        SET p_acquired_ts = v_now;
                        SET p_note = '';
                        SET p_fence = GREATEST(v_fence + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', v_now));
                        SET v_event = CASE
                            WHEN v_released_ts IS NULL AND p_old_operator_id <> p_operator_id THEN 'OVERTAKEN'
                            WHEN v_all_fl = 'Y' THEN 'ACQUIRED'
                        END;
                        SET p_seconds_left = LEAST(COALESCE(p_ttl_seconds, v_default_ttl_seconds), v_longest_ttl_seconds);
                    END IF;
                    IF NOT v_began AND (v_event IS NOT NULL OR LOCATE(@@GLOBAL.read_only, '0 OFF') = 0) THEN
                        CALL appl_lock_begin(v_began);
                    END IF;

                    -- S3: change it, if it is as S1 has read it.
                    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
                    SET p_expires_ts = v_now + INTERVAL p_seconds_left SECOND;
                    IF p_outcome = 'RENEWED' THEN
                        UPDATE appl_lock AS l
                        SET l.department_id = COALESCE(RTRIM(p_department_id), l.department_id),
                            l.lock_ts = v_new_lock_ts,
                            l.ttl_seconds = p_seconds_left,
                            l.expires_ts = p_expires_ts,
                            l.history_fl = v_all_fl
                        WHERE l.object_type = p_object_type
                            AND l.object_id = p_object_id
                            AND l.fence = v_fence
                            AND l.lock_ts < v_new_lock_ts
                            AND (p_ttl_seconds IS NOT NULL OR l.ttl_seconds = v_ttl_seconds)
                            AND l.expires_ts > v_now
                            AND l.released_ts IS NULL
                            AND l.note = p_note;
                    ELSE
                        UPDATE appl_lock AS l
                        SET l.operator_id = RTRIM(p_operator_id),
                            l.department_id = COALESCE(RTRIM(p_department_id), ''),
                            l.fence = p_fence,
                            l.acquired_ts = v_now,
                            l.lock_ts = v_new_lock_ts,
                            l.ttl_seconds = p_seconds_left,
                            l.expires_ts = p_expires_ts,
                            l.note = '',
                            l.history_fl = v_all_fl,
                            l.released_ts = NULL
                        WHERE l.object_type = p_object_type
                            AND l.object_id = p_object_id
                            AND l.fence = v_fence
                            AND l.lock_ts = v_lock_ts
                            AND l.released_ts <=> v_released_ts;
                    END IF;
                    IF ROW_COUNT() = 0 THEN
                        SET p_outcome = NULL;
                    END IF;
                    SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
                    IF v_event IS NOT NULL AND p_outcome IS NOT NULL THEN
                        CALL get_appl_lock_tell(
                            v_event, p_object_type, p_object_id, p_operator_id, RTRIM(p_department_id), p_fence,
                            p_old_operator_id, p_old_department_id, v_fence
                        );
                    END IF;
                    IF p_outcome IS NOT NULL AND TIMESTAMPDIFF(MICROSECOND, v_now, UTC_TIMESTAMP(6)) NOT BETWEEN 0 AND 1000000 THEN
                        IF v_open OR v_began THEN
                            CALL get_appl_lock_late(
                                p_object_type, p_object_id, p_outcome, p_seconds_left, v_new_lock_ts, NULL, p_fence, p_acquired_ts,
                                p_expires_ts
                            );
                        ELSE
                            -- Others have seen these times, so they stay; p_seconds_left counts from now.
                            SET p_seconds_left = GREATEST(
                                (TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), p_expires_ts) + 999999) DIV 1000000, 0
                            );
                        END IF;
                    END IF;
                    IF v_began THEN
                        CALL appl_lock_end(TRUE);
                        SET v_began = FALSE;
                    END IF;
                END;
            END IF;
            IF p_outcome IS NOT NULL THEN
                SET p_ok_fl = 'Y';
                SET p_old_operator_id = '';
                SET p_old_department_id = '';
                LEAVE main;
            END IF;
            SET v_fence = NULL;
            SET v_round = v_round + 1;
        UNTIL v_round >= 30 END REPEAT;
        SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'get_appl_lock: the object changed hands during the call; call again';
    END;
    SELECT
        p_ok_fl AS p_ok_fl,
        p_outcome AS p_outcome,
        p_old_operator_id AS p_old_operator_id,
        p_old_department_id AS p_old_department_id,
        p_fence AS p_fence,
        p_acquired_ts AS p_acquired_ts,
        p_expires_ts AS p_expires_ts,
        p_seconds_left AS p_seconds_left,
        p_note AS p_note;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS get_appl_lock_row;
-- +goose StatementBegin
CREATE PROCEDURE get_appl_lock_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
    IN p_new_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Take or renew the lock on an object for one operator until it expires; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'get_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL get_appl_lock_row_core(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_ttl_seconds, p_new_fl
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS get_appl_lock_permit_core;
-- +goose StatementBegin
-- get_appl_lock_permit: take or renew one of the N permits of an object for one operator until it expires.
--
-- Contract   The permits are slots: the objects p_object_id#1 to p_object_id#N of the type, N being p_permits. A slot is an
--            object like any other: release, inquire, transfer, assert and the rest take its id.
--            ACQUIRED: a slot was free or had expired; a new grant, a greater fence. RENEWED: this operator holds a
--            slot; same grant and fence. One row tells the slot.
--            FULL: each slot was held by somebody else when the call looked at it. One row for each, the
--            soonest to expire first; one that has become free since comes first, without a holder: call again.
--            Lowering the number frees nothing. A slot above N is neither granted, renewed nor counted: it stays with its
--            holder until released or expired. Such a holder may get another slot within N.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1 or more, with "#N" 255 at the most; p_permits 1..1000;
--            p_operator_id 1..255; p_department_id 0..64; p_ttl_seconds 1..315360000. NULL of the last two = as the
--            grant has it in a renewal; in a new grant an empty department and the policy's ttl, else 604800 (7 days). Trailing
--            blanks are trimmed first. LONGTEXT, so that length is checked here.
-- Out        outcome, slot_id, operator_id, department_id, fence, acquired_ts, expires_ts, seconds_left (whole seconds from
--            now to expires_ts, rounded up), note. Of a slot that has become free the texts are empty, the numbers 0 and the
--            times NULL.
-- Raises     LK001 invalid argument. LK003, 1205 and 1213 as get_appl_lock.
-- Locks      S1 and S3 are plain reads, so FULL answers without locking or waiting. S2 is get_appl_lock for one slot, with its
--            locks.
-- Race-free  Never more than N: S1 grants nothing. Each grant is one of get_appl_lock on one of N rows.
--            Two for the last slot: get_appl_lock lets one have it. The other looks again, for slots that it has not
--            tried; so it ends after N rounds at the most, whatever the others do.
--            Release of a slot during a round: S1 is a new snapshot each time. A slot that was tried is not tried again: it
--            was held when it was tried.
--            The same operator twice at once: both begin with the same slot, for which the second waits and renews it.
--            Only where that slot changes hands between the two S1 may each get a slot of its own; later calls renew one of
--            them.
-- Differs    Call it outside of transactions, or at READ COMMITTED. In a transaction a slot that S2 finds held stays locked
--            until the transaction ends, as in get_appl_lock. At REPEATABLE READ S1 and S3 see the transaction's snapshot,
--            which S1 may fix. Then the caller's reads are older than its grant, and a slot that is held by now may look free.

CREATE PROCEDURE get_appl_lock_permit_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_permits BIGINT,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT
)
COMMENT 'Internal to applock: the operation get_appl_lock_permit.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
main: BEGIN
    DECLARE v_slots JSON;
    DECLARE v_first BIGINT;
    DECLARE v_tried LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT ',';
    DECLARE v_now DATETIME(6);
    DECLARE v_slot BIGINT;
    DECLARE v_own_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts DATETIME(6);
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_seconds_left BIGINT;
    DECLARE v_note VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();

    CALL appl_lock_text('get_appl_lock_permit', 'p_object_type', 'Y', 1, 64, p_object_type);
    CALL appl_lock_number('get_appl_lock_permit', 'p_permits', 1000, COALESCE(p_permits, 0));
    CALL appl_lock_text('get_appl_lock_permit', 'p_object_id', 'Y', 1, 254 - CHAR_LENGTH(p_permits), p_object_id);
    CALL appl_lock_text('get_appl_lock_permit', 'p_operator_id', 'Y', 1, 255, p_operator_id);
    CALL appl_lock_text('get_appl_lock_permit', 'p_department_id', 'Y', 0, 64, p_department_id);
    CALL appl_lock_number('get_appl_lock_permit', 'p_ttl_seconds', 315360000, p_ttl_seconds);
    -- S1 asks by the server's time, too, and in no transaction that a killed call has left.
    SET SESSION timestamp = DEFAULT;
    IF @appl_lock_own IS NOT NULL THEN
        CALL appl_lock_enter();
    END IF;

    -- A list of N, which JSON_TABLE numbers.
    SET v_slots = CONCAT('[0', REPEAT(',0', p_permits - 1), ']');
    SET v_first = CRC32(p_operator_id) MOD p_permits;
    slots: LOOP
        -- S1: the operator's own slot, or else the next free one.
        SET v_slot = NULL;
        SET v_now = UTC_TIMESTAMP(6);
        SELECT s.slot, l.department_id
        INTO v_slot, v_own_department_id
        FROM JSON_TABLE(v_slots, '$[*]' COLUMNS (slot FOR ORDINALITY)) AS s
        LEFT JOIN appl_lock AS l FORCE INDEX (PRIMARY)
            ON l.object_type = p_object_type
            AND l.object_id = CONCAT(p_object_id, '#', s.slot)
            AND l.released_ts IS NULL
            AND l.expires_ts > v_now
        WHERE (l.operator_id IS NULL OR l.operator_id = p_operator_id)
            AND LOCATE(CONCAT(',', s.slot, ','), v_tried) = 0
        ORDER BY l.operator_id IS NULL, MOD(s.slot - v_first + p_permits, p_permits)
        LIMIT 1;
        IF v_slot IS NULL THEN
            LEAVE slots;
        END IF;

        -- S2: get it.
        CALL get_appl_lock_core(
            p_object_type, CONCAT(p_object_id, '#', v_slot), p_operator_id, p_department_id, p_ttl_seconds, NULL,
            v_ok_fl, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_acquired_ts, v_expires_ts,
            v_seconds_left, v_note
        );
        IF v_ok_fl = 'Y' THEN
            SELECT
                v_outcome AS outcome,
                CAST(CONCAT(p_object_id, '#', v_slot) AS CHAR(255)) AS slot_id,
                CAST(p_operator_id AS CHAR(255)) AS operator_id,
                CAST(
                    COALESCE(p_department_id, IF(v_outcome = 'RENEWED', v_own_department_id, NULL), '') AS CHAR(64)
                ) AS department_id,
                v_fence AS fence,
                v_acquired_ts AS acquired_ts,
                v_expires_ts AS expires_ts,
                v_seconds_left AS seconds_left,
                v_note AS note;
            LEAVE main;
        END IF;
        SET v_tried = CONCAT(v_tried, v_slot, ',');
    END LOOP slots;

    -- S3: who holds them?
    SET v_now = UTC_TIMESTAMP(6);
    SELECT
        'FULL' AS outcome,
        CAST(CONCAT(p_object_id, '#', s.slot) AS CHAR(255)) AS slot_id,
        COALESCE(l.operator_id, '') AS operator_id,
        COALESCE(l.department_id, '') AS department_id,
        COALESCE(l.fence, 0) AS fence,
        l.acquired_ts,
        l.expires_ts,
        COALESCE((TIMESTAMPDIFF(MICROSECOND, v_now, l.expires_ts) + 999999) DIV 1000000, 0) AS seconds_left,
        COALESCE(l.note, '') AS note
    FROM JSON_TABLE(v_slots, '$[*]' COLUMNS (slot FOR ORDINALITY)) AS s
    LEFT JOIN appl_lock AS l FORCE INDEX (PRIMARY)
        ON l.object_type = p_object_type
        AND l.object_id = CONCAT(p_object_id, '#', s.slot)
        AND l.released_ts IS NULL
        AND l.expires_ts > v_now
    ORDER BY l.expires_ts, s.slot;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS get_appl_lock_permit;
-- +goose StatementBegin
CREATE PROCEDURE get_appl_lock_permit(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_permits BIGINT,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT
)
COMMENT 'Take or renew one of the N permits of an object for one operator until it expires.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'get_appl_lock_permit: is being replaced; call again, or install it again if that lasts';
    CALL get_appl_lock_permit_core(
        p_object_type, p_object_id, p_permits, p_operator_id, p_department_id, p_ttl_seconds
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS inbox_appl_locks_core;
-- +goose StatementBegin
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

CREATE PROCEDURE inbox_appl_locks_core(
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_position LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max_rows BIGINT
)
COMMENT 'Internal to applock: the operation inbox_appl_locks.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_max_rows BIGINT DEFAULT COALESCE(p_max_rows, 1000);
    DECLARE v_position LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT COALESCE(NULLIF(p_position, ''), '0');
    -- Its ranges as JSON.
    DECLARE v_told LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT CONCAT('[[', REPLACE(REPLACE(v_position, ',', '],['), '-', ','), ']]');
    DECLARE v_told_rows BIGINT DEFAULT 0;
    DECLARE v_after_event_id BIGINT;
    DECLARE v_old_event_id BIGINT;
    DECLARE v_page LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_events BIGINT;
    DECLARE v_room BIGINT;
    DECLARE v_waiting BIGINT;
    DECLARE v_left_out_ts DATETIME(6);
    DECLARE v_now DATETIME(6);
    DECLARE v_more BOOLEAN DEFAULT TRUE;
    DECLARE v_object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_asker_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_client_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
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
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS inbox_appl_locks;
-- +goose StatementBegin
CREATE PROCEDURE inbox_appl_locks(
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_position LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max_rows BIGINT
)
COMMENT 'Report what others did with an operator''s locks, who waits or asks for them, and how its requests were answered.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'inbox_appl_locks: is being replaced; call again, or install it again if that lasts';
    CALL inbox_appl_locks_core(
        p_operator_id, p_position, p_max_rows
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS inquire_appl_lock_core;
-- +goose StatementBegin
-- inquire_appl_lock: show who holds an object, since when and until when.
--
-- Contract   Y and the lock, when somebody holds the object. N and blanks (empty strings, numbers 0, NULL timestamps) when it is free.
-- In         p_object_type, p_object_id.
-- Out        As the view appl_lock_live.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine.
-- Locks      Nothing; it neither waits nor writes.
-- Race-free  One read of one committed row: what it says was true at one moment.
-- Differs    At REPEATABLE READ that moment is the transaction's snapshot, which it fixes: a get, assert or serialize that is to see the
--            newest data comes first. In a transaction at SERIALIZABLE InnoDB makes it a locking read, which waits.

CREATE PROCEDURE inquire_appl_lock_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_acquired_ts DATETIME(6),
    OUT p_lock_ts DATETIME(6),
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT,
    OUT p_note VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation inquire_appl_lock.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();

    CALL appl_lock_key('inquire_appl_lock', p_object_type, p_object_id);
    SET SESSION timestamp = DEFAULT;
    IF @appl_lock_own IS NOT NULL THEN
        CALL appl_lock_enter();
    END IF;
    SELECT
        'Y',
        l.operator_id,
        l.department_id,
        l.fence,
        l.acquired_ts,
        l.lock_ts,
        l.expires_ts,
        (TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.expires_ts) + 999999) DIV 1000000,
        l.note
    INTO p_ok_fl, p_operator_id, p_department_id, p_fence, p_acquired_ts, p_lock_ts, p_expires_ts, p_seconds_left, p_note
    FROM appl_lock AS l
    WHERE l.object_type = p_object_type
        AND l.object_id = p_object_id
        AND l.released_ts IS NULL
        AND l.expires_ts > UTC_TIMESTAMP(6);
    IF p_ok_fl IS NULL THEN
        SET p_ok_fl = 'N';
        SET p_operator_id = '';
        SET p_department_id = '';
        SET p_fence = 0;
        SET p_seconds_left = 0;
        SET p_note = '';
    END IF;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS inquire_appl_lock;
-- +goose StatementBegin
CREATE PROCEDURE inquire_appl_lock(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_acquired_ts DATETIME(6),
    OUT p_lock_ts DATETIME(6),
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT,
    OUT p_note VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Show who holds an object, since when and until when.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'inquire_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL inquire_appl_lock_core(
        p_object_type, p_object_id,
        p_ok_fl, p_operator_id, p_department_id, p_fence, p_acquired_ts, p_lock_ts, p_expires_ts, p_seconds_left, p_note
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS inquire_appl_lock_row;
-- +goose StatementBegin
CREATE PROCEDURE inquire_appl_lock_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Show who holds an object, since when and until when; the answer is one row.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts DATETIME(6);
    DECLARE v_lock_ts DATETIME(6);
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_seconds_left BIGINT;
    DECLARE v_note VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'inquire_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL inquire_appl_lock_core(
        p_object_type, p_object_id,
        v_ok_fl, v_operator_id, v_department_id, v_fence, v_acquired_ts, v_lock_ts, v_expires_ts, v_seconds_left, v_note
    );
    SELECT
        v_ok_fl AS p_ok_fl,
        v_operator_id AS p_operator_id,
        v_department_id AS p_department_id,
        v_fence AS p_fence,
        v_acquired_ts AS p_acquired_ts,
        v_lock_ts AS p_lock_ts,
        v_expires_ts AS p_expires_ts,
        v_seconds_left AS p_seconds_left,
        v_note AS p_note;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS note_appl_lock_core;
-- +goose StatementBegin
-- note_appl_lock: leave a note on why an operator holds an object, for everybody to read.
--
-- Contract   Y NOTED: the operator holds it (this very grant, if p_fence is given), and this is its note. It lasts as long as the grant.
--            N HELD: another operator or another grant holds it. N FREE: nobody holds it.
-- In         p_fence: NULL = any grant. p_note: NULL = empty.
-- Out        p_old_*: empty unless HELD.
-- Raises     LK001 invalid argument. LK003 the object changed hands thirty times during the call, or an upgrade is replacing
--            the routine. 1205 after 1 s of waiting for another transaction. 1213 deadlock.
-- Locks      The object's row, to the end of the caller's transaction. At REPEATABLE READ the gap of an object without a row is
--            locked as long.
-- Race-free  S1 locks and reads the row. S2 changes it only if it is as S1 has read it; else S1 runs again. An equal note is
--            not written again, because ROW_COUNT is 0 then as without a row.
-- Differs    A refusal waits for a transaction that is changing the row. No 40001: InnoDB judges the newest row.

CREATE PROCEDURE note_appl_lock_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT,
    IN p_note LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation note_appl_lock.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
main: BEGIN
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    DECLARE v_round INT DEFAULT 0;
    DECLARE v_fence BIGINT;
    DECLARE v_lock_ts DATETIME(6);
    DECLARE v_note VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        RESIGNAL;
    END;

    SET p_note = COALESCE(p_note, '');
    CALL appl_lock_key('note_appl_lock', p_object_type, p_object_id);
    CALL appl_lock_text('note_appl_lock', 'p_operator_id', 'Y', 1, 255, p_operator_id);
    CALL appl_lock_number('note_appl_lock', 'p_fence', 9223372036854775807, p_fence);
    CALL appl_lock_text('note_appl_lock', 'p_note', 'N', 0, 255, p_note);
    CALL appl_lock_enter();
    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    REPEAT
        -- S1: who holds it?
        SET v_fence = NULL;
        SELECT l.operator_id, l.department_id, l.fence, l.lock_ts, l.note
        INTO p_old_operator_id, p_old_department_id, v_fence, v_lock_ts, v_note
        FROM appl_lock AS l
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
            AND l.released_ts IS NULL
            AND l.expires_ts > UTC_TIMESTAMP(6)
        FOR UPDATE;
        SET p_outcome = CASE
            WHEN v_fence IS NULL THEN 'FREE'
            WHEN p_old_operator_id <> p_operator_id OR v_fence <> p_fence THEN 'HELD'
            ELSE 'NOTED'
        END;
        IF p_outcome = 'NOTED' AND v_note <> p_note THEN
            -- S2: note it.
            UPDATE appl_lock AS l
            SET l.note = p_note
            WHERE l.object_type = p_object_type
                AND l.object_id = p_object_id
                AND l.fence = v_fence
                AND l.lock_ts = v_lock_ts
                AND l.released_ts IS NULL
                AND l.note = v_note;
            IF ROW_COUNT() = 0 THEN
                SET p_outcome = NULL;
            END IF;
        END IF;
        IF p_outcome IS NOT NULL THEN
            SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
            SET p_ok_fl = IF(p_outcome = 'NOTED', 'Y', 'N');
            SET p_old_operator_id = IF(p_outcome = 'HELD', p_old_operator_id, '');
            SET p_old_department_id = IF(p_outcome = 'HELD', p_old_department_id, '');
            LEAVE main;
        END IF;
        SET v_round = v_round + 1;
    UNTIL v_round >= 30 END REPEAT;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'note_appl_lock: the object changed hands during the call; call again';
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS note_appl_lock;
-- +goose StatementBegin
CREATE PROCEDURE note_appl_lock(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT,
    IN p_note LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Leave a note on why an operator holds an object, for everybody to read.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'note_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL note_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_fence, p_note,
        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS note_appl_lock_row;
-- +goose StatementBegin
CREATE PROCEDURE note_appl_lock_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT,
    IN p_note LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Leave a note on why an operator holds an object, for everybody to read; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'note_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL note_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_fence, p_note,
        v_ok_fl, v_outcome, v_old_operator_id, v_old_department_id
    );
    SELECT
        v_ok_fl AS p_ok_fl,
        v_outcome AS p_outcome,
        v_old_operator_id AS p_old_operator_id,
        v_old_department_id AS p_old_department_id;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS poll_appl_locks_core;
-- +goose StatementBegin
-- poll_appl_locks: show which objects that a program waits for are free or will be next, and keep its waiters listed.
--
-- Contract   A row for each object that a waiter of the program still waits for: free objects first, then by the end of their
--            locks. A lock may be renewed or released meanwhile. The program's waiters stay listed for 30 s or more, with the
--            object's present holder once that has had it for a second. It is the turn of the program whose waiter has been listed longest.
-- In         p_max_rows: 1..10000, NULL = 1000.
-- Out        free_in_us: microseconds until the lock ends, 0 when the object is free. first_fl: Y when it is free, and the turn of
--            this program; otherwise N. Ordered by free_in_us and the key.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine.
-- Locks      Normally nothing. Once in 30 s S2 locks the program's rows in appl_lock_waiter and in its index, to the end of the caller's
--            transaction, at REPEATABLE READ also the gaps around them. S3 locks waiters whose object changed hands.
--            Rows that another transaction is changing are passed over.
-- Race-free  Against announce and retract of a row: they lock the row first and the index second, S2 the other way round. S2
--            never waits, so they cannot deadlock. S2 and S3 lock and change in one statement: under autocommit no lock
--            outlives it.
-- Differs    Plain reads: call it outside of transactions.

CREATE PROCEDURE poll_appl_locks_core(
    IN p_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max_rows BIGINT
)
COMMENT 'Internal to applock: the operation poll_appl_locks.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_max_rows BIGINT DEFAULT COALESCE(p_max_rows, 1000);
    DECLARE v_now DATETIME(6);
    DECLARE v_expires DATETIME(6);
    DECLARE v_due BOOLEAN DEFAULT FALSE;
    DECLARE v_more BOOLEAN DEFAULT TRUE;
    DECLARE v_object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_holder_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_safe_updates BOOLEAN DEFAULT COALESCE(@appl_lock_safe, @@SESSION.sql_safe_updates + 0);
    DECLARE moved CURSOR FOR
        SELECT w.object_type, w.object_id, w.operator_id, l.operator_id
        FROM appl_lock_waiter AS w FORCE INDEX (appl_lock_waiter_client_ix)
        STRAIGHT_JOIN appl_lock AS l FORCE INDEX (PRIMARY)
            ON l.object_type = w.object_type
            AND l.object_id = w.object_id
            AND l.operator_id <> w.holder_id
            AND l.released_ts IS NULL
            AND l.expires_ts > v_now
            AND l.acquired_ts < v_now - INTERVAL 1 SECOND
        WHERE w.client_id = p_client_id
            AND w.expires_ts > v_now;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_more = FALSE;
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION sql_safe_updates = v_safe_updates, @appl_lock_safe = NULL;
        RESIGNAL;
    END;

    CALL appl_lock_text('poll_appl_locks', 'p_client_id', 'N', 1, 64, p_client_id);
    CALL appl_lock_number('poll_appl_locks', 'p_max_rows', 10000, v_max_rows);
    CALL appl_lock_enter();
    SET v_now = UTC_TIMESTAMP(6);
    SET v_expires = v_now + INTERVAL 60 SECOND;

    -- S1: must one of the waiters be kept listed? (The SELECT of an IF EXISTS would lock what it reads.)
    SELECT TRUE
    INTO v_due
    FROM appl_lock_waiter AS w FORCE INDEX (appl_lock_waiter_client_ix)
    WHERE w.client_id = p_client_id
        AND w.expires_ts < v_now + INTERVAL 30 SECOND
        AND (w.until_ts IS NULL OR (w.until_ts > v_now AND w.until_ts > w.expires_ts))
    LIMIT 1;
    -- MariaDB's safe updates refuse S2 and S3, because they read all rows of the inner SELECT.
    SET @appl_lock_safe = v_safe_updates, SESSION sql_safe_updates = FALSE;
    IF v_due THEN
        -- S2: keep all of them. The LIMIT, which is out of reach, makes the server lock the rows before it changes the first.
        -- Without the forced index it would read, and so lock, all rows of a small table.
        UPDATE (
            SELECT r.object_type, r.object_id, r.operator_id, r.client_id
            FROM appl_lock_waiter AS r FORCE INDEX (appl_lock_waiter_client_ix)
            WHERE r.client_id = p_client_id
                AND (r.until_ts IS NULL OR (r.until_ts > v_now AND r.until_ts > r.expires_ts))
            LIMIT 1000000000
            FOR UPDATE SKIP LOCKED
        ) AS k
        STRAIGHT_JOIN appl_lock_waiter AS w FORCE INDEX (PRIMARY)
            ON w.object_type = k.object_type
            AND w.object_id = k.object_id
            AND w.operator_id = k.operator_id
            AND w.client_id = k.client_id
        SET w.expires_ts = LEAST(v_expires, COALESCE(w.until_ts, v_expires));
    END IF;

    -- S3: store the new holders. While an object goes from hand to hand, polls write nothing.
    OPEN moved;
    SET v_more = TRUE;
    FETCH moved INTO v_object_type, v_object_id, v_operator_id, v_holder_id;
    WHILE v_more DO
        UPDATE (
            SELECT r.object_type, r.object_id, r.operator_id, r.client_id
            FROM appl_lock_waiter AS r FORCE INDEX (PRIMARY)
            WHERE r.object_type = v_object_type
                AND r.object_id = v_object_id
                AND r.operator_id = v_operator_id
                AND r.client_id = p_client_id
            LIMIT 1
            FOR UPDATE SKIP LOCKED
        ) AS k
        STRAIGHT_JOIN appl_lock_waiter AS w FORCE INDEX (PRIMARY)
            ON w.object_type = k.object_type
            AND w.object_id = k.object_id
            AND w.operator_id = k.operator_id
            AND w.client_id = k.client_id
        SET w.holder_id = v_holder_id;
        FETCH moved INTO v_object_type, v_object_id, v_operator_id, v_holder_id;
    END WHILE;
    CLOSE moved;
    SET SESSION sql_safe_updates = v_safe_updates, @appl_lock_safe = NULL;

    -- S4: when will each be free?
    SELECT
        a.object_type,
        a.object_id,
        COALESCE(TIMESTAMPDIFF(MICROSECOND, v_now, l.expires_ts), 0) AS free_in_us,
        IF(l.expires_ts IS NULL AND NOT EXISTS (
            SELECT TRUE
            FROM appl_lock_waiter AS o FORCE INDEX (PRIMARY)
            WHERE o.object_type = a.object_type
                AND o.object_id = a.object_id
                    AND o.expires_ts > v_now
                AND o.since_ts < a.since_ts
        ), 'Y', 'N') AS first_fl
    FROM (
        SELECT w.object_type, w.object_id, MIN(w.since_ts) AS since_ts
        FROM appl_lock_waiter AS w FORCE INDEX (appl_lock_waiter_client_ix)
        WHERE w.client_id = p_client_id
            AND (w.until_ts IS NULL OR w.until_ts > v_now)
        GROUP BY w.object_type, w.object_id
    ) AS a
    LEFT JOIN appl_lock AS l FORCE INDEX (PRIMARY)
        ON l.object_type = a.object_type
        AND l.object_id = a.object_id
        AND l.released_ts IS NULL
        AND l.expires_ts > v_now
    ORDER BY free_in_us, a.object_type, a.object_id
    LIMIT v_max_rows;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS poll_appl_locks;
-- +goose StatementBegin
CREATE PROCEDURE poll_appl_locks(
    IN p_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max_rows BIGINT
)
COMMENT 'Show which objects that a program waits for are free or will be next, and keep its waiters listed.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'poll_appl_locks: is being replaced; call again, or install it again if that lasts';
    CALL poll_appl_locks_core(
        p_client_id, p_max_rows
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS purge_appl_lock_history_core;
-- +goose StatementBegin
-- purge_appl_lock_history: remove old events from the history.
--
-- Contract   Deletes at most p_max_rows events that happened p_older_than_seconds ago or longer, oldest first, and no further than the
--            first that stays. PURGED and HISTORY_PURGED, the records of purges, stay for 400 days at least. If any went, the
--            event HISTORY_PURGED has the number as its reason.
-- In         p_older_than_seconds: NULL = 34560000 (400 days). p_max_rows: 1..10000, NULL = 1000.
-- Out        p_purged, the number of events removed.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine. 1205 at SERIALIZABLE after 1 s
--            of waiting for another purge. 1213 deadlock.
-- Locks      The events it removes, to the end of the caller's transaction. It skips events that another purge removes (S2).
-- Race-free  An event never changes. The removal and its event are one transaction. Two at once remove different ones.
-- Differs    Row by row, found by a plain read, which in a transaction fixes the caller's snapshot.

CREATE PROCEDURE purge_appl_lock_history_core(
    IN p_older_than_seconds BIGINT,
    IN p_max_rows BIGINT,
    OUT p_purged BIGINT
)
COMMENT 'Internal to applock: the operation purge_appl_lock_history.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_older_than_seconds BIGINT DEFAULT COALESCE(p_older_than_seconds, 34560000);
    DECLARE v_max_rows BIGINT DEFAULT COALESCE(p_max_rows, 1000);
    DECLARE v_before DATETIME(6);
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_more BOOLEAN DEFAULT TRUE;
    DECLARE v_stays BOOLEAN;
    DECLARE v_free BOOLEAN;
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    DECLARE v_event_id BIGINT DEFAULT 0;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- 1422: a function or trigger, which has a transaction.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    CALL appl_lock_number('purge_appl_lock_history', 'p_older_than_seconds', 315360000, v_older_than_seconds);
    CALL appl_lock_number('purge_appl_lock_history', 'p_max_rows', 10000, v_max_rows);
    CALL appl_lock_enter();
    SET v_before = UTC_TIMESTAMP(6) - INTERVAL v_older_than_seconds SECOND;
    SET p_purged = 0;
    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    CALL appl_lock_begin(v_began);
    WHILE v_more AND p_purged < v_max_rows DO
        SET v_more = FALSE;
        -- S1: the next event, and does it stay for longer?
        SELECT
            e.event_id,
            e.event_ts < v_before,
            e.event IN ('PURGED', 'HISTORY_PURGED') AND e.event_ts >= UTC_TIMESTAMP(6) - INTERVAL 34560000 SECOND
        INTO v_event_id, v_more, v_stays
        FROM appl_lock_event AS e
        WHERE e.event_id > v_event_id
        ORDER BY e.event_id
        LIMIT 1;
        IF v_more AND NOT v_stays THEN
            SET v_free = FALSE;
            -- S2: is another purge removing it?
            SELECT TRUE
            INTO v_free
            FROM appl_lock_event AS e
            WHERE e.event_id = v_event_id
            FOR UPDATE SKIP LOCKED;
            IF v_free THEN
                -- S3: remove it.
                DELETE FROM appl_lock_event
                WHERE event_id = v_event_id;
                SET p_purged = p_purged + ROW_COUNT();
            END IF;
        END IF;
    END WHILE;
    IF p_purged > 0 THEN
        CALL appl_lock_record('HISTORY_PURGED', '', '', '', '', '', 0, '', '', 0, p_purged);
    END IF;
    IF v_began THEN
        CALL appl_lock_end(TRUE);
    END IF;
    SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS purge_appl_lock_history;
-- +goose StatementBegin
CREATE PROCEDURE purge_appl_lock_history(
    IN p_older_than_seconds BIGINT,
    IN p_max_rows BIGINT,
    OUT p_purged BIGINT
)
COMMENT 'Remove old events from the history.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'purge_appl_lock_history: is being replaced; call again, or install it again if that lasts';
    CALL purge_appl_lock_history_core(
        p_older_than_seconds, p_max_rows,
        p_purged
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS purge_appl_lock_history_row;
-- +goose StatementBegin
CREATE PROCEDURE purge_appl_lock_history_row(
    IN p_older_than_seconds BIGINT,
    IN p_max_rows BIGINT
)
COMMENT 'Remove old events from the history; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_purged BIGINT;
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'purge_appl_lock_history: is being replaced; call again, or install it again if that lasts';
    CALL purge_appl_lock_history_core(
        p_older_than_seconds, p_max_rows,
        v_purged
    );
    SELECT
        v_purged AS p_purged;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS purge_appl_locks_core;
-- +goose StatementBegin
-- purge_appl_locks: remove the rows of objects that have been free for long.
--
-- Contract   Deletes at most p_max_rows rows of appl_lock that have been free for p_older_than_seconds. An answer below
--            p_max_rows means that none is left. Only the last call, which removes fewer, looks for waiters, requests and viewers
--            that have been dead for as long. At most p_max_rows of each go, and are not counted. Live locks and events stay.
--            If any row of a lock went, the event PURGED has the number as its reason.
-- In         p_older_than_seconds: NULL = 2592000 (30 days). p_max_rows: 1..10000, NULL = 1000.
-- Out        p_purged, the number of rows of appl_lock removed.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine. 1205 after 1 s of waiting for a transaction that has got a
--            new object, or for another purge. 1213 deadlock.
-- Locks      The rows it removes and the row of appl_lock_fence, to the end of the caller's transaction. It skips rows that
--            another transaction is changing (S3, S6, S9, S12).
-- Race-free  Get of a row being purged: S4 judges the newest row once it is locked; a get that waited inserts a new row.
--            A fence never falls: S2 raises appl_lock_fence before the first row goes, and S4 removes no row of a greater fence; a new
--            row's fence is greater than that. A row goes only when its fence lies in the past, so new fences stay near now.
-- Differs    Row by row, found by a plain read: one statement would lock every row that it passes at REPEATABLE READ. Under autocommit
--            each row is a transaction; in a transaction the plain read fixes the caller's snapshot.

CREATE PROCEDURE purge_appl_locks_core(
    IN p_older_than_seconds BIGINT,
    IN p_max_rows BIGINT,
    OUT p_purged BIGINT
)
COMMENT 'Internal to applock: the operation purge_appl_locks.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_older_than_seconds BIGINT DEFAULT COALESCE(p_older_than_seconds, 2592000);
    DECLARE v_max_rows BIGINT DEFAULT COALESCE(p_max_rows, 1000);
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    DECLARE v_before DATETIME(6);
    DECLARE v_fence BIGINT;
    DECLARE v_object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '';
    DECLARE v_object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '';
    DECLARE v_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '';
    DECLARE v_client_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '';
    DECLARE v_more BOOLEAN DEFAULT TRUE;
    DECLARE v_free BOOLEAN;
    DECLARE v_waiters BIGINT DEFAULT 0;
    DECLARE v_requests BIGINT DEFAULT 0;
    DECLARE v_viewers BIGINT DEFAULT 0;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        RESIGNAL;
    END;

    CALL appl_lock_number('purge_appl_locks', 'p_older_than_seconds', 315360000, v_older_than_seconds);
    CALL appl_lock_number('purge_appl_locks', 'p_max_rows', 10000, v_max_rows);
    CALL appl_lock_enter();
    SET v_before = UTC_TIMESTAMP(6) - INTERVAL v_older_than_seconds SECOND;
    SET p_purged = 0;
    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    -- S1: the greatest fence of those that could go.
    SELECT MAX(c.fence)
    INTO v_fence
    FROM (
        SELECT l.fence
        FROM appl_lock AS l
        WHERE COALESCE(l.released_ts, l.expires_ts) < v_before
            AND l.fence < TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
        ORDER BY l.object_type, l.object_id
        LIMIT v_max_rows
    ) AS c;
    -- S2: no new fence is less from now on.
    UPDATE appl_lock_fence
    SET fence = GREATEST(fence, v_fence)
    WHERE slot = 1
        AND v_fence IS NOT NULL;
    WHILE v_more AND v_fence IS NOT NULL AND p_purged < v_max_rows DO
        SET v_more = FALSE;
        -- S3: the next row that could go; is another transaction changing it?
        SELECT TRUE, FALSE, l.object_type, l.object_id
        INTO v_more, v_free, v_object_type, v_object_id
        FROM appl_lock AS l
        WHERE (l.object_type > v_object_type OR (l.object_type = v_object_type AND l.object_id > v_object_id))
            AND COALESCE(l.released_ts, l.expires_ts) < v_before
            AND l.fence <= v_fence
        ORDER BY l.object_type, l.object_id
        LIMIT 1;
        IF v_more THEN
            SELECT TRUE
            INTO v_free
            FROM appl_lock AS l
            WHERE l.object_type = v_object_type
                AND l.object_id = v_object_id
            FOR UPDATE SKIP LOCKED;
            IF v_free THEN
                -- S4: remove it.
                DELETE FROM appl_lock
                WHERE object_type = v_object_type
                    AND object_id = v_object_id
                    AND COALESCE(released_ts, expires_ts) < v_before
                    AND fence <= v_fence;
                SET p_purged = p_purged + ROW_COUNT();
            END IF;
        END IF;
    END WHILE;

    SET v_object_type = '';
    SET v_object_id = '';
    SET v_more = TRUE;
    WHILE v_more AND p_purged < v_max_rows AND v_waiters < v_max_rows DO
        SET v_more = FALSE;
        -- S5: the next waiter that could go.
        SELECT TRUE, FALSE, w.object_type, w.object_id, w.operator_id, w.client_id
        INTO v_more, v_free, v_object_type, v_object_id, v_operator_id, v_client_id
        FROM appl_lock_waiter AS w
        WHERE (w.object_type > v_object_type OR (w.object_type = v_object_type
                AND (w.object_id > v_object_id OR (w.object_id = v_object_id
                AND (w.operator_id > v_operator_id OR (w.operator_id = v_operator_id
                AND w.client_id > v_client_id))))))
            AND w.expires_ts < v_before
        ORDER BY w.object_type, w.object_id, w.operator_id, w.client_id
        LIMIT 1;
        IF v_more THEN
            -- S6: is another transaction changing it?
            SELECT TRUE
            INTO v_free
            FROM appl_lock_waiter AS w
            WHERE w.object_type = v_object_type
                AND w.object_id = v_object_id
                AND w.operator_id = v_operator_id
                AND w.client_id = v_client_id
            FOR UPDATE SKIP LOCKED;
            IF v_free THEN
                -- S7: remove it.
                DELETE FROM appl_lock_waiter
                WHERE object_type = v_object_type
                    AND object_id = v_object_id
                    AND operator_id = v_operator_id
                    AND client_id = v_client_id
                    AND expires_ts < v_before;
                SET v_waiters = v_waiters + ROW_COUNT();
            END IF;
        END IF;
    END WHILE;

    SET v_object_type = '';
    SET v_object_id = '';
    SET v_operator_id = '';
    SET v_client_id = '';
    SET v_more = TRUE;
    WHILE v_more AND p_purged < v_max_rows AND v_requests < v_max_rows DO
        SET v_more = FALSE;
        -- S8: the next request that could go.
        SELECT TRUE, FALSE, a.object_type, a.object_id, a.operator_id, a.client_id
        INTO v_more, v_free, v_object_type, v_object_id, v_operator_id, v_client_id
        FROM appl_lock_ask AS a
        WHERE (a.object_type > v_object_type OR (a.object_type = v_object_type
                AND (a.object_id > v_object_id OR (a.object_id = v_object_id
                AND (a.operator_id > v_operator_id OR (a.operator_id = v_operator_id
                AND a.client_id > v_client_id))))))
            AND a.expires_ts < v_before
        ORDER BY a.object_type, a.object_id, a.operator_id, a.client_id
        LIMIT 1;
        IF v_more THEN
            -- S9: is another transaction changing it?
            SELECT TRUE
            INTO v_free
            FROM appl_lock_ask AS a
            WHERE a.object_type = v_object_type
                AND a.object_id = v_object_id
                AND a.operator_id = v_operator_id
                AND a.client_id = v_client_id
            FOR UPDATE SKIP LOCKED;
            IF v_free THEN
                -- S10: remove it.
                DELETE FROM appl_lock_ask
                WHERE object_type = v_object_type
                    AND object_id = v_object_id
                    AND operator_id = v_operator_id
                    AND client_id = v_client_id
                    AND expires_ts < v_before;
                SET v_requests = v_requests + ROW_COUNT();
            END IF;
        END IF;
    END WHILE;

    SET v_object_type = '';
    SET v_object_id = '';
    SET v_operator_id = '';
    SET v_client_id = '';
    SET v_more = TRUE;
    WHILE v_more AND p_purged < v_max_rows AND v_viewers < v_max_rows DO
        SET v_more = FALSE;
        -- S11: the next viewer that could go.
        SELECT TRUE, FALSE, v.object_type, v.object_id, v.operator_id, v.client_id
        INTO v_more, v_free, v_object_type, v_object_id, v_operator_id, v_client_id
        FROM appl_lock_viewer AS v
        WHERE (v.object_type > v_object_type OR (v.object_type = v_object_type
                AND (v.object_id > v_object_id OR (v.object_id = v_object_id
                AND (v.operator_id > v_operator_id OR (v.operator_id = v_operator_id
                AND v.client_id > v_client_id))))))
            AND v.expires_ts < v_before
        ORDER BY v.object_type, v.object_id, v.operator_id, v.client_id
        LIMIT 1;
        IF v_more THEN
            -- S12: is another transaction changing it?
            SELECT TRUE
            INTO v_free
            FROM appl_lock_viewer AS v
            WHERE v.object_type = v_object_type
                AND v.object_id = v_object_id
                AND v.operator_id = v_operator_id
                AND v.client_id = v_client_id
            FOR UPDATE SKIP LOCKED;
            IF v_free THEN
                -- S13: remove it.
                DELETE FROM appl_lock_viewer
                WHERE object_type = v_object_type
                    AND object_id = v_object_id
                    AND operator_id = v_operator_id
                    AND client_id = v_client_id
                    AND expires_ts < v_before;
                SET v_viewers = v_viewers + ROW_COUNT();
            END IF;
        END IF;
    END WHILE;
    IF p_purged > 0 THEN
        CALL appl_lock_record('PURGED', '', '', '', '', '', 0, '', '', 0, p_purged);
    END IF;
    SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS purge_appl_locks;
-- +goose StatementBegin
CREATE PROCEDURE purge_appl_locks(
    IN p_older_than_seconds BIGINT,
    IN p_max_rows BIGINT,
    OUT p_purged BIGINT
)
COMMENT 'Remove the rows of objects that have been free for long.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'purge_appl_locks: is being replaced; call again, or install it again if that lasts';
    CALL purge_appl_locks_core(
        p_older_than_seconds, p_max_rows,
        p_purged
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS purge_appl_locks_row;
-- +goose StatementBegin
CREATE PROCEDURE purge_appl_locks_row(
    IN p_older_than_seconds BIGINT,
    IN p_max_rows BIGINT
)
COMMENT 'Remove the rows of objects that have been free for long; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_purged BIGINT;
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'purge_appl_locks: is being replaced; call again, or install it again if that lasts';
    CALL purge_appl_locks_core(
        p_older_than_seconds, p_max_rows,
        v_purged
    );
    SELECT
        v_purged AS p_purged;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS release_appl_lock_core;
-- +goose StatementBegin
-- release_appl_lock: end the grant that an operator holds on an object.
--
-- Contract   Y RELEASED: the operator held it (this very grant, if p_fence is given); it is free now. Y FREE: nobody holds it. If the
--            operator's own grant had expired, it is marked as released. N HELD: another operator or another grant holds it.
--            A release by another actor, with a reason, or under history ALL, there also of an expired grant, is an event, RELEASED.
-- In         p_fence: NULL = any grant. p_actor_id: NULL = p_operator_id. p_reason: NULL = empty.
-- Out        p_old_*: empty unless HELD.
-- Raises     LK001 invalid argument. LK003 the object changed hands thirty times during the call, or an upgrade is replacing
--            the routine. 1205 after 1 s of waiting for another transaction. 1213 deadlock.
-- Locks      The object's row, to the end of the caller's transaction. At REPEATABLE READ the gap of an object without a row is
--            locked as long.
-- Race-free  S1 names operator, fence and expiry, and sees the newest row. It skips a grant whose release is an event. If it
--            has changed nothing, S2 reads the row, and S3 changes it only if it is as S2 has read it; else S2 runs again. S1
--            and S3 set released_ts, which was NULL, so ROW_COUNT is 1 with and without CLIENT_FOUND_ROWS. The event and S3 are
--            one transaction. It uses only locking reads, so it waits for an uncommitted get, and fixes no snapshot that is too
--            old for a later get.
-- Differs    A refusal waits for a transaction that is changing the row. No 40001: InnoDB judges the newest row.

CREATE PROCEDURE release_appl_lock_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation release_appl_lock.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
main: BEGIN
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        RESIGNAL;
    END;

    CALL appl_lock_enter();
    IF p_actor_id IS NULL AND p_reason IS NULL AND p_operator_id <> '' THEN
        SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
        -- S1: end a live grant whose release is no event. A match proves the arguments valid.
        UPDATE appl_lock AS l
        SET l.released_ts = UTC_TIMESTAMP(6), l.note = ''
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
            AND l.operator_id = p_operator_id
            AND l.fence = COALESCE(p_fence, l.fence)
            AND l.expires_ts > UTC_TIMESTAMP(6)
            AND l.released_ts IS NULL
            AND l.history_fl = 'N';
        IF ROW_COUNT() > 0 THEN
            SET p_outcome = 'RELEASED';
        END IF;
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        IF p_outcome IS NOT NULL THEN
            SET p_ok_fl = 'Y';
            SET p_old_operator_id = '';
            SET p_old_department_id = '';
            LEAVE main;
        END IF;
    END IF;
    CALL appl_lock_key('release_appl_lock', p_object_type, p_object_id);
    CALL appl_lock_text('release_appl_lock', 'p_operator_id', 'Y', 1, 255, p_operator_id);
    IF p_fence < 1 THEN
        CALL appl_lock_number('release_appl_lock', 'p_fence', 9223372036854775807, p_fence);
    END IF;
    IF p_actor_id IS NOT NULL THEN
        CALL appl_lock_text('release_appl_lock', 'p_actor_id', 'Y', 1, 255, p_actor_id);
    END IF;
    IF p_reason IS NOT NULL THEN
        CALL appl_lock_text('release_appl_lock', 'p_reason', 'N', 0, 255, p_reason);
    END IF;
    CALL appl_lock_release(
        p_object_type, p_object_id, p_operator_id, p_fence, COALESCE(p_actor_id, p_operator_id), COALESCE(p_reason, ''),
        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS release_appl_lock;
-- +goose StatementBegin
CREATE PROCEDURE release_appl_lock(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'End the grant that an operator holds on an object.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'release_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL release_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_fence, p_actor_id, p_reason,
        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS appl_lock_release;
-- +goose StatementBegin
CREATE PROCEDURE appl_lock_release(
    IN p_object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT,
    IN p_actor_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: ends a grant and records its event, or returns why not.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
main: BEGIN
    DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    DECLARE v_round INT DEFAULT 0;
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_own BOOLEAN;
    DECLARE v_live BOOLEAN;
    DECLARE v_tell BOOLEAN;
    DECLARE v_fence BIGINT;
    DECLARE v_lock_ts DATETIME(6);
    DECLARE v_expires_ts DATETIME(6);
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- 1422: a function or trigger, which has a transaction.
    DECLARE CONTINUE HANDLER FOR 1422 BEGIN END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    REPEAT
        -- S2: what is there? The second time the row stays locked.
        IF v_round > 0 THEN
            CALL appl_lock_begin(v_began);
        END IF;
        SET v_own = FALSE;
        SET v_live = FALSE;
        SELECT
            l.operator_id, l.department_id, l.fence, l.lock_ts, l.expires_ts,
            l.operator_id = p_operator_id AND l.fence = COALESCE(p_fence, l.fence) AND l.released_ts IS NULL,
            l.released_ts IS NULL AND l.expires_ts > UTC_TIMESTAMP(6),
            l.history_fl = 'Y' OR l.expires_ts > UTC_TIMESTAMP(6) AND (p_actor_id <> p_operator_id OR p_reason <> '')
        INTO p_old_operator_id, p_old_department_id, v_fence, v_lock_ts, v_expires_ts, v_own, v_live, v_tell
        FROM appl_lock AS l
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
        FOR UPDATE;
        SET p_outcome = CASE WHEN NOT v_live THEN 'FREE' WHEN v_own THEN 'RELEASED' ELSE 'HELD' END;
        IF v_own THEN
            IF v_tell AND v_round = 0 THEN
                CALL appl_lock_begin(v_began);
            END IF;
            -- S3: end it, if it is as S2 has read it.
            UPDATE appl_lock AS l
            SET l.released_ts = UTC_TIMESTAMP(6), l.note = ''
            WHERE l.object_type = p_object_type
                AND l.object_id = p_object_id
                AND l.fence = v_fence
                AND l.lock_ts = v_lock_ts
                AND l.expires_ts = v_expires_ts
                AND l.released_ts IS NULL;
            IF ROW_COUNT() = 0 THEN
                SET p_outcome = NULL;
            ELSEIF v_tell THEN
                CALL appl_lock_record(
                    'RELEASED', p_object_type, p_object_id, p_actor_id,
                    p_operator_id, p_old_department_id, v_fence, '', '', 0, p_reason
                );
            END IF;
        END IF;
        IF v_began THEN
            CALL appl_lock_end(TRUE);
            SET v_began = FALSE;
        END IF;
        IF p_outcome IS NOT NULL THEN
            SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
            SET p_ok_fl = IF(p_outcome = 'HELD', 'N', 'Y');
            SET p_old_operator_id = IF(p_outcome = 'HELD', p_old_operator_id, '');
            SET p_old_department_id = IF(p_outcome = 'HELD', p_old_department_id, '');
            LEAVE main;
        END IF;
        SET v_round = v_round + 1;
    UNTIL v_round >= 30 END REPEAT;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'release_appl_lock: the object changed hands during the call; call again';
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS release_appl_lock_row_core;
-- +goose StatementBegin
CREATE PROCEDURE release_appl_lock_row_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation release_appl_lock, answered by one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE p_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE p_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    main: BEGIN
        DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
        DECLARE EXIT HANDLER FOR SQLEXCEPTION
        BEGIN
            SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
            RESIGNAL;
        END;

        BEGIN
            SET SESSION timestamp = DEFAULT;
            IF COALESCE(@appl_lock_wait, @appl_lock_safe, @appl_lock_length) IS NOT NULL THEN
                CALL appl_lock_restore();
            END IF;
            IF LOCATE(@@GLOBAL.read_only, '0 OFF') = 0 OR @appl_lock_own IS NOT NULL THEN
                CALL appl_lock_refuse();
            END IF;
        END;
        IF p_actor_id IS NULL AND p_reason IS NULL AND p_operator_id <> '' THEN
            SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
            -- S1: end a live grant whose release is no event. A match proves the arguments valid.
            UPDATE appl_lock AS l
            SET l.released_ts = UTC_TIMESTAMP(6), l.note = ''
            WHERE l.object_type = p_object_type
                AND l.object_id = p_object_id
                AND l.operator_id = p_operator_id
                AND l.fence = COALESCE(p_fence, l.fence)
                AND l.expires_ts > UTC_TIMESTAMP(6)
                AND l.released_ts IS NULL
                AND l.history_fl = 'N';
            IF ROW_COUNT() > 0 THEN
                SET p_outcome = 'RELEASED';
            END IF;
            SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
            IF p_outcome IS NOT NULL THEN
                SET p_ok_fl = 'Y';
                SET p_old_operator_id = '';
                SET p_old_department_id = '';
                LEAVE main;
            END IF;
        END IF;
        CALL appl_lock_key('release_appl_lock', p_object_type, p_object_id);
        CALL appl_lock_text('release_appl_lock', 'p_operator_id', 'Y', 1, 255, p_operator_id);
        IF p_fence < 1 THEN
            CALL appl_lock_number('release_appl_lock', 'p_fence', 9223372036854775807, p_fence);
        END IF;
        IF p_actor_id IS NOT NULL THEN
            CALL appl_lock_text('release_appl_lock', 'p_actor_id', 'Y', 1, 255, p_actor_id);
        END IF;
        IF p_reason IS NOT NULL THEN
            CALL appl_lock_text('release_appl_lock', 'p_reason', 'N', 0, 255, p_reason);
        END IF;
        CALL appl_lock_release(
            p_object_type, p_object_id, p_operator_id, p_fence, COALESCE(p_actor_id, p_operator_id), COALESCE(p_reason, ''),
            p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id
        );
    END;
    SELECT
        p_ok_fl AS p_ok_fl,
        p_outcome AS p_outcome,
        p_old_operator_id AS p_old_operator_id,
        p_old_department_id AS p_old_department_id;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS release_appl_lock_row;
-- +goose StatementBegin
CREATE PROCEDURE release_appl_lock_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'End the grant that an operator holds on an object; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'release_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL release_appl_lock_row_core(
        p_object_type, p_object_id, p_operator_id, p_fence, p_actor_id, p_reason
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS release_appl_locks_core;
-- +goose StatementBegin
-- release_appl_locks: release what an operator holds, all or of a type, page by page.
--
-- Contract   A page is at most p_max_rows live locks of p_operator_id whose key is greater than (p_after_type, p_after_id), with a row
--            for each. The next page starts after the last row of this one; a page shorter than p_max_rows is the last.
--            RELEASED: as release_appl_lock. BUSY: another transaction has locked the row. HELD, FREE: it has changed hands since the page
--            was read. These are left as they are. WOULD_RELEASE: a dry run, without changes and without BUSY.
-- In         p_object_type: NULL = any. p_after_*: NULL = from the start. p_max_rows: 1..10000, NULL = 1000. The others as
--            release_appl_lock.
-- Out        fence: of the operator's grant; 0 when HELD or FREE. Ordered by key.
-- Raises     LK001 invalid argument. 1205, 1213, LK003 as release_appl_lock; then the page is undone, or the caller rolls back
--            its own transaction.
-- Locks      One row after the other in the order of the keys, to the end of the page or of the caller's transaction.
-- Race-free  As appl_lock_move_page. Two at once: neither waits, and one finds the other's rows BUSY or FREE.
-- Differs    In a transaction at REPEATABLE READ the page shows its snapshot, which the call may fix.

CREATE PROCEDURE release_appl_locks_core(
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max_rows BIGINT,
    IN p_dry_run_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation release_appl_locks.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    CALL appl_lock_move_page(
        'release_appl_locks', p_operator_id, p_object_type, NULL, NULL, NULL, p_actor_id, p_reason,
        p_after_type, p_after_id, p_max_rows, p_dry_run_fl
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS release_appl_locks;
-- +goose StatementBegin
CREATE PROCEDURE release_appl_locks(
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max_rows BIGINT,
    IN p_dry_run_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Release what an operator holds, all or of a type, page by page.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'release_appl_locks: is being replaced; call again, or install it again if that lasts';
    CALL release_appl_locks_core(
        p_operator_id, p_object_type, p_actor_id, p_reason, p_after_type, p_after_id, p_max_rows, p_dry_run_fl
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS renew_appl_locks_core;
-- +goose StatementBegin
-- renew_appl_locks: renew many grants in one call, each by its fence.
--
-- Contract   RENEWED: this very grant is live, and lasts for its ttl from now, or as long as it did if that is longer. The policy's
--            longest ttl is the limit. HELD: another operator or another grant holds the object. FREE: nobody holds it; the grant has
--            ended, and is not revived. No row: another transaction is changing this lock, or asserts it; it is neither renewed
--            nor lost: call again. So one busy lock delays none of the others. Under history ALL a renewal is an event:
--            RENEWED.
-- In         p_grants: a JSON array of 0 to 10000 grants such as {"object_type": "customer", "object_id": "42", "operator_id": "JDOE",
--            "fence": 17, "ttl_seconds": 30}; all five are required; each object at most once. Trailing blanks are trimmed.
-- Out        old_*: empty unless HELD. acquired_ts: NULL unless HELD. expires_ts: NULL when FREE. Ordered by key.
-- Raises     LK001 invalid argument: nothing has been renewed. LK003 an upgrade is replacing the routine.
-- Locks      S1 locks the rows of the grants, to the end of the caller's transaction. It skips rows that another transaction
--            has locked, so it neither waits nor deadlocks. At REPEATABLE READ the gap of an object without a row is locked as
--            long.
-- Race-free  S1 locks, judges and changes in one statement, so one commit is enough for all. It makes lock_ts v_now or later.
--            A live grant whose lock_ts is older than v_now was skipped, and S1 tries it again. A newer lock_ts means that S1
--            or another call has renewed it, and S1 leaves it. S3 answers RENEWED for a grant that ends as late as was asked,
--            whichever call did it. A grant that another call has made shorter since has no row. A grant that ends between
--            v_now and S1 is renewed as of v_now: had another operator held the object meanwhile, the fence would differ.
--            Outside a transaction S1 is committed before S3 reads. If S1 has renewed all, all are RENEWED, whatever came in
--            between. For a grant that has ended since, expires_ts is the end that was asked for.
-- Differs    A refused get in a transaction locks the row. So S1 retries up to a hundred skipped grants for some 30 ms, unless
--            the clock was set back. S0, S2 and S3 are plain reads. If S1 has not renewed all at once, a grant that is released
--            or taken before S3 is FREE or HELD.

CREATE PROCEDURE renew_appl_locks_core(
    IN p_grants LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation renew_appl_locks.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_reason VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_grants JSON;
    DECLARE v_left JSON;
    DECLARE v_round INT DEFAULT 0;
    DECLARE v_all BOOLEAN DEFAULT FALSE;
    DECLARE v_rows BIGINT;
    DECLARE v_now DATETIME(6);
    DECLARE v_safe_updates BOOLEAN DEFAULT COALESCE(@appl_lock_safe, @@SESSION.sql_safe_updates + 0);
    DECLARE v_max_length BIGINT UNSIGNED DEFAULT COALESCE(@appl_lock_length, @@SESSION.group_concat_max_len);
    DECLARE v_policies BIGINT;
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- 1422: a function or trigger, which has a transaction.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION sql_safe_updates = v_safe_updates, @appl_lock_safe = NULL;
        SET SESSION group_concat_max_len = v_max_length, @appl_lock_length = NULL;
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    BEGIN
        -- MySQL raises this for JSON that is nested too deep, even from JSON_VALID.
        DECLARE EXIT HANDLER FOR SQLSTATE '22032' SET v_reason = 'is not a list of grants';
        IF p_grants IS NULL THEN
            SET v_reason = 'must not be empty';
        ELSEIF NOT JSON_VALID(p_grants) THEN
            SET v_reason = 'is not a list of grants';
        ELSEIF JSON_TYPE(p_grants) <> 'ARRAY' THEN
            SET v_reason = 'is not a list of grants';
        ELSEIF JSON_LENGTH(p_grants) > 10000 THEN
            SET v_reason = CONCAT('has ', JSON_LENGTH(p_grants), ' grants, at most 10000 are allowed');
        END IF;
    END;
    IF v_reason IS NULL THEN
        SET v_grants = p_grants;
        -- Types and lengths are checked here, because JSON_TABLE converts and MariaDB's also cuts off. A fence
        -- of the greatest BIGINT could be a greater one cut off.
        SELECT CONCAT('has ', c.what, ' in grant ', c.place)
        INTO v_reason
        FROM (
            SELECT
                j.place,
                CASE
                    WHEN (JSON_TYPE(j.object_type) = 'STRING' AND CHAR_LENGTH(RTRIM(j.object_type_text)) BETWEEN 1 AND 64
                        AND LOCATE(':', j.object_type_text) = 0) IS NOT TRUE THEN 'no valid object_type'
                    WHEN (JSON_TYPE(j.object_id) = 'STRING' AND CHAR_LENGTH(RTRIM(j.object_id_text)) BETWEEN 1 AND 255)
                        IS NOT TRUE THEN 'no valid object_id'
                    WHEN (JSON_TYPE(j.operator_id) = 'STRING' AND CHAR_LENGTH(RTRIM(j.operator_id_text)) BETWEEN 1 AND 255)
                        IS NOT TRUE THEN 'no valid operator_id'
                    WHEN (JSON_TYPE(j.fence) IN ('INTEGER', 'UNSIGNED INTEGER') AND j.fence_number BETWEEN 1 AND 9223372036854775806)
                        IS NOT TRUE THEN 'no fence of 1 or greater'
                    WHEN (JSON_TYPE(j.ttl_seconds) = 'INTEGER' AND j.ttl_seconds_number BETWEEN 1 AND 315360000)
                        IS NOT TRUE THEN 'no ttl_seconds between 1 and 315360000'
                    WHEN ROW_NUMBER() OVER (PARTITION BY RTRIM(j.object_type_text), RTRIM(j.object_id_text) ORDER BY j.place) > 1
                        THEN 'an object for the second time'
                END AS what
            FROM JSON_TABLE(v_grants, '$[*]' COLUMNS (
                place FOR ORDINALITY,
                object_type JSON PATH '$.object_type',
                object_type_text LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.object_type',
                object_id JSON PATH '$.object_id',
                object_id_text LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.object_id',
                operator_id JSON PATH '$.operator_id',
                operator_id_text LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.operator_id',
                fence JSON PATH '$.fence',
                fence_number BIGINT PATH '$.fence',
                ttl_seconds JSON PATH '$.ttl_seconds',
                ttl_seconds_number BIGINT PATH '$.ttl_seconds'
            )) AS j
        ) AS c
        WHERE c.what IS NOT NULL
        ORDER BY c.place
        LIMIT 1;
    END IF;
    IF v_reason IS NOT NULL THEN
        SET v_reason = CONCAT('renew_appl_locks: p_grants ', v_reason);
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_reason;
    END IF;

    CALL appl_lock_enter();
    -- S0: does a policy limit a ttl, or record renewals? More than a hundred policies are not read: some may do both. MariaDB cuts a list
    -- off at group_concat_max_len.
    SET v_policies = IF(
        (SELECT TRUE FROM appl_lock_policy LIMIT 1 OFFSET 100),
        3,
        (SELECT BIT_OR(IF(p.longest_ttl_seconds IS NULL, 0, 1) | IF(p.history_level = 'ALL', 2, 0)) FROM appl_lock_policy AS p)
    );
    IF v_policies & 1 THEN
        SET @appl_lock_length = v_max_length, SESSION group_concat_max_len = 4294967295;
        SELECT JSON_ARRAYAGG(JSON_OBJECT(
            'object_type', RTRIM(g.object_type),
            'object_id', RTRIM(g.object_id),
            'operator_id', RTRIM(g.operator_id),
            'fence', g.fence,
            'ttl_seconds', LEAST(g.ttl_seconds, COALESCE(p.longest_ttl_seconds, g.ttl_seconds))
        ))
        INTO v_grants
        FROM JSON_TABLE(v_grants, '$[*]' COLUMNS (
            object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.object_type',
            object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.object_id',
            operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.operator_id',
            fence BIGINT PATH '$.fence',
            ttl_seconds BIGINT PATH '$.ttl_seconds'
        )) AS g
        LEFT JOIN appl_lock_policy AS p FORCE INDEX (PRIMARY)
            ON p.object_type = RTRIM(g.object_type);
        SET SESSION group_concat_max_len = v_max_length, @appl_lock_length = NULL;
        SET v_grants = COALESCE(v_grants, p_grants);
    END IF;

    -- MariaDB's safe updates refuse S1, because it reads all rows of the inner SELECT.
    SET @appl_lock_safe = v_safe_updates, SESSION sql_safe_updates = FALSE;
    SET v_now = UTC_TIMESTAMP(6);
    SET v_left = v_grants;
    WHILE v_left IS NOT NULL AND v_round < 11 DO
        -- The second round only looks again: another call may have renewed what S1 has skipped.
        SET v_rows = -1;
        IF v_round <> 1 THEN
            IF v_policies & 2 THEN
                CALL appl_lock_begin(v_began);
            END IF;

            -- S1: renew live grants that can be locked at once. The LIMIT keeps the inner SELECT apart, so all rows are locked
            -- before the first changes. Without the forced index the server would read, and so lock, all rows of a small table.
            UPDATE (
                SELECT r.object_type, r.object_id, g.ttl_seconds
                FROM (
                    SELECT j.object_type, j.object_id, j.operator_id, j.fence, j.ttl_seconds
                    FROM JSON_TABLE(v_left, '$[*]' COLUMNS (
                        object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.object_type',
                        object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.object_id',
                        operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.operator_id',
                        fence BIGINT PATH '$.fence',
                        ttl_seconds BIGINT PATH '$.ttl_seconds'
                    )) AS j
                ) AS g
                STRAIGHT_JOIN appl_lock AS r FORCE INDEX (PRIMARY)
                    ON r.object_type = g.object_type
                    AND r.object_id = g.object_id
                WHERE r.operator_id = g.operator_id
                    AND r.fence = g.fence
                    AND r.released_ts IS NULL
                    AND r.expires_ts > UTC_TIMESTAMP(6)
                    AND (v_round = 0 OR r.lock_ts < v_now)
                LIMIT 10000
                FOR UPDATE SKIP LOCKED
            ) AS k
            STRAIGHT_JOIN appl_lock AS l FORCE INDEX (PRIMARY)
                ON l.object_type = k.object_type
                AND l.object_id = k.object_id
            SET l.lock_ts = GREATEST(v_now, l.lock_ts + INTERVAL 1 MICROSECOND),
                l.ttl_seconds = k.ttl_seconds,
                l.expires_ts = GREATEST(l.expires_ts, v_now + INTERVAL k.ttl_seconds SECOND);
            SET v_rows = ROW_COUNT();
            SET v_all = v_all OR v_round = 0 AND v_rows = JSON_LENGTH(v_grants);

            IF v_policies & 2 THEN
                CALL renew_appl_locks_tell(v_left, v_now);
                IF v_began THEN
                    CALL appl_lock_end(TRUE);
                    SET v_began = FALSE;
                END IF;
            END IF;
        END IF;
        IF v_rows = JSON_LENGTH(v_left) THEN
            SET v_left = NULL;
        ELSE
            IF v_round > 0 THEN
                DO SLEEP(0.002);
            END IF;
            -- S2: which grants were skipped?
            SELECT JSON_ARRAYAGG(JSON_OBJECT(
                'object_type', p.object_type,
                'object_id', p.object_id,
                'operator_id', p.operator_id,
                'fence', p.fence,
                'ttl_seconds', p.ttl_seconds
            ))
            INTO v_left
            FROM (
                SELECT l.object_type, l.object_id, l.operator_id, l.fence, g.ttl_seconds
                FROM JSON_TABLE(v_left, '$[*]' COLUMNS (
                    object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.object_type',
                    object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.object_id',
                    operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.operator_id',
                    fence BIGINT PATH '$.fence',
                    ttl_seconds BIGINT PATH '$.ttl_seconds'
                )) AS g
                STRAIGHT_JOIN appl_lock AS l FORCE INDEX (PRIMARY)
                    ON l.object_type = g.object_type
                    AND l.object_id = g.object_id
                WHERE l.operator_id = g.operator_id
                    AND l.fence = g.fence
                    AND l.released_ts IS NULL
                    AND l.expires_ts > UTC_TIMESTAMP(6)
                    AND l.lock_ts < v_now
                LIMIT 100
            ) AS p;
            -- MariaDB cuts it off where the session's group_concat_max_len ends.
            IF NOT JSON_VALID(v_left) THEN
                SET v_left = NULL;
            END IF;
        END IF;
        SET v_round = v_round + 1;
    END WHILE;
    SET SESSION sql_safe_updates = v_safe_updates, @appl_lock_safe = NULL;

    -- S3: what has become of each?
    SELECT
        s.object_type,
        s.object_id,
        CASE WHEN s.renewed THEN 'RENEWED' WHEN s.live THEN 'HELD' ELSE 'FREE' END AS outcome,
        IF(s.live AND NOT s.renewed, s.operator_id, '') AS old_operator_id,
        IF(s.live AND NOT s.renewed, s.department_id, '') AS old_department_id,
        IF(s.live AND NOT s.renewed, s.acquired_ts, NULL) AS acquired_ts,
        CASE WHEN s.own AND (s.live OR s.renewed) THEN s.expires_ts WHEN s.renewed THEN s.until_ts WHEN s.live THEN s.expires_ts END
            AS expires_ts,
        CASE
            WHEN s.renewed THEN (TIMESTAMPDIFF(MICROSECOND, v_now, IF(s.own, s.expires_ts, s.until_ts)) + 999999) DIV 1000000
            WHEN s.live THEN (TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), s.expires_ts) + 999999) DIV 1000000
            ELSE 0
        END AS seconds_left
    FROM (
        SELECT
            g.object_type,
            g.object_id,
            g.until_ts,
            l.operator_id,
            l.department_id,
            l.acquired_ts,
            l.expires_ts,
            IFNULL(l.released_ts IS NULL AND l.expires_ts > UTC_TIMESTAMP(6), FALSE) AS live,
            IFNULL(l.operator_id = g.operator_id AND l.fence = g.fence, FALSE) AS own,
            -- S1 renewed all, or the grant is live and a call has renewed it since v_now.
            g.until_ts > UTC_TIMESTAMP(6) AND (v_all OR IFNULL(
                l.operator_id = g.operator_id AND l.fence = g.fence AND l.released_ts IS NULL AND l.expires_ts > UTC_TIMESTAMP(6)
                AND l.lock_ts >= v_now AND l.expires_ts >= g.until_ts, FALSE
            )) AS renewed
        FROM (
            SELECT
                RTRIM(j.object_type) AS object_type,
                RTRIM(j.object_id) AS object_id,
                j.operator_id,
                j.fence,
                v_now + INTERVAL j.ttl_seconds SECOND AS until_ts
            FROM JSON_TABLE(v_grants, '$[*]' COLUMNS (
                object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.object_type',
                object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.object_id',
                operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.operator_id',
                fence BIGINT PATH '$.fence',
                ttl_seconds BIGINT PATH '$.ttl_seconds'
            )) AS j
        ) AS g
        LEFT JOIN appl_lock AS l FORCE INDEX (PRIMARY)
            ON l.object_type = g.object_type
            AND l.object_id = g.object_id
    ) AS s
    WHERE s.renewed
        OR NOT s.own
        OR NOT s.live
    ORDER BY s.object_type, s.object_id;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS renew_appl_locks;
-- +goose StatementBegin
CREATE PROCEDURE renew_appl_locks(
    IN p_grants LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Renew many grants in one call, each by its fence.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'renew_appl_locks: is being replaced; call again, or install it again if that lasts';
    CALL renew_appl_locks_core(
        p_grants
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS renew_appl_locks_tell;
-- +goose StatementBegin
CREATE PROCEDURE renew_appl_locks_tell(
    IN p_grants LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_now DATETIME(6)
)
COMMENT 'Internal to applock: records the renewals of this transaction in the history.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_more BOOLEAN DEFAULT TRUE;
    DECLARE v_object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_fence BIGINT;
    -- A grant that S1 has not renewed is skipped here, too.
    DECLARE renewed CURSOR FOR
        SELECT r.object_type, r.object_id, r.operator_id, r.department_id, r.fence
        FROM (
            SELECT j.object_type, j.object_id, j.operator_id, j.fence
            FROM JSON_TABLE(p_grants, '$[*]' COLUMNS (
                object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.object_type',
                object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.object_id',
                operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.operator_id',
                fence BIGINT PATH '$.fence'
            )) AS j
        ) AS g
        STRAIGHT_JOIN appl_lock AS r FORCE INDEX (PRIMARY)
            ON r.object_type = g.object_type
            AND r.object_id = g.object_id
        WHERE r.operator_id = g.operator_id
            AND r.fence = g.fence
            AND r.history_fl = 'Y'
            AND r.released_ts IS NULL
            AND r.lock_ts >= p_now
        FOR UPDATE SKIP LOCKED;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_more = FALSE;

    OPEN renewed;
    FETCH renewed INTO v_object_type, v_object_id, v_operator_id, v_department_id, v_fence;
    WHILE v_more DO
        CALL appl_lock_record(
            'RENEWED', v_object_type, v_object_id, v_operator_id,
            v_operator_id, v_department_id, v_fence, v_operator_id, v_department_id, v_fence, ''
        );
        FETCH renewed INTO v_object_type, v_object_id, v_operator_id, v_department_id, v_fence;
    END WHILE;
    CLOSE renewed;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS retract_appl_lock_waiter_core;
-- +goose StatementBegin
-- retract_appl_lock_waiter: say that an operator does not wait for an object any more.
--
-- Contract   The operator is no waiter of the program p_client_id for this object, whether it was or not.
-- In         As announce_appl_lock_waiter.
-- Out        None; the row form returns p_ok_fl 'Y'.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine. 1205 after 1 s of waiting for another transaction.
--            1213 deadlock.
-- Locks      The waiter's row, to the end of the caller's transaction. At REPEATABLE READ the gap of a waiter without a row is
--            locked as long. Poll and purge pass over locked rows.
-- Race-free  Against announce, poll or purge of the same row: the call that locks it first goes first. An announce that waited
--            inserts a new row.
-- Differs    1213 among three calls for one waiter at once, as in announce_appl_lock_waiter.

CREATE PROCEDURE retract_appl_lock_waiter_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation retract_appl_lock_waiter.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        RESIGNAL;
    END;

    CALL appl_lock_key('retract_appl_lock_waiter', p_object_type, p_object_id);
    CALL appl_lock_text('retract_appl_lock_waiter', 'p_operator_id', 'Y', 1, 255, p_operator_id);
    CALL appl_lock_text('retract_appl_lock_waiter', 'p_client_id', 'N', 1, 64, p_client_id);
    CALL appl_lock_enter();
    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    -- S1: remove the waiter.
    DELETE FROM appl_lock_waiter
    WHERE object_type = p_object_type
        AND object_id = p_object_id
        AND operator_id = p_operator_id
        AND client_id = p_client_id;
    SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS retract_appl_lock_waiter;
-- +goose StatementBegin
CREATE PROCEDURE retract_appl_lock_waiter(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Say that an operator does not wait for an object any more.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'retract_appl_lock_waiter: is being replaced; call again, or install it again if that lasts';
    CALL retract_appl_lock_waiter_core(
        p_object_type, p_object_id, p_operator_id, p_client_id
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS retract_appl_lock_waiter_row;
-- +goose StatementBegin
CREATE PROCEDURE retract_appl_lock_waiter_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Say that an operator does not wait for an object any more; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'retract_appl_lock_waiter: is being replaced; call again, or install it again if that lasts';
    CALL retract_appl_lock_waiter_core(
        p_object_type, p_object_id, p_operator_id, p_client_id
    );
    SELECT
        'Y' AS p_ok_fl;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS see_appl_lock_core;
-- +goose StatementBegin
-- see_appl_lock: list an operator as a viewer of an object, and show its holder, askers and other viewers. Call it once in each
-- heartbeat.
--
-- Contract   Lists the operator as a viewer for p_ttl_seconds, with its state, for the program p_client_id. Each further call
--            keeps it listed, since the first one. Without a state the program's row goes. Then at most 200 rows. HOLDER: the
--            object's holder, even if it is the operator itself. ASKER: each request of another operator. VIEWER: each program
--            of another operator that is listed. Askers and viewers come oldest first. The history does not record the call.
--            Where the type's policy has presence N, the call records nothing and shows only holder and askers.
-- In         p_department_id: NULL = empty. p_client_id: a name that no other program has. p_state: VIEWING, EDITING or IDLE, NULL = it
--            leaves. p_ttl_seconds: 1..300, NULL = 45.
-- Out        client_id: empty for HOLDER; state: empty unless VIEWER; since_ts: start of the grant, the request or the listing;
--            seconds_left: until the lock or the listing ends; message: empty unless ASKER.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine. 1205 after 1 s of waiting for another call for the same row.
--            1213 deadlock.
-- Locks      S2 the operator's own row; at REPEATABLE READ one who leaves without a row locks its gap. Without waiting S3 the requests
--            that ask the operator for the object, and at REPEATABLE READ their gaps: nobody asks for it anew meanwhile. S5 the dead rows of
--            the object, at most 200. To the end of the caller's transaction. It reads the rows of this object only.
-- Race-free  S3 skips an ask that is under way: the next heartbeat restarts its time.
--            Two calls for one row: the primary key lets one insert. ON DUPLICATE KEY UPDATE makes the other wait for an
--            exclusive lock, then it judges whether the row is live. S5 judges a row once it is locked: a viewer that has come
--            back stays.
-- Differs    S1, S4 and S6 are plain reads: call it outside of transactions. Of three calls for one row at once, one of them to
--            leave, one may become a deadlock's victim (1213): call again. Dead rows go one by one, because one statement would
--            lock the live ones, too.

CREATE PROCEDURE see_appl_lock_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_state LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT
)
COMMENT 'Internal to applock: the operation see_appl_lock.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_ttl_seconds BIGINT DEFAULT COALESCE(p_ttl_seconds, 45);
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    DECLARE v_safe_updates BOOLEAN DEFAULT COALESCE(@appl_lock_safe, @@SESSION.sql_safe_updates + 0);
    DECLARE v_now DATETIME(6);
    DECLARE v_expires DATETIME(6);
    DECLARE v_presence_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT 'Y';
    DECLARE v_more BOOLEAN DEFAULT TRUE;
    DECLARE v_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_client_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE dead CURSOR FOR
        SELECT v.operator_id, v.client_id
        FROM appl_lock_viewer AS v FORCE INDEX (PRIMARY)
        WHERE v.object_type = p_object_type
            AND v.object_id = p_object_id
            AND v.expires_ts <= v_now
        LIMIT 200;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_more = FALSE;
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        SET SESSION sql_safe_updates = v_safe_updates, @appl_lock_safe = NULL;
        RESIGNAL;
    END;

    SET p_department_id = COALESCE(p_department_id, '');
    SET p_state = RTRIM(p_state);
    CALL appl_lock_owner('see_appl_lock', p_object_type, p_object_id, p_operator_id, p_department_id);
    CALL appl_lock_text('see_appl_lock', 'p_client_id', 'N', 1, 64, p_client_id);
    IF p_state NOT IN ('VIEWING', 'EDITING', 'IDLE') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'see_appl_lock: p_state is VIEWING, EDITING or IDLE, or NULL';
    END IF;
    CALL appl_lock_number('see_appl_lock', 'p_ttl_seconds', 300, v_ttl_seconds);
    CALL appl_lock_enter();

    -- S1: is presence on?
    SELECT p.presence_fl
    INTO v_presence_fl
    FROM appl_lock_policy AS p
    WHERE p.object_type = p_object_type;
    SET v_now = UTC_TIMESTAMP(6);
    SET v_expires = v_now + INTERVAL v_ttl_seconds SECOND;
    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    -- S2: it leaves, or it is listed. Each assignment sees the ones before it.
    IF p_state IS NULL THEN
        DELETE FROM appl_lock_viewer
        WHERE object_type = p_object_type
            AND object_id = p_object_id
            AND operator_id = p_operator_id
            AND client_id = p_client_id;
    ELSEIF v_presence_fl = 'Y' THEN
        INSERT INTO appl_lock_viewer (
            object_type, object_id, operator_id, department_id, client_id, state, since_ts, seen_ts, expires_ts
        )
        VALUES (
            p_object_type, p_object_id, p_operator_id, p_department_id, p_client_id, p_state, v_now, v_now, v_expires
        )
        ON DUPLICATE KEY UPDATE
            department_id = p_department_id,
            state = p_state,
            since_ts = IF(expires_ts > v_now, since_ts, v_now),
            seen_ts = v_now,
            expires_ts = v_expires;
    END IF;
    SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);

    -- S3: an operator that edits is present: restart its time to answer the requests for its lock.
    IF p_state = 'EDITING' AND v_presence_fl = 'Y' THEN
        -- MariaDB's safe updates refuse S3 and S5, because they read all rows of the inner SELECT.
        SET @appl_lock_safe = v_safe_updates, SESSION sql_safe_updates = FALSE;
        UPDATE (
            SELECT r.object_type, r.object_id, r.operator_id, r.client_id
            FROM appl_lock_ask AS r FORCE INDEX (PRIMARY)
            WHERE r.object_type = p_object_type
                AND r.object_id = p_object_id
                AND r.holder_id = p_operator_id
                AND r.shown_ts IS NOT NULL
            LIMIT 10000
            FOR UPDATE SKIP LOCKED
        ) AS k
        STRAIGHT_JOIN appl_lock_ask AS q FORCE INDEX (PRIMARY)
            ON q.object_type = k.object_type
            AND q.object_id = k.object_id
            AND q.operator_id = k.operator_id
            AND q.client_id = k.client_id
        SET q.edited_ts = v_now;
    END IF;

    -- S4: which rows of this object are dead?
    OPEN dead;
    SET v_more = TRUE;
    FETCH dead INTO v_operator_id, v_client_id;
    IF v_more THEN
        SET @appl_lock_safe = v_safe_updates, SESSION sql_safe_updates = FALSE;
    END IF;
    WHILE v_more DO
        -- S5: remove it, unless another transaction is changing it.
        DELETE v
        FROM (
            SELECT d.object_type, d.object_id, d.operator_id, d.client_id
            FROM appl_lock_viewer AS d FORCE INDEX (PRIMARY)
            WHERE d.object_type = p_object_type
                AND d.object_id = p_object_id
                AND d.operator_id = v_operator_id
                AND d.client_id = v_client_id
                AND d.expires_ts <= v_now
            LIMIT 1
            FOR UPDATE SKIP LOCKED
        ) AS k
        STRAIGHT_JOIN appl_lock_viewer AS v FORCE INDEX (PRIMARY)
            ON v.object_type = k.object_type
            AND v.object_id = k.object_id
            AND v.operator_id = k.operator_id
            AND v.client_id = k.client_id;
        FETCH dead INTO v_operator_id, v_client_id;
    END WHILE;
    CLOSE dead;
    SET SESSION sql_safe_updates = v_safe_updates, @appl_lock_safe = NULL;

    -- S6: who is there?
    SELECT
        m.kind,
        m.operator_id,
        m.department_id,
        m.client_id,
        m.state,
        m.since_ts,
        m.seconds_left,
        m.message
    FROM (
        SELECT
            1 AS part,
            'HOLDER' AS kind,
            l.operator_id,
            l.department_id,
            '' AS client_id,
            '' AS state,
            l.acquired_ts AS since_ts,
            (TIMESTAMPDIFF(MICROSECOND, v_now, l.expires_ts) + 999999) DIV 1000000 AS seconds_left,
            '' AS message
        FROM appl_lock AS l FORCE INDEX (PRIMARY)
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
            AND l.released_ts IS NULL
            AND l.expires_ts > v_now
        UNION ALL
        SELECT
            2, 'ASKER', a.operator_id, a.department_id, a.client_id, '', a.since_ts,
            (TIMESTAMPDIFF(MICROSECOND, v_now, a.expires_ts) + 999999) DIV 1000000, a.message
        FROM appl_lock_ask AS a FORCE INDEX (PRIMARY)
        WHERE a.object_type = p_object_type
            AND a.object_id = p_object_id
            AND a.operator_id <> p_operator_id
            AND a.expires_ts > v_now
        UNION ALL
        SELECT
            3, 'VIEWER', v.operator_id, v.department_id, v.client_id, v.state, v.since_ts,
            (TIMESTAMPDIFF(MICROSECOND, v_now, v.expires_ts) + 999999) DIV 1000000, ''
        FROM appl_lock_viewer AS v FORCE INDEX (PRIMARY)
        WHERE v_presence_fl = 'Y'
            AND v.object_type = p_object_type
            AND v.object_id = p_object_id
            AND v.operator_id <> p_operator_id
            AND v.expires_ts > v_now
    ) AS m
    ORDER BY m.part, m.since_ts, m.operator_id, m.client_id
    LIMIT 200;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS see_appl_lock;
-- +goose StatementBegin
CREATE PROCEDURE see_appl_lock(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_state LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT
)
COMMENT 'List an operator as a viewer of an object, and show its holder, askers and other viewers.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'see_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL see_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_client_id, p_state, p_ttl_seconds
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS serialize_appl_lock_core;
-- +goose StatementBegin
-- serialize_appl_lock: let one transaction at a time work on an object.
--
-- Contract   Returns when no other open transaction is inside for this object, and keeps the others
--            out until the caller's transaction commits or rolls back. Leaves nothing behind. Has
--            nothing to do with appl_lock: an object may be locked and serialized independently.
--            Calling it again in the same transaction returns at once. Under autocommit it has no effect.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255. Trailing blanks are trimmed.
-- Out        None; the row form returns p_ok_fl 'Y'.
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine. At REPEATABLE READ 40001, when the
--            caller's snapshot is older than the former transaction's commit: roll back and begin again, with this call first.
--            A deadlock is 1213. The caller's own innodb_lock_wait_timeout bounds the wait (1205); there is no other bound.
-- Locks      One row of appl_lock_serialize, chosen by a hash of the object. The rows are permanent: on rows that come and go,
--            three transactions would deadlock as soon as the first rolls back or InnoDB's purge thread removes a row.
-- Race-free  Two callers: S1 locks the row for one, and for the next when the first has ended.
--            The caller's next read sees all that the former one committed: S1 is a locking read, and
--            S2 finds a snapshot that is older than S1, because every turn is counted (S3).
-- Differs    A row, not an advisory lock: GET_LOCK belongs to the session, not to the transaction. One in
--            65536 other objects has the same row, and so waits for this one; several of them in one
--            transaction may deadlock in any order. The turn is counted so that Galera, too, sees that two
--            nodes were inside (1213 at commit).

CREATE PROCEDURE serialize_appl_lock_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation serialize_appl_lock.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_slot INT;
    DECLARE v_turn BIGINT;
    DECLARE v_seen BIGINT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();

    CALL appl_lock_key('serialize_appl_lock', p_object_type, p_object_id);
    CALL appl_lock_enter();
    SET v_slot = CRC32(CONCAT(p_object_type, ':', p_object_id)) MOD 65536;
    -- S1: wait for the turn.
    SELECT s.turn
    INTO v_turn
    FROM appl_lock_serialize AS s
    WHERE s.slot = v_slot
    FOR UPDATE;
    IF v_turn IS NULL THEN
        SIGNAL SQLSTATE '42S02' SET
            MYSQL_ERRNO = 1146,
            MESSAGE_TEXT = 'serialize_appl_lock: appl_lock_serialize has lost rows, install it again';
    END IF;

    -- S2: does the caller's snapshot show the former turn?
    SELECT s.turn
    INTO v_seen
    FROM appl_lock_serialize AS s
    WHERE s.slot = v_slot;
    IF v_seen < v_turn THEN
        SIGNAL SQLSTATE '40001' SET
            MYSQL_ERRNO = 1213,
            MESSAGE_TEXT = 'serialize_appl_lock: the snapshot is older than the turn; roll back and begin again';
    END IF;

    -- S3: count it.
    UPDATE appl_lock_serialize AS s
    SET s.turn = s.turn + 1
    WHERE s.slot = v_slot;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS serialize_appl_lock;
-- +goose StatementBegin
CREATE PROCEDURE serialize_appl_lock(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Let one transaction at a time work on an object.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'serialize_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL serialize_appl_lock_core(
        p_object_type, p_object_id
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS serialize_appl_lock_row;
-- +goose StatementBegin
CREATE PROCEDURE serialize_appl_lock_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Let one transaction at a time work on an object; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'serialize_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL serialize_appl_lock_core(
        p_object_type, p_object_id
    );
    SELECT
        'Y' AS p_ok_fl;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS set_appl_lock_policy_core;
-- +goose StatementBegin
-- set_appl_lock_policy: set a type's policy: how long its locks last, whether a take needs a reason, what the history records,
-- and who sees whom.
--
-- Contract   Y SET: this replaces the policy of the type. It is an event, POLICY, with the new values, its actor and reason.
--            Every later get, renewal and transfer follows it. A grant keeps its end until then. With ALL the history also
--            records each get, renewal, refusal and release; for a lock that is held already, from the holder's next get on.
-- In         p_default_ttl_seconds: not above p_longest_ttl_seconds, NULL = 604800; p_longest_ttl_seconds: NULL = 315360000;
--            p_take_reason_fl: NULL = Y; p_reason: 0..150, because the event's 255 characters also hold the policy;
--            p_history_level: NULL = CHANGES; p_presence_fl: NULL = Y; p_yield_after_seconds: 60 or more, NULL = for ever.
-- Out        p_ok_fl, p_outcome.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine. 1205 after 1 s of waiting for another transaction.
--            1213 deadlock.
-- Locks      The type's row, or its gap, to the end of the caller's transaction.
-- Race-free  Two at once: the primary key lets one insert, the other waits and changes the row. The change and its event are one
--            transaction. A get that has begun before the policy is committed may still follow the former one.
-- Differs    A get inside a transaction locks the policy's row for reading until that ends: S1 waits for it, for 1 s.

CREATE PROCEDURE set_appl_lock_policy_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_default_ttl_seconds BIGINT,
    IN p_longest_ttl_seconds BIGINT,
    IN p_take_reason_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_history_level LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_presence_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_yield_after_seconds BIGINT,
    OUT p_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation set_appl_lock_policy.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_longest_ttl_seconds BIGINT DEFAULT COALESCE(p_longest_ttl_seconds, 315360000);
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    -- 1422: a function or trigger, which has a transaction.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    SET p_take_reason_fl = RTRIM(COALESCE(p_take_reason_fl, 'Y'));
    SET p_history_level = RTRIM(COALESCE(p_history_level, 'CHANGES'));
    SET p_presence_fl = RTRIM(COALESCE(p_presence_fl, 'Y'));
    SET p_reason = COALESCE(p_reason, '');
    CALL appl_lock_text('set_appl_lock_policy', 'p_object_type', 'Y', 1, 64, p_object_type);
    CALL appl_lock_number('set_appl_lock_policy', 'p_longest_ttl_seconds', 315360000, v_longest_ttl_seconds);
    CALL appl_lock_number('set_appl_lock_policy', 'p_default_ttl_seconds', v_longest_ttl_seconds, p_default_ttl_seconds);
    IF p_take_reason_fl NOT IN ('Y', 'N') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'set_appl_lock_policy: p_take_reason_fl must be Y or N';
    END IF;
    CALL appl_lock_text('set_appl_lock_policy', 'p_actor_id', 'Y', 1, 255, p_actor_id);
    CALL appl_lock_text('set_appl_lock_policy', 'p_reason', 'N', 0, 150, p_reason);
    IF p_history_level NOT IN ('ALL', 'CHANGES') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'set_appl_lock_policy: p_history_level is ALL or CHANGES';
    END IF;
    IF p_presence_fl NOT IN ('Y', 'N') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'set_appl_lock_policy: p_presence_fl must be Y or N';
    END IF;
    IF p_yield_after_seconds NOT BETWEEN 60 AND 315360000 THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'set_appl_lock_policy: p_yield_after_seconds must be 60 to 315360000';
    END IF;

    CALL appl_lock_enter();
    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    CALL appl_lock_begin(v_began);
    -- S1: the new policy.
    INSERT INTO appl_lock_policy (
        object_type, default_ttl_seconds, longest_ttl_seconds, take_reason_fl, history_level, presence_fl, yield_after_seconds
    )
    VALUES (
        p_object_type, p_default_ttl_seconds, p_longest_ttl_seconds, p_take_reason_fl, p_history_level, p_presence_fl,
        p_yield_after_seconds
    )
    ON DUPLICATE KEY UPDATE
        default_ttl_seconds = p_default_ttl_seconds,
        longest_ttl_seconds = p_longest_ttl_seconds,
        take_reason_fl = p_take_reason_fl,
        history_level = p_history_level,
        presence_fl = p_presence_fl,
        yield_after_seconds = p_yield_after_seconds;
    CALL appl_lock_record(
        'POLICY', p_object_type, '', p_actor_id, '', '', 0, '', '', 0,
        CONCAT(
            'default ', COALESCE(p_default_ttl_seconds, 'none'), ', longest ', COALESCE(p_longest_ttl_seconds, 'none'),
            ', take reason ', p_take_reason_fl, ', history ', p_history_level, ', presence ', p_presence_fl,
            ', yield after ', COALESCE(p_yield_after_seconds, 'none'), IF(p_reason = '', '', ': '), p_reason
        )
    );
    IF v_began THEN
        CALL appl_lock_end(TRUE);
    END IF;
    SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
    SET p_ok_fl = 'Y';
    SET p_outcome = 'SET';
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS set_appl_lock_policy;
-- +goose StatementBegin
CREATE PROCEDURE set_appl_lock_policy(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_default_ttl_seconds BIGINT,
    IN p_longest_ttl_seconds BIGINT,
    IN p_take_reason_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_history_level LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_presence_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_yield_after_seconds BIGINT,
    OUT p_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Set a type''s policy: how long its locks last, whether a take needs a reason, what the history records, and who sees whom.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'set_appl_lock_policy: is being replaced; call again, or install it again if that lasts';
    CALL set_appl_lock_policy_core(
        p_object_type, p_default_ttl_seconds, p_longest_ttl_seconds, p_take_reason_fl, p_actor_id, p_reason,
        p_history_level, p_presence_fl, p_yield_after_seconds,
        p_ok_fl, p_outcome
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS set_appl_lock_policy_row;
-- +goose StatementBegin
CREATE PROCEDURE set_appl_lock_policy_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_default_ttl_seconds BIGINT,
    IN p_longest_ttl_seconds BIGINT,
    IN p_take_reason_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_history_level LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_presence_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_yield_after_seconds BIGINT
)
COMMENT 'Set a type''s policy: how long its locks last, whether a take needs a reason, what the history records, and who sees whom; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'set_appl_lock_policy: is being replaced; call again, or install it again if that lasts';
    CALL set_appl_lock_policy_core(
        p_object_type, p_default_ttl_seconds, p_longest_ttl_seconds, p_take_reason_fl, p_actor_id, p_reason,
        p_history_level, p_presence_fl, p_yield_after_seconds,
        v_ok_fl, v_outcome
    );
    SELECT
        v_ok_fl AS p_ok_fl,
        v_outcome AS p_outcome;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS take_appl_lock_core;
-- +goose StatementBegin
-- take_appl_lock: take a held object from its holder, for a reason.
--
-- Contract   Y TAKEN: an operator held it, by the grant p_expected_fence (NULL = any grant). Now p_operator_id holds it: a new
--            grant, a greater fence, an empty note. The former holder is in p_old_*, which are empty when p_operator_id held it
--            itself.
--            N HELD: another grant than p_expected_fence holds it. N FREE: nobody holds it: get_appl_lock gets it.
--            It is an event, TAKEN, with the reason and p_operator_id as its actor.
-- In         p_department_id: NULL = empty. p_reason: may be empty only if the type's policy says so. p_ttl_seconds: NULL = that of the
--            grant that ends; the policy's longest is the limit.
-- Out        p_fence: 0 unless TAKEN. p_acquired_ts, p_expires_ts: NULL when FREE.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine. 1205 after 1 s of waiting for another transaction. 1213 deadlock.
-- Locks      As appl_lock_move.
-- Race-free  As appl_lock_move. Of two takes that expect the same fence one wins, and the other answers HELD.
-- Differs    A refusal waits for a transaction that is changing the row, and in a transaction locks the row until it ends.

CREATE PROCEDURE take_appl_lock_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_expected_fence BIGINT,
    IN p_ttl_seconds BIGINT,
    OUT p_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_acquired_ts DATETIME(6),
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT
)
COMMENT 'Internal to applock: the operation take_appl_lock.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();

    SET p_department_id = COALESCE(p_department_id, '');
    SET p_reason = COALESCE(p_reason, '');
    CALL appl_lock_owner('take_appl_lock', p_object_type, p_object_id, p_operator_id, p_department_id);
    IF p_expected_fence < 1 OR p_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_number('take_appl_lock', 'p_expected_fence', 9223372036854775807, p_expected_fence);
        CALL appl_lock_number('take_appl_lock', 'p_ttl_seconds', 315360000, p_ttl_seconds);
    END IF;
    CALL appl_lock_text('take_appl_lock', 'p_reason', 'N', 0, 255, p_reason);
    CALL appl_lock_enter();
    CALL appl_lock_move(
        'TAKEN', p_object_type, p_object_id, NULL, p_expected_fence, p_operator_id, p_department_id, p_ttl_seconds,
        p_operator_id, p_reason, NULL, NULL,
        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_acquired_ts, p_expires_ts, p_seconds_left
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS take_appl_lock;
-- +goose StatementBegin
CREATE PROCEDURE take_appl_lock(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_expected_fence BIGINT,
    IN p_ttl_seconds BIGINT,
    OUT p_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_acquired_ts DATETIME(6),
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT
)
COMMENT 'Take a held object from its holder, for a reason.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'take_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL take_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_reason, p_expected_fence, p_ttl_seconds,
        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_acquired_ts, p_expires_ts, p_seconds_left
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS take_appl_lock_row;
-- +goose StatementBegin
CREATE PROCEDURE take_appl_lock_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_expected_fence BIGINT,
    IN p_ttl_seconds BIGINT
)
COMMENT 'Take a held object from its holder, for a reason; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts DATETIME(6);
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_seconds_left BIGINT;
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'take_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL take_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_reason, p_expected_fence, p_ttl_seconds,
        v_ok_fl, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_acquired_ts, v_expires_ts, v_seconds_left
    );
    SELECT
        v_ok_fl AS p_ok_fl,
        v_outcome AS p_outcome,
        v_old_operator_id AS p_old_operator_id,
        v_old_department_id AS p_old_department_id,
        v_fence AS p_fence,
        v_acquired_ts AS p_acquired_ts,
        v_expires_ts AS p_expires_ts,
        v_seconds_left AS p_seconds_left;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS transfer_appl_lock_core;
-- +goose StatementBegin
-- transfer_appl_lock: hand a held object from one operator to another.
--
-- Contract   Y TRANSFERRED: p_from held it; p_to holds it now: a new grant, a greater fence, an empty note. N HELD: another
--            operator holds it; p_old_* and p_expires_ts tell who and until when. N FREE: nobody holds it.
--            It is an event, TRANSFERRED, with its actor and reason.
-- In         p_to_operator_id: another than p_from. p_to_department_id: NULL = empty. p_ttl_seconds: NULL = that of the grant that
--            ends; the policy's longest is the limit.
--            p_actor_id: NULL = unknown, and empty in the event. p_reason: NULL = empty.
-- Out        p_fence: 0 unless TRANSFERRED. p_acquired_ts, p_expires_ts: NULL when FREE.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine. 1205 after 1 s of waiting for another transaction. 1213 deadlock.
-- Locks      As appl_lock_move.
-- Race-free  As appl_lock_move. Of two transfers from the same operator one wins, and the other answers HELD.
-- Differs    A refusal waits for a transaction that is changing the row, and in a transaction locks the row until it ends.

CREATE PROCEDURE transfer_appl_lock_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_from_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_acquired_ts DATETIME(6),
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT
)
COMMENT 'Internal to applock: the operation transfer_appl_lock.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();

    SET p_to_department_id = COALESCE(p_to_department_id, '');
    SET p_reason = COALESCE(p_reason, '');
    CALL appl_lock_key('transfer_appl_lock', p_object_type, p_object_id);
    CALL appl_lock_text('transfer_appl_lock', 'p_from_operator_id', 'Y', 1, 255, p_from_operator_id);
    CALL appl_lock_text('transfer_appl_lock', 'p_to_operator_id', 'Y', 1, 255, p_to_operator_id);
    IF p_to_operator_id = p_from_operator_id THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'transfer_appl_lock: p_to_operator_id must be another one';
    END IF;
    CALL appl_lock_text('transfer_appl_lock', 'p_to_department_id', 'Y', 0, 64, p_to_department_id);
    CALL appl_lock_number('transfer_appl_lock', 'p_ttl_seconds', 315360000, p_ttl_seconds);
    CALL appl_lock_text('transfer_appl_lock', 'p_actor_id', 'Y', IF(p_actor_id IS NULL, 0, 1), 255, p_actor_id);
    CALL appl_lock_text('transfer_appl_lock', 'p_reason', 'N', 0, 255, p_reason);
    CALL appl_lock_enter();
    CALL appl_lock_move(
        'TRANSFERRED', p_object_type, p_object_id, p_from_operator_id, NULL, p_to_operator_id, p_to_department_id, p_ttl_seconds,
        COALESCE(p_actor_id, ''), p_reason, NULL, NULL,
        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_acquired_ts, p_expires_ts, p_seconds_left
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS transfer_appl_lock;
-- +goose StatementBegin
CREATE PROCEDURE transfer_appl_lock(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_from_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_acquired_ts DATETIME(6),
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT
)
COMMENT 'Hand a held object from one operator to another.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'transfer_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL transfer_appl_lock_core(
        p_object_type, p_object_id, p_from_operator_id, p_to_operator_id, p_to_department_id, p_ttl_seconds, p_actor_id,
        p_reason,
        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_acquired_ts, p_expires_ts, p_seconds_left
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS transfer_appl_lock_row;
-- +goose StatementBegin
CREATE PROCEDURE transfer_appl_lock_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_from_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Hand a held object from one operator to another; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_ok_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_operator_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts DATETIME(6);
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_seconds_left BIGINT;
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'transfer_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL transfer_appl_lock_core(
        p_object_type, p_object_id, p_from_operator_id, p_to_operator_id, p_to_department_id, p_ttl_seconds, p_actor_id,
        p_reason,
        v_ok_fl, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_acquired_ts, v_expires_ts, v_seconds_left
    );
    SELECT
        v_ok_fl AS p_ok_fl,
        v_outcome AS p_outcome,
        v_old_operator_id AS p_old_operator_id,
        v_old_department_id AS p_old_department_id,
        v_fence AS p_fence,
        v_acquired_ts AS p_acquired_ts,
        v_expires_ts AS p_expires_ts,
        v_seconds_left AS p_seconds_left;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS transfer_appl_locks_core;
-- +goose StatementBegin
-- transfer_appl_locks: hand over what an operator holds, all or of a type, page by page.
--
-- Contract   A page is at most p_max_rows live locks of p_from whose key is greater than (p_after_type, p_after_id), with a row for
--            each. The next page starts after the last row of this one; a page shorter than p_max_rows is the last.
--            TRANSFERRED: as transfer_appl_lock. BUSY: another transaction has locked the row. HELD, FREE: it has changed hands since the
--            page was read. These are left as they are. WOULD_TRANSFER: a dry run, without changes and without BUSY.
-- In         p_object_type: NULL = any. p_after_*: NULL = from the start. p_max_rows: 1..10000, NULL = 1000. The others as
--            transfer_appl_lock.
-- Out        fence: of the new grant, of the old one when BUSY or WOULD_TRANSFER, else 0. Ordered by key.
-- Raises     LK001 invalid argument. 1205, 1213, LK003 as transfer_appl_lock; then the page is undone, or the caller rolls back
--            its own transaction.
-- Locks      One row after the other in the order of the keys, to the end of the page or of the caller's transaction.
-- Race-free  As appl_lock_move_page. Two at once: neither waits, and one finds the other's rows BUSY or HELD.
-- Differs    In a transaction at REPEATABLE READ the page shows its snapshot, which the call may fix.

CREATE PROCEDURE transfer_appl_locks_core(
    IN p_from_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max_rows BIGINT,
    IN p_dry_run_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation transfer_appl_locks.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    CALL appl_lock_move_page(
        'transfer_appl_locks', p_from_operator_id, p_object_type, p_to_operator_id, p_to_department_id, p_ttl_seconds, p_actor_id, p_reason,
        p_after_type, p_after_id, p_max_rows, p_dry_run_fl
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS transfer_appl_locks;
-- +goose StatementBegin
CREATE PROCEDURE transfer_appl_locks(
    IN p_from_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max_rows BIGINT,
    IN p_dry_run_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Hand over what an operator holds, all or of a type, page by page.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'transfer_appl_locks: is being replaced; call again, or install it again if that lasts';
    CALL transfer_appl_locks_core(
        p_from_operator_id, p_object_type, p_to_operator_id, p_to_department_id, p_ttl_seconds, p_actor_id, p_reason,
        p_after_type, p_after_id, p_max_rows, p_dry_run_fl
    );
END;
-- +goose StatementEnd

SET SESSION sql_mode = @applock_sql_mode;

-- +goose Down
-- A routine keeps the sql_mode that it was created with: so it is ours, not the session's.
SET @applock_sql_mode = @@SESSION.sql_mode;
SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION';

DROP PROCEDURE IF EXISTS transfer_appl_locks;
DROP PROCEDURE IF EXISTS transfer_appl_locks_core;
DROP PROCEDURE IF EXISTS transfer_appl_lock_row;
DROP PROCEDURE IF EXISTS transfer_appl_lock;
DROP PROCEDURE IF EXISTS transfer_appl_lock_core;
DROP PROCEDURE IF EXISTS take_appl_lock_row;
DROP PROCEDURE IF EXISTS take_appl_lock;
DROP PROCEDURE IF EXISTS take_appl_lock_core;
DROP PROCEDURE IF EXISTS set_appl_lock_policy_row;
DROP PROCEDURE IF EXISTS set_appl_lock_policy;
DROP PROCEDURE IF EXISTS set_appl_lock_policy_core;
DROP PROCEDURE IF EXISTS serialize_appl_lock_row;
DROP PROCEDURE IF EXISTS serialize_appl_lock;
DROP PROCEDURE IF EXISTS serialize_appl_lock_core;
DROP PROCEDURE IF EXISTS see_appl_lock;
DROP PROCEDURE IF EXISTS see_appl_lock_core;
DROP PROCEDURE IF EXISTS retract_appl_lock_waiter_row;
DROP PROCEDURE IF EXISTS retract_appl_lock_waiter;
DROP PROCEDURE IF EXISTS retract_appl_lock_waiter_core;
DROP PROCEDURE IF EXISTS renew_appl_locks_tell;
DROP PROCEDURE IF EXISTS renew_appl_locks;
DROP PROCEDURE IF EXISTS renew_appl_locks_core;
DROP PROCEDURE IF EXISTS release_appl_locks;
DROP PROCEDURE IF EXISTS release_appl_locks_core;
DROP PROCEDURE IF EXISTS release_appl_lock_row;
DROP PROCEDURE IF EXISTS release_appl_lock_row_core;
DROP PROCEDURE IF EXISTS appl_lock_release;
DROP PROCEDURE IF EXISTS release_appl_lock;
DROP PROCEDURE IF EXISTS release_appl_lock_core;
DROP PROCEDURE IF EXISTS purge_appl_locks_row;
DROP PROCEDURE IF EXISTS purge_appl_locks;
DROP PROCEDURE IF EXISTS purge_appl_locks_core;
DROP PROCEDURE IF EXISTS purge_appl_lock_history_row;
DROP PROCEDURE IF EXISTS purge_appl_lock_history;
DROP PROCEDURE IF EXISTS purge_appl_lock_history_core;
DROP PROCEDURE IF EXISTS poll_appl_locks;
DROP PROCEDURE IF EXISTS poll_appl_locks_core;
DROP PROCEDURE IF EXISTS note_appl_lock_row;
DROP PROCEDURE IF EXISTS note_appl_lock;
DROP PROCEDURE IF EXISTS note_appl_lock_core;
DROP PROCEDURE IF EXISTS inquire_appl_lock_row;
DROP PROCEDURE IF EXISTS inquire_appl_lock;
DROP PROCEDURE IF EXISTS inquire_appl_lock_core;
DROP PROCEDURE IF EXISTS inbox_appl_locks;
DROP PROCEDURE IF EXISTS inbox_appl_locks_core;
DROP PROCEDURE IF EXISTS get_appl_lock_permit;
DROP PROCEDURE IF EXISTS get_appl_lock_permit_core;
DROP PROCEDURE IF EXISTS get_appl_lock_row;
DROP PROCEDURE IF EXISTS get_appl_lock_row_core;
DROP PROCEDURE IF EXISTS get_appl_lock;
DROP PROCEDURE IF EXISTS get_appl_lock_core;
DROP PROCEDURE IF EXISTS drop_appl_lock_policy_row;
DROP PROCEDURE IF EXISTS drop_appl_lock_policy;
DROP PROCEDURE IF EXISTS drop_appl_lock_policy_core;
DROP PROCEDURE IF EXISTS assert_appl_lock_row;
DROP PROCEDURE IF EXISTS assert_appl_lock;
DROP PROCEDURE IF EXISTS assert_appl_lock_core;
DROP PROCEDURE IF EXISTS ask_appl_lock_row;
DROP PROCEDURE IF EXISTS ask_appl_lock;
DROP PROCEDURE IF EXISTS ask_appl_lock_core;
DROP PROCEDURE IF EXISTS appl_lock_version;
DROP PROCEDURE IF EXISTS appl_lock_version_core;
DROP PROCEDURE IF EXISTS appl_lock_end;
DROP PROCEDURE IF EXISTS appl_lock_begin;
DROP PROCEDURE IF EXISTS appl_lock_inside;
DROP PROCEDURE IF EXISTS appl_lock_look;
DROP PROCEDURE IF EXISTS appl_lock_enter;
DROP PROCEDURE IF EXISTS appl_lock_restore;
DROP PROCEDURE IF EXISTS appl_lock_refuse;
DROP PROCEDURE IF EXISTS release_appl_lock_pass;
DROP PROCEDURE IF EXISTS release_appl_lock_pass_core;
DROP PROCEDURE IF EXISTS appl_lock_move_page;
DROP PROCEDURE IF EXISTS get_appl_lock_rows;
DROP PROCEDURE IF EXISTS get_appl_lock_rows_core;
DROP PROCEDURE IF EXISTS get_appl_lock_late;
DROP PROCEDURE IF EXISTS get_appl_lock_tell;
DROP PROCEDURE IF EXISTS get_appl_lock_insert;
DROP PROCEDURE IF EXISTS appl_lock_policy;
DROP PROCEDURE IF EXISTS get_appl_lock_check;
DROP PROCEDURE IF EXISTS answer_appl_lock_row;
DROP PROCEDURE IF EXISTS answer_appl_lock;
DROP PROCEDURE IF EXISTS answer_appl_lock_core;
DROP PROCEDURE IF EXISTS announce_appl_lock_waiter_row;
DROP PROCEDURE IF EXISTS announce_appl_lock_waiter;
DROP PROCEDURE IF EXISTS announce_appl_lock_waiter_core;
DROP VIEW IF EXISTS appl_lock_stats;
DROP VIEW IF EXISTS appl_lock_policies;
DROP VIEW IF EXISTS appl_lock_history;
DROP VIEW IF EXISTS appl_lock_viewers;
DROP VIEW IF EXISTS appl_lock_asking;
DROP VIEW IF EXISTS appl_lock_waiting;
DROP VIEW IF EXISTS appl_lock_live;
DROP PROCEDURE IF EXISTS appl_lock_unask;
DROP PROCEDURE IF EXISTS appl_lock_holder;
DROP PROCEDURE IF EXISTS appl_lock_move;
DROP PROCEDURE IF EXISTS appl_lock_record;
DROP PROCEDURE IF EXISTS appl_lock_number;
DROP PROCEDURE IF EXISTS appl_lock_owner;
DROP PROCEDURE IF EXISTS appl_lock_key;
DROP PROCEDURE IF EXISTS appl_lock_text;

SET SESSION sql_mode = @applock_sql_mode;
