-- get_appl_lock_check, get_appl_lock_insert, get_appl_lock_tell, get_appl_lock_late: the rare branches of get_appl_lock.
-- appl_lock_policy: the policy of a type. Internal: nobody is granted these.
--
-- Contract   Check trims and checks get_appl_lock's arguments. Insert grants an object that has no row; if it has one by then,
--            nothing changes, p_outcome is NULL, and with p_lock the answer is the row, locked. p_began: in a transaction of the
--            call's own, which the caller ends. Late computes the times anew of a grant or renewal that took more than a second.
--            The policy is the defaults where there is none.
-- In         As get_appl_lock. p_lock_ts: of the row that is late.
-- Out        As get_appl_lock. p_all_fl Y: history ALL.
-- Raises     LK001 invalid argument. 1205, 1213 as get_appl_lock.
-- Locks      The object's row; the policy's row, or its gap, and that of appl_lock_fence, for reading; in a transaction until it ends.
-- Race-free  ON DUPLICATE KEY UPDATE waits for an exclusive lock on the row that is there and changes nothing. (A failed INSERT
--            would take a shared lock, and two of those deadlock.) LAST_INSERT_ID tells whether it inserted, ROW_COUNT cannot.
--            A new row's fence is greater than every purged one: appl_lock_fence is read once the row is there. In a
--            transaction it is read for share, because a plain read would fix the caller's snapshot. If more than a second has
--            passed since the clock was read, or it went back, times and fence are computed anew in the same transaction,
--            before others see them.
-- Differs    A purge in a transaction and a get of a new object in another one wait for each other, for 1 s at most.

DELIMITER $$

CREATE PROCEDURE get_appl_lock_check(
    INOUT p_object_type LONGTEXT,
    INOUT p_object_id LONGTEXT,
    INOUT p_operator_id LONGTEXT,
    INOUT p_department_id LONGTEXT,
    IN p_ttl_seconds BIGINT,
    IN p_new_fl LONGTEXT
)
COMMENT 'Internal to applock: checks the arguments of get_appl_lock.'
CONTAINS SQL
SQL SECURITY DEFINER
BEGIN
    CALL appl_lock_owner('get_appl_lock', p_object_type, p_object_id, p_operator_id, p_department_id);
    IF p_ttl_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_number('get_appl_lock', 'p_ttl_seconds', 315360000, p_ttl_seconds);
    END IF;
    IF p_new_fl NOT IN ('Y', 'N', '') THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'get_appl_lock: p_new_fl must be Y or N';
    END IF;
END$$

CREATE PROCEDURE appl_lock_policy(
    IN p_object_type VARCHAR(64),
    OUT p_default_ttl_seconds BIGINT,
    OUT p_longest_ttl_seconds BIGINT,
    OUT p_all_fl CHAR(1),
    OUT p_take_reason_fl CHAR(1)
)
COMMENT 'Internal to applock: returns the policy of a type.'
READS SQL DATA
SQL SECURITY DEFINER
BEGIN
    -- The aggregates always return one row.
    SELECT
        COALESCE(MIN(p.default_ttl_seconds), 604800),
        COALESCE(MIN(p.longest_ttl_seconds), 315360000),
        IF(MIN(p.history_level) = 'ALL', 'Y', 'N'),
        COALESCE(MIN(p.take_reason_fl), 'Y')
    INTO p_default_ttl_seconds, p_longest_ttl_seconds, p_all_fl, p_take_reason_fl
    FROM appl_lock_policy AS p
    WHERE p.object_type = p_object_type
    LOCK IN SHARE MODE;
END$$

CREATE PROCEDURE get_appl_lock_insert(
    IN p_object_type VARCHAR(64),
    IN p_object_id VARCHAR(255),
    IN p_operator_id VARCHAR(255),
    IN p_department_id VARCHAR(64),
    IN p_ttl_seconds BIGINT,
    IN p_lock BOOLEAN,
    INOUT p_began BOOLEAN,
    OUT p_outcome VARCHAR(11),
    OUT p_fence BIGINT,
    OUT p_seconds_left BIGINT,
    OUT p_old_operator_id VARCHAR(255),
    OUT p_old_department_id VARCHAR(64),
    OUT p_old_fence BIGINT,
    OUT p_acquired_ts DATETIME(6),
    OUT p_old_lock_ts DATETIME(6),
    OUT p_old_ttl_seconds BIGINT,
    OUT p_expires_ts DATETIME(6),
    OUT p_note VARCHAR(255),
    OUT p_old_history_fl CHAR(1),
    OUT p_old_released_ts DATETIME(6)
)
COMMENT 'Internal to applock: grants an object that has no row, or else reads and locks the row in a transaction.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_insert_id BIGINT UNSIGNED DEFAULT LAST_INSERT_ID();
    DECLARE v_timeout BIGINT DEFAULT @@SESSION.innodb_lock_wait_timeout;
    DECLARE v_now DATETIME(6);
    DECLARE v_purged_fence BIGINT;
    DECLARE v_default_ttl_seconds BIGINT;
    DECLARE v_longest_ttl_seconds BIGINT;
    DECLARE v_all_fl CHAR(1);
    DECLARE v_take_reason_fl CHAR(1);
    -- 1422: a function or trigger, which has a transaction.
    DECLARE CONTINUE HANDLER FOR 1422 BEGIN END;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        DO LAST_INSERT_ID(v_insert_id);
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        IF p_began THEN
            CALL appl_lock_end(FALSE);
        END IF;
        RESIGNAL;
    END;

    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    CALL appl_lock_policy(p_object_type, v_default_ttl_seconds, v_longest_ttl_seconds, v_all_fl, v_take_reason_fl);
    SET p_seconds_left = LEAST(COALESCE(p_ttl_seconds, v_default_ttl_seconds), v_longest_ttl_seconds);
    CALL appl_lock_begin(p_began);
    SET v_now = UTC_TIMESTAMP(6);
    SET p_fence = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', v_now);
    SET p_expires_ts = v_now + INTERVAL p_seconds_left SECOND;
    -- S1: insert, or yield.
    INSERT INTO appl_lock (
        object_type, object_id, operator_id, department_id, fence, acquired_ts, lock_ts, ttl_seconds, expires_ts, history_fl
    )
    VALUES (
        p_object_type, p_object_id, p_operator_id, COALESCE(RTRIM(p_department_id), ''), LAST_INSERT_ID(p_fence), v_now, v_now,
        p_seconds_left, p_expires_ts, v_all_fl
    )
    ON DUPLICATE KEY UPDATE fence = fence + LAST_INSERT_ID(0);
    IF LAST_INSERT_ID() = 0 AND p_lock THEN
        -- S2: the row, which S1 has locked.
        SELECT
            l.operator_id, l.department_id, l.fence, l.acquired_ts, l.lock_ts, l.ttl_seconds,
            l.expires_ts, l.note, l.history_fl, l.released_ts
        INTO
            p_old_operator_id, p_old_department_id, p_old_fence, p_acquired_ts, p_old_lock_ts, p_old_ttl_seconds,
            p_expires_ts, p_note, p_old_history_fl, p_old_released_ts
        FROM appl_lock AS l
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
        FOR UPDATE;
    ELSEIF LAST_INSERT_ID() > 0 THEN
        SET p_outcome = 'ACQUIRED';
        SET p_acquired_ts = v_now;
        SET p_note = '';
        IF p_lock THEN
            SELECT f.fence INTO v_purged_fence FROM appl_lock_fence AS f WHERE f.slot = 1 LOCK IN SHARE MODE;
        ELSE
            SELECT f.fence INTO v_purged_fence FROM appl_lock_fence AS f WHERE f.slot = 1;
        END IF;
        IF p_fence <= v_purged_fence OR UTC_TIMESTAMP(6) NOT BETWEEN v_now AND v_now + INTERVAL 1 SECOND THEN
            CALL get_appl_lock_late(
                p_object_type, p_object_id, 'INSERTED', p_seconds_left, v_now, v_purged_fence, p_fence, p_acquired_ts, p_expires_ts
            );
        END IF;
        IF v_all_fl = 'Y' THEN
            CALL appl_lock_record(
                'ACQUIRED', p_object_type, p_object_id, p_operator_id,
                '', '', 0, p_operator_id, COALESCE(RTRIM(p_department_id), ''), p_fence, ''
            );
        END IF;
    END IF;
    DO LAST_INSERT_ID(v_insert_id);
    IF p_began AND (p_outcome IS NOT NULL OR NOT p_lock) THEN
        CALL appl_lock_end(TRUE);
        SET p_began = FALSE;
    END IF;
    SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
END$$

CREATE PROCEDURE get_appl_lock_tell(
    IN p_event VARCHAR(16),
    IN p_object_type VARCHAR(64),
    IN p_object_id VARCHAR(255),
    IN p_operator_id VARCHAR(255),
    IN p_department_id VARCHAR(64),
    IN p_fence BIGINT,
    IN p_old_operator_id VARCHAR(255),
    IN p_old_department_id VARCHAR(64),
    IN p_old_fence BIGINT
)
COMMENT 'Internal to applock: records a grant or renewal in the history.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_department_id VARCHAR(64) DEFAULT COALESCE(p_department_id, IF(p_event = 'RENEWED', p_old_department_id, ''));
    CASE p_event
        WHEN 'ACQUIRED' THEN
            CALL appl_lock_record(
                p_event, p_object_type, p_object_id, p_operator_id, '', '', 0, p_operator_id, v_department_id, p_fence, ''
            );
        WHEN 'RENEWED' THEN
            CALL appl_lock_record(
                p_event, p_object_type, p_object_id, p_operator_id,
                p_operator_id, v_department_id, p_fence, p_operator_id, v_department_id, p_fence, ''
            );
        ELSE
            CALL appl_lock_record(
                p_event, p_object_type, p_object_id, p_operator_id,
                p_old_operator_id, p_old_department_id, p_old_fence, p_operator_id, v_department_id, p_fence, ''
            );
    END CASE;
END$$

CREATE PROCEDURE get_appl_lock_late(
    IN p_object_type VARCHAR(64),
    IN p_object_id VARCHAR(255),
    IN p_outcome VARCHAR(11),
    IN p_ttl_seconds BIGINT,
    IN p_lock_ts DATETIME(6),
    IN p_purged_fence BIGINT,
    INOUT p_fence BIGINT,
    INOUT p_acquired_ts DATETIME(6),
    INOUT p_expires_ts DATETIME(6)
)
COMMENT 'Internal to applock: sets the times of a grant or renewal, and the fence of a new row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_now DATETIME(6) DEFAULT UTC_TIMESTAMP(6);
    DECLARE v_fence BIGINT DEFAULT p_fence;
    IF p_outcome = 'INSERTED' THEN
        SET v_fence = GREATEST(p_fence + 1, COALESCE(p_purged_fence, 0) + 1, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', v_now));
    END IF;
    UPDATE appl_lock AS l
    SET l.fence = v_fence,
        l.lock_ts = GREATEST(v_now, p_lock_ts + INTERVAL 1 MICROSECOND),
        l.acquired_ts = IF(p_outcome = 'RENEWED', l.acquired_ts, l.lock_ts),
        l.expires_ts = v_now + INTERVAL p_ttl_seconds SECOND
    WHERE l.object_type = p_object_type
        AND l.object_id = p_object_id
        AND l.fence = p_fence
        AND l.lock_ts = p_lock_ts
        AND l.released_ts IS NULL;
    IF ROW_COUNT() > 0 THEN
        SET p_fence = v_fence;
        SET p_acquired_ts = IF(p_outcome = 'RENEWED', p_acquired_ts, GREATEST(v_now, p_lock_ts + INTERVAL 1 MICROSECOND));
        SET p_expires_ts = v_now + INTERVAL p_ttl_seconds SECOND;
    END IF;
END$$

DELIMITER ;
