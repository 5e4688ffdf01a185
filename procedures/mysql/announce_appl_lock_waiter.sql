-- announce_appl_lock_waiter: say that an operator waits for an object, or still waits.
--
-- Contract   Lists the operator as a waiter of the program p_client_id for 60 s, but not longer than p_wait_seconds, with the
--            object's holder. Called again, or kept by poll_appl_locks, it stays listed, and waits since the first call.
-- In         p_department_id: NULL = empty. p_client_id: a name that no other program has. p_wait_seconds: NULL = never gives up.
-- Out        None; the row form returns p_ok_fl 'Y'.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine. 1205 after 1 s of waiting for another transaction.
--            1213 deadlock.
-- Locks      The waiter's row, to the end of the caller's transaction. Only announce, retract and purge of it wait; poll passes over it.
-- Race-free  Two calls: the primary key lets one insert. ON DUPLICATE KEY UPDATE makes the other wait for an exclusive lock,
--            then it judges whether the row is live. Against purge or retract: an announce that waited inserts a new row.
--            The holder is a hint: inbox_appl_locks verifies it, and poll_appl_locks refreshes it.
-- Differs    Of three calls for one waiter at once, one of them a retract, one may become a deadlock's victim (1213): call again.
--            S1 is a plain read: call it outside of transactions.

DELIMITER $$

CREATE PROCEDURE announce_appl_lock_waiter_core(...)
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    DECLARE v_now DATETIME(6);
    DECLARE v_until DATETIME(6);
    DECLARE v_expires DATETIME(6);
    DECLARE v_holder_id VARCHAR(255) DEFAULT '';
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        RESIGNAL;
    END;

    SET p_department_id = COALESCE(p_department_id, '');
    CALL appl_lock_owner('announce_appl_lock_waiter', p_object_type, p_object_id, p_operator_id, p_department_id);
    CALL appl_lock_text('announce_appl_lock_waiter', 'p_client_id', 'N', 1, 64, p_client_id);
    IF p_wait_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_number('announce_appl_lock_waiter', 'p_wait_seconds', 315360000, p_wait_seconds);
    END IF;
    CALL appl_lock_enter();

    SET v_now = UTC_TIMESTAMP(6);
    SET v_until = v_now + INTERVAL p_wait_seconds SECOND;
    SET v_expires = LEAST(v_now + INTERVAL 60 SECOND, COALESCE(v_until, v_now + INTERVAL 60 SECOND));
    -- S1: who holds it?
    SELECT l.operator_id
    INTO v_holder_id
    FROM appl_lock AS l
    WHERE l.object_type = p_object_type
        AND l.object_id = p_object_id
        AND l.released_ts IS NULL
        AND l.expires_ts > v_now;
    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    -- S2: a new wait, or the one that goes on. Each assignment sees the ones before it.
    INSERT INTO appl_lock_waiter (
        object_type, object_id, operator_id, department_id, client_id, since_ts, until_ts, expires_ts, holder_id
    )
    VALUES (
        p_object_type, p_object_id, p_operator_id, p_department_id, p_client_id, v_now, v_until, v_expires, v_holder_id
    )
    ON DUPLICATE KEY UPDATE
        department_id = p_department_id,
        since_ts = IF(expires_ts > v_now, since_ts, v_now),
        until_ts = v_until,
        expires_ts = v_expires,
        holder_id = v_holder_id;
    SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
END$$

DELIMITER ;
