-- set_appl_lock_policy: set a type's policy: how long its locks last, whether a take needs a reason, what the history records,
-- and who sees whom.
--
-- Contract   As procedures/postgres/set_appl_lock_policy.sql. The driver runs S1 and the event in one transaction.
-- In         The arguments as the facade has checked and trimmed them; a NULL ttl gets its default.
-- Out        Nothing: S1 never fails to set it.
-- Raises     Nothing of its own; SQLITE_BUSY as the engine has it.
-- Locks      The one write lock of the database file, to the end of the caller's transaction.
-- Race-free  SQLite lets one transaction write at a time.
-- Differs    It waits for any writer of the file.

-- name: SetApplLockPolicy :exec
INSERT INTO appl_lock_policy (
    object_type,
    default_ttl_seconds,
    longest_ttl_seconds,
    take_reason_fl,
    history_level,
    presence_fl,
    yield_after_seconds
)
VALUES (
    @object_type,
    sqlc.narg('default_ttl_seconds'),
    sqlc.narg('longest_ttl_seconds'),
    @take_reason_fl,
    @history_level,
    @presence_fl,
    sqlc.narg('yield_after_seconds')
)
ON CONFLICT (object_type) DO UPDATE
SET default_ttl_seconds = excluded.default_ttl_seconds,
    longest_ttl_seconds = excluded.longest_ttl_seconds,
    take_reason_fl = excluded.take_reason_fl,
    history_level = excluded.history_level,
    presence_fl = excluded.presence_fl,
    yield_after_seconds = excluded.yield_after_seconds;
