-- Creates appl_lock, appl_lock_waiter, appl_lock_ask, appl_lock_viewer, appl_lock_event, appl_lock_policy, appl_lock_fence and
-- appl_lock_serialize for Db2 for z/OS.
-- The text of the same number for Linux, UNIX and Windows is in the folder above.

-- +goose Up
-- VARCHAR counts bytes here: 64 and 255 characters of UTF-8 are up to 256 and 1020.
-- TIMESTAMP in UTC: local time jumps when daylight saving begins and ends.
-- VOLATILE: the optimizer always takes the primary key, even if old statistics call the table small.
-- No second index: a renewal or a release changes the one row of the primary key and nothing else.
-- A check may not call LOCATE here; the procedures refuse ":" in object_type.
-- Give the table spaces, which are created implicitly, LOCKSIZE ROW LOCKMAX 0 (ALTER TABLESPACE; their names
-- are in SYSIBM.SYSTABLES): with locks on pages, callers also wait for each other's objects.
-- +goose StatementBegin
CREATE TABLE appl_lock (
    object_type VARCHAR(256) NOT NULL,
    object_id VARCHAR(1020) NOT NULL,
    operator_id VARCHAR(256) NOT NULL,
    department_id VARCHAR(256) NOT NULL,
    fence BIGINT NOT NULL,
    acquired_ts TIMESTAMP NOT NULL,
    lock_ts TIMESTAMP NOT NULL,
    ttl_seconds BIGINT NOT NULL,
    expires_ts TIMESTAMP NOT NULL,
    note VARCHAR(1020) NOT NULL,
    history_fl CHAR(1) NOT NULL,
    released_ts TIMESTAMP,
    CONSTRAINT appl_lock_pk PRIMARY KEY (object_type, object_id),
    CONSTRAINT appl_lock_object_type_ck CHECK (object_type <> ''),
    CONSTRAINT appl_lock_object_id_ck CHECK (object_id <> ''),
    CONSTRAINT appl_lock_operator_id_ck CHECK (operator_id <> ''),
    CONSTRAINT appl_lock_fence_ck CHECK (fence BETWEEN 1 AND 9000000000000000000),
    CONSTRAINT appl_lock_lock_ts_ck CHECK (lock_ts >= acquired_ts),
    CONSTRAINT appl_lock_ttl_seconds_ck CHECK (ttl_seconds > 0)
)
CCSID UNICODE
VOLATILE CARDINALITY
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON TABLE appl_lock IS 'Application locks. Change it through the procedures only.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TABLE appl_lock_fence (
    id SMALLINT NOT NULL,
    fence BIGINT NOT NULL,
    CONSTRAINT appl_lock_fence_pk PRIMARY KEY (id),
    CONSTRAINT appl_lock_fence_id_ck CHECK (id = 1)
)
CCSID UNICODE
VOLATILE CARDINALITY
-- +goose StatementEnd

-- +goose StatementBegin
INSERT INTO appl_lock_fence (id, fence) VALUES (1, 0)
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON TABLE appl_lock_fence IS 'The greatest fence purged.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TABLE appl_lock_serialize (
    object_type VARCHAR(256) NOT NULL,
    object_id VARCHAR(1020) NOT NULL,
    CONSTRAINT appl_lock_serialize_pk PRIMARY KEY (object_type, object_id)
)
CCSID UNICODE
VOLATILE CARDINALITY
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON TABLE appl_lock_serialize IS 'It never has committed rows.'
-- +goose StatementEnd

-- The columns are those of appl_lock, with as many bytes. The primary key may have 1788 bytes: an index key has
-- room for 2000, of which each of the four columns takes 2 more where the index is not padded.
-- VOLATILE: the optimizer always takes an index, even if old statistics call the table small.
-- No index has expires_ts, so keeping a row listed changes no index.
-- A check may not call LOCATE here; the procedures refuse ":" in object_type.
-- Give the table space, which is created implicitly, LOCKSIZE ROW LOCKMAX 0, as those of the first migration.
-- +goose StatementBegin
CREATE TABLE appl_lock_waiter (
    object_type VARCHAR(256) NOT NULL,
    object_id VARCHAR(1020) NOT NULL,
    operator_id VARCHAR(256) NOT NULL,
    department_id VARCHAR(256) NOT NULL,
    client_id VARCHAR(256) NOT NULL,
    since_ts TIMESTAMP NOT NULL,
    until_ts TIMESTAMP,
    expires_ts TIMESTAMP NOT NULL,
    holder_id VARCHAR(256) NOT NULL,
    CONSTRAINT appl_lock_waiter_pk PRIMARY KEY (object_type, object_id, operator_id, client_id),
    CONSTRAINT appl_lock_waiter_type_ck CHECK (object_type <> ''),
    CONSTRAINT appl_lock_waiter_id_ck CHECK (object_id <> ''),
    CONSTRAINT appl_lock_waiter_operator_ck CHECK (operator_id <> ''),
    CONSTRAINT appl_lock_waiter_client_ck CHECK (client_id <> '')
)
CCSID UNICODE
VOLATILE CARDINALITY
-- +goose StatementEnd

-- +goose StatementBegin
CREATE INDEX appl_lock_waiter_client_ix ON appl_lock_waiter (client_id)
-- +goose StatementEnd

-- +goose StatementBegin
CREATE INDEX appl_lock_waiter_holder_ix ON appl_lock_waiter (holder_id)
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON TABLE appl_lock_waiter IS 'The operators that wait for a lock.'
-- +goose StatementEnd

-- The key is as long as that of appl_lock_waiter.
-- Give the table space, which is created implicitly, LOCKSIZE ROW LOCKMAX 0, as those of the other tables.
-- +goose StatementBegin
CREATE TABLE appl_lock_ask (
    object_type VARCHAR(256) NOT NULL,
    object_id VARCHAR(1020) NOT NULL,
    operator_id VARCHAR(256) NOT NULL,
    department_id VARCHAR(256) NOT NULL,
    client_id VARCHAR(256) NOT NULL,
    message VARCHAR(1020) NOT NULL,
    since_ts TIMESTAMP NOT NULL,
    until_ts TIMESTAMP,
    expires_ts TIMESTAMP NOT NULL,
    holder_id VARCHAR(256) NOT NULL,
    fence BIGINT NOT NULL,
    shown_ts TIMESTAMP,
    answer VARCHAR(8) NOT NULL,
    answer_reason VARCHAR(1020) NOT NULL,
    answered_ts TIMESTAMP,
    edited_ts TIMESTAMP,
    CONSTRAINT appl_lock_ask_pk PRIMARY KEY (object_type, object_id, operator_id, client_id)
)
CCSID UNICODE
VOLATILE CARDINALITY
-- +goose StatementEnd

-- +goose StatementBegin
CREATE INDEX appl_lock_ask_operator_ix ON appl_lock_ask (operator_id)
-- +goose StatementEnd

-- +goose StatementBegin
CREATE INDEX appl_lock_ask_holder_ix ON appl_lock_ask (holder_id)
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON TABLE appl_lock_ask IS 'The operators that ask for a lock.'
-- +goose StatementEnd

-- Give the table space, which is created implicitly, LOCKSIZE ROW LOCKMAX 0, as those of the other tables.
-- +goose StatementBegin
CREATE TABLE appl_lock_viewer (
    object_type VARCHAR(256) NOT NULL,
    object_id VARCHAR(1020) NOT NULL,
    operator_id VARCHAR(256) NOT NULL,
    department_id VARCHAR(256) NOT NULL,
    client_id VARCHAR(256) NOT NULL,
    state VARCHAR(8) NOT NULL,
    since_ts TIMESTAMP NOT NULL,
    seen_ts TIMESTAMP NOT NULL,
    expires_ts TIMESTAMP NOT NULL,
    CONSTRAINT appl_lock_viewer_pk PRIMARY KEY (object_type, object_id, operator_id, client_id),
    CONSTRAINT appl_lock_viewer_type_ck CHECK (object_type <> ''),
    CONSTRAINT appl_lock_viewer_id_ck CHECK (object_id <> ''),
    CONSTRAINT appl_lock_viewer_operator_ck CHECK (operator_id <> ''),
    CONSTRAINT appl_lock_viewer_client_ck CHECK (client_id <> '')
)
CCSID UNICODE
VOLATILE CARDINALITY
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON TABLE appl_lock_viewer IS 'The operators that look at an object.'
-- +goose StatementEnd

-- No foreign key: an event outlives its object. Each index ends in event_id, so that a search
-- needs no sort: by object, by actor, by former holder and by new holder.
-- Give the table space, which is created implicitly, LOCKSIZE ROW LOCKMAX 0, as those of the other tables.
-- +goose StatementBegin
CREATE TABLE appl_lock_event (
    event_id BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY (START WITH 1),
    event_ts TIMESTAMP NOT NULL,
    object_type VARCHAR(256) NOT NULL,
    object_id VARCHAR(1020) NOT NULL,
    event VARCHAR(16) NOT NULL,
    actor_id VARCHAR(256) NOT NULL,
    db_user VARCHAR(256) NOT NULL,
    program VARCHAR(1020) NOT NULL,
    from_operator_id VARCHAR(256) NOT NULL,
    from_department_id VARCHAR(256) NOT NULL,
    to_operator_id VARCHAR(256) NOT NULL,
    to_department_id VARCHAR(256) NOT NULL,
    from_fence BIGINT NOT NULL,
    to_fence BIGINT NOT NULL,
    reason VARCHAR(1020) NOT NULL,
    CONSTRAINT appl_lock_event_pk PRIMARY KEY (event_id)
)
CCSID UNICODE
VOLATILE CARDINALITY
-- +goose StatementEnd

-- +goose StatementBegin
CREATE INDEX appl_lock_event_object_ix ON appl_lock_event (object_type, object_id, event_id)
-- +goose StatementEnd

-- +goose StatementBegin
CREATE INDEX appl_lock_event_from_ix ON appl_lock_event (from_operator_id, event_id)
-- +goose StatementEnd

-- +goose StatementBegin
CREATE INDEX appl_lock_event_to_ix ON appl_lock_event (to_operator_id, event_id)
-- +goose StatementEnd

-- +goose StatementBegin
CREATE INDEX appl_lock_event_actor_ix ON appl_lock_event (actor_id, event_id)
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON TABLE appl_lock_event IS 'The history.'
-- +goose StatementEnd

-- Give the table space, which is created implicitly, LOCKSIZE ROW LOCKMAX 0, as those of the other tables.
-- +goose StatementBegin
CREATE TABLE appl_lock_policy (
    object_type VARCHAR(256) NOT NULL,
    default_ttl_seconds BIGINT,
    longest_ttl_seconds BIGINT,
    take_reason_fl CHAR(1) NOT NULL,
    history_level VARCHAR(8) NOT NULL,
    presence_fl CHAR(1) NOT NULL,
    yield_after_seconds BIGINT,
    CONSTRAINT appl_lock_policy_pk PRIMARY KEY (object_type)
)
CCSID UNICODE
VOLATILE CARDINALITY
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON TABLE appl_lock_policy IS 'The policies of types.'
-- +goose StatementEnd

-- +goose Down
-- All locks are lost.
-- +goose StatementBegin
DROP TABLE appl_lock_policy
-- +goose StatementEnd

-- +goose StatementBegin
DROP TABLE appl_lock_event
-- +goose StatementEnd

-- +goose StatementBegin
DROP TABLE appl_lock_ask
-- +goose StatementEnd

-- +goose StatementBegin
DROP TABLE appl_lock_viewer
-- +goose StatementEnd

-- +goose StatementBegin
DROP TABLE appl_lock_waiter
-- +goose StatementEnd

-- +goose StatementBegin
DROP TABLE appl_lock_serialize
-- +goose StatementEnd

-- +goose StatementBegin
DROP TABLE appl_lock_fence
-- +goose StatementEnd

-- +goose StatementBegin
DROP TABLE appl_lock
-- +goose StatementEnd
