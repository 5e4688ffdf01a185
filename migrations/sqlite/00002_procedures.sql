-- Creates the views. SQLite has no procedures: the operations are the statements in queries/sqlite. 'now' is the same
-- throughout a statement. julianday: an sqlite3 before 3.42 has no unixepoch('subsec').

-- +goose Up
-- A write comes first and waits for other writers: a transaction that has read cannot wait for them.
UPDATE appl_lock_fence SET fence = fence;

-- One table without a join, so that a condition on the key, also of a LEFT JOIN, reaches the primary key.
DROP VIEW IF EXISTS appl_lock_live;
CREATE VIEW appl_lock_live AS
SELECT
    object_type,
    object_id,
    operator_id,
    department_id,
    fence,
    acquired_ts,
    lock_ts,
    expires_ts,
    CAST((expires_ts - CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 + 999999) / 1000000 AS INTEGER) AS seconds_left,
    ttl_seconds,
    note
FROM appl_lock
WHERE released_ts IS NULL
    AND expires_ts > CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000;

DROP VIEW IF EXISTS appl_lock_waiting;
CREATE VIEW appl_lock_waiting AS
SELECT
    w.object_type,
    w.object_id,
    w.operator_id,
    w.department_id,
    w.client_id,
    w.since_ts,
    w.until_ts,
    CAST(max(0, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 - w.since_ts) / 1000000 AS INTEGER) AS waited_seconds,
    CAST(coalesce(l.operator_id, '') AS TEXT) AS holder_id,
    CAST(coalesce(l.department_id, '') AS TEXT) AS holder_department_id,
    CAST(coalesce(l.seconds_left, 0) AS INTEGER) AS seconds_left
FROM appl_lock_waiter AS w
LEFT JOIN appl_lock_live AS l
    ON l.object_type = w.object_type
    AND l.object_id = w.object_id
WHERE w.expires_ts > CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000;

DROP VIEW IF EXISTS appl_lock_asking;
CREATE VIEW appl_lock_asking AS
SELECT
    a.object_type,
    a.object_id,
    a.operator_id,
    a.department_id,
    a.client_id,
    a.message,
    a.since_ts,
    a.until_ts,
    CAST(max(0, CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 - a.since_ts) / 1000000 AS INTEGER) AS waited_seconds,
    a.answer,
    a.answer_reason,
    CAST(coalesce(l.operator_id, '') AS TEXT) AS holder_id,
    CAST(coalesce(l.department_id, '') AS TEXT) AS holder_department_id,
    CAST(coalesce(l.seconds_left, 0) AS INTEGER) AS seconds_left
FROM appl_lock_ask AS a
LEFT JOIN appl_lock_live AS l
    ON l.object_type = a.object_type
    AND l.object_id = a.object_id
WHERE a.expires_ts > CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000;

DROP VIEW IF EXISTS appl_lock_viewers;
CREATE VIEW appl_lock_viewers AS
SELECT
    object_type,
    object_id,
    operator_id,
    department_id,
    client_id,
    state,
    since_ts,
    (expires_ts - CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 + 999999) / 1000000 AS seconds_left
FROM appl_lock_viewer
WHERE expires_ts > CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000;

DROP VIEW IF EXISTS appl_lock_history;
CREATE VIEW appl_lock_history AS
SELECT
    event_id,
    event_ts,
    object_type,
    object_id,
    event,
    actor_id,
    db_user,
    program,
    from_operator_id,
    from_department_id,
    to_operator_id,
    to_department_id,
    from_fence,
    to_fence,
    reason
FROM appl_lock_event;

DROP VIEW IF EXISTS appl_lock_policies;
CREATE VIEW appl_lock_policies AS
SELECT
    object_type,
    default_ttl_seconds,
    longest_ttl_seconds,
    take_reason_fl,
    history_level,
    presence_fl,
    yield_after_seconds
FROM appl_lock_policy;

-- It reads all rows of the tables.
DROP VIEW IF EXISTS appl_lock_stats;
CREATE VIEW appl_lock_stats AS
SELECT
    s.object_type,
    s.department_id,
    CAST(sum(s.live) AS INTEGER) AS live,
    CAST(sum(s.expired) AS INTEGER) AS expired,
    CAST(max(0, max(s.oldest)) AS INTEGER) AS oldest_seconds,
    CAST(coalesce(min(s.next), 0) AS INTEGER) AS next_expiry_seconds,
    CAST(sum(s.waiting) AS INTEGER) AS waiters,
    CAST(max(s.longest) AS INTEGER) AS longest_wait_seconds
FROM (
    SELECT
        object_type,
        department_id,
        1 AS live,
        0 AS expired,
        (CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000 - acquired_ts) / 1000000 AS oldest,
        seconds_left AS next,
        0 AS waiting,
        0 AS longest
    FROM appl_lock_live
    UNION ALL
    SELECT object_type, '', 0, 1, 0, NULL, 0, 0
    FROM appl_lock
    WHERE released_ts IS NOT NULL
        OR expires_ts <= CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER) * 1000
    UNION ALL
    SELECT object_type, department_id, 0, 0, 0, NULL, 1, waited_seconds
    FROM appl_lock_waiting
) AS s
GROUP BY s.object_type, s.department_id;

-- +goose Down
DROP VIEW IF EXISTS appl_lock_stats;
DROP VIEW IF EXISTS appl_lock_policies;
DROP VIEW IF EXISTS appl_lock_history;
DROP VIEW IF EXISTS appl_lock_viewers;
DROP VIEW IF EXISTS appl_lock_asking;
DROP VIEW IF EXISTS appl_lock_waiting;
DROP VIEW IF EXISTS appl_lock_live;
