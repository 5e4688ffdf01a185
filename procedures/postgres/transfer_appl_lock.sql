-- transfer_appl_lock: hand a held object from one operator to another.
--
-- Contract   Y TRANSFERRED: p_from_operator_id held it; p_to_operator_id holds it now: a new grant, a greater fence, an empty
--            note. It is an event, with its actor and reason. The policy's longest ttl limits the new grant.
--            N HELD: another operator holds it; p_old_*, p_acquired_ts and p_expires_ts tell who, since and until when.
--            N FREE: nobody holds it; nothing changed.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_from_operator_id 1..255;
--            p_to_operator_id 1..255, another operator; p_to_department_id 0..64, NULL = empty;
--            p_ttl_seconds 1..315360000, NULL = that of the grant that ends; p_actor_id 1..255, NULL = unknown;
--            p_reason 0..255, NULL = empty. Trailing blanks are trimmed first.
-- Out        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD),
--            p_fence (0 unless TRANSFERRED), p_acquired_ts, p_expires_ts (both NULL when FREE), p_seconds_left
--            (from now to p_expires_ts, 0 when FREE).
-- Raises     LK001 invalid argument. LK003 when the object changed thirty times during the call.
--            55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has them.
-- Locks      As appl_lock_move.
-- Race-free  As appl_lock_move. A renewal that went first counts: a NULL keeps its ttl.
--            REPEATABLE READ and SERIALIZABLE: a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION transfer_appl_lock_row(...)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    v_object_type text := appl_lock_text('transfer_appl_lock', 'p_object_type', p_object_type, 64, true);
    v_object_id text := appl_lock_text('transfer_appl_lock', 'p_object_id', p_object_id, 255, true);
    v_from_operator_id text := appl_lock_text('transfer_appl_lock', 'p_from_operator_id', p_from_operator_id, 255, true);
    v_to_operator_id text := appl_lock_text('transfer_appl_lock', 'p_to_operator_id', p_to_operator_id, 255, true);
    v_to_department_id text := appl_lock_text('transfer_appl_lock', 'p_to_department_id', p_to_department_id, 64, false);
    v_checked bigint := appl_lock_number('transfer_appl_lock', 'p_ttl_seconds', p_ttl_seconds, 1, 315360000);
    v_actor_id text := appl_lock_text('transfer_appl_lock', 'p_actor_id', p_actor_id, 255, p_actor_id IS NOT NULL);
    v_reason text := appl_lock_text('transfer_appl_lock', 'p_reason', p_reason, 255, false);
    v_moved record;
BEGIN
    IF v_to_operator_id = v_from_operator_id THEN
        RAISE EXCEPTION USING
            ERRCODE = 'LK001',
            MESSAGE = 'transfer_appl_lock: p_to_operator_id must be another one',
            COLUMN = 'p_to_operator_id';
    END IF;
    v_moved := appl_lock_move(
        'transfer_appl_lock', 'TRANSFERRED', v_object_type, v_object_id, v_from_operator_id, NULL::bigint,
        v_to_operator_id, v_to_department_id, p_ttl_seconds, v_actor_id, v_reason, NULL::timestamptz, NULL::bigint
    );
    p_ok_fl := v_moved.p_ok_fl;
    p_outcome := v_moved.p_outcome;
    p_old_operator_id := CASE p_ok_fl WHEN 'Y' THEN '' ELSE v_moved.p_old_operator_id END;
    p_old_department_id := CASE p_ok_fl WHEN 'Y' THEN '' ELSE v_moved.p_old_department_id END;
    p_fence := v_moved.p_fence;
    p_acquired_ts := v_moved.p_acquired_ts;
    p_expires_ts := v_moved.p_expires_ts;
    p_seconds_left := v_moved.p_seconds_left;
END
$$;
