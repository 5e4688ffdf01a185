-- inquire_appl_lock: show who holds an object, since when and until when.
--
-- Contract   Y and the lock, when somebody holds the object. N and blanks (empty strings, fence 0, NULL timestamps), when it is
--            free or expired.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255. Trailing blanks are trimmed.
-- Out        p_ok_fl, p_operator_id, p_department_id, p_fence, p_acquired_ts, p_lock_ts, p_expires_ts,
--            p_seconds_left (from now to p_expires_ts, 0 when N), p_note (empty when N).
-- Raises     LK001 invalid argument. Nothing else on purpose.
-- Locks      Nothing; it neither waits nor writes.
-- Race-free  One read of one committed row version: what it says was true at one moment.
--            REPEATABLE READ and SERIALIZABLE: that moment is the transaction's snapshot.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION inquire_appl_lock_row(...)
-- A named row, because OUT parameters are described anew in each call.
RETURNS inquire_appl_lock_answer
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
DECLARE
    v_answer inquire_appl_lock_answer;
BEGIN
    LOOP
        SELECT
            'Y',
            l.operator_id,
            l.department_id,
            l.fence,
            l.acquired_ts,
            l.lock_ts,
            l.expires_ts,
            appl_lock_seconds_left(l.expires_ts),
            l.note
        INTO v_answer
        FROM appl_lock AS l
        WHERE l.object_type::text = p_object_type
            AND l.object_id::text = p_object_id
            AND l.released_ts IS NULL
            AND l.expires_ts > clock_timestamp();
        IF FOUND THEN
            RETURN v_answer;
        END IF;
        -- No row matched: the arguments may have trailing blanks, or be invalid.
        IF (
            p_object_type NOT LIKE '% '
            AND p_object_id NOT LIKE '% '
            AND char_length(p_object_type) BETWEEN 1 AND 64
            AND position(':' IN p_object_type) = 0
            AND char_length(p_object_id) BETWEEN 1 AND 255
            AND p_object_type || p_object_id !~ E'[\\x01-\\x1f\\x7f-\\u009f]'
        ) OR (
            p_object_type = appl_lock_text('inquire_appl_lock', 'p_object_type', p_object_type, 64, true)
            AND p_object_id = appl_lock_text('inquire_appl_lock', 'p_object_id', p_object_id, 255, true)
        ) THEN
            RETURN ROW('N', '', '', 0, NULL, NULL, NULL, 0, '')::inquire_appl_lock_answer;
        END IF;
        p_object_type := rtrim(p_object_type, ' ');
        p_object_id := rtrim(p_object_id, ' ');
    END LOOP;
END
$$;
