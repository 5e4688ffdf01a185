-- For Db2 for z/OS 12, function level 507, and later. Made by `make snapshot` from procedures/db2/announce_appl_lock_waiter.sql
-- with the deltas of internal/build/snapshot/zos.go: edit it there. What is different from the text below:
-- a wait for another transaction lasts as long as the subsystem says (IRLMRWT), not 1 s; a row that another
-- transaction is updating is waited for by a plain read, too.
--
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
-- Raises     LK001 invalid argument. LK003 when the waiter came and went three times during the call. -911 and
--            -913 as get_appl_lock.
-- Locks      S1 changes the waiter's one row, or S2 inserts it; held to the end of the caller's transaction.
--            Announce, retract and purge of this very waiter wait for it, and a poll of its program that keeps
--            its waiters listed.
-- Race-free  Two calls: the primary key lets one insert; the other waits, gets 23505, and its next round finds
--            the row. S1 judges the row that it changes, and an uncommitted change is waited for.
--            Against retract and purge: one of them has the row; an announce that waited inserts a new one.
-- Differs    Two statements: MERGE may raise 23505, too, and a handler around it would need the same rounds.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE announce_appl_lock_waiter (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_department_id VARCHAR(4000),
    IN p_client_id VARCHAR(4000),
    IN p_wait_seconds BIGINT
)
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
PARAMETER CCSID UNICODE
ISOLATION LEVEL CS
CONCURRENT ACCESS RESOLUTION USE CURRENTLY COMMITTED
VALIDATE BIND
DISALLOW DEBUG MODE
main: BEGIN
    DECLARE v_object_type VARCHAR(4000);
    DECLARE v_object_id VARCHAR(4000);
    DECLARE v_operator_id VARCHAR(4000);
    DECLARE v_department_id VARCHAR(4000);
    DECLARE v_client_id VARCHAR(4000);
    DECLARE v_round INTEGER DEFAULT 0;
    DECLARE v_changed INTEGER DEFAULT 0;
    DECLARE v_now TIMESTAMP;
    DECLARE v_until_ts TIMESTAMP;
    DECLARE v_expires_ts TIMESTAMP;

    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    SET v_department_id = RTRIM(COALESCE(p_department_id, ''));
    SET v_client_id = RTRIM(COALESCE(p_client_id, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('announce_appl_lock_waiter', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('announce_appl_lock_waiter', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_operator_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('announce_appl_lock_waiter', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_department_id, CODEUNITS32) > 64 THEN
        CALL appl_lock_refuse_text('announce_appl_lock_waiter', 'p_department_id', CHARACTER_LENGTH(v_department_id, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_client_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('announce_appl_lock_waiter', 'p_client_id', CHARACTER_LENGTH(v_client_id, CODEUNITS32), 64);
    ELSEIF p_wait_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('announce_appl_lock_waiter', 'p_wait_seconds', 315360000);
    END IF;

    WHILE v_round < 3 DO
        SET v_round = v_round + 1;
        SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
        -- NULL is NULL: it never gives up.
        SET v_until_ts = v_now + (p_wait_seconds) SECOND;
        SET v_expires_ts = v_now + (60) SECOND;
        IF v_until_ts < v_expires_ts THEN
            SET v_expires_ts = v_until_ts;
        END IF;

        -- S1: the wait that goes on, or a new one in the row of one that has ended.
        UPDATE appl_lock_waiter AS w
        SET department_id = v_department_id,
            since_ts = CASE WHEN w.expires_ts > v_now THEN w.since_ts ELSE v_now END,
            until_ts = v_until_ts,
            expires_ts = v_expires_ts
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
                v_until_ts,
                v_expires_ts
            );
        END;
        IF v_changed = 1 THEN
            LEAVE main;
        END IF;
    END WHILE;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT =
        'announce_appl_lock_waiter: the wait changed; call again';
END main
@

CREATE OR REPLACE PROCEDURE announce_appl_lock_waiter_row (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_department_id VARCHAR(4000),
    IN p_client_id VARCHAR(4000),
    IN p_wait_seconds BIGINT
)
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
PARAMETER CCSID UNICODE
ISOLATION LEVEL CS
CONCURRENT ACCESS RESOLUTION USE CURRENTLY COMMITTED
VALIDATE BIND
DISALLOW DEBUG MODE
BEGIN
    CALL announce_appl_lock_waiter(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_client_id, p_wait_seconds
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT 'Y' AS p_return_cd
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
@

