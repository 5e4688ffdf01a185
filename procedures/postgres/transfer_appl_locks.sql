-- transfer_appl_locks: hand over what an operator holds, all or of a type, page by page.
--
-- Contract   A page is at most p_max_rows live locks of p_from_operator_id whose key is greater than (p_after_type, p_after_id),
--            with a row for each. The next page starts after the last row of this one; a page shorter than p_max_rows is the last.
--            TRANSFERRED: a new grant of p_to_operator_id, and an event, as transfer_appl_lock has it.
--            BUSY: another transaction has locked the object's row. HELD or FREE: it has changed hands since the page
--            was read; old_* and expires_ts tell who holds it. These are left as they are, and the next ones are done.
--            WOULD_TRANSFER: p_dry_run_fl is Y, and nothing is done. A dry run reports no BUSY.
-- In         p_from_operator_id 1..255; p_to_operator_id 1..255, another operator; p_object_type 1..64 without ":", NULL = any;
--            p_to_department_id 0..64, NULL = empty; p_ttl_seconds 1..315360000, NULL = that of each grant that ends;
--            p_actor_id 1..255, NULL = unknown; p_reason 0..255, NULL = empty; p_after_type 0..64, p_after_id 0..255,
--            NULL = from the start; p_max_rows 1..10000, NULL = 1000; p_dry_run_fl Y or N, NULL or empty = N. Trailing blanks
--            are trimmed first.
-- Out        object_type, object_id, outcome, old_operator_id, old_department_id (empty unless HELD), fence (of the new grant;
--            of the old one when BUSY or WOULD_TRANSFER; 0 when HELD or FREE), expires_ts (NULL when FREE), seconds_left,
--            ordered by object_type, object_id as bytes.
-- Raises     LK001 invalid argument: nothing is done. 40001 and 40P01 as the engine has them: the page is undone.
-- Locks      As appl_lock_move_page.
-- Race-free  As appl_lock_move_page. Two at once: one finds the other's rows BUSY, or HELD by p_to_operator_id, and neither waits.
--            REPEATABLE READ and SERIALIZABLE: a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION transfer_appl_locks(...) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
-- Force the key, in its order, whatever the statistics say.
SET enable_seqscan = 'off'
SET enable_bitmapscan = 'off'
AS $$
DECLARE
    v_from_operator_id text := appl_lock_text('transfer_appl_locks', 'p_from_operator_id', p_from_operator_id, 255, true);
    v_object_type text := appl_lock_text('transfer_appl_locks', 'p_object_type', p_object_type, 64, p_object_type IS NOT NULL);
    v_to_operator_id text := appl_lock_text('transfer_appl_locks', 'p_to_operator_id', p_to_operator_id, 255, true);
    v_to_department_id text := appl_lock_text('transfer_appl_locks', 'p_to_department_id', p_to_department_id, 64, false);
BEGIN
    IF v_to_operator_id = v_from_operator_id THEN
        RAISE EXCEPTION USING
            ERRCODE = 'LK001',
            MESSAGE = 'transfer_appl_locks: p_to_operator_id must be another one',
            COLUMN = 'p_to_operator_id';
    END IF;
    PERFORM appl_lock_number('transfer_appl_locks', 'p_ttl_seconds', p_ttl_seconds, 1, 315360000);
    PERFORM appl_lock_text('transfer_appl_locks', 'p_actor_id', p_actor_id, 255, p_actor_id IS NOT NULL);
    PERFORM appl_lock_text('transfer_appl_locks', 'p_reason', p_reason, 255, false);
    RETURN QUERY
    SELECT m.*
    FROM appl_lock_move_page(
        v_from_operator_id, nullif(v_object_type, ''), v_to_operator_id, v_to_department_id, p_ttl_seconds, p_actor_id, p_reason,
        appl_lock_text('transfer_appl_locks', 'p_after_type', p_after_type, 64, false),
        appl_lock_text('transfer_appl_locks', 'p_after_id', p_after_id, 255, false),
        appl_lock_number('transfer_appl_locks', 'p_max_rows', p_max_rows, 1000, 10000),
        appl_lock_yes('transfer_appl_locks', 'p_dry_run_fl', p_dry_run_fl)
    ) AS m;
END
$$;
