-- appl_lock_waiting: one page of waiters, in the order of the key: all, or those for a type or an object, or of an operator or
-- department.
--
-- Contract   As the view of procedures/postgres/views.sql.
-- In         The arguments as the facade has checked and trimmed them; a NULL filter is any. after_type and after_id are not before
--            object_type and object_id.
-- Out        Rows of the view.
-- Raises     Nothing of its own.
-- Locks      None.
-- Race-free  A page is one snapshot.
-- Differs    Nothing.

-- name: ApplLockWaiting :many
SELECT *
FROM appl_lock_waiting
WHERE (object_type, object_id, operator_id, client_id)
        > (@after_type, @after_id, @after_operator_id, @after_client_id)
    AND (object_type, object_id) <= (coalesce(sqlc.narg('object_type'), x''), coalesce(sqlc.narg('object_id'), x''))
    AND object_id = coalesce(sqlc.narg('object_id'), object_id)
    AND operator_id = coalesce(sqlc.narg('operator_id'), operator_id)
    AND department_id = coalesce(sqlc.narg('department_id'), department_id)
ORDER BY object_type, object_id, operator_id, client_id
LIMIT @max_rows;
