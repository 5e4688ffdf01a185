-- inquire_appl_lock: who holds an object, since when and until when.
--
-- Contract   Y and the lock, when somebody holds the object.
--            N and blanks (empty strings, fence 0, NULL timestamps), when it is free or expired.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255. Trailing blanks are trimmed.
-- Out        p_return_cd, p_operator_id, p_department_id, p_fence, p_acquired_ts, p_lock_ts, p_expires_ts,
--            p_seconds_left (from now to p_expires_ts, 0 when N), p_note (empty when N).
-- Raises     LK001 invalid argument. Nothing else on purpose.
-- Locks      Nothing; never waits and never writes.
-- Race-free  One read of one committed row version: what it says was true at one moment.
--            REPEATABLE READ and SERIALIZABLE: that moment is the transaction's snapshot.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION inquire_appl_lock_row(
    p_object_type text,
    p_object_id text
)
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
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
            AND l.expires_ts > clock_timestamp();
        IF FOUND THEN
            RETURN v_answer;
        END IF;
        -- Whoever names a row that is there has named it well. Blanks at the end name none.
        IF (
            p_object_type NOT LIKE '% '
            AND p_object_id NOT LIKE '% '
            AND char_length(p_object_type) BETWEEN 1 AND 64
            AND position(':' IN p_object_type) = 0
            AND char_length(p_object_id) BETWEEN 1 AND 255
        ) THEN
            RETURN ROW('N', '', '', 0, NULL, NULL, NULL, 0, '')::inquire_appl_lock_answer;
        END IF;
        p_object_type := appl_lock_text('inquire_appl_lock', 'p_object_type', p_object_type, 64, true);
        p_object_id := appl_lock_text('inquire_appl_lock', 'p_object_id', p_object_id, 255, true);
    END LOOP;
END
$$;

CREATE OR REPLACE PROCEDURE inquire_appl_lock(
    IN p_object_type text,
    IN p_object_id text,
    INOUT p_return_cd character(1) DEFAULT NULL,
    INOUT p_operator_id text DEFAULT NULL,
    INOUT p_department_id text DEFAULT NULL,
    INOUT p_fence bigint DEFAULT NULL,
    INOUT p_acquired_ts timestamptz DEFAULT NULL,
    INOUT p_lock_ts timestamptz DEFAULT NULL,
    INOUT p_expires_ts timestamptz DEFAULT NULL,
    INOUT p_seconds_left bigint DEFAULT NULL,
    INOUT p_note text DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT
        r.p_return_cd,
        r.p_operator_id,
        r.p_department_id,
        r.p_fence,
        r.p_acquired_ts,
        r.p_lock_ts,
        r.p_expires_ts,
        r.p_seconds_left,
        r.p_note
    INTO p_return_cd, p_operator_id, p_department_id, p_fence, p_acquired_ts, p_lock_ts, p_expires_ts, p_seconds_left, p_note
    FROM inquire_appl_lock_row(p_object_type, p_object_id) AS r;
END
$$;

COMMENT ON FUNCTION inquire_appl_lock_row(text, text) IS
    'Who holds an object, since when and until when; the answer is one row.';
COMMENT ON PROCEDURE inquire_appl_lock(text, text, character, text, text, bigint, timestamptz, timestamptz, timestamptz, bigint, text) IS
    'Who holds an object, since when and until when.';

REVOKE ALL ON FUNCTION inquire_appl_lock_row(text, text) FROM PUBLIC;
REVOKE ALL ON PROCEDURE inquire_appl_lock(text, text, character, text, text, bigint, timestamptz, timestamptz, timestamptz, bigint, text) FROM PUBLIC;
