-- note_appl_lock: leave a note on why an operator holds an object, for everybody to read.
--
-- Contract   Y NOTED: the operator holds it (this very grant, if p_fence is given), and this is its note now. It lasts
--            as long as the grant, through renewals; the next grant begins without one.
--            N FREE: nobody holds it; nothing changed.
--            N HELD: another operator, or another grant than p_fence, holds it; p_old_* tell who. Nothing changed.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255;
--            p_fence 1 or greater, NULL = any grant; p_note 0..255, NULL = empty. Trailing blanks are trimmed first.
-- Out        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD).
-- Raises     LK001 invalid argument. LK003 when the object changed thirty times during the call.
--            55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has them.
-- Locks      S1 locks the object's row if it has this grant, to the end of the caller's transaction. It neither locks nor waits
--            for another operator's row. S2 reads without a lock and answers HELD and FREE.
-- Race-free  S1 reads, decides and writes in one statement that names the grant: a note never lands on another grant. Note
--            against renewal: the later one changes the row that the other has left, so both count.
--            If S2 sees a grant of this operator that S1 could not see, the call begins again.
--            REPEATABLE READ and SERIALIZABLE: S1 on a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION note_appl_lock_row(...)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    v_object_type text := appl_lock_text('note_appl_lock', 'p_object_type', p_object_type, 64, true);
    v_object_id text := appl_lock_text('note_appl_lock', 'p_object_id', p_object_id, 255, true);
    v_operator_id text := appl_lock_text('note_appl_lock', 'p_operator_id', p_operator_id, 255, true);
    v_fence bigint := CASE
        WHEN p_fence IS NOT NULL THEN appl_lock_number('note_appl_lock', 'p_fence', p_fence, NULL::integer, NULL::integer)
    END;
    v_note text := appl_lock_text('note_appl_lock', 'p_note', p_note, 255, false);
    v_holds boolean;
BEGIN
    FOR v_round IN 1..30 LOOP
        -- S1: note it on this grant.
        UPDATE appl_lock AS l
        SET note = v_note
        WHERE l.object_type::text = v_object_type
            AND l.object_id::text = v_object_id
            AND l.operator_id::text = v_operator_id
            AND l.fence = coalesce(v_fence, l.fence)
            AND l.released_ts IS NULL
            AND l.expires_ts > clock_timestamp();
        IF FOUND THEN
            p_ok_fl := 'Y';
            p_outcome := 'NOTED';
            p_old_operator_id := '';
            p_old_department_id := '';
            RETURN;
        END IF;

        -- S2: why not?
        SELECT l.operator_id, l.department_id, l.operator_id::text = v_operator_id AND l.fence = coalesce(v_fence, l.fence)
        INTO p_old_operator_id, p_old_department_id, v_holds
        FROM appl_lock AS l
        WHERE l.object_type::text = v_object_type
            AND l.object_id::text = v_object_id
            AND l.released_ts IS NULL
            AND l.expires_ts > clock_timestamp();
        IF NOT FOUND THEN
            p_ok_fl := 'N';
            p_outcome := 'FREE';
            p_old_operator_id := '';
            p_old_department_id := '';
            RETURN;
        END IF;
        IF NOT v_holds THEN
            p_ok_fl := 'N';
            p_outcome := 'HELD';
            RETURN;
        END IF;
    END LOOP;
    RAISE EXCEPTION USING
        ERRCODE = 'LK003',
        MESSAGE = pg_catalog.format('note_appl_lock: %s:%s changed hands during the call; call again', v_object_type, v_object_id);
END
$$;
