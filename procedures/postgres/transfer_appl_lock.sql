-- transfer_appl_lock: hand a held object from one operator to another.
--
-- Contract   Y TRANSFERRED: p_from held it; p_to holds it now: a new grant, a greater fence.
--            That is an event of the history, with who did it and why.
--            The greatest ttl of the type's policy, if it has one, is that of the new grant, too, as p_expires_ts tells.
--            N HELD: somebody else than p_from holds it; p_old_* and p_expires_ts tell who and until when.
--            N FREE: nobody holds it; nothing changed.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_from_operator_id and
--            p_to_operator_id 1..64, may be equal; p_to_department_id 0..64, NULL = empty;
--            p_ttl_seconds 1..315360000, NULL = that of the grant that ends; p_actor_id 1..64, NULL = p_from_operator_id;
--            p_reason 0..255, NULL = empty. Trailing blanks are trimmed first.
-- Out        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD),
--            p_fence (0 unless TRANSFERRED), p_expires_ts (NULL when FREE), p_seconds_left (from now to
--            p_expires_ts, 0 when FREE).
-- Raises     LK001 invalid argument. LK003 when the object changed hands three times during the call.
--            55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has them.
-- Locks      S1 reads without a lock and answers HELD and FREE. S2 locks the object's one row and
--            decides; held to the end of the caller's transaction.
-- Race-free  Transfer against release, take-over or another transfer: S2 names the old operator and the
--            expiry again and is judged on the row as it is once it is locked; of two transfers from
--            the same operator one wins and the other answers HELD. S2 names the fence, so that the event does. Time and fence are computed, and the
--            ttl that a NULL keeps is read, under the row lock: a renewal that went first counts.
--            REPEATABLE READ and SERIALIZABLE: a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION transfer_appl_lock_row(
    p_object_type text,
    p_object_id text,
    p_from_operator_id text,
    p_to_operator_id text,
    p_to_department_id text,
    p_ttl_seconds bigint,
    p_actor_id text,
    p_reason text,
    OUT p_return_cd character(1),
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
    v_object_type text := appl_lock_text('transfer_appl_lock', 'p_object_type', p_object_type, 64, true);
    v_object_id text := appl_lock_text('transfer_appl_lock', 'p_object_id', p_object_id, 255, true);
    v_from_operator_id text := appl_lock_text('transfer_appl_lock', 'p_from_operator_id', p_from_operator_id, 64, true);
    v_to_operator_id text := appl_lock_text('transfer_appl_lock', 'p_to_operator_id', p_to_operator_id, 64, true);
    v_to_department_id text := appl_lock_text('transfer_appl_lock', 'p_to_department_id', p_to_department_id, 64, false);
    v_ttl interval := CASE
        WHEN p_ttl_seconds IS NOT NULL
            THEN make_interval(secs => appl_lock_number('transfer_appl_lock', 'p_ttl_seconds', p_ttl_seconds, NULL, 315360000))
    END;
    v_actor_id text := appl_lock_text('transfer_appl_lock', 'p_actor_id', coalesce(p_actor_id, v_from_operator_id), 64, true);
    v_reason text := appl_lock_text('transfer_appl_lock', 'p_reason', p_reason, 255, false);
    v_from_department_id text;
    v_from_fence bigint;
    v_longest_ttl interval;
BEGIN
    FOR v_round IN 1..3 LOOP
        -- S1: who holds it?
        SELECT l.operator_id, l.department_id, l.department_id, l.fence, l.expires_ts, appl_lock_seconds_left(l.expires_ts),
            make_interval(secs => p.longest_ttl_seconds)
        INTO p_old_operator_id, p_old_department_id, v_from_department_id, v_from_fence, p_expires_ts, p_seconds_left,
            v_longest_ttl
        FROM appl_lock AS l
        LEFT JOIN appl_lock_policy AS p
            ON p.object_type = l.object_type
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.expires_ts > clock_timestamp();
        IF NOT FOUND THEN
            p_return_cd := 'N';
            p_outcome := 'FREE';
            p_old_operator_id := '';
            p_old_department_id := '';
            p_fence := 0;
            p_seconds_left := 0;
            RETURN;
        END IF;
        IF p_old_operator_id <> v_from_operator_id THEN
            p_return_cd := 'N';
            p_outcome := 'HELD';
            p_fence := 0;
            RETURN;
        END IF;

        -- S2: a new grant for the other operator.
        UPDATE appl_lock AS l
        SET operator_id = v_to_operator_id,
            department_id = v_to_department_id,
            note = '',
            (fence, acquired_ts, lock_ts, expires_ts) = (
                SELECT
                    greatest(l.fence + 1, (extract(epoch FROM t.now_ts) * 1000000)::bigint),
                    t.now_ts,
                    t.now_ts,
                    t.now_ts + least(coalesce(v_ttl, appl_lock_ttl(l.lock_ts, l.expires_ts)), v_longest_ttl)
                FROM (SELECT clock_timestamp() AS now_ts) AS t
            )
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.operator_id = v_from_operator_id
            AND l.fence = v_from_fence
            AND l.expires_ts > clock_timestamp()
        RETURNING l.fence, l.expires_ts, CASE
            WHEN p_ttl_seconds IS NULL OR v_longest_ttl < v_ttl THEN appl_lock_seconds_left(l.expires_ts)
            ELSE p_ttl_seconds
        END
        INTO p_fence, p_expires_ts, p_seconds_left;
        IF FOUND THEN
            PERFORM appl_lock_record(
                'TRANSFERRED', v_object_type, v_object_id, v_actor_id,
                v_from_operator_id, v_from_department_id, v_from_fence, v_to_operator_id, v_to_department_id, p_fence, v_reason
            );
            p_return_cd := 'Y';
            p_outcome := 'TRANSFERRED';
            p_old_operator_id := '';
            p_old_department_id := '';
            RETURN;
        END IF;
    END LOOP;
    RAISE EXCEPTION USING
        ERRCODE = 'LK003',
        MESSAGE = format('transfer_appl_lock: %s:%s changed hands during the call; call again', v_object_type, v_object_id);
END
$$;

CREATE OR REPLACE PROCEDURE transfer_appl_lock(
    IN p_object_type text,
    IN p_object_id text,
    IN p_from_operator_id text,
    IN p_to_operator_id text,
    IN p_to_department_id text,
    IN p_ttl_seconds bigint,
    IN p_actor_id text,
    IN p_reason text,
    INOUT p_return_cd character(1) DEFAULT NULL,
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
    SELECT r.p_return_cd, r.p_outcome, r.p_old_operator_id, r.p_old_department_id, r.p_fence, r.p_expires_ts, r.p_seconds_left
    INTO p_return_cd, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_expires_ts, p_seconds_left
    FROM transfer_appl_lock_row(
        p_object_type, p_object_id, p_from_operator_id, p_to_operator_id, p_to_department_id, p_ttl_seconds,
        p_actor_id, p_reason
    ) AS r;
END
$$;

COMMENT ON FUNCTION transfer_appl_lock_row(text, text, text, text, text, bigint, text, text) IS
    'Hand a held object from one operator to another; the answer is one row.';
COMMENT ON PROCEDURE transfer_appl_lock(text, text, text, text, text, bigint, text, text, character, text, text, text, bigint, timestamptz, bigint) IS
    'Hand a held object from one operator to another.';

REVOKE ALL ON FUNCTION transfer_appl_lock_row(text, text, text, text, text, bigint, text, text) FROM PUBLIC;
REVOKE ALL ON PROCEDURE transfer_appl_lock(text, text, text, text, text, bigint, text, text, character, text, text, text, bigint, timestamptz, bigint) FROM PUBLIC;
