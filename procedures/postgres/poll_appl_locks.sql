-- poll_appl_locks: show which objects that a program waits for are free or will be next, and keep its waiters listed.
--
-- Contract   One row for each object that a waiter of the program still waits for: free objects first, then by the end of their
--            locks, at most p_max_rows. A lock may be renewed or released meanwhile. It is the turn of the program whose waiter
--            has been listed longest. The program's waiters stay listed for 30 s or more, with the object's present holder once that
--            has had it for a second: while an object goes from hand to hand, polls write nothing.
-- In         p_client_id 1..64, the waiting program. p_max_rows 1..10000, NULL = 1000. Trailing blanks are
--            trimmed first.
-- Out        object_type, object_id, free_in_us (microseconds until the lock ends, 0 when the object is free),
--            first_fl (Y when it is free, and the turn of this program; otherwise N), ordered by free_in_us, object_type,
--            object_id.
-- Raises     LK001 invalid argument. 40001 as the engine has it.
-- Locks      Normally nothing. Once in 30 s S1, and S3 after a change of holders, lock rows of the program in appl_lock_waiter,
--            to the end of the caller's transaction; they skip rows that another transaction is changing.
-- Race-free  Against announce and retract of a row: they keep it listed or end it themselves; poll passes over it.
--            S2 was true at one moment: only a get decides.
--            REPEATABLE READ and SERIALIZABLE: S1 or S3 on a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION poll_appl_locks(...) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
-- Force an index, whatever the statistics say.
SET enable_seqscan = 'off'
AS $$
DECLARE
    v_client_id text := appl_lock_text('poll_appl_locks', 'p_client_id', p_client_id, 64, true);
    v_max_rows bigint := appl_lock_number('poll_appl_locks', 'p_max_rows', p_max_rows, 1000, 10000);
    v_now timestamptz := clock_timestamp();
    v_holders_changed boolean;
BEGIN
    -- S1: keep the waiters listed, all of them as soon as one of them must be.
    IF EXISTS (
        SELECT
        FROM appl_lock_waiter AS w
        WHERE w.client_id::text = v_client_id
            AND w.expires_ts < v_now + interval '30 seconds'
            AND (w.until_ts IS NULL OR (w.until_ts > v_now AND w.until_ts > w.expires_ts))
    ) THEN
        -- By ctid: a row that has just moved is being kept or ended by another call.
        UPDATE appl_lock_waiter AS w
        SET expires_ts = least(v_now + interval '60 seconds', w.until_ts)
        WHERE w.ctid = ANY (ARRAY(
                SELECT k.ctid
                FROM appl_lock_waiter AS k
                WHERE k.client_id::text = v_client_id
                    AND (k.until_ts IS NULL OR (k.until_ts > v_now AND k.until_ts > k.expires_ts))
                FOR NO KEY UPDATE SKIP LOCKED
            ));
    END IF;

    -- S2: when will each be free? The LIMIT forces a lookup by key for each object: a join would begin with the table that the
    -- statistics call small.
    FOR object_type, object_id, free_in_us, first_fl, v_holders_changed IN
        SELECT
            w.object_type,
            w.object_id,
            CASE
                WHEN l.expires_ts IS NULL THEN 0
                ELSE (extract(epoch FROM least(l.expires_ts, '2262-01-01 00:00:00+00'::timestamptz) - v_now) * 1000000::numeric)::bigint
            END AS free_in_us,
            CASE
                WHEN l.expires_ts IS NOT NULL THEN 'N'
                WHEN EXISTS (
                    SELECT
                    FROM appl_lock_waiter AS o
                    WHERE o.object_type::text = w.object_type::text
                        AND o.object_id::text = w.object_id::text
                        AND o.expires_ts > v_now
                        AND o.since_ts < w.since_ts
                ) THEN 'N'
                ELSE 'Y'
            END AS first_fl,
            bool_or(l.operator_id::text <> ANY (w.holders) AND l.acquired_ts < v_now - interval '1 second') OVER ()
        FROM (
            SELECT r.object_type, r.object_id, pg_catalog.array_agg(r.holder_id::text) AS holders, min(r.since_ts) AS since_ts
            FROM appl_lock_waiter AS r
            WHERE r.client_id::text = v_client_id
                AND (r.until_ts IS NULL OR r.until_ts > v_now)
            GROUP BY r.object_type, r.object_id
        ) AS w
        LEFT JOIN LATERAL (
            SELECT h.operator_id, h.acquired_ts, h.expires_ts
            FROM appl_lock AS h
            WHERE h.object_type::text = w.object_type::text
                AND h.object_id::text = w.object_id::text
                AND h.released_ts IS NULL
                AND h.expires_ts > v_now
            LIMIT 1
        ) AS l ON true
        ORDER BY 3, w.object_type, w.object_id
        LIMIT v_max_rows
    LOOP
        RETURN NEXT;
    END LOOP;

    -- S3: store the new holders, for their inboxes.
    IF v_holders_changed THEN
        UPDATE appl_lock_waiter AS w
        SET holder_id = k.now_id
        FROM (
            SELECT r.ctid, l.operator_id AS now_id
            FROM appl_lock_waiter AS r
            CROSS JOIN LATERAL (
                SELECT h.operator_id
                FROM appl_lock AS h
                WHERE h.object_type::text = r.object_type::text
                    AND h.object_id::text = r.object_id::text
                    AND h.released_ts IS NULL
                    AND h.expires_ts > v_now
                    AND h.acquired_ts < v_now - interval '1 second'
                LIMIT 1
            ) AS l
            WHERE r.client_id::text = v_client_id
                AND r.holder_id::text <> l.operator_id::text
            FOR NO KEY UPDATE OF r SKIP LOCKED
        ) AS k
        WHERE w.ctid = k.ctid;
    END IF;
END
$$;
