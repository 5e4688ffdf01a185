-- get_appl_lock: take or renew the lock on an object for one operator until it expires.
--
-- Contract   Y ACQUIRED: the object was free or its lock had expired; a new grant, a greater fence.
--            Y RENEWED: this operator holds it; same grant and fence, expires_ts = now + ttl. What is NULL of
--            p_department_id and p_ttl_seconds stays as the grant has it.
--            N HELD: another operator holds it; p_old_* and p_expires_ts tell who and until when.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64;
--            p_department_id 0..64, NULL = the grant's in a renewal, else empty; p_ttl_seconds 1..315360000,
--            NULL = the grant's in a renewal, else 604800 (7 days). Trailing blanks are trimmed first.
-- Out        p_lock_fl, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD),
--            p_fence (0 when HELD), p_expires_ts, p_seconds_left (from now to p_expires_ts).
-- Raises     LK001 invalid argument. LK003 when the object changed hands three times during the call.
--            55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has them.
-- Locks      S1 reads without a lock and answers HELD. S2 locks the object's one row and decides; held
--            to the end of the caller's transaction (also when S2 loses its race: a HELD that S1
--            finds after S2 had to wait leaves the row locked until then).
-- Race-free  Free object, two callers: both reach S2, the primary key lets one insert; the other
--            waits, then ON CONFLICT locks the winner's row and its WHERE is judged on it.
--            Expired row, two callers: S2 locks the row; the second judges the first one's version.
--            Release while S2 waits: the clock is read again under the row lock, never before it.
--            Renewal or release while S2 waits: what a NULL keeps is read under the row lock, too.
--            Killed before commit: the row goes back to what it was, and the waiter goes on.
--            REPEATABLE READ and SERIALIZABLE: S2 on a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION get_appl_lock_row(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_department_id text,
    p_ttl_seconds bigint,
    OUT p_lock_fl character(1),
    OUT p_outcome text,
    OUT p_old_operator_id text,
    OUT p_old_department_id text,
    OUT p_fence bigint,
    OUT p_expires_ts timestamptz,
    OUT p_seconds_left bigint
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    v_object_type text := appl_lock_text('get_appl_lock', 'p_object_type', p_object_type, 64, true);
    v_object_id text := appl_lock_text('get_appl_lock', 'p_object_id', p_object_id, 255, true);
    v_operator_id text := appl_lock_text('get_appl_lock', 'p_operator_id', p_operator_id, 64, true);
    v_department_id text := appl_lock_text('get_appl_lock', 'p_department_id', p_department_id, 64, false);
    v_ttl interval := make_interval(
        secs => appl_lock_number('get_appl_lock', 'p_ttl_seconds', p_ttl_seconds, 604800, 315360000)
    );
BEGIN
    FOR v_round IN 1..3 LOOP
        -- S1: held by somebody else?
        SELECT l.operator_id, l.department_id, l.expires_ts, appl_lock_seconds_left(l.expires_ts)
        INTO p_old_operator_id, p_old_department_id, p_expires_ts, p_seconds_left
        FROM appl_lock AS l
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.operator_id <> v_operator_id
            AND l.expires_ts > clock_timestamp();
        IF FOUND THEN
            p_lock_fl := 'N';
            p_outcome := 'HELD';
            p_fence := 0;
            RETURN;
        END IF;

        -- S2: take or renew. All that depends on an existing row is computed in DO UPDATE, that is
        -- under its lock: a value from before the wait could be smaller than a later grant's, or another
        -- grant's.
        INSERT INTO appl_lock AS l (
            object_type,
            object_id,
            operator_id,
            department_id,
            fence,
            acquired_ts,
            lock_ts,
            expires_ts
        )
        SELECT
            v_object_type,
            v_object_id,
            v_operator_id,
            v_department_id,
            (extract(epoch FROM t.now_ts) * 1000000)::bigint,
            t.now_ts,
            t.now_ts,
            t.now_ts + v_ttl
        FROM (SELECT clock_timestamp() AS now_ts) AS t
        ON CONFLICT ON CONSTRAINT appl_lock_pk DO UPDATE
        SET operator_id = excluded.operator_id,
            (department_id, fence, acquired_ts, lock_ts, expires_ts) = (
                SELECT
                    CASE
                        WHEN r.renews AND p_department_id IS NULL THEN l.department_id
                        ELSE excluded.department_id
                    END,
                    CASE
                        WHEN r.renews THEN l.fence
                        ELSE greatest(l.fence + 1, (extract(epoch FROM t.now_ts) * 1000000)::bigint)
                    END,
                    CASE WHEN r.renews THEN l.acquired_ts ELSE t.now_ts END,
                    -- Later than acquired_ts in every renewal, whatever the clock does: so the row
                    -- itself tells RENEWED from ACQUIRED.
                    CASE
                        WHEN r.renews THEN greatest(t.now_ts, l.acquired_ts + interval '1 microsecond')
                        ELSE t.now_ts
                    END,
                    t.now_ts + CASE
                        WHEN r.renews AND p_ttl_seconds IS NULL THEN appl_lock_ttl(l.lock_ts, l.expires_ts)
                        ELSE v_ttl
                    END
                FROM (SELECT clock_timestamp() AS now_ts) AS t
                CROSS JOIN LATERAL (
                    SELECT l.operator_id = excluded.operator_id AND l.expires_ts > t.now_ts AS renews
                ) AS r
            )
        WHERE l.operator_id = excluded.operator_id
            OR l.expires_ts <= clock_timestamp()
        RETURNING
            CASE WHEN l.lock_ts = l.acquired_ts THEN 'ACQUIRED' ELSE 'RENEWED' END,
            l.fence,
            l.expires_ts,
            coalesce(p_ttl_seconds, appl_lock_seconds_left(l.expires_ts))
        INTO p_outcome, p_fence, p_expires_ts, p_seconds_left;
        IF FOUND THEN
            p_lock_fl := 'Y';
            p_old_operator_id := '';
            p_old_department_id := '';
            RETURN;
        END IF;
    END LOOP;
    RAISE EXCEPTION USING
        ERRCODE = 'LK003',
        MESSAGE = format('get_appl_lock: %s:%s changed hands during the call; call again', v_object_type, v_object_id);
END
$$;

CREATE OR REPLACE PROCEDURE get_appl_lock(
    IN p_object_type text,
    IN p_object_id text,
    IN p_operator_id text,
    IN p_department_id text,
    IN p_ttl_seconds bigint,
    INOUT p_lock_fl character(1) DEFAULT NULL,
    INOUT p_outcome text DEFAULT NULL,
    INOUT p_old_operator_id text DEFAULT NULL,
    INOUT p_old_department_id text DEFAULT NULL,
    INOUT p_fence bigint DEFAULT NULL,
    INOUT p_expires_ts timestamptz DEFAULT NULL,
    INOUT p_seconds_left bigint DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT r.p_lock_fl, r.p_outcome, r.p_old_operator_id, r.p_old_department_id, r.p_fence, r.p_expires_ts, r.p_seconds_left
    INTO p_lock_fl, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_expires_ts, p_seconds_left
    FROM get_appl_lock_row(p_object_type, p_object_id, p_operator_id, p_department_id, p_ttl_seconds) AS r;
END
$$;

COMMENT ON FUNCTION get_appl_lock_row(text, text, text, text, bigint) IS
    'Take or renew the lock on an object for one operator until it expires; the answer is one row.';
COMMENT ON PROCEDURE get_appl_lock(text, text, text, text, bigint, character, text, text, text, bigint, timestamptz, bigint) IS
    'Take or renew the lock on an object for one operator until it expires.';

REVOKE ALL ON FUNCTION get_appl_lock_row(text, text, text, text, bigint) FROM PUBLIC;
REVOKE ALL ON PROCEDURE get_appl_lock(text, text, text, text, bigint, character, text, text, text, bigint, timestamptz, bigint) FROM PUBLIC;
