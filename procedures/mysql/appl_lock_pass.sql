-- release_appl_lock_pass: release_appl_lock, and get_appl_lock for the next operator, in one transaction.
--
-- Contract   released RELEASED: the grant was live; it has ended, and the next operator has a new one with a greater fence. Nobody finds
--            the object free in between. FREE, HELD: as release_appl_lock; nothing is taken. The events are those of both calls.
-- In         p_fence: the grant to end. p_next_department_id and p_ttl_seconds: as those of a new grant of get_appl_lock.
-- Out        One row: released, outcome, fence, expires_ts, seconds_left. All but released are empty, NULL or 0 unless RELEASED.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine. 1205 after 1 s of waiting for another transaction. 1213 deadlock.
-- Locks      The object's row, to the end of the caller's transaction, and the policy's for reading.
-- Race-free  S1 names operator, fence and expiry, and sees the newest row. It raises the fence, so ROW_COUNT is 1 with and
--            without CLIENT_FOUND_ROWS. It first skips a grant whose change is an event. Then S2 locks the row, and S1 and the
--            events are one transaction: the caller's, or one of the call's own.
--            It uses only locking reads: a plain read would fix a snapshot that is too old for a later get.
-- Differs    For MySQL and MariaDB only: on PostgreSQL a query joins the two row forms.

DELIMITER $$

CREATE PROCEDURE release_appl_lock_pass_core(
    IN p_object_type LONGTEXT,
    IN p_object_id LONGTEXT,
    IN p_operator_id LONGTEXT,
    IN p_fence BIGINT,
    IN p_next_operator_id LONGTEXT,
    IN p_next_department_id LONGTEXT,
    IN p_ttl_seconds BIGINT
)
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_told BOOLEAN;
    DECLARE v_now DATETIME(6);
    DECLARE v_old_operator_id VARCHAR(255);
    DECLARE v_old_department_id VARCHAR(64);
    DECLARE v_history_fl CHAR(1) DEFAULT 'N';
    DECLARE v_fence BIGINT;
    DECLARE v_expires_ts DATETIME(6);
    DECLARE v_seconds_left BIGINT;
    DECLARE v_default_ttl_seconds BIGINT DEFAULT 604800;
    DECLARE v_longest_ttl_seconds BIGINT DEFAULT 315360000;
    DECLARE v_all_fl CHAR(1) DEFAULT 'N';
    DECLARE v_ok_fl CHAR(1);
    DECLARE v_released VARCHAR(11);
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        IF v_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    CALL appl_lock_enter();
    IF (
        -- A row with this grant proves the arguments valid. Names of printable ASCII need no closer look: JSON_QUOTE makes a
        -- control character longer.
        p_fence > 0
        AND LENGTH(JSON_QUOTE(p_next_operator_id)) BETWEEN 3 AND LEAST(CHAR_LENGTH(RTRIM(p_next_operator_id)), 255) + 2
        AND LOCATE(x'7F', p_next_operator_id) = 0
        AND (p_next_department_id IS NULL OR p_next_department_id = '')
        AND (p_ttl_seconds IS NULL OR p_ttl_seconds BETWEEN 1 AND 315360000)
    ) IS NOT TRUE THEN
        CALL get_appl_lock_check(p_object_type, p_object_id, p_next_operator_id, p_next_department_id, p_ttl_seconds, NULL);
        CALL appl_lock_number('release_appl_lock', 'p_fence', 9223372036854775807, COALESCE(p_fence, 0));
    END IF;
    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    SELECT COALESCE(p.default_ttl_seconds, 604800), COALESCE(p.longest_ttl_seconds, 315360000), IF(p.history_level = 'ALL', 'Y', 'N')
    INTO v_default_ttl_seconds, v_longest_ttl_seconds, v_all_fl
    FROM appl_lock_policy AS p
    WHERE p.object_type = p_object_type
    LOCK IN SHARE MODE;
    SET v_seconds_left = LEAST(COALESCE(p_ttl_seconds, v_default_ttl_seconds), v_longest_ttl_seconds);
    SET v_told = v_all_fl = 'Y';
    REPEAT
        IF v_told THEN
            CALL get_appl_lock_check(p_object_type, p_object_id, p_next_operator_id, p_next_department_id, p_ttl_seconds, NULL);
            CALL appl_lock_text('release_appl_lock', 'p_operator_id', 'Y', 1, 255, p_operator_id);
            CALL appl_lock_begin(v_began);
            -- S2: which events?
            SELECT l.department_id, l.history_fl INTO v_old_department_id, v_history_fl
            FROM appl_lock AS l
            WHERE l.object_type = p_object_type
                AND l.object_id = p_object_id
            FOR UPDATE;
        END IF;
        SET v_now = UTC_TIMESTAMP(6);
        SET v_fence = GREATEST(p_fence + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', v_now));
        SET v_expires_ts = v_now + INTERVAL v_seconds_left SECOND;
        -- S1: end the grant if it is live, and begin the next one.
        UPDATE appl_lock AS l
        SET l.operator_id = RTRIM(p_next_operator_id),
            l.department_id = COALESCE(RTRIM(p_next_department_id), ''),
            l.fence = v_fence,
            l.acquired_ts = v_now,
            l.lock_ts = GREATEST(v_now, l.lock_ts + INTERVAL 1 MICROSECOND),
            l.ttl_seconds = v_seconds_left,
            l.expires_ts = v_expires_ts,
            l.note = '',
            l.history_fl = v_all_fl
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
            AND l.operator_id = p_operator_id
            AND l.fence = p_fence
            AND l.expires_ts > UTC_TIMESTAMP(6)
            AND l.released_ts IS NULL
            AND (l.history_fl = 'N' OR v_told);
        IF ROW_COUNT() > 0 THEN
            SET v_released = 'RELEASED';
            IF v_history_fl = 'Y' THEN
                CALL appl_lock_record(
                    'RELEASED', p_object_type, p_object_id, p_operator_id,
                    p_operator_id, v_old_department_id, p_fence, '', '', 0, ''
                );
            END IF;
            IF v_all_fl = 'Y' THEN
                CALL get_appl_lock_tell(
                    'ACQUIRED', p_object_type, p_object_id, p_next_operator_id, p_next_department_id, v_fence, '', '', 0
                );
            END IF;
        ELSEIF v_told THEN
            -- S3: why not? RELEASED: the clock was set back, and nobody has the object.
            CALL appl_lock_release(
                p_object_type, p_object_id, p_operator_id, p_fence, p_operator_id, '',
                v_ok_fl, v_released, v_old_operator_id, v_old_department_id
            );
            SET v_released = IF(v_released = 'HELD', 'HELD', 'FREE');
        END IF;
        SET v_told = TRUE;
    UNTIL v_released IS NOT NULL END REPEAT;
    IF v_began THEN
        CALL appl_lock_end(TRUE);
    END IF;
    SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
    -- seconds_left counts from now, after any wait.
    SELECT
        v_released AS released, IF(v_released = 'RELEASED', 'ACQUIRED', '') AS outcome, IF(v_released = 'RELEASED', v_fence, 0) AS fence,
        IF(v_released = 'RELEASED', v_now, NULL) AS acquired_ts, IF(v_released = 'RELEASED', v_expires_ts, NULL) AS expires_ts,
        IF(v_released = 'RELEASED', GREATEST((TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), v_expires_ts) + 999999) DIV 1000000, 0), 0) AS seconds_left;
END$$

DELIMITER ;
