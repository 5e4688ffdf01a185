-- inquire_appl_lock: show who holds an object, since when and until when.
--
-- Contract   As procedures/postgres/inquire_appl_lock.sql. The other operations on one object read with it, too.
-- In         The arguments as the facade has checked and trimmed them.
-- Out        One row: the object's row, live or not, and the policy of its type. fence 0 = it has no row.
-- Raises     Nothing of its own.
-- Locks      None.
-- Race-free  One read of one committed moment.
-- Differs    Nothing.

-- name: InquireApplLock :one
SELECT
    CAST(coalesce(l.operator_id, '') AS TEXT) AS operator_id,
    CAST(coalesce(l.department_id, '') AS TEXT) AS department_id,
    CAST(coalesce(l.fence, 0) AS INTEGER) AS fence,
    CAST(coalesce(l.acquired_ts, 0) AS INTEGER) AS acquired_ts,
    CAST(coalesce(l.lock_ts, 0) AS INTEGER) AS lock_ts,
    CAST(coalesce(l.ttl_seconds, 0) AS INTEGER) AS ttl_seconds,
    CAST(coalesce(l.expires_ts, 0) AS INTEGER) AS expires_ts,
    CAST(coalesce((l.expires_ts - t.now_ts + 999999) / 1000000, 0) AS INTEGER) AS seconds_left,
    CAST(coalesce(l.note, '') AS TEXT) AS note,
    CAST(coalesce(l.history_fl, 'N') AS TEXT) AS history_fl,
    CAST(coalesce(l.released_ts, 0) AS INTEGER) AS released_ts,
    CAST(coalesce(l.released_ts IS NULL AND l.expires_ts > t.now_ts, 0) AS INTEGER) AS live,
    CAST(coalesce(p.default_ttl_seconds, 604800) AS INTEGER) AS default_ttl_seconds,
    CAST(coalesce(p.longest_ttl_seconds, 315360000) AS INTEGER) AS longest_ttl_seconds,
    CAST(coalesce(p.take_reason_fl, 'Y') AS TEXT) AS take_reason_fl,
    CAST(coalesce(p.history_level, 'CHANGES') AS TEXT) AS history_level,
    CAST(coalesce(p.yield_after_seconds, 0) AS INTEGER) AS yield_after_seconds
FROM (SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000 AS now_ts) AS t
LEFT JOIN appl_lock AS l
    ON l.object_type = @object_type
    AND l.object_id = @object_id
LEFT JOIN appl_lock_policy AS p
    ON p.object_type = @object_type;
