-- appl_lock_refuse_text, appl_lock_refuse_number: say what is wrong with an argument.
-- appl_lock_check_text: refuses a control character. NOT_PLAIN tells its callers in one expression when to call it.
-- appl_lock_check_database: says whether applock can work in this database at all.
-- All are internal: nobody is granted them; the operations call the first three, the migration the last.
--
-- Contract   The first two always raise. The third raises where a character is one of U+0000 to U+001F or U+007F to U+009F. The
--            last one raises where text is not compared as bytes ('a' = 'A') or an empty string is NULL
--            (DB2_COMPATIBILITY_VECTOR=ORA): there two operators could be one.
-- Raises     LK001 with the routine, the argument and the reason in the message, which Db2 cuts off after 70 bytes.
-- Locks      Nothing.
-- Differs    HEX shows the bytes of a character, UTF-8, whatever the collation is.

--#SET TERMINATOR @

CREATE OR REPLACE PROCEDURE appl_lock_refuse_text (
    IN p_routine VARCHAR(64),
    IN p_argument VARCHAR(64),
    IN p_length BIGINT,
    IN p_max_length BIGINT
)
SPECIFIC appl_lock_refuse_text
LANGUAGE SQL
NOT DETERMINISTIC
CONTAINS SQL
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
SPECIFIC appl_lock_refuse_number
LANGUAGE SQL
NOT DETERMINISTIC
CONTAINS SQL
BEGIN
    DECLARE v_message VARCHAR(256);
    SET v_message = p_routine || ': ' || p_argument || ' must be 1 to ' || CAST(p_max AS VARCHAR(20));
    SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_message;
END
@

CREATE OR REPLACE PROCEDURE appl_lock_check_text (
    IN p_routine VARCHAR(64),
    IN p_argument VARCHAR(64),
    IN p_text VARCHAR(32000)
)
SPECIFIC appl_lock_check_text
LANGUAGE SQL
NOT DETERMINISTIC
CONTAINS SQL
BEGIN
    DECLARE v_message VARCHAR(256);
    DECLARE v_left INTEGER DEFAULT 0;
    DECLARE v_bytes VARCHAR(16);
    SET v_left = COALESCE(CHARACTER_LENGTH(p_text, CODEUNITS32), 0);
    WHILE v_left > 0 DO
        SET v_bytes = HEX(SUBSTRING(p_text, v_left, 1, CODEUNITS32));
        SET v_left = v_left - 1;
        IF LOCATE(
            '/' || v_bytes || '/',
            '/00/01/02/03/04/05/06/07/08/09/0A/0B/0C/0D/0E/0F'
            || '/10/11/12/13/14/15/16/17/18/19/1A/1B/1C/1D/1E/1F/7F'
            || '/C280/C281/C282/C283/C284/C285/C286/C287'
            || '/C288/C289/C28A/C28B/C28C/C28D/C28E/C28F'
            || '/C290/C291/C292/C293/C294/C295/C296/C297'
            || '/C298/C299/C29A/C29B/C29C/C29D/C29E/C29F/'
        ) > 0 THEN
            SET v_message = p_routine || ': ' || p_argument || ' has a control character';
            SET v_left = 0;
        END IF;
    END WHILE;
    IF v_message IS NOT NULL THEN
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_message;
    END IF;
END
@

CREATE OR REPLACE PROCEDURE appl_lock_check_database ()
SPECIFIC appl_lock_check_database
LANGUAGE SQL
NOT DETERMINISTIC
CONTAINS SQL
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

COMMENT ON SPECIFIC PROCEDURE appl_lock_refuse_text IS 'Internal to applock: raises LK001 for a text argument.'
@

COMMENT ON SPECIFIC PROCEDURE appl_lock_refuse_number IS 'Internal to applock: raises LK001 for a number argument.'
@

COMMENT ON SPECIFIC PROCEDURE appl_lock_check_text IS 'Internal to applock: raises LK001 for a control character.'
@

COMMENT ON SPECIFIC PROCEDURE appl_lock_check_database IS 'Internal to applock: raises LK001 in a database that it does not support.'
@

CALL appl_lock_check_database()
@
