-- purge_appl_locks: remove the rows of objects that have been free for long.
--
-- Contract   Deletes at most p_max_rows rows that expired or were released more than
--            p_older_than_seconds ago; fewer than p_max_rows means that none is left. No live lock
--            is ever touched. Call it again until it returns less than p_max_rows. Waiters that have been
--            dead for as long go as well, at most p_max_rows of them, and events of the history that are so old, as many;
--            they are not counted. What is counted is itself an event, PURGED, if there is any: its reason is the number.
-- In         p_older_than_seconds 1..315360000, NULL = 2592000 (30 days). p_max_rows 1..10000, NULL = 1000.
-- Out        p_purged, the number of rows of appl_lock removed.
-- Raises     LK001 invalid argument. LK003 when an upgrade is replacing the routine. 1213 deadlock.
-- Locks      The rows it removes, to the end of the caller's transaction. Rows that somebody else is
--            changing are passed over (S2, S5). Nobody changes an event.
-- Race-free  Get of a row being purged: S3 judges the newest row again once it is locked; a get that
--            waited inserts a new row.
--            Fences stay monotonic: a row goes only when its fence lies in the past (it does not after
--            the clock was set back), so that the next grant's fence, now in microseconds, is greater.
-- Differs    Row by row, found by a plain read: one statement would lock every row that it passes at
--            REPEATABLE READ. So each row is a transaction of its own under autocommit, and so is the event, and each waits for the
--            disk; call it in a transaction at READ COMMITTED, and all of them wait once. Within a transaction the plain read
--            fixes the caller's snapshot.

DELIMITER $$

CREATE PROCEDURE purge_appl_locks_core(
    IN p_older_than_seconds BIGINT,
    IN p_max_rows BIGINT,
    OUT p_purged BIGINT
)
COMMENT 'Internal to applock: the operation purge_appl_locks.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_older_than_seconds BIGINT DEFAULT COALESCE(p_older_than_seconds, 2592000);
    DECLARE v_max_rows BIGINT DEFAULT COALESCE(p_max_rows, 1000);
    DECLARE v_now_us BIGINT DEFAULT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6));
    DECLARE v_before DATETIME(6);
    DECLARE v_object_type VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '';
    DECLARE v_object_id VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '';
    DECLARE v_operator_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '';
    DECLARE v_client_id VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT '';
    DECLARE v_more BOOLEAN DEFAULT TRUE;
    DECLARE v_free BOOLEAN;
    DECLARE v_waiters BIGINT DEFAULT 0;
    DECLARE v_events BIGINT DEFAULT 0;
    DECLARE v_event_id BIGINT DEFAULT 0;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_more = FALSE;

    IF v_older_than_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('purge_appl_locks', 'p_older_than_seconds', 315360000);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('purge_appl_locks', 'p_max_rows', 10000);
    END IF;

    SET v_before = UTC_TIMESTAMP(6) - INTERVAL v_older_than_seconds SECOND;
    SET p_purged = 0;
    WHILE v_more AND p_purged < v_max_rows DO
        -- S1: the next row that could go.
        SELECT l.object_type, l.object_id
        INTO v_object_type, v_object_id
        FROM appl_lock AS l
        WHERE (l.object_type > v_object_type OR (l.object_type = v_object_type AND l.object_id > v_object_id))
            AND l.expires_ts < v_before
        ORDER BY l.object_type, l.object_id
        LIMIT 1;
        IF v_more THEN
            -- S2: is nobody changing it?
            SELECT TRUE
            INTO v_free
            FROM appl_lock AS l
            WHERE l.object_type = v_object_type
                AND l.object_id = v_object_id
            FOR UPDATE SKIP LOCKED;
            IF v_more THEN
                -- S3: remove it.
                DELETE FROM appl_lock
                WHERE object_type = v_object_type
                    AND object_id = v_object_id
                    AND expires_ts < v_before
                    AND fence < v_now_us;
                SET p_purged = p_purged + ROW_COUNT();
            END IF;
            SET v_more = TRUE;
        END IF;
    END WHILE;

    SET v_object_type = '';
    SET v_object_id = '';
    SET v_more = TRUE;
    WHILE v_more AND v_waiters < v_max_rows DO
        -- S4: the next waiter that could go.
        SELECT w.object_type, w.object_id, w.operator_id, w.client_id
        INTO v_object_type, v_object_id, v_operator_id, v_client_id
        FROM appl_lock_waiter AS w
        WHERE (w.object_type > v_object_type OR (w.object_type = v_object_type
                AND (w.object_id > v_object_id OR (w.object_id = v_object_id
                AND (w.operator_id > v_operator_id OR (w.operator_id = v_operator_id
                AND w.client_id > v_client_id))))))
            AND w.expires_ts < v_before
        ORDER BY w.object_type, w.object_id, w.operator_id, w.client_id
        LIMIT 1;
        IF v_more THEN
            -- S5: is nobody changing it?
            SELECT TRUE
            INTO v_free
            FROM appl_lock_waiter AS w
            WHERE w.object_type = v_object_type
                AND w.object_id = v_object_id
                AND w.operator_id = v_operator_id
                AND w.client_id = v_client_id
            FOR UPDATE SKIP LOCKED;
            IF v_more THEN
                -- S6: remove it.
                DELETE FROM appl_lock_waiter
                WHERE object_type = v_object_type
                    AND object_id = v_object_id
                    AND operator_id = v_operator_id
                    AND client_id = v_client_id
                    AND expires_ts < v_before;
                SET v_waiters = v_waiters + ROW_COUNT();
            END IF;
            SET v_more = TRUE;
        END IF;
    END WHILE;

    -- S7: events, oldest first, and no further than the first that stays.
    SET v_more = TRUE;
    WHILE v_more AND v_events < v_max_rows DO
        SELECT e.event_id, e.event_ts < v_before
        INTO v_event_id, v_more
        FROM appl_lock_event AS e
        WHERE e.event_id > v_event_id
        ORDER BY e.event_id
        LIMIT 1;
        IF v_more THEN
            DELETE FROM appl_lock_event
            WHERE event_id = v_event_id;
            SET v_events = v_events + 1;
        END IF;
    END WHILE;
    IF p_purged > 0 THEN
        CALL appl_lock_record('PURGED', '', '', '', '', '', 0, '', '', 0, p_purged);
    END IF;
END$$

CREATE PROCEDURE purge_appl_locks(
    IN p_older_than_seconds BIGINT,
    IN p_max_rows BIGINT,
    OUT p_purged BIGINT
)
COMMENT 'Remove the rows of objects that have been free for long.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'purge_appl_locks: is being replaced; call again, or install it again if that lasts';
    CALL purge_appl_locks_core(
        p_older_than_seconds, p_max_rows, p_purged
    );
END$$

CREATE PROCEDURE purge_appl_locks_row(
    IN p_older_than_seconds BIGINT,
    IN p_max_rows BIGINT
)
COMMENT 'Remove the rows of objects that have been free for long; the answer is one row.'
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_purged BIGINT;
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'purge_appl_locks: is being replaced; call again, or install it again if that lasts';
    CALL purge_appl_locks_core(
        p_older_than_seconds, p_max_rows, v_purged
    );
    SELECT v_purged AS p_purged;
END$$

DELIMITER ;
