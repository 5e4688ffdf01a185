-- take_appl_lock: take a held object from whoever holds it, for a reason.
--
-- Contract   Y TAKEN: somebody held it, by the grant p_expected_fence or, if that is NULL, by whichever; p_operator_id
--            holds it now: a new grant, a greater fence, an empty note. p_old_* tell from whom it was taken. Of what it
--            holds itself an operator gets a new grant, too, and p_old_* are empty: nobody was displaced.
--            That is an event of the history, TAKEN, with the reason: p_operator_id is the actor.
--            The greatest ttl of the type's policy, if it has one, is that of the new grant, too, as p_expires_ts tells.
--            N HELD: another grant than p_expected_fence holds it; p_old_* and p_expires_ts tell who and until when.
--            N FREE: nobody holds it; nothing changed: get_appl_lock gets it.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64; p_department_id
--            0..64, NULL = empty; p_reason 1..255, or empty if the type's policy says N;
--            p_expected_fence 1 or greater, NULL = whichever;
--            p_ttl_seconds 1..315360000, NULL = that of the grant that ends.
--            Trailing blanks are trimmed first.
-- Out        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id (empty when FREE, and when p_operator_id
--            held it), p_fence (0 unless TAKEN), p_expires_ts (NULL when FREE), p_seconds_left (from now to
--            p_expires_ts, 0 when FREE).
-- Raises     LK001 invalid argument. LK003 when the object changed hands three times during the call.
--            55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has them.
-- Locks      S1 reads without a lock and answers HELD and FREE. S2 locks the object's one row and
--            decides; held to the end of the caller's transaction.
-- Race-free  Take against renewal, release, transfer or another take: S2 names the fence that S1 read and the expiry
--            again, and is judged on the row as it is once it is locked. A renewal keeps the fence: the take goes on, with the
--            ttl of the renewal. Any other change ends that grant: S1 looks again, and of two takes that expect the
--            same fence one wins and the other answers HELD.
--            REPEATABLE READ and SERIALIZABLE: a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION take_appl_lock_row(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_department_id text,
    p_reason text,
    p_expected_fence bigint,
    p_ttl_seconds bigint,
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
    v_object_type text := appl_lock_text('take_appl_lock', 'p_object_type', p_object_type, 64, true);
    v_object_id text := appl_lock_text('take_appl_lock', 'p_object_id', p_object_id, 255, true);
    v_operator_id text := appl_lock_text('take_appl_lock', 'p_operator_id', p_operator_id, 64, true);
    v_department_id text := appl_lock_text('take_appl_lock', 'p_department_id', p_department_id, 64, false);
    v_reason text := appl_lock_text('take_appl_lock', 'p_reason', p_reason, 255, false);
    v_expected_fence bigint := CASE
        WHEN p_expected_fence IS NOT NULL
            THEN appl_lock_number('take_appl_lock', 'p_expected_fence', p_expected_fence, NULL, 9223372036854775807)
    END;
    v_ttl interval := CASE
        WHEN p_ttl_seconds IS NOT NULL
            THEN make_interval(secs => appl_lock_number('take_appl_lock', 'p_ttl_seconds', p_ttl_seconds, NULL, 315360000))
    END;
    v_from_fence bigint;
    v_longest_ttl interval;
    v_take_reason_fl text;
BEGIN
    SELECT make_interval(secs => p.longest_ttl_seconds), p.take_reason_fl
    INTO v_longest_ttl, v_take_reason_fl
    FROM appl_lock_policy AS p
    WHERE p.object_type = v_object_type;
    IF v_reason = '' AND v_take_reason_fl IS DISTINCT FROM 'N' THEN
        PERFORM appl_lock_text('take_appl_lock', 'p_reason', p_reason, 255, true);
    END IF;
    FOR v_round IN 1..3 LOOP
        -- S1: who holds it?
        SELECT l.operator_id, l.department_id, l.fence, l.expires_ts, appl_lock_seconds_left(l.expires_ts)
        INTO p_old_operator_id, p_old_department_id, v_from_fence, p_expires_ts, p_seconds_left
        FROM appl_lock AS l
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
        IF v_from_fence <> v_expected_fence THEN
            p_return_cd := 'N';
            p_outcome := 'HELD';
            p_fence := 0;
            RETURN;
        END IF;

        -- S2: a new grant, if that one is still live.
        UPDATE appl_lock AS l
        SET operator_id = v_operator_id,
            department_id = v_department_id,
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
            AND l.fence = v_from_fence
            AND l.expires_ts > clock_timestamp()
        RETURNING l.fence, l.expires_ts, CASE
            WHEN p_ttl_seconds IS NULL OR v_longest_ttl < v_ttl THEN appl_lock_seconds_left(l.expires_ts)
            ELSE p_ttl_seconds
        END
        INTO p_fence, p_expires_ts, p_seconds_left;
        IF FOUND THEN
            PERFORM appl_lock_record(
                'TAKEN', v_object_type, v_object_id, v_operator_id,
                p_old_operator_id, p_old_department_id, v_from_fence, v_operator_id, v_department_id, p_fence, v_reason
            );
            p_return_cd := 'Y';
            p_outcome := 'TAKEN';
            IF p_old_operator_id = v_operator_id THEN
                p_old_operator_id := '';
                p_old_department_id := '';
            END IF;
            RETURN;
        END IF;
    END LOOP;
    RAISE EXCEPTION USING
        ERRCODE = 'LK003',
        MESSAGE = format('take_appl_lock: %s:%s changed hands during the call; call again', v_object_type, v_object_id);
END
$$;

CREATE OR REPLACE PROCEDURE take_appl_lock(
    IN p_object_type text,
    IN p_object_id text,
    IN p_operator_id text,
    IN p_department_id text,
    IN p_reason text,
    IN p_expected_fence bigint,
    IN p_ttl_seconds bigint,
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
    FROM take_appl_lock_row(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_reason, p_expected_fence, p_ttl_seconds
    ) AS r;
END
$$;

COMMENT ON FUNCTION take_appl_lock_row(text, text, text, text, text, bigint, bigint) IS
    'Take a held object from whoever holds it, for a reason; the answer is one row.';
COMMENT ON PROCEDURE take_appl_lock(text, text, text, text, text, bigint, bigint, character, text, text, text, bigint, timestamptz, bigint) IS
    'Take a held object from whoever holds it, for a reason.';

REVOKE ALL ON FUNCTION take_appl_lock_row(text, text, text, text, text, bigint, bigint) FROM PUBLIC;
REVOKE ALL ON PROCEDURE take_appl_lock(text, text, text, text, text, bigint, bigint, character, text, text, text, bigint, timestamptz, bigint) FROM PUBLIC;
