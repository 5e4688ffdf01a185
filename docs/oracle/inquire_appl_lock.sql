-- inquire_appl_lock: who holds an object, since when and until when.
--
-- Contract   That of procedures/README.md; blanks are NULL.
-- Raises     ORA-20001 with LK001.
-- Locks      None: one read, which waits for nobody.

CREATE OR REPLACE PROCEDURE inquire_appl_lock (
    p_object_type IN VARCHAR2,
    p_object_id IN VARCHAR2,
    p_ok_fl OUT VARCHAR2,
    p_operator_id OUT VARCHAR2,
    p_department_id OUT VARCHAR2,
    p_fence OUT NUMBER,
    p_acquired_ts OUT TIMESTAMP,
    p_lock_ts OUT TIMESTAMP,
    p_expires_ts OUT TIMESTAMP,
    p_seconds_left OUT NUMBER,
    p_note OUT VARCHAR2
)
AUTHID DEFINER
AS
    v_object_type appl_lock.object_type%TYPE := appl_lock_text('inquire_appl_lock', 'p_object_type', p_object_type, 64, 'Y');
    v_object_id appl_lock.object_id%TYPE := appl_lock_text('inquire_appl_lock', 'p_object_id', p_object_id, 255, 'Y');
    v_now_ts TIMESTAMP(6) := SYS_EXTRACT_UTC(SYSTIMESTAMP);
BEGIN
    SELECT operator_id, department_id, fence, acquired_ts, lock_ts, expires_ts, note
    INTO p_operator_id, p_department_id, p_fence, p_acquired_ts, p_lock_ts, p_expires_ts, p_note
    FROM appl_lock
    WHERE object_type = v_object_type
        AND object_id = v_object_id
        AND released_ts IS NULL
        AND expires_ts > v_now_ts;
    p_ok_fl := 'Y';
    p_seconds_left := CEIL(appl_lock_seconds(v_now_ts, p_expires_ts));
EXCEPTION
    WHEN NO_DATA_FOUND THEN
        p_ok_fl := 'N';
        p_operator_id := NULL;
        p_department_id := NULL;
        p_fence := 0;
        p_acquired_ts := NULL;
        p_lock_ts := NULL;
        p_expires_ts := NULL;
        p_seconds_left := 0;
        p_note := NULL;
END;
/
