-- list_appl_lock_waiters: one page of those who wait, in key order, all or those for a type or an object, or of
-- an operator or department.
--
-- Contract   At most p_max_rows waiters whose key is greater than (p_after_type, p_after_id,
--            p_after_operator_id, p_after_client_id). The next page starts after the last row of this
--            one; a page shorter than p_max_rows is the last.
-- In         p_object_type 1..64, p_object_id 1..255, p_operator_id 1..64, p_department_id 0..64: NULL = any.
--            p_after_type 0..64, p_after_id 0..255, p_after_operator_id 0..64, p_after_client_id 0..64: NULL =
--            from the start. p_max_rows 1..10000, NULL = 1000. Trailing blanks are trimmed first.
-- Out        The columns of appl_lock_waiter and seconds_left (from now to expires_ts), ordered by object_type,
--            object_id, operator_id, client_id as bytes.
-- Raises     LK001 invalid argument. Nothing else on purpose.
-- Locks      Nothing; never waits and never writes.
-- Race-free  A page is one snapshot. One who waits through the whole listing is in it exactly once, because
--            the key does not change; one who comes or goes meanwhile may be in it or not.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION list_appl_lock_waiters(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_department_id text,
    p_after_type text,
    p_after_id text,
    p_after_operator_id text,
    p_after_client_id text,
    p_max_rows bigint,
    OUT object_type text,
    OUT object_id text,
    OUT operator_id text,
    OUT department_id text,
    OUT client_id text,
    OUT since_ts timestamptz,
    OUT until_ts timestamptz,
    OUT expires_ts timestamptz,
    OUT seconds_left bigint
) RETURNS SETOF record
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
-- A plan for these very arguments: a NULL filter falls away, an object becomes a range of the key.
SET plan_cache_mode = 'force_custom_plan'
-- In the order of the keys, whatever the statistics say: else each page could read, and sort, the whole table.
SET enable_seqscan = 'off'
SET enable_bitmapscan = 'off'
AS $$
DECLARE
    v_object_type text := appl_lock_text('list_appl_lock_waiters', 'p_object_type', p_object_type, 64, p_object_type IS NOT NULL);
    v_object_id text := appl_lock_text('list_appl_lock_waiters', 'p_object_id', p_object_id, 255, p_object_id IS NOT NULL);
    v_operator_id text := appl_lock_text('list_appl_lock_waiters', 'p_operator_id', p_operator_id, 64, p_operator_id IS NOT NULL);
    v_department_id text := appl_lock_text('list_appl_lock_waiters', 'p_department_id', p_department_id, 64, false);
    v_after_type text := appl_lock_text('list_appl_lock_waiters', 'p_after_type', p_after_type, 64, false);
    v_after_id text := appl_lock_text('list_appl_lock_waiters', 'p_after_id', p_after_id, 255, false);
    v_after_operator_id text := appl_lock_text('list_appl_lock_waiters', 'p_after_operator_id', p_after_operator_id, 64, false);
    v_after_client_id text := appl_lock_text('list_appl_lock_waiters', 'p_after_client_id', p_after_client_id, 64, false);
    v_max_rows bigint := appl_lock_number('list_appl_lock_waiters', 'p_max_rows', p_max_rows, 1000, 10000);
BEGIN
    RETURN QUERY
    SELECT
        w.object_type::text,
        w.object_id::text,
        w.operator_id::text,
        w.department_id::text,
        w.client_id::text,
        w.since_ts,
        w.until_ts,
        w.expires_ts,
        appl_lock_seconds_left(w.expires_ts)
    FROM appl_lock_waiter AS w
    WHERE (w.object_type, w.object_id, w.operator_id, w.client_id)
            > (v_after_type, v_after_id, v_after_operator_id, v_after_client_id)
        AND (p_object_type IS NULL OR w.object_type = v_object_type)
        AND (p_object_id IS NULL OR w.object_id = v_object_id)
        AND (p_operator_id IS NULL OR w.operator_id = v_operator_id)
        AND (p_department_id IS NULL OR w.department_id = v_department_id)
        AND w.expires_ts > clock_timestamp()
    ORDER BY w.object_type, w.object_id, w.operator_id, w.client_id
    LIMIT v_max_rows;
END
$$;

COMMENT ON FUNCTION list_appl_lock_waiters(text, text, text, text, text, text, text, text, bigint) IS
    'One page of those who wait, in key order, all or those for a type or an object, or of an operator or department.';

REVOKE ALL ON FUNCTION list_appl_lock_waiters(text, text, text, text, text, text, text, text, bigint) FROM PUBLIC;
