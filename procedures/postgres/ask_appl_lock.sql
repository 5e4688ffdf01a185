-- ask_appl_lock: ask an object's holder for it, with a message, or keep the request listed.
--
-- Contract   Y ASKED: the request is listed for 60 s, but not longer than p_wait_seconds, and the holder finds it in its inbox.
--            Each further call keeps it listed, since the first one. The holder is in p_old_*, p_acquired_ts and p_expires_ts.
--            Y GIVEN: the holder has neither renewed, edited (see_appl_lock) nor answered for as long as the type's policy
--            allows. The caller holds the object now, as after the GIVE of answer_appl_lock; p_old_operator_id held it.
--            Y WITHDRAWN: p_wait_seconds was 0, and the request is gone, if there was one.
--            N FREE: nobody holds the object. N OWN: the operator holds it itself. Both remove its request.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255; p_department_id 0..64, NULL =
--            empty; p_client_id 1..64, the asking program, under a name that no other program has; p_message 0..255, NULL =
--            empty; p_wait_seconds until it gives up, 0..315360000, NULL = never. Trailing blanks are trimmed first.
-- Out        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id (empty unless ASKED or GIVEN), p_fence (0 unless GIVEN),
--            p_acquired_ts, p_expires_ts (NULL when FREE or WITHDRAWN), p_seconds_left (0 then).
-- Raises     LK001 invalid argument; LK003 as appl_lock_move. 55P03 after 1 s of waiting for another transaction, 40001 and 40P01
--            as the engine has them.
-- Locks      S2 or S4 inserts, changes or deletes the request's one row; held to the end of the caller's transaction. If the
--            caller gets the object, S3 locks it as appl_lock_move. A request delays no waiting program.
-- Race-free  Two calls: the primary key lets one insert; the other waits, then judges that row anew. Each renewal restarts the
--            holder's time to answer: S3 names the lock_ts that S1 has read, so a renewal in between keeps the lock. Of two
--            askers one gets it. An answer and an ask lock the request's row first and the lock's row second. Other requests of
--            the operator are skipped where another transaction has locked them; their next call removes them.
--            REPEATABLE READ and SERIALIZABLE: a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION ask_appl_lock_row(...)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
-- Force the primary key, whatever the statistics say. For the same reason operator_id || '' matches no index.
SET enable_seqscan = 'off'
SET enable_bitmapscan = 'off'
AS $$
DECLARE
    v_object_type text := appl_lock_text('ask_appl_lock', 'p_object_type', p_object_type, 64, true);
    v_object_id text := appl_lock_text('ask_appl_lock', 'p_object_id', p_object_id, 255, true);
    v_operator_id text := appl_lock_text('ask_appl_lock', 'p_operator_id', p_operator_id, 255, true);
    v_department_id text := appl_lock_text('ask_appl_lock', 'p_department_id', p_department_id, 64, false);
    v_client_id text := appl_lock_text('ask_appl_lock', 'p_client_id', p_client_id, 64, true);
    v_message text := appl_lock_text('ask_appl_lock', 'p_message', p_message, 255, false);
    v_wait_seconds bigint := CASE
        WHEN p_wait_seconds <> 0 THEN appl_lock_number('ask_appl_lock', 'p_wait_seconds', p_wait_seconds, NULL::integer, 315360000)
        ELSE p_wait_seconds
    END;
    v_now timestamptz := clock_timestamp();
    v_until timestamptz := v_now + pg_catalog.make_interval(secs => v_wait_seconds);
    v_lock record;
    v_asked record;
    v_moved record;
BEGIN
    p_ok_fl := 'N';
    p_outcome := 'FREE';
    p_old_operator_id := '';
    p_old_department_id := '';
    p_fence := 0;
    p_seconds_left := 0;
    -- S1: who holds it, and how long may the holder leave a request unanswered?
    SELECT
        l.operator_id,
        l.department_id,
        l.fence,
        l.acquired_ts,
        l.lock_ts,
        l.expires_ts,
        -- A lock of less than an hour is a program's lease, with nobody there to answer.
        CASE WHEN l.ttl_seconds >= 3600 THEN pg_catalog.make_interval(secs => p.yield_after_seconds) END AS patience
    INTO v_lock
    FROM appl_lock AS l
    LEFT JOIN appl_lock_policy AS p
        ON p.object_type::text = l.object_type::text
    WHERE l.object_type::text = v_object_type
        AND l.object_id::text = v_object_id
        AND l.released_ts IS NULL
        AND l.expires_ts > v_now;

    IF coalesce(v_wait_seconds, 1) > 0 AND v_lock.operator_id::text <> v_operator_id THEN
        -- S2: a new request, or the one that goes on. It begins anew with another holder, grant or message.
        INSERT INTO appl_lock_ask AS a (
            object_type,
            object_id,
            operator_id,
            department_id,
            client_id,
            message,
            since_ts,
            until_ts,
            expires_ts,
            holder_id,
            fence,
            answer,
            answer_reason
        )
        VALUES (
            v_object_type,
            v_object_id,
            v_operator_id,
            v_department_id,
            v_client_id,
            v_message,
            v_now,
            v_until,
            least(v_now + interval '60 seconds', v_until),
            v_lock.operator_id,
            v_lock.fence,
            '',
            ''
        )
        ON CONFLICT ON CONSTRAINT appl_lock_ask_pk DO UPDATE
        SET department_id = excluded.department_id,
            message = excluded.message,
            until_ts = excluded.until_ts,
            expires_ts = excluded.expires_ts,
            holder_id = excluded.holder_id,
            fence = excluded.fence,
            since_ts = CASE WHEN a.expires_ts > clock_timestamp() THEN a.since_ts ELSE excluded.since_ts END,
            (shown_ts, answer, answer_reason, answered_ts, edited_ts) = (
                SELECT
                    CASE WHEN s.same THEN a.shown_ts END,
                    CASE WHEN s.same THEN a.answer ELSE '' END,
                    CASE WHEN s.same THEN a.answer_reason ELSE '' END,
                    CASE WHEN s.same THEN a.answered_ts END,
                    CASE WHEN s.same THEN a.edited_ts END
                FROM (
                    SELECT a.expires_ts > clock_timestamp() AND a.fence = excluded.fence AND a.message::text = excluded.message::text AS same
                ) AS s
            )
        RETURNING a.shown_ts, a.answered_ts, a.edited_ts
        INTO v_asked;
        p_ok_fl := 'Y';
        p_outcome := 'ASKED';
        p_old_operator_id := v_lock.operator_id;
        p_old_department_id := v_lock.department_id;
        p_acquired_ts := v_lock.acquired_ts;
        p_expires_ts := v_lock.expires_ts;
        p_seconds_left := appl_lock_seconds_left(v_lock.expires_ts);
        IF v_asked.shown_ts IS NOT NULL
            AND greatest(v_asked.shown_ts, v_asked.answered_ts, v_asked.edited_ts, v_lock.lock_ts) + v_lock.patience <= v_now
        THEN
            -- S3: the holder's time to answer is over.
            v_moved := appl_lock_move(
                'ask_appl_lock', 'YIELDED', v_object_type, v_object_id, v_lock.operator_id::text, v_lock.fence,
                v_operator_id, v_department_id, NULL::bigint, v_operator_id,
                pg_catalog.format('no answer for %s s', extract(epoch FROM v_lock.patience)::bigint), v_lock.lock_ts, 60::bigint
            );
            IF v_moved.p_ok_fl = 'Y' THEN
                p_outcome := 'GIVEN';
                p_fence := v_moved.p_fence;
                p_acquired_ts := v_moved.p_acquired_ts;
                p_expires_ts := v_moved.p_expires_ts;
                p_seconds_left := v_moved.p_seconds_left;
                DELETE FROM appl_lock_ask AS a
                WHERE a.ctid = ANY (ARRAY(
                        SELECT s.ctid
                        FROM appl_lock_ask AS s
                        WHERE s.object_type::text = v_object_type
                            AND s.object_id::text = v_object_id
                            AND s.operator_id::text || '' = v_operator_id
                        FOR UPDATE SKIP LOCKED
                    ));
            END IF;
        END IF;
        RETURN;
    END IF;

    -- S4: there is nothing to ask for.
    DELETE FROM appl_lock_ask AS a
    WHERE a.object_type::text = v_object_type
        AND a.object_id::text = v_object_id
        AND a.operator_id::text || '' = v_operator_id
        AND a.client_id::text = v_client_id;
    IF v_wait_seconds = 0 THEN
        p_ok_fl := 'Y';
        p_outcome := 'WITHDRAWN';
    ELSIF v_lock.operator_id::text = v_operator_id THEN
        p_outcome := 'OWN';
        p_acquired_ts := v_lock.acquired_ts;
        p_expires_ts := v_lock.expires_ts;
        p_seconds_left := appl_lock_seconds_left(v_lock.expires_ts);
    END IF;
END
$$;
