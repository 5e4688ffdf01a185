-- breaks: characters: has "\tINS"
-- serialize_appl_lock: let one transaction at a time work on an object.
-- Contract   As in procedures/db2.
-- In         As in procedures/db2.
-- Out        As in procedures/db2.
-- Raises     As in procedures/db2.
-- Locks      As in procedures/db2.
-- Race-free  As in procedures/db2.
-- Differs    As in procedures/db2.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE serialize_appl_lock (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000)
)
SPECIFIC serialize_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
main: BEGIN
    DECLARE v_object_type VARCHAR(4000);
    DECLARE v_object_id VARCHAR(4000);
    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
	INSERT INTO appl_lock_serialize (object_type, object_id)
    VALUES (v_object_type, v_object_id);
    DELETE FROM appl_lock_serialize
    WHERE object_type = v_object_type
        AND object_id = v_object_id;
END main
@

COMMENT ON SPECIFIC PROCEDURE serialize_appl_lock IS 'Let one transaction at a time work on an object.'
@
