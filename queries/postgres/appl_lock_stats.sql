-- name: ApplLockStats :many
SELECT
    s.object_type::text AS object_type,
    s.department_id::text AS department_id,
    s.live::bigint AS live,
    s.expired::bigint AS expired,
    s.oldest_seconds::bigint AS oldest_seconds,
    s.next_expiry_seconds::bigint AS next_expiry_seconds,
    s.waiters::bigint AS waiters,
    s.longest_wait_seconds::bigint AS longest_wait_seconds
FROM appl_lock_stats AS s
WHERE (sqlc.narg('object_type')::text IS NULL OR s.object_type::text = sqlc.narg('object_type')::text)
    AND (sqlc.narg('department_id')::text IS NULL OR s.department_id::text = sqlc.narg('department_id')::text)
ORDER BY s.object_type, s.department_id;
