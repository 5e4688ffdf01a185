-- announce_appl_lock_waiter: say that an operator waits for an object, or still waits.
--
-- Contract   Lists the operator as a waiter of the program p_client_id for 60 s, but not longer than p_wait_seconds, with the
--            object's holder. Called again, or kept by poll_appl_locks, it stays listed, and waits since the first call; after
--            the listing has ended, a call begins a new wait. The wait reserves nothing.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255; p_department_id 0..64, NULL =
--            empty; p_client_id 1..64, the waiting program, under a name that no other program has; p_wait_seconds until it
--            gives up, 1..315360000, NULL = never. Trailing blanks are trimmed first.
-- Out        None; the row form returns p_ok_fl 'Y'.
-- Raises     LK001 invalid argument. LK003 when the waiter came and went thirty times during the call. -911 and
--            -913 as get_appl_lock.
-- Locks      S1 reads committed rows without waiting (cur_commit, the default). S1b changes the waiter's one row, or S2 inserts
--            it; held to the end of the caller's transaction. Announce, retract and purge of this very waiter wait for it, and
--            a poll of its program that keeps its waiters listed.
-- Race-free  Two calls: the primary key lets one insert; the other waits, gets 23505, and its next round finds
--            the row. Against retract and purge: one of them has the row; an announce that waited inserts a new one.
--            The stored holder may be out of date: inbox_appl_locks reads the lock itself, and the next poll refreshes it.
-- Differs    Two statements: MERGE may raise 23505, too, and a handler around it would need the same rounds.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE announce_appl_lock_waiter (...)
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
    IF NOT_PLAIN(v_object_type || v_object_id || v_operator_id || v_department_id) THEN
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
@
