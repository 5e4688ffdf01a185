-- answer_appl_lock: answer an operator who asks for a held object: give it, or say later or no.
--
-- Contract   As procedures/postgres/answer_appl_lock.sql. The driver reads (inquire_appl_lock) and decides. For GIVE it runs
--            S1, moves the grant (get_appl_lock) and removes the requests (ask_appl_lock), in one transaction with the event.
--            For LATER and NO it runs S2.
-- In         The arguments as the facade has checked and trimmed them; client_id NULL = any.
-- Out        S1: the asker's department, or no row when it is gone. S2: the number of rows changed, 0 = gone.
-- Raises     Nothing of its own; SQLITE_BUSY as the engine has it.
-- Locks      The one write lock of the database file, to the end of the caller's transaction.
-- Race-free  SQLite lets one transaction write at a time.
-- Differs    It waits for any writer of the file.

-- name: ApplLockAskerDepartment :one
SELECT department_id
FROM appl_lock_ask
WHERE object_type = @object_type
    AND object_id = @object_id
    AND operator_id = @asker_id
    AND client_id = coalesce(sqlc.narg('client_id'), client_id)
    AND expires_ts > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
ORDER BY client_id
LIMIT 1;

-- name: AnswerApplLock :execrows
UPDATE appl_lock_ask
SET holder_id = @operator_id,
    fence = @fence,
    answer = @answer,
    answer_reason = @reason,
    answered_ts = CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000
WHERE object_type = @object_type
    AND object_id = @object_id
    AND operator_id = @asker_id
    AND client_id = coalesce(sqlc.narg('client_id'), client_id)
    AND expires_ts > CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000;
