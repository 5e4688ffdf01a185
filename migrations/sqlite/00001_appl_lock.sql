-- Creates the tables: appl_lock, the locks; appl_lock_fence, the greatest fence that was purged; appl_lock_waiter, the waiters;
-- appl_lock_ask, the requests; appl_lock_viewer, viewers of an object; appl_lock_event, the history; appl_lock_policy, the
-- policies of types. Timestamps are microseconds since 1970-01-01 UTC.

-- +goose Up
-- A lock is live while released_ts IS NULL and expires_ts lies in the future. No name has a control character.
CREATE TABLE appl_lock (
    object_type TEXT NOT NULL,
    object_id TEXT NOT NULL,
    operator_id TEXT NOT NULL,
    department_id TEXT NOT NULL,
    fence INTEGER NOT NULL,
    acquired_ts INTEGER NOT NULL,
    lock_ts INTEGER NOT NULL,
    ttl_seconds INTEGER NOT NULL,
    expires_ts INTEGER NOT NULL,
    note TEXT NOT NULL DEFAULT '',
    history_fl TEXT NOT NULL DEFAULT 'N',
    released_ts INTEGER,
    CONSTRAINT appl_lock_pk PRIMARY KEY (object_type, object_id),
    CONSTRAINT appl_lock_object_type_ck CHECK (length(object_type) BETWEEN 1 AND 64 AND instr(object_type, ':') = 0),
    CONSTRAINT appl_lock_object_id_ck CHECK (length(object_id) BETWEEN 1 AND 255),
    CONSTRAINT appl_lock_operator_id_ck CHECK (length(operator_id) BETWEEN 1 AND 255),
    CONSTRAINT appl_lock_department_id_ck CHECK (length(department_id) <= 64),
    CONSTRAINT appl_lock_fence_ck CHECK (fence BETWEEN 1 AND 9000000000000000000),
    CONSTRAINT appl_lock_lock_ts_ck CHECK (lock_ts >= acquired_ts),
    CONSTRAINT appl_lock_control_ck CHECK (
        (object_type || object_id || operator_id || department_id) NOT GLOB '*[' || char(1) || '-' || char(31) || char(127) || '-' || char(159) || ']*'
        AND instr(object_type || object_id || operator_id || department_id, char(0)) = 0
    ),
    CONSTRAINT appl_lock_note_ck CHECK (length(note) <= 255)
) STRICT, WITHOUT ROWID;

CREATE TABLE appl_lock_fence (
    slot INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    CONSTRAINT appl_lock_fence_pk PRIMARY KEY (slot),
    CONSTRAINT appl_lock_fence_slot_ck CHECK (slot = 1)
) STRICT, WITHOUT ROWID;

INSERT INTO appl_lock_fence (slot, fence) VALUES (1, 0);

CREATE TABLE appl_lock_waiter (
    object_type TEXT NOT NULL,
    object_id TEXT NOT NULL,
    operator_id TEXT NOT NULL,
    department_id TEXT NOT NULL,
    client_id TEXT NOT NULL,
    since_ts INTEGER NOT NULL,
    until_ts INTEGER,
    expires_ts INTEGER NOT NULL,
    holder_id TEXT NOT NULL,
    CONSTRAINT appl_lock_waiter_pk PRIMARY KEY (object_type, object_id, operator_id, client_id),
    CONSTRAINT appl_lock_waiter_type_ck CHECK (length(object_type) BETWEEN 1 AND 64 AND instr(object_type, ':') = 0),
    CONSTRAINT appl_lock_waiter_id_ck CHECK (length(object_id) BETWEEN 1 AND 255),
    CONSTRAINT appl_lock_waiter_operator_ck CHECK (length(operator_id) BETWEEN 1 AND 255),
    CONSTRAINT appl_lock_waiter_department_ck CHECK (length(department_id) <= 64),
    CONSTRAINT appl_lock_waiter_control_ck CHECK (
        (object_type || object_id || operator_id || department_id) NOT GLOB '*[' || char(1) || '-' || char(31) || char(127) || '-' || char(159) || ']*'
        AND instr(object_type || object_id || operator_id || department_id, char(0)) = 0
    ),
    CONSTRAINT appl_lock_waiter_client_ck CHECK (length(client_id) BETWEEN 1 AND 64)
) STRICT, WITHOUT ROWID;

CREATE INDEX appl_lock_waiter_client_ix ON appl_lock_waiter (client_id);
CREATE INDEX appl_lock_waiter_holder_ix ON appl_lock_waiter (holder_id);

CREATE TABLE appl_lock_ask (
    object_type TEXT NOT NULL,
    object_id TEXT NOT NULL,
    operator_id TEXT NOT NULL,
    department_id TEXT NOT NULL,
    client_id TEXT NOT NULL,
    message TEXT NOT NULL,
    since_ts INTEGER NOT NULL,
    until_ts INTEGER,
    expires_ts INTEGER NOT NULL,
    holder_id TEXT NOT NULL,
    fence INTEGER NOT NULL,
    shown_ts INTEGER,
    answer TEXT NOT NULL,
    answer_reason TEXT NOT NULL,
    answered_ts INTEGER,
    edited_ts INTEGER,
    CONSTRAINT appl_lock_ask_pk PRIMARY KEY (object_type, object_id, operator_id, client_id),
    CONSTRAINT appl_lock_ask_type_ck CHECK (length(object_type) BETWEEN 1 AND 64 AND instr(object_type, ':') = 0),
    CONSTRAINT appl_lock_ask_id_ck CHECK (length(object_id) BETWEEN 1 AND 255),
    CONSTRAINT appl_lock_ask_operator_ck CHECK (length(operator_id) BETWEEN 1 AND 255),
    CONSTRAINT appl_lock_ask_message_ck CHECK (length(message) <= 255),
    CONSTRAINT appl_lock_ask_answer_ck CHECK (answer IN ('', 'LATER', 'NO'))
) STRICT, WITHOUT ROWID;

CREATE INDEX appl_lock_ask_operator_ix ON appl_lock_ask (operator_id);
CREATE INDEX appl_lock_ask_holder_ix ON appl_lock_ask (holder_id);

CREATE TABLE appl_lock_viewer (
    object_type TEXT NOT NULL,
    object_id TEXT NOT NULL,
    operator_id TEXT NOT NULL,
    department_id TEXT NOT NULL,
    client_id TEXT NOT NULL,
    state TEXT NOT NULL,
    since_ts INTEGER NOT NULL,
    seen_ts INTEGER NOT NULL,
    expires_ts INTEGER NOT NULL,
    CONSTRAINT appl_lock_viewer_pk PRIMARY KEY (object_type, object_id, operator_id, client_id),
    CONSTRAINT appl_lock_viewer_type_ck CHECK (length(object_type) BETWEEN 1 AND 64 AND instr(object_type, ':') = 0),
    CONSTRAINT appl_lock_viewer_id_ck CHECK (length(object_id) BETWEEN 1 AND 255),
    CONSTRAINT appl_lock_viewer_operator_ck CHECK (length(operator_id) BETWEEN 1 AND 255),
    CONSTRAINT appl_lock_viewer_department_ck CHECK (length(department_id) <= 64),
    CONSTRAINT appl_lock_viewer_control_ck CHECK (
        (object_type || object_id || operator_id || department_id) NOT GLOB '*[' || char(1) || '-' || char(31) || char(127) || '-' || char(159) || ']*'
        AND instr(object_type || object_id || operator_id || department_id, char(0)) = 0
    ),
    CONSTRAINT appl_lock_viewer_client_ck CHECK (length(client_id) BETWEEN 1 AND 64),
    CONSTRAINT appl_lock_viewer_state_ck CHECK (state IN ('VIEWING', 'EDITING', 'IDLE'))
) STRICT, WITHOUT ROWID;

-- AUTOINCREMENT: the number of a purged event is never reused.
CREATE TABLE appl_lock_event (
    event_id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    event_ts INTEGER NOT NULL,
    object_type TEXT NOT NULL,
    object_id TEXT NOT NULL,
    event TEXT NOT NULL,
    actor_id TEXT NOT NULL,
    db_user TEXT NOT NULL,
    program TEXT NOT NULL,
    from_operator_id TEXT NOT NULL,
    from_department_id TEXT NOT NULL,
    to_operator_id TEXT NOT NULL,
    to_department_id TEXT NOT NULL,
    from_fence INTEGER NOT NULL,
    to_fence INTEGER NOT NULL,
    reason TEXT NOT NULL,
    CONSTRAINT appl_lock_event_reason_ck CHECK (length(reason) <= 255)
) STRICT;

CREATE INDEX appl_lock_event_object_ix ON appl_lock_event (object_type, object_id, event_id);
CREATE INDEX appl_lock_event_actor_ix ON appl_lock_event (actor_id, event_id);
CREATE INDEX appl_lock_event_from_ix ON appl_lock_event (from_operator_id, event_id);
CREATE INDEX appl_lock_event_to_ix ON appl_lock_event (to_operator_id, event_id);

CREATE TABLE appl_lock_policy (
    object_type TEXT NOT NULL,
    default_ttl_seconds INTEGER,
    longest_ttl_seconds INTEGER,
    take_reason_fl TEXT NOT NULL,
    history_level TEXT NOT NULL,
    presence_fl TEXT NOT NULL,
    yield_after_seconds INTEGER,
    CONSTRAINT appl_lock_policy_pk PRIMARY KEY (object_type),
    CONSTRAINT appl_lock_policy_type_ck CHECK (length(object_type) BETWEEN 1 AND 64 AND instr(object_type, ':') = 0),
    CONSTRAINT appl_lock_policy_reason_ck CHECK (take_reason_fl IN ('Y', 'N')),
    CONSTRAINT appl_lock_policy_history_ck CHECK (history_level IN ('CHANGES', 'ALL')),
    CONSTRAINT appl_lock_policy_presence_ck CHECK (presence_fl IN ('Y', 'N'))
) STRICT, WITHOUT ROWID;

-- +goose Down
-- All locks are lost.
DROP TABLE IF EXISTS appl_lock_policy;
DROP TABLE IF EXISTS appl_lock_event;
DROP TABLE IF EXISTS appl_lock_viewer;
DROP TABLE IF EXISTS appl_lock_ask;
DROP TABLE IF EXISTS appl_lock_waiter;
DROP TABLE IF EXISTS appl_lock_fence;
DROP TABLE IF EXISTS appl_lock;
