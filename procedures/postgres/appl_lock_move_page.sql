-- appl_lock_move_page: a page of what an operator holds, released or handed over, for release_appl_locks and transfer_appl_locks.
-- Internal.
--
-- Contract   A page is at most p_max_rows live locks of p_operator_id whose key is greater than (p_after_type, p_after_id), of
--            p_object_type if that is given. The answer has a row for each. If p_to_operator_id is NULL, they are released;
--            else that operator gets them.
--            BUSY, HELD and FREE are left as they are. A dry run does nothing.
-- In         As in release_appl_locks and transfer_appl_locks, checked.
-- Out        As transfer_appl_locks.
-- Raises     As the operations on one object; then the page is undone.
-- Locks      S1 nothing. S2 locks one row after the other in the order of the keys, and waits for none. All are held to the end of
--            the caller's transaction.
-- Race-free  S3 is the operation on one object, whose row S2 has locked. A lock that was got after S1 is not in the page.
--            Calling again after a page repeats nothing: the operator does not hold those locks any more.
-- Differs    Nothing: this is the reference. Each caller keeps the planner from reading the whole table.

CREATE OR REPLACE FUNCTION appl_lock_move_page(
    p_operator_id text,
    p_object_type text,
    p_to_operator_id text,
    p_to_department_id text,
    p_ttl_seconds bigint,
    p_actor_id text,
    p_reason text,
    p_after_type text,
    p_after_id text,
    p_max_rows bigint,
    p_dry_run boolean,
    OUT object_type text,
    OUT object_id text,
    OUT outcome text,
    OUT old_operator_id text,
    OUT old_department_id text,
    OUT fence bigint,
    OUT expires_ts timestamptz,
    OUT seconds_left bigint
) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_row record;
    v_done record;
BEGIN
    -- S1: the page, read to its end before the first lock changes. One of the two parts has rows: of any type, or of one.
    FOR object_type, object_id, fence, expires_ts, seconds_left IN
        (
            SELECT l.object_type, l.object_id, l.fence, l.expires_ts, appl_lock_seconds_left(l.expires_ts)
            FROM appl_lock AS l
            WHERE p_object_type IS NULL
                AND (l.object_type::text, l.object_id::text) > (p_after_type, p_after_id)
                AND l.operator_id::text = p_operator_id
                AND l.released_ts IS NULL
                AND l.expires_ts > clock_timestamp()
            ORDER BY l.object_type, l.object_id
            LIMIT p_max_rows
        )
        UNION ALL
        (
            SELECT l.object_type, l.object_id, l.fence, l.expires_ts, appl_lock_seconds_left(l.expires_ts)
            FROM appl_lock AS l
            WHERE l.object_type::text = p_object_type
                AND (l.object_type::text, l.object_id::text) > (p_after_type, p_after_id)
                AND l.operator_id::text = p_operator_id
                AND l.released_ts IS NULL
                AND l.expires_ts > clock_timestamp()
            ORDER BY l.object_type, l.object_id
            LIMIT p_max_rows
        )
    LOOP
        old_operator_id := '';
        old_department_id := '';
        IF p_dry_run THEN
            outcome := CASE WHEN p_to_operator_id IS NULL THEN 'WOULD_RELEASE' ELSE 'WOULD_TRANSFER' END;
            RETURN NEXT;
            CONTINUE;
        END IF;

        -- S2: can the row be locked at once, and which grant does it have?
        SELECT l.fence, l.expires_ts
        INTO v_row
        FROM appl_lock AS l
        WHERE l.object_type::text = appl_lock_move_page.object_type
            AND l.object_id::text = appl_lock_move_page.object_id
        FOR NO KEY UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            outcome := 'BUSY';
            RETURN NEXT;
            CONTINUE;
        END IF;

        -- S3: end it, or hand it over.
        IF p_to_operator_id IS NULL THEN
            v_done := release_appl_lock_row(object_type, object_id, p_operator_id, NULL::bigint, p_actor_id, p_reason);
            fence := CASE WHEN v_done.p_outcome = 'RELEASED' THEN v_row.fence ELSE 0 END;
            expires_ts := CASE WHEN v_done.p_outcome = 'HELD' THEN v_row.expires_ts END;
            seconds_left := CASE WHEN v_done.p_outcome = 'HELD' THEN appl_lock_seconds_left(v_row.expires_ts) ELSE 0 END;
        ELSE
            v_done := transfer_appl_lock_row(
                object_type, object_id, p_operator_id, p_to_operator_id, p_to_department_id, p_ttl_seconds, p_actor_id, p_reason
            );
            fence := v_done.p_fence;
            expires_ts := v_done.p_expires_ts;
            seconds_left := v_done.p_seconds_left;
        END IF;
        outcome := v_done.p_outcome;
        old_operator_id := v_done.p_old_operator_id;
        old_department_id := v_done.p_old_department_id;
        RETURN NEXT;
    END LOOP;
END
$$;

COMMENT ON FUNCTION appl_lock_move_page(text, text, text, text, bigint, text, text, text, text, bigint, boolean) IS
    'Internal to applock: hands over or releases a page of the locks of an operator.';
