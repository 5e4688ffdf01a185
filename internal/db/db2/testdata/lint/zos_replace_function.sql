-- breaks: replace: begins with `create or replace function`
-- appl_lock_version: the version of the installed contract.
-- Contract   As in procedures/db2.
-- In         As in procedures/db2.
-- Out        As in procedures/db2.
-- Raises     As in procedures/db2.
-- Locks      As in procedures/db2.
-- Differs    As in procedures/db2.

--#SET TERMINATOR @

CREATE OR REPLACE FUNCTION appl_lock_version ()
RETURNS INTEGER
SPECIFIC appl_lock_version
LANGUAGE SQL
NOT DETERMINISTIC
CONTAINS SQL
RETURN 2
@
