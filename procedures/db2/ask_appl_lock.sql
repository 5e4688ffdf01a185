-- ask_appl_lock: ask an object's holder for it, with a message, or keep the request listed.
--
-- Contract   Y ASKED: the request is listed for 60 s, but not longer than p_wait_seconds, and the holder finds it in its inbox.
--            Each further call keeps it listed, since the first one. The holder is in p_old_*, p_acquired_ts and p_expires_ts.
--            Y GIVEN: the holder has neither renewed, edited (see_appl_lock) nor answered for as long as the type's policy
--            allows. The caller holds the object now, as after the GIVE of answer_appl_lock; p_old_operator_id held it.
--            Y WITHDRAWN: p_wait_seconds was 0, and the request is gone, if there was one.
--            N FREE: nobody holds the object. N OWN: the operator holds it itself. Both remove its request.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255; p_department_id 0..64, NULL =
--            empty; p_client_id 1..64, the asking program, under a name that no other program has; p_message 0..255, NULL =
--            empty; p_wait_seconds until it gives up, 0..315360000, NULL = never. Trailing blanks are trimmed first.
-- Out        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id (empty unless ASKED or GIVEN), p_fence (0 unless GIVEN),
--            p_acquired_ts, p_expires_ts (UTC, NULL when FREE or WITHDRAWN), p_seconds_left (rounded up; 0 then).
-- Raises     LK001 invalid argument. LK003 when the request came and went, or the object changed hands, thirty times during the
--            call. -911 and -913 as get_appl_lock.
-- Locks      S1 reads committed rows without waiting (cur_commit, the default). S2 changes, S2b inserts or S4 deletes the
--            request's one row; held to the end of the caller's transaction. If the caller gets the object, S3 locks it as
--            appl_lock_move. A request delays no waiting program.
-- Race-free  Two calls: the primary key lets one insert; the other waits, gets 23505, and its next round finds the row. Each
--            renewal restarts the holder's time to answer: S3 names the lock_ts that S1 has read, so a renewal in between keeps
--            the lock. Of two askers one gets it. An answer and an ask lock the request's row first and the lock's row second.
-- Differs    As announce_appl_lock_waiter.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE ask_appl_lock (...)
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
    IF NOT_PLAIN(v_object_type || v_object_id || v_operator_id || v_department_id || v_message) THEN
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
                SET p_seconds_left = SECONDS_UP(v_now, v_old_expires_ts);
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
            SET p_seconds_left = SECONDS_UP(v_now, v_old_expires_ts);
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
@
