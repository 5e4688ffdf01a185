-- set_appl_lock_policy: set a type's policy: how long its locks last, whether a take needs a reason, what the history records,
-- and who sees whom.
--
-- Contract   Y SET: this replaces the policy of the type. A NULL argument gets its default, not its former value. It is an
--            event of the history: POLICY, with the new values, its actor and reason.
--            Every later get, renewal and transfer follows it. A grant keeps its end until then. With ALL the history also
--            records each get, renewal, refusal and release; for a lock that is held already, from the holder's next get on.
-- In         p_object_type 1..64 characters without ":"; p_default_ttl_seconds 1..315360000, not above
--            p_longest_ttl_seconds, NULL = 604800 (7 days); p_longest_ttl_seconds 1..315360000, NULL = 315360000 (10 years);
--            p_take_reason_fl Y or N, NULL = Y; p_actor_id 1..255;
--            p_reason 0..150, NULL = empty, because the event's 255 characters also hold the policy; p_history_level ALL or
--            CHANGES, NULL = CHANGES; p_presence_fl Y or N, NULL = Y; p_yield_after_seconds 60..315360000, NULL = for ever.
--            Trailing blanks are trimmed first.
-- Out        p_ok_fl, p_outcome.
-- Raises     LK001 invalid argument. 55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has
--            them.
-- Locks      S1 locks the type's one row, to the end of the caller's transaction. No get waits for that: it reads what is
--            committed.
-- Race-free  Two at once: the primary key lets one insert, the other waits and changes the row. The event of each is in
--            its transaction, and they are in the order of the changes.
--            A get that has begun before the policy is committed may still follow the former one.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION set_appl_lock_policy_row(...)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    v_object_type text := appl_lock_text('set_appl_lock_policy', 'p_object_type', p_object_type, 64, true);
    v_longest_ttl_seconds bigint := appl_lock_number(
        'set_appl_lock_policy', 'p_longest_ttl_seconds', p_longest_ttl_seconds, 315360000, 315360000
    );
    v_take_reason_fl text := coalesce(rtrim(p_take_reason_fl, ' '), 'Y');
    v_history_level text := coalesce(rtrim(p_history_level, ' '), 'CHANGES');
    v_presence_fl text := coalesce(rtrim(p_presence_fl, ' '), 'Y');
    v_actor_id text;
    v_reason text;
BEGIN
    PERFORM appl_lock_number(
        'set_appl_lock_policy', 'p_default_ttl_seconds', p_default_ttl_seconds, 1, v_longest_ttl_seconds::integer
    );
    IF v_take_reason_fl NOT IN ('Y', 'N') THEN
        RAISE EXCEPTION USING
            ERRCODE = 'LK001',
            MESSAGE = 'set_appl_lock_policy: p_take_reason_fl must be Y or N',
            COLUMN = 'p_take_reason_fl';
    END IF;
    v_actor_id := appl_lock_text('set_appl_lock_policy', 'p_actor_id', p_actor_id, 255, true);
    v_reason := appl_lock_text('set_appl_lock_policy', 'p_reason', p_reason, 150, false);
    IF v_history_level NOT IN ('ALL', 'CHANGES') THEN
        RAISE EXCEPTION USING
            ERRCODE = 'LK001',
            MESSAGE = 'set_appl_lock_policy: p_history_level is ALL or CHANGES',
            COLUMN = 'p_history_level';
    END IF;
    IF v_presence_fl NOT IN ('Y', 'N') THEN
        RAISE EXCEPTION USING
            ERRCODE = 'LK001',
            MESSAGE = 'set_appl_lock_policy: p_presence_fl must be Y or N',
            COLUMN = 'p_presence_fl';
    END IF;
    IF p_yield_after_seconds NOT BETWEEN 60 AND 315360000 THEN
        RAISE EXCEPTION USING
            ERRCODE = 'LK001',
            MESSAGE = pg_catalog.format('set_appl_lock_policy: p_yield_after_seconds is %s, not 60 to 315360000', p_yield_after_seconds),
            COLUMN = 'p_yield_after_seconds';
    END IF;

    -- S1: the new policy.
    INSERT INTO appl_lock_policy (
        object_type, default_ttl_seconds, longest_ttl_seconds, take_reason_fl, history_level, presence_fl, yield_after_seconds
    )
    VALUES (
        v_object_type, p_default_ttl_seconds, p_longest_ttl_seconds, v_take_reason_fl, v_history_level, v_presence_fl,
        p_yield_after_seconds
    )
    ON CONFLICT ON CONSTRAINT appl_lock_policy_pk DO UPDATE
    SET default_ttl_seconds = excluded.default_ttl_seconds,
        longest_ttl_seconds = excluded.longest_ttl_seconds,
        take_reason_fl = excluded.take_reason_fl,
        history_level = excluded.history_level,
        presence_fl = excluded.presence_fl,
        yield_after_seconds = excluded.yield_after_seconds;
    PERFORM appl_lock_record(
        'POLICY', v_object_type, '', v_actor_id, '', '', 0::bigint, '', '', 0::bigint,
        pg_catalog.format(
            'default %s, longest %s, take reason %s, history %s, presence %s, yield after %s',
            coalesce(p_default_ttl_seconds::text, 'none'), coalesce(p_longest_ttl_seconds::text, 'none'),
            v_take_reason_fl, v_history_level, v_presence_fl, coalesce(p_yield_after_seconds::text, 'none')
        ) || CASE WHEN v_reason = '' THEN '' ELSE ': ' || v_reason END
    );
    p_ok_fl := 'Y';
    p_outcome := 'SET';
END
$$;
