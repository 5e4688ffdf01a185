-- drop_appl_lock_policy: remove the policy of a type.
--
-- Contract   Y DROPPED: the type has no policy any more. It is an event of the history: POLICY, with its actor and reason.
--            N NONE: it had none; nothing changed.
--            A grant keeps the end that it has until it is renewed or transferred.
-- In         p_object_type 1..64 characters without ":"; p_actor_id 1..255; p_reason 0..150, NULL = empty. Trailing
--            blanks are trimmed first.
-- Out        p_ok_fl, p_outcome.
-- Raises     LK001 invalid argument. -911 and -913 as get_appl_lock.
-- Locks      S1 locks the type's one row, to the end of the caller's transaction. No get waits for that.
-- Race-free  Two at once: one waits for the other and answers NONE.
-- Differs    As get_appl_lock.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE drop_appl_lock_policy (...)
SPECIFIC drop_appl_lock_policy
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_object_type, v_actor_id, v_reason VARCHAR(4000);
    DECLARE v_told VARCHAR(1020) DEFAULT 'dropped';
    DECLARE v_changed INTEGER DEFAULT 0;
    DECLARE v_now TIMESTAMP;

    SET p_ok_fl = 'N';
    SET p_outcome = 'NONE';
    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_actor_id = RTRIM(COALESCE(p_actor_id, ''));
    SET v_reason = RTRIM(COALESCE(p_reason, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('drop_appl_lock_policy', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_actor_id, OCTETS) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('drop_appl_lock_policy', 'p_actor_id', CHARACTER_LENGTH(v_actor_id, OCTETS), 255);
    ELSEIF CHARACTER_LENGTH(v_reason, CODEUNITS32) > 150 THEN
        CALL appl_lock_refuse_text('drop_appl_lock_policy', 'p_reason', CHARACTER_LENGTH(v_reason, CODEUNITS32), 150);
    END IF;
    IF NOT_PLAIN(v_object_type || v_actor_id) THEN
        CALL appl_lock_check_text('drop_appl_lock_policy', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('drop_appl_lock_policy', 'p_actor_id', v_actor_id);
    END IF;

    IF v_reason <> '' THEN
        SET v_told = v_told || ': ' || v_reason;
    END IF;
    SET CURRENT LOCK TIMEOUT 1;
    -- S1: remove it.
    DELETE FROM appl_lock_policy AS p
    WHERE p.object_type = v_object_type;
    GET DIAGNOSTICS v_changed = ROW_COUNT;
    IF v_changed = 1 THEN
        SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
        CALL appl_lock_record(v_now, v_object_type, '', 'POLICY', v_actor_id, '', '', '', '', 0, 0, v_told);
        SET p_ok_fl = 'Y';
        SET p_outcome = 'DROPPED';
    END IF;
END
@
