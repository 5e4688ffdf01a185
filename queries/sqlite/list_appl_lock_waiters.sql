-- list_appl_lock_waiters: one page of those who wait, in key order, all or those for a type or an object, or of
-- an operator or department.
--
-- Contract   As procedures/postgres/list_appl_lock_waiters.sql.
-- In         The arguments as the facade has checked and trimmed them; a NULL filter is any.
-- Out        Rows of appl_lock_waiter with seconds_left, ordered by object_type, object_id, operator_id, client_id as
--            bytes.
-- Raises     Nothing of its own.
-- Locks      None.
-- Race-free  A page is one snapshot.
-- Differs    Nothing.

-- name: ListApplLockWaiters :many
SELECT
    object_type,
    object_id,
    operator_id,
    department_id,
    client_id,
    since_ts,
    until_ts,
    expires_ts,
    CAST((expires_ts - CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + 999999) / 1000000 AS INTEGER) AS seconds_left
FROM appl_lock_waiter
WHERE (object_type, object_id, operator_id, client_id)
        > (@after_type, @after_id, @after_operator_id, @after_client_id)
    AND object_type = coalesce(sqlc.narg('object_type'), object_type)
    AND object_id = coalesce(sqlc.narg('object_id'), object_id)
    AND operator_id = coalesce(sqlc.narg('operator_id'), operator_id)
    AND department_id = coalesce(sqlc.narg('department_id'), department_id)
    AND expires_ts > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
ORDER BY object_type, object_id, operator_id, client_id
LIMIT @max_rows;
