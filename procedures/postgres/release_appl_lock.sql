-- release_appl_lock: end the grant that an operator holds on an object.
--
-- Contract   Y RELEASED: the operator held it (this very grant, if p_fence is given); it is free now, and its note is cleared.
--            Y FREE: nobody holds it. If the operator's own grant had expired, it is marked as released.
--            N HELD: another operator, or another grant than p_fence, holds it; p_old_* tell who.
--            If somebody waits, the commit sends two notifications on the channel SCHEMA_appl_lock. The first is a colon and
--            the client that has waited longest, which is to try first. The second is the object as type:id. They are hints,
--            which may come late, needlessly or not at all.
--            A release by another actor, or with a reason, is an event, RELEASED. So is each release, also of an expired grant, if history was
--            ALL at the operator's last get.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255;
--            p_fence 1 or greater, NULL = any grant; p_actor_id 1..255, NULL = p_operator_id; p_reason 0..255, NULL = empty.
--            Trailing blanks are trimmed first.
-- Out        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD).
-- Raises     LK001 invalid argument. LK003 when the object changed thirty times during the call.
--            55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has them. A
--            transaction that has notified cannot be prepared for a two-phase commit (0A000).
-- Locks      S1 locks the object's row if it has this grant, to the end of the caller's transaction. It neither locks nor waits
--            for another operator's row. S2 reads without a lock and answers HELD and FREE. S3 locks the row of an expired grant,
--            and waits for a call that takes it over.
--            Notifications take their turn at commit.
-- Race-free  S1 reads, decides and writes in one statement that names the grant: a later grant never matches.
--            Two releases: the second finds the row released and answers FREE.
--            If S2 sees a grant of this operator that S1 missed, or that changed while S1 or S3 waited, the call begins again. So FREE
--            ends an expired grant for good: a renewal that was in time is there by then, and no later one finds it. An
--            uncommitted get is invisible: FREE, as for every reader.
--            A waiter that S1 cannot see yet is not notified: it must look again after it is listed.
--            REPEATABLE READ and SERIALIZABLE: S1 or S3 on a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION release_appl_lock_row(...)
-- A named row, because OUT parameters are described anew in each call.
RETURNS release_appl_lock_answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    v_actor_id text;
    v_reason text;
    v_awaited boolean;
    v_holder_id text;
    v_holder_department_id text;
    v_fence bigint;
    v_holds boolean;
    v_live boolean;
    v_released boolean;
    v_round integer;
    v_history_fl boolean;
BEGIN
    LOOP
        -- S1: end this grant. A match proves the arguments valid. Does anybody wait? While another session holds an old
        -- snapshot, all versions of a row stay: the newest is last in the index.
        UPDATE appl_lock AS l
        SET released_ts = clock_timestamp(), note = ''
        WHERE l.ctid = (
                SELECT k.ctid
                FROM appl_lock AS k
                WHERE k.object_type::text = p_object_type
                    AND k.object_id::text >= p_object_id
                    AND k.object_id::text <= p_object_id
                ORDER BY k.object_id DESC
                LIMIT 1
            )
            AND l.object_type::text = p_object_type
            AND l.object_id::text = p_object_id
            AND l.operator_id::text = p_operator_id
            AND l.fence = coalesce(p_fence, l.fence)
            AND l.released_ts IS NULL
            AND l.expires_ts > clock_timestamp()
        RETURNING l.department_id, l.fence, l.history_fl, EXISTS (
            SELECT
            FROM appl_lock_waiter AS w
            WHERE w.object_type::text = p_object_type
                AND w.object_id::text = p_object_id
                AND w.expires_ts > clock_timestamp()
        )
        INTO v_holder_department_id, v_fence, v_history_fl, v_awaited;
        IF FOUND THEN
            -- A pass sets applock.passing: the object is not free for others.
            IF v_awaited AND current_setting('applock.passing', true) IS DISTINCT FROM 'on' THEN
                -- The bound keeps a long line cheap; the cast cuts off what is too long for a channel.
                PERFORM
                    pg_notify(f.channel, ':' || f.client_id::text),
                    pg_notify(f.channel, p_object_type || ':' || p_object_id)
                FROM (
                    SELECT a.client_id, (current_schema()::text || '_appl_lock')::name::text AS channel
                    FROM (
                        SELECT w.client_id, w.since_ts
                        FROM appl_lock_waiter AS w
                        WHERE w.object_type::text = p_object_type
                            AND w.object_id::text = p_object_id
                            AND w.expires_ts > clock_timestamp()
                        LIMIT 100
                    ) AS a
                    ORDER BY a.since_ts
                    LIMIT 1
                ) AS f;
            END IF;
            IF v_history_fl OR p_actor_id IS NOT NULL OR p_reason IS NOT NULL THEN
                v_actor_id := appl_lock_text('release_appl_lock', 'p_actor_id', coalesce(p_actor_id, p_operator_id), 255, true);
                v_reason := appl_lock_text('release_appl_lock', 'p_reason', p_reason, 255, false);
                IF v_history_fl OR v_actor_id <> p_operator_id OR v_reason <> '' THEN
                    PERFORM appl_lock_record(
                        'RELEASED', p_object_type, p_object_id, v_actor_id,
                        p_operator_id, v_holder_department_id, v_fence, '', '', 0::bigint, v_reason
                    );
                END IF;
            END IF;
            RETURN ROW('Y', 'RELEASED', '', '')::release_appl_lock_answer;
        END IF;

        -- Arguments with trailing blanks match no grant.
        IF (p_object_type NOT LIKE '% ' AND p_object_id NOT LIKE '% ' AND p_operator_id NOT LIKE '% ') IS NOT TRUE THEN
            p_object_type := appl_lock_text('release_appl_lock', 'p_object_type', p_object_type, 64, true);
            p_object_id := appl_lock_text('release_appl_lock', 'p_object_id', p_object_id, 255, true);
            p_operator_id := appl_lock_text('release_appl_lock', 'p_operator_id', p_operator_id, 255, true);
            CONTINUE;
        END IF;
        -- Fast path: valid arguments pass in one expression. Anything else goes to the full checks, which raise LK001.
        IF (
            char_length(p_object_type) BETWEEN 1 AND 64
            AND position(':' IN p_object_type) = 0
            AND char_length(p_object_id) BETWEEN 1 AND 255
            AND char_length(p_operator_id) BETWEEN 1 AND 255
            AND p_object_type || p_object_id || p_operator_id !~ E'[\\x01-\\x1f\\x7f-\\u009f]'
            AND coalesce(p_fence, 1) >= 1
            AND coalesce(p_actor_id, p_reason) IS NULL
        ) IS NOT TRUE THEN
            PERFORM appl_lock_text('release_appl_lock', 'p_object_type', p_object_type, 64, true);
            PERFORM appl_lock_text('release_appl_lock', 'p_object_id', p_object_id, 255, true);
            PERFORM appl_lock_text('release_appl_lock', 'p_operator_id', p_operator_id, 255, true);
            PERFORM appl_lock_number('release_appl_lock', 'p_fence', p_fence, 1, NULL::integer);
            PERFORM appl_lock_text('release_appl_lock', 'p_actor_id', p_actor_id, 255, p_actor_id IS NOT NULL);
            PERFORM appl_lock_text('release_appl_lock', 'p_reason', p_reason, 255, false);
        END IF;

        -- S2: why not?
        SELECT l.operator_id, l.department_id, l.operator_id::text = p_operator_id AND l.fence = coalesce(p_fence, l.fence),
            l.released_ts IS NULL AND l.expires_ts > clock_timestamp(), l.released_ts IS NOT NULL
        INTO v_holder_id, v_holder_department_id, v_holds, v_live, v_released
        FROM appl_lock AS l
        WHERE l.object_type::text = p_object_type
            AND l.object_id::text = p_object_id;
        IF v_live IS NOT TRUE THEN
            IF v_holds AND NOT v_released THEN
                -- S3: mark the expired grant as released. A renewal that was in time may still be under way: then the call begins again.
                UPDATE appl_lock AS l
                SET released_ts = clock_timestamp(), note = ''
                WHERE l.object_type::text = p_object_type
                    AND l.object_id::text = p_object_id
                    AND l.operator_id::text = p_operator_id
                    AND l.fence = coalesce(p_fence, l.fence)
                    AND l.released_ts IS NULL
                    AND l.expires_ts <= clock_timestamp()
                RETURNING l.fence, l.history_fl
                INTO v_fence, v_history_fl;
                v_released := v_fence IS NOT NULL;
                IF v_history_fl THEN
                    PERFORM appl_lock_record(
                        'RELEASED', p_object_type, p_object_id,
                        appl_lock_text('release_appl_lock', 'p_actor_id', coalesce(p_actor_id, p_operator_id), 255, true),
                        p_operator_id, v_holder_department_id, v_fence, '', '', 0::bigint,
                        appl_lock_text('release_appl_lock', 'p_reason', p_reason, 255, false)
                    );
                END IF;
            END IF;
            IF (v_holds AND NOT v_released) IS NOT TRUE THEN
                RETURN ROW('Y', 'FREE', '', '')::release_appl_lock_answer;
            END IF;
        ELSIF NOT v_holds THEN
            RETURN ROW('N', 'HELD', v_holder_id, v_holder_department_id)::release_appl_lock_answer;
        END IF;
        v_round := coalesce(v_round, 0) + 1;
        EXIT WHEN v_round = 30;
    END LOOP;
    RAISE EXCEPTION USING
        ERRCODE = 'LK003',
        MESSAGE = pg_catalog.format('release_appl_lock: %s:%s changed hands during the call; call again', p_object_type, p_object_id);
END
$$;
