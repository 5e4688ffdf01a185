-- set_appl_lock_policy: set a type's policy: how long its locks last, whether a take needs a reason, what the history records,
-- and who sees whom.
--
-- Contract   Y SET: this replaces the policy of the type. It is an event, POLICY, with the new values, its actor and reason.
--            Every later get, renewal and transfer follows it. A grant keeps its end until then. With ALL the history also
--            records each get, renewal, refusal and release; for a lock that is held already, from the holder's next get on.
-- In         p_default_ttl_seconds: not above p_longest_ttl_seconds, NULL = 604800; p_longest_ttl_seconds: NULL = 315360000;
--            p_take_reason_fl: NULL = Y; p_reason: 0..150, because the event's 255 characters also hold the policy;
--            p_history_level: NULL = CHANGES; p_presence_fl: NULL = Y; p_yield_after_seconds: 60 or more, NULL = for ever.
-- Out        p_ok_fl, p_outcome.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine. 1205 after 1 s of waiting for another transaction.
--            1213 deadlock.
-- Locks      The type's row, or its gap, to the end of the caller's transaction.
-- Race-free  Two at once: the primary key lets one insert, the other waits and changes the row. The change and its event are one
--            transaction. A get that has begun before the policy is committed may still follow the former one.
-- Differs    A get inside a transaction locks the policy's row for reading until that ends: S1 waits for it, for 1 s.

DELIMITER $$

CREATE PROCEDURE set_appl_lock_policy_core(...)
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_longest_ttl_seconds BIGINT DEFAULT COALESCE(p_longest_ttl_seconds, 315360000);
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    DECLARE v_began BOOLEAN DEFAULT FALSE;
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

    SET p_take_reason_fl = RTRIM(COALESCE(p_take_reason_fl, 'Y'));
    SET p_history_level = RTRIM(COALESCE(p_history_level, 'CHANGES'));
    SET p_presence_fl = RTRIM(COALESCE(p_presence_fl, 'Y'));
    SET p_reason = COALESCE(p_reason, '');
    CALL appl_lock_text('set_appl_lock_policy', 'p_object_type', 'Y', 1, 64, p_object_type);
    CALL appl_lock_number('set_appl_lock_policy', 'p_longest_ttl_seconds', 315360000, v_longest_ttl_seconds);
    CALL appl_lock_number('set_appl_lock_policy', 'p_default_ttl_seconds', v_longest_ttl_seconds, p_default_ttl_seconds);
    IF p_take_reason_fl NOT IN ('Y', 'N') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'set_appl_lock_policy: p_take_reason_fl must be Y or N';
    END IF;
    CALL appl_lock_text('set_appl_lock_policy', 'p_actor_id', 'Y', 1, 255, p_actor_id);
    CALL appl_lock_text('set_appl_lock_policy', 'p_reason', 'N', 0, 150, p_reason);
    IF p_history_level NOT IN ('ALL', 'CHANGES') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'set_appl_lock_policy: p_history_level is ALL or CHANGES';
    END IF;
    IF p_presence_fl NOT IN ('Y', 'N') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'set_appl_lock_policy: p_presence_fl must be Y or N';
    END IF;
    IF p_yield_after_seconds NOT BETWEEN 60 AND 315360000 THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'set_appl_lock_policy: p_yield_after_seconds must be 60 to 315360000';
    END IF;

    CALL appl_lock_enter();
    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    CALL appl_lock_begin(v_began);
    -- S1: the new policy.
    INSERT INTO appl_lock_policy (
        object_type, default_ttl_seconds, longest_ttl_seconds, take_reason_fl, history_level, presence_fl, yield_after_seconds
    )
    VALUES (
        p_object_type, p_default_ttl_seconds, p_longest_ttl_seconds, p_take_reason_fl, p_history_level, p_presence_fl,
        p_yield_after_seconds
    )
    ON DUPLICATE KEY UPDATE
        default_ttl_seconds = p_default_ttl_seconds,
        longest_ttl_seconds = p_longest_ttl_seconds,
        take_reason_fl = p_take_reason_fl,
        history_level = p_history_level,
        presence_fl = p_presence_fl,
        yield_after_seconds = p_yield_after_seconds;
    CALL appl_lock_record(
        'POLICY', p_object_type, '', p_actor_id, '', '', 0, '', '', 0,
        CONCAT(
            'default ', COALESCE(p_default_ttl_seconds, 'none'), ', longest ', COALESCE(p_longest_ttl_seconds, 'none'),
            ', take reason ', p_take_reason_fl, ', history ', p_history_level, ', presence ', p_presence_fl,
            ', yield after ', COALESCE(p_yield_after_seconds, 'none'), IF(p_reason = '', '', ': '), p_reason
        )
    );
    IF v_began THEN
        CALL appl_lock_end(TRUE);
    END IF;
    SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
    SET p_ok_fl = 'Y';
    SET p_outcome = 'SET';
END$$

DELIMITER ;
