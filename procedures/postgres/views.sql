-- The views: locks, waiters, requests, viewers, events, policies and numbers, for SELECT.
--
-- Contract   A row for each live lock, waiter, request and viewer, event, type with a policy, and type and department. A page
--            is a WHERE on the key behind the last row, ORDER BY and LIMIT. The columns are in internal/db/views.go.
-- Rights     They read with their owner's rights; a reader needs SELECT on the view, and nothing on the tables.
-- Locks      Nothing; they neither wait nor write.
-- Race-free  One snapshot; now is the start of the reader's statement.
-- Differs    The clock is statement_timestamp(): with a volatile one a join could not use the key. Whether a lock is live is one
--            expression, for which the planner has no statistics that could be old. A standby has no
--            appl_lock_viewers: its table is unlogged.

CREATE OR REPLACE VIEW appl_lock_live AS
SELECT
    l.object_type,
    l.object_id,
    l.operator_id,
    l.department_id,
    l.fence,
    l.acquired_ts,
    l.lock_ts,
    least(l.expires_ts, '9999-12-31 00:00:00+00'::timestamptz) AS expires_ts,
    greatest(ceil(extract(epoch FROM least(l.expires_ts, '2262-01-01 00:00:00+00'::timestamptz) - statement_timestamp())), 1)::bigint AS seconds_left,
    l.ttl_seconds,
    l.note
FROM appl_lock AS l
WHERE CASE WHEN l.released_ts IS NULL THEN l.expires_ts END > statement_timestamp();

CREATE OR REPLACE VIEW appl_lock_waiting AS
SELECT
    w.object_type,
    w.object_id,
    w.operator_id,
    w.department_id,
    w.client_id,
    w.since_ts,
    w.until_ts,
    greatest(floor(extract(epoch FROM statement_timestamp() - w.since_ts)), 0)::bigint AS waited_seconds,
    coalesce(l.operator_id, '') AS holder_id,
    coalesce(l.department_id, '') AS holder_department_id,
    CASE
        WHEN l.expires_ts IS NULL THEN 0
        ELSE ceil(extract(epoch FROM least(l.expires_ts, '2262-01-01 00:00:00+00'::timestamptz) - statement_timestamp()))::bigint
    END AS seconds_left
FROM appl_lock_waiter AS w
LEFT JOIN appl_lock AS l
    ON l.object_type::text = w.object_type::text
    AND l.object_id::text = w.object_id::text
    AND CASE WHEN l.released_ts IS NULL THEN l.expires_ts END > statement_timestamp()
WHERE w.expires_ts > statement_timestamp();

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
    greatest(floor(extract(epoch FROM statement_timestamp() - a.since_ts)), 0)::bigint AS waited_seconds,
    a.answer,
    a.answer_reason,
    coalesce(l.operator_id, '') AS holder_id,
    coalesce(l.department_id, '') AS holder_department_id,
    CASE
        WHEN l.expires_ts IS NULL THEN 0
        ELSE ceil(extract(epoch FROM least(l.expires_ts, '2262-01-01 00:00:00+00'::timestamptz) - statement_timestamp()))::bigint
    END AS seconds_left
FROM appl_lock_ask AS a
LEFT JOIN appl_lock AS l
    ON l.object_type::text = a.object_type::text
    AND l.object_id::text = a.object_id::text
    AND CASE WHEN l.released_ts IS NULL THEN l.expires_ts END > statement_timestamp()
WHERE a.expires_ts > statement_timestamp();

CREATE OR REPLACE VIEW appl_lock_viewers AS
SELECT
    v.object_type,
    v.object_id,
    v.operator_id,
    v.department_id,
    v.client_id,
    v.state,
    v.since_ts,
    ceil(extract(epoch FROM v.expires_ts - statement_timestamp()))::bigint AS seconds_left
FROM appl_lock_viewer AS v
WHERE v.expires_ts > statement_timestamp();

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
FROM appl_lock_event AS e;

CREATE OR REPLACE VIEW appl_lock_policies AS
SELECT
    p.object_type,
    p.default_ttl_seconds,
    p.longest_ttl_seconds,
    p.take_reason_fl,
    p.history_level,
    p.presence_fl,
    p.yield_after_seconds
FROM appl_lock_policy AS p;

CREATE OR REPLACE VIEW appl_lock_stats AS
SELECT
    s.object_type,
    s.department_id,
    sum(s.live)::bigint AS live,
    sum(s.expired)::bigint AS expired,
    greatest(floor(extract(epoch FROM statement_timestamp() - min(s.acquired_ts))), 0)::bigint AS oldest_seconds,
    CASE
        WHEN min(s.expires_ts) IS NULL THEN 0
        ELSE greatest(ceil(extract(epoch FROM least(min(s.expires_ts), '2262-01-01 00:00:00+00'::timestamptz) - statement_timestamp())), 0)::bigint
    END AS next_expiry_seconds,
    sum(s.waiters)::bigint AS waiters,
    greatest(floor(extract(epoch FROM statement_timestamp() - min(s.since_ts))), 0)::bigint AS longest_wait_seconds
FROM (
    SELECT
        l.object_type,
        l.department_id,
        count(*) FILTER (WHERE l.is_live) AS live,
        count(*) FILTER (WHERE NOT l.is_live) AS expired,
        min(l.acquired_ts) FILTER (WHERE l.is_live) AS acquired_ts,
        min(l.expires_ts) FILTER (WHERE l.is_live) AS expires_ts,
        0 AS waiters,
        NULL::timestamptz AS since_ts
    FROM (
        SELECT
            a.object_type,
            CASE WHEN a.released_ts IS NULL AND a.expires_ts > statement_timestamp() THEN a.department_id ELSE '' END
                AS department_id,
            a.acquired_ts,
            a.expires_ts,
            a.released_ts IS NULL AND a.expires_ts > statement_timestamp() AS is_live
        FROM appl_lock AS a
    ) AS l
    GROUP BY l.object_type, l.department_id
    UNION ALL
    SELECT
        w.object_type,
        w.department_id,
        0,
        0,
        NULL,
        NULL,
        count(*),
        min(w.since_ts)
    FROM appl_lock_waiter AS w
    WHERE w.expires_ts > statement_timestamp()
    GROUP BY w.object_type, w.department_id
) AS s
GROUP BY s.object_type, s.department_id;
