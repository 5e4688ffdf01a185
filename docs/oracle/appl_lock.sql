-- The tables of applock for Oracle, and what all procedures use. Text: docs/oracle.md tells what of it was checked.

-- Oracle has no empty string: '' is NULL. So department_id and note may be NULL, and are NULL where other dialects have them empty.
-- TIMESTAMP in UTC, as in the other dialects.
CREATE TABLE appl_lock (
    object_type VARCHAR2(64 CHAR) NOT NULL,
    object_id VARCHAR2(255 CHAR) NOT NULL,
    operator_id VARCHAR2(64 CHAR) NOT NULL,
    department_id VARCHAR2(64 CHAR),
    fence NUMBER(19) NOT NULL,
    acquired_ts TIMESTAMP(6) NOT NULL,
    lock_ts TIMESTAMP(6) NOT NULL,
    ttl_seconds NUMBER(19) NOT NULL,
    expires_ts TIMESTAMP(6) NOT NULL,
    note VARCHAR2(255 CHAR),
    released_ts TIMESTAMP(6),
    CONSTRAINT appl_lock_pk PRIMARY KEY (object_type, object_id),
    CONSTRAINT appl_lock_object_type_ck CHECK (INSTR(object_type, ':') = 0),
    CONSTRAINT appl_lock_fence_ck CHECK (fence > 0),
    CONSTRAINT appl_lock_lock_ts_ck CHECK (lock_ts >= acquired_ts)
)
/

-- Where serialize_appl_lock takes turns. It has no committed rows.
CREATE TABLE appl_lock_serialize (
    object_type VARCHAR2(64 CHAR) NOT NULL,
    object_id VARCHAR2(255 CHAR) NOT NULL,
    CONSTRAINT appl_lock_serialize_pk PRIMARY KEY (object_type, object_id)
)
/

-- The seconds from one time to another, with their fraction.
CREATE OR REPLACE FUNCTION appl_lock_seconds (
    p_from_ts IN TIMESTAMP,
    p_to_ts IN TIMESTAMP
) RETURN NUMBER
AS
    v_between INTERVAL DAY(9) TO SECOND(6) := p_to_ts - p_from_ts;
BEGIN
    RETURN EXTRACT(DAY FROM v_between) * 86400
        + EXTRACT(HOUR FROM v_between) * 3600
        + EXTRACT(MINUTE FROM v_between) * 60
        + EXTRACT(SECOND FROM v_between);
END;
/

-- The fence of a grant that begins now, after a grant with the old fence (0: none).
CREATE OR REPLACE FUNCTION appl_lock_fence (
    p_now_ts IN TIMESTAMP,
    p_old_fence IN NUMBER
) RETURN NUMBER
AS
BEGIN
    RETURN GREATEST(
        p_old_fence + 1,
        TRUNC(appl_lock_seconds(TIMESTAMP '1970-01-01 00:00:00', p_now_ts) * 1000000)
    );
END;
/

-- A text argument without its trailing blanks, or LK001.
CREATE OR REPLACE FUNCTION appl_lock_text (
    p_routine IN VARCHAR2,
    p_argument IN VARCHAR2,
    p_value IN VARCHAR2,
    p_max_length IN NUMBER,
    p_required IN VARCHAR2
) RETURN VARCHAR2
AS
    v_value VARCHAR2(32767) := RTRIM(p_value, ' ');
BEGIN
    IF v_value IS NULL AND p_required = 'Y' THEN
        RAISE_APPLICATION_ERROR(-20001, 'LK001 ' || p_routine || ': ' || p_argument || ' must not be empty');
    END IF;
    IF LENGTH(v_value) > p_max_length THEN
        RAISE_APPLICATION_ERROR(
            -20001, 'LK001 ' || p_routine || ': ' || p_argument || ' has more than ' || TO_CHAR(p_max_length) || ' characters'
        );
    END IF;
    IF p_argument = 'p_object_type' AND INSTR(v_value, ':') > 0 THEN
        RAISE_APPLICATION_ERROR(-20001, 'LK001 ' || p_routine || ': p_object_type must not contain a colon');
    END IF;
    IF p_argument NOT IN ('p_note', 'p_reason') AND REGEXP_LIKE(v_value, '[[:cntrl:]]') THEN
        RAISE_APPLICATION_ERROR(-20001, 'LK001 ' || p_routine || ': ' || p_argument || ' must not contain a control character');
    END IF;
    RETURN v_value;
END;
/

-- A ttl, or LK001. NULL stays NULL.
CREATE OR REPLACE FUNCTION appl_lock_ttl (
    p_routine IN VARCHAR2,
    p_ttl_seconds IN NUMBER
) RETURN NUMBER
AS
BEGIN
    IF p_ttl_seconds NOT BETWEEN 1 AND 315360000 OR p_ttl_seconds <> TRUNC(p_ttl_seconds) THEN
        RAISE_APPLICATION_ERROR(-20001, 'LK001 ' || p_routine || ': p_ttl_seconds must be whole seconds from 1 to 315360000');
    END IF;
    RETURN p_ttl_seconds;
END;
/
