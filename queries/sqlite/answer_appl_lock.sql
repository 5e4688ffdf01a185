-- answer_appl_lock: TODO: what it does, in one sentence.
--
-- Contract   As procedures/postgres/answer_appl_lock.sql. TODO: what the driver does, and what the statement.
-- In         The arguments as the facade has checked and trimmed them.
-- Out        TODO: what the statement returns.
-- Raises     Nothing of its own; SQLITE_BUSY as the engine has it.
-- Locks      The one write lock of the database file, to the end of the caller's transaction.
-- Race-free  SQLite lets one transaction write at a time.
-- Differs    It waits for any writer of the file.

-- name: AnswerApplLock :one
SELECT
    CAST('N' AS TEXT) AS ok_fl,
    CAST('TODO' AS TEXT) AS outcome;
