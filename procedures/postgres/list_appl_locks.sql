-- list_appl_locks: one page of the live locks in key order, all or those of a type, operator or department.
--
-- Contract   At most p_max_rows live locks whose key is greater than (p_after_type, p_after_id). The next
--            page starts after the last row of this one; a page shorter than p_max_rows is the last.
-- In         p_object_type 1..64, p_operator_id 1..64, p_department_id 0..64: NULL = any. p_after_type
--            0..64, p_after_id 0..255: NULL = from the start. p_max_rows 1..10000, NULL = 1000.
--            Trailing blanks are trimmed first.
-- Out        The columns of appl_lock and seconds_left (from now to expires_ts), ordered by object_type, object_id
--            as bytes.
-- Raises     LK001 invalid argument. Nothing else on purpose.
-- Locks      Nothing; never waits and never writes.
-- Race-free  A page is one snapshot. A lock that lives through the whole listing is in it exactly once,
--            because its key does not change; one that comes or goes meanwhile may be in it or not.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION list_appl_locks(
    p_object_type text,
    p_operator_id text,
    p_department_id text,
    p_after_type text,
    p_after_id text,
    p_max_rows bigint,
    OUT object_type text,
    OUT object_id text,
    OUT operator_id text,
    OUT department_id text,
    OUT fence bigint,
    OUT acquired_ts timestamptz,
    OUT lock_ts timestamptz,
    OUT expires_ts timestamptz,
    OUT seconds_left bigint,
    OUT note text
) RETURNS SETOF record
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
-- A plan for these very arguments: a NULL filter falls away, a type becomes a range of the key.
SET plan_cache_mode = 'force_custom_plan'
-- In the order of the keys, whatever the statistics say: else each page could read, and sort, the whole table.
SET enable_seqscan = 'off'
SET enable_bitmapscan = 'off'
AS $$
DECLARE
    v_object_type text := appl_lock_text('list_appl_locks', 'p_object_type', p_object_type, 64, p_object_type IS NOT NULL);
    v_operator_id text := appl_lock_text('list_appl_locks', 'p_operator_id', p_operator_id, 64, p_operator_id IS NOT NULL);
    v_department_id text := appl_lock_text('list_appl_locks', 'p_department_id', p_department_id, 64, false);
    v_after_type text := appl_lock_text('list_appl_locks', 'p_after_type', p_after_type, 64, false);
    v_after_id text := appl_lock_text('list_appl_locks', 'p_after_id', p_after_id, 255, false);
    v_max_rows bigint := appl_lock_number('list_appl_locks', 'p_max_rows', p_max_rows, 1000, 10000);
BEGIN
    RETURN QUERY
    SELECT
        l.object_type::text,
        l.object_id::text,
        l.operator_id::text,
        l.department_id::text,
        l.fence,
        l.acquired_ts,
        l.lock_ts,
        l.expires_ts,
        appl_lock_seconds_left(l.expires_ts),
        l.note::text
    FROM appl_lock AS l
    WHERE (l.object_type, l.object_id) > (v_after_type, v_after_id)
        AND (p_object_type IS NULL OR l.object_type = v_object_type)
        AND (p_operator_id IS NULL OR l.operator_id = v_operator_id)
        AND (p_department_id IS NULL OR l.department_id = v_department_id)
        AND l.expires_ts > clock_timestamp()
    ORDER BY l.object_type, l.object_id
    LIMIT v_max_rows;
END
$$;

COMMENT ON FUNCTION list_appl_locks(text, text, text, text, text, bigint) IS
    'One page of the live locks in key order, all or those of a type, operator or department.';

REVOKE ALL ON FUNCTION list_appl_locks(text, text, text, text, text, bigint) FROM PUBLIC;
