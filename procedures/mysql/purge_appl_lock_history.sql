-- purge_appl_lock_history: remove old events from the history.
--
-- Contract   Deletes at most p_max_rows events that happened p_older_than_seconds ago or longer, oldest first, and no further than the
--            first that stays. PURGED and HISTORY_PURGED, the records of purges, stay for 400 days at least. If any went, the
--            event HISTORY_PURGED has the number as its reason.
-- In         p_older_than_seconds: NULL = 34560000 (400 days). p_max_rows: 1..10000, NULL = 1000.
-- Out        p_purged, the number of events removed.
-- Raises     LK001 invalid argument. LK003 an upgrade is replacing the routine. 1205 at SERIALIZABLE after 1 s
--            of waiting for another purge. 1213 deadlock.
-- Locks      The events it removes, to the end of the caller's transaction. It skips events that another purge removes (S2).
-- Race-free  An event never changes. The removal and its event are one transaction. Two at once remove different ones.
-- Differs    Row by row, found by a plain read, which in a transaction fixes the caller's snapshot.

DELIMITER $$

CREATE PROCEDURE purge_appl_lock_history_core(...)
MODIFIES SQL DATA
SQL SECURITY DEFINER
BEGIN
    DECLARE v_older_than_seconds BIGINT DEFAULT COALESCE(p_older_than_seconds, 34560000);
    DECLARE v_max_rows BIGINT DEFAULT COALESCE(p_max_rows, 1000);
    DECLARE v_before DATETIME(6);
    DECLARE v_began BOOLEAN DEFAULT FALSE;
    DECLARE v_more BOOLEAN DEFAULT TRUE;
    DECLARE v_stays BOOLEAN;
    DECLARE v_free BOOLEAN;
    DECLARE v_timeout BIGINT DEFAULT COALESCE(@appl_lock_wait, @@SESSION.innodb_lock_wait_timeout);
    DECLARE v_event_id BIGINT DEFAULT 0;
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

    CALL appl_lock_number('purge_appl_lock_history', 'p_older_than_seconds', 315360000, v_older_than_seconds);
    CALL appl_lock_number('purge_appl_lock_history', 'p_max_rows', 10000, v_max_rows);
    CALL appl_lock_enter();
    SET v_before = UTC_TIMESTAMP(6) - INTERVAL v_older_than_seconds SECOND;
    SET p_purged = 0;
    SET @appl_lock_wait = COALESCE(@appl_lock_wait, v_timeout), SESSION innodb_lock_wait_timeout = LEAST(1, v_timeout);
    CALL appl_lock_begin(v_began);
    WHILE v_more AND p_purged < v_max_rows DO
        SET v_more = FALSE;
        -- S1: the next event, and does it stay for longer?
        SELECT
            e.event_id,
            e.event_ts < v_before,
            e.event IN ('PURGED', 'HISTORY_PURGED') AND e.event_ts >= UTC_TIMESTAMP(6) - INTERVAL 34560000 SECOND
        INTO v_event_id, v_more, v_stays
        FROM appl_lock_event AS e
        WHERE e.event_id > v_event_id
        ORDER BY e.event_id
        LIMIT 1;
        IF v_more AND NOT v_stays THEN
            SET v_free = FALSE;
            -- S2: is another purge removing it?
            SELECT TRUE
            INTO v_free
            FROM appl_lock_event AS e
            WHERE e.event_id = v_event_id
            FOR UPDATE SKIP LOCKED;
            IF v_free THEN
                -- S3: remove it.
                DELETE FROM appl_lock_event
                WHERE event_id = v_event_id;
                SET p_purged = p_purged + ROW_COUNT();
            END IF;
        END IF;
    END WHILE;
    IF p_purged > 0 THEN
        CALL appl_lock_record('HISTORY_PURGED', '', '', '', '', '', 0, '', '', 0, p_purged);
    END IF;
    IF v_began THEN
        CALL appl_lock_end(TRUE);
    END IF;
    SET SESSION innodb_lock_wait_timeout = v_timeout, @appl_lock_wait = NULLIF(@appl_lock_wait, v_timeout);
END$$

DELIMITER ;
