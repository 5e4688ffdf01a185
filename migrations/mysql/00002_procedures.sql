-- Installs the procedures. Made by `make snapshot` from procedures/mysql: edit them there.

-- +goose Up
-- A routine keeps the sql_mode that it was created with: so it is ours, not the session's.
SET @applock_sql_mode = @@SESSION.sql_mode;
SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION';

DROP PROCEDURE IF EXISTS appl_lock_refuse_text;
-- +goose StatementBegin
-- appl_lock_refuse_text, appl_lock_refuse_number: say what is wrong with an argument. Internal: nobody
-- is granted these; the operations call them with their owner's rights, and only for a bad argument.
--
-- Contract   Each always raises.
-- Raises     LK001 with the routine, the argument and the reason in the message.
-- Locks      Nothing.
-- Differs    From PostgreSQL, where functions check and convert: creating a function needs SUPER where the
--            binary log is on, and a call for each good argument costs more than the operation.

CREATE PROCEDURE appl_lock_refuse_text(
    IN p_routine VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_argument VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_length BIGINT,
    IN p_max_length BIGINT
)
COMMENT 'Internal to applock: raises LK001 for a text argument.'
CONTAINS SQL
SQL SECURITY DEFINER
BEGIN
    DECLARE v_message VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT CONCAT(
        p_routine, ': ', p_argument,
        CASE
            WHEN p_length = 0 THEN ' must not be empty'
            WHEN p_length > p_max_length THEN
                CONCAT(' has ', p_length, ' characters, at most ', p_max_length, ' are allowed')
            ELSE ' must not contain ":", which ends the type in type:id'
        END
    );
    SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_message;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS appl_lock_refuse_number;
-- +goose StatementBegin
CREATE PROCEDURE appl_lock_refuse_number(
    IN p_routine VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_argument VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max BIGINT
)
COMMENT 'Internal to applock: raises LK001 for a number argument.'
CONTAINS SQL
SQL SECURITY DEFINER
BEGIN
    DECLARE v_message VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT CONCAT(
        p_routine, ': ', p_argument, ' must lie between 1 and ', p_max
    );
    SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_message;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS announce_appl_lock_waiter_core;
-- +goose StatementBegin
-- announce_appl_lock_waiter: say that an operator waits for an object, or still waits.
--
-- Contract   Lists the operator as a waiter of the program p_client_id for 60 s, but not longer than
--            p_wait_seconds. Called again, or kept by poll_appl_locks, it stays listed, and waits since the
--            first call; once it is not listed any more, a call begins a new wait. It takes nothing and
--            promises nothing: who waits is for others to see.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64;
--            p_department_id 0..64, NULL = empty; p_client_id 1..64, the waiting program, by a name that no
--            other one has; p_wait_seconds until it gives up, 1..315360000, NULL = never.
--            Trailing blanks are trimmed first.
-- Out        None; the row form returns p_return_cd 'Y'.
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine. 1205 after 1 s of waiting
--            for another transaction, 1213 deadlock.
-- Locks      S1 inserts or changes the waiter's one row; held to the end of the caller's transaction. Only
--            announce, retract and purge of this very waiter wait for it; poll passes over it.
-- Race-free  Two calls: the primary key lets one insert; ON DUPLICATE KEY UPDATE makes the other wait for an
--            exclusive lock, and whether the row is live is judged on it.
--            Against purge or retract: one of them has the row; an announce that waited inserts a new one.
-- Differs    Of three calls for one waiter at once, one of them a retract, one may become a deadlock's victim
--            (1213), because the row comes and goes: call again.

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
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_id, ''));
    DECLARE v_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_operator_id, ''));
    DECLARE v_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_department_id, ''));
    DECLARE v_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_client_id, ''));
    DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    DECLARE v_now DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_until DATETIME(6);
    DECLARE v_expires DATETIME(6);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout;
        RESIGNAL;
    END;

    IF CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('announce_appl_lock_waiter', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF CHAR_LENGTH(v_object_id) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('announce_appl_lock_waiter', 'p_object_id', CHAR_LENGTH(v_object_id), 255);
    ELSEIF CHAR_LENGTH(v_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('announce_appl_lock_waiter', 'p_operator_id', CHAR_LENGTH(v_operator_id), 64);
    ELSEIF CHAR_LENGTH(v_department_id) > 64 THEN
        CALL appl_lock_refuse_text('announce_appl_lock_waiter', 'p_department_id', CHAR_LENGTH(v_department_id), 64);
    ELSEIF CHAR_LENGTH(v_client_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('announce_appl_lock_waiter', 'p_client_id', CHAR_LENGTH(v_client_id), 64);
    ELSEIF p_wait_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('announce_appl_lock_waiter', 'p_wait_seconds', 315360000);
    END IF;

    SET v_until = v_now + INTERVAL p_wait_seconds SECOND;
    SET v_expires = LEAST(v_now + INTERVAL 60 SECOND, COALESCE(v_until, v_now + INTERVAL 60 SECOND));
    SET SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    -- S1: a new wait, or the one that goes on. The assignments are made in this order, each seeing the ones
    -- before.
    INSERT INTO appl_lock_waiter (
        object_type,
        object_id,
        operator_id,
        department_id,
        client_id,
        since_ts,
        until_ts,
        expires_ts
    )
    VALUES (
        v_object_type,
        v_object_id,
        v_operator_id,
        v_department_id,
        v_client_id,
        v_now,
        v_until,
        v_expires
    )
    ON DUPLICATE KEY UPDATE
        department_id = v_department_id,
        since_ts = IF(expires_ts > v_now, since_ts, v_now),
        until_ts = v_until,
        expires_ts = v_expires;
    SET SESSION innodb_lock_wait_timeout = v_timeout;
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
    SELECT 'Y' AS p_return_cd;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS appl_lock_record;
-- +goose StatementBegin
-- appl_lock_record: write an event of the history. appl_lock_begin, appl_lock_end: have a change of a lock and its event in one
-- transaction. Internal: nobody is granted these; the operations call them with their owner's rights.
--
-- Contract   appl_lock_record writes one row of appl_lock_event, with the user of the session. (MySQL tells the name of the
--            program only to who may read performance_schema.)
--            appl_lock_begin begins a transaction and says so, unless the caller has one: what is called under
--            autocommit is otherwise a transaction for each statement. appl_lock_end ends it. They are procedures of
--            their own because a function or trigger may call nothing that begins or ends a transaction: there error
--            1422 comes back, and all is one transaction anyway.
-- Raises     1422 as above.
-- Locks      Nothing but the new row.
-- Differs    From PostgreSQL, where a call is a transaction.

CREATE PROCEDURE appl_lock_record(
    IN p_event VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_actor_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_from_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_from_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_from_fence BIGINT,
    IN p_to_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_fence BIGINT,
    IN p_reason VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: writes an event of the history.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_insert_id BIGINT UNSIGNED DEFAULT LAST_INSERT_ID();
    INSERT INTO appl_lock_event (
        event_ts,
        object_type,
        object_id,
        event,
        actor_id,
        db_user,
        program,
        from_operator_id,
        from_department_id,
        to_operator_id,
        to_department_id,
        from_fence,
        to_fence,
        reason
    )
    VALUES (
        UTC_TIMESTAMP(6),
        p_object_type,
        p_object_id,
        p_event,
        p_actor_id,
        LEFT(USER(), 255),
        '',
        p_from_operator_id,
        p_from_department_id,
        p_to_operator_id,
        p_to_department_id,
        p_from_fence,
        p_to_fence,
        p_reason
    );
    -- The event's number is no business of the caller's.
    DO LAST_INSERT_ID(v_insert_id);
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
    -- 1568: a transaction is open. (MariaDB would tell by @@in_transaction, MySQL has no such variable.)
    DECLARE EXIT HANDLER FOR 1568 BEGIN END;
    SET p_began = FALSE;
    IF @@SESSION.autocommit THEN
        SET TRANSACTION READ WRITE;
        START TRANSACTION;
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
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS appl_lock_version_core;
-- +goose StatementBegin
-- appl_lock_version: the version of the installed contract.
--
-- Contract   A whole number that grows when an operation is added or changes its signature or answers.
-- In         None.
-- Out        One row with the version.
-- Raises     LK003 when an upgrade is replacing the routine.
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

DROP PROCEDURE IF EXISTS assert_appl_lock_core;
-- +goose StatementBegin
-- assert_appl_lock: fail unless exactly this grant is live, and keep it so to the end of the transaction.
--
-- Contract   Returns when p_operator_id holds the object under p_fence; then nobody releases, transfers
--            or takes over that grant before the caller's transaction ends, even if it expires
--            meanwhile. Called first in the transaction that writes the protected data, it fences off
--            a holder that lost its lock without noticing. Under autocommit it is a check only.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64;
--            p_fence 1 or greater. Trailing blanks are trimmed first.
-- Out        None; the row form returns p_return_cd 'Y'. It leaves the grant in @appl_lock_asserted, which the session
--            keeps, for the guards of docs/guard.md.
-- Raises     LK001 invalid argument. LK002 when the grant is not live; the message names the holder.
--            LK003 when an upgrade is replacing the routine. 1205 after 1 s of waiting for another
--            transaction, 1213 deadlock.
-- Locks      S1 takes a share lock on the object's one row and decides; held to the end of the caller's
--            transaction. Other asserts of the grant do not wait for it; its renewal elsewhere does. A renewal or
--            release in the same transaction may then deadlock with somebody who waits for the row (MariaDB).
--            At REPEATABLE READ an object without a row leaves its gap locked so long.
-- Race-free  Assert against take-over, release, transfer: whoever locks the row first goes first; S1
--            names the grant and is judged on the newest row once it is locked.
--            REPEATABLE READ: only locking reads, so the caller's snapshot is not older than the lock.
-- Differs    The message names the holder only: MySQL cuts it off at 128 characters, and has a question mark
--            for each character outside the basic plane. No 40001: InnoDB judges the newest row. What a
--            session's settings can do: procedures/README.md.

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
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_id, ''));
    DECLARE v_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_operator_id, ''));
    DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    DECLARE v_grant LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT CONCAT(
        CHAR(10 USING utf8mb4), p_fence, CHAR(9 USING utf8mb4), v_operator_id, CHAR(9 USING utf8mb4), v_object_type, ':', v_object_id
    );
    DECLARE v_live BOOLEAN DEFAULT FALSE;
    DECLARE v_message VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT 'assert_appl_lock: nobody holds it';
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout;
        RESIGNAL;
    END;

    IF CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('assert_appl_lock', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF CHAR_LENGTH(v_object_id) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('assert_appl_lock', 'p_object_id', CHAR_LENGTH(v_object_id), 255);
    ELSEIF CHAR_LENGTH(v_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('assert_appl_lock', 'p_operator_id', CHAR_LENGTH(v_operator_id), 64);
    ELSEIF COALESCE(p_fence, 0) < 1 THEN
        CALL appl_lock_refuse_number('assert_appl_lock', 'p_fence', 9223372036854775807);
    END IF;

    SET SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    -- S1: is this grant live? If so it becomes a line for guards, newest first: one that is cut off loses its end, by which
    -- a guard would find it.
    SELECT
        TRUE,
        IF(
            LOCATE(CONCAT(v_grant, CHAR(10 USING utf8mb4)), @appl_lock_asserted) > 0,
            @appl_lock_asserted,
            LEFT(CONCAT(v_grant, COALESCE(@appl_lock_asserted, CHAR(10 USING utf8mb4))), 16000)
        )
    INTO v_live, @appl_lock_asserted
    FROM appl_lock AS l
    WHERE l.object_type = v_object_type
        AND l.object_id = v_object_id
        AND l.operator_id = v_operator_id
        AND l.fence = p_fence
        AND l.expires_ts > UTC_TIMESTAMP(6)
    LOCK IN SHARE MODE;
    IF v_live THEN
        SET SESSION innodb_lock_wait_timeout = v_timeout;
        LEAVE main;
    END IF;

    SELECT CONCAT('assert_appl_lock: ', l.operator_id, ' holds it with fence ', l.fence)
    INTO v_message
    FROM appl_lock AS l
    WHERE l.object_type = v_object_type
        AND l.object_id = v_object_id
        AND l.operator_id <> ''
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
    SELECT 'Y' AS p_return_cd;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS drop_appl_lock_policy_core;
-- +goose StatementBegin
-- drop_appl_lock_policy: take back the policy of a type.
--
-- Contract   Y DROPPED: the type has no policy any more. That is an event of the history: POLICY, with who did it and why.
--            N NONE: it had none; nothing changed.
--            A grant keeps the end that it has until it is renewed or transferred.
-- In         p_object_type 1..64 characters without ":"; p_actor_id 1..64; p_reason 0..180, NULL = empty. Trailing
--            blanks are trimmed first.
-- Out        p_return_cd, p_outcome.
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine. 1205 after 1 s of waiting for another
--            transaction, 1213 deadlock.
-- Locks      S1 locks the type's one row, or its gap, to the end of the caller's transaction.
-- Race-free  Two at once: one waits for the other and answers NONE. Under autocommit S1 and the event are one transaction of
--            the call's own.
-- Differs    As set_appl_lock_policy.

CREATE PROCEDURE drop_appl_lock_policy_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation drop_appl_lock_policy.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_actor_id, ''));
    DECLARE v_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_reason, ''));
    DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    -- 1422: a function or trigger, which has a transaction.
    DECLARE CONTINUE HANDLER FOR 1422 BEGIN END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout;
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    IF CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('drop_appl_lock_policy', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF CHAR_LENGTH(v_actor_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('drop_appl_lock_policy', 'p_actor_id', CHAR_LENGTH(v_actor_id), 64);
    ELSEIF CHAR_LENGTH(v_reason) > 180 THEN
        CALL appl_lock_refuse_text('drop_appl_lock_policy', 'p_reason', CHAR_LENGTH(v_reason), 180);
    END IF;

    SET SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    CALL appl_lock_begin(v_began);
    -- S1: there is none from now on.
    DELETE FROM appl_lock_policy
    WHERE object_type = v_object_type;
    SET p_return_cd = IF(ROW_COUNT() > 0, 'Y', 'N');
    SET p_outcome = IF(p_return_cd = 'Y', 'DROPPED', 'NONE');
    IF p_return_cd = 'Y' THEN
        CALL appl_lock_record(
            'POLICY', v_object_type, '', v_actor_id, '', '', 0, '', '', 0,
            CONCAT('dropped', IF(v_reason = '', '', ': '), v_reason)
        );
    END IF;
    IF v_began THEN
        CALL appl_lock_end(TRUE);
    END IF;
    SET SESSION innodb_lock_wait_timeout = v_timeout;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS drop_appl_lock_policy;
-- +goose StatementBegin
CREATE PROCEDURE drop_appl_lock_policy(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Take back the policy of a type.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'drop_appl_lock_policy: is being replaced; call again, or install it again if that lasts';
    CALL drop_appl_lock_policy_core(
        p_object_type, p_actor_id, p_reason,
        p_return_cd, p_outcome
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
COMMENT 'Take back the policy of a type; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'drop_appl_lock_policy: is being replaced; call again, or install it again if that lasts';
    CALL drop_appl_lock_policy_core(
        p_object_type, p_actor_id, p_reason,
        v_return_cd, v_outcome
    );
    SELECT
        v_return_cd AS p_return_cd,
        v_outcome AS p_outcome;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS get_appl_lock_overtake;
-- +goose StatementBegin
-- get_appl_lock: take or renew the lock on an object for one operator until it expires.
--
-- Contract   Y ACQUIRED: the object was free or its lock had expired; a new grant, a greater fence.
--            Y RENEWED: this operator holds it; same grant and fence, expires_ts = now + ttl.
--            N HELD: another operator holds it; p_old_*, p_expires_ts and p_note tell who, until when and why.
--            ACQUIRED from another operator, whose lock had expired and had not been released, is an event of the history:
--            OVERTAKEN. Where the policy of the type has the history told ALL, so are a new grant, ACQUIRED, a renewal, RENEWED,
--            and a refusal, REFUSED; the last one goes by the policy of when the holder last called get.
--            The policy of the type, if it has one, has the ttl of a new grant for which none is given, and the greatest ttl:
--            a greater one is cut to it, also in a renewal, as p_expires_ts and p_seconds_left tell.
--            get_appl_lock_rows: the row form for each of p_gets, one after the other in its order; in a transaction of the
--            caller's all or nothing is a rollback.
-- In         p_gets, a JSON array of 0 to 10000 gets such as {"object_type": "customer", "object_id": "42", "operator_id":
--            "JDOE", "department_id": "CS", "ttl_seconds": 60}; what is left out is NULL. Its types are checked at first.
--            p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64;
--            p_department_id 0..64; p_ttl_seconds 1..315360000. NULL = as the grant has it in a renewal; in a
--            new grant an empty department and the policy's ttl, else 604800 (7 days). The ttl that a grant has is expires_ts - lock_ts,
--            in whole seconds, rounded up, at least 1.
--            Trailing blanks are trimmed first. LONGTEXT, so that length is checked here.
-- Out        p_lock_fl, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD),
--            p_fence (0 when HELD), p_expires_ts, p_seconds_left (whole seconds from now to
--            p_expires_ts, rounded up), p_note (the holder's when HELD, the grant's own when RENEWED, empty in a new grant).
-- Raises     LK001 invalid argument. LK003 when the object changed hands thirty times during the call, or
--            an upgrade is replacing the routine. 1205 after 1 s of waiting for another
--            transaction, 1213 deadlock: when S3 meets them, the renewal has been made.
-- Locks      Outside a transaction a refusal locks nothing and waits for nothing: S0 reads. S0b, S0c, S1: the object's one row
--            (exclusive, no gap), which they judge; held to the end of the caller's transaction, also after HELD.
--            S2, which tells who holds it, and S3, which tells until when a renewal with the grant's own ttl goes, and its
--            note, lock the same row. In a transaction the row of the type's policy, or the gap for it, is locked for reading, too,
--            until that ends: a plain read would fix the caller's snapshot too early.
-- Race-free  S0 decides nothing but a refusal, which was true at one moment. What it has found free S0b judges again when
--            it has locked the row: free, and of a lesser fence. What it has found to be the caller's S0c judges again: the same
--            grant, end and note. If not, S1 decides as if there had been no S0.
--            S0 is a plain read, which fixes a snapshot: it is in the row form, which no function or trigger can use,
--            under autocommit and when no transaction is open. What S0 to S0c answer is not asked of the core: a get and a release
--            take a sixth less of the server's time so. Whether a transaction is open tells SET TRANSACTION, which otherwise
--            changes nothing: READ WRITE is for the one transaction that S0 is. (MariaDB would tell by @@in_transaction, MySQL
--            has no such variable.)
--            Refused, and free again at the second look: then it begins again, thirty times at most. In a storm of 32
--            callers on two objects a sixth of the looks comes too late, so that three rounds were not enough.
--            Free object, two callers: the primary key lets one insert; ON DUPLICATE KEY UPDATE makes the
--            other wait for an exclusive lock and judges the winner's row. (A failed INSERT would take a
--            shared lock, and two of those deadlock; an UPDATE of a missing row would lock the gap.) If the
--            one that inserted rolls back, InnoDB may make all but one of those who wait a deadlock's victim.
--            Expired row, two callers: S0b or S1 locks the row that it judges. S1's decision comes out of it through
--            LAST_INSERT_ID(expr), not through a later read or ROW_COUNT. S0b changes the fence when it does anything, so that
--            ROW_COUNT says so whatever CLIENT_FOUND_ROWS is. Where S0c changes nothing, by a clock that stands still, S1 does it again.
--            Release while S0b, S0c or S1 waits: a released row has no operator, so that it is free for them, too, whose
--            time is older than the release; a released grant never comes back.
--            Another's lock that has expired and was not released S0b and S1 leave alone: S2 reads it, S4 takes it if it is
--            still that grant, and so what the event names is what has ended. They are one transaction.
--            So are any grant or renewal and its event, if it has one: a transaction that begins when the policy has been read.
--            Ttl and department of NULL: S1 takes them from the row that it has locked. LAST_INSERT_ID has no
--            room for that ttl beside the fence, so that S3 reads the end of the renewed grant, by its fence,
--            unless the ttl is 7 days; and for the same reason the note, if there is one. A grant that somebody has ended in between is not answered: then S2
--            tells who holds the object now, or S1 decides once more, as if the caller had called again.
--            REPEATABLE READ: in a transaction only locking reads, so the caller's snapshot is not older than the grant.
-- Differs    In a transaction, and from a function or trigger, a refusal locks the row until that transaction ends, and waits
--            for one that is changing the row: a plain read would fix the caller's snapshot too early. The time is read
--            before a wait, so that a grant may begin up to 1 s before its answer; what is left of it is the
--            whole ttl even so, because it is rounded up. No 40001: InnoDB judges the newest row. What a
--            session's settings can do: procedures/README.md.

CREATE PROCEDURE get_appl_lock_overtake(
    IN p_object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
    IN p_history_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_expires_ts DATETIME(6)
)
COMMENT 'Internal to applock: takes a lock that has expired from another operator, with its event.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_now DATETIME(6);
    DECLARE v_from_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_from_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_from_fence BIGINT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- 1422: a function or trigger, which has a transaction.
    DECLARE CONTINUE HANDLER FOR 1422 BEGIN END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    CALL appl_lock_begin(v_began);
    SELECT l.operator_id, l.department_id, l.fence
    INTO v_from_operator_id, v_from_department_id, v_from_fence
    FROM appl_lock AS l
    WHERE l.object_type = p_object_type
        AND l.object_id = p_object_id
        AND l.operator_id NOT IN (p_operator_id, '')
        AND l.expires_ts <= UTC_TIMESTAMP(6)
    FOR UPDATE;
    IF v_from_fence IS NOT NULL THEN
        SET v_now = UTC_TIMESTAMP(6);
        SET p_fence = GREATEST(v_from_fence + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', v_now));
        SET p_expires_ts = v_now + INTERVAL p_ttl_seconds SECOND;
        UPDATE appl_lock AS l
        SET l.operator_id = p_operator_id,
            l.department_id = p_department_id,
            l.fence = p_fence,
            l.acquired_ts = v_now,
            l.lock_ts = v_now,
            l.expires_ts = p_expires_ts,
            l.note = '',
            l.history_fl = p_history_fl
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
            AND l.fence = v_from_fence
            AND l.expires_ts <= v_now;
        IF ROW_COUNT() > 0 THEN
            CALL appl_lock_record(
                'OVERTAKEN', p_object_type, p_object_id, p_operator_id,
                v_from_operator_id, v_from_department_id, v_from_fence, p_operator_id, p_department_id, p_fence, ''
            );
            SET p_outcome = 'ACQUIRED';
        END IF;
    END IF;
    IF v_began THEN
        CALL appl_lock_end(TRUE);
    END IF;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS get_appl_lock_tell;
-- +goose StatementBegin
CREATE PROCEDURE get_appl_lock_tell(
    IN p_event VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: tells the history of the grant that this transaction has begun or renewed.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_fence BIGINT;
    SELECT l.department_id, l.fence
    INTO v_department_id, v_fence
    FROM appl_lock AS l
    WHERE l.object_type = p_object_type
        AND l.object_id = p_object_id
    FOR UPDATE;
    IF p_event = 'RENEWED' THEN
        CALL appl_lock_record(
            p_event, p_object_type, p_object_id, p_operator_id,
            p_operator_id, v_department_id, v_fence, p_operator_id, v_department_id, v_fence, ''
        );
    ELSE
        CALL appl_lock_record(
            p_event, p_object_type, p_object_id, p_operator_id,
            '', '', 0, p_operator_id, v_department_id, v_fence, ''
        );
    END IF;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS get_appl_lock_core;
-- +goose StatementBegin
CREATE PROCEDURE get_appl_lock_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
    OUT p_lock_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT,
    OUT p_note VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation get_appl_lock.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
main: BEGIN
    DECLARE v_now DATETIME(6);
    DECLARE v_longest_ttl_seconds BIGINT DEFAULT 315360000;
    DECLARE v_old_history_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    -- The ttl of a new grant, and what is left of it at first.
    SET p_seconds_left = COALESCE(p_ttl_seconds, 604800);
    -- One look at arguments that are as they are stored: each instruction of a routine costs. (A blank equals nothing at all.)
    IF (
        RIGHT(p_object_type, 1) <> ' ' AND CHAR_LENGTH(p_object_type) <= 64 AND LOCATE(':', p_object_type) = 0
        AND RIGHT(p_object_id, 1) <> ' ' AND CHAR_LENGTH(p_object_id) <= 255
        AND RIGHT(p_operator_id, 1) <> ' ' AND CHAR_LENGTH(p_operator_id) <= 64
        AND CHAR_LENGTH(COALESCE(RTRIM(p_department_id), '')) <= 64
        AND p_seconds_left BETWEEN 1 AND 315360000
    ) IS NOT TRUE THEN
        SET p_object_type = RTRIM(COALESCE(p_object_type, ''));
        SET p_object_id = RTRIM(COALESCE(p_object_id, ''));
        SET p_operator_id = RTRIM(COALESCE(p_operator_id, ''));
        IF CHAR_LENGTH(p_object_type) NOT BETWEEN 1 AND 64 OR LOCATE(':', p_object_type) > 0 THEN
            CALL appl_lock_refuse_text('get_appl_lock', 'p_object_type', CHAR_LENGTH(p_object_type), 64);
        ELSEIF CHAR_LENGTH(p_object_id) NOT BETWEEN 1 AND 255 THEN
            CALL appl_lock_refuse_text('get_appl_lock', 'p_object_id', CHAR_LENGTH(p_object_id), 255);
        ELSEIF CHAR_LENGTH(p_operator_id) NOT BETWEEN 1 AND 64 THEN
            CALL appl_lock_refuse_text('get_appl_lock', 'p_operator_id', CHAR_LENGTH(p_operator_id), 64);
        ELSEIF CHAR_LENGTH(RTRIM(p_department_id)) > 64 THEN
            CALL appl_lock_refuse_text('get_appl_lock', 'p_department_id', CHAR_LENGTH(RTRIM(p_department_id)), 64);
        ELSEIF p_seconds_left NOT BETWEEN 1 AND 315360000 THEN
            CALL appl_lock_refuse_number('get_appl_lock', 'p_ttl_seconds', 315360000);
        END IF;
    END IF;

    BEGIN
        DECLARE v_insert_id BIGINT UNSIGNED DEFAULT LAST_INSERT_ID();
        DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
        DECLARE v_round INT DEFAULT 1;
        DECLARE v_history_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT 'N';
        DECLARE v_old_fence BIGINT;
        DECLARE v_began BOOLEAN DEFAULT FALSE;
        -- 1422: a function or trigger, which has a transaction.
        DECLARE CONTINUE HANDLER FOR 1422 BEGIN END;
        DECLARE EXIT HANDLER FOR SQLEXCEPTION
        BEGIN
            SET SESSION innodb_lock_wait_timeout = v_timeout;
            DO LAST_INSERT_ID(v_insert_id);
            IF v_began THEN
                CALL appl_lock_end(FALSE);
            END IF;
            RESIGNAL;
        END;

        SET SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
        -- What is laid down for the type? Most have nothing.
        SELECT
            LEAST(COALESCE(p_ttl_seconds, p.default_ttl_seconds, 604800), COALESCE(p.longest_ttl_seconds, 315360000)),
            COALESCE(p.longest_ttl_seconds, 315360000),
            IF(p.history_level = 'ALL', 'Y', 'N')
        INTO p_seconds_left, v_longest_ttl_seconds, v_history_fl
        FROM appl_lock_policy AS p
        WHERE p.object_type = p_object_type
        LOCK IN SHARE MODE;
        IF v_history_fl = 'Y' THEN
            CALL appl_lock_begin(v_began);
        END IF;

        REPEAT
            SET v_now = UTC_TIMESTAMP(6);
            SET p_expires_ts = v_now + INTERVAL p_seconds_left SECOND;

            -- S1: take, renew or refuse. The assignments are made in this order, each seeing the ones before.
            -- An empty operator is a released row: its end may lie behind v_now, which was read before the wait.
            -- The decision is the fence times 4, plus 1 for ACQUIRED, 2 for RENEWED until p_expires_ts, 3 for RENEWED
            -- with a ttl or a note that only the row knows, 0 for what is another's. It stays in the fence until the last assignment.
            INSERT INTO appl_lock (
                object_type,
                object_id,
                operator_id,
                department_id,
                fence,
                acquired_ts,
                lock_ts,
                expires_ts,
                history_fl
            )
            VALUES (
                p_object_type,
                p_object_id,
                p_operator_id,
                COALESCE(RTRIM(p_department_id), ''),
                LAST_INSERT_ID(TIMESTAMPDIFF(MICROSECOND, '1970-01-01', v_now) * 4 + 1) DIV 4,
                v_now,
                v_now,
                p_expires_ts,
                v_history_fl
            )
            ON DUPLICATE KEY UPDATE
                fence = LAST_INSERT_ID(CASE
                    WHEN operator_id NOT IN (p_operator_id, '') THEN fence * 4
                    WHEN expires_ts <= v_now OR operator_id = ''
                        THEN GREATEST(fence + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', v_now)) * 4 + 1
                    WHEN note <> '' OR p_ttl_seconds IS NULL AND LEAST(
                        GREATEST((TIMESTAMPDIFF(MICROSECOND, lock_ts, expires_ts) + 999999) DIV 1000000, 1), v_longest_ttl_seconds
                    ) <> p_seconds_left
                        THEN fence * 4 + 3
                    ELSE fence * 4 + 2
                END),
                -- Not before the release that S1 has waited for.
                acquired_ts = IF(fence MOD 4 = 1, GREATEST(v_now, expires_ts), acquired_ts),
                operator_id = IF(fence MOD 4 = 1, p_operator_id, operator_id),
                department_id = CASE fence MOD 4
                    WHEN 0 THEN department_id
                    WHEN 1 THEN COALESCE(RTRIM(p_department_id), '')
                    ELSE COALESCE(RTRIM(p_department_id), department_id)
                END,
                note = IF(fence MOD 4 = 1, '', note),
                history_fl = IF(fence MOD 4 = 0, history_fl, v_history_fl),
                -- lock_ts is never before v_now, but up to the length of a wait behind it: so the ttl is rounded up.
                expires_ts = CASE fence MOD 4
                    WHEN 0 THEN expires_ts
                    WHEN 3 THEN v_now + INTERVAL LEAST(COALESCE(
                        p_ttl_seconds, GREATEST((TIMESTAMPDIFF(MICROSECOND, lock_ts, expires_ts) + 999999) DIV 1000000, 1)
                    ), v_longest_ttl_seconds) SECOND
                    ELSE p_expires_ts
                END,
                -- Later than acquired_ts in every renewal, whatever the clock does, as in every dialect.
                lock_ts = CASE fence MOD 4
                    WHEN 0 THEN lock_ts
                    WHEN 1 THEN acquired_ts
                    ELSE GREATEST(v_now, acquired_ts + INTERVAL 1 MICROSECOND)
                END,
                fence = fence DIV 4;
            SET p_fence = LAST_INSERT_ID();
            IF p_fence MOD 4 IN (1, 2) THEN
                SET SESSION innodb_lock_wait_timeout = v_timeout;
                DO LAST_INSERT_ID(v_insert_id);
                SET p_lock_fl = 'Y';
                SET p_outcome = IF(p_fence MOD 4 = 1, 'ACQUIRED', 'RENEWED');
                SET p_old_operator_id = '';
                SET p_old_department_id = '';
                SET p_fence = p_fence DIV 4;
                SET p_note = '';
                IF v_history_fl = 'Y' THEN
                    CALL get_appl_lock_tell(p_outcome, p_object_type, p_object_id, p_operator_id);
                    IF v_began THEN
                        CALL appl_lock_end(TRUE);
                    END IF;
                END IF;
                LEAVE main;
            END IF;

            -- S2: held by somebody else?
            SELECT
                'N',
                'HELD',
                l.operator_id,
                l.department_id,
                0,
                l.expires_ts,
                (TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.expires_ts) + 999999) DIV 1000000,
                l.note,
                l.fence,
                l.history_fl
            INTO
                p_lock_fl, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_expires_ts, p_seconds_left, p_note,
                v_old_fence, v_old_history_fl
            FROM appl_lock AS l
            WHERE l.object_type = p_object_type
                AND l.object_id = p_object_id
                AND l.operator_id NOT IN (p_operator_id, '')
                AND l.expires_ts > UTC_TIMESTAMP(6)
            FOR UPDATE;
            IF p_outcome = 'HELD' AND v_old_history_fl = 'Y' THEN
                CALL appl_lock_record(
                    'REFUSED', p_object_type, p_object_id, p_operator_id,
                    p_old_operator_id, p_old_department_id, v_old_fence, p_old_operator_id, p_old_department_id, v_old_fence, ''
                );
            END IF;

            -- S3: until when has S1 renewed this grant, and what is noted on it?
            IF p_outcome IS NULL AND p_fence MOD 4 = 3 THEN
                SELECT
                    'Y',
                    'RENEWED',
                    '',
                    '',
                    l.fence,
                    l.expires_ts,
                    (TIMESTAMPDIFF(MICROSECOND, v_now, l.expires_ts) + 999999) DIV 1000000,
                    l.note
                INTO p_lock_fl, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_expires_ts, p_seconds_left, p_note
                FROM appl_lock AS l
                WHERE l.object_type = p_object_type
                    AND l.object_id = p_object_id
                    AND l.operator_id = p_operator_id
                    AND l.fence = p_fence DIV 4
                    AND l.expires_ts > UTC_TIMESTAMP(6)
                FOR UPDATE;
                IF p_outcome = 'RENEWED' AND v_history_fl = 'Y' THEN
                    CALL get_appl_lock_tell(p_outcome, p_object_type, p_object_id, p_operator_id);
                END IF;
            END IF;
            -- S4: or has its lock expired?
            IF p_outcome IS NULL AND p_fence MOD 4 = 0 THEN
                CALL get_appl_lock_overtake(
                    p_object_type, p_object_id, p_operator_id, COALESCE(RTRIM(p_department_id), ''), p_seconds_left,
                    v_history_fl, p_outcome, p_fence, p_expires_ts
                );
                SET p_lock_fl = 'Y';
                SET p_old_operator_id = '';
                SET p_old_department_id = '';
                SET p_note = '';
            END IF;
            IF p_outcome IS NOT NULL THEN
                IF v_began THEN
                    CALL appl_lock_end(TRUE);
                END IF;
                SET SESSION innodb_lock_wait_timeout = v_timeout;
                DO LAST_INSERT_ID(v_insert_id);
                LEAVE main;
            END IF;
            SET v_round = v_round + 1;
        UNTIL v_round > 30 END REPEAT;
        SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'get_appl_lock: the object changed hands during the call; call again';
    END;
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
    OUT p_lock_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
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
        p_object_type, p_object_id, p_operator_id, p_department_id, p_ttl_seconds,
        p_lock_fl, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_expires_ts, p_seconds_left, p_note
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
    IN p_ttl_seconds BIGINT
)
COMMENT 'Internal to applock: the operation get_appl_lock, answered by one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
main: BEGIN
    DECLARE v_lock_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT 'Y';
    DECLARE v_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_fence BIGINT;
    DECLARE v_lock_ts DATETIME(6);
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_seconds_left BIGINT;
    DECLARE v_note VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_history_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_ttl_seconds BIGINT;
    DECLARE v_now DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    -- S0: where no snapshot of the caller's can come of it, a plain read: what is there? It computes nothing, because what is
    -- computed in a statement costs in each call, needed or not. 1568: a transaction is open.
    IF @@SESSION.autocommit THEN
        BEGIN
            DECLARE EXIT HANDLER FOR 1568 BEGIN END;
            SET TRANSACTION READ WRITE;
            SELECT l.operator_id, l.department_id, l.fence, l.lock_ts, l.expires_ts, l.note, l.history_fl
            INTO v_old_operator_id, v_old_department_id, v_fence, v_lock_ts, v_expires_ts, v_note, v_history_fl
            FROM appl_lock AS l
            WHERE l.object_type = p_object_type
                AND l.object_id = p_object_id;
        END;
    END IF;
    -- What is the answer likely to be? Arguments that are none, or whose blanks go beyond a limit, are left to the core, as is an
    -- object without a row, whose NULLs compare to nothing.
    IF (
        p_operator_id <> '' AND CHAR_LENGTH(p_operator_id) <= 64
        AND (p_department_id IS NULL OR CHAR_LENGTH(p_department_id) <= 64)
        AND (p_ttl_seconds IS NULL OR p_ttl_seconds BETWEEN 1 AND 315360000)
    ) THEN
        IF v_old_operator_id IN (p_operator_id, '') THEN
            SET v_outcome = IF(
                v_old_operator_id = '' OR v_expires_ts <= v_now, 'ACQUIRED', IF(v_history_fl = 'N', 'RENEWED', NULL)
            );
            SET v_ttl_seconds = COALESCE(p_ttl_seconds, IF(
                v_outcome = 'RENEWED',
                GREATEST((TIMESTAMPDIFF(MICROSECOND, v_lock_ts, v_expires_ts) + 999999) DIV 1000000, 1),
                NULL
            ));
        ELSEIF v_expires_ts > v_now THEN
            IF v_history_fl = 'Y' THEN
                CALL appl_lock_record(
                    'REFUSED', p_object_type, p_object_id, RTRIM(p_operator_id),
                    v_old_operator_id, v_old_department_id, v_fence, v_old_operator_id, v_old_department_id, v_fence, ''
                );
            END IF;
            SET v_lock_fl = 'N';
            SET v_outcome = 'HELD';
            SET v_fence = 0;
            SELECT
                v_lock_fl AS p_lock_fl,
                v_outcome AS p_outcome,
                v_old_operator_id AS p_old_operator_id,
                v_old_department_id AS p_old_department_id,
                v_fence AS p_fence,
                v_expires_ts AS p_expires_ts,
                (TIMESTAMPDIFF(MICROSECOND, v_now, v_expires_ts) + 999999) DIV 1000000 AS p_seconds_left,
                v_note AS p_note;
            LEAVE main;
        END IF;
    END IF;
    IF v_outcome IS NOT NULL THEN
        SET v_seconds_left = COALESCE(v_ttl_seconds, 604800);
        -- What is laid down for the type? Most have nothing. What the history is told is one transaction, of the core's.
        SELECT
            IF(p.history_level = 'ALL', NULL, v_outcome),
            LEAST(COALESCE(v_ttl_seconds, p.default_ttl_seconds, 604800), COALESCE(p.longest_ttl_seconds, 315360000))
        INTO v_outcome, v_seconds_left
        FROM appl_lock_policy AS p
        WHERE p.object_type = p_object_type;
    END IF;
    IF v_outcome IS NOT NULL THEN
        BEGIN
            DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
            DECLARE EXIT HANDLER FOR SQLEXCEPTION
            BEGIN
                SET SESSION innodb_lock_wait_timeout = v_timeout;
                RESIGNAL;
            END;

            SET SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
            IF v_outcome = 'ACQUIRED' THEN
                SET v_fence = GREATEST(v_fence + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', v_now));
                -- S0b: take what is still free.
                UPDATE appl_lock AS l
                SET l.operator_id = RTRIM(p_operator_id),
                    l.department_id = COALESCE(RTRIM(p_department_id), ''),
                    l.fence = v_fence,
                    l.acquired_ts = GREATEST(v_now, l.expires_ts),
                    l.lock_ts = l.acquired_ts,
                    l.expires_ts = v_now + INTERVAL v_seconds_left SECOND,
                    l.note = '',
                    l.history_fl = 'N'
                WHERE l.object_type = p_object_type
                    AND l.object_id = p_object_id
                    AND (l.operator_id = '' OR (l.operator_id = p_operator_id AND l.expires_ts <= v_now))
                    AND l.fence < v_fence;
            ELSE
                -- S0c: renew what is still the same.
                UPDATE appl_lock AS l
                SET l.department_id = COALESCE(RTRIM(p_department_id), l.department_id),
                    l.lock_ts = GREATEST(v_now, l.acquired_ts + INTERVAL 1 MICROSECOND),
                    l.expires_ts = v_now + INTERVAL v_seconds_left SECOND
                WHERE l.object_type = p_object_type
                    AND l.object_id = p_object_id
                    AND l.fence = v_fence
                    AND l.expires_ts = v_expires_ts
                    AND l.note = v_note
                    AND l.history_fl = 'N';
            END IF;
            IF ROW_COUNT() = 0 THEN
                SET v_outcome = NULL;
            END IF;
            SET SESSION innodb_lock_wait_timeout = v_timeout;
        END;
        IF v_outcome IS NOT NULL THEN
            SELECT
                v_lock_fl AS p_lock_fl,
                v_outcome AS p_outcome,
                '' AS p_old_operator_id,
                '' AS p_old_department_id,
                v_fence AS p_fence,
                v_now + INTERVAL v_seconds_left SECOND AS p_expires_ts,
                v_seconds_left AS p_seconds_left,
                IF(v_outcome = 'RENEWED', v_note, '') AS p_note;
            LEAVE main;
        END IF;
    END IF;
    CALL get_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_ttl_seconds,
        v_lock_fl, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_expires_ts, v_seconds_left, v_note
    );
    SELECT
        v_lock_fl AS p_lock_fl,
        v_outcome AS p_outcome,
        v_old_operator_id AS p_old_operator_id,
        v_old_department_id AS p_old_department_id,
        v_fence AS p_fence,
        v_expires_ts AS p_expires_ts,
        v_seconds_left AS p_seconds_left,
        v_note AS p_note;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS get_appl_lock_row;
-- +goose StatementBegin
CREATE PROCEDURE get_appl_lock_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT
)
COMMENT 'Take or renew the lock on an object for one operator until it expires; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'get_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL get_appl_lock_row_core(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_ttl_seconds
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS get_appl_lock_rows_core;
-- +goose StatementBegin
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
    -- What is left out is NULL, and so is what is no text or no whole number: such a list has been refused before.
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
        -- What MySQL says of JSON that is too deep, also when it is asked whether it is valid.
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
        -- Types only: JSON_TABLE converts. The rest is checked get by get.
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
        CALL get_appl_lock_row(v_object_type, v_object_id, v_operator_id, v_department_id, v_ttl_seconds);
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
COMMENT 'Take or renew many locks, one after the other; each is answered by a result set of one row.'
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

DROP PROCEDURE IF EXISTS get_appl_lock_permit_core;
-- +goose StatementBegin
-- get_appl_lock_permit: take or renew one of the permits of an object, of which there are so many, for one operator until it
-- expires.
--
-- Contract   The permits are slots: the objects p_object_id#1 to p_object_id#N of the type, N being p_permits. A slot is an
--            object like any other: release, inquire, transfer, assert and the rest take its id.
--            ACQUIRED: a slot was free or had expired; a new grant, a greater fence. RENEWED: this operator holds a
--            slot; same grant and fence. One row tells the slot.
--            FULL: each slot was held by somebody else when the call looked at it. One row for each, the
--            soonest to expire first; one that has become free since comes first, without a holder: call again.
--            A slot above N is neither granted nor renewed nor counted: who calls with a smaller N than others did leaves
--            those slots to end by themselves, and who has one of them may have another one within N.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1 or more, with "#N" 255 at the most; p_permits 1..1000;
--            p_operator_id 1..64; p_department_id 0..64; p_ttl_seconds 1..315360000. NULL of the last two = as the
--            grant has it in a renewal; in a new grant an empty department and the policy's ttl, else 604800 (7 days). Trailing
--            blanks are trimmed first. LONGTEXT, so that length is checked here.
-- Out        outcome, slot_id, operator_id, department_id, fence, expires_ts, seconds_left (whole seconds from now to
--            expires_ts, rounded up). Of a slot that has become free the last four are empty, 0, NULL and 0.
-- Raises     LK001 invalid argument. LK003, 1205 and 1213 as get_appl_lock.
-- Locks      S1 and S3 are plain reads, so FULL locks nothing and waits for nothing. S2 is get_appl_lock for one slot, with its locks.
-- Race-free  Never more than N: S1 grants nothing. Each grant is one of get_appl_lock on one of N rows.
--            Two for the last slot: get_appl_lock lets one have it. The other looks again, for slots that it has not
--            tried; so it ends after N rounds at the most, whatever the others do.
--            Release of a slot during a round: S1 is a new snapshot each time. A slot that was tried is not tried again: it
--            was held when it was tried.
--            The same operator twice at once: both begin with the same slot, for which the second waits and renews it.
--            Only where that slot changes hands between the two S1 may each get one of its own; the next calls renew
--            the one of them, and the other ends with its ttl or by a release.
-- Differs    In a transaction a slot that S2 finds held stays locked until that ends, as in get_appl_lock; and at REPEATABLE READ
--            S1 and S3 see the transaction's snapshot, which S1 fixes if nothing has before: then the caller's reads are
--            older than its grant, and a slot that is held by now may be tried, or told, as free. Call it outside of
--            transactions, or at READ COMMITTED.

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
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_id, ''));
    DECLARE v_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_operator_id, ''));
    DECLARE v_slots JSON;
    DECLARE v_first BIGINT;
    DECLARE v_tried LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT ',';
    DECLARE v_now DATETIME(6);
    DECLARE v_slot BIGINT;
    DECLARE v_own_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_lock_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_fence BIGINT;
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_seconds_left BIGINT;
    DECLARE v_note VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_slot = NULL;

    IF CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('get_appl_lock_permit', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF (p_permits BETWEEN 1 AND 1000) IS NOT TRUE THEN
        CALL appl_lock_refuse_number('get_appl_lock_permit', 'p_permits', 1000);
    ELSEIF CHAR_LENGTH(v_object_id) NOT BETWEEN 1 AND 254 - CHAR_LENGTH(p_permits) THEN
        CALL appl_lock_refuse_text(
            'get_appl_lock_permit', 'p_object_id', CHAR_LENGTH(v_object_id), 254 - CHAR_LENGTH(p_permits)
        );
    ELSEIF CHAR_LENGTH(v_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('get_appl_lock_permit', 'p_operator_id', CHAR_LENGTH(v_operator_id), 64);
    ELSEIF CHAR_LENGTH(RTRIM(p_department_id)) > 64 THEN
        CALL appl_lock_refuse_text('get_appl_lock_permit', 'p_department_id', CHAR_LENGTH(RTRIM(p_department_id)), 64);
    ELSEIF p_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('get_appl_lock_permit', 'p_ttl_seconds', 315360000);
    END IF;

    -- A list of N, which JSON_TABLE numbers.
    SET v_slots = CONCAT('[0', REPEAT(',0', p_permits - 1), ']');
    SET v_first = CRC32(v_operator_id) MOD p_permits;
    slots: LOOP
        -- S1: the slot that the operator has, or else the next one that is free.
        SET v_now = UTC_TIMESTAMP(6);
        SELECT s.slot, l.department_id
        INTO v_slot, v_own_department_id
        FROM JSON_TABLE(v_slots, '$[*]' COLUMNS (slot FOR ORDINALITY)) AS s
        LEFT JOIN appl_lock AS l FORCE INDEX (PRIMARY)
            ON l.object_type = v_object_type
            AND l.object_id = CONCAT(v_object_id, '#', s.slot)
            AND l.operator_id <> ''
            AND l.expires_ts > v_now
        WHERE (l.operator_id IS NULL OR l.operator_id = v_operator_id)
            AND LOCATE(CONCAT(',', s.slot, ','), v_tried) = 0
        ORDER BY l.operator_id IS NULL, MOD(s.slot - v_first + p_permits, p_permits)
        LIMIT 1;
        IF v_slot IS NULL THEN
            LEAVE slots;
        END IF;

        -- S2: get it.
        CALL get_appl_lock_core(
            v_object_type, CONCAT(v_object_id, '#', v_slot), v_operator_id, p_department_id, p_ttl_seconds,
            v_lock_fl, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_expires_ts, v_seconds_left, v_note
        );
        IF v_lock_fl = 'Y' THEN
            SELECT
                v_outcome AS outcome,
                CAST(CONCAT(v_object_id, '#', v_slot) AS CHAR(255)) AS slot_id,
                CAST(v_operator_id AS CHAR(64)) AS operator_id,
                CAST(
                    COALESCE(RTRIM(p_department_id), IF(v_outcome = 'RENEWED', v_own_department_id, NULL), '') AS CHAR(64)
                ) AS department_id,
                v_fence AS fence,
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
        CAST(CONCAT(v_object_id, '#', s.slot) AS CHAR(255)) AS slot_id,
        COALESCE(l.operator_id, '') AS operator_id,
        COALESCE(l.department_id, '') AS department_id,
        COALESCE(l.fence, 0) AS fence,
        l.expires_ts,
        COALESCE((TIMESTAMPDIFF(MICROSECOND, v_now, l.expires_ts) + 999999) DIV 1000000, 0) AS seconds_left,
        COALESCE(l.note, '') AS note
    FROM JSON_TABLE(v_slots, '$[*]' COLUMNS (slot FOR ORDINALITY)) AS s
    LEFT JOIN appl_lock AS l FORCE INDEX (PRIMARY)
        ON l.object_type = v_object_type
        AND l.object_id = CONCAT(v_object_id, '#', s.slot)
        AND l.operator_id <> ''
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
COMMENT 'Take or renew one of the permits of an object, of which there are so many, for one operator until it expires.'
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
--            this one's lock; 0 for events); reason.
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine.
-- Locks      Nothing; never waits and never writes. It reads the operator's own events from p_after_event_id on,
--            each waiter, and each row of appl_lock: it has no index by operator, which each get would pay for.
-- Race-free  The answer is one snapshot. An event is numbered before its transaction commits: one that commits after a later
--            one was read is behind those who go on from there. Its lock's next renewal tells all the same.
-- Differs    As list_appl_locks. In a Galera cluster each node numbers for itself: an event of another node may have a
--            lesser number than an earlier one.

CREATE PROCEDURE inbox_appl_locks_core(
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_event_id BIGINT,
    IN p_max_rows BIGINT
)
COMMENT 'Internal to applock: the operation inbox_appl_locks.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_operator_id, ''));
    DECLARE v_max_rows BIGINT DEFAULT COALESCE(p_max_rows, 1000);
    DECLARE v_now DATETIME(6) DEFAULT UTC_TIMESTAMP(6);

    IF CHAR_LENGTH(v_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('inbox_appl_locks', 'p_operator_id', CHAR_LENGTH(v_operator_id), 64);
    ELSEIF p_after_event_id < 1 THEN
        CALL appl_lock_refuse_number('inbox_appl_locks', 'p_after_event_id', 9223372036854775807);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('inbox_appl_locks', 'p_max_rows', 10000);
    END IF;

    SELECT
        m.kind,
        m.event_id,
        m.object_type,
        m.object_id,
        m.other_operator_id,
        m.other_department_id,
        m.event_ts,
        m.seconds_left,
        m.reason
    FROM (
        -- By these indexes, whatever the statistics say: else each call could read the whole history.
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
            WHERE e.from_operator_id = v_operator_id
                AND e.event_id > COALESCE(p_after_event_id, 0)
                AND e.event IN ('TAKEN', 'TRANSFERRED', 'RELEASED')
                AND e.actor_id <> v_operator_id
                AND e.to_operator_id <> v_operator_id
            ORDER BY e.event_id
            LIMIT v_max_rows
        )
        UNION ALL
        (
            SELECT
                1,
                'HANDED',
                e.event_id,
                e.object_type,
                e.object_id,
                e.from_operator_id,
                e.from_department_id,
                e.event_ts,
                0,
                e.reason
            FROM appl_lock_event AS e FORCE INDEX (appl_lock_event_to_ix)
            WHERE e.to_operator_id = v_operator_id
                AND e.event_id > COALESCE(p_after_event_id, 0)
                AND e.event = 'TRANSFERRED'
                AND e.actor_id <> v_operator_id
            ORDER BY e.event_id
            LIMIT v_max_rows
        )
        UNION ALL
        SELECT
            2,
            'AWAITED',
            0,
            w.object_type,
            w.object_id,
            w.operator_id,
            w.department_id,
            w.since_ts,
            (TIMESTAMPDIFF(MICROSECOND, v_now, l.expires_ts) + 999999) DIV 1000000,
            ''
        FROM appl_lock_waiter AS w
        STRAIGHT_JOIN appl_lock AS l FORCE INDEX (PRIMARY)
            ON l.object_type = w.object_type
            AND l.object_id = w.object_id
        WHERE l.operator_id = v_operator_id
            AND l.expires_ts > v_now
            AND w.operator_id <> v_operator_id
            AND w.expires_ts > v_now
        UNION ALL
        SELECT
            3,
            'EXPIRING',
            0,
            l.object_type,
            l.object_id,
            '',
            '',
            l.expires_ts,
            (TIMESTAMPDIFF(MICROSECOND, v_now, l.expires_ts) + 999999) DIV 1000000,
            ''
        FROM appl_lock AS l
        WHERE l.operator_id = v_operator_id
            AND l.expires_ts > v_now
            AND l.expires_ts <= v_now + INTERVAL 1 HOUR
    ) AS m
    ORDER BY m.part, m.event_id, m.event_ts, m.object_type, m.object_id, m.other_operator_id
    LIMIT v_max_rows;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS inbox_appl_locks;
-- +goose StatementBegin
CREATE PROCEDURE inbox_appl_locks(
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_event_id BIGINT,
    IN p_max_rows BIGINT
)
COMMENT 'What concerns an operator: what others did with its locks, who waits for them, and which of them end within the hour.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'inbox_appl_locks: is being replaced; call again, or install it again if that lasts';
    CALL inbox_appl_locks_core(p_operator_id, p_after_event_id, p_max_rows);
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS inquire_appl_lock_core;
-- +goose StatementBegin
-- inquire_appl_lock: who holds an object, since when and until when.
--
-- Contract   Y and the lock, when somebody holds the object.
--            N and blanks (empty strings, numbers 0, NULL timestamps), when it is free or expired.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255. Trailing blanks are trimmed.
-- Out        p_return_cd, p_operator_id, p_department_id, p_fence, p_acquired_ts, p_lock_ts, p_expires_ts,
--            p_seconds_left (whole seconds from now to p_expires_ts, rounded up; 0 when N), p_note (empty when N).
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine.
-- Locks      Nothing; never waits and never writes.
-- Race-free  One read of one committed row version: what it says was true at one moment.
--            REPEATABLE READ: that moment is the transaction's snapshot.
-- Differs    At REPEATABLE READ it fixes the snapshot of the caller's transaction, as every plain read does:
--            a get, assert or serialize that is to see the newest data comes first. In a transaction at
--            SERIALIZABLE InnoDB turns the read into a locking one, which waits.

CREATE PROCEDURE inquire_appl_lock_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
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
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_id, ''));
    DECLARE CONTINUE HANDLER FOR NOT FOUND
    BEGIN
        SET p_return_cd = 'N';
        SET p_operator_id = '';
        SET p_department_id = '';
        SET p_fence = 0;
        SET p_seconds_left = 0;
        SET p_note = '';
    END;

    IF CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('inquire_appl_lock', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF CHAR_LENGTH(v_object_id) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('inquire_appl_lock', 'p_object_id', CHAR_LENGTH(v_object_id), 255);
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
    INTO p_return_cd, p_operator_id, p_department_id, p_fence, p_acquired_ts, p_lock_ts, p_expires_ts, p_seconds_left, p_note
    FROM appl_lock AS l
    WHERE l.object_type = v_object_type
        AND l.object_id = v_object_id
        AND l.operator_id <> ''
        AND l.expires_ts > UTC_TIMESTAMP(6);
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS inquire_appl_lock;
-- +goose StatementBegin
CREATE PROCEDURE inquire_appl_lock(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_acquired_ts DATETIME(6),
    OUT p_lock_ts DATETIME(6),
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT,
    OUT p_note VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Who holds an object, since when and until when.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'inquire_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL inquire_appl_lock_core(
        p_object_type, p_object_id,
        p_return_cd, p_operator_id, p_department_id, p_fence, p_acquired_ts, p_lock_ts, p_expires_ts, p_seconds_left, p_note
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS inquire_appl_lock_row;
-- +goose StatementBegin
CREATE PROCEDURE inquire_appl_lock_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Who holds an object, since when and until when; the answer is one row.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
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
        v_return_cd, v_operator_id, v_department_id, v_fence, v_acquired_ts, v_lock_ts, v_expires_ts, v_seconds_left, v_note
    );
    SELECT
        v_return_cd AS p_return_cd,
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

DROP PROCEDURE IF EXISTS list_appl_lock_events_core;
-- +goose StatementBegin
-- list_appl_lock_events: one page of the history, oldest first, all or that of a type, an object or an operator.
--
-- Contract   At most p_max_rows events whose event_id is greater than p_after_event_id. The next page starts after the
--            last row of this one; a page shorter than p_max_rows is the last. An operator's events are those in which it
--            is actor, former or new holder.
-- In         p_object_type 1..64, p_object_id 1..255, p_operator_id 1..64: NULL = any. p_since_seconds 1..315360000, back
--            from now, NULL = any. p_after_event_id 1 or greater, NULL = from the start. p_max_rows 1..10000, NULL = 1000.
--            Trailing blanks are trimmed first.
-- Out        The columns of appl_lock_event, ordered by event_id.
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine.
-- Locks      Nothing; never waits and never writes.
-- Race-free  A page is one snapshot. An event is numbered before its transaction commits: one that commits after a later
--            one was listed is behind those who go on from there.
-- Differs    As list_appl_locks. In a Galera cluster each node numbers for itself: an event of another node may have a
--            lesser number than an earlier one.

CREATE PROCEDURE list_appl_lock_events_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_since_seconds BIGINT,
    IN p_after_event_id BIGINT,
    IN p_max_rows BIGINT
)
COMMENT 'Internal to applock: the operation list_appl_lock_events.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_id, ''));
    DECLARE v_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_operator_id, ''));
    DECLARE v_max_rows BIGINT DEFAULT COALESCE(p_max_rows, 1000);

    IF p_object_type IS NOT NULL AND CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64
        OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('list_appl_lock_events', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF p_object_id IS NOT NULL AND CHAR_LENGTH(v_object_id) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('list_appl_lock_events', 'p_object_id', CHAR_LENGTH(v_object_id), 255);
    ELSEIF p_operator_id IS NOT NULL AND CHAR_LENGTH(v_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('list_appl_lock_events', 'p_operator_id', CHAR_LENGTH(v_operator_id), 64);
    ELSEIF p_since_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('list_appl_lock_events', 'p_since_seconds', 315360000);
    ELSEIF p_after_event_id < 1 THEN
        CALL appl_lock_refuse_number('list_appl_lock_events', 'p_after_event_id', 9223372036854775807);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('list_appl_lock_events', 'p_max_rows', 10000);
    END IF;

    IF p_object_type IS NOT NULL AND p_object_id IS NOT NULL THEN
        -- A text of its own: only a plain comparison is a range of the object's index.
        SELECT
            e.event_id, e.event_ts, e.object_type, e.object_id, e.event, e.actor_id, e.db_user, e.program,
            e.from_operator_id, e.from_department_id, e.to_operator_id, e.to_department_id, e.from_fence, e.to_fence, e.reason
        FROM appl_lock_event AS e
        WHERE e.object_type = v_object_type
            AND e.object_id = v_object_id
            AND e.event_id > COALESCE(p_after_event_id, 0)
            AND (p_operator_id IS NULL OR v_operator_id IN (e.actor_id, e.from_operator_id, e.to_operator_id))
            AND (p_since_seconds IS NULL OR e.event_ts >= UTC_TIMESTAMP(6) - INTERVAL p_since_seconds SECOND)
        ORDER BY e.event_id
        LIMIT v_max_rows;
    ELSE
        SELECT
            e.event_id, e.event_ts, e.object_type, e.object_id, e.event, e.actor_id, e.db_user, e.program,
            e.from_operator_id, e.from_department_id, e.to_operator_id, e.to_department_id, e.from_fence, e.to_fence, e.reason
        FROM appl_lock_event AS e
        WHERE e.event_id > COALESCE(p_after_event_id, 0)
            AND (p_object_type IS NULL OR e.object_type = v_object_type)
            AND (p_object_id IS NULL OR e.object_id = v_object_id)
            AND (p_operator_id IS NULL OR v_operator_id IN (e.actor_id, e.from_operator_id, e.to_operator_id))
            AND (p_since_seconds IS NULL OR e.event_ts >= UTC_TIMESTAMP(6) - INTERVAL p_since_seconds SECOND)
        ORDER BY e.event_id
        LIMIT v_max_rows;
    END IF;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS list_appl_lock_events;
-- +goose StatementBegin
CREATE PROCEDURE list_appl_lock_events(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_since_seconds BIGINT,
    IN p_after_event_id BIGINT,
    IN p_max_rows BIGINT
)
COMMENT 'One page of the history, oldest first, all or that of a type, an object or an operator.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'list_appl_lock_events: is being replaced; call again, or install it again if that lasts';
    CALL list_appl_lock_events_core(
        p_object_type, p_object_id, p_operator_id, p_since_seconds, p_after_event_id, p_max_rows
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS list_appl_lock_policies_core;
-- +goose StatementBegin
-- list_appl_lock_policies: the policies of all types, or that of one.
--
-- Contract   One row for each type that has a policy. There are a few: it has no pages.
-- In         p_object_type 1..64, NULL = any. Trailing blanks are trimmed first.
-- Out        The columns of appl_lock_policy, 0 for a NULL, ordered by object_type as bytes.
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine.
-- Locks      Nothing; never waits and never writes.
-- Race-free  The answer is one snapshot.
-- Differs    As list_appl_locks.

CREATE PROCEDURE list_appl_lock_policies_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation list_appl_lock_policies.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));

    IF p_object_type IS NOT NULL AND CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64
        OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('list_appl_lock_policies', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    END IF;

    SELECT
        p.object_type,
        COALESCE(p.default_ttl_seconds, 0) AS default_ttl_seconds,
        COALESCE(p.longest_ttl_seconds, 0) AS longest_ttl_seconds,
        p.take_reason_fl,
        p.history_level
    FROM appl_lock_policy AS p
    WHERE p_object_type IS NULL OR p.object_type = v_object_type
    ORDER BY p.object_type;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS list_appl_lock_policies;
-- +goose StatementBegin
CREATE PROCEDURE list_appl_lock_policies(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'The policies of all types, or that of one.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'list_appl_lock_policies: is being replaced; call again, or install it again if that lasts';
    CALL list_appl_lock_policies_core(
        p_object_type
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS list_appl_lock_waiters_core;
-- +goose StatementBegin
-- list_appl_lock_waiters: one page of those who wait, in key order, all or those for a type or an object, or of
-- an operator or department.
--
-- Contract   At most p_max_rows waiters whose key is greater than (p_after_type, p_after_id,
--            p_after_operator_id, p_after_client_id). The next page starts after the last row of this
--            one; a page shorter than p_max_rows is the last.
-- In         p_object_type 1..64, p_object_id 1..255, p_operator_id 1..64, p_department_id 0..64: NULL = any.
--            p_after_type 0..64, p_after_id 0..255, p_after_operator_id 0..64, p_after_client_id 0..64: NULL =
--            from the start. p_max_rows 1..10000, NULL = 1000. Trailing blanks are trimmed first.
-- Out        The columns of appl_lock_waiter and seconds_left (whole seconds from now to expires_ts, rounded up),
--            ordered by object_type, object_id, operator_id, client_id as bytes.
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine.
-- Locks      Nothing; never waits and never writes.
-- Race-free  A page is one snapshot. One who waits through the whole listing is in it exactly once, because
--            the key does not change; one who comes or goes meanwhile may be in it or not.
-- Differs    As list_appl_locks.

CREATE PROCEDURE list_appl_lock_waiters_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max_rows BIGINT
)
COMMENT 'Internal to applock: the operation list_appl_lock_waiters.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_id, ''));
    DECLARE v_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_operator_id, ''));
    DECLARE v_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_department_id, ''));
    DECLARE v_after_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_after_type, ''));
    DECLARE v_after_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_after_id, ''));
    DECLARE v_after_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_after_operator_id, ''));
    DECLARE v_after_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_after_client_id, ''));
    DECLARE v_max_rows BIGINT DEFAULT COALESCE(p_max_rows, 1000);

    IF p_object_type IS NOT NULL AND CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64
        OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('list_appl_lock_waiters', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF p_object_id IS NOT NULL AND CHAR_LENGTH(v_object_id) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('list_appl_lock_waiters', 'p_object_id', CHAR_LENGTH(v_object_id), 255);
    ELSEIF p_operator_id IS NOT NULL AND CHAR_LENGTH(v_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('list_appl_lock_waiters', 'p_operator_id', CHAR_LENGTH(v_operator_id), 64);
    ELSEIF CHAR_LENGTH(v_department_id) > 64 THEN
        CALL appl_lock_refuse_text('list_appl_lock_waiters', 'p_department_id', CHAR_LENGTH(v_department_id), 64);
    ELSEIF CHAR_LENGTH(v_after_type) > 64 THEN
        CALL appl_lock_refuse_text('list_appl_lock_waiters', 'p_after_type', CHAR_LENGTH(v_after_type), 64);
    ELSEIF CHAR_LENGTH(v_after_id) > 255 THEN
        CALL appl_lock_refuse_text('list_appl_lock_waiters', 'p_after_id', CHAR_LENGTH(v_after_id), 255);
    ELSEIF CHAR_LENGTH(v_after_operator_id) > 64 THEN
        CALL appl_lock_refuse_text('list_appl_lock_waiters', 'p_after_operator_id', CHAR_LENGTH(v_after_operator_id), 64);
    ELSEIF CHAR_LENGTH(v_after_client_id) > 64 THEN
        CALL appl_lock_refuse_text('list_appl_lock_waiters', 'p_after_client_id', CHAR_LENGTH(v_after_client_id), 64);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('list_appl_lock_waiters', 'p_max_rows', 10000);
    END IF;

    -- Id and operator are compared as ranges: when they are constant in a call, MariaDB (10.11) leaves them out of
    -- the ORDER BY of the session's next calls, too.
    SELECT
        w.object_type,
        w.object_id,
        w.operator_id,
        w.department_id,
        w.client_id,
        w.since_ts,
        w.until_ts,
        w.expires_ts,
        (TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), w.expires_ts) + 999999) DIV 1000000 AS seconds_left
    FROM appl_lock_waiter AS w
    WHERE (w.object_type > v_after_type OR (w.object_type = v_after_type
            AND (w.object_id > v_after_id OR (w.object_id = v_after_id
            AND (w.operator_id > v_after_operator_id OR (w.operator_id = v_after_operator_id
            AND w.client_id > v_after_client_id))))))
        AND (p_object_type IS NULL OR w.object_type = v_object_type)
        AND (p_object_id IS NULL OR (w.object_id >= v_object_id AND w.object_id <= v_object_id))
        AND (p_operator_id IS NULL OR (w.operator_id >= v_operator_id AND w.operator_id <= v_operator_id))
        AND (p_department_id IS NULL OR w.department_id = v_department_id)
        AND w.expires_ts > UTC_TIMESTAMP(6)
    ORDER BY w.object_type, w.object_id, w.operator_id, w.client_id
    LIMIT v_max_rows;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS list_appl_lock_waiters;
-- +goose StatementBegin
CREATE PROCEDURE list_appl_lock_waiters(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max_rows BIGINT
)
COMMENT 'One page of those who wait, in key order, all or those for a type or an object, or of an operator or department.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'list_appl_lock_waiters: is being replaced; call again, or install it again if that lasts';
    CALL list_appl_lock_waiters_core(
        p_object_type, p_object_id, p_operator_id, p_department_id,
        p_after_type, p_after_id, p_after_operator_id, p_after_client_id, p_max_rows
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS list_appl_locks_core;
-- +goose StatementBegin
-- list_appl_locks: one page of the live locks in key order, all or those of a type, operator or department.
--
-- Contract   At most p_max_rows live locks whose key is greater than (p_after_type, p_after_id). The next
--            page starts after the last row of this one; a page shorter than p_max_rows is the last.
-- In         p_object_type 1..64, p_operator_id 1..64, p_department_id 0..64: NULL = any. p_after_type
--            0..64, p_after_id 0..255: NULL = from the start. p_max_rows 1..10000, NULL = 1000.
--            Trailing blanks are trimmed first.
-- Out        The columns of appl_lock and seconds_left (whole seconds from now to expires_ts, rounded up), ordered by
--            object_type, object_id as bytes.
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine.
-- Locks      Nothing; never waits and never writes.
-- Race-free  A page is one snapshot. A lock that lives through the whole listing is in it exactly once,
--            because its key does not change; one that comes or goes meanwhile may be in it or not.
-- Differs    A procedure with a result set. utf8mb4_bin sorts the control characters below blank as if a
--            value that ends before them went on with blanks. Snapshot and SERIALIZABLE as in
--            inquire_appl_lock.

CREATE PROCEDURE list_appl_locks_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max_rows BIGINT
)
COMMENT 'Internal to applock: the operation list_appl_locks.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_operator_id, ''));
    DECLARE v_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_department_id, ''));
    DECLARE v_after_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_after_type, ''));
    DECLARE v_after_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_after_id, ''));
    DECLARE v_max_rows BIGINT DEFAULT COALESCE(p_max_rows, 1000);

    IF p_object_type IS NOT NULL AND CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64
        OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('list_appl_locks', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF p_operator_id IS NOT NULL AND CHAR_LENGTH(v_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('list_appl_locks', 'p_operator_id', CHAR_LENGTH(v_operator_id), 64);
    ELSEIF CHAR_LENGTH(v_department_id) > 64 THEN
        CALL appl_lock_refuse_text('list_appl_locks', 'p_department_id', CHAR_LENGTH(v_department_id), 64);
    ELSEIF CHAR_LENGTH(v_after_type) > 64 THEN
        CALL appl_lock_refuse_text('list_appl_locks', 'p_after_type', CHAR_LENGTH(v_after_type), 64);
    ELSEIF CHAR_LENGTH(v_after_id) > 255 THEN
        CALL appl_lock_refuse_text('list_appl_locks', 'p_after_id', CHAR_LENGTH(v_after_id), 255);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('list_appl_locks', 'p_max_rows', 10000);
    END IF;

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
        l.note
    FROM appl_lock AS l
    WHERE (l.object_type > v_after_type OR (l.object_type = v_after_type AND l.object_id > v_after_id))
        AND (p_object_type IS NULL OR l.object_type = v_object_type)
        AND (p_operator_id IS NULL OR l.operator_id = v_operator_id)
        AND (p_department_id IS NULL OR l.department_id = v_department_id)
        AND l.operator_id <> ''
        AND l.expires_ts > UTC_TIMESTAMP(6)
    ORDER BY l.object_type, l.object_id
    LIMIT v_max_rows;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS list_appl_locks;
-- +goose StatementBegin
CREATE PROCEDURE list_appl_locks(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_after_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max_rows BIGINT
)
COMMENT 'One page of the live locks in key order, all or those of a type, operator or department.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'list_appl_locks: is being replaced; call again, or install it again if that lasts';
    CALL list_appl_locks_core(
        p_object_type, p_operator_id, p_department_id, p_after_type, p_after_id, p_max_rows
    );
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS note_appl_lock_core;
-- +goose StatementBegin
-- note_appl_lock: say why an operator holds an object, for whoever asks.
--
-- Contract   Y NOTED: the operator holds it (this very grant, if p_fence is given), and this is its note now. It lasts
--            as long as the grant, through renewals; the next grant begins without one.
--            N FREE: nobody holds it; nothing changed.
--            N HELD: another operator, or another grant than p_fence, holds it; p_old_* tell who. Nothing changed.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64;
--            p_fence 1 or greater, NULL = whichever grant; p_note 0..255, NULL = empty. Trailing blanks are trimmed first.
-- Out        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD).
-- Raises     LK001 invalid argument. LK003 when the object changed hands thirty times during the call, or
--            an upgrade is replacing the routine. 1205 after 1 s of waiting for another
--            transaction, 1213 deadlock.
-- Locks      S1 locks the object's one row and decides, S2 the same row; held to the end of the caller's
--            transaction. At REPEATABLE READ an object without a row leaves its gap locked so long.
-- Race-free  Note against release, take-over or transfer: S1 names operator, fence and expiry and is judged on the newest
--            row once it is locked; a note never lands on a later grant of another operator, nor, with p_fence, on one of
--            this operator. A released row has no operator. Whether S1 has noted comes out of it through
--            LAST_INSERT_ID(expr): ROW_COUNT would not tell the same note noted again from no row.
--            Note against renewal: the later one of the two changes the row that the other has left; neither is lost.
--            A get that has not committed yet: waits for it, because its outcome decides.
--            REPEATABLE READ: only locking reads, so that a later get is not given a stale view.
-- Differs    A refusal locks the row until the caller's transaction ends, and waits for a transaction that
--            is changing the row: a plain read would fix the caller's snapshot too early. No 40001: InnoDB
--            judges the newest row. What a session's settings can do: procedures/README.md.

CREATE PROCEDURE note_appl_lock_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT,
    IN p_note LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation note_appl_lock.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
main: BEGIN
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_id, ''));
    DECLARE v_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_operator_id, ''));
    DECLARE v_note LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_note, ''));
    DECLARE v_insert_id BIGINT UNSIGNED DEFAULT LAST_INSERT_ID();
    DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    DECLARE v_round INT DEFAULT 1;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET p_outcome = 'FREE';
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout;
        DO LAST_INSERT_ID(v_insert_id);
        RESIGNAL;
    END;

    IF CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('note_appl_lock', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF CHAR_LENGTH(v_object_id) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('note_appl_lock', 'p_object_id', CHAR_LENGTH(v_object_id), 255);
    ELSEIF CHAR_LENGTH(v_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('note_appl_lock', 'p_operator_id', CHAR_LENGTH(v_operator_id), 64);
    ELSEIF p_fence < 1 THEN
        CALL appl_lock_refuse_number('note_appl_lock', 'p_fence', 9223372036854775807);
    ELSEIF CHAR_LENGTH(v_note) > 255 THEN
        CALL appl_lock_refuse_text('note_appl_lock', 'p_note', CHAR_LENGTH(v_note), 255);
    END IF;

    SET SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    REPEAT
        -- S1: note it on this grant.
        DO LAST_INSERT_ID(0);
        UPDATE appl_lock AS l
        SET l.fence = LAST_INSERT_ID(l.fence),
            l.note = v_note
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.operator_id = v_operator_id
            AND l.fence = COALESCE(p_fence, l.fence)
            AND l.expires_ts > UTC_TIMESTAMP(6);
        IF LAST_INSERT_ID() > 0 THEN
            SET SESSION innodb_lock_wait_timeout = v_timeout;
            DO LAST_INSERT_ID(v_insert_id);
            SET p_return_cd = 'Y';
            SET p_outcome = 'NOTED';
            SET p_old_operator_id = '';
            SET p_old_department_id = '';
            LEAVE main;
        END IF;

        -- S2: who holds it? When it is this grant after all, S1 tries again.
        SELECT
            IF(l.operator_id = v_operator_id AND l.fence = COALESCE(p_fence, l.fence), '', 'HELD'),
            l.operator_id,
            l.department_id
        INTO p_outcome, p_old_operator_id, p_old_department_id
        FROM appl_lock AS l
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.operator_id <> ''
            AND l.expires_ts > UTC_TIMESTAMP(6)
        FOR UPDATE;
        IF p_outcome <> '' THEN
            SET SESSION innodb_lock_wait_timeout = v_timeout;
            DO LAST_INSERT_ID(v_insert_id);
            SET p_return_cd = 'N';
            SET p_old_operator_id = IF(p_outcome = 'FREE', '', p_old_operator_id);
            SET p_old_department_id = IF(p_outcome = 'FREE', '', p_old_department_id);
            LEAVE main;
        END IF;
        SET v_round = v_round + 1;
    UNTIL v_round > 30 END REPEAT;
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
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Say why an operator holds an object, for whoever asks.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'note_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL note_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_fence, p_note,
        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id
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
COMMENT 'Say why an operator holds an object, for whoever asks; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'note_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL note_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_fence, p_note,
        v_return_cd, v_outcome, v_old_operator_id, v_old_department_id
    );
    SELECT
        v_return_cd AS p_return_cd,
        v_outcome AS p_outcome,
        v_old_operator_id AS p_old_operator_id,
        v_old_department_id AS p_old_department_id;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS poll_appl_locks_core;
-- +goose StatementBegin
-- poll_appl_locks: which of the objects that a program waits for are free, or will be next; keeps its waiters
-- listed.
--
-- Contract   One row for each object that a waiter of the program waits for who has not given up; those that
--            are free first, then those whose lock ends soonest, p_max_rows of them. The time is as
--            the lock stands: it may be renewed or released meanwhile. The program's waiters stay listed for
--            30 s or more.
-- In         p_client_id 1..64, the waiting program. p_max_rows 1..10000, NULL = 1000. Trailing blanks are
--            trimmed first.
-- Out        object_type, object_id, free_in_us (microseconds until the lock ends, 0 when the object is free),
--            ordered by free_in_us, object_type, object_id.
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine.
-- Locks      Normally nothing. Once in 30 s S2 locks the program's rows in appl_lock_waiter and in its index, to
--            the end of the caller's transaction, at REPEATABLE READ also the gaps beside them, so that no
--            waiter of the program can be added. Rows that somebody else is changing are passed over.
-- Race-free  Against announce and retract of a row: they keep it listed or end it themselves. They lock the row
--            first and the index then, S2 the other way about: but S2 never waits, so no circle closes.
--            S2 locks and changes in one statement: under autocommit no lock outlives its statement.
--            What S3 says was true at one moment; a get finds out what has become of it.
-- Differs    Plain reads, as in inquire_appl_lock: call it outside of transactions.

CREATE PROCEDURE poll_appl_locks_core(
    IN p_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max_rows BIGINT
)
COMMENT 'Internal to applock: the operation poll_appl_locks.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_client_id, ''));
    DECLARE v_max_rows BIGINT DEFAULT COALESCE(p_max_rows, 1000);
    DECLARE v_now DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_expires DATETIME(6) DEFAULT v_now + INTERVAL 60 SECOND;
    DECLARE v_due BOOLEAN DEFAULT FALSE;
    DECLARE v_safe_updates BOOLEAN DEFAULT @@SESSION.sql_safe_updates;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION sql_safe_updates = v_safe_updates;
        RESIGNAL;
    END;

    IF CHAR_LENGTH(v_client_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('poll_appl_locks', 'p_client_id', CHAR_LENGTH(v_client_id), 64);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('poll_appl_locks', 'p_max_rows', 10000);
    END IF;

    -- S1: must one of the waiters be kept listed? (The SELECT of an IF EXISTS would lock what it reads.)
    SELECT TRUE
    INTO v_due
    FROM appl_lock_waiter AS w FORCE INDEX (appl_lock_waiter_client_ix)
    WHERE w.client_id = v_client_id
        AND w.expires_ts < v_now + INTERVAL 30 SECOND
        AND (w.until_ts IS NULL OR (w.until_ts > v_now AND w.until_ts > w.expires_ts))
    LIMIT 1;
    IF v_due THEN
        -- MariaDB's safe updates refuse S2, because it reads all that the inner SELECT has found.
        SET SESSION sql_safe_updates = FALSE;
        -- S2: keep all of them. The limit, which is out of reach, has the rows locked before the first changes; and
        -- of a small table the servers would rather read, and so lock, all rows.
        UPDATE (
            SELECT r.object_type, r.object_id, r.operator_id, r.client_id
            FROM appl_lock_waiter AS r FORCE INDEX (appl_lock_waiter_client_ix)
            WHERE r.client_id = v_client_id
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
        SET SESSION sql_safe_updates = v_safe_updates;
    END IF;

    -- S3: when will each be free?
    SELECT
        a.object_type,
        a.object_id,
        COALESCE(TIMESTAMPDIFF(MICROSECOND, v_now, l.expires_ts), 0) AS free_in_us
    FROM (
        SELECT DISTINCT w.object_type, w.object_id
        FROM appl_lock_waiter AS w FORCE INDEX (appl_lock_waiter_client_ix)
        WHERE w.client_id = v_client_id
            AND (w.until_ts IS NULL OR w.until_ts > v_now)
    ) AS a
    LEFT JOIN appl_lock AS l FORCE INDEX (PRIMARY)
        ON l.object_type = a.object_type
        AND l.object_id = a.object_id
        AND l.operator_id <> ''
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
COMMENT 'Which of the objects that a program waits for are free, or will be next; keeps its waiters listed.'
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

DROP PROCEDURE IF EXISTS purge_appl_locks_core;
-- +goose StatementBegin
-- purge_appl_locks: remove the rows of objects that have been free for long.
--
-- Contract   Deletes at most p_max_rows rows that expired or were released more than
--            p_older_than_seconds ago; fewer than p_max_rows means that none is left. No live lock
--            is ever touched. Call it again until it returns less than p_max_rows. Waiters that have been
--            dead for as long go as well, at most p_max_rows of them, and events of the history that are so old, as many;
--            they are not counted. What is counted is itself an event, PURGED, if there is any: its reason is the number.
-- In         p_older_than_seconds 1..315360000, NULL = 2592000 (30 days). p_max_rows 1..10000, NULL = 1000.
-- Out        p_purged, the number of rows of appl_lock removed.
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine. 1213 deadlock.
-- Locks      The rows it removes, to the end of the caller's transaction. Rows that somebody else is
--            changing are passed over (S2, S5). Nobody changes an event.
-- Race-free  Get of a row being purged: S3 judges the newest row again once it is locked; a get that
--            waited inserts a new row.
--            Fences stay monotonic: a row goes only when its fence lies in the past (it does not after
--            the clock was set back), so that the next grant's fence, now in microseconds, is greater.
-- Differs    Row by row, found by a plain read: one statement would lock every row that it passes at
--            REPEATABLE READ. So each row is a transaction of its own under autocommit, and so is the event, and each waits for the
--            disk; call it in a transaction at READ COMMITTED, and all of them wait once. Within a transaction the plain read
--            fixes the caller's snapshot.

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
    DECLARE v_now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
    DECLARE v_before DATETIME(6);
    DECLARE v_object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '';
    DECLARE v_object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '';
    DECLARE v_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '';
    DECLARE v_client_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '';
    DECLARE v_more BOOLEAN DEFAULT TRUE;
    DECLARE v_free BOOLEAN;
    DECLARE v_waiters BIGINT DEFAULT 0;
    DECLARE v_events BIGINT DEFAULT 0;
    DECLARE v_event_id BIGINT DEFAULT 0;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_more = FALSE;

    IF v_older_than_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('purge_appl_locks', 'p_older_than_seconds', 315360000);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('purge_appl_locks', 'p_max_rows', 10000);
    END IF;

    SET v_before = UTC_TIMESTAMP(6) - INTERVAL v_older_than_seconds SECOND;
    SET p_purged = 0;
    WHILE v_more AND p_purged < v_max_rows DO
        -- S1: the next row that could go.
        SELECT l.object_type, l.object_id
        INTO v_object_type, v_object_id
        FROM appl_lock AS l
        WHERE (l.object_type > v_object_type OR (l.object_type = v_object_type AND l.object_id > v_object_id))
            AND l.expires_ts < v_before
        ORDER BY l.object_type, l.object_id
        LIMIT 1;
        IF v_more THEN
            -- S2: is nobody changing it?
            SELECT TRUE
            INTO v_free
            FROM appl_lock AS l
            WHERE l.object_type = v_object_type
                AND l.object_id = v_object_id
            FOR UPDATE SKIP LOCKED;
            IF v_more THEN
                -- S3: remove it.
                DELETE FROM appl_lock
                WHERE object_type = v_object_type
                    AND object_id = v_object_id
                    AND expires_ts < v_before
                    AND fence < v_now_us;
                SET p_purged = p_purged + ROW_COUNT();
            END IF;
            SET v_more = TRUE;
        END IF;
    END WHILE;

    SET v_object_type = '';
    SET v_object_id = '';
    SET v_more = TRUE;
    WHILE v_more AND v_waiters < v_max_rows DO
        -- S4: the next waiter that could go.
        SELECT w.object_type, w.object_id, w.operator_id, w.client_id
        INTO v_object_type, v_object_id, v_operator_id, v_client_id
        FROM appl_lock_waiter AS w
        WHERE (w.object_type > v_object_type OR (w.object_type = v_object_type
                AND (w.object_id > v_object_id OR (w.object_id = v_object_id
                AND (w.operator_id > v_operator_id OR (w.operator_id = v_operator_id
                AND w.client_id > v_client_id))))))
            AND w.expires_ts < v_before
        ORDER BY w.object_type, w.object_id, w.operator_id, w.client_id
        LIMIT 1;
        IF v_more THEN
            -- S5: is nobody changing it?
            SELECT TRUE
            INTO v_free
            FROM appl_lock_waiter AS w
            WHERE w.object_type = v_object_type
                AND w.object_id = v_object_id
                AND w.operator_id = v_operator_id
                AND w.client_id = v_client_id
            FOR UPDATE SKIP LOCKED;
            IF v_more THEN
                -- S6: remove it.
                DELETE FROM appl_lock_waiter
                WHERE object_type = v_object_type
                    AND object_id = v_object_id
                    AND operator_id = v_operator_id
                    AND client_id = v_client_id
                    AND expires_ts < v_before;
                SET v_waiters = v_waiters + ROW_COUNT();
            END IF;
            SET v_more = TRUE;
        END IF;
    END WHILE;

    -- S7: events, oldest first, and no further than the first that stays.
    SET v_more = TRUE;
    WHILE v_more AND v_events < v_max_rows DO
        SELECT e.event_id, e.event_ts < v_before
        INTO v_event_id, v_more
        FROM appl_lock_event AS e
        WHERE e.event_id > v_event_id
        ORDER BY e.event_id
        LIMIT 1;
        IF v_more THEN
            DELETE FROM appl_lock_event
            WHERE event_id = v_event_id;
            SET v_events = v_events + 1;
        END IF;
    END WHILE;
    IF p_purged > 0 THEN
        CALL appl_lock_record('PURGED', '', '', '', '', '', 0, '', '', 0, p_purged);
    END IF;
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
        p_older_than_seconds, p_max_rows, p_purged
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
        p_older_than_seconds, p_max_rows, v_purged
    );
    SELECT v_purged AS p_purged;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS release_appl_lock_core;
-- +goose StatementBegin
-- release_appl_lock: end the grant that an operator holds on an object.
--
-- Contract   Y RELEASED: the operator held it (this very grant, if p_fence is given); it is free now.
--            Y FREE: nobody holds it; nothing changed.
--            N HELD: another operator, or another grant than p_fence, holds it; p_old_* tell who.
--            A release by another actor than the operator, or with a reason, is an event of the history: RELEASED. So is any
--            where the type's policy had the history told ALL when the operator last called get.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64;
--            p_fence 1 or greater, NULL = whichever grant; p_actor_id 1..64, NULL = p_operator_id; p_reason 0..255, NULL =
--            empty. Trailing blanks are trimmed first.
-- Out        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD).
-- Raises     LK001 invalid argument. LK003 when the object changed hands thirty times during the call, or
--            an upgrade is replacing the routine. 1205 after 1 s of waiting for another
--            transaction, 1213 deadlock.
-- Locks      S1 locks the object's one row and decides, S0, which reads what an event names, and S2 the same row; held to the end of the caller's
--            transaction. At REPEATABLE READ an object without a row leaves its gap locked so long.
-- Race-free  Release against take-over, renewal or transfer: S1 names operator, fence and expiry and is
--            judged on the newest row once it is locked; a later grant never matches. It takes the operator
--            out of the row when it does anything, so that ROW_COUNT says so whatever CLIENT_FOUND_ROWS is.
--            Two releases: the second finds a row without an operator and answers FREE, also if its time is
--            older than the first one's end of the grant.
--            An event: S1 ends only the grant that S0 has read, and all is one transaction. A grant that needs one for its own
--            sake S1 passes over, and so does S2: the next round has S0.
--            The row form has S1 before the core, for a grant of which no event tells: most releases end there.
--            A get that has not committed yet: waits for it, because its outcome decides.
--            REPEATABLE READ: only locking reads, so that a later get is not given a stale view.
-- Differs    A released row has no operator; other dialects keep it. A refusal locks the row until the
--            caller's transaction ends, and waits for a transaction that is changing the row: a plain read
--            would fix the caller's snapshot too early. No 40001: InnoDB judges the newest row. What a
--            session's settings can do: procedures/README.md.

CREATE PROCEDURE release_appl_lock_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_fence BIGINT,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation release_appl_lock.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
main: BEGIN
    DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    DECLARE v_round INT DEFAULT 1;
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_fence BIGINT;
    DECLARE v_history_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET p_outcome = 'FREE';
    -- 1422: a function or trigger, which has a transaction.
    DECLARE CONTINUE HANDLER FOR 1422 BEGIN END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout;
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    -- One look at arguments that are as they are stored: each instruction of a routine costs. (A blank equals nothing at all.)
    IF (
        RIGHT(p_object_type, 1) <> ' ' AND CHAR_LENGTH(p_object_type) <= 64 AND LOCATE(':', p_object_type) = 0
        AND RIGHT(p_object_id, 1) <> ' ' AND CHAR_LENGTH(p_object_id) <= 255
        AND RIGHT(p_operator_id, 1) <> ' ' AND CHAR_LENGTH(p_operator_id) <= 64
        AND COALESCE(p_fence, 1) >= 1
        AND COALESCE(p_actor_id, p_reason) IS NULL
    ) IS NOT TRUE THEN
        SET p_object_type = RTRIM(COALESCE(p_object_type, ''));
        SET p_object_id = RTRIM(COALESCE(p_object_id, ''));
        SET p_operator_id = RTRIM(COALESCE(p_operator_id, ''));
        SET v_actor_id = RTRIM(COALESCE(p_actor_id, p_operator_id));
        SET p_reason = RTRIM(COALESCE(p_reason, ''));
        IF CHAR_LENGTH(p_object_type) NOT BETWEEN 1 AND 64 OR LOCATE(':', p_object_type) > 0 THEN
            CALL appl_lock_refuse_text('release_appl_lock', 'p_object_type', CHAR_LENGTH(p_object_type), 64);
        ELSEIF CHAR_LENGTH(p_object_id) NOT BETWEEN 1 AND 255 THEN
            CALL appl_lock_refuse_text('release_appl_lock', 'p_object_id', CHAR_LENGTH(p_object_id), 255);
        ELSEIF CHAR_LENGTH(p_operator_id) NOT BETWEEN 1 AND 64 THEN
            CALL appl_lock_refuse_text('release_appl_lock', 'p_operator_id', CHAR_LENGTH(p_operator_id), 64);
        ELSEIF p_fence < 1 THEN
            CALL appl_lock_refuse_number('release_appl_lock', 'p_fence', 9223372036854775807);
        ELSEIF CHAR_LENGTH(v_actor_id) NOT BETWEEN 1 AND 64 THEN
            CALL appl_lock_refuse_text('release_appl_lock', 'p_actor_id', CHAR_LENGTH(v_actor_id), 64);
        ELSEIF CHAR_LENGTH(p_reason) > 255 THEN
            CALL appl_lock_refuse_text('release_appl_lock', 'p_reason', CHAR_LENGTH(p_reason), 255);
        END IF;
        IF v_actor_id = p_operator_id AND p_reason = '' THEN
            SET v_actor_id = NULL;
        END IF;
    END IF;

    SET SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    IF v_actor_id IS NOT NULL THEN
        CALL appl_lock_begin(v_began);
    END IF;
    REPEAT
        -- S0: which grant is it that an event will name? S1 ends that one.
        IF v_actor_id IS NOT NULL THEN
            SELECT l.department_id, l.fence, l.history_fl
            INTO v_department_id, v_fence, v_history_fl
            FROM appl_lock AS l
            WHERE l.object_type = p_object_type
                AND l.object_id = p_object_id
                AND l.operator_id = p_operator_id
                AND l.fence = COALESCE(p_fence, l.fence)
                AND l.expires_ts > UTC_TIMESTAMP(6)
            FOR UPDATE;
        END IF;

        -- S1: end this grant. Without an operator it is ended also for those who wait for the row with an
        -- older time than that of this statement.
        UPDATE appl_lock AS l
        SET l.operator_id = '',
            l.department_id = '',
            l.expires_ts = UTC_TIMESTAMP(6)
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
            AND l.operator_id = p_operator_id
            AND l.fence = COALESCE(v_fence, p_fence, l.fence)
            AND l.expires_ts > UTC_TIMESTAMP(6)
            AND (l.history_fl = 'N' OR v_actor_id IS NOT NULL);
        IF ROW_COUNT() > 0 THEN
            IF v_actor_id IS NOT NULL THEN
                IF v_history_fl = 'Y' OR v_actor_id <> p_operator_id OR p_reason <> '' THEN
                    CALL appl_lock_record(
                        'RELEASED', p_object_type, p_object_id, v_actor_id,
                        p_operator_id, v_department_id, v_fence, '', '', 0, p_reason
                    );
                END IF;
                IF v_began THEN
                    CALL appl_lock_end(TRUE);
                END IF;
            END IF;
            SET SESSION innodb_lock_wait_timeout = v_timeout;
            SET p_return_cd = 'Y';
            SET p_outcome = 'RELEASED';
            SET p_old_operator_id = '';
            SET p_old_department_id = '';
            LEAVE main;
        END IF;

        -- S2: who holds it? When it is this grant after all, S1 tries again.
        SELECT
            IF(l.operator_id = p_operator_id AND l.fence = COALESCE(p_fence, l.fence), '', 'HELD'),
            l.operator_id,
            l.department_id
        INTO p_outcome, p_old_operator_id, p_old_department_id
        FROM appl_lock AS l
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
            AND l.operator_id <> ''
            AND l.expires_ts > UTC_TIMESTAMP(6)
        FOR UPDATE;
        IF p_outcome <> '' THEN
            IF v_began THEN
                CALL appl_lock_end(TRUE);
            END IF;
            SET SESSION innodb_lock_wait_timeout = v_timeout;
            SET p_return_cd = IF(p_outcome = 'FREE', 'Y', 'N');
            SET p_old_operator_id = IF(p_outcome = 'FREE', '', p_old_operator_id);
            SET p_old_department_id = IF(p_outcome = 'FREE', '', p_old_department_id);
            LEAVE main;
        END IF;
        IF v_actor_id IS NULL THEN
            SET v_actor_id = p_operator_id;
            SET p_reason = '';
            CALL appl_lock_begin(v_began);
        END IF;
        SET v_round = v_round + 1;
    UNTIL v_round > 30 END REPEAT;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'release_appl_lock: the object changed hands during the call; call again';
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
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
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
        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id
    );
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
    DECLARE v_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT 'Y';
    DECLARE v_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '';
    DECLARE v_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '';

    IF COALESCE(p_actor_id, p_reason) IS NULL THEN
        BEGIN
            DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
            DECLARE EXIT HANDLER FOR SQLEXCEPTION
            BEGIN
                SET SESSION innodb_lock_wait_timeout = v_timeout;
                RESIGNAL;
            END;

            SET SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
            -- S1 for a grant of which no event tells. Arguments that are none match nothing: the core refuses them.
            UPDATE appl_lock AS l
            SET l.operator_id = '',
                l.department_id = '',
                l.expires_ts = UTC_TIMESTAMP(6)
            WHERE l.object_type = p_object_type
                AND l.object_id = p_object_id
                AND l.operator_id = p_operator_id
                AND l.operator_id <> ''
                AND l.fence = COALESCE(p_fence, l.fence)
                AND l.expires_ts > UTC_TIMESTAMP(6)
                AND l.history_fl = 'N';
            IF ROW_COUNT() > 0 THEN
                SET v_outcome = 'RELEASED';
            END IF;
            SET SESSION innodb_lock_wait_timeout = v_timeout;
        END;
    END IF;
    IF v_outcome IS NULL THEN
        CALL release_appl_lock_core(
            p_object_type, p_object_id, p_operator_id, p_fence, p_actor_id, p_reason,
            v_return_cd, v_outcome, v_old_operator_id, v_old_department_id
        );
    END IF;
    SELECT
        v_return_cd AS p_return_cd,
        v_outcome AS p_outcome,
        v_old_operator_id AS p_old_operator_id,
        v_old_department_id AS p_old_department_id;
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
-- Contract   A page is at most p_max_rows live locks of p_operator whose key is greater than (p_after_type, p_after_id), with a row
--            for each. The next page starts after the last row of this one; a page shorter than p_max_rows is the last.
--            RELEASED: it is free now, with an event of the history, as release_appl_lock has it.
--            BUSY: another transaction has locked the object's row. HELD or FREE: it has changed hands since the page
--            was read; old_* and expires_ts tell who holds it. These are left as they are, and the next ones are done.
--            WOULD_RELEASE: p_dry_run_fl is Y, and nothing is done. It does not tell what is busy.
-- In         p_operator_id 1..64; p_object_type 1..64 without ":", NULL = any; p_actor_id 1..64, NULL = p_operator_id;
--            p_reason 0..255, NULL = empty; p_after_type 0..64, p_after_id 0..255, NULL = from the start; p_max_rows
--            1..10000, NULL = 1000; p_dry_run_fl Y or N, NULL or empty = N. Trailing blanks are trimmed first. LONGTEXT, so
--            that length is checked here.
-- Out        object_type, object_id, outcome, old_operator_id, old_department_id (empty unless HELD), fence (of the operator's
--            grant; 0 when HELD or FREE), expires_ts (NULL when RELEASED or FREE), seconds_left (whole seconds from when the row
--            was done, rounded up), ordered by object_type, object_id as bytes.
-- Raises     LK001 invalid argument: nothing is done. 1205, 1213 as release_appl_lock, and LK003 also when an upgrade is
--            replacing the routine: then the page is undone, unless the caller has a transaction, who is to roll it back.
-- Locks      S1 is a plain read, as list_appl_locks. S2 locks one row after the other in the order of the keys, and waits for
--            none; S3 is release_appl_lock on that row. All are held to the end of the caller's transaction, or of the page's.
-- Race-free  Against get, renewal, take-over or transfer: S3 decides, as it does alone, on a row that S2 has locked and nobody
--            changes any more. What was got after S1 is not in the page.
--            Two at once: one finds the other's rows BUSY, or FREE, and neither waits.
--            Begun again after a page: nothing is done twice, because what is done is nobody's any more.
--            Under autocommit S2 and S3 of all rows are one transaction of the call's own, which S1 is no part of.
-- Differs    A get that is refused locks the row for a moment: then it is BUSY. In a transaction at REPEATABLE READ S1 sees the
--            transaction's snapshot, which S1 fixes if nothing has before: what is not the operator's any more is HELD or FREE.
--            At SERIALIZABLE it locks what it reads there, and waits for others, as every plain read does.

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
    DECLARE v_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_operator_id, ''));
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_actor_id, v_operator_id));
    DECLARE v_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_reason, ''));
    DECLARE v_after_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_after_type, ''));
    DECLARE v_after_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_after_id, ''));
    DECLARE v_dry_run_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_dry_run_fl, ''));
    DECLARE v_max_rows BIGINT DEFAULT COALESCE(p_max_rows, 1000);
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_at_end BOOLEAN DEFAULT FALSE;
    DECLARE v_now DATETIME(6);
    DECLARE v_row_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_row_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_outcome VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_fence BIGINT;
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_seconds_left BIGINT;
    DECLARE v_told LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '';
    DECLARE page CURSOR FOR
        SELECT l.object_type, l.object_id, l.fence, l.expires_ts
        FROM appl_lock AS l
        WHERE (l.object_type > v_after_type OR (l.object_type = v_after_type AND l.object_id > v_after_id))
            AND (p_object_type IS NULL OR l.object_type = v_object_type)
            AND l.operator_id = v_operator_id
            AND l.expires_ts > v_now
        ORDER BY l.object_type, l.object_id
        LIMIT v_max_rows;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_at_end = TRUE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    IF CHAR_LENGTH(v_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('release_appl_locks', 'p_operator_id', CHAR_LENGTH(v_operator_id), 64);
    ELSEIF p_object_type IS NOT NULL AND CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64
        OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('release_appl_locks', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF CHAR_LENGTH(v_actor_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('release_appl_locks', 'p_actor_id', CHAR_LENGTH(v_actor_id), 64);
    ELSEIF CHAR_LENGTH(v_reason) > 255 THEN
        CALL appl_lock_refuse_text('release_appl_locks', 'p_reason', CHAR_LENGTH(v_reason), 255);
    ELSEIF CHAR_LENGTH(v_after_type) > 64 THEN
        CALL appl_lock_refuse_text('release_appl_locks', 'p_after_type', CHAR_LENGTH(v_after_type), 64);
    ELSEIF CHAR_LENGTH(v_after_id) > 255 THEN
        CALL appl_lock_refuse_text('release_appl_locks', 'p_after_id', CHAR_LENGTH(v_after_id), 255);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('release_appl_locks', 'p_max_rows', 10000);
    ELSEIF v_dry_run_fl NOT IN ('Y', 'N', '') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'release_appl_locks: p_dry_run_fl must be Y or N';
    END IF;

    -- S1: the page. The cursor has all of it before the first lock changes, and outside of the transaction of S2 and S3.
    SET v_now = UTC_TIMESTAMP(6);
    OPEN page;
    IF v_dry_run_fl <> 'Y' THEN
        CALL appl_lock_begin(v_began);
    END IF;
    locks: LOOP
        FETCH page INTO v_row_type, v_row_id, v_fence, v_expires_ts;
        IF v_at_end THEN
            LEAVE locks;
        END IF;
        SET v_outcome = 'WOULD_RELEASE';
        SET v_old_operator_id = '';
        SET v_old_department_id = '';
        IF v_dry_run_fl <> 'Y' THEN
            -- S2: is the row at hand, and what grant does it have?
            SET v_outcome = '';
            SELECT l.fence, l.expires_ts
            INTO v_fence, v_expires_ts
            FROM appl_lock AS l
            WHERE l.object_type = v_row_type
                AND l.object_id = v_row_id
            FOR UPDATE SKIP LOCKED;
            IF v_at_end THEN
                SET v_outcome = 'BUSY';
                SET v_at_end = FALSE;
            END IF;
        END IF;
        SET v_now = UTC_TIMESTAMP(6);
        SET v_seconds_left = GREATEST((TIMESTAMPDIFF(MICROSECOND, v_now, v_expires_ts) + 999999) DIV 1000000, 1);
        IF v_outcome = '' THEN
            -- S3: end it.
            CALL release_appl_lock_core(
                v_row_type, v_row_id, v_operator_id, NULL, v_actor_id, v_reason,
                v_return_cd, v_outcome, v_old_operator_id, v_old_department_id
            );
            IF v_outcome <> 'HELD' THEN
                SET v_expires_ts = NULL;
                SET v_seconds_left = 0;
            END IF;
            IF v_outcome <> 'RELEASED' THEN
                SET v_fence = 0;
            END IF;
        END IF;
        SET v_told = CONCAT(v_told, IF(v_told = '', '[', ','), JSON_ARRAY(
            v_row_type, v_row_id, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_expires_ts, v_seconds_left
        ));
    END LOOP locks;
    CLOSE page;
    -- What is longer than max_allowed_packet is NULL, and nothing must be done that is not told.
    IF v_told IS NULL THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'release_appl_locks: p_max_rows is too much for max_allowed_packet';
    END IF;
    IF v_began THEN
        CALL appl_lock_end(TRUE);
    END IF;

    SELECT
        t.object_type,
        t.object_id,
        t.outcome,
        t.old_operator_id,
        t.old_department_id,
        t.fence,
        t.expires_ts,
        t.seconds_left
    FROM JSON_TABLE(IF(v_told = '', '[]', CONCAT(v_told, ']')), '$[*]' COLUMNS (
        place FOR ORDINALITY,
        object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[0]',
        object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[1]',
        outcome VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[2]',
        old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[3]',
        old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[4]',
        fence BIGINT PATH '$[5]',
        expires_ts DATETIME(6) PATH '$[6]',
        seconds_left BIGINT PATH '$[7]'
    )) AS t
    ORDER BY t.place;
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
-- Contract   RENEWED: this very grant is live; expires_ts = now + its ttl, or what it was, if that is later: a
--            ttl beyond the greatest one of its type's policy is cut to that; a renewal that arrives late undoes none that came first, and no get. All else is as it was.
--            HELD: somebody else holds the object, or the operator under another fence; old_* and expires_ts
--            tell who and until when. FREE: nobody holds it: the grant has ended. It is not revived, not
--            even when it has expired just now and nobody else has come.
--            No row: another transaction is changing this lock, or asserts it. It is neither renewed nor
--            lost; ask again. So one lock that is busy delays none of the others.
--            Where the type's policy had the history told ALL when the operator last called get, a renewal is an event:
--            RENEWED.
-- In         p_grants, a JSON array of 0 to 10000 grants such as {"object_type": "customer", "object_id": "42",
--            "operator_id": "JDOE", "fence": 17, "ttl_seconds": 30}, with the limits that these have as parameters
--            of get_appl_lock and assert_appl_lock; none may be left out, no object may come twice. Trailing
--            blanks are trimmed first.
-- Out        object_type, object_id, outcome, old_operator_id, old_department_id (empty unless HELD), expires_ts
--            (NULL when FREE), seconds_left (whole seconds from now to expires_ts, rounded up, 0 when FREE), ordered by object_type, object_id as bytes.
-- Raises     LK001 invalid argument: nothing has been renewed. LK003 when an upgrade is replacing the routine.
-- Locks      S1 locks the rows of the grants, to the end of the caller's transaction. Rows that somebody else has
--            locked are passed over: S1 never waits, and so can be in no deadlock, whatever the order of the
--            grants. At REPEATABLE READ an object without a row leaves its gap locked so long.
-- Race-free  Against take-over, release or transfer: whoever locks the row first goes first. S1 locks, judges and
--            renews in one statement, so that it needs no transaction, and one commit is enough for all.
--            What S1 has done is told by the row in S3, not by when S3 reads: it is this grant's, because a fence
--            never comes again, has the lock_ts of S1, and ends as late as S1 has it end or later. A grant that is
--            live and ends sooner was passed over: S1 tries again. One that ends as late, but has another lock_ts, was
--            renewed once more by somebody else, for longer: S1 lets it be, it has no row, and asking again settles it. A row of another fence, or an expired one: the grant has ended for good.
--            Expiry: S1's time is that of its beginning. A grant that ends between that and the lock of its
--            row, which is no wait, is renewed as of that time: nobody can have held the object meanwhile,
--            since then the fence would be another one.
-- Differs    A get that is refused locks the row for a moment: S1 tries again what it has passed over, up to a hundred
--            grants, for some 30 ms. S2 and S3 are plain reads, as in inquire_appl_lock.
--            Outside a transaction each statement commits by itself, so others see S1 before the answer. Who releases or takes
--            over in between turns that answer into FREE or HELD; and a get in between that shortens the lock is undone
--            when S1 tries again, always to the same end: v_now and the ttl. Nobody holds what another holds.
--            When no policy has the history told ALL any more, renewals are no events from then on: S0 asks, so that S1 and
--            S1b are one transaction only where they must be.
--            S0 is a plain read, and sees the policies as the caller's snapshot has them.

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
    DECLARE v_now DATETIME(6);
    DECLARE v_safe_updates BOOLEAN DEFAULT @@SESSION.sql_safe_updates;
    DECLARE v_max_length BIGINT UNSIGNED DEFAULT @@SESSION.group_concat_max_len;
    DECLARE v_policies BIGINT;
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_insert_id BIGINT UNSIGNED DEFAULT LAST_INSERT_ID();
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- 1422: a function or trigger, which has a transaction.
    DECLARE CONTINUE HANDLER FOR 1422 BEGIN END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION sql_safe_updates = v_safe_updates;
        SET SESSION group_concat_max_len = v_max_length;
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    BEGIN
        -- What MySQL says of JSON that is too deep, also when it is asked whether it is valid.
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
                    WHEN (JSON_TYPE(j.operator_id) = 'STRING' AND CHAR_LENGTH(RTRIM(j.operator_id_text)) BETWEEN 1 AND 64)
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

    -- S0: what the policies cut, and whether any has the history told of renewals. MariaDB's list would end where
    -- group_concat_max_len does.
    SET v_policies = (
        SELECT BIT_OR(IF(p.longest_ttl_seconds IS NULL, 0, 1) | IF(p.history_level = 'ALL', 2, 0))
        FROM appl_lock_policy AS p
    );
    IF v_policies & 1 THEN
        SET SESSION group_concat_max_len = 4294967295;
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
            operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.operator_id',
            fence BIGINT PATH '$.fence',
            ttl_seconds BIGINT PATH '$.ttl_seconds'
        )) AS g
        LEFT JOIN appl_lock_policy AS p
            ON p.object_type = RTRIM(g.object_type);
        SET SESSION group_concat_max_len = v_max_length;
        SET v_grants = COALESCE(v_grants, p_grants);
    END IF;

    -- MariaDB's safe updates refuse S1, because it reads all that the inner SELECT has found.
    SET SESSION sql_safe_updates = FALSE;
    SET v_now = UTC_TIMESTAMP(6);
    SET v_left = v_grants;
    WHILE v_left IS NOT NULL AND v_round < 10 DO
        IF v_round > 0 THEN
            DO SLEEP(0.002);
        END IF;
        SET v_round = v_round + 1;
        IF v_policies & 2 THEN
            CALL appl_lock_begin(v_began);
        END IF;

        -- S1: renew what is live and at hand. The inner SELECT locks and the limit keeps it apart: the rows are
        -- locked before the first one changes. Of a small table the servers would rather read, and so lock, all rows.
        UPDATE (
            SELECT r.object_type, r.object_id, g.ttl_seconds
            FROM (
                SELECT j.object_type, j.object_id, j.operator_id, j.fence, j.ttl_seconds
                FROM JSON_TABLE(v_left, '$[*]' COLUMNS (
                    object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.object_type',
                    object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.object_id',
                    operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.operator_id',
                    fence BIGINT PATH '$.fence',
                    ttl_seconds BIGINT PATH '$.ttl_seconds'
                )) AS j
            ) AS g
            STRAIGHT_JOIN appl_lock AS r FORCE INDEX (PRIMARY)
                ON r.object_type = g.object_type
                AND r.object_id = g.object_id
            WHERE r.operator_id = g.operator_id
                AND r.fence = g.fence
                AND r.expires_ts > UTC_TIMESTAMP(6)
            LIMIT 10000
            FOR UPDATE SKIP LOCKED
        ) AS k
        STRAIGHT_JOIN appl_lock AS l FORCE INDEX (PRIMARY)
            ON l.object_type = k.object_type
            AND l.object_id = k.object_id
        SET l.lock_ts = GREATEST(v_now, l.acquired_ts + INTERVAL 1 MICROSECOND),
            l.expires_ts = GREATEST(l.expires_ts, v_now + INTERVAL k.ttl_seconds SECOND);

        IF v_policies & 2 THEN
            -- S1b: tell the history of those whose grant has it so. What S1 has not renewed is passed over here, too.
            INSERT INTO appl_lock_event (
                event_ts,
                object_type,
                object_id,
                event,
                actor_id,
                db_user,
                program,
                from_operator_id,
                from_department_id,
                to_operator_id,
                to_department_id,
                from_fence,
                to_fence,
                reason
            )
            SELECT
                UTC_TIMESTAMP(6),
                r.object_type,
                r.object_id,
                'RENEWED',
                r.operator_id,
                LEFT(USER(), 255),
                '',
                r.operator_id,
                r.department_id,
                r.operator_id,
                r.department_id,
                r.fence,
                r.fence,
                ''
            FROM (
                SELECT j.object_type, j.object_id, j.operator_id, j.fence
                FROM JSON_TABLE(v_left, '$[*]' COLUMNS (
                    object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.object_type',
                    object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.object_id',
                    operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.operator_id',
                    fence BIGINT PATH '$.fence'
                )) AS j
            ) AS g
            STRAIGHT_JOIN appl_lock AS r FORCE INDEX (PRIMARY)
                ON r.object_type = g.object_type
                AND r.object_id = g.object_id
            WHERE r.operator_id = g.operator_id
                AND r.fence = g.fence
                AND r.history_fl = 'Y'
                AND r.lock_ts = GREATEST(v_now, r.acquired_ts + INTERVAL 1 MICROSECOND)
            FOR UPDATE SKIP LOCKED;
            -- The events' numbers are no business of the caller's.
            DO LAST_INSERT_ID(v_insert_id);
            IF v_began THEN
                CALL appl_lock_end(TRUE);
                SET v_began = FALSE;
            END IF;
        END IF;

        -- S2: what was passed over?
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
                operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.operator_id',
                fence BIGINT PATH '$.fence',
                ttl_seconds BIGINT PATH '$.ttl_seconds'
            )) AS g
            STRAIGHT_JOIN appl_lock AS l FORCE INDEX (PRIMARY)
                ON l.object_type = g.object_type
                AND l.object_id = g.object_id
            WHERE l.operator_id = g.operator_id
                AND l.fence = g.fence
                AND l.expires_ts > UTC_TIMESTAMP(6)
                AND l.expires_ts < v_now + INTERVAL g.ttl_seconds SECOND
            LIMIT 100
        ) AS p;
        -- MariaDB cuts it off where the session's group_concat_max_len ends.
        IF NOT JSON_VALID(v_left) THEN
            SET v_left = NULL;
        END IF;
    END WHILE;
    SET SESSION sql_safe_updates = v_safe_updates;

    -- S3: what has become of each?
    SELECT
        g.object_type,
        g.object_id,
        CASE
            WHEN l.operator_id IS NULL THEN 'FREE'
            WHEN l.operator_id = g.operator_id AND l.fence = g.fence THEN 'RENEWED'
            ELSE 'HELD'
        END AS outcome,
        IF(l.operator_id = g.operator_id AND l.fence = g.fence, '', COALESCE(l.operator_id, '')) AS old_operator_id,
        IF(l.operator_id = g.operator_id AND l.fence = g.fence, '', COALESCE(l.department_id, '')) AS old_department_id,
        l.expires_ts,
        COALESCE((TIMESTAMPDIFF(
            MICROSECOND,
            IF(l.operator_id = g.operator_id AND l.fence = g.fence, v_now, UTC_TIMESTAMP(6)),
            l.expires_ts
        ) + 999999) DIV 1000000, 0) AS seconds_left
    FROM (
        SELECT
            RTRIM(j.object_type) AS object_type,
            RTRIM(j.object_id) AS object_id,
            j.operator_id,
            j.fence,
            j.ttl_seconds
        FROM JSON_TABLE(v_grants, '$[*]' COLUMNS (
            object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.object_type',
            object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.object_id',
            operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$.operator_id',
            fence BIGINT PATH '$.fence',
            ttl_seconds BIGINT PATH '$.ttl_seconds'
        )) AS j
    ) AS g
    LEFT JOIN appl_lock AS l FORCE INDEX (PRIMARY)
        ON l.object_type = g.object_type
        AND l.object_id = g.object_id
        AND l.operator_id <> ''
        AND l.expires_ts > UTC_TIMESTAMP(6)
    WHERE l.operator_id IS NULL
        OR l.operator_id <> g.operator_id
        OR l.fence <> g.fence
        OR l.lock_ts = GREATEST(v_now, l.acquired_ts + INTERVAL 1 MICROSECOND)
        AND l.expires_ts >= v_now + INTERVAL g.ttl_seconds SECOND
    ORDER BY g.object_type, g.object_id;
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

DROP PROCEDURE IF EXISTS retract_appl_lock_waiter_core;
-- +goose StatementBegin
-- retract_appl_lock_waiter: say that an operator does not wait for an object any more.
--
-- Contract   The operator is no waiter of the program p_client_id for this object, whether it was or not.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64;
--            p_client_id 1..64. Trailing blanks are trimmed first.
-- Out        None; the row form returns p_return_cd 'Y'.
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine. 1205 after 1 s of waiting
--            for another transaction, 1213 deadlock.
-- Locks      S1 deletes the waiter's one row; held to the end of the caller's transaction. At REPEATABLE READ a
--            waiter without a row leaves its gap locked so long. Poll and purge pass over locked rows.
-- Race-free  Against announce, poll or purge of the same row: whoever locks it first goes first. An announce that
--            waited inserts a new row.
-- Differs    As in announce_appl_lock_waiter: 1213 among three calls for one waiter at once.

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
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_id, ''));
    DECLARE v_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_operator_id, ''));
    DECLARE v_client_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_client_id, ''));
    DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout;
        RESIGNAL;
    END;

    IF CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('retract_appl_lock_waiter', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF CHAR_LENGTH(v_object_id) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('retract_appl_lock_waiter', 'p_object_id', CHAR_LENGTH(v_object_id), 255);
    ELSEIF CHAR_LENGTH(v_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('retract_appl_lock_waiter', 'p_operator_id', CHAR_LENGTH(v_operator_id), 64);
    ELSEIF CHAR_LENGTH(v_client_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('retract_appl_lock_waiter', 'p_client_id', CHAR_LENGTH(v_client_id), 64);
    END IF;

    SET SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    -- S1: nobody waits.
    DELETE FROM appl_lock_waiter
    WHERE object_type = v_object_type
        AND object_id = v_object_id
        AND operator_id = v_operator_id
        AND client_id = v_client_id;
    SET SESSION innodb_lock_wait_timeout = v_timeout;
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
    SELECT 'Y' AS p_return_cd;
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
-- Out        None; the row form returns p_return_cd 'Y'.
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine. 40001 at REPEATABLE READ
--            when the caller has read before, and its snapshot is older than what the former transaction
--            committed: roll back and begin again, with this call first. 1213 deadlock. The caller's own
--            innodb_lock_wait_timeout bounds the wait (1205); there is no other bound.
-- Locks      One row of appl_lock_serialize, chosen by a hash of the object. The rows are always there: of
--            rows that come and go, and three transactions, InnoDB makes a deadlock as soon as the first
--            rolls back or the purge thread removes one, also with ON DUPLICATE KEY UPDATE.
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
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_id, ''));
    DECLARE v_slot INT;
    DECLARE v_turn BIGINT;
    DECLARE v_seen BIGINT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;

    IF CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('serialize_appl_lock', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF CHAR_LENGTH(v_object_id) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('serialize_appl_lock', 'p_object_id', CHAR_LENGTH(v_object_id), 255);
    END IF;

    SET v_slot = CRC32(CONCAT(v_object_type, ':', v_object_id)) MOD 65536;
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
    SELECT 'Y' AS p_return_cd;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS set_appl_lock_policy_core;
-- +goose StatementBegin
-- set_appl_lock_policy: lay down how long locks on objects of a type last, whether a take wants a reason, and what the history is told.
--
-- Contract   Y SET: the policy of the type is this one, whichever it had; what is not given is none of it. That is an event
--            of the history: POLICY, with what it says now, who did it and why.
--            Each get, renewal and transfer from the next one on goes by it. A grant keeps the end that it has until then.
--            With ALL the history is told each get, renewal, refusal and release, too: of a lock that is held by then from the
--            holder's next get on.
-- In         p_object_type 1..64 characters without ":"; p_default_ttl_seconds 1..315360000, not above
--            p_longest_ttl_seconds, NULL = 604800 (7 days); p_longest_ttl_seconds 1..315360000, NULL = 315360000 (10 years);
--            p_take_reason_fl Y or N, NULL = Y; p_actor_id 1..64;
--            p_reason 0..180, NULL = empty: the event has room for 255 with what the policy says; p_history_level ALL or CHANGES,
--            NULL = CHANGES. Trailing blanks are trimmed first.
-- Out        p_return_cd, p_outcome.
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine. 1205 after 1 s of waiting for another
--            transaction, 1213 deadlock.
-- Locks      S1 locks the type's one row, or its gap, to the end of the caller's transaction.
-- Race-free  Two at once: the primary key lets one insert, the other waits and changes the row. The event of each is in
--            its transaction: under autocommit S1 and the event are one of the call's own.
--            A get that has begun before the policy is committed may still go by the former one.
-- Differs    A get inside a transaction locks the row of the policy for reading until that ends, as get_appl_lock says why: S1
--            waits for it, for 1 s at most. Then call it again; or at a time when there are no long transactions.

CREATE PROCEDURE set_appl_lock_policy_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_default_ttl_seconds BIGINT,
    IN p_longest_ttl_seconds BIGINT,
    IN p_take_reason_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_history_level LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation set_appl_lock_policy.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_longest_ttl_seconds BIGINT DEFAULT COALESCE(p_longest_ttl_seconds, 315360000);
    DECLARE v_take_reason_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_take_reason_fl, 'Y'));
    DECLARE v_history_level LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_history_level, 'CHANGES'));
    DECLARE v_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_actor_id, ''));
    DECLARE v_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_reason, ''));
    DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    -- 1422: a function or trigger, which has a transaction.
    DECLARE CONTINUE HANDLER FOR 1422 BEGIN END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout;
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    IF CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('set_appl_lock_policy', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF v_longest_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('set_appl_lock_policy', 'p_longest_ttl_seconds', 315360000);
    ELSEIF p_default_ttl_seconds NOT BETWEEN 1 AND v_longest_ttl_seconds THEN
        CALL appl_lock_refuse_number('set_appl_lock_policy', 'p_default_ttl_seconds', v_longest_ttl_seconds);
    ELSEIF v_take_reason_fl NOT IN ('Y', 'N') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'set_appl_lock_policy: p_take_reason_fl must be Y or N';
    ELSEIF CHAR_LENGTH(v_actor_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('set_appl_lock_policy', 'p_actor_id', CHAR_LENGTH(v_actor_id), 64);
    ELSEIF CHAR_LENGTH(v_reason) > 180 THEN
        CALL appl_lock_refuse_text('set_appl_lock_policy', 'p_reason', CHAR_LENGTH(v_reason), 180);
    ELSEIF v_history_level NOT IN ('ALL', 'CHANGES') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'set_appl_lock_policy: p_history_level is ALL or CHANGES';
    END IF;

    SET SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    CALL appl_lock_begin(v_began);
    -- S1: this is the policy from now on.
    INSERT INTO appl_lock_policy (object_type, default_ttl_seconds, longest_ttl_seconds, take_reason_fl, history_level)
    VALUES (v_object_type, p_default_ttl_seconds, p_longest_ttl_seconds, v_take_reason_fl, v_history_level)
    ON DUPLICATE KEY UPDATE
        default_ttl_seconds = p_default_ttl_seconds,
        longest_ttl_seconds = p_longest_ttl_seconds,
        take_reason_fl = v_take_reason_fl,
        history_level = v_history_level;
    CALL appl_lock_record(
        'POLICY', v_object_type, '', v_actor_id, '', '', 0, '', '', 0,
        CONCAT(
            'default ', COALESCE(p_default_ttl_seconds, 'none'), ', longest ', COALESCE(p_longest_ttl_seconds, 'none'),
            ', take reason ', v_take_reason_fl, ', history ', v_history_level, IF(v_reason = '', '', ': '), v_reason
        )
    );
    IF v_began THEN
        CALL appl_lock_end(TRUE);
    END IF;
    SET SESSION innodb_lock_wait_timeout = v_timeout;
    SET p_return_cd = 'Y';
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
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Lay down how long locks on objects of a type last, whether a take wants a reason, and what the history is told.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'set_appl_lock_policy: is being replaced; call again, or install it again if that lasts';
    CALL set_appl_lock_policy_core(
        p_object_type, p_default_ttl_seconds, p_longest_ttl_seconds, p_take_reason_fl,
        p_actor_id, p_reason, p_history_level,
        p_return_cd, p_outcome
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
    IN p_history_level LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Lay down how long locks on objects of a type last, whether a take wants a reason, and what the history is told; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'set_appl_lock_policy: is being replaced; call again, or install it again if that lasts';
    CALL set_appl_lock_policy_core(
        p_object_type, p_default_ttl_seconds, p_longest_ttl_seconds, p_take_reason_fl,
        p_actor_id, p_reason, p_history_level,
        v_return_cd, v_outcome
    );
    SELECT
        v_return_cd AS p_return_cd,
        v_outcome AS p_outcome;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS stats_appl_locks_core;
-- +goose StatementBegin
-- stats_appl_locks: how many locks and waiters there are of each type and department, and how old and how long.
--
-- Contract   One row for each type and department that has a row in appl_lock, or somebody who is listed in
--            appl_lock_waiter: live locks by the department of the holder, waiters by their own. What is free is
--            nobody's, and has the empty one. The sum of live and expired is the number of rows of appl_lock.
-- In         p_object_type 1..64, p_department_id 0..64: NULL = any. Trailing blanks are trimmed first.
-- Out        live, expired (free again, and not purged), oldest_seconds (since acquired_ts, of live locks),
--            next_expiry_seconds (to expires_ts, of live locks), waiters (listed now), longest_wait_seconds (since
--            since_ts), ordered by object_type, department_id as bytes. Seconds are whole ones: what lies behind is
--            rounded down, what lies ahead is rounded up; 0 for none, and for what the clock was set back behind.
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine.
-- Locks      Nothing; never waits and never writes. It reads each table once, from end to end, or what there is of the
--            type, and keeps a temporary table of the answer's size.
-- Race-free  The answer is one snapshot, and one time is the now of all its rows.
-- Differs    As list_appl_locks.

CREATE PROCEDURE stats_appl_locks_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation stats_appl_locks.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_department_id, ''));

    IF p_object_type IS NOT NULL AND CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64
        OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('stats_appl_locks', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF CHAR_LENGTH(v_department_id) > 64 THEN
        CALL appl_lock_refuse_text('stats_appl_locks', 'p_department_id', CHAR_LENGTH(v_department_id), 64);
    END IF;

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
            SUM(NOT l.is_live) AS expired,
            GREATEST(COALESCE(TIMESTAMPDIFF(SECOND, MIN(IF(l.is_live, l.acquired_ts, NULL)), UTC_TIMESTAMP(6)), 0), 0) AS oldest_seconds,
            COALESCE((TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), MIN(IF(l.is_live, l.expires_ts, NULL))) + 999999) DIV 1000000, 0)
                AS next_expiry_seconds,
            0 AS waiters,
            0 AS longest_wait_seconds
        FROM (
            SELECT
                a.object_type,
                IF(a.operator_id <> '' AND a.expires_ts > UTC_TIMESTAMP(6), a.department_id, '') AS department_id,
                a.acquired_ts,
                a.expires_ts,
                a.operator_id <> '' AND a.expires_ts > UTC_TIMESTAMP(6) AS is_live
            FROM appl_lock AS a
            WHERE p_object_type IS NULL OR a.object_type = v_object_type
        ) AS l
        WHERE p_department_id IS NULL OR l.department_id = v_department_id
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
        WHERE (p_object_type IS NULL OR w.object_type = v_object_type)
            AND (p_department_id IS NULL OR w.department_id = v_department_id)
            AND w.expires_ts > UTC_TIMESTAMP(6)
        GROUP BY w.object_type, w.department_id
    ) AS s
    GROUP BY s.object_type, s.department_id
    ORDER BY s.object_type, s.department_id;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS stats_appl_locks;
-- +goose StatementBegin
CREATE PROCEDURE stats_appl_locks(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'How many locks and waiters there are of each type and department, and how old and how long.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'stats_appl_locks: is being replaced; call again, or install it again if that lasts';
    CALL stats_appl_locks_core(p_object_type, p_department_id);
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS take_appl_lock_core;
-- +goose StatementBegin
-- take_appl_lock: take a held object from whoever holds it, for a reason.
--
-- Contract   Y TAKEN: somebody held it, by the grant p_expected_fence or, if that is NULL, by whichever; p_operator_id
--            holds it now: a new grant, a greater fence, an empty note. p_old_* tell from whom it was taken. Of what it
--            holds itself an operator gets a new grant, too, and p_old_* are empty: nobody was displaced.
--            That is an event of the history, TAKEN, with the reason: p_operator_id is the actor.
--            The greatest ttl of the type's policy, if it has one, is that of the new grant, too, as p_expires_ts tells.
--            N HELD: another grant than p_expected_fence holds it; p_old_* and p_expires_ts tell who and until when.
--            N FREE: nobody holds it; nothing changed: get_appl_lock gets it.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64; p_department_id
--            0..64, NULL = empty; p_reason 1..255, or empty if the type's policy says N;
--            p_expected_fence 1 or greater, NULL = whichever;
--            p_ttl_seconds 1..315360000, NULL = that of the grant that ends: expires_ts - lock_ts in whole
--            seconds, rounded up, at least 1.
--            Trailing blanks are trimmed first.
-- Out        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id (empty when FREE, and when p_operator_id
--            held it), p_fence (0 unless TAKEN), p_expires_ts (NULL when FREE), p_seconds_left (whole seconds
--            from now to p_expires_ts, rounded up; 0 when FREE).
-- Raises     LK001 invalid argument. LK003 when the object changed hands thirty times during the call, or
--            an upgrade is replacing the routine. 1205 after 1 s of waiting for another
--            transaction, 1213 deadlock.
-- Locks      S1 locks the object's one row and answers HELD and FREE, S2 decides on the same row; held to the end of the
--            caller's transaction. At REPEATABLE READ an object without a row leaves its gap locked so long.
-- Race-free  Take against renewal, release, transfer or another take: S2 changes the row only if it is still the very
--            row that S1 read (same fence, lock_ts and expires_ts), and ROW_COUNT says so, because the fence
--            changes. A renewal that went first keeps the fence, and S1 reads its ttl; any other change ends that grant, and of
--            two takes that expect the same fence one wins and the other answers HELD.
--            The event: under autocommit S1, S2 and the event are one transaction of the call's own.
--            REPEATABLE READ: only locking reads, so that a later get is not given a stale view.
-- Differs    A refusal locks the row until the caller's transaction ends, and waits for a transaction that
--            is changing the row: a plain read would fix the caller's snapshot too early. No 40001: InnoDB judges the newest row. What a
--            session's settings can do: procedures/README.md.

CREATE PROCEDURE take_appl_lock_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_expected_fence BIGINT,
    IN p_ttl_seconds BIGINT,
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT
)
COMMENT 'Internal to applock: the operation take_appl_lock.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
main: BEGIN
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_id, ''));
    DECLARE v_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_operator_id, ''));
    DECLARE v_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_department_id, ''));
    DECLARE v_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_reason, ''));
    DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    DECLARE v_round INT DEFAULT 1;
    DECLARE v_longest_ttl_seconds BIGINT;
    DECLARE v_take_reason_fl CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_now DATETIME(6);
    DECLARE v_old_fence BIGINT;
    DECLARE v_old_lock_ts DATETIME(6);
    DECLARE v_old_expires_ts DATETIME(6);
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_old_fence = NULL;
    -- 1422: a function or trigger, which has a transaction.
    DECLARE CONTINUE HANDLER FOR 1422 BEGIN END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout;
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    IF CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF CHAR_LENGTH(v_object_id) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_object_id', CHAR_LENGTH(v_object_id), 255);
    ELSEIF CHAR_LENGTH(v_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_operator_id', CHAR_LENGTH(v_operator_id), 64);
    ELSEIF CHAR_LENGTH(v_department_id) > 64 THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_department_id', CHAR_LENGTH(v_department_id), 64);
    ELSEIF CHAR_LENGTH(v_reason) > 255 THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_reason', CHAR_LENGTH(v_reason), 255);
    ELSEIF p_expected_fence < 1 THEN
        CALL appl_lock_refuse_number('take_appl_lock', 'p_expected_fence', 9223372036854775807);
    ELSEIF p_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('take_appl_lock', 'p_ttl_seconds', 315360000);
    END IF;

    SET SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    CALL appl_lock_begin(v_began);
    -- What is laid down for the type? The aggregates make it one row in any case.
    SELECT MIN(p.longest_ttl_seconds), MIN(p.take_reason_fl)
    INTO v_longest_ttl_seconds, v_take_reason_fl
    FROM appl_lock_policy AS p
    WHERE p.object_type = v_object_type
    LOCK IN SHARE MODE;
    IF v_reason = '' AND COALESCE(v_take_reason_fl, 'Y') = 'Y' THEN
        CALL appl_lock_refuse_text('take_appl_lock', 'p_reason', 0, 255);
    END IF;
    REPEAT
        -- S1: who holds it?
        SELECT l.operator_id, l.department_id, l.fence, l.lock_ts, l.expires_ts
        INTO p_old_operator_id, p_old_department_id, v_old_fence, v_old_lock_ts, v_old_expires_ts
        FROM appl_lock AS l
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.operator_id <> ''
            AND l.expires_ts > UTC_TIMESTAMP(6)
        FOR UPDATE;
        SET v_now = UTC_TIMESTAMP(6);
        IF v_old_fence IS NULL OR v_old_fence <> p_expected_fence THEN
            IF v_began THEN
                CALL appl_lock_end(TRUE);
            END IF;
            SET SESSION innodb_lock_wait_timeout = v_timeout;
            SET p_return_cd = 'N';
            SET p_outcome = IF(v_old_fence IS NULL, 'FREE', 'HELD');
            SET p_old_operator_id = IF(v_old_fence IS NULL, '', p_old_operator_id);
            SET p_old_department_id = IF(v_old_fence IS NULL, '', p_old_department_id);
            SET p_fence = 0;
            SET p_expires_ts = IF(v_old_fence IS NULL, NULL, v_old_expires_ts);
            SET p_seconds_left = IF(
                v_old_fence IS NULL, 0, GREATEST((TIMESTAMPDIFF(MICROSECOND, v_now, v_old_expires_ts) + 999999) DIV 1000000, 1)
            );
            LEAVE main;
        END IF;

        -- S2: a new grant, if it is still so.
        SET p_seconds_left = LEAST(COALESCE(
            p_ttl_seconds, GREATEST((TIMESTAMPDIFF(MICROSECOND, v_old_lock_ts, v_old_expires_ts) + 999999) DIV 1000000, 1)
        ), COALESCE(v_longest_ttl_seconds, 315360000));
        SET p_expires_ts = v_now + INTERVAL p_seconds_left SECOND;
        SET p_fence = GREATEST(v_old_fence + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', v_now));
        UPDATE appl_lock AS l
        SET l.fence = p_fence,
            l.operator_id = v_operator_id,
            l.department_id = v_department_id,
            l.acquired_ts = v_now,
            l.lock_ts = v_now,
            l.expires_ts = p_expires_ts,
            l.note = ''
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.fence = v_old_fence
            AND l.lock_ts = v_old_lock_ts
            AND l.expires_ts = v_old_expires_ts
            AND l.expires_ts > v_now;
        IF ROW_COUNT() > 0 THEN
            CALL appl_lock_record(
                'TAKEN', v_object_type, v_object_id, v_operator_id,
                p_old_operator_id, p_old_department_id, v_old_fence, v_operator_id, v_department_id, p_fence, v_reason
            );
            IF v_began THEN
                CALL appl_lock_end(TRUE);
            END IF;
            SET SESSION innodb_lock_wait_timeout = v_timeout;
            SET p_return_cd = 'Y';
            SET p_outcome = 'TAKEN';
            IF p_old_operator_id = v_operator_id THEN
                SET p_old_operator_id = '';
                SET p_old_department_id = '';
            END IF;
            LEAVE main;
        END IF;
        SET v_round = v_round + 1;
    UNTIL v_round > 30 END REPEAT;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'take_appl_lock: the object changed hands during the call; call again';
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
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT
)
COMMENT 'Take a held object from whoever holds it, for a reason.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'take_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL take_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_reason, p_expected_fence, p_ttl_seconds,
        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_expires_ts, p_seconds_left
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
COMMENT 'Take a held object from whoever holds it, for a reason; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_fence BIGINT;
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_seconds_left BIGINT;
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'take_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL take_appl_lock_core(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_reason, p_expected_fence, p_ttl_seconds,
        v_return_cd, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_expires_ts, v_seconds_left
    );
    SELECT
        v_return_cd AS p_return_cd,
        v_outcome AS p_outcome,
        v_old_operator_id AS p_old_operator_id,
        v_old_department_id AS p_old_department_id,
        v_fence AS p_fence,
        v_expires_ts AS p_expires_ts,
        v_seconds_left AS p_seconds_left;
END;
-- +goose StatementEnd

DROP PROCEDURE IF EXISTS transfer_appl_lock_core;
-- +goose StatementBegin
-- transfer_appl_lock: hand a held object from one operator to another.
--
-- Contract   Y TRANSFERRED: p_from held it; p_to holds it now: a new grant, a greater fence.
--            That is an event of the history, with who did it and why.
--            The greatest ttl of the type's policy, if it has one, is that of the new grant, too, as p_expires_ts tells.
--            N HELD: somebody else than p_from holds it; p_old_* and p_expires_ts tell who and until when.
--            N FREE: nobody holds it; nothing changed.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_from_operator_id and
--            p_to_operator_id 1..64, may be equal; p_to_department_id 0..64, NULL = empty;
--            p_ttl_seconds 1..315360000, NULL = that of the grant that ends: expires_ts - lock_ts in whole
--            seconds, rounded up, at least 1; p_actor_id 1..64, NULL = p_from_operator_id; p_reason 0..255, NULL = empty.
--            Trailing blanks are trimmed first.
-- Out        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD),
--            p_fence (0 unless TRANSFERRED), p_expires_ts (NULL when FREE), p_seconds_left (whole seconds
--            from now to p_expires_ts, rounded up; 0 when FREE).
-- Raises     LK001 invalid argument. LK003 when the object changed hands thirty times during the call, or
--            an upgrade is replacing the routine. 1205 after 1 s of waiting for another
--            transaction, 1213 deadlock.
-- Locks      S1 locks the object's one row and answers HELD and FREE, S1b the row of its type's policy, or the gap for it,
--            for reading, S2 decides on the object's row; held to the end of the
--            caller's transaction. At REPEATABLE READ an object without a row leaves its gap locked so long.
-- Race-free  Transfer against release, take-over or another transfer: S2 changes the row only if it is still the very
--            row that S1 read (same operator, fence, lock_ts and expires_ts), and ROW_COUNT says so, because the fence
--            changes; of two transfers from the same operator one wins and the other answers HELD. The fence is greater
--            than that row's, the ttl that it keeps is that row's, and so is what the event names.
--            The event: under autocommit S1, S2 and the event are one transaction of the call's own.
--            REPEATABLE READ: only locking reads, so that a later get is not given a stale view.
-- Differs    A refusal locks the row until the caller's transaction ends, and waits for a transaction that
--            is changing the row: a plain read would fix the caller's snapshot too early. No 40001: InnoDB judges the newest row. What a
--            session's settings can do: procedures/README.md.

CREATE PROCEDURE transfer_appl_lock_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_from_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_to_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_ttl_seconds BIGINT,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT
)
COMMENT 'Internal to applock: the operation transfer_appl_lock.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
main: BEGIN
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_object_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_id, ''));
    DECLARE v_from_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_from_operator_id, ''));
    DECLARE v_to_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_to_operator_id, ''));
    DECLARE v_to_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_to_department_id, ''));
    DECLARE v_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_actor_id, v_from_operator_id));
    DECLARE v_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_reason, ''));
    DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    DECLARE v_round INT DEFAULT 1;
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_now DATETIME(6);
    DECLARE v_old_fence BIGINT;
    DECLARE v_old_lock_ts DATETIME(6);
    DECLARE v_old_expires_ts DATETIME(6);
    DECLARE v_longest_ttl_seconds BIGINT;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_old_fence = NULL;
    -- 1422: a function or trigger, which has a transaction.
    DECLARE CONTINUE HANDLER FOR 1422 BEGIN END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout;
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    IF CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF CHAR_LENGTH(v_object_id) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_object_id', CHAR_LENGTH(v_object_id), 255);
    ELSEIF CHAR_LENGTH(v_from_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_from_operator_id', CHAR_LENGTH(v_from_operator_id), 64);
    ELSEIF CHAR_LENGTH(v_to_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_to_operator_id', CHAR_LENGTH(v_to_operator_id), 64);
    ELSEIF CHAR_LENGTH(v_to_department_id) > 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_to_department_id', CHAR_LENGTH(v_to_department_id), 64);
    ELSEIF p_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('transfer_appl_lock', 'p_ttl_seconds', 315360000);
    ELSEIF CHAR_LENGTH(v_actor_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_actor_id', CHAR_LENGTH(v_actor_id), 64);
    ELSEIF CHAR_LENGTH(v_reason) > 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_lock', 'p_reason', CHAR_LENGTH(v_reason), 255);
    END IF;

    SET SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    CALL appl_lock_begin(v_began);
    REPEAT
        -- S1: who holds it?
        SELECT l.operator_id, l.department_id, l.fence, l.lock_ts, l.expires_ts
        INTO p_old_operator_id, p_old_department_id, v_old_fence, v_old_lock_ts, v_old_expires_ts
        FROM appl_lock AS l
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.operator_id <> ''
            AND l.expires_ts > UTC_TIMESTAMP(6)
        FOR UPDATE;
        SET v_now = UTC_TIMESTAMP(6);
        IF v_old_fence IS NULL OR p_old_operator_id <> v_from_operator_id THEN
            IF v_began THEN
                CALL appl_lock_end(TRUE);
            END IF;
            SET SESSION innodb_lock_wait_timeout = v_timeout;
            SET p_return_cd = 'N';
            SET p_outcome = IF(v_old_fence IS NULL, 'FREE', 'HELD');
            SET p_old_operator_id = IF(v_old_fence IS NULL, '', p_old_operator_id);
            SET p_old_department_id = IF(v_old_fence IS NULL, '', p_old_department_id);
            SET p_fence = 0;
            SET p_expires_ts = IF(v_old_fence IS NULL, NULL, v_old_expires_ts);
            SET p_seconds_left = IF(
                v_old_fence IS NULL, 0, GREATEST((TIMESTAMPDIFF(MICROSECOND, v_now, v_old_expires_ts) + 999999) DIV 1000000, 1)
            );
            LEAVE main;
        END IF;

        -- S1b: how long may it last? The aggregate makes it one row in any case.
        SELECT MIN(p.longest_ttl_seconds)
        INTO v_longest_ttl_seconds
        FROM appl_lock_policy AS p
        WHERE p.object_type = v_object_type
        LOCK IN SHARE MODE;

        -- S2: a new grant for the other operator, if it is still so.
        SET p_seconds_left = LEAST(COALESCE(
            p_ttl_seconds, GREATEST((TIMESTAMPDIFF(MICROSECOND, v_old_lock_ts, v_old_expires_ts) + 999999) DIV 1000000, 1)
        ), COALESCE(v_longest_ttl_seconds, 315360000));
        SET p_expires_ts = v_now + INTERVAL p_seconds_left SECOND;
        SET p_fence = GREATEST(v_old_fence + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', v_now));
        UPDATE appl_lock AS l
        SET l.fence = p_fence,
            l.operator_id = v_to_operator_id,
            l.department_id = v_to_department_id,
            l.acquired_ts = v_now,
            l.lock_ts = v_now,
            l.expires_ts = p_expires_ts,
            l.note = ''
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.operator_id = v_from_operator_id
            AND l.fence = v_old_fence
            AND l.lock_ts = v_old_lock_ts
            AND l.expires_ts = v_old_expires_ts
            AND l.expires_ts > v_now;
        IF ROW_COUNT() > 0 THEN
            CALL appl_lock_record(
                'TRANSFERRED', v_object_type, v_object_id, v_actor_id,
                v_from_operator_id, p_old_department_id, v_old_fence, v_to_operator_id, v_to_department_id, p_fence, v_reason
            );
            IF v_began THEN
                CALL appl_lock_end(TRUE);
            END IF;
            SET SESSION innodb_lock_wait_timeout = v_timeout;
            SET p_return_cd = 'Y';
            SET p_outcome = 'TRANSFERRED';
            SET p_old_operator_id = '';
            SET p_old_department_id = '';
            LEAVE main;
        END IF;
        SET v_round = v_round + 1;
    UNTIL v_round > 30 END REPEAT;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'transfer_appl_lock: the object changed hands during the call; call again';
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
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_fence BIGINT,
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
        p_object_type, p_object_id, p_from_operator_id, p_to_operator_id, p_to_department_id, p_ttl_seconds,
        p_actor_id, p_reason,
        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_expires_ts, p_seconds_left
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
    DECLARE v_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_fence BIGINT;
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_seconds_left BIGINT;
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'transfer_appl_lock: is being replaced; call again, or install it again if that lasts';
    CALL transfer_appl_lock_core(
        p_object_type, p_object_id, p_from_operator_id, p_to_operator_id, p_to_department_id, p_ttl_seconds,
        p_actor_id, p_reason,
        v_return_cd, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_expires_ts, v_seconds_left
    );
    SELECT
        v_return_cd AS p_return_cd,
        v_outcome AS p_outcome,
        v_old_operator_id AS p_old_operator_id,
        v_old_department_id AS p_old_department_id,
        v_fence AS p_fence,
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
--            TRANSFERRED: a new grant of p_to, and an event of the history, as transfer_appl_lock has it.
--            BUSY: another transaction has locked the object's row. HELD or FREE: it has changed hands since the page
--            was read; old_* and expires_ts tell who holds it. These are left as they are, and the next ones are done.
--            WOULD_TRANSFER: p_dry_run_fl is Y, and nothing is done. It does not tell what is busy.
-- In         p_from_operator_id and p_to_operator_id 1..64, may be equal; p_object_type 1..64 without ":", NULL = any;
--            p_to_department_id 0..64, NULL = empty; p_ttl_seconds 1..315360000, NULL = that of each grant that ends;
--            p_actor_id 1..64, NULL = p_from_operator_id; p_reason 0..255, NULL = empty; p_after_type 0..64, p_after_id 0..255,
--            NULL = from the start; p_max_rows 1..10000, NULL = 1000; p_dry_run_fl Y or N, NULL or empty = N. Trailing blanks
--            are trimmed first. LONGTEXT, so that length is checked here.
-- Out        object_type, object_id, outcome, old_operator_id, old_department_id (empty unless HELD), fence (of the new grant;
--            of the old one when BUSY or WOULD_TRANSFER; 0 when HELD or FREE), expires_ts (NULL when FREE), seconds_left
--            (whole seconds from when the row was done, rounded up), ordered by object_type, object_id as bytes.
-- Raises     LK001 invalid argument: nothing is done. 1205, 1213 as transfer_appl_lock, and LK003 also when an upgrade is
--            replacing the routine: then the page is undone, unless the caller has a transaction, who is to roll it back.
-- Locks      S1 is a plain read, as list_appl_locks. S2 locks one row after the other in the order of the keys, and waits for
--            none; S3 is transfer_appl_lock on that row. All are held to the end of the caller's transaction, or of the page's.
-- Race-free  Against get, release, take-over or another transfer: S3 decides, as it does alone, on a row that S2 has locked and
--            nobody changes any more. What was got after S1 is not in the page.
--            Two at once: one finds the other's rows BUSY, or HELD by p_to, and neither waits.
--            Begun again after a page: nothing is done twice, because what is done is not p_from's any more.
--            Under autocommit S2 and S3 of all rows are one transaction of the call's own, which S1 is no part of.
-- Differs    A get that is refused locks the row for a moment: then it is BUSY. In a transaction at REPEATABLE READ S1 sees the
--            transaction's snapshot, which S1 fixes if nothing has before: what is not p_from's any more is HELD or FREE.
--            At SERIALIZABLE it locks what it reads there, and waits for others, as every plain read does.

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
    DECLARE v_from_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_from_operator_id, ''));
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_to_operator_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_to_operator_id, ''));
    DECLARE v_to_department_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_to_department_id, ''));
    DECLARE v_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_actor_id, v_from_operator_id));
    DECLARE v_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_reason, ''));
    DECLARE v_after_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_after_type, ''));
    DECLARE v_after_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_after_id, ''));
    DECLARE v_dry_run_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_dry_run_fl, ''));
    DECLARE v_max_rows BIGINT DEFAULT COALESCE(p_max_rows, 1000);
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_at_end BOOLEAN DEFAULT FALSE;
    DECLARE v_now DATETIME(6);
    DECLARE v_row_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_row_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_outcome VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_fence BIGINT;
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_seconds_left BIGINT;
    DECLARE v_told LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '';
    DECLARE page CURSOR FOR
        SELECT l.object_type, l.object_id, l.fence, l.expires_ts
        FROM appl_lock AS l
        WHERE (l.object_type > v_after_type OR (l.object_type = v_after_type AND l.object_id > v_after_id))
            AND (p_object_type IS NULL OR l.object_type = v_object_type)
            AND l.operator_id = v_from_operator_id
            AND l.expires_ts > v_now
        ORDER BY l.object_type, l.object_id
        LIMIT v_max_rows;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_at_end = TRUE;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    IF CHAR_LENGTH(v_from_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_from_operator_id', CHAR_LENGTH(v_from_operator_id), 64);
    ELSEIF p_object_type IS NOT NULL AND CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64
        OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF CHAR_LENGTH(v_to_operator_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_to_operator_id', CHAR_LENGTH(v_to_operator_id), 64);
    ELSEIF CHAR_LENGTH(v_to_department_id) > 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_to_department_id', CHAR_LENGTH(v_to_department_id), 64);
    ELSEIF p_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('transfer_appl_locks', 'p_ttl_seconds', 315360000);
    ELSEIF CHAR_LENGTH(v_actor_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_actor_id', CHAR_LENGTH(v_actor_id), 64);
    ELSEIF CHAR_LENGTH(v_reason) > 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_reason', CHAR_LENGTH(v_reason), 255);
    ELSEIF CHAR_LENGTH(v_after_type) > 64 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_after_type', CHAR_LENGTH(v_after_type), 64);
    ELSEIF CHAR_LENGTH(v_after_id) > 255 THEN
        CALL appl_lock_refuse_text('transfer_appl_locks', 'p_after_id', CHAR_LENGTH(v_after_id), 255);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('transfer_appl_locks', 'p_max_rows', 10000);
    ELSEIF v_dry_run_fl NOT IN ('Y', 'N', '') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'transfer_appl_locks: p_dry_run_fl must be Y or N';
    END IF;

    -- S1: the page. The cursor has all of it before the first lock changes, and outside of the transaction of S2 and S3.
    SET v_now = UTC_TIMESTAMP(6);
    OPEN page;
    IF v_dry_run_fl <> 'Y' THEN
        CALL appl_lock_begin(v_began);
    END IF;
    locks: LOOP
        FETCH page INTO v_row_type, v_row_id, v_fence, v_expires_ts;
        IF v_at_end THEN
            LEAVE locks;
        END IF;
        SET v_outcome = 'WOULD_TRANSFER';
        SET v_old_operator_id = '';
        SET v_old_department_id = '';
        IF v_dry_run_fl <> 'Y' THEN
            -- S2: is the row at hand, and what grant does it have?
            SET v_outcome = '';
            SELECT l.fence, l.expires_ts
            INTO v_fence, v_expires_ts
            FROM appl_lock AS l
            WHERE l.object_type = v_row_type
                AND l.object_id = v_row_id
            FOR UPDATE SKIP LOCKED;
            IF v_at_end THEN
                SET v_outcome = 'BUSY';
                SET v_at_end = FALSE;
            END IF;
        END IF;
        SET v_now = UTC_TIMESTAMP(6);
        SET v_seconds_left = GREATEST((TIMESTAMPDIFF(MICROSECOND, v_now, v_expires_ts) + 999999) DIV 1000000, 1);
        IF v_outcome = '' THEN
            -- S3: hand it over.
            CALL transfer_appl_lock_core(
                v_row_type, v_row_id, v_from_operator_id, v_to_operator_id, v_to_department_id, p_ttl_seconds,
                v_actor_id, v_reason,
                v_return_cd, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_expires_ts, v_seconds_left
            );
        END IF;
        SET v_told = CONCAT(v_told, IF(v_told = '', '[', ','), JSON_ARRAY(
            v_row_type, v_row_id, v_outcome, v_old_operator_id, v_old_department_id, v_fence, v_expires_ts, v_seconds_left
        ));
    END LOOP locks;
    CLOSE page;
    -- What is longer than max_allowed_packet is NULL, and nothing must be done that is not told.
    IF v_told IS NULL THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'transfer_appl_locks: p_max_rows is too much for max_allowed_packet';
    END IF;
    IF v_began THEN
        CALL appl_lock_end(TRUE);
    END IF;

    SELECT
        t.object_type,
        t.object_id,
        t.outcome,
        t.old_operator_id,
        t.old_department_id,
        t.fence,
        t.expires_ts,
        t.seconds_left
    FROM JSON_TABLE(IF(v_told = '', '[]', CONCAT(v_told, ']')), '$[*]' COLUMNS (
        place FOR ORDINALITY,
        object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[0]',
        object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[1]',
        outcome VARCHAR(16) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[2]',
        old_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[3]',
        old_department_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PATH '$[4]',
        fence BIGINT PATH '$[5]',
        expires_ts DATETIME(6) PATH '$[6]',
        seconds_left BIGINT PATH '$[7]'
    )) AS t
    ORDER BY t.place;
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
DROP PROCEDURE IF EXISTS stats_appl_locks;
DROP PROCEDURE IF EXISTS stats_appl_locks_core;
DROP PROCEDURE IF EXISTS set_appl_lock_policy_row;
DROP PROCEDURE IF EXISTS set_appl_lock_policy;
DROP PROCEDURE IF EXISTS set_appl_lock_policy_core;
DROP PROCEDURE IF EXISTS serialize_appl_lock_row;
DROP PROCEDURE IF EXISTS serialize_appl_lock;
DROP PROCEDURE IF EXISTS serialize_appl_lock_core;
DROP PROCEDURE IF EXISTS retract_appl_lock_waiter_row;
DROP PROCEDURE IF EXISTS retract_appl_lock_waiter;
DROP PROCEDURE IF EXISTS retract_appl_lock_waiter_core;
DROP PROCEDURE IF EXISTS renew_appl_locks;
DROP PROCEDURE IF EXISTS renew_appl_locks_core;
DROP PROCEDURE IF EXISTS release_appl_locks;
DROP PROCEDURE IF EXISTS release_appl_locks_core;
DROP PROCEDURE IF EXISTS release_appl_lock_row;
DROP PROCEDURE IF EXISTS release_appl_lock_row_core;
DROP PROCEDURE IF EXISTS release_appl_lock;
DROP PROCEDURE IF EXISTS release_appl_lock_core;
DROP PROCEDURE IF EXISTS purge_appl_locks_row;
DROP PROCEDURE IF EXISTS purge_appl_locks;
DROP PROCEDURE IF EXISTS purge_appl_locks_core;
DROP PROCEDURE IF EXISTS poll_appl_locks;
DROP PROCEDURE IF EXISTS poll_appl_locks_core;
DROP PROCEDURE IF EXISTS note_appl_lock_row;
DROP PROCEDURE IF EXISTS note_appl_lock;
DROP PROCEDURE IF EXISTS note_appl_lock_core;
DROP PROCEDURE IF EXISTS list_appl_locks;
DROP PROCEDURE IF EXISTS list_appl_locks_core;
DROP PROCEDURE IF EXISTS list_appl_lock_waiters;
DROP PROCEDURE IF EXISTS list_appl_lock_waiters_core;
DROP PROCEDURE IF EXISTS list_appl_lock_policies;
DROP PROCEDURE IF EXISTS list_appl_lock_policies_core;
DROP PROCEDURE IF EXISTS list_appl_lock_events;
DROP PROCEDURE IF EXISTS list_appl_lock_events_core;
DROP PROCEDURE IF EXISTS inquire_appl_lock_row;
DROP PROCEDURE IF EXISTS inquire_appl_lock;
DROP PROCEDURE IF EXISTS inquire_appl_lock_core;
DROP PROCEDURE IF EXISTS inbox_appl_locks;
DROP PROCEDURE IF EXISTS inbox_appl_locks_core;
DROP PROCEDURE IF EXISTS get_appl_lock_permit;
DROP PROCEDURE IF EXISTS get_appl_lock_permit_core;
DROP PROCEDURE IF EXISTS get_appl_lock_rows;
DROP PROCEDURE IF EXISTS get_appl_lock_rows_core;
DROP PROCEDURE IF EXISTS get_appl_lock_row;
DROP PROCEDURE IF EXISTS get_appl_lock_row_core;
DROP PROCEDURE IF EXISTS get_appl_lock;
DROP PROCEDURE IF EXISTS get_appl_lock_core;
DROP PROCEDURE IF EXISTS get_appl_lock_tell;
DROP PROCEDURE IF EXISTS get_appl_lock_overtake;
DROP PROCEDURE IF EXISTS drop_appl_lock_policy_row;
DROP PROCEDURE IF EXISTS drop_appl_lock_policy;
DROP PROCEDURE IF EXISTS drop_appl_lock_policy_core;
DROP PROCEDURE IF EXISTS assert_appl_lock_row;
DROP PROCEDURE IF EXISTS assert_appl_lock;
DROP PROCEDURE IF EXISTS assert_appl_lock_core;
DROP PROCEDURE IF EXISTS appl_lock_version;
DROP PROCEDURE IF EXISTS appl_lock_version_core;
DROP PROCEDURE IF EXISTS appl_lock_end;
DROP PROCEDURE IF EXISTS appl_lock_begin;
DROP PROCEDURE IF EXISTS appl_lock_record;
DROP PROCEDURE IF EXISTS announce_appl_lock_waiter_row;
DROP PROCEDURE IF EXISTS announce_appl_lock_waiter;
DROP PROCEDURE IF EXISTS announce_appl_lock_waiter_core;
DROP PROCEDURE IF EXISTS appl_lock_refuse_number;
DROP PROCEDURE IF EXISTS appl_lock_refuse_text;

SET SESSION sql_mode = @applock_sql_mode;
