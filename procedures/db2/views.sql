-- The views: locks, waiters, requests, viewers, events, policies and numbers, for SELECT. appl_lock_number is internal: the
-- numbers 0 to 9999, of which thousand is the first digit.
--
-- Contract   The columns and their meaning are those of procedures/README.md. A view is read with its owner's rights: callers
--            need SELECT on it, and nothing on the tables. Join a view with tables of your own by object_type and object_id.
-- Raises     Nothing on purpose.
-- Locks      Nothing that lasts: they read committed rows (cur_commit, the default). Isolation is the reader's.
-- Differs    The clock is that of the statement, in UTC.

--#SET TERMINATOR @

CREATE OR REPLACE VIEW appl_lock_live AS
SELECT
    l.object_type,
    l.object_id,
    l.operator_id,
    l.department_id,
    l.fence,
    l.acquired_ts,
    l.lock_ts,
    l.expires_ts,
    SECONDS_UP(t.now_ts, l.expires_ts) AS seconds_left,
    l.ttl_seconds,
    l.note
FROM appl_lock AS l
INNER JOIN (SELECT CURRENT TIMESTAMP - CURRENT TIMEZONE AS now_ts FROM SYSIBM.SYSDUMMY1) AS t
    ON l.expires_ts > t.now_ts
WHERE l.released_ts IS NULL
@

CREATE OR REPLACE VIEW appl_lock_waiting AS
SELECT
    w.object_type,
    w.object_id,
    w.operator_id,
    w.department_id,
    w.client_id,
    w.since_ts,
    w.until_ts,
    CASE WHEN w.since_ts < t.now_ts THEN SECONDS_DOWN(w.since_ts, t.now_ts) ELSE 0 END AS waited_seconds,
    COALESCE(l.operator_id, '') AS holder_id,
    COALESCE(l.department_id, '') AS holder_department_id,
    CASE WHEN l.expires_ts IS NOT NULL THEN SECONDS_UP(t.now_ts, l.expires_ts) ELSE 0 END AS seconds_left
FROM appl_lock_waiter AS w
INNER JOIN (SELECT CURRENT TIMESTAMP - CURRENT TIMEZONE AS now_ts FROM SYSIBM.SYSDUMMY1) AS t
    ON w.expires_ts > t.now_ts
LEFT OUTER JOIN appl_lock AS l
    ON l.object_type = w.object_type
    AND l.object_id = w.object_id
    AND l.released_ts IS NULL
    AND l.expires_ts > t.now_ts
@

CREATE OR REPLACE VIEW appl_lock_asking AS
SELECT
    a.object_type,
    a.object_id,
    a.operator_id,
    a.department_id,
    a.client_id,
    a.message,
    a.since_ts,
    a.until_ts,
    CASE WHEN a.since_ts < t.now_ts THEN SECONDS_DOWN(a.since_ts, t.now_ts) ELSE 0 END AS waited_seconds,
    a.answer,
    a.answer_reason,
    COALESCE(l.operator_id, '') AS holder_id,
    COALESCE(l.department_id, '') AS holder_department_id,
    CASE WHEN l.expires_ts IS NOT NULL THEN SECONDS_UP(t.now_ts, l.expires_ts) ELSE 0 END AS seconds_left
FROM appl_lock_ask AS a
INNER JOIN (SELECT CURRENT TIMESTAMP - CURRENT TIMEZONE AS now_ts FROM SYSIBM.SYSDUMMY1) AS t
    ON a.expires_ts > t.now_ts
LEFT OUTER JOIN appl_lock AS l
    ON l.object_type = a.object_type
    AND l.object_id = a.object_id
    AND l.released_ts IS NULL
    AND l.expires_ts > t.now_ts
@

CREATE OR REPLACE VIEW appl_lock_viewers AS
SELECT
    v.object_type,
    v.object_id,
    v.operator_id,
    v.department_id,
    v.client_id,
    v.state,
    v.since_ts,
    SECONDS_UP(t.now_ts, v.expires_ts) AS seconds_left
FROM appl_lock_viewer AS v
INNER JOIN (SELECT CURRENT TIMESTAMP - CURRENT TIMEZONE AS now_ts FROM SYSIBM.SYSDUMMY1) AS t
    ON v.expires_ts > t.now_ts
@

CREATE OR REPLACE VIEW appl_lock_history AS
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
FROM appl_lock_event AS e
@

CREATE OR REPLACE VIEW appl_lock_policies AS
SELECT
    p.object_type,
    p.default_ttl_seconds,
    p.longest_ttl_seconds,
    p.take_reason_fl,
    p.history_level,
    p.presence_fl,
    p.yield_after_seconds
FROM appl_lock_policy AS p
@

CREATE OR REPLACE VIEW appl_lock_stats AS
SELECT
    s.object_type,
    s.department_id,
    CAST(SUM(s.live) AS BIGINT) AS live,
    CAST(SUM(s.expired) AS BIGINT) AS expired,
    MAX(s.oldest_seconds) AS oldest_seconds,
    COALESCE(MIN(s.expiry_seconds), 0) AS next_expiry_seconds,
    CAST(SUM(s.waiters) AS BIGINT) AS waiters,
    MAX(s.wait_seconds) AS longest_wait_seconds
FROM (
    SELECT
        l.object_type,
        CASE WHEN l.released_ts IS NULL AND l.expires_ts > t.now_ts THEN l.department_id ELSE '' END AS department_id,
        CASE WHEN l.released_ts IS NULL AND l.expires_ts > t.now_ts THEN 1 ELSE 0 END AS live,
        CASE WHEN l.released_ts IS NULL AND l.expires_ts > t.now_ts THEN 0 ELSE 1 END AS expired,
        CASE
            WHEN l.released_ts IS NULL AND l.expires_ts > t.now_ts AND l.acquired_ts < t.now_ts THEN
                SECONDS_DOWN(l.acquired_ts, t.now_ts)
            ELSE 0
        END AS oldest_seconds,
        CASE
            WHEN l.released_ts IS NULL AND l.expires_ts > t.now_ts THEN
                SECONDS_UP(t.now_ts, l.expires_ts)
        END AS expiry_seconds,
        0 AS waiters,
        CAST(0 AS BIGINT) AS wait_seconds
    FROM appl_lock AS l
    INNER JOIN (SELECT CURRENT TIMESTAMP - CURRENT TIMEZONE AS now_ts FROM SYSIBM.SYSDUMMY1) AS t
        ON 1 = 1
    UNION ALL
    SELECT
        w.object_type,
        w.department_id,
        0 AS live,
        0 AS expired,
        CAST(0 AS BIGINT) AS oldest_seconds,
        CAST(NULL AS BIGINT) AS expiry_seconds,
        1 AS waiters,
        CASE WHEN w.since_ts < t.now_ts THEN SECONDS_DOWN(w.since_ts, t.now_ts) ELSE 0 END AS wait_seconds
    FROM appl_lock_waiter AS w
    INNER JOIN (SELECT CURRENT TIMESTAMP - CURRENT TIMEZONE AS now_ts FROM SYSIBM.SYSDUMMY1) AS t
        ON w.expires_ts > t.now_ts
) AS s
GROUP BY s.object_type, s.department_id
@

CREATE OR REPLACE VIEW appl_lock_number AS
WITH digit (d) AS (
    SELECT 0 FROM SYSIBM.SYSDUMMY1
    UNION ALL SELECT 1 FROM SYSIBM.SYSDUMMY1
    UNION ALL SELECT 2 FROM SYSIBM.SYSDUMMY1
    UNION ALL SELECT 3 FROM SYSIBM.SYSDUMMY1
    UNION ALL SELECT 4 FROM SYSIBM.SYSDUMMY1
    UNION ALL SELECT 5 FROM SYSIBM.SYSDUMMY1
    UNION ALL SELECT 6 FROM SYSIBM.SYSDUMMY1
    UNION ALL SELECT 7 FROM SYSIBM.SYSDUMMY1
    UNION ALL SELECT 8 FROM SYSIBM.SYSDUMMY1
    UNION ALL SELECT 9 FROM SYSIBM.SYSDUMMY1
)
SELECT
    m.d AS thousand,
    1000 * m.d + 100 * c.d + 10 * x.d + i.d AS n
FROM digit AS m, digit AS c, digit AS x, digit AS i
@

COMMENT ON TABLE appl_lock_number IS 'Internal to applock: the numbers 0 to 9999.'
@
