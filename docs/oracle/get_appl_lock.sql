-- get_appl_lock: take or renew the lock on an object for one operator until it expires.
--
-- Contract   That of procedures/README.md; a blank department is NULL, and so is no note.
-- Raises     ORA-20001 with LK001, ORA-20003 with LK003; ORA-30006 after 1 s of waiting for another transaction, ORA-08177 and
--            ORA-00060 as Oracle has them.
-- Locks      S1 reads without a lock and answers HELD. S2 locks the object's one row, until the caller's transaction ends.
-- Race-free  What S1 has seen grants nothing: the row is judged again once S2 has locked it, at a time that is read then.
--            Without a row the primary key lets one of two inserts through; the other waits for that transaction, without a
--            limit, because Oracle has none for it, and then finds the row.

CREATE OR REPLACE PROCEDURE get_appl_lock (
    p_object_type IN VARCHAR2,
    p_object_id IN VARCHAR2,
    p_operator_id IN VARCHAR2,
    p_department_id IN VARCHAR2,
    p_ttl_seconds IN NUMBER,
    p_new_fl IN VARCHAR2,
    p_ok_fl OUT VARCHAR2,
    p_outcome OUT VARCHAR2,
    p_old_operator_id OUT VARCHAR2,
    p_old_department_id OUT VARCHAR2,
    p_fence OUT NUMBER,
    p_expires_ts OUT TIMESTAMP,
    p_seconds_left OUT NUMBER,
    p_note OUT VARCHAR2
)
AUTHID DEFINER
AS
    v_object_type appl_lock.object_type%TYPE := appl_lock_text('get_appl_lock', 'p_object_type', p_object_type, 64, 'Y');
    v_object_id appl_lock.object_id%TYPE := appl_lock_text('get_appl_lock', 'p_object_id', p_object_id, 255, 'Y');
    v_operator_id appl_lock.operator_id%TYPE := appl_lock_text('get_appl_lock', 'p_operator_id', p_operator_id, 64, 'Y');
    v_department_id appl_lock.department_id%TYPE := appl_lock_text('get_appl_lock', 'p_department_id', p_department_id, 64, 'N');
    v_ttl_seconds NUMBER := appl_lock_ttl('get_appl_lock', p_ttl_seconds);
    v_new_fl VARCHAR2(32767) := RTRIM(p_new_fl, ' ');
    v_old_fence appl_lock.fence%TYPE;
    v_old_ttl_seconds appl_lock.ttl_seconds%TYPE;
    v_lock_ts appl_lock.lock_ts%TYPE;
    v_now_ts TIMESTAMP(6);
BEGIN
    IF v_new_fl NOT IN ('Y', 'N') THEN
        RAISE_APPLICATION_ERROR(-20001, 'LK001 get_appl_lock: p_new_fl must be Y or N');
    END IF;
    FOR v_round IN 1 .. 30 LOOP
        BEGIN
            -- S1: a plain read refuses. What was released has ended, whatever the clock says.
            SELECT operator_id, department_id, NVL2(released_ts, TIMESTAMP '1970-01-01 00:00:00', expires_ts), note
            INTO p_old_operator_id, p_old_department_id, p_expires_ts, p_note
            FROM appl_lock
            WHERE object_type = v_object_type
                AND object_id = v_object_id;
            v_now_ts := SYS_EXTRACT_UTC(SYSTIMESTAMP);
            IF p_expires_ts <= v_now_ts OR (p_old_operator_id = v_operator_id AND COALESCE(v_new_fl, 'N') = 'N') THEN
                -- S2: what is free or this operator's own, is judged once more when nobody else can change it.
                SELECT operator_id, department_id, fence, lock_ts, ttl_seconds, NVL2(released_ts, TIMESTAMP '1970-01-01 00:00:00', expires_ts), note
                INTO p_old_operator_id, p_old_department_id, v_old_fence, v_lock_ts, v_old_ttl_seconds, p_expires_ts, p_note
                FROM appl_lock
                WHERE object_type = v_object_type
                    AND object_id = v_object_id
                FOR UPDATE WAIT 1;
                v_now_ts := SYS_EXTRACT_UTC(SYSTIMESTAMP);
            END IF;
            IF p_expires_ts > v_now_ts AND (p_old_operator_id <> v_operator_id OR v_new_fl = 'Y') THEN
                p_ok_fl := 'N';
                p_outcome := 'HELD';
                p_fence := 0;
            ELSIF p_expires_ts > v_now_ts THEN
                p_ok_fl := 'Y';
                p_outcome := 'RENEWED';
                v_ttl_seconds := COALESCE(v_ttl_seconds, v_old_ttl_seconds);
                p_fence := v_old_fence;
                v_department_id := COALESCE(v_department_id, p_old_department_id);
                p_expires_ts := v_now_ts + NUMTODSINTERVAL(v_ttl_seconds, 'SECOND');
                UPDATE appl_lock
                SET department_id = v_department_id,
                    lock_ts = GREATEST(v_now_ts, v_lock_ts + INTERVAL '0.000001' SECOND),
                    ttl_seconds = v_ttl_seconds,
                    expires_ts = p_expires_ts
                WHERE object_type = v_object_type
                    AND object_id = v_object_id;
            ELSE
                p_ok_fl := 'Y';
                p_outcome := 'ACQUIRED';
                p_note := NULL;
                v_ttl_seconds := COALESCE(v_ttl_seconds, 604800);
                p_fence := appl_lock_fence(v_now_ts, v_old_fence);
                p_expires_ts := v_now_ts + NUMTODSINTERVAL(v_ttl_seconds, 'SECOND');
                UPDATE appl_lock
                SET operator_id = v_operator_id,
                    department_id = v_department_id,
                    fence = p_fence,
                    acquired_ts = v_now_ts,
                    lock_ts = GREATEST(v_now_ts, v_lock_ts + INTERVAL '0.000001' SECOND),
                    ttl_seconds = v_ttl_seconds,
                    expires_ts = p_expires_ts,
                    note = p_note,
                    released_ts = NULL
                WHERE object_type = v_object_type
                    AND object_id = v_object_id;
            END IF;
        EXCEPTION
            WHEN NO_DATA_FOUND THEN
                BEGIN
                    v_now_ts := SYS_EXTRACT_UTC(SYSTIMESTAMP);
                    p_ok_fl := 'Y';
                    p_outcome := 'ACQUIRED';
                    p_note := NULL;
                    p_fence := appl_lock_fence(v_now_ts, 0);
                    v_ttl_seconds := COALESCE(v_ttl_seconds, 604800);
                    p_expires_ts := v_now_ts + NUMTODSINTERVAL(v_ttl_seconds, 'SECOND');
                    INSERT INTO appl_lock (
                        object_type,
                        object_id,
                        operator_id,
                        department_id,
                        fence,
                        acquired_ts,
                        lock_ts,
                        ttl_seconds,
                        expires_ts
                    )
                    VALUES (
                        v_object_type,
                        v_object_id,
                        v_operator_id,
                        v_department_id,
                        p_fence,
                        v_now_ts,
                        v_now_ts,
                        v_ttl_seconds,
                        p_expires_ts
                    );
                EXCEPTION
                    WHEN DUP_VAL_ON_INDEX THEN
                        -- Somebody else was first: look again.
                        p_ok_fl := NULL;
                END;
        END;
        IF p_ok_fl IS NOT NULL THEN
            IF p_ok_fl = 'Y' THEN
                p_old_operator_id := NULL;
                p_old_department_id := NULL;
            END IF;
            p_seconds_left := CEIL(appl_lock_seconds(v_now_ts, p_expires_ts));
            RETURN;
        END IF;
    END LOOP;
    RAISE_APPLICATION_ERROR(-20003, 'LK003 get_appl_lock: the object changes hands too often, call again');
END;
/
