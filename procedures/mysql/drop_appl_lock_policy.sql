-- drop_appl_lock_policy: take back the policy of a type.
--
-- Contract   Y DROPPED: the type has no policy any more. That is an event of the history: POLICY, with who did it and why.
--            N NONE: it had none; nothing changed.
--            A grant keeps the end that it has until it is renewed or transferred.
-- In         p_object_type 1..64 characters without ":"; p_actor_id 1..64; p_reason 0..180, NULL = empty. Trailing
--            blanks are trimmed first.
-- Out        p_return_cd, p_outcome.
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine. 1205 after 1 s of waiting for another
--            transaction, 1213 deadlock.
-- Locks      S1 locks the type's one row, or its gap, to the end of the caller's transaction.
-- Race-free  Two at once: one waits for the other and answers NONE. Under autocommit S1 and the event are one transaction of
--            the call's own.
-- Differs    As set_appl_lock_policy.

DELIMITER $$

CREATE PROCEDURE drop_appl_lock_policy_core(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Internal to applock: the operation drop_appl_lock_policy.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
        DEFAULT RTRIM(COALESCE(p_object_type, ''));
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
        CALL appl_lock_refuse_text('drop_appl_lock_policy', 'p_object_type', CHAR_LENGTH(v_object_type), 64);
    ELSEIF CHAR_LENGTH(v_actor_id) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('drop_appl_lock_policy', 'p_actor_id', CHAR_LENGTH(v_actor_id), 64);
    ELSEIF CHAR_LENGTH(v_reason) > 180 THEN
        CALL appl_lock_refuse_text('drop_appl_lock_policy', 'p_reason', CHAR_LENGTH(v_reason), 180);
    END IF;

    SET SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    CALL appl_lock_begin(v_began);
    -- S1: there is none from now on.
    DELETE FROM appl_lock_policy
    WHERE object_type = v_object_type;
    SET p_return_cd = IF(ROW_COUNT() > 0, 'Y', 'N');
    SET p_outcome = IF(p_return_cd = 'Y', 'DROPPED', 'NONE');
    IF p_return_cd = 'Y' THEN
        CALL appl_lock_record(
            'POLICY', v_object_type, '', v_actor_id, '', '', 0, '', '', 0,
            CONCAT('dropped', IF(v_reason = '', '', ': '), v_reason)
        );
    END IF;
    IF v_began THEN
        CALL appl_lock_end(TRUE);
    END IF;
    SET SESSION innodb_lock_wait_timeout = v_timeout;
END$$

CREATE PROCEDURE drop_appl_lock_policy(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    OUT p_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Take back the policy of a type.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'drop_appl_lock_policy: is being replaced; call again, or install it again if that lasts';
    CALL drop_appl_lock_policy_core(
        p_object_type, p_actor_id, p_reason,
        p_return_cd, p_outcome
    );
END$$

CREATE PROCEDURE drop_appl_lock_policy_row(
    IN p_object_type LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_actor_id LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_reason LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
)
COMMENT 'Take back the policy of a type; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_return_cd CHAR(1) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE v_outcome VARCHAR(11) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'drop_appl_lock_policy: is being replaced; call again, or install it again if that lasts';
    CALL drop_appl_lock_policy_core(
        p_object_type, p_actor_id, p_reason,
        v_return_cd, v_outcome
    );
    SELECT
        v_return_cd AS p_return_cd,
        v_outcome AS p_outcome;
END$$

DELIMITER ;
