-- retract_appl_lock_waiter: say that an operator does not wait for an object any more.
--
-- Contract   The operator is no waiter of the program p_client_id for this object, whether it was or not.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255;
--            p_client_id 1..64. Trailing blanks are trimmed first.
-- Out        None; the row form returns p_ok_fl 'Y'.
-- Raises     LK001 invalid argument. 55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as
--            the engine has them.
-- Locks      S1 deletes the waiter's one row; held to the end of the caller's transaction. It locks nothing
--            else, and poll and purge pass over locked rows: so it cannot deadlock.
-- Race-free  Against announce, poll or purge of the same row: the call that locks it first goes first. An announce that waited
--            inserts a new row.
--            REPEATABLE READ and SERIALIZABLE: S1 on a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION retract_appl_lock_waiter_row(...)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    v_object_type text := appl_lock_text('retract_appl_lock_waiter', 'p_object_type', p_object_type, 64, true);
    v_object_id text := appl_lock_text('retract_appl_lock_waiter', 'p_object_id', p_object_id, 255, true);
    v_operator_id text := appl_lock_text('retract_appl_lock_waiter', 'p_operator_id', p_operator_id, 255, true);
    v_client_id text := appl_lock_text('retract_appl_lock_waiter', 'p_client_id', p_client_id, 64, true);
BEGIN
    -- S1: remove the waiter.
    DELETE FROM appl_lock_waiter AS w
    WHERE w.object_type::text = v_object_type
        AND w.object_id::text = v_object_id
        AND w.operator_id::text = v_operator_id
        AND w.client_id::text = v_client_id;
    p_ok_fl := 'Y';
END
$$;
