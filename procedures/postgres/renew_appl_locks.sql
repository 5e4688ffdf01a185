-- renew_appl_locks: renew many grants in one call, each by its fence.
--
-- Contract   RENEWED: this very grant is live; expires_ts = now + its ttl, all else as it was.
--            HELD: somebody else holds the object, or the operator under another fence; old_* and expires_ts
--            tell who and until when. FREE: nobody holds it: the grant has ended. It is not revived, not
--            even when it has expired just now and nobody else has come.
--            No row: another transaction is changing this lock, or asserts it. It is neither renewed nor
--            lost; ask again. So one lock that is busy delays none of the others.
-- In         p_grants, a JSON array of 0 to 10000 grants such as {"object_type": "customer", "object_id": "42",
--            "operator_id": "JDOE", "fence": 17, "ttl_seconds": 30}, with the limits that these have as parameters
--            of get_appl_lock and assert_appl_lock; none may be left out, no object may come twice. Trailing
--            blanks are trimmed first.
-- Out        object_type, object_id, outcome, old_operator_id, old_department_id (empty unless HELD), expires_ts
--            (NULL when FREE), seconds_left (from now to expires_ts, 0 when FREE), ordered by object_type, object_id
--            as bytes.
-- Raises     LK001 invalid argument: nothing has been renewed. 40001 as the engine has it.
-- Locks      S1 locks the rows that it renews, in the order of their keys, to the end of the caller's
--            transaction. Rows that somebody else has locked are passed over, never waited for.
-- Race-free  Against take-over, release or transfer: whoever locks the row first goes first. The others'
--            change is judged on the row as it is once it is locked, the clock included; what they have not
--            committed yet is a row that S1 passes over.
--            What is not renewed is told from the snapshot of S1: a grant that was live there has no row.
--            REPEATABLE READ and SERIALIZABLE: S1 on a row changed since the snapshot is 40001; HELD and FREE are as
--            the transaction sees them, as in inquire_appl_lock.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION renew_appl_locks(
    p_grants text,
    OUT object_type text,
    OUT object_id text,
    OUT outcome text,
    OUT old_operator_id text,
    OUT old_department_id text,
    OUT expires_ts timestamptz,
    OUT seconds_left bigint
) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
-- A plan for so many grants that looks each one up by its key, however many: other joins read the whole table.
SET plan_cache_mode = 'force_custom_plan'
SET enable_hashjoin = 'off'
SET enable_mergejoin = 'off'
AS $$
DECLARE
    v_types text[];
    v_ids text[];
    v_operators text[];
    v_fences bigint[];
    v_ttls bigint[];
    v_reason text;
    v_now timestamptz;
BEGIN
    IF p_grants IS NULL THEN
        v_reason := 'must not be empty';
    ELSE
        BEGIN
            SELECT
                array_agg(rtrim(g.object_type, ' ')),
                array_agg(rtrim(g.object_id, ' ')),
                array_agg(rtrim(g.operator_id, ' ')),
                array_agg(g.fence),
                array_agg(g.ttl_seconds)
            INTO v_types, v_ids, v_operators, v_fences, v_ttls
            FROM jsonb_to_recordset(p_grants::jsonb)
                AS g (object_type text, object_id text, operator_id text, fence bigint, ttl_seconds bigint);
        EXCEPTION
            WHEN data_exception OR program_limit_exceeded THEN
                v_reason := format('is not a list of grants: %s', SQLERRM);
        END;
    END IF;
    IF cardinality(v_types) > 10000 THEN
        v_reason := format('has %s grants, at most 10000 are allowed', cardinality(v_types));
    END IF;
    IF v_reason IS NULL THEN
        SELECT format('has %s in grant %s', b.what, g.place)
        INTO v_reason
        FROM (
            SELECT
                r.*,
                row_number() OVER (PARTITION BY r.object_type COLLATE "C", r.object_id COLLATE "C") AS times
            FROM unnest(v_types, v_ids, v_operators, v_fences, v_ttls) WITH ORDINALITY
                AS r (object_type, object_id, operator_id, fence, ttl_seconds, place)
        ) AS g
        CROSS JOIN LATERAL (
            SELECT CASE
                WHEN (char_length(g.object_type) BETWEEN 1 AND 64 AND position(':' IN g.object_type) = 0) IS NOT TRUE
                    THEN 'no valid object_type'
                WHEN (char_length(g.object_id) BETWEEN 1 AND 255) IS NOT TRUE THEN 'no valid object_id'
                WHEN (char_length(g.operator_id) BETWEEN 1 AND 64) IS NOT TRUE THEN 'no valid operator_id'
                WHEN (g.fence >= 1) IS NOT TRUE THEN 'no fence of 1 or greater'
                WHEN (g.ttl_seconds BETWEEN 1 AND 315360000) IS NOT TRUE THEN 'no ttl_seconds between 1 and 315360000'
                WHEN g.times > 1 THEN 'an object for the second time'
            END AS what
        ) AS b
        WHERE b.what IS NOT NULL
        ORDER BY g.place
        LIMIT 1;
    END IF;
    IF v_reason IS NOT NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'LK001',
            MESSAGE = format('renew_appl_locks: p_grants %s', v_reason),
            COLUMN = 'p_grants';
    END IF;

    v_now := clock_timestamp();
    -- S1: renew what is live and at hand. The clock is asked again under the row lock, because a grant may have
    -- expired since it was found. The second half has exactly the grants that were not found live.
    RETURN QUERY
    WITH wanted AS (
        SELECT g.*
        FROM unnest(v_types, v_ids, v_operators, v_fences, v_ttls)
            AS g (object_type, object_id, operator_id, fence, ttl_seconds)
    ),
    locked AS (
        SELECT l.object_type, l.object_id, g.ttl_seconds
        FROM wanted AS g
        JOIN appl_lock AS l
            ON l.object_type = g.object_type
            AND l.object_id = g.object_id
        WHERE l.operator_id = g.operator_id
            AND l.fence = g.fence
            AND l.expires_ts > v_now
        ORDER BY l.object_type, l.object_id
        FOR NO KEY UPDATE OF l SKIP LOCKED
    ),
    renewed AS (
        UPDATE appl_lock AS l
        SET (lock_ts, expires_ts) = (
                SELECT
                    greatest(t.now_ts, l.acquired_ts + interval '1 microsecond'),
                    t.now_ts + make_interval(secs => k.ttl_seconds)
                FROM (SELECT clock_timestamp() AS now_ts) AS t
            )
        FROM locked AS k
        WHERE l.object_type = k.object_type
            AND l.object_id = k.object_id
            AND l.expires_ts > clock_timestamp()
        RETURNING l.object_type, l.object_id, l.expires_ts, k.ttl_seconds
    )
    SELECT a.object_type, a.object_id, a.outcome, a.old_operator_id, a.old_department_id, a.expires_ts, a.seconds_left
    FROM (
        SELECT r.object_type::text, r.object_id::text, 'RENEWED', '', '', r.expires_ts, r.ttl_seconds
        FROM renewed AS r
        UNION ALL
        SELECT
            g.object_type,
            g.object_id,
            CASE WHEN h.expires_ts IS NULL THEN 'FREE' ELSE 'HELD' END,
            coalesce(h.operator_id::text, ''),
            coalesce(h.department_id::text, ''),
            h.expires_ts,
            CASE WHEN h.expires_ts IS NULL THEN 0 ELSE appl_lock_seconds_left(h.expires_ts) END
        FROM wanted AS g
        LEFT JOIN appl_lock AS h
            ON h.object_type = g.object_type
            AND h.object_id = g.object_id
            AND h.expires_ts > v_now
        WHERE h.expires_ts IS NULL
            OR h.operator_id <> g.operator_id
            OR h.fence <> g.fence
    ) AS a (object_type, object_id, outcome, old_operator_id, old_department_id, expires_ts, seconds_left)
    ORDER BY a.object_type COLLATE "C", a.object_id COLLATE "C";
END
$$;

COMMENT ON FUNCTION renew_appl_locks(text) IS 'Renew many grants in one call, each by its fence.';

REVOKE ALL ON FUNCTION renew_appl_locks(text) FROM PUBLIC;
