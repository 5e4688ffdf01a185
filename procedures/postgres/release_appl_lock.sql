-- release_appl_lock: end the grant that an operator holds on an object.
--
-- Contract   Y RELEASED: the operator held it (this very grant, if p_fence is given); it is free now.
--            Y FREE: nobody holds it; nothing changed.
--            N HELD: another operator, or another grant than p_fence, holds it; p_old_* tell who.
--            When somebody waits for the object, a notification on the channel SCHEMA_appl_lock names it as
--            type:id once the release is committed. It is a hint, which may come late, needlessly or not at all. One before
--            it names, behind a colon, the client of whoever has waited longest, which is to ask first.
--            A release by another actor than the operator, or with a reason, is an event of the history: RELEASED. So is any
--            where the type's policy had the history told ALL when the operator last called get.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64;
--            p_fence 1 or greater, NULL = whichever grant; p_actor_id 1..64, NULL = p_operator_id; p_reason 0..255, NULL =
--            empty. Trailing blanks are trimmed first.
-- Out        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD).
-- Raises     LK001 invalid argument. LK003 when the object changed hands thirty times during the call.
--            55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has them. A
--            transaction that has notified cannot be prepared for a two-phase commit (0A000).
-- Locks      S1 locks the object's one row if this grant is live, and decides; held to the end of the caller's
--            transaction. Another's row it neither locks nor waits for. S2 reads without a lock and answers HELD and
--            FREE. A notification takes its turn with all others at commit, and so is sent only when somebody waits.
-- Race-free  Release against take-over, renewal or transfer: S1 names operator, fence and expiry
--            and is judged on the row as it is once it is locked; a later grant never matches.
--            Two releases: the second finds the row expired and answers FREE.
--            A grant of this operator that S1 could not see and S2 does begins again.
--            A get that has not committed yet is not there yet: FREE, as for every reader.
--            A waiter that S1 cannot see yet is not notified: it must look again after it is listed.
--            REPEATABLE READ and SERIALIZABLE: S1 on a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION release_appl_lock_row(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_fence bigint,
    p_actor_id text,
    p_reason text
)
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
    v_holds boolean;
    v_round integer;
    v_history_fl boolean;
BEGIN
    LOOP
        -- S1: end this grant, which whoever names it has named well, for good: however far the clock is set back, it does
        -- not come to life again. Does anybody wait? That lock_ts lies behind the end tells from now on that the grant has
        -- not just expired, and since when the object is free.
        UPDATE appl_lock AS l
        SET lock_ts = greatest(clock_timestamp(), l.lock_ts),
            expires_ts = 'epoch'
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
            AND l.operator_id = p_operator_id
            AND l.fence = coalesce(p_fence, l.fence)
            AND l.expires_ts > clock_timestamp()
        RETURNING EXISTS (
            SELECT
            FROM appl_lock_waiter AS w
            WHERE w.object_type = p_object_type
                AND w.object_id = p_object_id
                AND w.expires_ts > clock_timestamp()
        ), l.history_fl
        INTO v_awaited, v_history_fl;
        IF FOUND THEN
            IF v_awaited THEN
                -- The first in line is named first. The bound keeps a long line cheap; the cast cuts off what is too long for
                -- a channel.
                PERFORM
                    pg_notify(f.channel, ':' || f.client_id),
                    pg_notify(f.channel, p_object_type || ':' || p_object_id)
                FROM (
                    SELECT a.client_id, (current_schema() || '_appl_lock')::name::text AS channel
                    FROM (
                        SELECT w.client_id, w.since_ts
                        FROM appl_lock_waiter AS w
                        WHERE w.object_type = p_object_type
                            AND w.object_id = p_object_id
                            AND w.expires_ts > clock_timestamp()
                        LIMIT 100
                    ) AS a
                    ORDER BY a.since_ts
                    LIMIT 1
                ) AS f;
            END IF;
            IF v_history_fl OR p_actor_id IS NOT NULL OR p_reason IS NOT NULL THEN
                v_actor_id := appl_lock_text('release_appl_lock', 'p_actor_id', coalesce(p_actor_id, p_operator_id), 64, true);
                v_reason := appl_lock_text('release_appl_lock', 'p_reason', p_reason, 255, false);
                IF v_history_fl OR v_actor_id <> p_operator_id OR v_reason <> '' THEN
                    PERFORM appl_lock_record(
                        'RELEASED', p_object_type, p_object_id, v_actor_id,
                        l.operator_id, l.department_id, l.fence, '', '', 0, v_reason
                    )
                    FROM appl_lock AS l
                    WHERE l.object_type = p_object_type
                        AND l.object_id = p_object_id;
                END IF;
            END IF;
            RETURN ROW('Y', 'RELEASED', '', '')::release_appl_lock_answer;
        END IF;

        -- Blanks at the end, which are rare, name no grant.
        IF (p_object_type NOT LIKE '% ' AND p_object_id NOT LIKE '% ' AND p_operator_id NOT LIKE '% ') IS NOT TRUE THEN
            p_object_type := appl_lock_text('release_appl_lock', 'p_object_type', p_object_type, 64, true);
            p_object_id := appl_lock_text('release_appl_lock', 'p_object_id', p_object_id, 255, true);
            p_operator_id := appl_lock_text('release_appl_lock', 'p_operator_id', p_operator_id, 64, true);
            CONTINUE;
        END IF;
        -- One expression, because each costs. What is wrong the checks say themselves.
        IF (
            char_length(p_object_type) BETWEEN 1 AND 64
            AND position(':' IN p_object_type) = 0
            AND char_length(p_object_id) BETWEEN 1 AND 255
            AND char_length(p_operator_id) BETWEEN 1 AND 64
            AND coalesce(p_fence, 1) >= 1
            AND coalesce(p_actor_id, p_reason) IS NULL
        ) IS NOT TRUE THEN
            PERFORM appl_lock_text('release_appl_lock', 'p_object_type', p_object_type, 64, true);
            PERFORM appl_lock_text('release_appl_lock', 'p_object_id', p_object_id, 255, true);
            PERFORM appl_lock_text('release_appl_lock', 'p_operator_id', p_operator_id, 64, true);
            PERFORM appl_lock_number('release_appl_lock', 'p_fence', p_fence, 1, 9223372036854775807);
            PERFORM appl_lock_text('release_appl_lock', 'p_actor_id', p_actor_id, 64, p_actor_id IS NOT NULL);
            PERFORM appl_lock_text('release_appl_lock', 'p_reason', p_reason, 255, false);
        END IF;

        -- S2: why not?
        SELECT l.operator_id, l.department_id, l.operator_id = p_operator_id AND l.fence = coalesce(p_fence, l.fence)
        INTO v_holder_id, v_holder_department_id, v_holds
        FROM appl_lock AS l
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
            AND l.expires_ts > clock_timestamp();
        IF NOT FOUND THEN
            RETURN ROW('Y', 'FREE', '', '')::release_appl_lock_answer;
        END IF;
        IF NOT v_holds THEN
            RETURN ROW('N', 'HELD', v_holder_id, v_holder_department_id)::release_appl_lock_answer;
        END IF;
        v_round := coalesce(v_round, 0) + 1;
        EXIT WHEN v_round = 30;
    END LOOP;
    RAISE EXCEPTION USING
        ERRCODE = 'LK003',
        MESSAGE = format('release_appl_lock: %s:%s changed hands during the call; call again', p_object_type, p_object_id);
END
$$;

CREATE OR REPLACE PROCEDURE release_appl_lock(
    IN p_object_type text,
    IN p_object_id text,
    IN p_operator_id text,
    IN p_fence bigint,
    IN p_actor_id text,
    IN p_reason text,
    INOUT p_return_cd character(1) DEFAULT NULL,
    INOUT p_outcome text DEFAULT NULL,
    INOUT p_old_operator_id text DEFAULT NULL,
    INOUT p_old_department_id text DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT r.p_return_cd, r.p_outcome, r.p_old_operator_id, r.p_old_department_id
    INTO p_return_cd, p_outcome, p_old_operator_id, p_old_department_id
    FROM release_appl_lock_row(p_object_type, p_object_id, p_operator_id, p_fence, p_actor_id, p_reason) AS r;
END
$$;

COMMENT ON FUNCTION release_appl_lock_row(text, text, text, bigint, text, text) IS
    'End the grant that an operator holds on an object; the answer is one row.';
COMMENT ON PROCEDURE release_appl_lock(text, text, text, bigint, text, text, character, text, text, text) IS
    'End the grant that an operator holds on an object.';

REVOKE ALL ON FUNCTION release_appl_lock_row(text, text, text, bigint, text, text) FROM PUBLIC;
REVOKE ALL ON PROCEDURE release_appl_lock(text, text, text, bigint, text, text, character, text, text, text) FROM PUBLIC;
