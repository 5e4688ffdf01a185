-- serialize_appl_lock: one transaction at a time on an object, until it commits or rolls back.
--
-- Contract   That of procedures/README.md.
-- Raises     ORA-20001 with LK001; ORA-00060 (deadlock) as Oracle has it.
-- Locks      The key of a row that is inserted and deleted. Who inserts the same key waits for the transaction that has it,
--            without a limit, and nothing is left behind: the semaphore of the article.

-- Where serialize_appl_lock takes turns. It has no committed rows.
CREATE TABLE appl_lock_serialize (
    object_type VARCHAR2(64 CHAR) NOT NULL,
    object_id VARCHAR2(255 CHAR) NOT NULL,
    CONSTRAINT appl_lock_serialize_pk PRIMARY KEY (object_type, object_id)
)
/

-- A text argument without its trailing blanks, or LK001.
CREATE OR REPLACE FUNCTION appl_lock_text (
    p_routine IN VARCHAR2,
    p_argument IN VARCHAR2,
    p_value IN VARCHAR2,
    p_max_length IN NUMBER
) RETURN VARCHAR2
AS
    v_value VARCHAR2(32767) := RTRIM(p_value, ' ');
BEGIN
    IF v_value IS NULL THEN
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
    IF REGEXP_LIKE(v_value, '[[:cntrl:]]') THEN
        RAISE_APPLICATION_ERROR(-20001, 'LK001 ' || p_routine || ': ' || p_argument || ' must not contain a control character');
    END IF;
    RETURN v_value;
END;
/

CREATE OR REPLACE PROCEDURE serialize_appl_lock (
    p_object_type IN VARCHAR2,
    p_object_id IN VARCHAR2
)
AUTHID DEFINER
AS
    v_object_type appl_lock.object_type%TYPE := appl_lock_text('serialize_appl_lock', 'p_object_type', p_object_type, 64);
    v_object_id appl_lock.object_id%TYPE := appl_lock_text('serialize_appl_lock', 'p_object_id', p_object_id, 255);
BEGIN
    INSERT INTO appl_lock_serialize (object_type, object_id)
    VALUES (v_object_type, v_object_id);
    DELETE FROM appl_lock_serialize
    WHERE object_type = v_object_type
        AND object_id = v_object_id;
END;
/
