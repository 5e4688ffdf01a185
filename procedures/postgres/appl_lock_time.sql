-- appl_lock_seconds_left, appl_lock_ttl: how long a lock lasts, from now on and as its holder asked for. Internal:
-- nobody is granted these; the operations call them with their owner's rights.
--
-- Contract   appl_lock_seconds_left returns the whole seconds from now to p_expires_ts, rounded up: who waits as long
--            finds the lock expired. It is for locks that were live a moment ago, and so never less than 1.
--            appl_lock_ttl returns the ttl of the last get, renewal or transfer, in whole seconds, never less than 1.
--            lock_ts is at most a microsecond later than that call, which rounding takes off, unless the clock
--            was set back in the meantime: the ttl is shorter then.
-- Raises     Nothing.
-- Locks      Nothing.
-- Differs    Nothing. One expression each, so that the planner puts it in place of the call.

CREATE OR REPLACE FUNCTION appl_lock_seconds_left(p_expires_ts timestamptz) RETURNS bigint
LANGUAGE sql VOLATILE
AS $$
    SELECT greatest(ceil(extract(epoch FROM p_expires_ts - clock_timestamp())), 1)::bigint;
$$;

CREATE OR REPLACE FUNCTION appl_lock_ttl(p_lock_ts timestamptz, p_expires_ts timestamptz) RETURNS interval
LANGUAGE sql IMMUTABLE
AS $$
    SELECT make_interval(secs => greatest(round(extract(epoch FROM p_expires_ts - p_lock_ts)), 1)::double precision);
$$;

COMMENT ON FUNCTION appl_lock_seconds_left(timestamptz) IS
    'Internal to applock: the seconds until a lock ends.';
COMMENT ON FUNCTION appl_lock_ttl(timestamptz, timestamptz) IS
    'Internal to applock: the ttl that a lock was last got, renewed or transferred with.';

REVOKE ALL ON FUNCTION appl_lock_seconds_left(timestamptz) FROM PUBLIC;
REVOKE ALL ON FUNCTION appl_lock_ttl(timestamptz, timestamptz) FROM PUBLIC;
