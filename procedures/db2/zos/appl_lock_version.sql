-- For Db2 for z/OS 12, function level 507, and later. Made by `make snapshot` from procedures/db2/appl_lock_version.sql
-- with the deltas of internal/build/snapshot/zos.go: edit it there. What is different from the text below:
-- a wait for another transaction lasts as long as the subsystem says (IRLMRWT), not 1 s; a row that another
-- transaction is updating is waited for by a plain read, too.
--
-- appl_lock_version: the version of the installed contract.
--
-- Contract   A whole number. Clients refuse to work with another one than theirs.
-- In         Nothing.
-- Out        The number.
-- Raises     Nothing on purpose.
-- Locks      Nothing.
-- Differs    Nothing.

--#SET TERMINATOR @

CREATE FUNCTION appl_lock_version ()
RETURNS INTEGER
SPECIFIC appl_lock_version
LANGUAGE SQL
NOT DETERMINISTIC
CONTAINS SQL
RETURN 1
@

