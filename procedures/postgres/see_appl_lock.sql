-- see_appl_lock: list an operator as a viewer of an object, and show its holder, askers and other viewers. Call it once in each
-- heartbeat.
--
-- Contract   Lists the operator as a viewer for p_ttl_seconds, with its state, for the program p_client_id. Each further call
--            keeps it listed, since the first one; after the listing has ended, a call begins anew. Without a state the
--            program's row goes. Then at most 200 rows. HOLDER: the object's holder, even if it is the operator itself. ASKER:
--            each request of another operator. VIEWER: each program of another operator that is listed. Askers and viewers come
--            oldest first. No row: the object is free, and nobody else is there. The call is no lock, and the history does not
--            record it. EDITING by the holder restarts its time to answer (ask_appl_lock). Where the type's policy has presence
--            N, the call records nothing and shows only holder and askers.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255; p_department_id 0..64, NULL =
--            empty; p_client_id 1..64, the browser tab or program, under a name that no other program has; p_state VIEWING,
--            EDITING or IDLE, NULL = it leaves; p_ttl_seconds 1..300, NULL = 45. Trailing blanks are trimmed first.
-- Out        kind; operator_id; department_id; client_id (empty for HOLDER); state (empty unless VIEWER); since_ts (start of
--            the grant, the request or the listing); seconds_left (until the lock or the listing ends); message (empty unless
--            ASKER).
-- Raises     LK001 invalid argument. 55P03 after 1 s of waiting for another call for the same row, 40001 and 40P01 as the engine has
--            them. 0A000 on a standby: its table is unlogged.
-- Locks      S2 locks the operator's own row, for which only another call for it and a purge of it wait. S3 locks the requests
--            that ask the operator for the object, and S4 at most 200 dead rows of the object. Both skip rows that another
--            transaction is changing. All to the end of the caller's transaction. It reads the rows of this object only.
-- Race-free  Two calls for one row: the primary key lets one insert; the other waits, then ON CONFLICT locks that row and
--            judges whether it is live. S4 judges a row again once it is locked: a viewer that has come back stays.
--            S3 does not wait for an ask that is under way: the next heartbeat restarts its time.
--            REPEATABLE READ and SERIALIZABLE: S2, S3 or S4 on a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION see_appl_lock(...) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
-- Force the primary key, whatever the statistics say.
SET enable_seqscan = 'off'
SET enable_bitmapscan = 'off'
AS $$
DECLARE
    v_object_type text := appl_lock_text('see_appl_lock', 'p_object_type', p_object_type, 64, true);
    v_object_id text := appl_lock_text('see_appl_lock', 'p_object_id', p_object_id, 255, true);
    v_operator_id text := appl_lock_text('see_appl_lock', 'p_operator_id', p_operator_id, 255, true);
    v_department_id text := appl_lock_text('see_appl_lock', 'p_department_id', p_department_id, 64, false);
    v_client_id text := appl_lock_text('see_appl_lock', 'p_client_id', p_client_id, 64, true);
    v_state text := rtrim(p_state, ' ');
    v_ttl_seconds bigint := appl_lock_number('see_appl_lock', 'p_ttl_seconds', p_ttl_seconds, 45, 300);
    v_now timestamptz := clock_timestamp();
    v_presence boolean;
BEGIN
    IF v_state NOT IN ('VIEWING', 'EDITING', 'IDLE') THEN
        RAISE EXCEPTION USING
            ERRCODE = 'LK001',
            MESSAGE = 'see_appl_lock: p_state is VIEWING, EDITING or IDLE, or NULL',
            COLUMN = 'p_state';
    END IF;
    -- S1: is presence on?
    v_presence := NOT EXISTS (
        SELECT
        FROM appl_lock_policy AS p
        WHERE p.object_type::text = v_object_type
            AND p.presence_fl = 'N'
    );

    -- S2: it leaves, or it is listed.
    IF v_state IS NULL THEN
        DELETE FROM appl_lock_viewer AS v
        WHERE v.object_type::text = v_object_type
            AND v.object_id::text = v_object_id
            AND v.operator_id::text = v_operator_id
            AND v.client_id::text = v_client_id;
    ELSIF v_presence THEN
        INSERT INTO appl_lock_viewer AS v (
            object_type, object_id, operator_id, department_id, client_id, state, since_ts, seen_ts, expires_ts
        )
        VALUES (
            v_object_type, v_object_id, v_operator_id, v_department_id, v_client_id, v_state, v_now, v_now,
            v_now + pg_catalog.make_interval(secs => v_ttl_seconds)
        )
        ON CONFLICT ON CONSTRAINT appl_lock_viewer_pk DO UPDATE
        SET department_id = excluded.department_id,
            state = excluded.state,
            since_ts = CASE WHEN v.expires_ts > clock_timestamp() THEN v.since_ts ELSE excluded.since_ts END,
            seen_ts = excluded.seen_ts,
            expires_ts = excluded.expires_ts;
    END IF;

    -- S3: an operator that edits is present: restart its time to answer the requests for its lock.
    IF v_state = 'EDITING' AND v_presence THEN
        UPDATE appl_lock_ask AS a
        SET edited_ts = v_now
        WHERE a.ctid = ANY (ARRAY(
                SELECT s.ctid
                FROM appl_lock_ask AS s
                WHERE s.object_type::text = v_object_type
                    AND s.object_id::text = v_object_id
                    -- The || keeps the planner from the index of the holders.
                    AND s.holder_id::text || '' = v_operator_id
                    AND s.shown_ts IS NOT NULL
                FOR NO KEY UPDATE SKIP LOCKED
            ));
    END IF;

    -- S4: remove the dead rows of this object, by ctid: a row that has just moved is alive again, or gone.
    DELETE FROM appl_lock_viewer AS v
    WHERE v.ctid = ANY (ARRAY(
            SELECT d.ctid
            FROM appl_lock_viewer AS d
            WHERE d.object_type::text = v_object_type
                AND d.object_id::text = v_object_id
                AND d.expires_ts <= v_now
            LIMIT 200
            FOR UPDATE SKIP LOCKED
        ));

    -- S5: who is there?
    RETURN QUERY
    SELECT
        m.kind,
        m.operator_id::text,
        m.department_id::text,
        m.client_id::text,
        m.state::text,
        m.since_ts,
        m.seconds_left,
        m.message::text
    FROM (
        SELECT
            1 AS part,
            'HOLDER' AS kind,
            l.operator_id,
            l.department_id,
            '' AS client_id,
            '' AS state,
            l.acquired_ts AS since_ts,
            appl_lock_seconds_left(l.expires_ts) AS seconds_left,
            '' AS message
        FROM appl_lock AS l
        WHERE l.object_type::text = v_object_type
            AND l.object_id::text = v_object_id
            AND l.released_ts IS NULL
            AND l.expires_ts > v_now
        UNION ALL
        SELECT
            2,
            'ASKER',
            a.operator_id,
            a.department_id,
            a.client_id,
            '',
            a.since_ts,
            appl_lock_seconds_left(a.expires_ts),
            a.message
        FROM appl_lock_ask AS a
        WHERE a.object_type::text = v_object_type
            AND a.object_id::text = v_object_id
            AND a.operator_id::text <> v_operator_id
            AND a.expires_ts > v_now
        UNION ALL
        SELECT
            3,
            'VIEWER',
            v.operator_id,
            v.department_id,
            v.client_id,
            v.state,
            v.since_ts,
            appl_lock_seconds_left(v.expires_ts),
            ''
        FROM appl_lock_viewer AS v
        WHERE v_presence
            AND v.object_type::text = v_object_type
            AND v.object_id::text = v_object_id
            AND v.operator_id::text <> v_operator_id
            AND v.expires_ts > v_now
    ) AS m
    ORDER BY m.part, m.since_ts, m.operator_id, m.client_id
    LIMIT 200;
END
$$;
