-- appl_lock_policies: the policies of all types, or that of one.
--
-- Contract   As the view of procedures/postgres/views.sql.
-- In         The arguments as the facade has checked and trimmed them; a NULL filter is any.
-- Out        Rows of the view, 0 for a NULL, ordered by object_type as bytes.
-- Raises     Nothing of its own.
-- Locks      None.
-- Race-free  The answer is one snapshot.
-- Differs    Nothing.

-- name: ApplLockPolicies :many
SELECT
    object_type,
    CAST(coalesce(default_ttl_seconds, 0) AS INTEGER) AS default_ttl_seconds,
    CAST(coalesce(longest_ttl_seconds, 0) AS INTEGER) AS longest_ttl_seconds,
    take_reason_fl,
    history_level,
    presence_fl,
    CAST(coalesce(yield_after_seconds, 0) AS INTEGER) AS yield_after_seconds
FROM appl_lock_policies
WHERE object_type >= coalesce(sqlc.narg('object_type'), '')
    AND object_type <= coalesce(sqlc.narg('object_type'), x'')
ORDER BY object_type;
