-- name: ListApplLockPolicies :many
SELECT
    object_type::text AS object_type,
    default_ttl_seconds::bigint AS default_ttl_seconds,
    longest_ttl_seconds::bigint AS longest_ttl_seconds,
    take_reason_fl::text AS take_reason_fl,
    history_level::text AS history_level
FROM list_appl_lock_policies(sqlc.narg('object_type')::text);
