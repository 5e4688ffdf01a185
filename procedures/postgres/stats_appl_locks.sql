-- stats_appl_locks: how many locks and waiters there are of each type and department, and how old and how long.
--
-- Contract   One row for each type and department that has a row in appl_lock, or somebody who is listed in
--            appl_lock_waiter: live locks by the department of the holder, waiters by their own. What is free is
--            nobody's, and has the empty one. The sum of live and expired is the number of rows of appl_lock.
-- In         p_object_type 1..64, p_department_id 0..64: NULL = any. Trailing blanks are trimmed first.
-- Out        live, expired (free again, and not purged), oldest_seconds (since acquired_ts, of live locks),
--            next_expiry_seconds (to expires_ts, of live locks), waiters (listed now), longest_wait_seconds (since
--            since_ts), ordered by object_type, department_id as bytes. Seconds are whole ones: what lies behind is
--            rounded down, what lies ahead is rounded up; 0 for none, and for what the clock was set back behind.
-- Raises     LK001 invalid argument. Nothing else on purpose.
-- Locks      Nothing; never waits and never writes. It reads each table once, from end to end; of appl_lock what there
--            is of the type, if one is given.
-- Race-free  The answer is one snapshot, and one time is the now of all its rows.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION stats_appl_locks(
    p_object_type text,
    p_department_id text,
    OUT object_type text,
    OUT department_id text,
    OUT live bigint,
    OUT expired bigint,
    OUT oldest_seconds bigint,
    OUT next_expiry_seconds bigint,
    OUT waiters bigint,
    OUT longest_wait_seconds bigint
) RETURNS SETOF record
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
-- A plan for these very arguments: a NULL filter falls away, a type becomes a range of the key.
SET plan_cache_mode = 'force_custom_plan'
AS $$
DECLARE
    v_object_type text := appl_lock_text('stats_appl_locks', 'p_object_type', p_object_type, 64, p_object_type IS NOT NULL);
    v_department_id text := appl_lock_text('stats_appl_locks', 'p_department_id', p_department_id, 64, false);
    v_now timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    SELECT
        s.object_type::text,
        s.department_id::text,
        sum(s.live)::bigint,
        sum(s.expired)::bigint,
        max(s.oldest_seconds)::bigint,
        max(s.next_expiry_seconds)::bigint,
        sum(s.waiters)::bigint,
        max(s.longest_wait_seconds)::bigint
    FROM (
        SELECT
            l.object_type,
            l.department_id,
            count(*) FILTER (WHERE l.is_live) AS live,
            count(*) FILTER (WHERE NOT l.is_live) AS expired,
            greatest(floor(extract(epoch FROM v_now - min(l.acquired_ts) FILTER (WHERE l.is_live))), 0) AS oldest_seconds,
            greatest(ceil(extract(epoch FROM min(l.expires_ts) FILTER (WHERE l.is_live) - v_now)), 0) AS next_expiry_seconds,
            0 AS waiters,
            0 AS longest_wait_seconds
        FROM (
            SELECT
                a.object_type,
                CASE WHEN a.expires_ts > v_now THEN a.department_id ELSE '' END AS department_id,
                a.acquired_ts,
                a.expires_ts,
                a.expires_ts > v_now AS is_live
            FROM appl_lock AS a
            WHERE p_object_type IS NULL OR a.object_type = v_object_type
        ) AS l
        WHERE p_department_id IS NULL OR l.department_id = v_department_id
        GROUP BY l.object_type, l.department_id
        UNION ALL
        SELECT
            w.object_type,
            w.department_id,
            0,
            0,
            0,
            0,
            count(*),
            greatest(floor(extract(epoch FROM v_now - min(w.since_ts))), 0)
        FROM appl_lock_waiter AS w
        WHERE (p_object_type IS NULL OR w.object_type = v_object_type)
            AND (p_department_id IS NULL OR w.department_id = v_department_id)
            AND w.expires_ts > v_now
        GROUP BY w.object_type, w.department_id
    ) AS s
    GROUP BY s.object_type, s.department_id
    ORDER BY s.object_type, s.department_id;
END
$$;

COMMENT ON FUNCTION stats_appl_locks(text, text) IS
    'How many locks and waiters there are of each type and department, and how old and how long.';

REVOKE ALL ON FUNCTION stats_appl_locks(text, text) FROM PUBLIC;
