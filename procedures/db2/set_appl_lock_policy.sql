-- set_appl_lock_policy: set a type's policy: how long its locks last, whether a take needs a reason, what the history records,
-- and who sees whom.
--
-- Contract   Y SET: this replaces the policy of the type. A NULL argument gets its default, not its former value. It is an
--            event of the history: POLICY, with the new values, its actor and reason.
--            Every later get, renewal and transfer follows it. A grant keeps its end until then. With ALL the history also
--            records each get, renewal, refusal and release; for a lock that is held already, from the holder's next get on.
-- In         p_object_type 1..64 characters without ":"; p_default_ttl_seconds 1..315360000, not above
--            p_longest_ttl_seconds, NULL = 604800 (7 days); p_longest_ttl_seconds 1..315360000, NULL = 315360000 (10 years);
--            p_take_reason_fl Y or N, NULL = Y; p_actor_id 1..255;
--            p_reason 0..150, NULL = empty, because the event's 255 characters also hold the policy; p_history_level ALL or
--            CHANGES, NULL = CHANGES; p_presence_fl Y or N, NULL = Y; p_yield_after_seconds 60..315360000, NULL = for ever.
--            Trailing blanks are trimmed first.
-- Out        p_ok_fl, p_outcome.
-- Raises     LK001 invalid argument. LK003 when the policy changed thirty times during the call. -911 and -913 as
--            get_appl_lock.
-- Locks      S1 and S2 lock the type's one row or its key, to the end of the caller's transaction. No get waits for that: it
--            reads what is committed (cur_commit, the default).
-- Race-free  Two at once: the primary key lets one insert; the other waits, gets 23505, and changes the row in the next
--            round. The event of each is in its transaction.
--            A get that has begun before the policy is committed may still follow the former one.
-- Differs    As get_appl_lock.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE set_appl_lock_policy (...)
SPECIFIC set_appl_lock_policy
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_object_type, v_take_reason_fl, v_actor_id, v_reason, v_history_level, v_presence_fl VARCHAR(4000);
    DECLARE v_longest_ttl_seconds BIGINT;
    DECLARE v_told VARCHAR(1020);
    DECLARE v_round, v_changed INTEGER DEFAULT 0;
    DECLARE v_now TIMESTAMP;

    SET p_ok_fl = 'N';
    SET p_outcome = '';
    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_longest_ttl_seconds = COALESCE(p_longest_ttl_seconds, 315360000);
    SET v_take_reason_fl = RTRIM(COALESCE(p_take_reason_fl, 'Y'));
    SET v_actor_id = RTRIM(COALESCE(p_actor_id, ''));
    SET v_reason = RTRIM(COALESCE(p_reason, ''));
    SET v_history_level = RTRIM(COALESCE(p_history_level, 'CHANGES'));
    SET v_presence_fl = RTRIM(COALESCE(p_presence_fl, 'Y'));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('set_appl_lock_policy', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF v_longest_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('set_appl_lock_policy', 'p_longest_ttl_seconds', 315360000);
    ELSEIF p_default_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('set_appl_lock_policy', 'p_default_ttl_seconds', 315360000);
    ELSEIF p_default_ttl_seconds > v_longest_ttl_seconds THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'set_appl_lock_policy: p_default_ttl_seconds > the longest';
    ELSEIF v_take_reason_fl NOT IN ('Y', 'N') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'set_appl_lock_policy: p_take_reason_fl must be Y or N';
    ELSEIF CHARACTER_LENGTH(v_actor_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('set_appl_lock_policy', 'p_actor_id', CHARACTER_LENGTH(v_actor_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_reason, CODEUNITS32) > 150 THEN
        CALL appl_lock_refuse_text('set_appl_lock_policy', 'p_reason', CHARACTER_LENGTH(v_reason, CODEUNITS32), 150);
    ELSEIF v_history_level NOT IN ('ALL', 'CHANGES') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'set_appl_lock_policy: p_history_level is ALL or CHANGES';
    ELSEIF v_presence_fl NOT IN ('Y', 'N') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'set_appl_lock_policy: p_presence_fl must be Y or N';
    ELSEIF p_yield_after_seconds NOT BETWEEN 60 AND 315360000 THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'set_appl_lock_policy: p_yield_after_seconds 60..315360000';
    END IF;
    IF NOT_PLAIN(v_object_type || v_actor_id) THEN
        CALL appl_lock_check_text('set_appl_lock_policy', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('set_appl_lock_policy', 'p_actor_id', v_actor_id);
    END IF;

    SET v_told = 'default ' || COALESCE(CAST(p_default_ttl_seconds AS VARCHAR(20)), 'none')
        || ', longest ' || COALESCE(CAST(p_longest_ttl_seconds AS VARCHAR(20)), 'none')
        || ', take reason ' || v_take_reason_fl || ', history ' || v_history_level
        || ', presence ' || v_presence_fl
        || ', yield after ' || COALESCE(CAST(p_yield_after_seconds AS VARCHAR(20)), 'none');
    IF v_reason <> '' THEN
        SET v_told = v_told || ': ' || v_reason;
    END IF;
    SET CURRENT LOCK TIMEOUT 1;
    WHILE v_round < 30 DO
        SET v_round = v_round + 1;

        -- S1: the new policy.
        UPDATE appl_lock_policy AS p
        SET default_ttl_seconds = p_default_ttl_seconds,
            longest_ttl_seconds = p_longest_ttl_seconds,
            take_reason_fl = v_take_reason_fl,
            history_level = v_history_level,
            presence_fl = v_presence_fl,
            yield_after_seconds = p_yield_after_seconds
        WHERE p.object_type = v_object_type;
        GET DIAGNOSTICS v_changed = ROW_COUNT;
        IF v_changed = 0 THEN
            -- S2: it had none.
            BEGIN
                DECLARE CONTINUE HANDLER FOR SQLSTATE '23505' SET v_changed = 0;
                SET v_changed = 1;
                INSERT INTO appl_lock_policy (
                    object_type, default_ttl_seconds, longest_ttl_seconds, take_reason_fl, history_level, presence_fl,
                    yield_after_seconds
                )
                VALUES (
                    v_object_type, p_default_ttl_seconds, p_longest_ttl_seconds, v_take_reason_fl, v_history_level, v_presence_fl,
                    p_yield_after_seconds
                );
            END;
        END IF;
        IF v_changed = 1 THEN
            SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
            CALL appl_lock_record(v_now, v_object_type, '', 'POLICY', v_actor_id, '', '', '', '', 0, 0, v_told);
            SET p_ok_fl = 'Y';
            SET p_outcome = 'SET';
            LEAVE main;
        END IF;
    END WHILE;
    SIGNAL SQLSTATE 'LK003' SET MESSAGE_TEXT = 'set_appl_lock_policy: changed during the call; call again';
END main
@
