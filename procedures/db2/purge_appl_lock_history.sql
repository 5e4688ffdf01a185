-- purge_appl_lock_history: remove old events from the history.
--
-- Contract   Deletes at most p_max_rows events that are older than p_older_than_seconds, the oldest first; fewer than p_max_rows
--            means that none is left. PURGED and HISTORY_PURGED, the records of purges, stay for 400 days at least. If any
--            went, the event HISTORY_PURGED has the number as its reason.
-- In         p_older_than_seconds 1..315360000, NULL = 34560000 (400 days). p_max_rows 1..10000, NULL = 1000.
-- Out        p_purged, the number of events removed.
-- Raises     LK001 invalid argument. -911 and -913 as get_appl_lock.
-- Locks      The events it removes, to the end of the caller's transaction.
-- Race-free  An event never changes. Two at once: one waits for the other's event, finds it gone, and does not count it.
-- Differs    As purge_appl_locks.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE purge_appl_lock_history (...)
SPECIFIC purge_appl_lock_history
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_older_than_seconds, v_max_rows BIGINT;
    DECLARE v_purged BIGINT DEFAULT 0;
    DECLARE v_limit INTEGER;
    DECLARE v_now, v_before, v_kept TIMESTAMP;
    DECLARE v_changed INTEGER DEFAULT 0;

    SET p_purged = 0;
    SET v_older_than_seconds = COALESCE(p_older_than_seconds, 34560000);
    SET v_max_rows = COALESCE(p_max_rows, 1000);
    IF v_older_than_seconds NOT BETWEEN 1 AND 315360000 THEN
        CALL appl_lock_refuse_number('purge_appl_lock_history', 'p_older_than_seconds', 315360000);
    ELSEIF v_max_rows NOT BETWEEN 1 AND 10000 THEN
        CALL appl_lock_refuse_number('purge_appl_lock_history', 'p_max_rows', 10000);
    END IF;

    SET v_limit = v_max_rows;
    SET CURRENT LOCK TIMEOUT 1;
    SET v_now = CURRENT TIMESTAMP - CURRENT TIMEZONE;
    SET v_before = v_now - (v_older_than_seconds) SECOND;
    SET v_kept = v_now - (34560000) SECOND;
    -- S1: which events are old enough?
    FOR event AS
        SELECT e.event_id AS c_event_id
        FROM appl_lock_event AS e
        WHERE e.event_ts < v_before
            AND (e.event NOT IN ('PURGED', 'HISTORY_PURGED') OR e.event_ts < v_kept)
        ORDER BY e.event_id
        FETCH FIRST v_limit ROWS ONLY
        WITH CS
    DO
        -- S2: remove it.
        DELETE FROM appl_lock_event
        WHERE event_id = c_event_id;
        GET DIAGNOSTICS v_changed = ROW_COUNT;
        SET v_purged = v_purged + v_changed;
    END FOR;

    IF v_purged > 0 THEN
        CALL appl_lock_record(v_now, '', '', 'HISTORY_PURGED', '', '', '', '', '', 0, 0, CAST(v_purged AS VARCHAR(20)));
    END IF;
    SET p_purged = v_purged;
END
@
