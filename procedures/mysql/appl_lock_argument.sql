-- appl_lock_owner, appl_lock_key, appl_lock_text, appl_lock_number: check arguments. Internal: nobody is granted these.
--
-- Contract   Each returns when the argument is good, trimmed of trailing blanks, and raises otherwise. A NULL text stays NULL,
--            unless it must not be empty; a NULL number is good.
-- In         p_routine and p_argument name the argument in the message. p_name_fl: Y for a name, which has no control character.
-- Out        The trimmed text.
-- Raises     LK001 with the routine, the argument and the reason.
-- Locks      Nothing.
-- Race-free  They read nothing.
-- Differs    Procedures: creating a function needs SUPER where the binary log is on.

DELIMITER $$

CREATE PROCEDURE appl_lock_text(
    IN p_routine VARCHAR(64),
    IN p_argument VARCHAR(64),
    IN p_name_fl CHAR(1),
    IN p_min_length BIGINT,
    IN p_max_length BIGINT,
    INOUT p_text LONGTEXT
)
COMMENT 'Internal to applock: checks a text argument.'
CONTAINS SQL
SQL SECURITY DEFINER
BEGIN
    DECLARE v_message VARCHAR(128);
    SET p_text = RTRIM(p_text);
    SET v_message = CASE
        WHEN CHAR_LENGTH(COALESCE(p_text, '')) < p_min_length THEN ' must not be empty'
        WHEN CHAR_LENGTH(p_text) > p_max_length
            THEN CONCAT(' has ', CHAR_LENGTH(p_text), ' characters, at most ', p_max_length, ' are allowed')
        WHEN p_argument = 'p_object_type' AND LOCATE(':', p_text) > 0
            THEN ' must not contain ":", which ends the type in type:id'
        -- The UTF-8 of U+0000 to U+001F, U+007F, and U+0080 to U+009F.
        WHEN p_name_fl = 'Y' AND HEX(p_text) REGEXP '^(..)*([01].|7F|C2[89].)' THEN ' must not contain a control character'
    END;
    IF v_message IS NOT NULL THEN
        SET v_message = CONCAT(p_routine, ': ', p_argument, v_message);
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_message;
    END IF;
END$$

CREATE PROCEDURE appl_lock_key(
    IN p_routine VARCHAR(64),
    INOUT p_object_type LONGTEXT,
    INOUT p_object_id LONGTEXT
)
COMMENT 'Internal to applock: checks the type and the id of an object.'
CONTAINS SQL
SQL SECURITY DEFINER
BEGIN
    CALL appl_lock_text(p_routine, 'p_object_type', 'Y', 1, 64, p_object_type);
    CALL appl_lock_text(p_routine, 'p_object_id', 'Y', 1, 255, p_object_id);
END$$

CREATE PROCEDURE appl_lock_owner(
    IN p_routine VARCHAR(64),
    INOUT p_object_type LONGTEXT,
    INOUT p_object_id LONGTEXT,
    INOUT p_operator_id LONGTEXT,
    INOUT p_department_id LONGTEXT
)
COMMENT 'Internal to applock: checks an object, an operator and a department.'
CONTAINS SQL
SQL SECURITY DEFINER
BEGIN
    DECLARE v_all LONGTEXT DEFAULT CONCAT_WS('', p_object_type, p_object_id, p_operator_id, p_department_id);
    -- Each CALL costs as much as a look by key. Printable ASCII without blanks needs none: JSON_QUOTE makes a control character longer.
    IF (
        LENGTH(JSON_QUOTE(v_all)) = CHAR_LENGTH(v_all) + 2
        AND LOCATE(' ', v_all) = 0
        AND LOCATE(x'7F', v_all) = 0
        AND LOCATE(':', p_object_type) = 0
        AND CHAR_LENGTH(p_object_type) BETWEEN 1 AND 64
        AND CHAR_LENGTH(p_object_id) BETWEEN 1 AND 255
        AND CHAR_LENGTH(p_operator_id) BETWEEN 1 AND 255
        AND COALESCE(CHAR_LENGTH(p_department_id), 0) <= 64
    ) IS NOT TRUE THEN
        CALL appl_lock_key(p_routine, p_object_type, p_object_id);
        CALL appl_lock_text(p_routine, 'p_operator_id', 'Y', 1, 255, p_operator_id);
        CALL appl_lock_text(p_routine, 'p_department_id', 'Y', 0, 64, p_department_id);
    END IF;
END$$

CREATE PROCEDURE appl_lock_number(
    IN p_routine VARCHAR(64),
    IN p_argument VARCHAR(64),
    IN p_max BIGINT,
    IN p_number BIGINT
)
COMMENT 'Internal to applock: checks a number argument.'
CONTAINS SQL
SQL SECURITY DEFINER
BEGIN
    DECLARE v_message VARCHAR(128);
    IF p_number NOT BETWEEN 1 AND p_max THEN
        SET v_message = CONCAT(p_routine, ': ', p_argument, ' must lie between 1 and ', p_max);
        SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_message;
    END IF;
END$$

DELIMITER ;
