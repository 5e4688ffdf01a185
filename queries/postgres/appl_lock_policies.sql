-- name: ApplLockPolicies :many
SELECT
    p.object_type::text AS object_type,
    coalesce(p.default_ttl_seconds, 0)::bigint AS default_ttl_seconds,
    coalesce(p.longest_ttl_seconds, 0)::bigint AS longest_ttl_seconds,
    p.take_reason_fl::text AS take_reason_fl,
    p.history_level::text AS history_level,
    p.presence_fl::text AS presence_fl,
    coalesce(p.yield_after_seconds, 0)::bigint AS yield_after_seconds
FROM appl_lock_policies AS p
WHERE sqlc.narg('object_type')::text IS NULL OR p.object_type::text = sqlc.narg('object_type')::text
ORDER BY p.object_type;
