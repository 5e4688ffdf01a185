-- appl_lock_version: the version of the installed contract.
--
-- Contract   As procedures/postgres/appl_lock_version.sql.
--            It names the youngest table, so that a file without it is an error.
-- In         None.
-- Out        The version.
-- Raises     Nothing.
-- Locks      None.
-- Race-free  A constant.
-- Differs    Nothing.

-- name: ApplLockVersion :one
SELECT CAST(coalesce((SELECT 1 FROM appl_lock_waiter LIMIT 1), 1) AS INTEGER) AS version;
