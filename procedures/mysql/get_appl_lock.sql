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

DELIMITER $$

CREATE PROCEDURE get_appl_lock_core(...)
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
    DECLARE v_history_fl CHAR(1);
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
                DECLARE v_all_fl CHAR(1) DEFAULT 'N';
                DECLARE v_new_lock_ts DATETIME(6) DEFAULT GREATEST(v_now, v_lock_ts + INTERVAL 1 MICROSECOND);
                DECLARE v_event VARCHAR(16);
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
END$$

CREATE PROCEDURE get_appl_lock_row_core(...)
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    ...
END$$

DELIMITER ;
