-- list_appl_lock_policies: the policies of all types, or that of one.
--
-- Contract   One row for each type that has a policy. There are a few: it has no pages.
-- In         p_object_type 1..64, NULL = any. Trailing blanks are trimmed first.
-- Out        The columns of appl_lock_policy, 0 for a NULL, ordered by object_type as bytes.
-- Raises     LK001 invalid argument. Nothing else on purpose.
-- Locks      Nothing; never waits and never writes.
-- Race-free  The answer is one snapshot.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION list_appl_lock_policies(
    p_object_type text,
    OUT object_type text,
    OUT default_ttl_seconds bigint,
    OUT longest_ttl_seconds bigint,
    OUT take_reason_fl text,
    OUT history_level text
) RETURNS SETOF record
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
DECLARE
    v_object_type text := appl_lock_text(
        'list_appl_lock_policies', 'p_object_type', p_object_type, 64, p_object_type IS NOT NULL
    );
BEGIN
    RETURN QUERY
    SELECT
        p.object_type::text,
        coalesce(p.default_ttl_seconds, 0),
        coalesce(p.longest_ttl_seconds, 0),
        p.take_reason_fl::text,
        p.history_level::text
    FROM appl_lock_policy AS p
    WHERE p_object_type IS NULL OR p.object_type = v_object_type
    ORDER BY p.object_type;
END
$$;

COMMENT ON FUNCTION list_appl_lock_policies(text) IS 'The policies of all types, or that of one.';

REVOKE ALL ON FUNCTION list_appl_lock_policies(text) FROM PUBLIC;
