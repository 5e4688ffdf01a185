-- ask_appl_lock: ask an object's holder for it, with a message, or keep the request listed.
--
-- Contract   As procedures/postgres/ask_appl_lock.sql. The driver reads (inquire_appl_lock) and decides. If another operator
--            holds the object, it runs S1, else S2. If S1 answers due, the driver moves the grant (get_appl_lock) and runs S3,
--            in one transaction with the event.
-- In         The arguments as the facade has checked and trimmed them; wait_seconds NULL = never gives up. holder_id, fence and
--            lock_ts are what was read; patience is how long the holder may leave the request unanswered, 0 = for ever.
-- Out        S1: due 1 = the holder's time to answer is over. S2 and S3: nothing.
-- Raises     Nothing of its own; SQLITE_BUSY as the engine has it.
-- Locks      The one write lock of the database file, to the end of the caller's transaction.
-- Race-free  SQLite lets one transaction write at a time: it judges on the last committed row whether it is live. The move
--            compares the lock with what was read: a renewal in between keeps it.
-- Differs    It waits for any writer of the file, not only for one of this row.

-- name: AskApplLock :one
INSERT INTO appl_lock_ask AS a (
    object_type,
    object_id,
    operator_id,
    department_id,
    client_id,
    message,
    since_ts,
    until_ts,
    expires_ts,
    holder_id,
    fence,
    answer,
    answer_reason
)
SELECT
    @object_type,
    @object_id,
    @operator_id,
    @department_id,
    @client_id,
    @message,
    t.now_ts,
    t.now_ts + CAST(sqlc.narg('wait_seconds') AS INTEGER) * 1000000,
    t.now_ts + min(60, coalesce(CAST(sqlc.narg('wait_seconds') AS INTEGER), 60)) * 1000000,
    @holder_id,
    @fence,
    '',
    ''
FROM (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 AS now_ts) AS t
WHERE true
ON CONFLICT (object_type, object_id, operator_id, client_id) DO UPDATE
SET department_id = excluded.department_id,
    message = excluded.message,
    until_ts = excluded.until_ts,
    expires_ts = excluded.expires_ts,
    holder_id = excluded.holder_id,
    fence = excluded.fence,
    since_ts = CASE WHEN a.expires_ts > excluded.since_ts THEN a.since_ts ELSE excluded.since_ts END,
    shown_ts = CASE WHEN a.expires_ts > excluded.since_ts AND a.fence = excluded.fence AND a.message = excluded.message THEN a.shown_ts END,
    answer = CASE WHEN a.expires_ts > excluded.since_ts AND a.fence = excluded.fence AND a.message = excluded.message THEN a.answer ELSE '' END,
    answer_reason = CASE WHEN a.expires_ts > excluded.since_ts AND a.fence = excluded.fence AND a.message = excluded.message THEN a.answer_reason ELSE '' END,
    answered_ts = CASE WHEN a.expires_ts > excluded.since_ts AND a.fence = excluded.fence AND a.message = excluded.message THEN a.answered_ts END,
    edited_ts = CASE WHEN a.expires_ts > excluded.since_ts AND a.fence = excluded.fence AND a.message = excluded.message THEN a.edited_ts END
RETURNING
    CAST(
        coalesce(
            CAST(@patience AS INTEGER) > 0
                AND max(shown_ts, coalesce(answered_ts, 0), coalesce(edited_ts, 0), CAST(@lock_ts AS INTEGER)) + CAST(@patience AS INTEGER) * 1000000
                    <= CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000,
            0
        ) AS INTEGER
    ) AS due;

-- name: WithdrawApplLockAsk :exec
DELETE FROM appl_lock_ask
WHERE object_type = @object_type
    AND object_id = @object_id
    AND operator_id = @operator_id
    AND client_id = @client_id;

-- name: FulfilApplLockAsks :exec
DELETE FROM appl_lock_ask
WHERE object_type = @object_type
    AND object_id = @object_id
    AND operator_id = @operator_id;
