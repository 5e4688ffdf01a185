-- appl_lock_refuse_text, appl_lock_refuse_number: say what is wrong with an argument. Internal: nobody
-- is granted these; the operations call them with their owner's rights, and only for a bad argument.
--
-- Contract   Each always raises.
-- Raises     LK001 with the routine, the argument and the reason in the message.
-- Locks      Nothing.
-- Differs    From PostgreSQL, where functions check and convert: creating a function needs SUPER where the
--            binary log is on, and a call for each good argument costs more than the operation.

DELIMITER $$

CREATE PROCEDURE appl_lock_refuse_text(
    IN p_routine VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_argument VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_length BIGINT,
    IN p_max_length BIGINT
)
COMMENT 'Internal to applock: raises LK001 for a text argument.'
CONTAINS SQL
SQL SECURITY DEFINER
BEGIN
    DECLARE v_message VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT CONCAT(
        p_routine, ': ', p_argument,
        CASE
            WHEN p_length = 0 THEN ' must not be empty'
            WHEN p_length > p_max_length THEN
                CONCAT(' has ', p_length, ' characters, at most ', p_max_length, ' are allowed')
            ELSE ' must not contain ":", which ends the type in type:id'
        END
    );
    SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_message;
END$$

CREATE PROCEDURE appl_lock_refuse_number(
    IN p_routine VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_argument VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    IN p_max BIGINT
)
COMMENT 'Internal to applock: raises LK001 for a number argument.'
CONTAINS SQL
SQL SECURITY DEFINER
BEGIN
    DECLARE v_message VARCHAR(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT CONCAT(
        p_routine, ': ', p_argument, ' must lie between 1 and ', p_max
    );
    SIGNAL SQLSTATE 'LK001' SET MESSAGE_TEXT = v_message;
END$$

DELIMITER ;
