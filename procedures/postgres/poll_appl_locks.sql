-- poll_appl_locks: which of the objects that a program waits for are free, or will be next; keeps its waiters
-- listed.
--
-- Contract   One row for each object that a waiter of the program waits for who has not given up; those that
--            are free first, then those whose lock ends soonest, p_max_rows of them. The time is as
--            the lock stands: it may be renewed or released meanwhile. The program's waiters stay listed for
--            30 s or more.
-- In         p_client_id 1..64, the waiting program. p_max_rows 1..10000, NULL = 1000. Trailing blanks are
--            trimmed first.
-- Out        object_type, object_id, free_in_us (microseconds until the lock ends, 0 when the object is free),
--            ordered by free_in_us, object_type, object_id.
-- Raises     LK001 invalid argument. 40001 as the engine has it.
-- Locks      Normally nothing. Once in 30 s, S1 locks the program's rows in appl_lock_waiter, to the end of the
--            caller's transaction; rows that somebody else is changing are passed over, never waited for.
-- Race-free  Against announce and retract of a row: they keep it listed or end it themselves; poll passes over it.
--            Two polls: the second passes over what the first has locked.
--            What S2 says was true at one moment; a get finds out what has become of it.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION poll_appl_locks(
    p_client_id text,
    p_max_rows bigint,
    OUT object_type text,
    OUT object_id text,
    OUT free_in_us bigint
) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
-- An index is the only way to a row, whatever the statistics say and whenever the plans were made.
SET enable_seqscan = 'off'
AS $$
DECLARE
    v_client_id text := appl_lock_text('poll_appl_locks', 'p_client_id', p_client_id, 64, true);
    v_max_rows bigint := appl_lock_number('poll_appl_locks', 'p_max_rows', p_max_rows, 1000, 10000);
    v_now timestamptz := clock_timestamp();
BEGIN
    -- S1: keep the waiters listed, all of them as soon as one of them must be.
    IF EXISTS (
        SELECT
        FROM appl_lock_waiter AS w
        WHERE w.client_id = v_client_id
            AND w.expires_ts < v_now + interval '30 seconds'
            AND (w.until_ts IS NULL OR (w.until_ts > v_now AND w.until_ts > w.expires_ts))
    ) THEN
        -- By their places: a row that has just moved is being kept, or ended, by somebody else.
        UPDATE appl_lock_waiter AS w
        SET expires_ts = least(v_now + interval '60 seconds', w.until_ts)
        WHERE w.ctid = ANY (ARRAY(
                SELECT k.ctid
                FROM appl_lock_waiter AS k
                WHERE k.client_id = v_client_id
                    AND (k.until_ts IS NULL OR (k.until_ts > v_now AND k.until_ts > k.expires_ts))
                FOR NO KEY UPDATE SKIP LOCKED
            ));
    END IF;

    -- S2: when will each be free? The limit, one row by the key, has each object looked up by itself: a join would begin
    -- with whichever table the statistics call small.
    RETURN QUERY
    SELECT a.object_type, a.object_id, a.free_in_us
    FROM (
        SELECT
            w.object_type::text,
            w.object_id::text,
            coalesce((extract(epoch FROM l.expires_ts - v_now) * 1000000)::bigint, 0) AS free_in_us
        FROM (
            SELECT DISTINCT r.object_type, r.object_id
            FROM appl_lock_waiter AS r
            WHERE r.client_id = v_client_id
                AND (r.until_ts IS NULL OR r.until_ts > v_now)
        ) AS w
        LEFT JOIN LATERAL (
            SELECT h.expires_ts
            FROM appl_lock AS h
            WHERE h.object_type = w.object_type
                AND h.object_id = w.object_id
                AND h.expires_ts > v_now
            LIMIT 1
        ) AS l ON true
    ) AS a
    ORDER BY a.free_in_us, a.object_type COLLATE "C", a.object_id COLLATE "C"
    LIMIT v_max_rows;
END
$$;

COMMENT ON FUNCTION poll_appl_locks(text, bigint) IS
    'Which of the objects that a program waits for are free, or will be next; keeps its waiters listed.';

REVOKE ALL ON FUNCTION poll_appl_locks(text, bigint) FROM PUBLIC;
