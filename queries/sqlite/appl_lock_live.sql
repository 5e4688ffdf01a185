-- appl_lock_live: live locks, a page in the order of the key, or those that end soonest, are oldest or are waited for longest.
--
-- Contract   As the view of procedures/postgres/views.sql. The driver runs the statement of the order.
-- In         The arguments as the facade has checked and trimmed them; a NULL filter is any. after_type is not before object_type.
-- Out        Rows of the view.
-- Raises     Nothing of its own.
-- Locks      None.
-- Race-free  A page is one snapshot.
-- Differs    Nothing.

-- name: ApplLockLive :many
SELECT *
FROM appl_lock_live
WHERE (object_type, object_id) > (@after_type, @after_id)
    AND object_type <= coalesce(sqlc.narg('object_type'), x'')
    AND operator_id = coalesce(sqlc.narg('operator_id'), operator_id)
    AND department_id = coalesce(sqlc.narg('department_id'), department_id)
    AND acquired_ts <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - CAST(@older_than_seconds AS INTEGER) * 1000000
    AND seconds_left <= @expires_within_seconds
ORDER BY object_type, object_id
LIMIT @max_rows;

-- name: ApplLockLiveEndsSoonest :many
SELECT *
FROM appl_lock_live
WHERE object_type = coalesce(sqlc.narg('object_type'), object_type)
    AND operator_id = coalesce(sqlc.narg('operator_id'), operator_id)
    AND department_id = coalesce(sqlc.narg('department_id'), department_id)
    AND acquired_ts <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - CAST(@older_than_seconds AS INTEGER) * 1000000
    AND seconds_left <= @expires_within_seconds
ORDER BY expires_ts, object_type, object_id
LIMIT @max_rows;

-- name: ApplLockLiveOldest :many
SELECT *
FROM appl_lock_live
WHERE object_type = coalesce(sqlc.narg('object_type'), object_type)
    AND operator_id = coalesce(sqlc.narg('operator_id'), operator_id)
    AND department_id = coalesce(sqlc.narg('department_id'), department_id)
    AND acquired_ts <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - CAST(@older_than_seconds AS INTEGER) * 1000000
    AND seconds_left <= @expires_within_seconds
ORDER BY acquired_ts, object_type, object_id
LIMIT @max_rows;

-- name: ApplLockLiveWaitedFor :many
SELECT l.*
FROM (
    SELECT w.object_type, w.object_id, min(w.since_ts) AS since_ts
    FROM appl_lock_waiting AS w
    WHERE w.object_type = coalesce(sqlc.narg('object_type'), w.object_type)
    GROUP BY w.object_type, w.object_id
) AS a
CROSS JOIN appl_lock_live AS l
    ON l.object_type = a.object_type
    AND l.object_id = a.object_id
WHERE l.operator_id = coalesce(sqlc.narg('operator_id'), l.operator_id)
    AND l.department_id = coalesce(sqlc.narg('department_id'), l.department_id)
    AND l.acquired_ts <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 - CAST(@older_than_seconds AS INTEGER) * 1000000
    AND l.seconds_left <= @expires_within_seconds
ORDER BY a.since_ts, l.object_type, l.object_id
LIMIT @max_rows;
