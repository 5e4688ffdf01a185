-- appl_lock_stats: how many locks and waiters each type and department has, and their age.
--
-- Contract   As the view of procedures/postgres/views.sql.
-- In         The arguments as the facade has checked and trimmed them; a NULL filter is any.
-- Out        Rows of the view, ordered by object_type, department_id as bytes.
-- Raises     Nothing of its own.
-- Locks      None. It reads all rows of each table once.
-- Race-free  The answer is one snapshot.
-- Differs    Nothing.

-- name: ApplLockStats :many
SELECT *
FROM appl_lock_stats
WHERE object_type = coalesce(sqlc.narg('object_type'), object_type)
    AND department_id = coalesce(sqlc.narg('department_id'), department_id)
ORDER BY object_type, department_id;
