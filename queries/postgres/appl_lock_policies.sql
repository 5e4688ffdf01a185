-- name: ApplLockPolicies :many
SELECT
    p.object_type::text AS object_type,
    coalesce(p.default_ttl_seconds, 0)::bigint AS default_ttl_seconds,
    coalesce(p.longest_ttl_seconds, 0)::bigint AS longest_ttl_seconds,
    p.take_reason_fl::text AS take_reason_fl,
    p.history_level::text AS history_level
FROM appl_lock_policies AS p
WHERE sqlc.narg('object_type')::text IS NULL OR p.object_type = sqlc.narg('object_type')::text
ORDER BY p.object_type;
