-- inquire_appl_lock: show who holds an object, since when and until when.
--
-- Contract   Y and the lock, when somebody holds the object. N and blanks, when it is free.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255. Trailing blanks are trimmed first.
-- Out        p_ok_fl, p_operator_id, p_department_id, p_fence, p_acquired_ts, p_lock_ts, p_expires_ts (UTC),
--            p_seconds_left (rounded up), p_note. When N: empty strings, 0, NULL timestamps.
-- Raises     LK001 invalid argument. Nothing else on purpose.
-- Locks      Nothing; it reads what is committed without waiting (cur_commit, the default).
-- Race-free  One read of one committed row version: what it says was true at one moment.
-- Differs    Where cur_commit is DISABLED it waits for a transaction that is changing the row, as long as
--            the caller's own lock timeout says.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE inquire_appl_lock (...)
SPECIFIC inquire_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
READS SQL DATA
main: BEGIN
    DECLARE v_object_type, v_object_id VARCHAR(4000);
    DECLARE v_rows INTEGER DEFAULT 0;
    DECLARE v_now, v_acquired_ts, v_lock_ts, v_expires_ts, v_released_ts TIMESTAMP;
    DECLARE v_operator_id, v_department_id VARCHAR(256);
    DECLARE v_fence BIGINT;
    DECLARE v_note VARCHAR(1020);

    SET p_ok_fl = 'N';
    SET p_operator_id = '';
    SET p_department_id = '';
    SET p_fence = 0;
    SET p_acquired_ts = NULL;
    SET p_lock_ts = NULL;
    SET p_expires_ts = NULL;
    SET p_seconds_left = 0;
    SET p_note = '';
    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('inquire_appl_lock', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('inquire_appl_lock', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    END IF;
    IF NOT_PLAIN(v_object_type || v_object_id) THEN
        CALL appl_lock_check_text('inquire_appl_lock', 'p_object_type', v_object_type);
        CALL appl_lock_check_text('inquire_appl_lock', 'p_object_id', v_object_id);
    END IF;

    -- The aggregates always return one row.
    SELECT
        COUNT(*), MAX(l.operator_id), MAX(l.department_id), MAX(l.fence),
        MAX(l.acquired_ts), MAX(l.lock_ts), MAX(l.expires_ts), MAX(l.released_ts), MAX(l.note)
    INTO v_rows, v_operator_id, v_department_id, v_fence, v_acquired_ts, v_lock_ts, v_expires_ts, v_released_ts, v_note
    FROM appl_lock AS l
    WHERE l.object_type = v_object_type
        AND l.object_id = v_object_id
    WITH CS;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    IF v_rows = 1 AND v_released_ts IS NULL AND v_expires_ts > v_now THEN
        SET p_ok_fl = 'Y';
        SET p_operator_id = v_operator_id;
        SET p_department_id = v_department_id;
        SET p_fence = v_fence;
        SET p_acquired_ts = v_acquired_ts;
        SET p_lock_ts = v_lock_ts;
        SET p_expires_ts = v_expires_ts;
        SET p_note = v_note;
        SET p_seconds_left = SECONDS_UP(v_now, v_expires_ts);
    END IF;
END main
@
