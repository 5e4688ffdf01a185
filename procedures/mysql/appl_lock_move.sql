-- appl_lock_move: hand a held object to an operator, for take, transfer, answer and ask. appl_lock_holder, appl_lock_unask:
-- helpers of answer and ask. Internal: nobody is granted these.
--
-- Contract   As take_appl_lock, p_event TAKEN, and transfer_appl_lock, p_event TRANSFERRED. With p_first_seconds the ttl is the
--            policy's, but the grant ends after p_first_seconds unless it is renewed.
--            appl_lock_holder returns the holder of an object. appl_lock_unask removes an operator's requests for an object.
-- In         Checked arguments. p_from_operator_id, p_expected_fence: NULL = any. p_unchanged_ts: the lock_ts that the grant
--            must still have: a renewal since then makes the answer HELD. p_first_seconds: NULL = as long as the ttl says.
-- Out        As the operations.
-- Raises     As the operations.
-- Locks      The object's row, to the end of the caller's transaction, and the policy's for reading. With p_lock,
--            appl_lock_holder locks the row. In a transaction appl_lock_unask locks the requests, and skips those that another
--            transaction has locked.
-- Race-free  S1 reads the row and locks it, so S2 changes what S1 has read. S1, S2 and the event are one transaction: the caller's,
--            or one of the call's own. It uses only locking reads: a plain read would fix a snapshot that is too old for a later
--            get.
-- Differs    No 40001: InnoDB judges the newest row.

DELIMITER $$

CREATE PROCEDURE appl_lock_move(
    IN p_event VARCHAR(16),
    IN p_object_type VARCHAR(64),
    IN p_object_id VARCHAR(255),
    IN p_from_operator_id VARCHAR(255),
    IN p_expected_fence BIGINT,
    IN p_to_operator_id VARCHAR(255),
    IN p_to_department_id VARCHAR(64),
    IN p_ttl_seconds BIGINT,
    IN p_actor_id VARCHAR(255),
    IN p_reason VARCHAR(255),
    IN p_unchanged_ts DATETIME(6),
    IN p_first_seconds BIGINT,
    OUT p_ok_fl CHAR(1),
    OUT p_outcome VARCHAR(11),
    OUT p_old_operator_id VARCHAR(255),
    OUT p_old_department_id VARCHAR(64),
    OUT p_fence BIGINT,
    OUT p_acquired_ts DATETIME(6),
    OUT p_expires_ts DATETIME(6),
    OUT p_seconds_left BIGINT
)
COMMENT 'Internal to applock: moves the grant of a held object to an operator.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
main: BEGIN
    DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_now DATETIME(6);
    DECLARE v_fence BIGINT;
    DECLARE v_lock_ts DATETIME(6);
    DECLARE v_ttl_seconds BIGINT;
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_default_ttl_seconds BIGINT;
    DECLARE v_longest_ttl_seconds BIGINT;
    DECLARE v_all_fl CHAR(1);
    DECLARE v_take_reason_fl CHAR(1);
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

    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    CALL appl_lock_policy(p_object_type, v_default_ttl_seconds, v_longest_ttl_seconds, v_all_fl, v_take_reason_fl);
    IF p_event = 'TAKEN' AND v_take_reason_fl = 'Y' THEN
        CALL appl_lock_text('take_appl_lock', 'p_reason', 'N', 1, 255, p_reason);
    END IF;
    CALL appl_lock_begin(v_began);
    -- S1: who holds it?
    SET p_old_operator_id = '';
    SET p_old_department_id = '';
    SELECT l.operator_id, l.department_id, l.fence, l.acquired_ts, l.lock_ts, l.ttl_seconds, l.expires_ts
    INTO p_old_operator_id, p_old_department_id, v_fence, p_acquired_ts, v_lock_ts, v_ttl_seconds, v_expires_ts
    FROM appl_lock AS l
    WHERE l.object_type = p_object_type
        AND l.object_id = p_object_id
        AND l.released_ts IS NULL
        AND l.expires_ts > UTC_TIMESTAMP(6)
    FOR UPDATE;
    SET v_now = UTC_TIMESTAMP(6);
    IF v_fence IS NULL OR p_old_operator_id <> p_from_operator_id OR v_fence <> p_expected_fence OR v_lock_ts <> p_unchanged_ts THEN
        IF v_began THEN
            CALL appl_lock_end(TRUE);
        END IF;
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        SET p_ok_fl = 'N';
        SET p_outcome = IF(v_fence IS NULL, 'FREE', 'HELD');
        SET p_fence = 0;
        SET p_expires_ts = v_expires_ts;
        SET p_seconds_left = COALESCE(GREATEST((TIMESTAMPDIFF(MICROSECOND, v_now, v_expires_ts) + 999999) DIV 1000000, 1), 0);
        LEAVE main;
    END IF;

    -- S2: a new grant.
    SET p_fence = GREATEST(v_fence + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', v_now));
    SET v_ttl_seconds = LEAST(
        IF(p_first_seconds IS NULL, COALESCE(p_ttl_seconds, v_ttl_seconds), v_default_ttl_seconds), v_longest_ttl_seconds
    );
    SET p_seconds_left = LEAST(v_ttl_seconds, COALESCE(p_first_seconds, v_ttl_seconds));
    SET p_acquired_ts = v_now;
    SET p_expires_ts = v_now + INTERVAL p_seconds_left SECOND;
    UPDATE appl_lock AS l
    SET l.operator_id = p_to_operator_id,
        l.department_id = p_to_department_id,
        l.fence = p_fence,
        l.acquired_ts = v_now,
        l.lock_ts = GREATEST(v_now, v_lock_ts + INTERVAL 1 MICROSECOND),
        l.ttl_seconds = v_ttl_seconds,
        l.expires_ts = p_expires_ts,
        l.note = ''
    WHERE l.object_type = p_object_type
        AND l.object_id = p_object_id;
    CALL appl_lock_record(
        p_event, p_object_type, p_object_id, p_actor_id, p_old_operator_id, p_old_department_id, v_fence,
        p_to_operator_id, p_to_department_id, p_fence, p_reason
    );
    IF v_began THEN
        CALL appl_lock_end(TRUE);
    END IF;
    SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
    SET p_ok_fl = 'Y';
    SET p_outcome = p_event;
    -- Only a take answers with the former holder.
    IF p_event <> 'TAKEN' OR p_old_operator_id = p_to_operator_id THEN
        SET p_old_operator_id = '';
        SET p_old_department_id = '';
    END IF;
END$$

CREATE PROCEDURE appl_lock_holder(
    IN p_lock BOOLEAN,
    IN p_object_type VARCHAR(64),
    IN p_object_id VARCHAR(255),
    OUT p_holder_id VARCHAR(255),
    OUT p_department_id VARCHAR(64),
    OUT p_fence BIGINT,
    OUT p_acquired_ts DATETIME(6),
    OUT p_lock_ts DATETIME(6),
    OUT p_ttl_seconds BIGINT,
    OUT p_expires_ts DATETIME(6)
)
COMMENT 'Internal to applock: returns the holder of an object, NULL for none, optionally by a locking read.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    IF p_lock THEN
        SELECT l.operator_id, l.department_id, l.fence, l.acquired_ts, l.lock_ts, l.ttl_seconds, l.expires_ts
        INTO p_holder_id, p_department_id, p_fence, p_acquired_ts, p_lock_ts, p_ttl_seconds, p_expires_ts
        FROM appl_lock AS l
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
            AND l.released_ts IS NULL
            AND l.expires_ts > UTC_TIMESTAMP(6)
        FOR UPDATE;
    ELSE
        SELECT l.operator_id, l.department_id, l.fence, l.acquired_ts, l.lock_ts, l.ttl_seconds, l.expires_ts
        INTO p_holder_id, p_department_id, p_fence, p_acquired_ts, p_lock_ts, p_ttl_seconds, p_expires_ts
        FROM appl_lock AS l
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
            AND l.released_ts IS NULL
            AND l.expires_ts > UTC_TIMESTAMP(6);
    END IF;
END$$

CREATE PROCEDURE appl_lock_unask(
    IN p_object_type VARCHAR(64),
    IN p_object_id VARCHAR(255),
    IN p_operator_id VARCHAR(255)
)
COMMENT 'Internal to applock: removes the requests of an operator for an object, except rows that another transaction has locked.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_client_id VARCHAR(64);
    DECLARE v_more BOOLEAN DEFAULT TRUE;
    DECLARE requests CURSOR FOR
        SELECT a.client_id
        FROM appl_lock_ask AS a FORCE INDEX (PRIMARY)
        WHERE a.object_type = p_object_type
            AND a.object_id = p_object_id
            AND a.operator_id = p_operator_id
        FOR UPDATE SKIP LOCKED;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_more = FALSE;
    OPEN requests;
    FETCH requests INTO v_client_id;
    WHILE v_more DO
        DELETE FROM appl_lock_ask
        WHERE object_type = p_object_type
            AND object_id = p_object_id
            AND operator_id = p_operator_id
            AND client_id = v_client_id;
        FETCH requests INTO v_client_id;
    END WHILE;
    CLOSE requests;
END$$

DELIMITER ;
