-- Creates the tables: appl_lock, the locks; appl_lock_waiter, its waiters; appl_lock_ask, the requests for it;
-- appl_lock_viewer, viewers of an object; appl_lock_event, the history; appl_lock_policy, the policies of types; appl_lock_fence, the
-- greatest fence that was purged; appl_lock_serialize, which Db2 needs for serialize_appl_lock.

-- +goose Up
-- VARCHAR counts bytes here: 64 and 255 characters of UTF-8 are up to 256 and 1020. Such a key needs a table
-- space whose pages have 8 KB or more (else SQL0614N). An operator has 255 bytes: with 1020 no key of waiters would fit on z/OS.
-- TIMESTAMP in UTC: local time jumps when daylight saving begins and ends.
-- VOLATILE: the optimizer always takes the primary key, even if old statistics call the table small.
-- No second index: a renewal or a release changes the one row of the primary key and nothing else.
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
    CONSTRAINT appl_lock_object_type_ck CHECK (object_type <> '' AND LOCATE(':', object_type) = 0),
    CONSTRAINT appl_lock_object_id_ck CHECK (object_id <> ''),
    CONSTRAINT appl_lock_operator_id_ck CHECK (operator_id <> ''),
    CONSTRAINT appl_lock_fence_ck CHECK (fence BETWEEN 1 AND 9000000000000000000),
    CONSTRAINT appl_lock_lock_ts_ck CHECK (lock_ts >= acquired_ts),
    CONSTRAINT appl_lock_ttl_seconds_ck CHECK (ttl_seconds > 0)
)
-- +goose StatementEnd

-- +goose StatementBegin
ALTER TABLE appl_lock VOLATILE CARDINALITY
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON TABLE appl_lock IS 'One row for each object that is or was locked. The lock is live while released_ts is NULL and expires_ts lies in the future; else the object is free. Change it through the procedures only.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock.object_type IS 'Kind of object, such as customer. Trailing blanks are not stored.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock.object_id IS 'Which object of that kind.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock.operator_id IS 'The present or last holder: a person, a service or a process.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock.department_id IS 'The department of the operator; may be empty.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock.fence IS 'Fencing token of the grant: greater for every later grant of the same object.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock.acquired_ts IS 'Start of the grant, UTC.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock.lock_ts IS 'Last get, renewal or transfer, UTC. Greater each time, whatever the clock does.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock.ttl_seconds IS 'Seconds that the last get, renewal or transfer asked for, within the policy''s longest.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock.expires_ts IS 'End of the lock, UTC. Releasing leaves it as it is.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock.history_fl IS 'Y or N: the history also records each get, renewal, refusal and release; from the policy at the last get.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock.released_ts IS 'When the grant was released, UTC; NULL while it lasts.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TABLE appl_lock_fence (
    id SMALLINT NOT NULL,
    fence BIGINT NOT NULL,
    CONSTRAINT appl_lock_fence_pk PRIMARY KEY (id),
    CONSTRAINT appl_lock_fence_id_ck CHECK (id = 1)
)
-- +goose StatementEnd

-- +goose StatementBegin
ALTER TABLE appl_lock_fence VOLATILE CARDINALITY
-- +goose StatementEnd

-- +goose StatementBegin
INSERT INTO appl_lock_fence (id, fence) VALUES (1, 0)
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON TABLE appl_lock_fence IS 'One row: the greatest fence that a purge has removed. Each new row of appl_lock has a greater one.'
-- +goose StatementEnd

-- +goose StatementBegin
CREATE TABLE appl_lock_serialize (
    object_type VARCHAR(256) NOT NULL,
    object_id VARCHAR(1020) NOT NULL,
    CONSTRAINT appl_lock_serialize_pk PRIMARY KEY (object_type, object_id)
)
-- +goose StatementEnd

-- +goose StatementBegin
ALTER TABLE appl_lock_serialize VOLATILE CARDINALITY
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON TABLE appl_lock_serialize IS 'Where serialize_appl_lock takes turns. It has no committed rows.'
-- +goose StatementEnd

-- The columns are those of appl_lock, with as many bytes. The primary key may have 1788 bytes: on pages of 8 KB an
-- index key has room for 2048.
-- VOLATILE: the optimizer always takes an index, even if old statistics call the table small.
-- No index has expires_ts, so keeping a row listed changes no index.
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
    CONSTRAINT appl_lock_waiter_type_ck CHECK (object_type <> '' AND LOCATE(':', object_type) = 0),
    CONSTRAINT appl_lock_waiter_id_ck CHECK (object_id <> ''),
    CONSTRAINT appl_lock_waiter_operator_ck CHECK (operator_id <> ''),
    CONSTRAINT appl_lock_waiter_client_ck CHECK (client_id <> '')
)
-- +goose StatementEnd

-- +goose StatementBegin
CREATE INDEX appl_lock_waiter_client_ix ON appl_lock_waiter (client_id)
-- +goose StatementEnd

-- +goose StatementBegin
CREATE INDEX appl_lock_waiter_holder_ix ON appl_lock_waiter (holder_id)
-- +goose StatementEnd

-- +goose StatementBegin
ALTER TABLE appl_lock_waiter VOLATILE CARDINALITY
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON TABLE appl_lock_waiter IS 'One row for each operator that waits for an object, in each program. The row is live while expires_ts lies in the future; a dead row counts as absent. Change it through the procedures only.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_waiter.object_type IS 'Kind of object, such as customer. Trailing blanks are not stored.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_waiter.object_id IS 'Which object of that kind.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_waiter.operator_id IS 'The operator that waits: a person, a service or a process.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_waiter.department_id IS 'The department of the operator; may be empty.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_waiter.client_id IS 'The waiting program, under a name that no other program has.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_waiter.since_ts IS 'Since when it waits, UTC.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_waiter.until_ts IS 'When it gives up, UTC; NULL = never.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_waiter.expires_ts IS 'When the row is dead, UTC, unless the program keeps it listed.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_waiter.holder_id IS 'The holder when the program last announced or polled; empty for nobody. The inbox verifies it.'
-- +goose StatementEnd

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
-- +goose StatementEnd

-- +goose StatementBegin
CREATE INDEX appl_lock_ask_operator_ix ON appl_lock_ask (operator_id)
-- +goose StatementEnd

-- +goose StatementBegin
CREATE INDEX appl_lock_ask_holder_ix ON appl_lock_ask (holder_id)
-- +goose StatementEnd

-- +goose StatementBegin
ALTER TABLE appl_lock_ask VOLATILE CARDINALITY
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON TABLE appl_lock_ask IS 'One row for each operator that asks for an object, in each program. The row is live while expires_ts lies in the future; a dead row counts as absent. Change it through the procedures only.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_ask.object_type IS 'Kind of object, such as customer. Trailing blanks are not stored.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_ask.object_id IS 'Which object of that kind.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_ask.operator_id IS 'The operator that asks for the lock.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_ask.department_id IS 'The department of the operator; may be empty.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_ask.client_id IS 'The program that asks, under a name that no other program has.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_ask.message IS 'The message to the holder; may be empty.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_ask.since_ts IS 'Since when it asks.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_ask.until_ts IS 'When it gives up; NULL = never.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_ask.expires_ts IS 'When the row is dead, unless the program keeps it listed.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_ask.holder_id IS 'The holder at the last call, whose inbox shows the request.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_ask.fence IS 'The holder''s grant at the last call.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_ask.shown_ts IS 'When the holder''s inbox first showed the request, if the type''s policy has a yield; NULL = not yet.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_ask.answer IS 'The holder''s answer, LATER or NO; empty for none.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_ask.answer_reason IS 'The reason of that answer; may be empty.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_ask.answered_ts IS 'When the holder answered; NULL = not yet.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_ask.edited_ts IS 'When the holder last reported EDITING since the request was shown; NULL = not since then.'
-- +goose StatementEnd

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
    CONSTRAINT appl_lock_viewer_type_ck CHECK (object_type <> '' AND LOCATE(':', object_type) = 0),
    CONSTRAINT appl_lock_viewer_id_ck CHECK (object_id <> ''),
    CONSTRAINT appl_lock_viewer_operator_ck CHECK (operator_id <> ''),
    CONSTRAINT appl_lock_viewer_client_ck CHECK (client_id <> '')
)
-- +goose StatementEnd

-- +goose StatementBegin
ALTER TABLE appl_lock_viewer VOLATILE CARDINALITY
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON TABLE appl_lock_viewer IS 'One row for each operator that looks at an object, in each program. The row is live while expires_ts lies in the future; a dead row counts as absent. Change it through the procedures only.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_viewer.object_type IS 'Kind of object, such as customer. Trailing blanks are not stored.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_viewer.object_id IS 'Which object of that kind.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_viewer.operator_id IS 'The operator that looks at the object: a person, a service or a process.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_viewer.department_id IS 'The department of the operator; may be empty.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_viewer.client_id IS 'The browser tab or program, under a name that no other program has.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_viewer.state IS 'The operator''s state: VIEWING, EDITING or IDLE.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_viewer.since_ts IS 'Since when it looks, UTC.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_viewer.seen_ts IS 'When it last reported its state, UTC.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_viewer.expires_ts IS 'When the row is dead, UTC, unless the program keeps it listed.'
-- +goose StatementEnd

-- No foreign key: an event outlives its object. Each index ends in event_id, so that a search
-- needs no sort: by object, by actor, by former holder and by new holder.
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
ALTER TABLE appl_lock_event VOLATILE CARDINALITY
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON TABLE appl_lock_event IS 'One row for each event of the history: a lock changed hands without its holder, or a caller gave a reason. Written by the procedures only, and never changed.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_event.event_id IS 'Number of the event.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_event.event_ts IS 'When it happened, UTC.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_event.object_type IS 'Kind of object; empty for PURGED and HISTORY_PURGED.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_event.object_id IS 'Which object of that kind; empty for PURGED, HISTORY_PURGED and POLICY.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_event.event IS 'TRANSFERRED, TAKEN, GIVEN, YIELDED, RELEASED, OVERTAKEN, ACQUIRED, RENEWED, REFUSED, POLICY, PURGED or HISTORY_PURGED.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_event.actor_id IS 'The actor, as the call named it; empty when it named nobody.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_event.db_user IS 'The database user of the session.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_event.program IS 'Empty.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_event.from_operator_id IS 'The former holder; empty for nobody.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_event.from_department_id IS 'The department of that operator; may be empty.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_event.to_operator_id IS 'The new holder; empty for nobody.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_event.to_department_id IS 'The department of that operator; may be empty.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_event.from_fence IS 'Fencing token of the grant before; 0 for none.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_event.to_fence IS 'Fencing token of the grant now; 0 for none.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_event.reason IS 'Why, as the call said; for PURGED and HISTORY_PURGED the number of rows, for POLICY the new values, then the reason.'
-- +goose StatementEnd

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
-- +goose StatementEnd

-- +goose StatementBegin
ALTER TABLE appl_lock_policy VOLATILE CARDINALITY
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON TABLE appl_lock_policy IS 'One row for each type of object that has a policy. Change it through the procedures only: they write the history.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_policy.object_type IS 'Kind of object, such as customer. Trailing blanks are not stored.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_policy.default_ttl_seconds IS 'Ttl of a new grant whose caller names none; NULL = 7 days.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_policy.longest_ttl_seconds IS 'Limit of every ttl; NULL = 10 years.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_policy.take_reason_fl IS 'Y or N: taking a lock from another operator needs a reason.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_policy.history_level IS 'CHANGES, or ALL: the history also records each get, renewal, refusal and release.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_policy.presence_fl IS 'Y or N: see_appl_lock records who looks at objects of the type.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_policy.yield_after_seconds IS 'Seconds that a holder may leave a request unanswered before the asker gets the lock; NULL = for ever.'
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
