-- breaks: lock timeout: a table is used before
-- unawait_appl_lock: say that an operator does not wait for an object any more.
-- Contract   As in procedures/db2.
-- In         As in procedures/db2.
-- Out        As in procedures/db2.
-- Raises     As in procedures/db2.
-- Locks      As in procedures/db2.
-- Race-free  As in procedures/db2.
-- Differs    As in procedures/db2.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE unawait_appl_lock (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_client_id VARCHAR(4000)
)
SPECIFIC unawait_appl_lock
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
BEGIN
    DECLARE v_object_type VARCHAR(4000);
    DECLARE v_object_id VARCHAR(4000);
    DECLARE v_operator_id VARCHAR(4000);
    DECLARE v_client_id VARCHAR(4000);
    DELETE FROM appl_lock_waiter
    WHERE object_type = v_object_type
        AND object_id = v_object_id
        AND operator_id = v_operator_id
        AND client_id = v_client_id;
END
@

COMMENT ON SPECIFIC PROCEDURE unawait_appl_lock IS 'Say that an operator does not wait for an object any more.'
@
