-- appl_lock_move: give a held object to an operator. Internal to applock: nobody is granted it; take_appl_lock,
-- transfer_appl_lock, the transfer of a page, answer_appl_lock and ask_appl_lock call it with checked and trimmed arguments.
--
-- Contract   p_event, such as TAKEN: p_from_operator_id (NULL = any operator) held it by the grant p_expected_fence (NULL = any
--            grant). Now p_to_operator_id holds it: a new grant, a greater fence, an empty note. It records p_event.
--            HELD: another operator or grant holds it, or its lock_ts is no longer p_unchanged_ts. FREE: nobody holds it. The
--            present or former holder is in p_old_*.
--            A NULL ttl keeps that of the ended grant, within the policy's longest. With p_first_seconds the ttl is the
--            policy's, but the grant ends after p_first_seconds unless it is renewed.
-- Raises     LK003 when the object changed hands thirty times during the call. -911 and -913 as get_appl_lock.
-- Locks      S1 and S1b read committed rows without waiting (cur_commit, the default). S2 locks the object's one row; held to
--            the end of the caller's transaction.
-- Differs    As get_appl_lock.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE appl_lock_move (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_from_operator_id VARCHAR(4000),
    IN p_expected_fence BIGINT,
    IN p_to_operator_id VARCHAR(4000),
    IN p_to_department_id VARCHAR(4000),
    IN p_ttl_seconds BIGINT,
    IN p_event VARCHAR(16),
    IN p_actor_id VARCHAR(4000),
    IN p_reason VARCHAR(4000),
    IN p_unchanged_ts TIMESTAMP,
    IN p_first_seconds BIGINT,
    OUT p_outcome VARCHAR(11),
    OUT p_old_operator_id VARCHAR(256),
    OUT p_old_department_id VARCHAR(256),
    OUT p_fence BIGINT,
    OUT p_acquired_ts TIMESTAMP,
    OUT p_expires_ts TIMESTAMP,
    OUT p_seconds_left BIGINT
)
SPECIFIC appl_lock_move
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_round, v_rows, v_policies, v_changed INTEGER DEFAULT 0;
    DECLARE v_begun, v_now, v_lock_ts, v_expires_ts, v_old_acquired_ts, v_old_lock_ts, v_old_expires_ts, v_old_released_ts TIMESTAMP;
    DECLARE v_old_operator_id, v_old_department_id VARCHAR(256);
    DECLARE v_fence, v_old_fence, v_ttl_seconds, v_old_ttl_seconds, v_default_ttl_seconds, v_longest_ttl_seconds, v_first_seconds BIGINT;

    SET p_outcome = 'FREE';
    SET p_old_operator_id = '';
    SET p_old_department_id = '';
    SET p_fence = 0;
    SET p_acquired_ts = NULL;
    SET p_expires_ts = NULL;
    SET p_seconds_left = 0;
    SET CURRENT LOCK TIMEOUT 1;
    WHILE v_round < 30 DO
        SET v_round = v_round + 1;

        -- S1: who holds it? The aggregates always return one row.
        SELECT
            COUNT(*), MAX(l.operator_id), MAX(l.department_id), MAX(l.fence), MAX(l.acquired_ts), MAX(l.lock_ts),
            MAX(l.ttl_seconds), MAX(l.expires_ts), MAX(l.released_ts)
        INTO
            v_rows, v_old_operator_id, v_old_department_id, v_old_fence, v_old_acquired_ts, v_old_lock_ts,
            v_old_ttl_seconds, v_old_expires_ts, v_old_released_ts
        FROM appl_lock AS l
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
        WITH CS;
        SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
        IF v_rows = 0 OR v_old_released_ts IS NOT NULL OR v_old_expires_ts <= v_now THEN
            LEAVE main;
        END IF;
        IF v_old_operator_id <> COALESCE(p_from_operator_id, v_old_operator_id)
            OR v_old_fence <> COALESCE(p_expected_fence, v_old_fence)
            OR v_old_lock_ts <> COALESCE(p_unchanged_ts, v_old_lock_ts)
        THEN
            SET p_outcome = 'HELD';
            SET p_old_operator_id = v_old_operator_id;
            SET p_old_department_id = v_old_department_id;
            SET p_acquired_ts = v_old_acquired_ts;
            SET p_expires_ts = v_old_expires_ts;
            SET p_seconds_left = SECONDS_UP(v_now, v_old_expires_ts);
            LEAVE main;
        END IF;

        -- S1b: how long may the new grant last?
        SELECT COUNT(*), MAX(p.default_ttl_seconds), MAX(p.longest_ttl_seconds)
        INTO v_policies, v_default_ttl_seconds, v_longest_ttl_seconds
        FROM appl_lock_policy AS p
        WHERE p.object_type = p_object_type
        WITH CS;
        SET v_ttl_seconds = COALESCE(p_ttl_seconds, v_old_ttl_seconds);
        IF p_first_seconds IS NOT NULL THEN
            SET v_ttl_seconds = COALESCE(v_default_ttl_seconds, 604800);
        END IF;
        IF v_ttl_seconds > v_longest_ttl_seconds THEN
            SET v_ttl_seconds = v_longest_ttl_seconds;
        END IF;
        SET v_first_seconds = v_ttl_seconds;
        IF p_first_seconds < v_ttl_seconds THEN
            SET v_first_seconds = p_first_seconds;
        END IF;
        SET v_expires_ts = v_now + (v_first_seconds) SECOND;
        SET v_lock_ts = v_now;
        IF v_old_lock_ts >= v_now THEN
            SET v_lock_ts = v_old_lock_ts + (0.000001) SECOND;
        END IF;
        SET v_fence = EPOCH_MICROSECONDS(v_now);
        IF v_old_fence >= v_fence THEN
            SET v_fence = v_old_fence + 1;
        END IF;

        -- S2: a new grant, if the row is unchanged.
        UPDATE appl_lock AS l
        SET operator_id = p_to_operator_id,
            department_id = p_to_department_id,
            fence = v_fence,
            acquired_ts = v_now,
            lock_ts = v_lock_ts,
            ttl_seconds = v_ttl_seconds,
            expires_ts = v_expires_ts,
            note = ''
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
            AND l.fence = v_old_fence
            AND l.lock_ts = v_old_lock_ts
            AND l.expires_ts = v_old_expires_ts
            AND l.released_ts IS NULL;
        GET DIAGNOSTICS v_changed = ROW_COUNT;
        IF v_changed = 1 THEN
            -- S3: S2 took long, or the clock was set back meanwhile: count the times from now.
            SET v_begun = v_now;
            SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
            IF v_now NOT BETWEEN v_begun AND v_begun + (1) SECOND THEN
                SET v_expires_ts = v_now + (v_first_seconds) SECOND;
                IF v_lock_ts < v_now THEN
                    SET v_lock_ts = v_now;
                END IF;
                IF EPOCH_MICROSECONDS(v_now) > v_fence THEN
                    SET v_fence = EPOCH_MICROSECONDS(v_now);
                END IF;
                UPDATE appl_lock AS l
                SET fence = v_fence,
                    acquired_ts = v_now,
                    lock_ts = v_lock_ts,
                    expires_ts = v_expires_ts
                WHERE l.object_type = p_object_type
                    AND l.object_id = p_object_id;
                SET v_begun = v_now;
            END IF;
            CALL appl_lock_record(
                v_now, p_object_type, p_object_id, p_event, p_actor_id, v_old_operator_id, v_old_department_id,
                p_to_operator_id, p_to_department_id, v_old_fence, v_fence, p_reason
            );
            SET p_outcome = p_event;
            SET p_old_operator_id = v_old_operator_id;
            SET p_old_department_id = v_old_department_id;
            SET p_fence = v_fence;
            SET p_acquired_ts = v_begun;
            SET p_expires_ts = v_expires_ts;
            SET p_seconds_left = v_first_seconds;
            LEAVE main;
        END IF;
    END WHILE;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'appl_lock: changed hands during the call; call again';
END main
@

COMMENT ON SPECIFIC PROCEDURE appl_lock_move IS 'Internal to applock: moves the grant of a held object to an operator.'
@
