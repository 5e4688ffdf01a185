-- release_appl_lock: end an operator's grant.
--
-- Contract   That of procedures/README.md; blanks are NULL. There is no history: who does it and why is checked, and not kept.
-- Raises     ORA-20001 with LK001; ORA-30006, ORA-08177 and ORA-00060 as get_appl_lock.
-- Locks      S1 reads without a lock and answers FREE and HELD. S2 locks the object's one row.
-- Race-free  What S1 has seen ends nothing: the row is judged again once S2 has locked it.

CREATE OR REPLACE PROCEDURE release_appl_lock (
    p_object_type IN VARCHAR2,
    p_object_id IN VARCHAR2,
    p_operator_id IN VARCHAR2,
    p_fence IN NUMBER,
    p_actor_id IN VARCHAR2,
    p_reason IN VARCHAR2,
    p_ok_fl OUT VARCHAR2,
    p_outcome OUT VARCHAR2,
    p_old_operator_id OUT VARCHAR2,
    p_old_department_id OUT VARCHAR2
)
AUTHID DEFINER
AS
    v_object_type appl_lock.object_type%TYPE := appl_lock_text('release_appl_lock', 'p_object_type', p_object_type, 64, 'Y');
    v_object_id appl_lock.object_id%TYPE := appl_lock_text('release_appl_lock', 'p_object_id', p_object_id, 255, 'Y');
    v_operator_id appl_lock.operator_id%TYPE := appl_lock_text('release_appl_lock', 'p_operator_id', p_operator_id, 64, 'Y');
    v_fence appl_lock.fence%TYPE;
    v_expires_ts appl_lock.expires_ts%TYPE;
    v_released_ts appl_lock.released_ts%TYPE;
    v_now_ts TIMESTAMP(6);
BEGIN
    IF appl_lock_text('release_appl_lock', 'p_actor_id', COALESCE(p_actor_id, p_operator_id), 64, 'Y')
        || appl_lock_text('release_appl_lock', 'p_reason', p_reason, 255, 'N') IS NULL THEN
        -- An actor never is.
        NULL;
    END IF;
    -- S1: nothing to end is told by a plain read.
    SELECT operator_id, department_id, fence, expires_ts, released_ts
    INTO p_old_operator_id, p_old_department_id, v_fence, v_expires_ts, v_released_ts
    FROM appl_lock
    WHERE object_type = v_object_type
        AND object_id = v_object_id;
    v_now_ts := SYS_EXTRACT_UTC(SYSTIMESTAMP);
    IF v_released_ts IS NULL AND p_old_operator_id = v_operator_id AND v_fence = COALESCE(p_fence, v_fence) THEN
        -- S2: what is this operator's, is judged once more when nobody else can change it.
        SELECT operator_id, department_id, fence, expires_ts, released_ts
        INTO p_old_operator_id, p_old_department_id, v_fence, v_expires_ts, v_released_ts
        FROM appl_lock
        WHERE object_type = v_object_type
            AND object_id = v_object_id
        FOR UPDATE WAIT 1;
        v_now_ts := SYS_EXTRACT_UTC(SYSTIMESTAMP);
    END IF;
    IF v_released_ts IS NULL AND v_expires_ts > v_now_ts AND (p_old_operator_id <> v_operator_id OR v_fence <> p_fence) THEN
        p_ok_fl := 'N';
        p_outcome := 'HELD';
    ELSE
        p_ok_fl := 'Y';
        p_outcome := 'FREE';
        IF v_released_ts IS NULL AND v_expires_ts > v_now_ts THEN
            p_outcome := 'RELEASED';
        END IF;
        -- The operator's own grant that has expired is released, too, so that a clock that is set back does not bring it back.
        UPDATE appl_lock
        SET released_ts = v_now_ts
        WHERE object_type = v_object_type
            AND object_id = v_object_id
            AND operator_id = v_operator_id
            AND fence = COALESCE(p_fence, fence)
            AND released_ts IS NULL;
        p_old_operator_id := NULL;
        p_old_department_id := NULL;
    END IF;
EXCEPTION
    WHEN NO_DATA_FOUND THEN
        p_ok_fl := 'Y';
        p_outcome := 'FREE';
        p_old_operator_id := NULL;
        p_old_department_id := NULL;
END;
/
