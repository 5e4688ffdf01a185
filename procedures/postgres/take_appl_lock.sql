-- take_appl_lock: take a held object from its holder, for a reason.
--
-- Contract   Y TAKEN: an operator held it, by the grant p_expected_fence (NULL = any grant). Now p_operator_id holds it: a new
--            grant, a greater fence, an empty note. The former holder is in p_old_*, which are empty when p_operator_id held it
--            itself. It is an event, TAKEN, with the reason and p_operator_id as its actor. The policy's longest ttl limits the
--            new grant.
--            N HELD: another grant than p_expected_fence holds it; p_old_*, p_acquired_ts and p_expires_ts tell who, since and until when.
--            N FREE: nobody holds it; nothing changed: get_appl_lock gets it.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255; p_department_id
--            0..64, NULL = empty; p_reason 1..255, or empty if the type's policy says N;
--            p_expected_fence 1 or greater, NULL = any grant; p_ttl_seconds 1..315360000, NULL = that of the grant that ends.
--            Trailing blanks are trimmed first.
-- Out        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id, p_fence (0 unless TAKEN), p_acquired_ts, p_expires_ts
--            (both NULL when FREE), p_seconds_left (from now to p_expires_ts, 0 when FREE).
-- Raises     LK001 invalid argument. LK003 when the object changed thirty times during the call.
--            55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has them.
-- Locks      As appl_lock_move.
-- Race-free  As appl_lock_move. A renewal keeps the fence: the take goes on, with the renewal's ttl.
--            REPEATABLE READ and SERIALIZABLE: a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION take_appl_lock_row(...)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    v_object_type text := appl_lock_text('take_appl_lock', 'p_object_type', p_object_type, 64, true);
    v_object_id text := appl_lock_text('take_appl_lock', 'p_object_id', p_object_id, 255, true);
    v_operator_id text := appl_lock_text('take_appl_lock', 'p_operator_id', p_operator_id, 255, true);
    v_department_id text := appl_lock_text('take_appl_lock', 'p_department_id', p_department_id, 64, false);
    v_reason text := appl_lock_text('take_appl_lock', 'p_reason', p_reason, 255, false);
    v_checked bigint[] := ARRAY[
        appl_lock_number('take_appl_lock', 'p_expected_fence', p_expected_fence, 1, NULL::integer),
        appl_lock_number('take_appl_lock', 'p_ttl_seconds', p_ttl_seconds, 1, 315360000)
    ];
    v_moved record;
    v_own boolean;
BEGIN
    IF v_reason = '' AND NOT EXISTS (
        SELECT
        FROM appl_lock_policy AS p
        WHERE p.object_type::text = v_object_type
            AND p.take_reason_fl = 'N'
    ) THEN
        PERFORM appl_lock_text('take_appl_lock', 'p_reason', p_reason, 255, true);
    END IF;
    v_moved := appl_lock_move(
        'take_appl_lock', 'TAKEN', v_object_type, v_object_id, NULL::text, p_expected_fence,
        v_operator_id, v_department_id, p_ttl_seconds, v_operator_id, v_reason, NULL::timestamptz, NULL::bigint
    );
    v_own := v_moved.p_ok_fl = 'Y' AND v_moved.p_old_operator_id = v_operator_id;
    p_ok_fl := v_moved.p_ok_fl;
    p_outcome := v_moved.p_outcome;
    p_old_operator_id := CASE WHEN v_own THEN '' ELSE v_moved.p_old_operator_id END;
    p_old_department_id := CASE WHEN v_own THEN '' ELSE v_moved.p_old_department_id END;
    p_fence := v_moved.p_fence;
    p_acquired_ts := v_moved.p_acquired_ts;
    p_expires_ts := v_moved.p_expires_ts;
    p_seconds_left := v_moved.p_seconds_left;
END
$$;
