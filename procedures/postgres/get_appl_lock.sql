-- get_appl_lock: take or renew the lock on an object for one operator until it expires.
--
-- Contract   Y ACQUIRED: the object was free or its lock had expired; a new grant, a greater fence.
--            Y RENEWED: this operator holds it; same grant and fence, expires_ts = now + ttl. What is NULL of
--            p_department_id and p_ttl_seconds stays as the grant has it.
--            N HELD: another operator holds it; p_old_*, p_expires_ts and p_note tell who, until when and why.
--            ACQUIRED from another operator, whose lock had expired and had not been released, is an event of the history:
--            OVERTAKEN. Where the policy of the type has the history told ALL, so are a new grant, ACQUIRED, a renewal, RENEWED,
--            and a refusal, REFUSED; the last one goes by the policy of when the holder last called get.
--            The policy of the type, if it has one, has the ttl of a new grant for which none is given, and the greatest ttl:
--            a greater one is cut to it, also in a renewal, as p_expires_ts and p_seconds_left tell.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64;
--            p_department_id 0..64, NULL = the grant's in a renewal, else empty; p_ttl_seconds 1..315360000,
--            NULL = the grant's in a renewal, else the policy's, else 604800 (7 days). Trailing blanks are trimmed first.
-- Out        p_lock_fl, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD),
--            p_fence (0 when HELD), p_expires_ts, p_seconds_left (from now to p_expires_ts), p_note (the holder's when
--            HELD, the grant's own when RENEWED, empty in a new grant).
-- Raises     LK001 invalid argument. LK003 when the object changed hands thirty times during the call.
--            55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has them.
-- Locks      S1 reads without a lock and answers HELD; S1b reads without a lock. S2 locks the object's one row and
--            decides; held to the end of the caller's transaction (also when S2b or S2c loses its race: a HELD that S1
--            finds after it had to wait leaves the row locked until then).
-- Race-free  Nothing is granted on S1's word: each S2 names what S1 has seen, and is judged on the row as it is once it
--            is locked. What has changed since S1 is looked at again, and S1 is a new snapshot each time.
--            Free object, two callers: both reach S2a, the primary key lets one insert; the other waits and
--            finds the winner's row.
--            Expired row, two callers: S2b locks the row; for the second one its fence is another.
--            Release while S2 waits: the row expires at a time after S1's, so S2b passes it over and S1 looks again. So a
--            grant never begins before the former one's end. So, too, an event names the grant that S2b has ended.
--            Renewal or release while S2c waits: what a NULL keeps is read under the row lock, and so is whether it has
--            expired by then.
--            S2 waits, and what it waited for leaves the row as it was, or renewed: S3 has the lock last from the end of
--            the wait.
--            Killed before commit: the row goes back to what it was, and the waiter goes on.
--            REPEATABLE READ and SERIALIZABLE: S2 on a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION get_appl_lock_row(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_department_id text,
    p_ttl_seconds bigint
)
-- A named row, because OUT parameters are described anew in each call.
RETURNS get_appl_lock_answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    v_holder_id text;
    v_holder_department_id text;
    v_fence bigint;
    v_expired boolean;
    v_expires_ts timestamptz;
    v_note text;
    v_now_ts timestamptz;
    v_renewed boolean;
    v_new_fence bigint;
    v_seconds_left bigint;
    v_ttl_seconds bigint;
    v_longest_ttl_seconds bigint;
    v_history_fl boolean;
    v_history_level varchar(8);
    v_overtaken boolean;
    v_round integer;
BEGIN
    -- One expression, because each costs, and each operator in it. Blanks at the end are rare, and what is wrong the checks
    -- say themselves.
    IF (
        p_operator_id NOT LIKE '% '
        AND coalesce(p_department_id, '') NOT LIKE '% '
        AND char_length(p_operator_id) BETWEEN 1 AND 64
        AND coalesce(char_length(p_department_id), 0) <= 64
        AND coalesce(p_ttl_seconds, 1) BETWEEN 1 AND 315360000
    ) IS NOT TRUE THEN
        p_object_type := appl_lock_text('get_appl_lock', 'p_object_type', p_object_type, 64, true);
        p_object_id := appl_lock_text('get_appl_lock', 'p_object_id', p_object_id, 255, true);
        p_operator_id := appl_lock_text('get_appl_lock', 'p_operator_id', p_operator_id, 64, true);
        IF p_department_id IS NOT NULL THEN
            p_department_id := appl_lock_text('get_appl_lock', 'p_department_id', p_department_id, 64, false);
        END IF;
        PERFORM appl_lock_number('get_appl_lock', 'p_ttl_seconds', p_ttl_seconds, 604800, 315360000);
    END IF;
    LOOP
        -- S1: what is there, and when was that? A release puts lock_ts behind expires_ts.
        SELECT l.operator_id, l.department_id, l.fence, l.lock_ts < l.expires_ts, l.expires_ts, l.note, l.history_fl,
            clock_timestamp()
        INTO v_holder_id, v_holder_department_id, v_fence, v_expired, v_expires_ts, v_note, v_history_fl, v_now_ts
        FROM appl_lock AS l
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id;
        IF v_expires_ts > v_now_ts AND v_holder_id <> p_operator_id THEN
            IF v_history_fl THEN
                PERFORM appl_lock_record(
                    'REFUSED', p_object_type, p_object_id, p_operator_id,
                    v_holder_id, v_holder_department_id, v_fence, v_holder_id, v_holder_department_id, v_fence, ''
                );
            END IF;
            RETURN ROW(
                'N', 'HELD', v_holder_id, v_holder_department_id, 0,
                v_expires_ts, appl_lock_seconds_left(v_expires_ts), v_note
            )::get_appl_lock_answer;
        END IF;

        -- S1b: what is laid down for the type? A statement of its own costs less than a subquery in each S2.
        SELECT least(coalesce(p_ttl_seconds, p.default_ttl_seconds, 604800), p.longest_ttl_seconds), p.longest_ttl_seconds,
            p.history_level
        INTO v_ttl_seconds, v_longest_ttl_seconds, v_history_level
        FROM appl_lock_policy AS p
        WHERE p.object_type = p_object_type;
        IF v_fence IS NULL THEN
            -- Whoever names a row that is there has named its type and id well. Blanks at the end name none.
            IF (
                p_object_type NOT LIKE '% '
                AND p_object_id NOT LIKE '% '
                AND char_length(p_object_type) BETWEEN 1 AND 64
                AND position(':' IN p_object_type) = 0
                AND char_length(p_object_id) BETWEEN 1 AND 255
            ) IS NOT TRUE THEN
                p_object_type := appl_lock_text('get_appl_lock', 'p_object_type', p_object_type, 64, true);
                p_object_id := appl_lock_text('get_appl_lock', 'p_object_id', p_object_id, 255, true);
                CONTINUE;
            END IF;
            -- S2a: take what has no row.
            v_now_ts := clock_timestamp();
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
            VALUES (
                p_object_type,
                p_object_id,
                p_operator_id,
                coalesce(p_department_id, ''),
                (extract(epoch FROM v_now_ts) * 1000000)::bigint,
                v_now_ts,
                v_now_ts,
                v_now_ts + make_interval(secs => coalesce(v_ttl_seconds, p_ttl_seconds, 604800))
            )
            ON CONFLICT ON CONSTRAINT appl_lock_pk DO NOTHING
            RETURNING l.fence, l.expires_ts
            INTO v_new_fence, v_expires_ts;
        ELSIF v_expires_ts <= v_now_ts THEN
            -- S2b: take what was free at S1, and is unchanged since: whatever happens to a row makes it expire
            -- later than that.
            UPDATE appl_lock AS l
            SET operator_id = p_operator_id,
                department_id = coalesce(p_department_id, ''),
                fence = greatest(l.fence + 1, (extract(epoch FROM v_now_ts) * 1000000)::bigint),
                acquired_ts = v_now_ts,
                lock_ts = v_now_ts,
                expires_ts = v_now_ts + make_interval(secs => coalesce(v_ttl_seconds, p_ttl_seconds, 604800)),
                note = ''
            WHERE l.object_type = p_object_type
                AND l.object_id = p_object_id
                AND l.fence = v_fence
                AND l.expires_ts = v_expires_ts
            RETURNING l.fence, l.expires_ts
            INTO v_new_fence, v_expires_ts;
            IF v_expired AND FOUND AND v_holder_id <> p_operator_id THEN
                PERFORM appl_lock_record(
                    'OVERTAKEN', p_object_type, p_object_id, p_operator_id,
                    v_holder_id, v_holder_department_id, v_fence, p_operator_id, coalesce(p_department_id, ''), v_new_fence, ''
                );
                v_overtaken := true;
            END IF;
        ELSE
            -- S2c: renew. What depends on the row is computed under its lock.
            UPDATE appl_lock AS l
            SET department_id = coalesce(p_department_id, l.department_id),
                -- Later than acquired_ts, whatever the clock does: so the row itself tells who has renewed.
                lock_ts = greatest(v_now_ts, l.acquired_ts + interval '1 microsecond'),
                expires_ts = v_now_ts + CASE
                    WHEN p_ttl_seconds IS NULL
                        THEN least(appl_lock_ttl(l.lock_ts, l.expires_ts), make_interval(secs => v_longest_ttl_seconds))
                    ELSE make_interval(secs => coalesce(v_ttl_seconds, p_ttl_seconds, 604800))
                END
            WHERE l.object_type = p_object_type
                AND l.object_id = p_object_id
                AND l.operator_id = p_operator_id
                AND l.expires_ts > clock_timestamp()
            RETURNING true, l.fence, l.expires_ts,
                CASE
                    WHEN p_ttl_seconds IS NULL THEN appl_lock_seconds_left(l.expires_ts)
                    ELSE coalesce(v_ttl_seconds, p_ttl_seconds)
                END, l.note
            INTO v_renewed, v_new_fence, v_expires_ts, v_seconds_left, v_note;
        END IF;
        IF FOUND THEN
            -- One expression for what is rare, because each costs, and an operator in it much.
            IF v_history_level IS NOT NULL OR v_history_fl OR clock_timestamp() > v_now_ts + interval '100 milliseconds' THEN
                IF clock_timestamp() > v_now_ts + interval '100 milliseconds' THEN
                    -- S3: S2 has waited, and its times are those from before.
                    UPDATE appl_lock AS l
                    SET acquired_ts = CASE WHEN v_renewed THEN l.acquired_ts ELSE t.now_ts END,
                        lock_ts = t.now_ts,
                        expires_ts = l.expires_ts + (t.now_ts - l.lock_ts)
                    FROM (
                        SELECT greatest(clock_timestamp(), o.lock_ts) AS now_ts
                        FROM appl_lock AS o
                        WHERE o.object_type = p_object_type
                            AND o.object_id = p_object_id
                    ) AS t
                    WHERE l.object_type = p_object_type
                        AND l.object_id = p_object_id
                    RETURNING l.expires_ts, appl_lock_seconds_left(l.expires_ts)
                    INTO v_expires_ts, v_seconds_left;
                END IF;
                -- S4: is the history to be told of this grant from now on?
                UPDATE appl_lock AS l
                SET history_fl = NOT l.history_fl
                WHERE l.object_type = p_object_type
                    AND l.object_id = p_object_id
                    AND l.history_fl <> (coalesce(v_history_level, '') = 'ALL');
                IF v_history_level = 'ALL' AND v_overtaken IS NOT TRUE THEN
                    PERFORM appl_lock_record(
                        CASE WHEN v_renewed THEN 'RENEWED' ELSE 'ACQUIRED' END, p_object_type, p_object_id, p_operator_id,
                        CASE WHEN v_renewed THEN l.operator_id ELSE '' END,
                        CASE WHEN v_renewed THEN l.department_id ELSE '' END,
                        CASE WHEN v_renewed THEN l.fence ELSE 0 END,
                        l.operator_id, l.department_id, l.fence, ''
                    )
                    FROM appl_lock AS l
                    WHERE l.object_type = p_object_type
                        AND l.object_id = p_object_id;
                END IF;
            END IF;
            RETURN ROW(
                'Y', CASE WHEN v_renewed THEN 'RENEWED' ELSE 'ACQUIRED' END, '', '', v_new_fence,
                v_expires_ts, coalesce(v_seconds_left, v_ttl_seconds, p_ttl_seconds, 604800),
                CASE WHEN v_renewed THEN v_note ELSE '' END
            )::get_appl_lock_answer;
        END IF;
        v_round := coalesce(v_round, 0) + 1;
        EXIT WHEN v_round = 30;
    END LOOP;
    RAISE EXCEPTION USING
        ERRCODE = 'LK003',
        MESSAGE = format('get_appl_lock: %s:%s changed hands during the call; call again', p_object_type, p_object_id);
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
    INOUT p_seconds_left bigint DEFAULT NULL,
    INOUT p_note text DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT
        r.p_lock_fl,
        r.p_outcome,
        r.p_old_operator_id,
        r.p_old_department_id,
        r.p_fence,
        r.p_expires_ts,
        r.p_seconds_left,
        r.p_note
    INTO p_lock_fl, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_expires_ts, p_seconds_left, p_note
    FROM get_appl_lock_row(p_object_type, p_object_id, p_operator_id, p_department_id, p_ttl_seconds) AS r;
END
$$;

COMMENT ON FUNCTION get_appl_lock_row(text, text, text, text, bigint) IS
    'Take or renew the lock on an object for one operator until it expires; the answer is one row.';
COMMENT ON PROCEDURE get_appl_lock(text, text, text, text, bigint, character, text, text, text, bigint, timestamptz, bigint, text) IS
    'Take or renew the lock on an object for one operator until it expires.';

REVOKE ALL ON FUNCTION get_appl_lock_row(text, text, text, text, bigint) FROM PUBLIC;
REVOKE ALL ON PROCEDURE get_appl_lock(text, text, text, text, bigint, character, text, text, text, bigint, timestamptz, bigint, text) FROM PUBLIC;
