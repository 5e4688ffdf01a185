-- assert_appl_lock: fail unless exactly this grant is live, and keep it so to the end of the transaction.
--
-- Contract   Returns when p_operator_id holds the object under p_fence; then nobody releases, transfers or takes over that
--            grant before the caller's transaction ends, even if it expires meanwhile. Called first in the transaction that
--            writes the protected data, it fences off a holder that lost its lock without noticing. Under autocommit it is a
--            check only.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255;
--            p_fence 1 or greater. Trailing blanks are trimmed first.
-- Out        None; the row form returns p_ok_fl 'Y'. It leaves the grant in the setting applock.asserted, which
--            the transaction's end empties, for the guards of docs/guard.md.
-- Raises     LK001 invalid argument. LK002 when the grant is not live; the message names the holder.
--            55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has them.
-- Locks      S1 takes a share lock on the object's one row and decides; held to the end of the caller's
--            transaction. Other asserts of the grant do not wait for it; its renewal elsewhere does.
-- Race-free  Assert against take-over, release, transfer: S1 names the grant and is judged on the row as it is once it is
--            locked.
--            REPEATABLE READ and SERIALIZABLE: a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION assert_appl_lock_row(...)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    v_object_type text := rtrim(p_object_type, ' ');
    v_object_id text := rtrim(p_object_id, ' ');
    v_operator_id text := rtrim(p_operator_id, ' ');
    v_asserted text;
    v_grant text;
    v_holder text;
BEGIN
    -- S1: is this grant live?
    SELECT 'Y'
    INTO p_ok_fl
    FROM appl_lock AS l
    WHERE l.object_type::text = v_object_type
        AND l.object_id::text = v_object_id
        AND l.operator_id::text = v_operator_id
        AND l.fence = p_fence
        AND l.released_ts IS NULL
        AND l.expires_ts > clock_timestamp()
    FOR SHARE;
    IF FOUND THEN
        -- Newest first, one line each. A line that is cut off loses its end, so no guard matches it.
        v_grant := E'\n' || p_fence::text || E'\t' || v_operator_id || E'\t' || v_object_type || ':' || v_object_id;
        v_asserted := coalesce(nullif(current_setting('applock.asserted', true), ''), E'\n');
        IF strpos(v_asserted, v_grant || E'\n') = 0 THEN
            v_asserted := set_config('applock.asserted', left(v_grant || v_asserted, 16000), true);
        END IF;
        RETURN;
    END IF;

    -- No grant matched, so the arguments may be invalid: a match would prove them valid.
    PERFORM appl_lock_text('assert_appl_lock', 'p_object_type', p_object_type, 64, true);
    PERFORM appl_lock_text('assert_appl_lock', 'p_object_id', p_object_id, 255, true);
    PERFORM appl_lock_text('assert_appl_lock', 'p_operator_id', p_operator_id, 255, true);
    PERFORM appl_lock_number('assert_appl_lock', 'p_fence', p_fence, NULL::integer, NULL::integer);
    SELECT pg_catalog.format('%s holds it with fence %s', l.operator_id, l.fence)
    INTO v_holder
    FROM appl_lock AS l
    WHERE l.object_type::text = v_object_type
        AND l.object_id::text = v_object_id
        AND l.released_ts IS NULL
        AND l.expires_ts > clock_timestamp();
    RAISE EXCEPTION USING
        ERRCODE = 'LK002',
        MESSAGE = pg_catalog.format(
            'assert_appl_lock: %s does not hold %s:%s with fence %s: %s',
            v_operator_id, v_object_type, v_object_id, p_fence, coalesce(v_holder, 'nobody holds it')
        );
END
$$;
