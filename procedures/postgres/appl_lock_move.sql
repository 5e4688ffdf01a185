-- appl_lock_move: begin a new grant in place of a live one, for transfer, take, answer and ask. Internal.
--
-- Contract   Y and p_event: p_from_operator_id (NULL = any operator) held it by the grant p_expected_fence (NULL = any grant).
--            Now p_to_operator_id holds it: a new grant, a greater fence, an empty note. It records p_event. The former
--            holder is in p_old_*. The policy's longest ttl limits the new grant. With p_first_seconds the ttl is the policy's,
--            but the grant ends after p_first_seconds unless it is renewed.
--            N HELD: another operator or grant holds it; p_old_* is the holder, p_acquired_ts and p_expires_ts its times. N FREE:
--            nobody.
-- In         p_routine, for messages; p_unchanged_ts, the lock_ts that the grant must still have: a renewal since then makes
--            the answer HELD. The others as in transfer_appl_lock and take_appl_lock, checked.
-- Out        As transfer_appl_lock, but for p_old_*.
-- Raises     LK003 when the object changed thirty times during the call.
-- Locks      S1 reads without a lock and answers HELD and FREE. S2 locks the object's row, to the end of the caller's transaction.
-- Race-free  S2 matches only the version of the row that S1 has read; otherwise the call begins again. Of two calls that name
--            the same operator or grant one wins, and the other answers HELD.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION appl_lock_move(
    p_routine text,
    p_event text,
    p_object_type text,
    p_object_id text,
    p_from_operator_id text,
    p_expected_fence bigint,
    p_to_operator_id text,
    p_to_department_id text,
    p_ttl_seconds bigint,
    p_actor_id text,
    p_reason text,
    p_unchanged_ts timestamptz,
    p_first_seconds bigint,
    OUT p_ok_fl character(1),
    OUT p_outcome text,
    OUT p_old_operator_id text,
    OUT p_old_department_id text,
    OUT p_fence bigint,
    OUT p_acquired_ts timestamptz,
    OUT p_expires_ts timestamptz,
    OUT p_seconds_left bigint
)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_fence bigint;
    v_lock_ts timestamptz;
    v_ttl_seconds bigint;
    v_first_seconds bigint;
BEGIN
    FOR v_round IN 1..30 LOOP
        -- S1: the row and the policy.
        SELECT l.operator_id, l.department_id, l.fence, l.acquired_ts, l.lock_ts, l.expires_ts, appl_lock_seconds_left(l.expires_ts),
            least(
                CASE
                    WHEN p_first_seconds IS NULL THEN coalesce(p_ttl_seconds, l.ttl_seconds)
                    ELSE coalesce(p.default_ttl_seconds, 604800)
                END,
                p.longest_ttl_seconds
            )
        INTO p_old_operator_id, p_old_department_id, v_fence, p_acquired_ts, v_lock_ts, p_expires_ts, p_seconds_left, v_ttl_seconds
        FROM appl_lock AS l
        LEFT JOIN appl_lock_policy AS p
            ON p.object_type::text = l.object_type::text
        WHERE l.object_type::text = p_object_type
            AND l.object_id::text = p_object_id
            AND l.released_ts IS NULL
            AND l.expires_ts > clock_timestamp();
        p_ok_fl := 'N';
        p_fence := 0;
        IF NOT FOUND THEN
            p_outcome := 'FREE';
            p_old_operator_id := '';
            p_old_department_id := '';
            p_seconds_left := 0;
            RETURN;
        END IF;
        IF p_old_operator_id <> p_from_operator_id OR v_fence <> p_expected_fence OR v_lock_ts <> p_unchanged_ts THEN
            p_outcome := 'HELD';
            RETURN;
        END IF;
        v_first_seconds := least(v_ttl_seconds, p_first_seconds);

        -- S2: the compare and set.
        UPDATE appl_lock AS l
        SET operator_id = p_to_operator_id,
            department_id = p_to_department_id,
            note = '',
            ttl_seconds = v_ttl_seconds,
            (fence, acquired_ts, lock_ts, expires_ts) = (
                SELECT
                    appl_lock_next_fence(l.fence, t.now_ts),
                    t.now_ts,
                    greatest(t.now_ts, l.lock_ts + interval '1 microsecond'),
                    t.now_ts + pg_catalog.make_interval(secs => v_first_seconds)
                FROM (SELECT clock_timestamp() AS now_ts) AS t
            )
        WHERE l.object_type::text = p_object_type
            AND l.object_id::text = p_object_id
            AND l.fence = v_fence
            AND l.lock_ts = v_lock_ts
            AND l.expires_ts = p_expires_ts
            AND l.released_ts IS NULL
            AND l.expires_ts > clock_timestamp()
        RETURNING l.fence, l.acquired_ts, l.expires_ts
        INTO p_fence, p_acquired_ts, p_expires_ts;
        IF FOUND THEN
            PERFORM appl_lock_record(
                p_event, p_object_type, p_object_id, p_actor_id,
                p_old_operator_id, p_old_department_id, v_fence, p_to_operator_id, p_to_department_id, p_fence, p_reason
            );
            p_ok_fl := 'Y';
            p_outcome := p_event;
            p_seconds_left := v_first_seconds;
            RETURN;
        END IF;
    END LOOP;
    RAISE EXCEPTION USING
        ERRCODE = 'LK003',
        MESSAGE = pg_catalog.format('%s: %s:%s changed hands during the call; call again', p_routine, p_object_type, p_object_id);
END
$$;

COMMENT ON FUNCTION appl_lock_move(text, text, text, text, text, bigint, text, text, bigint, text, text, timestamptz, bigint) IS
    'Internal to applock: moves the grant of a held object to an operator.';
