-- name: ApplLockStats :many
SELECT
    s.object_type,
    s.department_id,
    s.live,
    s.expired,
    s.oldest_seconds,
    s.next_expiry_seconds,
    s.waiters,
    s.longest_wait_seconds
FROM appl_lock_stats AS s
WHERE (sqlc.narg('object_type') IS NULL OR s.object_type = sqlc.narg('object_type'))
    AND (sqlc.narg('department_id') IS NULL OR s.department_id = sqlc.narg('department_id'))
ORDER BY s.object_type, s.department_id;
