-- appl_lock_version: the version of the installed contract.
--
-- Contract   A whole number. Clients refuse to work with another one than theirs.
-- In         Nothing.
-- Out        The number.
-- Raises     Nothing on purpose.
-- Locks      Nothing.
-- Differs    Nothing.

--#SET TERMINATOR @

CREATE OR REPLACE FUNCTION appl_lock_version ()
RETURNS INTEGER
SPECIFIC appl_lock_version
LANGUAGE SQL
NOT DETERMINISTIC
CONTAINS SQL
RETURN 1
@
