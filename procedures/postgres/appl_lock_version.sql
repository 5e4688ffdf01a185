-- appl_lock_version: the version of the installed contract.
--
-- Contract   A whole number that grows when an operation is added or changes its signature or answers.
-- In         None.
-- Out        The version.
-- Raises     Nothing.
-- Locks      Nothing.
-- Race-free  A constant.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION appl_lock_version() RETURNS integer
LANGUAGE sql IMMUTABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
    SELECT 1;
$$;
