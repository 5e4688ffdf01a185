-- appl_lock_version: the version of the installed contract.
--
-- Contract   A whole number that grows when an operation is added or changes its signature or answers.
-- In         None.
-- Out        One row with the version.
-- Raises     LK003 an upgrade is replacing the routine.
-- Locks      Nothing.
-- Race-free  A constant.
-- Differs    A procedure with a result set: creating a function needs SUPER where the binary log is on.

DELIMITER $$

CREATE PROCEDURE appl_lock_version_core()
CONTAINS SQL
SQL SECURITY DEFINER
BEGIN
    SELECT 1 AS p_version;
END$$

DELIMITER ;
