-- serialize_appl_lock: let one transaction at a time work on an object.
--
-- Contract   Returns when no other open transaction is inside for this object, and keeps the others
--            out until the caller's transaction commits or rolls back. Leaves nothing behind. Has
--            nothing to do with appl_lock: an object may be locked and serialized independently.
--            Calling it again in the same transaction returns at once. Under autocommit it has no effect.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255. Trailing blanks are trimmed.
-- Out        None; the row form returns p_ok_fl 'Y'.
-- Raises     LK001 invalid argument. 40001 at REPEATABLE READ and SERIALIZABLE when the caller's snapshot may
--            be older than what the former transaction committed: roll back and begin again, with this
--            call first. 40P01 deadlock. The caller's own lock_timeout and statement_timeout bound the
--            wait; there is no other bound.
-- Locks      One transaction-level advisory lock, whose 64-bit key is a hash of schema and object. It uses no row: inserting
--            and deleting one would leave a dead entry per call.
-- Race-free  Two callers: the engine grants the lock to one, and to the next when the first has ended.
--            READ COMMITTED: the caller's next statement sees all that the former one committed.
--            REPEATABLE READ, SERIALIZABLE: the snapshot is as old as the call, or older. After a wait it
--            is too old. Without one it is when a transaction has committed in between: each such one is
--            either listed as running in the snapshot or not below its xmax. The answer is 40001, never
--            a stale view. (The one that committed may be a stranger: then a needless retry.)
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION serialize_appl_lock_row(...)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
DECLARE
    v_object_type text := appl_lock_text('serialize_appl_lock', 'p_object_type', p_object_type, 64, true);
    v_object_id text := appl_lock_text('serialize_appl_lock', 'p_object_id', p_object_id, 255, true);
    v_key bigint := pg_catalog.hashtextextended(pg_catalog.format('%s:%s:%s', current_schema(), v_object_type, v_object_id), 0);
    v_stale boolean := false;
    v_next bigint;
BEGIN
    p_ok_fl := 'Y';
    IF NOT pg_try_advisory_xact_lock(v_key) THEN
        PERFORM pg_advisory_xact_lock(v_key);
        v_stale := true;
    END IF;
    IF current_setting('transaction_isolation') IN ('read committed', 'read uncommitted') THEN
        RETURN;
    END IF;

    -- Has anything committed that our snapshot does not show?
    IF NOT v_stale THEN
        SELECT coalesce(bool_or(pg_xact_status(x.xid) = 'committed'), false)
        INTO v_stale
        FROM pg_snapshot_xip(pg_current_snapshot()) AS x (xid);
    END IF;
    v_next := pg_snapshot_xmax(pg_current_snapshot())::text::bigint;
    BEGIN
        WHILE NOT v_stale LOOP
            v_stale := coalesce(pg_xact_status(v_next::text::xid8) = 'committed', false);
            v_next := v_next + 1;
        END LOOP;
    EXCEPTION
        WHEN invalid_parameter_value THEN
            NULL;  -- v_next lies in the future: all transactions are looked through.
    END;
    IF v_stale THEN
        RAISE EXCEPTION USING
            ERRCODE = 'serialization_failure',
            MESSAGE = pg_catalog.format('serialize_appl_lock: the snapshot is older than the turn of %s:%s', v_object_type, v_object_id),
            HINT = 'Roll back, begin again and call serialize_appl_lock first.';
    END IF;
END
$$;
