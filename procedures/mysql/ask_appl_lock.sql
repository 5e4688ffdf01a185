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

DELIMITER $$

CREATE PROCEDURE ask_appl_lock_core(...)
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    DECLARE v_open BOOLEAN DEFAULT TRUE;
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_now DATETIME(6);
    DECLARE v_until DATETIME(6);
    DECLARE v_expires DATETIME(6);
    DECLARE v_holder_id VARCHAR(255);
    DECLARE v_department_id VARCHAR(64);
    DECLARE v_fence BIGINT;
    DECLARE v_acquired_ts DATETIME(6);
    DECLARE v_lock_ts DATETIME(6);
    DECLARE v_ttl_seconds BIGINT;
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_patience BIGINT;
    DECLARE v_due BOOLEAN DEFAULT FALSE;
    DECLARE v_moved_fl CHAR(1) DEFAULT 'N';
    DECLARE v_outcome VARCHAR(11);
    DECLARE v_from_operator_id VARCHAR(255);
    DECLARE v_from_department_id VARCHAR(64);
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
END$$

DELIMITER ;
