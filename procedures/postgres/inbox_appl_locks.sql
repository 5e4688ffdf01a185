-- inbox_appl_locks: report what others did with an operator's locks, who waits or asks for them, and how its own requests were
-- answered. Call it once in each heartbeat.
--
-- Contract   At most p_max_rows rows. First the events behind p_position, in their order. TAKEN: another operator has taken
--            this one's lock or handed it on to a third. HANDED: another operator has transferred a lock to this one. RELEASED:
--            another operator has ended its lock. GIVEN and YIELDED: its lock went to an asker; they appear even if this
--            operator was the actor. Then, oldest first, AWAITED: another operator waits or asks for a lock of this one. LATER
--            and DECLINED: a holder has answered this one's request. A request that was answered NO leaves the holder's inbox.
--            A lock that had expired before another operator got it is no TAKEN.
--            Events and the rest have half of the page each, and what the other leaves of its half. The next call passes
--            next_position; where there is no row, its position stays. So each event is told once, also one whose transaction
--            commits after later ones were told.
-- In         p_operator_id 1..255, without trailing blanks; p_position, NULL or '' = from the start: the number up to which all
--            is told, then numbers and ranges that are told, as in 120,124,130-141; p_max_rows 1..10000, NULL = 1000.
-- Out        kind; event_id, 0 unless an event; object_type; object_id; other_operator_id and other_department_id, the new
--            holder (TAKEN, GIVEN, YIELDED), the former one (HANDED), the waiter (AWAITED) or, without department, the actor
--            (RELEASED, LATER, DECLINED); event_ts, of the event or of the wait's begin; seconds_left of this operator's lock,
--            0 unless AWAITED; reason; next_position, the same in each row; message, client_id and fence of a request to
--            answer, else empty and 0.
-- Raises     LK001 invalid argument. 40001 where S3 writes above READ COMMITTED, as the engine has it.
-- Locks      Never waits. It reads by index only: the operator's own events behind the first number of p_position, the waiters
--            and requests for what it holds, its own requests, and the locks by key. S1 goes back in doubling steps, with one
--            event each. S3 writes once for each request shown, only where a type's policy has a yield, and only in a
--            transaction that may write.
-- Race-free  The page is one snapshot, and next_position has the numbers that it has told, so a later commit is news whatever
--            its number. S1 says up to which number all is visible. A transaction that is not visible has the id xmin or a
--            greater one. Where the next_xid of an event is not above xmin, such a transaction got its id, and so its numbers,
--            after that event (appl_lock_record). That holds at each isolation level. A full page ends before events that it
--            leaves out. In a restored dump next_xid may be another cluster's. Restored events have smaller numbers than all
--            later ones, so each of them is safe, and until then their numbers are told one by one.
-- Differs    Nothing: this is the reference. A function here, because it returns rows. A position is longer the more events of
--            the operator are told while a transaction is open that began before them.

CREATE OR REPLACE FUNCTION inbox_appl_locks(...) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
-- Force an index, in its order, whatever the statistics say.
SET enable_seqscan = 'off'
SET enable_bitmapscan = 'off'
-- The plan's estimate is high, so JIT would compile it in each call, which takes longer than the query.
SET jit = 'off'
AS $$
DECLARE
    v_operator_id text := appl_lock_text('inbox_appl_locks', 'p_operator_id', p_operator_id, 255, true);
    v_position text := coalesce(nullif(p_position, ''), '0');
    v_after_event_id bigint;
    v_told int8multirange;
    v_max_rows bigint := appl_lock_number('inbox_appl_locks', 'p_max_rows', p_max_rows, 1000, 10000);
    v_now timestamptz := clock_timestamp();
    v_xmin xid8 := pg_snapshot_xmin(pg_current_snapshot());
    v_safe_event_id bigint;
    v_event_id bigint := 9223372036854775807;
    v_step bigint := 1;
    v_next_xid xid8;
    v_page int8multirange;
    v_last_event_id bigint;
    v_unshown tid;
    v_shown tid[] := '{}';
BEGIN
    BEGIN
        v_after_event_id := substring(v_position FROM '^[0-9]+')::bigint;
        SELECT pg_catalog.range_agg(pg_catalog.int8range(
            CASE WHEN t.place > 1 THEN pg_catalog.split_part(t.numbers, '-'::text, 1::integer)::bigint END,
            pg_catalog.split_part(t.numbers, '-'::text, -1::integer)::bigint, '[]'::text
        ))
        INTO STRICT v_told
        FROM pg_catalog.unnest(pg_catalog.string_to_array(v_position, ','::text)) WITH ORDINALITY AS t (numbers, place);
    EXCEPTION WHEN data_exception THEN
        v_after_event_id := NULL;
    END;
    IF v_position !~ '^[0-9]{1,18}(,[0-9][0-9,-]*)?$' OR v_after_event_id IS NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'LK001',
            MESSAGE = 'inbox_appl_locks: p_position is not one of its answers',
            COLUMN = 'p_position';
    END IF;
    v_safe_event_id := v_after_event_id;

    -- S1: the latest event with no open transaction before it.
    LOOP
        SELECT e.event_id, e.next_xid
        INTO v_event_id, v_next_xid
        FROM appl_lock_event AS e
        WHERE e.event_id <= v_event_id
            AND e.event_id > v_after_event_id
        ORDER BY e.event_id DESC
        LIMIT 1;
        EXIT WHEN NOT FOUND;
        v_safe_event_id := CASE WHEN v_next_xid <= v_xmin THEN v_event_id ELSE v_after_event_id END;
        EXIT WHEN v_next_xid <= v_xmin;
        v_event_id := v_event_id - v_step;
        v_step := v_step * 2;
    END LOOP;

    -- S2: the page.
    FOR
        kind, event_id, object_type, object_id, other_operator_id, other_department_id, event_ts, seconds_left, reason,
        message, client_id, fence, v_unshown, v_page, v_last_event_id
    IN SELECT
        m.kind::text,
        m.event_id,
        m.object_type::text,
        m.object_id::text,
        m.other_operator_id::text,
        m.other_department_id::text,
        m.event_ts,
        m.seconds_left,
        m.reason::text,
        m.message::text,
        m.client_id::text,
        m.fence,
        m.unshown,
        pg_catalog.range_agg(pg_catalog.int8range(m.event_id, m.event_id, '[]'::text)) FILTER (WHERE m.part = 1) OVER (),
        CASE WHEN count(*) OVER () = v_max_rows THEN max(m.event_id) FILTER (WHERE m.part = 1) OVER () END
    FROM (
        SELECT
            p.*,
            row_number() OVER (
                PARTITION BY p.part
                ORDER BY p.event_id, p.event_ts, p.object_type, p.object_id, p.other_operator_id
            ) AS place
        FROM (
            -- Ordering by both columns of the index, without = for the first, keeps the planner from the primary key.
            (
                SELECT
                    1 AS part,
                    CASE e.event::text WHEN 'TRANSFERRED' THEN 'TAKEN' ELSE e.event END AS kind,
                    e.event_id,
                    e.object_type,
                    e.object_id,
                    CASE e.event::text WHEN 'RELEASED' THEN e.actor_id ELSE e.to_operator_id END AS other_operator_id,
                    e.to_department_id AS other_department_id,
                    e.event_ts,
                    0::bigint AS seconds_left,
                    e.reason,
                    '' AS message,
                    '' AS client_id,
                    0::bigint AS fence,
                    NULL::tid AS unshown
                FROM appl_lock_event AS e
                WHERE (e.from_operator_id::text, e.event_id) > (v_operator_id, v_after_event_id)
                    AND e.from_operator_id::text <= v_operator_id
                    AND e.event::text IN ('TAKEN', 'TRANSFERRED', 'RELEASED', 'GIVEN', 'YIELDED')
                    AND (e.actor_id::text <> v_operator_id OR e.event::text IN ('GIVEN', 'YIELDED'))
                    AND e.to_operator_id::text <> v_operator_id
                    AND NOT e.event_id OPERATOR(pg_catalog.<@) v_told
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
                    e.reason,
                    '', '', 0, NULL
                FROM appl_lock_event AS e
                WHERE (e.to_operator_id::text, e.event_id) > (v_operator_id, v_after_event_id)
                    AND e.to_operator_id::text <= v_operator_id
                    AND e.event::text IN ('TRANSFERRED', 'GIVEN', 'YIELDED')
                    AND (e.actor_id::text <> v_operator_id OR e.event::text = 'YIELDED')
                    AND NOT e.event_id OPERATOR(pg_catalog.<@) v_told
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
                '', '', '', 0, NULL
            FROM appl_lock_waiter AS w
            CROSS JOIN LATERAL (
                SELECT h.expires_ts
                FROM appl_lock AS h
                WHERE h.object_type::text = w.object_type::text
                    AND h.object_id::text = w.object_id::text
                    AND h.operator_id::text = v_operator_id
                    AND h.released_ts IS NULL
                    AND h.expires_ts > v_now
                LIMIT 1
            ) AS l
            WHERE w.holder_id::text = v_operator_id
                AND w.operator_id::text <> v_operator_id
                AND w.expires_ts > v_now
            UNION ALL
            SELECT
                2,
                'AWAITED',
                0,
                a.object_type,
                a.object_id,
                a.operator_id,
                a.department_id,
                a.since_ts,
                appl_lock_seconds_left(l.expires_ts),
                '',
                a.message,
                a.client_id,
                l.fence,
                CASE
                    WHEN a.shown_ts IS NULL AND a.fence = l.fence AND EXISTS (
                        SELECT
                        FROM appl_lock_policy AS y
                        WHERE y.object_type::text = a.object_type::text
                            AND y.yield_after_seconds IS NOT NULL
                    ) THEN a.ctid
                END
            FROM appl_lock_ask AS a
            CROSS JOIN LATERAL (
                SELECT h.expires_ts, h.fence
                FROM appl_lock AS h
                WHERE h.object_type::text = a.object_type::text
                    AND h.object_id::text = a.object_id::text
                    AND h.operator_id::text = v_operator_id
                    AND h.released_ts IS NULL
                    AND h.expires_ts > v_now
                LIMIT 1
            ) AS l
            WHERE a.holder_id::text = v_operator_id
                AND a.expires_ts > v_now
                AND a.answer::text <> 'NO'
            UNION ALL
            SELECT
                2,
                CASE a.answer::text WHEN 'NO' THEN 'DECLINED' ELSE 'LATER' END,
                0,
                a.object_type,
                a.object_id,
                a.holder_id,
                '',
                a.answered_ts,
                0,
                a.answer_reason,
                '', '', 0, NULL
            FROM appl_lock_ask AS a
            WHERE a.operator_id::text = v_operator_id
                AND a.expires_ts > v_now
                AND a.answer::text <> ''
        ) AS p
        ORDER BY place, p.part
        LIMIT v_max_rows
    ) AS m
    ORDER BY m.part, m.event_id, m.event_ts, m.object_type, m.object_id, m.other_operator_id
    LOOP
        IF next_position IS NULL THEN
            v_told := v_told
                OPERATOR(pg_catalog.+) coalesce(v_page, '{}'::int8multirange)
                OPERATOR(pg_catalog.+) pg_catalog.int8multirange(pg_catalog.int8range(NULL::bigint, least(v_safe_event_id, v_last_event_id), '[]'::text));
            SELECT string_agg(
                CASE
                    WHEN r.from_id < r.to_id THEN r.from_id::text || '-'::text || r.to_id::text
                    ELSE r.to_id::text
                END,
                ','
                ORDER BY r.to_id
            )
            INTO next_position
            FROM (
                SELECT pg_catalog.lower(u.told) AS from_id, pg_catalog.upper(u.told) - 1::bigint AS to_id
                FROM pg_catalog.unnest(v_told) AS u (told)
            ) AS r;
        END IF;
        RETURN NEXT;
        IF v_unshown IS NOT NULL THEN
            v_shown := pg_catalog.array_append(v_shown, v_unshown);
        END IF;
    END LOOP;

    -- S3: the page has shown these requests, so the time to answer them begins. By ctid: a row that has moved waits for the
    -- next page.
    IF pg_catalog.cardinality(v_shown) > 0 AND current_setting('transaction_read_only') = 'off' THEN
        UPDATE appl_lock_ask AS a
        SET shown_ts = clock_timestamp()
        WHERE a.ctid = ANY (ARRAY(
                SELECT s.ctid
                FROM appl_lock_ask AS s
                WHERE s.ctid = ANY (v_shown)
                FOR NO KEY UPDATE SKIP LOCKED
            ));
    END IF;
END
$$;
