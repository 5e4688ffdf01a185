-- appl_lock_seconds_left, appl_lock_next_fence: the end and the fence of a grant. Internal.
--
-- Contract   The first returns the whole seconds from now to p_expires_ts, rounded up, at least 1: it is for locks that were
--            live a moment ago. One that was made endless by hand ends in 2262. The second returns the fence of a grant that begins at p_now after a grant with the fence
--            p_old.
-- Raises     Nothing.
-- Locks      Nothing.
-- Differs    Nothing. Each is one expression, which the planner inlines.

CREATE OR REPLACE FUNCTION appl_lock_seconds_left(p_expires_ts timestamptz) RETURNS bigint
LANGUAGE sql VOLATILE
AS $$
    SELECT greatest(ceil(extract(epoch FROM least(p_expires_ts, '2262-01-01 00:00:00+00'::timestamptz) - clock_timestamp())), 1)::bigint;
$$;

CREATE OR REPLACE FUNCTION appl_lock_next_fence(p_old bigint, p_now timestamptz) RETURNS bigint
LANGUAGE sql STABLE
AS $$
    SELECT greatest(p_old + 1, (extract(epoch FROM p_now) * 1000000::numeric)::bigint);
$$;

COMMENT ON FUNCTION appl_lock_seconds_left(timestamptz) IS
    'Internal to applock: returns the seconds until a lock ends.';
COMMENT ON FUNCTION appl_lock_next_fence(bigint, timestamptz) IS
    'Internal to applock: returns the fence of the next grant.';
