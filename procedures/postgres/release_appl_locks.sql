-- release_appl_locks: release what an operator holds, all or of a type, page by page.
--
-- Contract   A page is at most p_max_rows live locks of p_operator whose key is greater than (p_after_type, p_after_id), with a row
--            for each. The next page starts after the last row of this one; a page shorter than p_max_rows is the last.
--            RELEASED: it is free now, with an event of the history and a notification, as release_appl_lock has them.
--            BUSY: another transaction has locked the object's row. HELD or FREE: it has changed hands since the page
--            was read; old_* and expires_ts tell who holds it. These are left as they are, and the next ones are done.
--            WOULD_RELEASE: p_dry_run_fl is Y, and nothing is done. It does not tell what is busy.
-- In         p_operator_id 1..64; p_object_type 1..64 without ":", NULL = any; p_actor_id 1..64, NULL = p_operator_id;
--            p_reason 0..255, NULL = empty; p_after_type 0..64, p_after_id 0..255, NULL = from the start; p_max_rows
--            1..10000, NULL = 1000; p_dry_run_fl Y or N, NULL or empty = N. Trailing blanks are trimmed first.
-- Out        object_type, object_id, outcome, old_operator_id, old_department_id (empty unless HELD), fence (of the operator's
--            grant; 0 when HELD or FREE), expires_ts (NULL when RELEASED or FREE), seconds_left, ordered by object_type,
--            object_id as bytes.
-- Raises     LK001 invalid argument: nothing is done. 40001 and 40P01 as the engine has them: the page is undone.
-- Locks      S1, which is list_appl_locks, nothing. S2 locks one row after the other in the order of the keys, and waits for none;
--            S3 is release_appl_lock on that row. All are held to the end of the caller's transaction.
-- Race-free  Against get, renewal, take-over or transfer: S3 decides, as it does alone, on a row that S2 has locked and nobody
--            changes any more. What was got after S1 is not in the page.
--            Two at once: one finds the other's rows BUSY, or FREE, and neither waits.
--            Begun again after a page: nothing is done twice, because what is done is nobody's any more.
--            REPEATABLE READ and SERIALIZABLE: a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION release_appl_locks(
    p_operator_id text,
    p_object_type text,
    p_actor_id text,
    p_reason text,
    p_after_type text,
    p_after_id text,
    p_max_rows bigint,
    p_dry_run_fl text,
    OUT object_type text,
    OUT object_id text,
    OUT outcome text,
    OUT old_operator_id text,
    OUT old_department_id text,
    OUT fence bigint,
    OUT expires_ts timestamptz,
    OUT seconds_left bigint
) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
-- An index is the only way to a row, whatever the statistics say and whenever the plans were made.
SET enable_seqscan = 'off'
AS $$
DECLARE
    v_operator_id text := appl_lock_text('release_appl_locks', 'p_operator_id', p_operator_id, 64, true);
    v_object_type text := appl_lock_text('release_appl_locks', 'p_object_type', p_object_type, 64, p_object_type IS NOT NULL);
    v_dry_run boolean;
    v_lock record;
    v_row record;
    v_done record;
BEGIN
    PERFORM appl_lock_text('release_appl_locks', 'p_actor_id', p_actor_id, 64, p_actor_id IS NOT NULL);
    PERFORM appl_lock_text('release_appl_locks', 'p_reason', p_reason, 255, false);
    PERFORM appl_lock_text('release_appl_locks', 'p_after_type', p_after_type, 64, false);
    PERFORM appl_lock_text('release_appl_locks', 'p_after_id', p_after_id, 255, false);
    PERFORM appl_lock_number('release_appl_locks', 'p_max_rows', p_max_rows, 1000, 10000);
    v_dry_run := appl_lock_yes('release_appl_locks', 'p_dry_run_fl', p_dry_run_fl);

    -- S1: the page. It is read to its end before the first lock changes.
    FOR v_lock IN
        SELECT p.object_type, p.object_id, p.fence, p.expires_ts, p.seconds_left
        FROM list_appl_locks(
            CASE WHEN p_object_type IS NOT NULL THEN v_object_type END, v_operator_id, NULL,
            p_after_type, p_after_id, p_max_rows
        ) AS p
    LOOP
        object_type := v_lock.object_type;
        object_id := v_lock.object_id;
        old_operator_id := '';
        old_department_id := '';
        fence := v_lock.fence;
        expires_ts := v_lock.expires_ts;
        seconds_left := v_lock.seconds_left;
        IF v_dry_run THEN
            outcome := 'WOULD_RELEASE';
            RETURN NEXT;
            CONTINUE;
        END IF;

        -- S2: is the row at hand, and what grant does it have?
        SELECT l.fence, l.expires_ts
        INTO v_row
        FROM appl_lock AS l
        WHERE l.object_type = v_lock.object_type
            AND l.object_id = v_lock.object_id
        FOR NO KEY UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            outcome := 'BUSY';
            RETURN NEXT;
            CONTINUE;
        END IF;

        -- S3: end it.
        SELECT *
        INTO v_done
        FROM release_appl_lock_row(v_lock.object_type, v_lock.object_id, v_operator_id, NULL, p_actor_id, p_reason);
        outcome := v_done.p_outcome;
        old_operator_id := v_done.p_old_operator_id;
        old_department_id := v_done.p_old_department_id;
        fence := CASE WHEN outcome = 'RELEASED' THEN v_row.fence ELSE 0 END;
        expires_ts := CASE WHEN outcome = 'HELD' THEN v_row.expires_ts END;
        seconds_left := CASE WHEN outcome = 'HELD' THEN appl_lock_seconds_left(v_row.expires_ts) ELSE 0 END;
        RETURN NEXT;
    END LOOP;
END
$$;

COMMENT ON FUNCTION release_appl_locks(text, text, text, text, text, text, bigint, text) IS
    'Release what an operator holds, all or of a type, page by page.';

REVOKE ALL ON FUNCTION release_appl_locks(text, text, text, text, text, text, bigint, text) FROM PUBLIC;
