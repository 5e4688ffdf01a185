-- purge_appl_lock_history: remove old events from the history.
--
-- Contract   Deletes at most p_max_rows events that happened more than p_older_than_seconds ago, the oldest first. An answer
--            below p_max_rows means that none is left before the first younger one. PURGED and HISTORY_PURGED, the records of
--            purges, stay for 400 days at least. If any went, the event HISTORY_PURGED has the number as its reason.
-- In         p_older_than_seconds 1..315360000, NULL = 34560000 (400 days). p_max_rows 1..10000, NULL = 1000.
-- Out        p_purged, the number of events removed.
-- Raises     LK001 invalid argument. 40001 as the engine has it.
-- Locks      The events it removes and the first that stays, to the end of the caller's transaction. It skips events that
--            another purge removes.
-- Race-free  An event never changes. Two at once remove different ones.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION purge_appl_lock_history_row(...)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_before timestamptz := v_now - pg_catalog.make_interval(
        secs => appl_lock_number('purge_appl_lock_history', 'p_older_than_seconds', p_older_than_seconds, 34560000, 315360000)
    );
    v_max_rows bigint := appl_lock_number('purge_appl_lock_history', 'p_max_rows', p_max_rows, 1000, 10000);
    v_old CURSOR FOR
        SELECT
            e.event_ts < v_before AS is_old,
            e.event::text IN ('PURGED', 'HISTORY_PURGED') AND e.event_ts >= v_now - interval '34560000 seconds' AS stays
        FROM appl_lock_event AS e
        ORDER BY e.event_id
        FOR UPDATE SKIP LOCKED;
BEGIN
    p_purged := 0;
    FOR v_row IN v_old LOOP
        EXIT WHEN NOT v_row.is_old;
        CONTINUE WHEN v_row.stays;
        DELETE FROM appl_lock_event WHERE CURRENT OF v_old;
        p_purged := p_purged + 1;
        EXIT WHEN p_purged = v_max_rows;
    END LOOP;
    IF p_purged > 0 THEN
        PERFORM appl_lock_record('HISTORY_PURGED', '', '', '', '', '', 0::bigint, '', '', 0::bigint, p_purged::text);
    END IF;
END
$$;
