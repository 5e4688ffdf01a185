-- get_appl_lock: take or renew the lock on an object for one operator until it expires.
--
-- Contract   Y ACQUIRED: the object was free; a new grant, a greater fence. Y RENEWED: this operator holds it; same grant and
--            fence, and the ttl counts from now. N HELD: another operator holds it, or this one when p_new_fl is Y; p_old_*,
--            p_acquired_ts, p_expires_ts and p_note tell who, since when, until when and why. The policy's longest ttl limits every
--            grant. Events: OVERTAKEN, when another operator's grant had expired unreleased. Under history ALL also ACQUIRED,
--            RENEWED and REFUSED; for REFUSED the policy at the holder's last get counts.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255; p_department_id 0..64,
--            NULL = as it is in a renewal, empty in a new grant; p_ttl_seconds 1..315360000, NULL = the grant's in a renewal,
--            in a new grant the policy's, else 604800 (7 days); p_new_fl Y or N, NULL or empty = N. Trailing blanks are
--            trimmed first. VARCHAR(4000), so that length is checked here.
-- Out        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD), p_fence (0 when HELD),
--            p_acquired_ts, p_expires_ts (UTC), p_seconds_left (rounded up), p_note (the holder's when HELD, one's own when RENEWED).
-- Raises     LK001 invalid argument. LK003 when the object changed hands thirty times during the call. -911/40001 or -913/57033
--            after 1 s of waiting for another transaction (reason 68), or as a deadlock's victim (reason 2). After -911 Db2 has
--            rolled back the whole transaction. After -913 it has rolled back the statement only: roll back and begin again.
-- Locks      S1 reads committed rows without waiting (cur_commit, the default), and answers HELD. S2 locks the object's one row
--            or its key; held to the end of the caller's transaction.
-- Race-free  S2 changes the row only if fence, lock_ts, expires_ts, released_ts and note are those that S1 read. If another
--            call was quicker, its row count is 0, and the next round reads the new row.
--            Free object, two callers: both insert, the primary key lets one; the other waits, gets 23505, and reads again.
--            A row that a purge has removed leaves its fence in appl_lock_fence, which S1c reads once there is no row. A row
--            that is purged later was free for 1 s, so its fence is less than now. Where S2 took more than 1 s, S3 looks again.
-- Differs    A wait that times out ends the caller's whole transaction.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE get_appl_lock (...)
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
    IF NOT_PLAIN(v_object_type || v_object_id || v_operator_id || COALESCE(v_department_id, '')) THEN
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
                SET p_seconds_left = SECONDS_UP(v_now, v_old_expires_ts);
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
            SET v_fence = EPOCH_MICROSECONDS(v_now);
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
                    IF EPOCH_MICROSECONDS(v_now) > v_fence THEN
                        SET v_fence = EPOCH_MICROSECONDS(v_now);
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
@
