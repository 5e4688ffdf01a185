-- purge_appl_locks: remove the rows of objects that have been free for long.
--
-- Contract   Deletes at most p_max_rows rows that expired or were released more than p_older_than_seconds ago. An answer below
--            p_max_rows means that none is left: call it until then. No live lock is ever touched. Only the last call, which
--            removes fewer, looks for waiters, requests and viewers that have been dead for as long. At most p_max_rows of each
--            go, and are not counted. If any row of a lock went, the event PURGED has the number as its reason.
-- In         p_older_than_seconds 1..315360000, NULL = 2592000 (30 days). p_max_rows 1..10000, NULL = 1000.
-- Out        p_purged, the number of rows of appl_lock removed.
-- Raises     LK001 invalid argument. 40001 as the engine has it.
-- Locks      The rows it removes, to the end of the caller's transaction. It skips rows that another transaction is changing.
--            S5 waits for another purge.
-- Race-free  Get of a row being purged: FOR UPDATE gives the row to one of them. Purge judges the row again once it is locked,
--            and a get that waited inserts a new row.
--            Fences never fall: S5 keeps the greatest fence removed in the same transaction, and the get that inserts looks for
--            it. A row whose fence lies in the future, because the clock was set back, stays.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION purge_appl_locks_row(...)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_before timestamptz := v_now - pg_catalog.make_interval(
        secs => appl_lock_number('purge_appl_locks', 'p_older_than_seconds', p_older_than_seconds, 2592000, 315360000)
    );
    v_max_rows bigint := appl_lock_number('purge_appl_locks', 'p_max_rows', p_max_rows, 1000, 10000);
    v_fence bigint := 0;
    v_free CURSOR FOR
        SELECT l.fence
        FROM appl_lock AS l
        WHERE coalesce(l.released_ts, l.expires_ts) < v_before
            AND l.fence < (extract(epoch FROM v_now) * 1000000::numeric)::bigint
        LIMIT v_max_rows
        FOR UPDATE SKIP LOCKED;
    v_dead CURSOR FOR
        SELECT
        FROM appl_lock_waiter AS w
        WHERE w.expires_ts < v_before
        LIMIT v_max_rows
        FOR UPDATE SKIP LOCKED;
    v_unasked CURSOR FOR
        SELECT
        FROM appl_lock_ask AS a
        WHERE a.expires_ts < v_before
        LIMIT v_max_rows
        FOR UPDATE SKIP LOCKED;
    v_gone CURSOR FOR
        SELECT
        FROM appl_lock_viewer AS v
        WHERE v.expires_ts < v_before
        LIMIT v_max_rows
        FOR UPDATE SKIP LOCKED;
BEGIN
    p_purged := 0;
    -- S1: the rows.
    FOR v_row IN v_free LOOP
        DELETE FROM appl_lock WHERE CURRENT OF v_free;
        v_fence := greatest(v_fence, v_row.fence);
        p_purged := p_purged + 1;
    END LOOP;
    IF p_purged < v_max_rows THEN
        -- S2: the waiters.
        FOR v_row IN v_dead LOOP
            DELETE FROM appl_lock_waiter WHERE CURRENT OF v_dead;
        END LOOP;
        -- S3: the requests.
        FOR v_row IN v_unasked LOOP
            DELETE FROM appl_lock_ask WHERE CURRENT OF v_unasked;
        END LOOP;
        -- S4: the viewers.
        FOR v_row IN v_gone LOOP
            DELETE FROM appl_lock_viewer WHERE CURRENT OF v_gone;
        END LOOP;
    END IF;
    IF p_purged > 0 THEN
        -- S5: the greatest fence.
        UPDATE appl_lock_fence AS f
        SET fence = v_fence
        WHERE f.fence < v_fence;
        PERFORM appl_lock_record('PURGED', '', '', '', '', '', 0::bigint, '', '', 0::bigint, p_purged::text);
    END IF;
END
$$;
