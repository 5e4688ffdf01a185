-- renew_appl_locks: renew many grants in one call, each by its fence.
--
-- Contract   RENEWED: this very grant is live; it lasts for its ttl from now, or as long as it did, if that is longer. So a
--            late renewal shortens nothing. The policy's longest ttl is the limit.
--            HELD: another operator or grant holds the object; old_*, acquired_ts and expires_ts tell who, since and until when.
--            FREE: nobody holds it: the grant has ended, and is not revived.
--            No row: another transaction is changing or asserting this lock. It is neither renewed nor lost; call again. So a
--            busy lock delays none of the others.
--            A renewal is an event, RENEWED, if history was ALL at the operator's last get.
-- In         p_grants, a JSON array of 0 to 10000 grants such as {"object_type": "customer", "object_id": "42",
--            "operator_id": "JDOE", "fence": 17, "ttl_seconds": 30}, with the limits of get_appl_lock and assert_appl_lock; all
--            five are required; each object at most once. Trailing blanks are trimmed first.
-- Out        object_type, object_id, outcome, old_operator_id, old_department_id (empty unless HELD), acquired_ts
--            (NULL unless HELD), expires_ts (NULL when FREE), seconds_left (from now to expires_ts, 0 when FREE), ordered by
--            object_type, object_id as bytes.
-- Raises     LK001 invalid argument: nothing has been renewed. 40001 as the engine has it.
-- Locks      S1 locks the row that it renews, one after the other in the order of their keys, to the end of the caller's
--            transaction. It skips a row that another transaction has locked.
-- Race-free  Against take-over, release or transfer: S1 locks the row, judges it as it is then, and changes it, in one statement.
--            S2 reports the other grants, later. A grant that is still live then has no row: another transaction had locked it,
--            or changed it after S1 began.
--            REPEATABLE READ and SERIALIZABLE: S1 on a row changed since the snapshot is 40001; HELD and FREE are as
--            the transaction sees them, as in inquire_appl_lock.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION renew_appl_locks(...) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
-- Force the key, whatever the statistics say.
SET enable_seqscan = 'off'
AS $$
DECLARE
    v_types text[];
    v_ids text[];
    v_operators text[];
    v_fences bigint[];
    v_ttls bigint[];
    v_reason text;
    v_operator_id text;
    v_fence bigint;
    v_old_fence bigint;
    v_ttl_seconds bigint;
    v_now timestamptz;
    v_expires_ts timestamptz;
    v_department_id text;
    v_history_fl boolean;
BEGIN
    IF p_grants IS NULL THEN
        v_reason := 'must not be empty';
    ELSE
        BEGIN
            SELECT
                pg_catalog.array_agg(rtrim(g.object_type, ' ')),
                pg_catalog.array_agg(rtrim(g.object_id, ' ')),
                pg_catalog.array_agg(rtrim(g.operator_id, ' ')),
                pg_catalog.array_agg(g.fence),
                pg_catalog.array_agg(g.ttl_seconds)
            INTO v_types, v_ids, v_operators, v_fences, v_ttls
            FROM jsonb_to_recordset(p_grants::jsonb)
                AS g (object_type text, object_id text, operator_id text, fence bigint, ttl_seconds bigint);
        EXCEPTION
            WHEN data_exception OR program_limit_exceeded THEN
                v_reason := pg_catalog.format('is not a list of grants: %s', SQLERRM);
        END;
    END IF;
    IF pg_catalog.cardinality(v_types) > 10000 THEN
        v_reason := pg_catalog.format('has %s grants, at most 10000 are allowed', pg_catalog.cardinality(v_types));
    END IF;
    IF v_reason IS NULL THEN
        SELECT pg_catalog.format('has %s in grant %s', b.what, g.place)
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
                WHEN (
                    char_length(g.object_type) BETWEEN 1 AND 64
                    AND position(':' IN g.object_type) = 0
                    AND (g.object_type::text !~ E'[\\x01-\\x1f\\x7f-\\u009f]' OR NOT appl_lock_has_control(g.object_type::text))
                ) IS NOT TRUE
                    THEN 'no valid object_type'
                WHEN (
                    char_length(g.object_id) BETWEEN 1 AND 255
                    AND (g.object_id::text !~ E'[\\x01-\\x1f\\x7f-\\u009f]' OR NOT appl_lock_has_control(g.object_id::text))
                ) IS NOT TRUE
                    THEN 'no valid object_id'
                WHEN (
                    char_length(g.operator_id) BETWEEN 1 AND 255
                    AND (g.operator_id::text !~ E'[\\x01-\\x1f\\x7f-\\u009f]' OR NOT appl_lock_has_control(g.operator_id::text))
                ) IS NOT TRUE
                    THEN 'no valid operator_id'
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
            MESSAGE = pg_catalog.format('renew_appl_locks: p_grants %s', v_reason),
            COLUMN = 'p_grants';
    END IF;

    FOR object_type, object_id, v_operator_id, v_fence, v_ttl_seconds IN
        SELECT g.object_type, g.object_id, g.operator_id, g.fence, least(g.ttl_seconds, p.longest_ttl_seconds)
        FROM unnest(v_types, v_ids, v_operators, v_fences, v_ttls)
            AS g (object_type, object_id, operator_id, fence, ttl_seconds)
        LEFT JOIN appl_lock_policy AS p
            ON p.object_type::text = g.object_type::text
        ORDER BY g.object_type COLLATE "C", g.object_id COLLATE "C"
    LOOP
        -- S1: renew live grants that can be locked at once. The inner SELECT comes first, locks, and judges the row once it is
        -- locked. While another session holds an old snapshot, all versions of a row stay: the newest is last in the index.
        v_now := clock_timestamp();
        v_expires_ts := v_now + pg_catalog.make_interval(secs => v_ttl_seconds);
        UPDATE appl_lock AS l
        SET lock_ts = greatest(v_now, l.lock_ts + interval '1 microsecond'),
            ttl_seconds = v_ttl_seconds,
            expires_ts = greatest(v_expires_ts, l.expires_ts)
        WHERE l.ctid = (
                SELECT k.ctid
                FROM appl_lock AS k
                WHERE k.object_type::text = renew_appl_locks.object_type COLLATE "C"
                    AND k.object_id::text >= renew_appl_locks.object_id COLLATE "C"
                    AND k.object_id::text <= renew_appl_locks.object_id COLLATE "C"
                    AND k.operator_id::text = v_operator_id
                    AND k.fence = v_fence
                    AND k.released_ts IS NULL
                    AND k.expires_ts > clock_timestamp()
                ORDER BY k.object_id DESC
                LIMIT 1
                FOR NO KEY UPDATE SKIP LOCKED
            )
        RETURNING l.expires_ts, l.department_id, l.history_fl
        INTO expires_ts, v_department_id, v_history_fl;
        IF FOUND THEN
            IF v_history_fl THEN
                PERFORM appl_lock_record(
                    'RENEWED', object_type, object_id, v_operator_id,
                    v_operator_id, v_department_id, v_fence, v_operator_id, v_department_id, v_fence, ''
                );
            END IF;
            outcome := 'RENEWED';
            old_operator_id := '';
            old_department_id := '';
            acquired_ts := NULL;
            seconds_left := v_ttl_seconds;
            IF expires_ts > v_expires_ts THEN
                seconds_left := appl_lock_seconds_left(expires_ts);
            END IF;
            RETURN NEXT;
            CONTINUE;
        END IF;

        -- S2: who has it? A grant that is still live was skipped, and gets no row.
        SELECT l.operator_id, l.department_id, l.fence, l.acquired_ts, l.expires_ts, appl_lock_seconds_left(l.expires_ts)
        INTO old_operator_id, old_department_id, v_old_fence, acquired_ts, expires_ts, seconds_left
        FROM appl_lock AS l
        WHERE l.object_type::text = renew_appl_locks.object_type COLLATE "C"
            AND l.object_id::text = renew_appl_locks.object_id COLLATE "C"
            AND l.released_ts IS NULL
            AND l.expires_ts > clock_timestamp();
        IF NOT FOUND THEN
            outcome := 'FREE';
            old_operator_id := '';
            old_department_id := '';
            seconds_left := 0;
        ELSE
            CONTINUE WHEN old_operator_id = v_operator_id AND v_old_fence = v_fence;
            outcome := 'HELD';
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;
