-- drop_appl_lock_policy: remove the policy of a type.
--
-- Contract   Y DROPPED: the type has no policy any more. It is an event of the history: POLICY, with its actor and reason.
--            N NONE: it had none; nothing changed.
--            A grant keeps the end that it has until it is renewed or transferred.
-- In         p_object_type 1..64 characters without ":"; p_actor_id 1..255; p_reason 0..150, NULL = empty. Trailing
--            blanks are trimmed first.
-- Out        p_ok_fl, p_outcome.
-- Raises     LK001 invalid argument. 55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has
--            them.
-- Locks      S1 locks the type's one row, to the end of the caller's transaction. No get waits for that.
-- Race-free  Two at once: one waits for the other and answers NONE.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION drop_appl_lock_policy_row(...)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    v_object_type text := appl_lock_text('drop_appl_lock_policy', 'p_object_type', p_object_type, 64, true);
    v_actor_id text := appl_lock_text('drop_appl_lock_policy', 'p_actor_id', p_actor_id, 255, true);
    v_reason text := appl_lock_text('drop_appl_lock_policy', 'p_reason', p_reason, 150, false);
BEGIN
    -- S1: remove it.
    DELETE FROM appl_lock_policy AS p
    WHERE p.object_type::text = v_object_type;
    IF NOT FOUND THEN
        p_ok_fl := 'N';
        p_outcome := 'NONE';
        RETURN;
    END IF;
    PERFORM appl_lock_record(
        'POLICY', v_object_type, '', v_actor_id, '', '', 0::bigint, '', '', 0::bigint,
        'dropped' || CASE WHEN v_reason = '' THEN '' ELSE ': ' || v_reason END
    );
    p_ok_fl := 'Y';
    p_outcome := 'DROPPED';
END
$$;
