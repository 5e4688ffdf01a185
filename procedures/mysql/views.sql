-- The views: locks, waiters, requests, viewers, events, policies and numbers, for SELECT. internal/db/views.go has their
-- columns.
--
-- Contract   A row for each live lock, waiter, request and viewer that is listed, event, policy, and type with department. Page
--            by a WHERE on the key behind the last row, ORDER BY and LIMIT. Join appl_lock_live with a table by (object_type, object_id).
-- In         None.
-- Out        Their columns. Seconds that lie ahead are rounded up, those that lie behind are rounded down.
-- Raises     Nothing.
-- Locks      Nothing; a reader waits only in a transaction at SERIALIZABLE.
-- Race-free  A query is one snapshot, in a transaction at REPEATABLE READ that of the transaction.
-- Differs    UTC_TIMESTAMP(6) is the clock, so SET timestamp deceives the session's own reads. `(a, b) > (?, ?)` is no range here: write
--            `a > ? OR a = ? AND b > ?`. appl_lock_stats reads the tables from end to end and makes a temporary table.

CREATE ALGORITHM = MERGE SQL SECURITY DEFINER VIEW appl_lock_live AS
SELECT
    l.object_type,
    l.object_id,
    l.operator_id,
    l.department_id,
    l.fence,
    l.acquired_ts,
    l.lock_ts,
    l.expires_ts,
    (TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.expires_ts) + 999999) DIV 1000000 AS seconds_left,
    l.ttl_seconds,
    l.note
FROM appl_lock AS l
WHERE l.released_ts IS NULL
    AND l.expires_ts > UTC_TIMESTAMP(6);

CREATE ALGORITHM = MERGE SQL SECURITY DEFINER VIEW appl_lock_waiting AS
SELECT
    w.object_type,
    w.object_id,
    w.operator_id,
    w.department_id,
    w.client_id,
    w.since_ts,
    w.until_ts,
    GREATEST(TIMESTAMPDIFF(SECOND, w.since_ts, UTC_TIMESTAMP(6)), 0) AS waited_seconds,
    COALESCE(l.operator_id, '') AS holder_id,
    COALESCE(l.department_id, '') AS holder_department_id,
    COALESCE((TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.expires_ts) + 999999) DIV 1000000, 0) AS seconds_left
FROM appl_lock_waiter AS w FORCE INDEX (PRIMARY)
LEFT JOIN appl_lock AS l
    ON l.object_type = w.object_type
    AND l.object_id = w.object_id
    AND l.released_ts IS NULL
    AND l.expires_ts > UTC_TIMESTAMP(6)
WHERE w.expires_ts > UTC_TIMESTAMP(6);

CREATE ALGORITHM = MERGE SQL SECURITY DEFINER VIEW appl_lock_asking AS
SELECT
    a.object_type,
    a.object_id,
    a.operator_id,
    a.department_id,
    a.client_id,
    a.message,
    a.since_ts,
    a.until_ts,
    GREATEST(TIMESTAMPDIFF(SECOND, a.since_ts, UTC_TIMESTAMP(6)), 0) AS waited_seconds,
    a.answer,
    a.answer_reason,
    COALESCE(l.operator_id, '') AS holder_id,
    COALESCE(l.department_id, '') AS holder_department_id,
    COALESCE((TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), l.expires_ts) + 999999) DIV 1000000, 0) AS seconds_left
FROM appl_lock_ask AS a FORCE INDEX (PRIMARY)
LEFT JOIN appl_lock AS l
    ON l.object_type = a.object_type
    AND l.object_id = a.object_id
    AND l.released_ts IS NULL
    AND l.expires_ts > UTC_TIMESTAMP(6)
WHERE a.expires_ts > UTC_TIMESTAMP(6);

CREATE ALGORITHM = MERGE SQL SECURITY DEFINER VIEW appl_lock_viewers AS
SELECT
    v.object_type,
    v.object_id,
    v.operator_id,
    v.department_id,
    v.client_id,
    v.state,
    v.since_ts,
    GREATEST((TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), v.expires_ts) + 999999) DIV 1000000, 1) AS seconds_left
FROM appl_lock_viewer AS v FORCE INDEX (PRIMARY)
WHERE v.expires_ts > UTC_TIMESTAMP(6);

CREATE ALGORITHM = MERGE SQL SECURITY DEFINER VIEW appl_lock_history AS
SELECT
    e.event_id,
    e.event_ts,
    e.object_type,
    e.object_id,
    e.event,
    e.actor_id,
    e.db_user,
    e.program,
    e.from_operator_id,
    e.from_department_id,
    e.to_operator_id,
    e.to_department_id,
    e.from_fence,
    e.to_fence,
    e.reason
FROM appl_lock_event AS e;

CREATE ALGORITHM = MERGE SQL SECURITY DEFINER VIEW appl_lock_policies AS
SELECT
    p.object_type,
    p.default_ttl_seconds,
    p.longest_ttl_seconds,
    p.take_reason_fl,
    p.history_level,
    p.presence_fl,
    p.yield_after_seconds
FROM appl_lock_policy AS p;

CREATE ALGORITHM = TEMPTABLE SQL SECURITY DEFINER VIEW appl_lock_stats AS
SELECT
    s.object_type,
    s.department_id,
    CAST(SUM(s.live) AS SIGNED) AS live,
    CAST(SUM(s.expired) AS SIGNED) AS expired,
    MAX(s.oldest_seconds) AS oldest_seconds,
    MAX(s.next_expiry_seconds) AS next_expiry_seconds,
    CAST(SUM(s.waiters) AS SIGNED) AS waiters,
    MAX(s.longest_wait_seconds) AS longest_wait_seconds
FROM (
    SELECT
        l.object_type,
        l.department_id,
        SUM(l.is_live) AS live,
        SUM(1 - l.is_live) AS expired,
        GREATEST(COALESCE(TIMESTAMPDIFF(SECOND, MIN(IF(l.is_live, l.acquired_ts, NULL)), UTC_TIMESTAMP(6)), 0), 0) AS oldest_seconds,
        COALESCE((TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), MIN(IF(l.is_live, l.expires_ts, NULL))) + 999999) DIV 1000000, 0)
            AS next_expiry_seconds,
        0 AS waiters,
        0 AS longest_wait_seconds
    FROM (
        SELECT
            a.object_type,
            IF(a.released_ts IS NULL AND a.expires_ts > UTC_TIMESTAMP(6), a.department_id, '') AS department_id,
            a.acquired_ts,
            a.expires_ts,
            a.released_ts IS NULL AND a.expires_ts > UTC_TIMESTAMP(6) AS is_live
        FROM appl_lock AS a
    ) AS l
    GROUP BY l.object_type, l.department_id
    UNION ALL
    SELECT
        w.object_type,
        w.department_id,
        0 AS live,
        0 AS expired,
        0 AS oldest_seconds,
        0 AS next_expiry_seconds,
        COUNT(*) AS waiters,
        GREATEST(TIMESTAMPDIFF(SECOND, MIN(w.since_ts), UTC_TIMESTAMP(6)), 0) AS longest_wait_seconds
    FROM appl_lock_waiter AS w
    WHERE w.expires_ts > UTC_TIMESTAMP(6)
    GROUP BY w.object_type, w.department_id
) AS s
GROUP BY s.object_type, s.department_id;
