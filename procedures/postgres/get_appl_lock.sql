-- get_appl_lock: take or renew the lock on an object for one operator until it expires.
--
-- Contract   Y ACQUIRED: the object was free or its lock had expired; a new grant, a greater fence, an empty note.
--            Y RENEWED: this operator holds it; same grant, fence and note, and the ttl counts from now.
--            N HELD: another operator holds it, or this one when p_new_fl is Y; p_old_*, p_acquired_ts, p_expires_ts and
--            p_note tell who, since when, until when and why.
--            Without p_ttl_seconds a new grant gets the policy's default ttl. The policy's longest ttl limits every grant.
--            Events: OVERTAKEN, when another operator's grant had expired unreleased. Under history ALL also ACQUIRED, RENEWED
--            and REFUSED; for REFUSED the policy at the holder's last get counts.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255;
--            p_department_id 0..64, NULL = the grant's in a renewal, else empty; p_ttl_seconds 1..315360000,
--            NULL = the grant's in a renewal, else the policy's, else 604800; p_new_fl Y or N, NULL or empty = N. Trailing
--            blanks are trimmed first.
-- Out        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD), p_fence (0 when HELD),
--            p_acquired_ts, p_expires_ts, p_seconds_left (from now to p_expires_ts), p_note (empty when ACQUIRED).
-- Raises     LK001 invalid argument. LK003 when the object changed thirty times during the call.
--            55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has them.
-- Locks      S1 and S2 read without a lock and answer HELD. S3 locks the object's row, to the end of the caller's transaction,
--            also where it had to wait and S1 then answers HELD.
-- Race-free  S3 matches only the version of the row that S1 has read, or inserts where there is none. Otherwise the call begins
--            again. So each answer is decided on the row as it was when S3 locked it.
--            The note in the answer is the row's at that moment.
--            S3 may have waited for a transaction that was rolled back, or in a trigger: S5 counts from the end of the wait.
--            A purge may have removed a later grant before S3 inserted: S4 checks for it, and S5 raises the fence above it.
--            REPEATABLE READ and SERIALIZABLE: S3 on a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION get_appl_lock_row(...)
-- A named row, because OUT parameters are described anew in each call.
RETURNS get_appl_lock_answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    v_holder_id text;
    v_holder_department_id text;
    v_old_fence bigint;
    v_acquired_ts timestamptz;
    v_lock_ts timestamptz;
    v_old_ttl_seconds bigint;
    v_expires_ts timestamptz;
    v_released_ts timestamptz;
    v_note text;
    v_history_fl boolean;
    v_version tid;
    v_now timestamptz;
    v_renews boolean;
    v_fence bigint;
    v_purged_fence bigint;
    v_department_id text;
    v_default_ttl_seconds bigint;
    v_longest_ttl_seconds bigint;
    v_history_level text;
    v_ttl_seconds bigint;
    v_round integer;
    v_length integer;
BEGIN
    LOOP
        -- S1: the row, and then the time. Without a row all is NULL.
        -- While another session holds an old snapshot, all versions of a row stay: the newest is last in the index.
        SELECT l.operator_id, l.department_id, l.fence, l.acquired_ts, l.lock_ts, l.ttl_seconds, l.expires_ts, l.released_ts,
            l.note, l.history_fl, l.ctid, l.released_ts IS NULL AND l.expires_ts > clock_timestamp(), clock_timestamp()
        INTO v_holder_id, v_holder_department_id, v_old_fence, v_acquired_ts, v_lock_ts, v_old_ttl_seconds, v_expires_ts, v_released_ts,
            v_note, v_history_fl, v_version, v_renews, v_now
        FROM appl_lock AS l
        WHERE l.object_type::text = p_object_type
            AND l.object_id::text >= p_object_id
            AND l.object_id::text <= p_object_id
        ORDER BY l.object_id DESC
        LIMIT 1;
        -- A row of this operator proves its name valid. Rare arguments have a branch of their own: even an unevaluated
        -- expression costs time.
        IF p_department_id IS NOT NULL
            OR p_new_fl IS NOT NULL
            OR p_ttl_seconds NOT BETWEEN 1 AND 315360000
            OR (
                p_operator_id = v_holder_id
                OR p_operator_id !~ E'[\\x01-\\x1f\\x7f-\\u009f]|^$| $' AND char_length(p_operator_id) <= 255
            ) IS NOT TRUE
        THEN
            IF (
                p_operator_id !~ E'[\\x01-\\x1f\\x7f-\\u009f]|^$| $'
                AND char_length(p_operator_id) <= 255
                AND (
                    p_department_id IS NULL
                    OR p_department_id !~ E'[\\x01-\\x1f\\x7f-\\u009f]| $' AND char_length(p_department_id) <= 64
                )
                AND (p_ttl_seconds IS NULL OR p_ttl_seconds BETWEEN 1 AND 315360000)
                AND (p_new_fl IS NULL OR p_new_fl = 'Y')
            ) IS NOT TRUE THEN
                v_length := char_length(p_object_type || p_object_id);
                p_object_type := appl_lock_text('get_appl_lock', 'p_object_type', p_object_type, 64, true);
                p_object_id := appl_lock_text('get_appl_lock', 'p_object_id', p_object_id, 255, true);
                p_operator_id := appl_lock_text('get_appl_lock', 'p_operator_id', p_operator_id, 255, true);
                IF p_department_id IS NOT NULL THEN
                    p_department_id := appl_lock_text('get_appl_lock', 'p_department_id', p_department_id, 64, false);
                END IF;
                PERFORM appl_lock_number('get_appl_lock', 'p_ttl_seconds', p_ttl_seconds, 604800, 315360000);
                p_new_fl := CASE WHEN appl_lock_yes('get_appl_lock', 'p_new_fl', p_new_fl) THEN 'Y' END;
                CONTINUE WHEN v_length <> char_length(p_object_type || p_object_id);
            END IF;
        END IF;
        IF v_renews AND (v_holder_id <> p_operator_id OR p_new_fl = 'Y') THEN
            IF v_history_fl THEN
                PERFORM appl_lock_record(
                    'REFUSED', p_object_type, p_object_id, p_operator_id,
                    v_holder_id, v_holder_department_id, v_old_fence, v_holder_id, v_holder_department_id, v_old_fence, ''
                );
            END IF;
            RETURN ROW(
                'N', 'HELD', v_holder_id, v_holder_department_id, 0,
                v_acquired_ts, v_expires_ts, appl_lock_seconds_left(v_expires_ts), v_note
            )::get_appl_lock_answer;
        END IF;

        -- S2: the policy.
        SELECT p.default_ttl_seconds, p.longest_ttl_seconds, p.history_level
        INTO v_default_ttl_seconds, v_longest_ttl_seconds, v_history_level
        FROM appl_lock_policy AS p
        WHERE p.object_type::text = p_object_type;
        v_ttl_seconds := least(
            coalesce(p_ttl_seconds, CASE WHEN v_renews THEN v_old_ttl_seconds ELSE v_default_ttl_seconds END, 604800),
            v_longest_ttl_seconds
        );

        -- S3: the compare and set. The place alone is no version: older servers do not compare it again after a wait.
        IF v_old_fence IS NOT NULL THEN
            UPDATE appl_lock AS l
            SET operator_id = p_operator_id,
                department_id = coalesce(p_department_id, CASE WHEN v_renews THEN l.department_id ELSE '' END),
                fence = CASE WHEN v_renews THEN l.fence ELSE appl_lock_next_fence(l.fence, v_now) END,
                acquired_ts = CASE WHEN v_renews THEN l.acquired_ts ELSE v_now END,
                lock_ts = greatest(v_now, l.lock_ts + interval '1 microsecond'),
                ttl_seconds = v_ttl_seconds,
                expires_ts = v_now + pg_catalog.make_interval(secs => v_ttl_seconds),
                note = CASE WHEN v_renews THEN l.note ELSE '' END,
                history_fl = v_history_level IS NOT NULL AND v_history_level = 'ALL',
                released_ts = NULL
            WHERE l.ctid = v_version
                AND l.object_type::text = p_object_type
                AND l.object_id::text = p_object_id
                AND l.fence = v_old_fence
                AND l.lock_ts = v_lock_ts
                AND l.released_ts IS NOT DISTINCT FROM v_released_ts
            RETURNING l.fence, l.acquired_ts, l.expires_ts, l.note
            INTO v_fence, v_acquired_ts, v_expires_ts, v_note;
        ELSE
            -- There is no row, so this type and id are unchecked.
            IF (
                p_object_type !~ E'[\\x01-\\x1f:\\x7f-\\u009f]|^$| $'
                AND char_length(p_object_type) <= 64
                AND p_object_id !~ E'[\\x01-\\x1f\\x7f-\\u009f]|^$| $'
                AND char_length(p_object_id) <= 255
            ) IS NOT TRUE THEN
                v_length := char_length(p_object_type || p_object_id);
                p_object_type := appl_lock_text('get_appl_lock', 'p_object_type', p_object_type, 64, true);
                p_object_id := appl_lock_text('get_appl_lock', 'p_object_id', p_object_id, 255, true);
                CONTINUE WHEN v_length <> char_length(p_object_type || p_object_id);
            END IF;
            v_now := clock_timestamp();
            INSERT INTO appl_lock AS l (
                object_type,
                object_id,
                operator_id,
                department_id,
                fence,
                acquired_ts,
                lock_ts,
                ttl_seconds,
                expires_ts,
                history_fl
            )
            VALUES (
                p_object_type,
                p_object_id,
                p_operator_id,
                coalesce(p_department_id, ''),
                appl_lock_next_fence(0::bigint, v_now),
                v_now,
                v_now,
                v_ttl_seconds,
                v_now + pg_catalog.make_interval(secs => v_ttl_seconds),
                v_history_level IS NOT NULL AND v_history_level = 'ALL'
            )
            ON CONFLICT ON CONSTRAINT appl_lock_pk DO NOTHING
            RETURNING l.fence, l.acquired_ts, l.expires_ts, l.note
            INTO v_fence, v_acquired_ts, v_expires_ts, v_note;
            IF FOUND THEN
                -- S4: the greatest fence that a purge has removed, if it is not below this one.
                SELECT f.fence
                INTO v_purged_fence
                FROM appl_lock_fence AS f
                WHERE f.id = 1
                    AND f.fence >= v_fence;
            END IF;
        END IF;
        EXIT WHEN v_fence IS NOT NULL;
        v_round := coalesce(v_round, 0) + 1;
        IF v_round = 30 THEN
            RAISE EXCEPTION USING
                ERRCODE = 'LK003',
                MESSAGE = pg_catalog.format('get_appl_lock: %s:%s changed hands during the call; call again', p_object_type, p_object_id);
        END IF;
    END LOOP;

    IF v_purged_fence IS NOT NULL OR clock_timestamp() > v_now + interval '100 milliseconds' OR clock_timestamp() < v_now THEN
        -- S5: the times from before S3 are too old, or the fence is too small. The row is this transaction's by now.
        v_now := clock_timestamp();
        UPDATE appl_lock AS l
        SET fence = CASE WHEN v_renews THEN l.fence ELSE greatest(l.fence, appl_lock_next_fence(v_purged_fence, v_now)) END,
            acquired_ts = CASE WHEN v_renews THEN l.acquired_ts ELSE v_now END,
            lock_ts = greatest(v_now, l.lock_ts),
            expires_ts = v_now + pg_catalog.make_interval(secs => v_ttl_seconds)
        WHERE l.object_type::text = p_object_type
            AND l.object_id::text = p_object_id
        RETURNING l.fence, l.acquired_ts, l.expires_ts
        INTO v_fence, v_acquired_ts, v_expires_ts;
    END IF;
    IF v_history_level = 'ALL' OR NOT v_renews AND v_released_ts IS NULL AND v_holder_id <> p_operator_id THEN
        -- S6: the event.
        SELECT l.department_id
        INTO v_department_id
        FROM appl_lock AS l
        WHERE l.object_type::text = p_object_type
            AND l.object_id::text = p_object_id;
        IF v_renews THEN
            PERFORM appl_lock_record(
                'RENEWED', p_object_type, p_object_id, p_operator_id,
                p_operator_id, v_department_id, v_fence, p_operator_id, v_department_id, v_fence, ''
            );
        ELSIF v_released_ts IS NULL AND v_holder_id <> p_operator_id THEN
            PERFORM appl_lock_record(
                'OVERTAKEN', p_object_type, p_object_id, p_operator_id,
                v_holder_id, v_holder_department_id, v_old_fence, p_operator_id, v_department_id, v_fence, ''
            );
        ELSE
            PERFORM appl_lock_record(
                'ACQUIRED', p_object_type, p_object_id, p_operator_id,
                '', '', 0::bigint, p_operator_id, v_department_id, v_fence, ''
            );
        END IF;
    END IF;
    RETURN ROW(
        'Y', CASE WHEN v_renews THEN 'RENEWED' ELSE 'ACQUIRED' END, '', '', v_fence, v_acquired_ts, v_expires_ts,
        v_ttl_seconds, v_note
    )::get_appl_lock_answer;
END
$$;
