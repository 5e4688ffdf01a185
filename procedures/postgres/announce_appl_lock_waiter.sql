-- announce_appl_lock_waiter: say that an operator waits for an object, or still waits.
--
-- Contract   Lists the operator as a waiter of the program p_client_id for 60 s, but not longer than
--            p_wait_seconds. Called again, or kept by poll_appl_locks, it stays listed, and waits since the
--            first call; after the listing has ended, a call begins a new wait. The wait reserves nothing: others see it, the
--            holder finds it in its inbox, and release_appl_lock notifies the program.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255;
--            p_department_id 0..64, NULL = empty; p_client_id 1..64, the waiting program, under a name that no other program
--            has; p_wait_seconds until it gives up, 1..315360000, NULL = never.
--            Trailing blanks are trimmed first.
-- Out        None; the row form returns p_ok_fl 'Y'.
-- Raises     LK001 invalid argument. 55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as
--            the engine has them.
-- Locks      S1 inserts or changes the waiter's one row; held to the end of the caller's transaction. Only
--            announce, retract and purge of this very waiter wait for it; poll passes over it.
-- Race-free  Two calls: the primary key lets one insert. The other waits, then ON CONFLICT locks that row and judges whether it
--            is live.
--            Against purge: one of them has the row; an announce that waited inserts a new one.
--            The stored holder may be out of date: inbox verifies it, and the next announce or poll refreshes it.
--            REPEATABLE READ and SERIALIZABLE: S1 on a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION announce_appl_lock_waiter_row(...)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    v_object_type text := appl_lock_text('announce_appl_lock_waiter', 'p_object_type', p_object_type, 64, true);
    v_object_id text := appl_lock_text('announce_appl_lock_waiter', 'p_object_id', p_object_id, 255, true);
    v_operator_id text := appl_lock_text('announce_appl_lock_waiter', 'p_operator_id', p_operator_id, 255, true);
    v_department_id text := appl_lock_text('announce_appl_lock_waiter', 'p_department_id', p_department_id, 64, false);
    v_client_id text := appl_lock_text('announce_appl_lock_waiter', 'p_client_id', p_client_id, 64, true);
    v_now timestamptz := clock_timestamp();
    v_until timestamptz;
    v_holder_id text;
BEGIN
    IF p_wait_seconds IS NOT NULL THEN
        v_until := v_now + pg_catalog.make_interval(
            secs => appl_lock_number('announce_appl_lock_waiter', 'p_wait_seconds', p_wait_seconds, NULL::integer, 315360000)
        );
    END IF;
    SELECT l.operator_id
    INTO v_holder_id
    FROM appl_lock AS l
    WHERE l.object_type::text = v_object_type
        AND l.object_id::text = v_object_id
        AND l.released_ts IS NULL
        AND l.expires_ts > v_now;

    -- S1: a new wait, or the one that goes on.
    INSERT INTO appl_lock_waiter AS w (
        object_type,
        object_id,
        operator_id,
        department_id,
        client_id,
        since_ts,
        until_ts,
        expires_ts,
        holder_id
    )
    VALUES (
        v_object_type,
        v_object_id,
        v_operator_id,
        v_department_id,
        v_client_id,
        v_now,
        v_until,
        least(v_now + interval '60 seconds', v_until),
        coalesce(v_holder_id, '')
    )
    ON CONFLICT ON CONSTRAINT appl_lock_waiter_pk DO UPDATE
    SET department_id = excluded.department_id,
        since_ts = CASE WHEN w.expires_ts > clock_timestamp() THEN w.since_ts ELSE excluded.since_ts END,
        until_ts = excluded.until_ts,
        expires_ts = excluded.expires_ts,
        holder_id = excluded.holder_id;
    p_ok_fl := 'Y';
END
$$;
