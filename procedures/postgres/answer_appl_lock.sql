-- answer_appl_lock: answer an operator who asks for a held object: give it, or say later or no.
--
-- Contract   Y GIVEN, after GIVE: the asker holds the object: a new grant, a greater fence, an empty note, the ttl of the
--            type's policy. The grant ends after 60 s unless the asker calls get first, which returns the fence and renews for
--            the ttl. So an asker who has left blocks the object for 60 s only. It is an event that always reaches the former
--            holder's inbox: every operator can read the fence, so another may have made the call.
--            Y TOLD, after LATER and NO: the asker finds the answer in its inbox.
--            N HELD: another operator or grant holds the object; p_old_*, p_acquired_ts and p_expires_ts tell who, since and until
--            when.
--            N FREE: nobody holds it. N GONE: the asker is not listed any more. Nothing changed.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255, the holder; p_fence 1 or greater,
--            its grant; p_asker_id 1..255; p_client_id 1..64, the asker's program, NULL = any; p_answer GIVE, LATER or NO;
--            p_reason 0..255, NULL = empty. Trailing blanks are trimmed first.
-- Out        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD), p_acquired_ts and p_expires_ts
--            (of the lock as it is now; NULL when FREE or GONE), p_seconds_left (0 then).
-- Raises     LK001 invalid argument; LK003 as appl_lock_move. 55P03 after 1 s of waiting for another transaction, 40001 and 40P01
--            as the engine has them.
-- Locks      S1 reads without a lock. S2 locks the asker's rows, S3 the object's row as appl_lock_move; to the end of the caller's
--            transaction.
-- Race-free  An asker that withdraws its request locks its row before S2, which then finds none, or after S3, when it holds the
--            object. Against take, transfer, release and expiry: S3 names the grant. Of two answers one gives, the other finds
--            HELD.
--            An answer and an ask lock the request's row first and the lock's row second. The asker's other requests are
--            skipped where another transaction has locked them; their next call removes them.
--            REPEATABLE READ and SERIALIZABLE: a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION answer_appl_lock_row(...)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
-- Force the primary key, whatever the statistics say. For the same reason operator_id || '' matches no index.
SET enable_seqscan = 'off'
SET enable_bitmapscan = 'off'
AS $$
DECLARE
    v_object_type text := appl_lock_text('answer_appl_lock', 'p_object_type', p_object_type, 64, true);
    v_object_id text := appl_lock_text('answer_appl_lock', 'p_object_id', p_object_id, 255, true);
    v_operator_id text := appl_lock_text('answer_appl_lock', 'p_operator_id', p_operator_id, 255, true);
    v_fence bigint := appl_lock_number('answer_appl_lock', 'p_fence', p_fence, NULL::integer, NULL::integer);
    v_asker_id text := appl_lock_text('answer_appl_lock', 'p_asker_id', p_asker_id, 255, true);
    v_client_id text := nullif(appl_lock_text('answer_appl_lock', 'p_client_id', p_client_id, 64, p_client_id IS NOT NULL), '');
    v_answer text := rtrim(p_answer, ' ');
    v_reason text;
    v_department_id text;
    v_moved record;
BEGIN
    IF v_answer IN ('GIVE', 'LATER', 'NO') IS NOT TRUE THEN
        RAISE EXCEPTION USING
            ERRCODE = 'LK001',
            MESSAGE = 'answer_appl_lock: p_answer must be GIVE, LATER or NO',
            COLUMN = 'p_answer';
    END IF;
    v_reason := appl_lock_text('answer_appl_lock', 'p_reason', p_reason, 255, false);

    -- S1: does the operator hold it by that grant?
    SELECT l.operator_id, l.department_id, l.acquired_ts, l.expires_ts, appl_lock_seconds_left(l.expires_ts),
        CASE WHEN l.operator_id::text = v_operator_id AND l.fence = v_fence THEN 'GONE' ELSE 'HELD' END
    INTO p_old_operator_id, p_old_department_id, p_acquired_ts, p_expires_ts, p_seconds_left, p_outcome
    FROM appl_lock AS l
    WHERE l.object_type::text = v_object_type
        AND l.object_id::text = v_object_id
        AND l.released_ts IS NULL
        AND l.expires_ts > clock_timestamp();
    p_ok_fl := 'N';
    IF p_outcome = 'HELD' THEN
        RETURN;
    END IF;
    p_old_operator_id := '';
    p_old_department_id := '';
    IF p_outcome IS NULL THEN
        p_outcome := 'FREE';
        p_seconds_left := 0;
        RETURN;
    END IF;

    -- S2: does the asker still ask?
    SELECT a.department_id
    INTO v_department_id
    FROM appl_lock_ask AS a
    WHERE a.object_type::text = v_object_type
        AND a.object_id::text = v_object_id
        AND a.operator_id::text || '' = v_asker_id
        AND a.client_id::text = coalesce(v_client_id, a.client_id)
        AND a.expires_ts > clock_timestamp()
    ORDER BY a.client_id
    LIMIT 1
    FOR UPDATE;
    IF NOT FOUND THEN
        p_acquired_ts := NULL;
        p_expires_ts := NULL;
        p_seconds_left := 0;
        RETURN;
    END IF;

    IF v_answer = 'GIVE' THEN
        -- S3: grant it to the asker, and remove the asker's requests.
        v_moved := appl_lock_move(
            'answer_appl_lock', 'GIVEN', v_object_type, v_object_id, v_operator_id, v_fence,
            v_asker_id, v_department_id, NULL::bigint, v_operator_id, v_reason, NULL::timestamptz, 60::bigint
        );
        p_ok_fl := v_moved.p_ok_fl;
        p_outcome := v_moved.p_outcome;
        p_acquired_ts := v_moved.p_acquired_ts;
        p_expires_ts := v_moved.p_expires_ts;
        p_seconds_left := v_moved.p_seconds_left;
        IF p_ok_fl = 'N' THEN
            p_old_operator_id := v_moved.p_old_operator_id;
            p_old_department_id := v_moved.p_old_department_id;
            RETURN;
        END IF;
        DELETE FROM appl_lock_ask AS a
        WHERE a.ctid = ANY (ARRAY(
                SELECT s.ctid
                FROM appl_lock_ask AS s
                WHERE s.object_type::text = v_object_type
                    AND s.object_id::text = v_object_id
                    AND s.operator_id::text || '' = v_asker_id
                FOR UPDATE SKIP LOCKED
            ));
        RETURN;
    END IF;

    -- S4: store the answer for the asker.
    UPDATE appl_lock_ask AS a
    SET holder_id = v_operator_id,
        fence = v_fence,
        answer = v_answer,
        answer_reason = v_reason,
        answered_ts = clock_timestamp()
    WHERE a.object_type::text = v_object_type
        AND a.object_id::text = v_object_id
        AND a.operator_id::text || '' = v_asker_id
        AND a.client_id::text = coalesce(v_client_id, a.client_id);
    p_ok_fl := 'Y';
    p_outcome := 'TOLD';
END
$$;
