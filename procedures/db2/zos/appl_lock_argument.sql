-- For Db2 for z/OS 12, function level 507, and later. Made by `make snapshot` from procedures/db2/appl_lock_argument.sql
-- with the deltas of internal/build/snapshot/zos.go: edit it there. What is different from the text below:
-- a wait for another transaction lasts as long as the subsystem says (IRLMRWT), not 1 s; a row that another
-- transaction is updating is waited for by a plain read, too.
--
-- appl_lock_refuse_text, appl_lock_refuse_number: say what is wrong with an argument.
-- appl_lock_check_database: says whether applock can work in this database at all. All are internal: nobody
-- is granted them; the operations call the first two with their owner's rights, the migration the third.
--
-- Contract   The first two always raise. The third raises where text is not compared as bytes ('a' = 'A')
--            or an empty string is NULL (DB2_COMPATIBILITY_VECTOR=ORA): there two operators could be one.
-- Raises     LK001 with the routine, the argument and the reason in the message, which Db2 cuts off after
--            70 bytes.
-- Locks      Nothing.
-- Differs    From PostgreSQL, where functions check and convert.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE appl_lock_refuse_text (
    IN p_routine VARCHAR(64),
    IN p_argument VARCHAR(64),
    IN p_length BIGINT,
    IN p_max_length BIGINT
)
LANGUAGE SQL
NOT DETERMINISTIC
CONTAINS SQL
PARAMETER CCSID UNICODE
ISOLATION LEVEL CS
CONCURRENT ACCESS RESOLUTION USE CURRENTLY COMMITTED
VALIDATE BIND
DISALLOW DEBUG MODE
BEGIN
    DECLARE v_message VARCHAR(256);
    IF p_length = 0 THEN
        SET v_message = p_routine || ': ' || p_argument || ' must not be empty';
    ELSEIF p_length > p_max_length THEN
        SET v_message = p_routine || ': ' || p_argument || ' is ' || CAST(p_length AS VARCHAR(20))
            || ' characters, max ' || CAST(p_max_length AS VARCHAR(20));
    ELSE
        SET v_message = p_routine || ': ' || p_argument || ' must not contain ":"';
    END IF;
    SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_message;
END
@

CREATE OR REPLACE PROCEDURE appl_lock_refuse_number (
    IN p_routine VARCHAR(64),
    IN p_argument VARCHAR(64),
    IN p_max BIGINT
)
LANGUAGE SQL
NOT DETERMINISTIC
CONTAINS SQL
PARAMETER CCSID UNICODE
ISOLATION LEVEL CS
CONCURRENT ACCESS RESOLUTION USE CURRENTLY COMMITTED
VALIDATE BIND
DISALLOW DEBUG MODE
BEGIN
    DECLARE v_message VARCHAR(256);
    SET v_message = p_routine || ': ' || p_argument || ' must be 1 to ' || CAST(p_max AS VARCHAR(20));
    SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_message;
END
@

CREATE OR REPLACE PROCEDURE appl_lock_check_database ()
LANGUAGE SQL
NOT DETERMINISTIC
CONTAINS SQL
PARAMETER CCSID UNICODE
ISOLATION LEVEL CS
CONCURRENT ACCESS RESOLUTION USE CURRENTLY COMMITTED
VALIDATE BIND
DISALLOW DEBUG MODE
BEGIN
    DECLARE v_lower VARCHAR(1) DEFAULT 'a';
    DECLARE v_upper VARCHAR(1) DEFAULT 'A';
    DECLARE v_empty VARCHAR(1) DEFAULT '';
    IF v_lower = v_upper THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'appl_lock: this database takes a and A for equal';
    END IF;
    IF v_empty IS NULL THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = 'appl_lock: this database takes an empty string for NULL';
    END IF;
END
@

