-- purge_appl_locks: remove the rows of objects that have been free for long.
--
-- Contract   Deletes at most p_max_rows rows that expired or were released more than
--            p_older_than_seconds ago; fewer than p_max_rows means that none is left. No live lock
--            is ever touched. Call it again until it returns less than p_max_rows. Waiters that have been
--            dead for as long go as well, at most p_max_rows of them, and events of the history that are so old, as many;
--            they are not counted. What is counted is itself an event, PURGED, if there is any: its reason is the number.
-- In         p_older_than_seconds 1..315360000, NULL = 2592000 (30 days). p_max_rows 1..10000, NULL = 1000.
-- Out        p_purged, the number of rows of appl_lock removed.
-- Raises     LK001 invalid argument. 40001 as the engine has it.
-- Locks      The rows it removes, to the end of the caller's transaction. Rows that somebody else is
--            changing are passed over, never waited for.
-- Race-free  Get of a row being purged: FOR UPDATE decides which of them has the row; purge judges the
--            row again once it is locked, and a get that waited inserts a new row.
--            Fences stay monotonic: a row goes only when its fence lies in the past (it does not after
--            the clock was set back), so that the next grant's fence, now in microseconds, is greater.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION purge_appl_locks_row(
    p_older_than_seconds bigint,
    p_max_rows bigint,
    OUT p_purged bigint
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_before timestamptz := v_now - make_interval(
        secs => appl_lock_number('purge_appl_locks', 'p_older_than_seconds', p_older_than_seconds, 2592000, 315360000)
    );
    v_max_rows bigint := appl_lock_number('purge_appl_locks', 'p_max_rows', p_max_rows, 1000, 10000);
    v_free CURSOR FOR
        SELECT
        FROM appl_lock AS l
        WHERE l.expires_ts < v_before
            AND l.lock_ts < v_before
            AND l.fence < (extract(epoch FROM v_now) * 1000000)::bigint
        LIMIT v_max_rows
        FOR UPDATE SKIP LOCKED;
    v_dead CURSOR FOR
        SELECT
        FROM appl_lock_waiter AS w
        WHERE w.expires_ts < v_before
        LIMIT v_max_rows
        FOR UPDATE SKIP LOCKED;
    v_old CURSOR FOR
        SELECT
        FROM appl_lock_event AS e
        WHERE e.event_ts < v_before
        LIMIT v_max_rows
        FOR UPDATE SKIP LOCKED;
BEGIN
    p_purged := 0;
    FOR v_row IN v_free LOOP
        DELETE FROM appl_lock WHERE CURRENT OF v_free;
        p_purged := p_purged + 1;
    END LOOP;
    FOR v_row IN v_dead LOOP
        DELETE FROM appl_lock_waiter WHERE CURRENT OF v_dead;
    END LOOP;
    FOR v_row IN v_old LOOP
        DELETE FROM appl_lock_event WHERE CURRENT OF v_old;
    END LOOP;
    IF p_purged > 0 THEN
        PERFORM appl_lock_record('PURGED', '', '', '', '', '', 0, '', '', 0, p_purged::text);
    END IF;
END
$$;

CREATE OR REPLACE PROCEDURE purge_appl_locks(
    IN p_older_than_seconds bigint,
    IN p_max_rows bigint,
    INOUT p_purged bigint DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT r.p_purged
    INTO p_purged
    FROM purge_appl_locks_row(p_older_than_seconds, p_max_rows) AS r;
END
$$;

COMMENT ON FUNCTION purge_appl_locks_row(bigint, bigint) IS
    'Remove the rows of objects that have been free for long; the answer is one row.';
COMMENT ON PROCEDURE purge_appl_locks(bigint, bigint, bigint) IS
    'Remove the rows of objects that have been free for long.';

REVOKE ALL ON FUNCTION purge_appl_locks_row(bigint, bigint) FROM PUBLIC;
REVOKE ALL ON PROCEDURE purge_appl_locks(bigint, bigint, bigint) FROM PUBLIC;
