-- purge_appl_locks: remove the rows of objects that have been free for long.
--
-- Contract   Deletes at most p_max_rows rows of appl_lock that have been free for p_older_than_seconds. An answer below
--            p_max_rows means that none is left. Only the last call, which removes fewer, looks for waiters, requests and viewers
--            that have been dead for as long. At most p_max_rows of each go, and are not counted. Live locks and events stay.
--            If any row of a lock went, the event PURGED has the number as its reason.
-- In         p_older_than_seconds: NULL = 2592000 (30 days). p_max_rows: 1..10000, NULL = 1000.
-- Out        p_purged, the number of rows of appl_lock removed.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine. 1205 after 1 s of waiting for a transaction that has got a
--            new object, or for another purge. 1213 deadlock.
-- Locks      The rows it removes and the row of appl_lock_fence, to the end of the caller's transaction. It skips rows that
--            another transaction is changing (S3, S6, S9, S12).
-- Race-free  Get of a row being purged: S4 judges the newest row once it is locked; a get that waited inserts a new row.
--            A fence never falls: S2 raises appl_lock_fence before the first row goes, and S4 removes no row of a greater fence; a new
--            row's fence is greater than that. A row goes only when its fence lies in the past, so new fences stay near now.
-- Differs    Row by row, found by a plain read: one statement would lock every row that it passes at REPEATABLE READ. Under autocommit
--            each row is a transaction; in a transaction the plain read fixes the caller's snapshot.

DELIMITER $$

CREATE PROCEDURE purge_appl_locks_core(...)
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_older_than_seconds BIGINT DEFAULT COALESCE(p_older_than_seconds, 2592000);
    DECLARE v_max_rows BIGINT DEFAULT COALESCE(p_max_rows, 1000);
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    DECLARE v_before DATETIME(6);
    DECLARE v_fence BIGINT;
    DECLARE v_object_type VARCHAR(64) DEFAULT '';
    DECLARE v_object_id VARCHAR(255) DEFAULT '';
    DECLARE v_operator_id VARCHAR(255) DEFAULT '';
    DECLARE v_client_id VARCHAR(64) DEFAULT '';
    DECLARE v_more BOOLEAN DEFAULT TRUE;
    DECLARE v_free BOOLEAN;
    DECLARE v_waiters BIGINT DEFAULT 0;
    DECLARE v_requests BIGINT DEFAULT 0;
    DECLARE v_viewers BIGINT DEFAULT 0;
    DECLARE CONTINUE HANDLER FOR NOT FOUND BEGIN END;
    -- 1422: a function or trigger.
    DECLARE CONTINUE HANDLER FOR 1422 CALL appl_lock_inside();
    DECLARE EXIT HANDLER FOR SQLEXCEPTION
    BEGIN
        SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
        RESIGNAL;
    END;

    CALL appl_lock_number('purge_appl_locks', 'p_older_than_seconds', 315360000, v_older_than_seconds);
    CALL appl_lock_number('purge_appl_locks', 'p_max_rows', 10000, v_max_rows);
    CALL appl_lock_enter();
    SET v_before = UTC_TIMESTAMP(6) - INTERVAL v_older_than_seconds SECOND;
    SET p_purged = 0;
    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    -- S1: the greatest fence of those that could go.
    SELECT MAX(c.fence)
    INTO v_fence
    FROM (
        SELECT l.fence
        FROM appl_lock AS l
        WHERE COALESCE(l.released_ts, l.expires_ts) < v_before
            AND l.fence < TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
        ORDER BY l.object_type, l.object_id
        LIMIT v_max_rows
    ) AS c;
    -- S2: no new fence is less from now on.
    UPDATE appl_lock_fence
    SET fence = GREATEST(fence, v_fence)
    WHERE slot = 1
        AND v_fence IS NOT NULL;
    WHILE v_more AND v_fence IS NOT NULL AND p_purged < v_max_rows DO
        SET v_more = FALSE;
        -- S3: the next row that could go; is another transaction changing it?
        SELECT TRUE, FALSE, l.object_type, l.object_id
        INTO v_more, v_free, v_object_type, v_object_id
        FROM appl_lock AS l
        WHERE (l.object_type > v_object_type OR (l.object_type = v_object_type AND l.object_id > v_object_id))
            AND COALESCE(l.released_ts, l.expires_ts) < v_before
            AND l.fence <= v_fence
        ORDER BY l.object_type, l.object_id
        LIMIT 1;
        IF v_more THEN
            SELECT TRUE
            INTO v_free
            FROM appl_lock AS l
            WHERE l.object_type = v_object_type
                AND l.object_id = v_object_id
            FOR UPDATE SKIP LOCKED;
            IF v_free THEN
                -- S4: remove it.
                DELETE FROM appl_lock
                WHERE object_type = v_object_type
                    AND object_id = v_object_id
                    AND COALESCE(released_ts, expires_ts) < v_before
                    AND fence <= v_fence;
                SET p_purged = p_purged + ROW_COUNT();
            END IF;
        END IF;
    END WHILE;

    SET v_object_type = '';
    SET v_object_id = '';
    SET v_more = TRUE;
    WHILE v_more AND p_purged < v_max_rows AND v_waiters < v_max_rows DO
        SET v_more = FALSE;
        -- S5: the next waiter that could go.
        SELECT TRUE, FALSE, w.object_type, w.object_id, w.operator_id, w.client_id
        INTO v_more, v_free, v_object_type, v_object_id, v_operator_id, v_client_id
        FROM appl_lock_waiter AS w
        WHERE (w.object_type > v_object_type OR (w.object_type = v_object_type
                AND (w.object_id > v_object_id OR (w.object_id = v_object_id
                AND (w.operator_id > v_operator_id OR (w.operator_id = v_operator_id
                AND w.client_id > v_client_id))))))
            AND w.expires_ts < v_before
        ORDER BY w.object_type, w.object_id, w.operator_id, w.client_id
        LIMIT 1;
        IF v_more THEN
            -- S6: is another transaction changing it?
            SELECT TRUE
            INTO v_free
            FROM appl_lock_waiter AS w
            WHERE w.object_type = v_object_type
                AND w.object_id = v_object_id
                AND w.operator_id = v_operator_id
                AND w.client_id = v_client_id
            FOR UPDATE SKIP LOCKED;
            IF v_free THEN
                -- S7: remove it.
                DELETE FROM appl_lock_waiter
                WHERE object_type = v_object_type
                    AND object_id = v_object_id
                    AND operator_id = v_operator_id
                    AND client_id = v_client_id
                    AND expires_ts < v_before;
                SET v_waiters = v_waiters + ROW_COUNT();
            END IF;
        END IF;
    END WHILE;

    SET v_object_type = '';
    SET v_object_id = '';
    SET v_operator_id = '';
    SET v_client_id = '';
    SET v_more = TRUE;
    WHILE v_more AND p_purged < v_max_rows AND v_requests < v_max_rows DO
        SET v_more = FALSE;
        -- S8: the next request that could go.
        SELECT TRUE, FALSE, a.object_type, a.object_id, a.operator_id, a.client_id
        INTO v_more, v_free, v_object_type, v_object_id, v_operator_id, v_client_id
        FROM appl_lock_ask AS a
        WHERE (a.object_type > v_object_type OR (a.object_type = v_object_type
                AND (a.object_id > v_object_id OR (a.object_id = v_object_id
                AND (a.operator_id > v_operator_id OR (a.operator_id = v_operator_id
                AND a.client_id > v_client_id))))))
            AND a.expires_ts < v_before
        ORDER BY a.object_type, a.object_id, a.operator_id, a.client_id
        LIMIT 1;
        IF v_more THEN
            -- S9: is another transaction changing it?
            SELECT TRUE
            INTO v_free
            FROM appl_lock_ask AS a
            WHERE a.object_type = v_object_type
                AND a.object_id = v_object_id
                AND a.operator_id = v_operator_id
                AND a.client_id = v_client_id
            FOR UPDATE SKIP LOCKED;
            IF v_free THEN
                -- S10: remove it.
                DELETE FROM appl_lock_ask
                WHERE object_type = v_object_type
                    AND object_id = v_object_id
                    AND operator_id = v_operator_id
                    AND client_id = v_client_id
                    AND expires_ts < v_before;
                SET v_requests = v_requests + ROW_COUNT();
            END IF;
        END IF;
    END WHILE;

    SET v_object_type = '';
    SET v_object_id = '';
    SET v_operator_id = '';
    SET v_client_id = '';
    SET v_more = TRUE;
    WHILE v_more AND p_purged < v_max_rows AND v_viewers < v_max_rows DO
        SET v_more = FALSE;
        -- S11: the next viewer that could go.
        SELECT TRUE, FALSE, v.object_type, v.object_id, v.operator_id, v.client_id
        INTO v_more, v_free, v_object_type, v_object_id, v_operator_id, v_client_id
        FROM appl_lock_viewer AS v
        WHERE (v.object_type > v_object_type OR (v.object_type = v_object_type
                AND (v.object_id > v_object_id OR (v.object_id = v_object_id
                AND (v.operator_id > v_operator_id OR (v.operator_id = v_operator_id
                AND v.client_id > v_client_id))))))
            AND v.expires_ts < v_before
        ORDER BY v.object_type, v.object_id, v.operator_id, v.client_id
        LIMIT 1;
        IF v_more THEN
            -- S12: is another transaction changing it?
            SELECT TRUE
            INTO v_free
            FROM appl_lock_viewer AS v
            WHERE v.object_type = v_object_type
                AND v.object_id = v_object_id
                AND v.operator_id = v_operator_id
                AND v.client_id = v_client_id
            FOR UPDATE SKIP LOCKED;
            IF v_free THEN
                -- S13: remove it.
                DELETE FROM appl_lock_viewer
                WHERE object_type = v_object_type
                    AND object_id = v_object_id
                    AND operator_id = v_operator_id
                    AND client_id = v_client_id
                    AND expires_ts < v_before;
                SET v_viewers = v_viewers + ROW_COUNT();
            END IF;
        END IF;
    END WHILE;
    IF p_purged > 0 THEN
        CALL appl_lock_record('PURGED', '', '', '', '', '', 0, '', '', 0, p_purged);
    END IF;
    SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
END$$

DELIMITER ;
