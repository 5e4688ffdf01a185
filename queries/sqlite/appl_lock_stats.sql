-- appl_lock_stats: how many locks and waiters there are of each type and department, and how old and how long.
--
-- Contract   As the view of procedures/postgres/views.sql.
-- In         The arguments as the facade has checked and trimmed them; a NULL filter is any.
-- Out        Rows of the view, ordered by object_type, department_id as bytes.
-- Raises     Nothing of its own.
-- Locks      None. It reads each table once, from end to end.
-- Race-free  The answer is one snapshot.
-- Differs    Nothing.

-- name: ApplLockStats :many
SELECT *
FROM appl_lock_stats
WHERE object_type = coalesce(sqlc.narg('object_type'), object_type)
    AND department_id = coalesce(sqlc.narg('department_id'), department_id)
ORDER BY object_type, department_id;
