-- For Db2 for z/OS 12, function level 507, and later. Made by `make snapshot` from procedures/db2/retract_appl_lock_waiter.sql
-- with the deltas of internal/build/snapshot/zos.go: edit it there. What is different from the text below:
-- a wait for another transaction lasts as long as the subsystem says (IRLMRWT), not 1 s; a row that another
-- transaction is updating is waited for by a plain read, too.
--
-- retract_appl_lock_waiter: say that an operator does not wait for an object any more.
--
-- Contract   The operator is no waiter of the program p_client_id for this object, whether it was or not.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64;
--            p_client_id 1..64. Trailing blanks are trimmed first.
-- Out        None; the row form returns p_return_cd 'Y'.
-- Raises     LK001 invalid argument. -911 and -913 as get_appl_lock.
-- Locks      S1 deletes the waiter's one row; held to the end of the caller's transaction. It locks nothing
--            else, so that alone it is in no circle of waiting calls.
-- Race-free  Against announce, poll or purge of the same row: whoever locks it first goes first. An announce that
--            waited inserts a new row.
-- Differs    Nothing.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE retract_appl_lock_waiter (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_client_id VARCHAR(4000)
)
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
PARAMETER CCSID UNICODE
ISOLATION LEVEL CS
CONCURRENT ACCESS RESOLUTION USE CURRENTLY COMMITTED
VALIDATE BIND
DISALLOW DEBUG MODE
BEGIN
    DECLARE v_object_type VARCHAR(4000);
    DECLARE v_object_id VARCHAR(4000);
    DECLARE v_operator_id VARCHAR(4000);
    DECLARE v_client_id VARCHAR(4000);

    SET v_object_type = RTRIM(COALESCE(p_object_type, ''));
    SET v_object_id = RTRIM(COALESCE(p_object_id, ''));
    SET v_operator_id = RTRIM(COALESCE(p_operator_id, ''));
    SET v_client_id = RTRIM(COALESCE(p_client_id, ''));
    IF CHARACTER_LENGTH(v_object_type, CODEUNITS32) NOT BETWEEN 1 AND 64 OR LOCATE(':', v_object_type) > 0 THEN
        CALL appl_lock_refuse_text('retract_appl_lock_waiter', 'p_object_type', CHARACTER_LENGTH(v_object_type, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_object_id, CODEUNITS32) NOT BETWEEN 1 AND 255 THEN
        CALL appl_lock_refuse_text('retract_appl_lock_waiter', 'p_object_id', CHARACTER_LENGTH(v_object_id, CODEUNITS32), 255);
    ELSEIF CHARACTER_LENGTH(v_operator_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('retract_appl_lock_waiter', 'p_operator_id', CHARACTER_LENGTH(v_operator_id, CODEUNITS32), 64);
    ELSEIF CHARACTER_LENGTH(v_client_id, CODEUNITS32) NOT BETWEEN 1 AND 64 THEN
        CALL appl_lock_refuse_text('retract_appl_lock_waiter', 'p_client_id', CHARACTER_LENGTH(v_client_id, CODEUNITS32), 64);
    END IF;

    -- S1: nobody waits.
    DELETE FROM appl_lock_waiter
    WHERE object_type = v_object_type
        AND object_id = v_object_id
        AND operator_id = v_operator_id
        AND client_id = v_client_id;
END
@

CREATE OR REPLACE PROCEDURE retract_appl_lock_waiter_row (
    IN p_object_type VARCHAR(4000),
    IN p_object_id VARCHAR(4000),
    IN p_operator_id VARCHAR(4000),
    IN p_client_id VARCHAR(4000)
)
DYNAMIC RESULT SETS 1
LANGUAGE SQL
NOT DETERMINISTIC
MODIFIES SQL DATA
PARAMETER CCSID UNICODE
ISOLATION LEVEL CS
CONCURRENT ACCESS RESOLUTION USE CURRENTLY COMMITTED
VALIDATE BIND
DISALLOW DEBUG MODE
BEGIN
    CALL retract_appl_lock_waiter(
        p_object_type, p_object_id, p_operator_id, p_client_id
    );
    BEGIN
        DECLARE answer CURSOR WITH RETURN FOR
            SELECT 'Y' AS p_return_cd
            FROM SYSIBM.SYSDUMMY1;
        OPEN answer;
    END;
END
@

