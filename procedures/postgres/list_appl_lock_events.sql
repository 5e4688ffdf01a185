-- list_appl_lock_events: one page of the history, oldest first, all or that of a type, an object or an operator.
--
-- Contract   At most p_max_rows events whose event_id is greater than p_after_event_id. The next page starts after the
--            last row of this one; a page shorter than p_max_rows is the last. An operator's events are those in which it
--            is actor, former or new holder.
-- In         p_object_type 1..64, p_object_id 1..255, p_operator_id 1..64: NULL = any. p_since_seconds 1..315360000, back
--            from now, NULL = any. p_after_event_id 1 or greater, NULL = from the start. p_max_rows 1..10000, NULL = 1000.
--            Trailing blanks are trimmed first.
-- Out        The columns of appl_lock_event, ordered by event_id.
-- Raises     LK001 invalid argument. Nothing else on purpose.
-- Locks      Nothing; never waits and never writes.
-- Race-free  A page is one snapshot. An event is numbered before its transaction commits: one that commits after a later
--            one was listed is behind those who go on from there.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION list_appl_lock_events(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_since_seconds bigint,
    p_after_event_id bigint,
    p_max_rows bigint,
    OUT event_id bigint,
    OUT event_ts timestamptz,
    OUT object_type text,
    OUT object_id text,
    OUT event text,
    OUT actor_id text,
    OUT db_user text,
    OUT program text,
    OUT from_operator_id text,
    OUT from_department_id text,
    OUT to_operator_id text,
    OUT to_department_id text,
    OUT from_fence bigint,
    OUT to_fence bigint,
    OUT reason text
) RETURNS SETOF record
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
-- A plan for these very arguments: a NULL filter falls away, an object becomes a range of its index.
SET plan_cache_mode = 'force_custom_plan'
-- In the order of an index, whatever the statistics say: else each page could read, and sort, the whole table.
SET enable_seqscan = 'off'
SET enable_bitmapscan = 'off'
AS $$
DECLARE
    v_object_type text := appl_lock_text('list_appl_lock_events', 'p_object_type', p_object_type, 64, p_object_type IS NOT NULL);
    v_object_id text := appl_lock_text('list_appl_lock_events', 'p_object_id', p_object_id, 255, p_object_id IS NOT NULL);
    v_operator_id text := appl_lock_text('list_appl_lock_events', 'p_operator_id', p_operator_id, 64, p_operator_id IS NOT NULL);
    v_since_ts timestamptz := clock_timestamp() - make_interval(
        secs => appl_lock_number('list_appl_lock_events', 'p_since_seconds', p_since_seconds, 1, 315360000)
    );
    v_after_event_id bigint := appl_lock_number(
        'list_appl_lock_events', 'p_after_event_id', p_after_event_id, 1, 9223372036854775807
    );
    v_max_rows bigint := appl_lock_number('list_appl_lock_events', 'p_max_rows', p_max_rows, 1000, 10000);
BEGIN
    RETURN QUERY
    SELECT
        e.event_id,
        e.event_ts,
        e.object_type::text,
        e.object_id::text,
        e.event::text,
        e.actor_id::text,
        e.db_user::text,
        e.program::text,
        e.from_operator_id::text,
        e.from_department_id::text,
        e.to_operator_id::text,
        e.to_department_id::text,
        e.from_fence,
        e.to_fence,
        e.reason::text
    FROM appl_lock_event AS e
    WHERE (p_after_event_id IS NULL OR e.event_id > v_after_event_id)
        AND (p_object_type IS NULL OR e.object_type = v_object_type)
        AND (p_object_id IS NULL OR e.object_id = v_object_id)
        AND (p_operator_id IS NULL OR v_operator_id IN (e.actor_id, e.from_operator_id, e.to_operator_id))
        AND (p_since_seconds IS NULL OR e.event_ts >= v_since_ts)
    ORDER BY e.event_id
    LIMIT v_max_rows;
END
$$;

COMMENT ON FUNCTION list_appl_lock_events(text, text, text, bigint, bigint, bigint) IS
    'One page of the history, oldest first, all or that of a type, an object or an operator.';

REVOKE ALL ON FUNCTION list_appl_lock_events(text, text, text, bigint, bigint, bigint) FROM PUBLIC;
