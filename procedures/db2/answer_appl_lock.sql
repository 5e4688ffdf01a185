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
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255, the holder; p_fence 1 or greater,
--            its grant; p_asker_id 1..255; p_client_id 1..64, the asker's program, NULL = any; p_answer GIVE, LATER or NO;
--            p_reason 0..255, NULL = empty. Trailing blanks are trimmed first.
-- Out        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD), p_acquired_ts,
--            p_expires_ts (UTC, of the lock as it is now; NULL when FREE or GONE), p_seconds_left (rounded up; 0 then).
-- Raises     LK001 invalid argument. LK003 as appl_lock_move. -911 and -913 as get_appl_lock.
-- Locks      S1 reads committed rows without waiting (cur_commit, the default). S2 locks the asker's rows, S3 the object's row
--            as appl_lock_move; to the end of the caller's transaction.
-- Race-free  An asker that withdraws its request locks its row before S2, which then finds none, or after S3, when it holds the
--            object. Against take, transfer, release and expiry: S3 names the grant. Of two answers one gives, the other finds
--            HELD.
--            An answer and an ask lock the request's row first and the lock's row second.
-- Differs    GIVE locks the request by an UPDATE that changes nothing, because each platform has another clause for a locking
--            read.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE answer_appl_lock (...)
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
    IF NOT_PLAIN(v_object_type || v_object_id || v_operator_id || v_asker_id) THEN
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
        SET p_seconds_left = SECONDS_UP(v_now, v_old_expires_ts);
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
        SET p_seconds_left = SECONDS_UP(v_now, v_old_expires_ts);
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
@
