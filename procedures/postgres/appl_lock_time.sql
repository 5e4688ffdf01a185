-- appl_lock_seconds_left, appl_lock_next_fence: the end and the fence of a grant. Internal.
--
-- Contract   appl_lock_seconds_left returns the whole seconds from now to p_expires_ts, rounded up and never less than 1: it is
--            for locks that were live a moment ago. appl_lock_next_fence returns the fence of a grant that begins at p_now after
--            one with the fence p_old.
-- Raises     Nothing.
-- Locks      Nothing.
-- Differs    Nothing. One expression each, which the planner puts in place of the call.

CREATE OR REPLACE FUNCTION appl_lock_seconds_left(p_expires_ts timestamptz) RETURNS bigint
LANGUAGE sql VOLATILE
AS $$
    SELECT greatest(ceil(extract(epoch FROM p_expires_ts - clock_timestamp())), 1)::bigint;
$$;

CREATE OR REPLACE FUNCTION appl_lock_next_fence(p_old bigint, p_now timestamptz) RETURNS bigint
LANGUAGE sql STABLE
AS $$
    SELECT greatest(p_old + 1, (extract(epoch FROM p_now) * 1000000)::bigint);
$$;

COMMENT ON FUNCTION appl_lock_seconds_left(timestamptz) IS
    'Internal to applock: the seconds until a lock ends.';
COMMENT ON FUNCTION appl_lock_next_fence(bigint, timestamptz) IS
    'Internal to applock: the fence of the grant after another one.';
