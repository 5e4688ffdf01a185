-- appl_lock_version: the version of the installed contract.
--
-- Contract   A whole number that grows when an operation is added or changes its signature or answers.
-- In         None.
-- Out        One row with the version.
-- Raises     LK003 when an upgrade is replacing the routine.
-- Locks      Nothing.
-- Race-free  A constant.
-- Differs    A procedure with a result set: creating a function needs SUPER where the binary log is on.

DELIMITER $$

CREATE PROCEDURE appl_lock_version_core()
COMMENT 'Internal to applock: the operation appl_lock_version.'
CONTAINS SQL
SQL SECURITY DEFINER
BEGIN
    SELECT 1 AS p_version;
END$$

CREATE PROCEDURE appl_lock_version()
COMMENT 'The version of the installed contract.'
CONTAINS SQL
SQL SECURITY DEFINER
BEGIN
    DECLARE EXIT HANDLER FOR 1305
        SIGNAL SQLSTATE 'LK003' SET
            MESSAGE_TEXT = 'appl_lock_version: is being replaced; call again, or install it again if that lasts';
    CALL appl_lock_version_core();
END$$

DELIMITER ;
