-- transfer_appl_lock: hand an operator's lock to another one, as a new grant.
--
-- Contract   That of procedures/README.md; blanks are NULL. There is no history: who does it and why is checked, and not kept.
-- Raises     ORA-20001 with LK001; ORA-30006, ORA-08177 and ORA-00060 as get_appl_lock.
-- Locks      S1 reads without a lock and answers FREE and HELD. S2 locks the object's one row.
-- Race-free  What S1 has seen hands nothing over: the row is judged again once S2 has locked it.

CREATE OR REPLACE PROCEDURE transfer_appl_lock (
    p_object_type IN VARCHAR2,
    p_object_id IN VARCHAR2,
    p_from_operator_id IN VARCHAR2,
    p_to_operator_id IN VARCHAR2,
    p_to_department_id IN VARCHAR2,
    p_ttl_seconds IN NUMBER,
    p_actor_id IN VARCHAR2,
    p_reason IN VARCHAR2,
    p_ok_fl OUT VARCHAR2,
    p_outcome OUT VARCHAR2,
    p_old_operator_id OUT VARCHAR2,
    p_old_department_id OUT VARCHAR2,
    p_fence OUT NUMBER,
    p_expires_ts OUT TIMESTAMP,
    p_seconds_left OUT NUMBER
)
AUTHID DEFINER
AS
    v_object_type appl_lock.object_type%TYPE := appl_lock_text('transfer_appl_lock', 'p_object_type', p_object_type, 64, 'Y');
    v_object_id appl_lock.object_id%TYPE := appl_lock_text('transfer_appl_lock', 'p_object_id', p_object_id, 255, 'Y');
    v_from_operator_id appl_lock.operator_id%TYPE := appl_lock_text('transfer_appl_lock', 'p_from_operator_id', p_from_operator_id, 64, 'Y');
    v_to_operator_id appl_lock.operator_id%TYPE := appl_lock_text('transfer_appl_lock', 'p_to_operator_id', p_to_operator_id, 64, 'Y');
    v_to_department_id appl_lock.department_id%TYPE := appl_lock_text('transfer_appl_lock', 'p_to_department_id', p_to_department_id, 64, 'N');
    v_ttl_seconds NUMBER := appl_lock_ttl('transfer_appl_lock', p_ttl_seconds);
    v_old_fence appl_lock.fence%TYPE;
    v_lock_ts appl_lock.lock_ts%TYPE;
    v_old_ttl_seconds appl_lock.ttl_seconds%TYPE;
    v_now_ts TIMESTAMP(6);
BEGIN
    IF appl_lock_text('transfer_appl_lock', 'p_actor_id', p_actor_id, 64, 'N')
        || appl_lock_text('transfer_appl_lock', 'p_reason', p_reason, 255, 'N') IS NULL THEN
        -- They are checked, and not kept.
        NULL;
    END IF;
    -- S1: nothing to hand over is told by a plain read.
    SELECT operator_id, department_id, NVL2(released_ts, TIMESTAMP '1970-01-01 00:00:00', expires_ts)
    INTO p_old_operator_id, p_old_department_id, p_expires_ts
    FROM appl_lock
    WHERE object_type = v_object_type
        AND object_id = v_object_id;
    v_now_ts := SYS_EXTRACT_UTC(SYSTIMESTAMP);
    IF p_expires_ts > v_now_ts AND p_old_operator_id = v_from_operator_id THEN
        -- S2: what is the first operator's, is judged once more when nobody else can change it.
        SELECT operator_id, department_id, fence, lock_ts, ttl_seconds, NVL2(released_ts, TIMESTAMP '1970-01-01 00:00:00', expires_ts)
        INTO p_old_operator_id, p_old_department_id, v_old_fence, v_lock_ts, v_old_ttl_seconds, p_expires_ts
        FROM appl_lock
        WHERE object_type = v_object_type
            AND object_id = v_object_id
        FOR UPDATE WAIT 1;
        v_now_ts := SYS_EXTRACT_UTC(SYSTIMESTAMP);
    END IF;
    IF p_expires_ts <= v_now_ts THEN
        RAISE NO_DATA_FOUND;
    ELSIF p_old_operator_id <> v_from_operator_id THEN
        p_ok_fl := 'N';
        p_outcome := 'HELD';
        p_fence := 0;
    ELSE
        p_ok_fl := 'Y';
        p_outcome := 'TRANSFERRED';
        p_old_operator_id := NULL;
        p_old_department_id := NULL;
        v_ttl_seconds := COALESCE(v_ttl_seconds, v_old_ttl_seconds);
        p_fence := appl_lock_fence(v_now_ts, v_old_fence);
        p_expires_ts := v_now_ts + NUMTODSINTERVAL(v_ttl_seconds, 'SECOND');
        UPDATE appl_lock
        SET operator_id = v_to_operator_id,
            department_id = v_to_department_id,
            note = NULL,
            fence = p_fence,
            acquired_ts = v_now_ts,
            lock_ts = GREATEST(v_now_ts, v_lock_ts + INTERVAL '0.000001' SECOND),
            ttl_seconds = v_ttl_seconds,
            expires_ts = p_expires_ts
        WHERE object_type = v_object_type
            AND object_id = v_object_id;
    END IF;
    p_seconds_left := CEIL(appl_lock_seconds(v_now_ts, p_expires_ts));
EXCEPTION
    WHEN NO_DATA_FOUND THEN
        p_ok_fl := 'N';
        p_outcome := 'FREE';
        p_old_operator_id := NULL;
        p_old_department_id := NULL;
        p_fence := 0;
        p_expires_ts := NULL;
        p_seconds_left := 0;
END;
/
