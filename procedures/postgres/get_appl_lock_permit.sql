-- get_appl_lock_permit: take or renew one of the N permits of an object for one operator until it expires.
--
-- Contract   The permits are slots: the objects p_object_id#1 to p_object_id#N of the type, N being p_permits. A slot is an
--            object like any other: release, inquire, transfer, assert and the rest take its id.
--            ACQUIRED: a slot was free or had expired; a new grant, a greater fence. RENEWED: this operator holds a slot; same
--            grant and fence. One row has the slot.
--            FULL: others held each slot when the call looked at it. One row for each, the soonest to expire first; one that has
--            become free since comes first, without a holder: call again.
--            Lowering the number frees nothing. A slot above N is neither granted, renewed nor counted: it stays with its
--            holder until released or expired.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1 or more, with "#N" 255 at the most; p_permits 1..1000;
--            p_operator_id 1..255; p_department_id 0..64, NULL = the grant's in a renewal, else empty; p_ttl_seconds
--            1..315360000, NULL = the grant's in a renewal, else the policy's, else 604800. Trailing blanks are trimmed first.
-- Out        outcome, slot_id, operator_id, department_id, fence, acquired_ts, expires_ts, seconds_left (from now to
--            expires_ts), note (the grant's). Of a slot that has become free the texts are empty, the numbers 0 and the times NULL.
-- Raises     LK001 invalid argument. LK003, 55P03, 40001 and 40P01 as get_appl_lock.
-- Locks      S1 and S3 read without a lock, so FULL locks nothing. S2 is get_appl_lock for one slot, with its locks.
-- Race-free  Never more than N: each grant is one of get_appl_lock on one of N rows.
--            Two for the last slot: get_appl_lock lets one have it. The other looks again, for slots that it has not tried, and
--            so ends after N rounds at the most.
--            The same operator twice at once: both begin with the same slot, and the second renews it. Only where that slot
--            changes hands between the two S1 may each get a slot of its own; later calls renew one of them.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION get_appl_lock_permit(...) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
-- Force an index, whatever the statistics say.
SET enable_seqscan = 'off'
AS $$
DECLARE
    v_object_type text := appl_lock_text('get_appl_lock_permit', 'p_object_type', p_object_type, 64, true);
    v_permits bigint := appl_lock_number('get_appl_lock_permit', 'p_permits', p_permits, 0, 1000);
    v_prefix text := appl_lock_text(
        'get_appl_lock_permit', 'p_object_id', p_object_id, 254 - char_length(v_permits::text), true
    ) || '#';
    v_operator_id text := appl_lock_text('get_appl_lock_permit', 'p_operator_id', p_operator_id, 255, true);
    v_department_id text := appl_lock_text('get_appl_lock_permit', 'p_department_id', p_department_id, 64, false);
    v_first bigint := mod(hashtext(v_operator_id)::bigint + 2147483648, v_permits);
    v_tried bigint[] := '{}';
    v_now timestamptz;
    v_slot bigint;
    v_own_department_id text;
    v_got record;
BEGIN
    PERFORM appl_lock_number('get_appl_lock_permit', 'p_ttl_seconds', p_ttl_seconds, 604800, 315360000);
    LOOP
        -- S1: the operator's own slot, or else the next free one. The LIMIT forces a lookup by key for each slot.
        v_now := clock_timestamp();
        SELECT s.slot, l.department_id
        INTO v_slot, v_own_department_id
        FROM generate_series(1::bigint, v_permits) AS s (slot)
        LEFT JOIN LATERAL (
            SELECT h.operator_id, h.department_id
            FROM appl_lock AS h
            WHERE h.object_type::text = v_object_type
                AND h.object_id::text = v_prefix || s.slot::text
                AND h.released_ts IS NULL
                AND h.expires_ts > v_now
            LIMIT 1
        ) AS l ON true
        WHERE (l.operator_id IS NULL OR l.operator_id::text = v_operator_id)
            AND s.slot <> ALL (v_tried)
        ORDER BY l.operator_id IS NULL, mod(s.slot - v_first + v_permits, v_permits)
        LIMIT 1;
        EXIT WHEN NOT FOUND;

        -- S2: get it.
        v_got := get_appl_lock_row(v_object_type, v_prefix || v_slot::text, v_operator_id, p_department_id, p_ttl_seconds, 'N'::text);
        IF v_got.p_ok_fl = 'Y' THEN
            outcome := v_got.p_outcome;
            slot_id := v_prefix || v_slot::text;
            operator_id := v_operator_id;
            department_id := v_department_id;
            IF p_department_id IS NULL AND outcome = 'RENEWED' THEN
                department_id := coalesce(v_own_department_id, '');
            END IF;
            fence := v_got.p_fence;
            acquired_ts := v_got.p_acquired_ts;
            expires_ts := v_got.p_expires_ts;
            seconds_left := v_got.p_seconds_left;
            note := v_got.p_note;
            RETURN NEXT;
            RETURN;
        END IF;
        v_tried := pg_catalog.array_append(v_tried, v_slot);
    END LOOP;

    -- S3: who holds them?
    v_now := clock_timestamp();
    RETURN QUERY
    SELECT
        'FULL',
        v_prefix || s.slot::text,
        coalesce(l.operator_id, '')::text,
        coalesce(l.department_id, '')::text,
        coalesce(l.fence, 0),
        l.acquired_ts,
        l.expires_ts,
        CASE WHEN l.expires_ts IS NULL THEN 0 ELSE appl_lock_seconds_left(l.expires_ts) END,
        coalesce(l.note, '')::text
    FROM generate_series(1::bigint, v_permits) AS s (slot)
    LEFT JOIN LATERAL (
        SELECT h.operator_id, h.department_id, h.fence, h.acquired_ts, h.expires_ts, h.note
        FROM appl_lock AS h
        WHERE h.object_type::text = v_object_type
            AND h.object_id::text = v_prefix || s.slot::text
            AND h.released_ts IS NULL
            AND h.expires_ts > v_now
        LIMIT 1
    ) AS l ON true
    ORDER BY l.expires_ts NULLS FIRST, s.slot;
END
$$;
