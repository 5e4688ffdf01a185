-- inbox_appl_locks: what concerns an operator: what others did with its locks, who waits for them, and which of them end
-- within the hour. It is for one call in each heartbeat.
--
-- Contract   At most p_max_rows rows. First the events of the history after p_after_event_id in which somebody else is the
--            actor: TAKEN, another operator has taken it from this one, or has handed it on to a third; HANDED, it was
--            transferred to this one; RELEASED, this one's lock was ended. The next call starts after the greatest event_id
--            of this one. Then how it is now: AWAITED, another operator waits for what this one holds, who waits longest
--            first; EXPIRING, this one's lock ends within the hour, what ends first first. What had expired when another
--            operator got it was lost, and not taken.
-- In         p_operator_id 1..64; p_after_event_id 1 or greater, NULL = no event has been seen; p_max_rows 1..10000, NULL =
--            1000. Trailing blanks are trimmed first.
-- Out        kind; event_id (0 unless an event); object_type; object_id; other_operator_id and other_department_id (who has it
--            now, TAKEN; who had it, HANDED; who ended it, RELEASED, without department; who waits, AWAITED; empty,
--            EXPIRING); event_ts (of the event; since when that one waits; expires_ts); seconds_left (from now to the end of
--            this one's lock; 0 for events); reason.
-- Raises     LK001 invalid argument. Nothing else on purpose.
-- Locks      Nothing; never waits and never writes. It reads the operator's own events from p_after_event_id on,
--            each waiter, and each row of appl_lock: it has no index by operator, which each get would pay for.
-- Race-free  The answer is one snapshot. An event is numbered before its transaction commits: one that commits after a later
--            one was read is behind those who go on from there. Its lock's next renewal tells all the same.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION inbox_appl_locks(
    p_operator_id text,
    p_after_event_id bigint,
    p_max_rows bigint,
    OUT kind text,
    OUT event_id bigint,
    OUT object_type text,
    OUT object_id text,
    OUT other_operator_id text,
    OUT other_department_id text,
    OUT event_ts timestamptz,
    OUT seconds_left bigint,
    OUT reason text
) RETURNS SETOF record
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
-- A plan for these very arguments.
SET plan_cache_mode = 'force_custom_plan'
-- By the operator's index, whatever the statistics say: else each call could read the whole history.
SET enable_seqscan = 'off'
SET enable_bitmapscan = 'off'
-- Before PostgreSQL 18 a table that is read as a whole all the same costs so much on paper that the statement is compiled, for
-- half a second of each call.
SET jit = 'off'
AS $$
DECLARE
    v_operator_id text := appl_lock_text('inbox_appl_locks', 'p_operator_id', p_operator_id, 64, true);
    v_after_event_id bigint := CASE
        WHEN p_after_event_id IS NULL THEN 0
        ELSE appl_lock_number('inbox_appl_locks', 'p_after_event_id', p_after_event_id, NULL, 9223372036854775807)
    END;
    v_max_rows bigint := appl_lock_number('inbox_appl_locks', 'p_max_rows', p_max_rows, 1000, 10000);
    v_now timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    SELECT
        m.kind,
        m.event_id,
        m.object_type::text,
        m.object_id::text,
        m.other_operator_id::text,
        m.other_department_id::text,
        m.event_ts,
        m.seconds_left,
        m.reason::text
    FROM (
        -- The order of the two columns of the index, and no = for the first of them: the primary key has no such order.
        (
            SELECT
                1 AS part,
                CASE e.event WHEN 'RELEASED' THEN 'RELEASED' ELSE 'TAKEN' END AS kind,
                e.event_id,
                e.object_type,
                e.object_id,
                CASE e.event WHEN 'RELEASED' THEN e.actor_id ELSE e.to_operator_id END AS other_operator_id,
                e.to_department_id AS other_department_id,
                e.event_ts,
                0::bigint AS seconds_left,
                e.reason
            FROM appl_lock_event AS e
            WHERE (e.from_operator_id, e.event_id) > (v_operator_id, v_after_event_id)
                AND e.from_operator_id <= v_operator_id
                AND e.event IN ('TAKEN', 'TRANSFERRED', 'RELEASED')
                AND e.actor_id <> v_operator_id
                AND e.to_operator_id <> v_operator_id
            ORDER BY e.from_operator_id, e.event_id
            LIMIT v_max_rows
        )
        UNION ALL
        (
            SELECT
                1,
                'HANDED',
                e.event_id,
                e.object_type,
                e.object_id,
                e.from_operator_id,
                e.from_department_id,
                e.event_ts,
                0,
                e.reason
            FROM appl_lock_event AS e
            WHERE (e.to_operator_id, e.event_id) > (v_operator_id, v_after_event_id)
                AND e.to_operator_id <= v_operator_id
                AND e.event = 'TRANSFERRED'
                AND e.actor_id <> v_operator_id
            ORDER BY e.to_operator_id, e.event_id
            LIMIT v_max_rows
        )
        UNION ALL
        SELECT
            2,
            'AWAITED',
            0,
            w.object_type,
            w.object_id,
            w.operator_id,
            w.department_id,
            w.since_ts,
            appl_lock_seconds_left(l.expires_ts),
            ''
        FROM appl_lock_waiter AS w
        CROSS JOIN LATERAL (
            SELECT h.expires_ts
            FROM appl_lock AS h
            WHERE h.object_type = w.object_type
                AND h.object_id = w.object_id
                AND h.operator_id = v_operator_id
                AND h.expires_ts > v_now
            LIMIT 1
        ) AS l
        WHERE w.operator_id <> v_operator_id
            AND w.expires_ts > v_now
        UNION ALL
        SELECT
            3,
            'EXPIRING',
            0,
            l.object_type,
            l.object_id,
            '',
            '',
            l.expires_ts,
            appl_lock_seconds_left(l.expires_ts),
            ''
        FROM appl_lock AS l
        WHERE l.operator_id = v_operator_id
            AND l.expires_ts > v_now
            AND l.expires_ts <= v_now + interval '1 hour'
    ) AS m
    ORDER BY
        m.part,
        m.event_id,
        m.event_ts,
        m.object_type COLLATE "C",
        m.object_id COLLATE "C",
        m.other_operator_id COLLATE "C"
    LIMIT v_max_rows;
END
$$;

COMMENT ON FUNCTION inbox_appl_locks(text, bigint, bigint) IS
    'What concerns an operator: what others did with its locks, who waits for them, and which of them end within the hour.';

REVOKE ALL ON FUNCTION inbox_appl_locks(text, bigint, bigint) FROM PUBLIC;
