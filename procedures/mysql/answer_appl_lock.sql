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

DELIMITER $$

CREATE PROCEDURE answer_appl_lock_core(...)
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    DECLARE v_open BOOLEAN DEFAULT TRUE;
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_client_id VARCHAR(64);
    DECLARE v_department_id VARCHAR(64);
    DECLARE v_holder_id VARCHAR(255);
    DECLARE v_holder_department_id VARCHAR(64);
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
END$$

DELIMITER ;
