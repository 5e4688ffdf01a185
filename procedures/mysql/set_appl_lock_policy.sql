-- set_appl_lock_policy: lay down how long locks on objects of a type last, whether a take wants a reason, and what the history is told.
--
-- Contract   Y SET: the policy of the type is this one, whichever it had; what is not given is none of it. That is an event
--            of the history: POLICY, with what it says now, who did it and why.
--            Each get, renewal and transfer from the next one on goes by it. A grant keeps the end that it has until then.
--            With ALL the history is told each get, renewal, refusal and release, too: of a lock that is held by then from the
--            holder's next get on.
-- In         p_object_type 1..64 characters without ":"; p_default_ttl_seconds 1..315360000, not above
--            p_longest_ttl_seconds, NULL = 604800 (7 days); p_longest_ttl_seconds 1..315360000, NULL = 315360000 (10 years);
--            p_take_reason_fl Y or N, NULL = Y; p_actor_id 1..64;
--            p_reason 0..180, NULL = empty: the event has room for 255 with what the policy says; p_history_level ALL or CHANGES,
--            NULL = CHANGES. Trailing blanks are trimmed first.
-- Out        p_return_cd, p_outcome.
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine. 1205 after 1 s of waiting for another
--            transaction, 1213 deadlock.
-- Locks      S1 locks the type's one row, or its gap, to the end of the caller's transaction.
-- Race-free  Two at once: the primary key lets one insert, the other waits and changes the row. The event of each is in
--            its transaction: under autocommit S1 and the event are one of the call's own.
--            A get that has begun before the policy is committed may still go by the former one.
-- Differs    A get inside a transaction locks the row of the policy for reading until that ends, as get_appl_lock says why: S1
--            waits for it, for 1 s at most. Then call it again; or at a time when there are no long transactions.

DELIMITER $$

CREATE PROCEDURE set_appl_lock_policy_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_default_ttl_seconds BIGINT,
    IN p_longest_ttl_seconds BIGINT,
    IN p_take_reason_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_history_level LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation set_appl_lock_policy.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
    DECLARE v_longest_ttl_seconds BIGINT DEFAULT COALESCE(p_longest_ttl_seconds, 315360000);
    DECLARE v_take_reason_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_take_reason_fl, 'Y'));
    DECLARE v_history_level LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_history_level, 'CHANGES'));
    DECLARE v_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_actor_id, ''));
    DECLARE v_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_reason, ''));
    DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    -- 1422: a function or trigger, which has a transaction.
    DECLARE CONTINUE HANDLER FOR 1422 BEGIN END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout;
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    IF CHAR_LENGTH(v_object_type) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('set_appl_lock_policy', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF v_longest_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('set_appl_lock_policy', 'p_longest_ttl_seconds', 315360000);
    ELSEIF p_default_ttl_seconds NOT BETWEEN 1 AND v_longest_ttl_seconds THEN
        CALL appl_lock_refuse_number('set_appl_lock_policy', 'p_default_ttl_seconds', v_longest_ttl_seconds);
    ELSEIF v_take_reason_fl NOT IN ('Y', 'N') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'set_appl_lock_policy: p_take_reason_fl must be Y or N';
    ELSEIF CHAR_LENGTH(v_actor_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('set_appl_lock_policy', 'p_actor_id', CHAR_LENGTH(v_actor_id), 64);
    ELSEIF CHAR_LENGTH(v_reason) > 180 THEN
        CALL appl_lock_refuse_text('set_appl_lock_policy', 'p_reason', CHAR_LENGTH(v_reason), 180);
    ELSEIF v_history_level NOT IN ('ALL', 'CHANGES') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'set_appl_lock_policy: p_history_level is ALL or CHANGES';
    END IF;

    SET SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    CALL appl_lock_begin(v_began);
    -- S1: this is the policy from now on.
    INSERT INTO appl_lock_policy (object_type, default_ttl_seconds, longest_ttl_seconds, take_reason_fl, history_level)
    VALUES (v_object_type, p_default_ttl_seconds, p_longest_ttl_seconds, v_take_reason_fl, v_history_level)
    ON DUPLICATE KEY UPDATE
        default_ttl_seconds = p_default_ttl_seconds,
        longest_ttl_seconds = p_longest_ttl_seconds,
        take_reason_fl = v_take_reason_fl,
        history_level = v_history_level;
    CALL appl_lock_record(
        'POLICY', v_object_type, '', v_actor_id, '', '', 0, '', '', 0,
        CONCAT(
            'default ', COALESCE(p_default_ttl_seconds, 'none'), ', longest ', COALESCE(p_longest_ttl_seconds, 'none'),
            ', take reason ', v_take_reason_fl, ', history ', v_history_level, IF(v_reason = '', '', ': '), v_reason
        )
    );
    IF v_began THEN
        CALL appl_lock_end(TRUE);
    END IF;
    SET SESSION innodb_lock_wait_timeout = v_timeout;
    SET p_return_cd = 'Y';
    SET p_outcome = 'SET';
END$$

CREATE PROCEDURE set_appl_lock_policy(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_default_ttl_seconds BIGINT,
    IN p_longest_ttl_seconds BIGINT,
    IN p_take_reason_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_history_level LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Lay down how long locks on objects of a type last, whether a take wants a reason, and what the history is told.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'set_appl_lock_policy: is being replaced; call again, or install it again if that lasts';
    CALL set_appl_lock_policy_core(
        p_object_type, p_default_ttl_seconds, p_longest_ttl_seconds, p_take_reason_fl,
        p_actor_id, p_reason, p_history_level,
        p_return_cd, p_outcome
    );
END$$

CREATE PROCEDURE set_appl_lock_policy_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_default_ttl_seconds BIGINT,
    IN p_longest_ttl_seconds BIGINT,
    IN p_take_reason_fl LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_history_level LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Lay down how long locks on objects of a type last, whether a take wants a reason, and what the history is told; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'set_appl_lock_policy: is being replaced; call again, or install it again if that lasts';
    CALL set_appl_lock_policy_core(
        p_object_type, p_default_ttl_seconds, p_longest_ttl_seconds, p_take_reason_fl,
        p_actor_id, p_reason, p_history_level,
        v_return_cd, v_outcome
    );
    SELECT
        v_return_cd AS p_return_cd,
        v_outcome AS p_outcome;
END$$

DELIMITER ;
