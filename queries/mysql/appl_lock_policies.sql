-- name: ApplLockPolicies :many
SELECT
    p.object_type,
    p.default_ttl_seconds,
    p.longest_ttl_seconds,
    p.take_reason_fl,
    p.history_level,
    p.presence_fl,
    p.yield_after_seconds
FROM appl_lock_policies AS p
WHERE (sqlc.narg('object_type') IS NULL OR p.object_type = sqlc.narg('object_type'))
ORDER BY p.object_type;
