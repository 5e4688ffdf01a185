-- Creates the tables: appl_lock, the locks; appl_lock_waiter, its waiters; appl_lock_ask, the requests for it;
-- appl_lock_viewer, viewers of an object; appl_lock_event, the history; appl_lock_policy, the policies of types; appl_lock_fence, the
-- greatest fence that was purged.

-- +goose Up
-- +goose StatementBegin
-- Install into the schema that the setting applock.schema names, else into applock. Both settings
-- end with this transaction; the caller's search_path is put back at the end, for goose's own table.
DO $$
DECLARE
    v_schema text := coalesce(nullif(current_setting('applock.schema', true), ''), 'applock');
BEGIN
    IF to_regnamespace(quote_ident(v_schema)) IS NULL THEN
        EXECUTE format('CREATE SCHEMA %I', v_schema);
    END IF;
    PERFORM set_config('applock.caller_search_path', current_setting('search_path'), true);
    PERFORM set_config('search_path', format('%I, pg_temp', v_schema), true);
END
$$;
-- +goose StatementEnd

-- Fillfactor: a renewal or a release rewrites the row on its own page (a HOT update), because no
-- indexed column changes and the page keeps room. No second index: it would end that. No CHECK constraints: the server
-- reads them anew for every statement, which costs more than the update. The procedures check.
CREATE TABLE appl_lock (
    object_type varchar(64) COLLATE "C" NOT NULL,
    object_id varchar(255) COLLATE "C" NOT NULL,
    operator_id varchar(255) COLLATE "C" NOT NULL,
    department_id varchar(64) COLLATE "C" NOT NULL,
    fence bigint NOT NULL,
    acquired_ts timestamptz NOT NULL,
    lock_ts timestamptz NOT NULL,
    ttl_seconds bigint NOT NULL,
    expires_ts timestamptz NOT NULL,
    note varchar(255) COLLATE "C" NOT NULL DEFAULT '',
    history_fl boolean NOT NULL DEFAULT false,
    released_ts timestamptz,
    CONSTRAINT appl_lock_pk PRIMARY KEY (object_type, object_id)
) WITH (fillfactor = 70);

COMMENT ON TABLE appl_lock IS
    'One row for each object that is or was locked. The lock is live while released_ts is NULL and expires_ts lies in the future; else the object is free. Change it through the procedures only.';
COMMENT ON COLUMN appl_lock.object_type IS 'Kind of object, such as customer. Trailing blanks are not stored.';
COMMENT ON COLUMN appl_lock.object_id IS 'Which object of that kind.';
COMMENT ON COLUMN appl_lock.operator_id IS 'The present or last holder: a person, a service or a process.';
COMMENT ON COLUMN appl_lock.department_id IS 'The department of the operator; may be empty.';
COMMENT ON COLUMN appl_lock.fence IS 'Fencing token of the grant: greater for every later grant of the same object.';
COMMENT ON COLUMN appl_lock.acquired_ts IS 'Start of the grant.';
COMMENT ON COLUMN appl_lock.lock_ts IS 'Last get, renewal or transfer. Each makes it greater, also when the clock was set back: it is the version of the row.';
COMMENT ON COLUMN appl_lock.ttl_seconds IS 'Seconds that the last get, renewal or transfer asked for, within the policy''s longest.';
COMMENT ON COLUMN appl_lock.expires_ts IS 'When the lock ends by itself; a release leaves it as it is.';
COMMENT ON COLUMN appl_lock.note IS 'The holder''s note on this grant; may be empty.';
COMMENT ON COLUMN appl_lock.history_fl IS 'True if the history also records each get, renewal, refusal and release; from the policy at the last get.';
COMMENT ON COLUMN appl_lock.released_ts IS 'When the grant was released; NULL while it lasts, and when it ended by itself.';

-- Fillfactor: keeping a row listed rewrites it on its own page (a HOT update), because no index has expires_ts.
CREATE TABLE appl_lock_waiter (
    object_type varchar(64) COLLATE "C" NOT NULL,
    object_id varchar(255) COLLATE "C" NOT NULL,
    operator_id varchar(255) COLLATE "C" NOT NULL,
    department_id varchar(64) COLLATE "C" NOT NULL,
    client_id varchar(64) COLLATE "C" NOT NULL,
    since_ts timestamptz NOT NULL,
    until_ts timestamptz,
    expires_ts timestamptz NOT NULL,
    holder_id varchar(255) COLLATE "C" NOT NULL DEFAULT '',
    CONSTRAINT appl_lock_waiter_pk PRIMARY KEY (object_type, object_id, operator_id, client_id),
    CONSTRAINT appl_lock_waiter_type_ck CHECK (object_type::text <> '' AND position(':' IN object_type::text) = 0),
    CONSTRAINT appl_lock_waiter_id_ck CHECK (object_id::text <> ''),
    CONSTRAINT appl_lock_waiter_operator_ck CHECK (operator_id::text <> ''),
    CONSTRAINT appl_lock_waiter_client_ck CHECK (client_id::text <> '')
) WITH (fillfactor = 70);

CREATE INDEX appl_lock_waiter_client_ix ON appl_lock_waiter (client_id);
CREATE INDEX appl_lock_waiter_holder_ix ON appl_lock_waiter (holder_id);

COMMENT ON TABLE appl_lock_waiter IS
    'One row for each operator that waits for an object, in each program. The row is live while expires_ts lies in the future; a dead row counts as absent. Change it through the procedures only.';
COMMENT ON COLUMN appl_lock_waiter.object_type IS 'Kind of object, such as customer. Trailing blanks are not stored.';
COMMENT ON COLUMN appl_lock_waiter.object_id IS 'Which object of that kind.';
COMMENT ON COLUMN appl_lock_waiter.operator_id IS 'The operator that waits: a person, a service or a process.';
COMMENT ON COLUMN appl_lock_waiter.department_id IS 'The department of the operator; may be empty.';
COMMENT ON COLUMN appl_lock_waiter.client_id IS 'The waiting program, under a name that no other program has.';
COMMENT ON COLUMN appl_lock_waiter.since_ts IS 'Since when it waits.';
COMMENT ON COLUMN appl_lock_waiter.until_ts IS 'When it gives up; NULL = never.';
COMMENT ON COLUMN appl_lock_waiter.expires_ts IS 'When the row is dead, unless the program keeps it listed.';
COMMENT ON COLUMN appl_lock_waiter.holder_id IS 'The holder when the program last announced or polled; empty for nobody. The inbox verifies it.';

-- Fillfactor: keeping a row listed rewrites it on its own page (a HOT update), because no index has expires_ts.
CREATE TABLE appl_lock_ask (
    object_type varchar(64) COLLATE "C" NOT NULL,
    object_id varchar(255) COLLATE "C" NOT NULL,
    operator_id varchar(255) COLLATE "C" NOT NULL,
    department_id varchar(64) COLLATE "C" NOT NULL,
    client_id varchar(64) COLLATE "C" NOT NULL,
    message varchar(255) COLLATE "C" NOT NULL,
    since_ts timestamptz NOT NULL,
    until_ts timestamptz,
    expires_ts timestamptz NOT NULL,
    holder_id varchar(255) COLLATE "C" NOT NULL,
    fence bigint NOT NULL,
    shown_ts timestamptz,
    answer varchar(8) COLLATE "C" NOT NULL,
    answer_reason varchar(255) COLLATE "C" NOT NULL,
    answered_ts timestamptz,
    edited_ts timestamptz,
    CONSTRAINT appl_lock_ask_pk PRIMARY KEY (object_type, object_id, operator_id, client_id)
) WITH (fillfactor = 70);

CREATE INDEX appl_lock_ask_operator_ix ON appl_lock_ask (operator_id);
CREATE INDEX appl_lock_ask_holder_ix ON appl_lock_ask (holder_id);

COMMENT ON TABLE appl_lock_ask IS
    'One row for each operator that asks for an object, in each program. The row is live while expires_ts lies in the future; a dead row counts as absent. Change it through the procedures only.';
COMMENT ON COLUMN appl_lock_ask.object_type IS 'Kind of object, such as customer. Trailing blanks are not stored.';
COMMENT ON COLUMN appl_lock_ask.object_id IS 'Which object of that kind.';
COMMENT ON COLUMN appl_lock_ask.operator_id IS 'The operator that asks for the lock.';
COMMENT ON COLUMN appl_lock_ask.department_id IS 'The department of the operator; may be empty.';
COMMENT ON COLUMN appl_lock_ask.client_id IS 'The program that asks, under a name that no other program has.';
COMMENT ON COLUMN appl_lock_ask.message IS 'The message to the holder; may be empty.';
COMMENT ON COLUMN appl_lock_ask.since_ts IS 'Since when it asks.';
COMMENT ON COLUMN appl_lock_ask.until_ts IS 'When it gives up; NULL = never.';
COMMENT ON COLUMN appl_lock_ask.expires_ts IS 'When the row is dead, unless the program keeps it listed.';
COMMENT ON COLUMN appl_lock_ask.holder_id IS 'The holder at the last call, whose inbox shows the request.';
COMMENT ON COLUMN appl_lock_ask.fence IS 'The holder''s grant at the last call.';
COMMENT ON COLUMN appl_lock_ask.shown_ts IS 'When the holder''s inbox first showed the request, if the type''s policy has a yield; NULL = not yet.';
COMMENT ON COLUMN appl_lock_ask.answer IS 'The holder''s answer, LATER or NO; empty for none.';
COMMENT ON COLUMN appl_lock_ask.answer_reason IS 'The reason of that answer; may be empty.';
COMMENT ON COLUMN appl_lock_ask.answered_ts IS 'When the holder answered; NULL = not yet.';
COMMENT ON COLUMN appl_lock_ask.edited_ts IS 'When the holder last reported EDITING since the request was shown; NULL = not since then.';

-- Unlogged: presence needs no write-ahead log. A crash empties the table, and a standby cannot read it.
-- Fillfactor: a heartbeat rewrites its row on its own page (a HOT update): the primary key is the only index.
CREATE UNLOGGED TABLE appl_lock_viewer (
    object_type varchar(64) COLLATE "C" NOT NULL,
    object_id varchar(255) COLLATE "C" NOT NULL,
    operator_id varchar(255) COLLATE "C" NOT NULL,
    department_id varchar(64) COLLATE "C" NOT NULL,
    client_id varchar(64) COLLATE "C" NOT NULL,
    state varchar(8) COLLATE "C" NOT NULL,
    since_ts timestamptz NOT NULL,
    seen_ts timestamptz NOT NULL,
    expires_ts timestamptz NOT NULL,
    CONSTRAINT appl_lock_viewer_pk PRIMARY KEY (object_type, object_id, operator_id, client_id),
    CONSTRAINT appl_lock_viewer_type_ck CHECK (object_type::text <> '' AND position(':' IN object_type::text) = 0),
    CONSTRAINT appl_lock_viewer_id_ck CHECK (object_id::text <> ''),
    CONSTRAINT appl_lock_viewer_operator_ck CHECK (operator_id::text <> ''),
    CONSTRAINT appl_lock_viewer_client_ck CHECK (client_id::text <> '')
) WITH (fillfactor = 70);

COMMENT ON TABLE appl_lock_viewer IS
    'One row for each operator that looks at an object, in each program. The row is live while expires_ts lies in the future; a dead row counts as absent. Change it through the procedures only.';
COMMENT ON COLUMN appl_lock_viewer.object_type IS 'Kind of object, such as customer. Trailing blanks are not stored.';
COMMENT ON COLUMN appl_lock_viewer.object_id IS 'Which object of that kind.';
COMMENT ON COLUMN appl_lock_viewer.operator_id IS 'The operator that looks at the object: a person, a service or a process.';
COMMENT ON COLUMN appl_lock_viewer.department_id IS 'The department of the operator; may be empty.';
COMMENT ON COLUMN appl_lock_viewer.client_id IS 'The browser tab or program, under a name that no other program has.';
COMMENT ON COLUMN appl_lock_viewer.state IS 'The operator''s state: VIEWING, EDITING or IDLE.';
COMMENT ON COLUMN appl_lock_viewer.since_ts IS 'Since when it looks.';
COMMENT ON COLUMN appl_lock_viewer.seen_ts IS 'When it last reported its state.';
COMMENT ON COLUMN appl_lock_viewer.expires_ts IS 'When the row is dead, unless the program keeps it listed.';

-- No foreign key: an event outlives its object. Each index ends in event_id, so that a search needs no sort: by object,
-- by actor, by former holder and by new holder.
CREATE TABLE appl_lock_event (
    event_id bigint GENERATED ALWAYS AS IDENTITY,
    event_ts timestamptz NOT NULL,
    object_type varchar(64) COLLATE "C" NOT NULL,
    object_id varchar(255) COLLATE "C" NOT NULL,
    event varchar(16) COLLATE "C" NOT NULL,
    actor_id varchar(255) COLLATE "C" NOT NULL,
    db_user varchar(255) COLLATE "C" NOT NULL,
    program varchar(255) COLLATE "C" NOT NULL,
    from_operator_id varchar(255) COLLATE "C" NOT NULL,
    from_department_id varchar(64) COLLATE "C" NOT NULL,
    to_operator_id varchar(255) COLLATE "C" NOT NULL,
    to_department_id varchar(64) COLLATE "C" NOT NULL,
    from_fence bigint NOT NULL,
    to_fence bigint NOT NULL,
    reason varchar(255) COLLATE "C" NOT NULL,
    next_xid xid8,
    CONSTRAINT appl_lock_event_pk PRIMARY KEY (event_id)
);

CREATE INDEX appl_lock_event_object_ix ON appl_lock_event (object_type, object_id, event_id);
CREATE INDEX appl_lock_event_actor_ix ON appl_lock_event (actor_id, event_id);
CREATE INDEX appl_lock_event_from_ix ON appl_lock_event (from_operator_id, event_id);
CREATE INDEX appl_lock_event_to_ix ON appl_lock_event (to_operator_id, event_id);

COMMENT ON TABLE appl_lock_event IS
    'One row for each event of the history: a lock changed hands without its holder, or a caller gave a reason. Written by the procedures only, and never changed.';
COMMENT ON COLUMN appl_lock_event.event_id IS 'Number of the event.';
COMMENT ON COLUMN appl_lock_event.event_ts IS 'When it happened.';
COMMENT ON COLUMN appl_lock_event.object_type IS 'Kind of object; empty for PURGED and HISTORY_PURGED.';
COMMENT ON COLUMN appl_lock_event.object_id IS 'Which object of that kind; empty for PURGED, HISTORY_PURGED and POLICY.';
COMMENT ON COLUMN appl_lock_event.event IS 'TRANSFERRED, TAKEN, GIVEN, YIELDED, RELEASED, OVERTAKEN, ACQUIRED, RENEWED, REFUSED, POLICY, PURGED or HISTORY_PURGED.';
COMMENT ON COLUMN appl_lock_event.actor_id IS 'The actor, as the call named it; empty when it named nobody.';
COMMENT ON COLUMN appl_lock_event.db_user IS 'The database user of the session.';
COMMENT ON COLUMN appl_lock_event.program IS 'The application_name of the session.';
COMMENT ON COLUMN appl_lock_event.from_operator_id IS 'The former holder; empty for nobody.';
COMMENT ON COLUMN appl_lock_event.from_department_id IS 'The department of that operator; may be empty.';
COMMENT ON COLUMN appl_lock_event.to_operator_id IS 'The new holder; empty for nobody.';
COMMENT ON COLUMN appl_lock_event.to_department_id IS 'The department of that operator; may be empty.';
COMMENT ON COLUMN appl_lock_event.from_fence IS 'Fencing token of the grant before; 0 for none.';
COMMENT ON COLUMN appl_lock_event.to_fence IS 'Fencing token of the grant now; 0 for none.';
COMMENT ON COLUMN appl_lock_event.reason IS 'Why, as the call said; for PURGED and HISTORY_PURGED the number of rows, for POLICY the new values, then the reason.';
COMMENT ON COLUMN appl_lock_event.next_xid IS 'Each transaction that wrote before the event was numbered has a smaller id. So inbox_appl_locks knows which events can still come.';

CREATE TABLE appl_lock_policy (
    object_type varchar(64) COLLATE "C" NOT NULL,
    default_ttl_seconds bigint,
    longest_ttl_seconds bigint,
    take_reason_fl character(1) COLLATE "C" NOT NULL,
    history_level varchar(8) COLLATE "C" NOT NULL,
    presence_fl character(1) COLLATE "C" NOT NULL,
    yield_after_seconds bigint,
    CONSTRAINT appl_lock_policy_pk PRIMARY KEY (object_type)
);

COMMENT ON TABLE appl_lock_policy IS
    'One row for each type of object that has a policy. Change it through the procedures only: they write the history.';
COMMENT ON COLUMN appl_lock_policy.object_type IS 'Kind of object, such as customer. Trailing blanks are not stored.';
COMMENT ON COLUMN appl_lock_policy.default_ttl_seconds IS 'Ttl of a new grant whose caller names none; NULL = 7 days.';
COMMENT ON COLUMN appl_lock_policy.longest_ttl_seconds IS 'Limit of every ttl; NULL = 10 years.';
COMMENT ON COLUMN appl_lock_policy.take_reason_fl IS 'Y or N: taking a lock from another operator needs a reason.';
COMMENT ON COLUMN appl_lock_policy.history_level IS 'CHANGES, or ALL: the history also records each get, renewal, refusal and release.';
COMMENT ON COLUMN appl_lock_policy.presence_fl IS 'Y or N: see_appl_lock records who looks at objects of the type.';
COMMENT ON COLUMN appl_lock_policy.yield_after_seconds IS 'Seconds that a holder may leave a request unanswered before the asker gets the lock; NULL = for ever.';

CREATE TABLE appl_lock_fence (
    id smallint NOT NULL,
    fence bigint NOT NULL,
    CONSTRAINT appl_lock_fence_pk PRIMARY KEY (id),
    CONSTRAINT appl_lock_fence_ck CHECK (id = 1)
);

COMMENT ON TABLE appl_lock_fence IS 'The greatest fence that a purge has removed, in one row. Written by purge_appl_locks only.';
COMMENT ON COLUMN appl_lock_fence.id IS 'Always 1.';
COMMENT ON COLUMN appl_lock_fence.fence IS 'The greatest fence of the rows that were purged: a new row begins above it.';

INSERT INTO appl_lock_fence (id, fence) VALUES (1, 0);

-- The answers of the routines that are called most, in the order of their OUT columns.
CREATE TYPE get_appl_lock_answer AS (
    p_ok_fl character(1),
    p_outcome text,
    p_old_operator_id text,
    p_old_department_id text,
    p_fence bigint,
    p_acquired_ts timestamptz,
    p_expires_ts timestamptz,
    p_seconds_left bigint,
    p_note text
);

COMMENT ON TYPE get_appl_lock_answer IS 'The answer of get_appl_lock_row.';

CREATE TYPE release_appl_lock_answer AS (
    p_ok_fl character(1),
    p_outcome text,
    p_old_operator_id text,
    p_old_department_id text
);

COMMENT ON TYPE release_appl_lock_answer IS 'The answer of release_appl_lock_row.';

CREATE TYPE inquire_appl_lock_answer AS (
    p_ok_fl character(1),
    p_operator_id text,
    p_department_id text,
    p_fence bigint,
    p_acquired_ts timestamptz,
    p_lock_ts timestamptz,
    p_expires_ts timestamptz,
    p_seconds_left bigint,
    p_note text
);

COMMENT ON TYPE inquire_appl_lock_answer IS 'The answer of inquire_appl_lock_row.';

-- Statistics tell the planner that the table is small: then it reads the table without its index, which is cheaper.
ANALYZE appl_lock_policy, appl_lock_fence;

-- +goose StatementBegin
DO $$ BEGIN
    PERFORM set_config('search_path', current_setting('applock.caller_search_path'), true);
END $$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
-- All locks are lost.
DO $$
DECLARE
    v_schema text := coalesce(nullif(current_setting('applock.schema', true), ''), 'applock');
BEGIN
    EXECUTE format('DROP TYPE IF EXISTS %I.inquire_appl_lock_answer', v_schema);
    EXECUTE format('DROP TYPE IF EXISTS %I.release_appl_lock_answer', v_schema);
    EXECUTE format('DROP TYPE IF EXISTS %I.get_appl_lock_answer', v_schema);
    EXECUTE format('DROP TABLE IF EXISTS %I.appl_lock_fence', v_schema);
    EXECUTE format('DROP TABLE IF EXISTS %I.appl_lock_policy', v_schema);
    EXECUTE format('DROP TABLE IF EXISTS %I.appl_lock_event', v_schema);
    EXECUTE format('DROP TABLE IF EXISTS %I.appl_lock_viewer', v_schema);
    EXECUTE format('DROP TABLE IF EXISTS %I.appl_lock_ask', v_schema);
    EXECUTE format('DROP TABLE IF EXISTS %I.appl_lock_waiter', v_schema);
    EXECUTE format('DROP TABLE IF EXISTS %I.appl_lock', v_schema);
END
$$;
-- +goose StatementEnd
