-- list_appl_locks: one page of the live locks in key order, all or those of a type, operator or department.
--
-- Contract   As procedures/postgres/list_appl_locks.sql.
-- In         The arguments as the facade has checked and trimmed them; a NULL filter is any.
-- Out        Rows of appl_lock with seconds_left, ordered by object_type, object_id as bytes.
-- Raises     Nothing of its own.
-- Locks      None.
-- Race-free  A page is one snapshot.
-- Differs    Nothing.

-- name: ListApplLocks :many
SELECT
    object_type,
    object_id,
    operator_id,
    department_id,
    fence,
    acquired_ts,
    lock_ts,
    expires_ts,
    CAST((expires_ts - CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 + 999999) / 1000000 AS INTEGER) AS seconds_left,
    note
FROM appl_lock
WHERE (object_type, object_id) > (@after_type, @after_id)
    AND object_type = coalesce(sqlc.narg('object_type'), object_type)
    AND operator_id = coalesce(sqlc.narg('operator_id'), operator_id)
    AND department_id = coalesce(sqlc.narg('department_id'), department_id)
    AND expires_ts > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
ORDER BY object_type, object_id
LIMIT @max_rows;
