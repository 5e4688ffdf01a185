-- Creates appl_lock, the table of all locks, appl_lock_waiter, the table of those who wait for one, and appl_lock_event, the
-- history, and appl_lock_policy, what is laid down for a type. They are new: an older client notices nothing.

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
-- reads them anew for every statement, and five of them cost more than the update itself. The procedures check.
CREATE TABLE appl_lock (
    object_type varchar(64) COLLATE "C" NOT NULL,
    object_id varchar(255) COLLATE "C" NOT NULL,
    operator_id varchar(64) COLLATE "C" NOT NULL,
    department_id varchar(64) COLLATE "C" NOT NULL,
    fence bigint NOT NULL,
    acquired_ts timestamptz NOT NULL,
    lock_ts timestamptz NOT NULL,
    expires_ts timestamptz NOT NULL,
    note varchar(255) COLLATE "C" NOT NULL DEFAULT '',
    history_fl boolean NOT NULL DEFAULT false,
    CONSTRAINT appl_lock_pk PRIMARY KEY (object_type, object_id)
) WITH (fillfactor = 70);

COMMENT ON TABLE appl_lock IS
    'One row for each object that is or was locked. The lock is live while expires_ts lies in the future; an expired row is a free object. Change it through the procedures only.';
COMMENT ON COLUMN appl_lock.object_type IS 'Kind of object, such as customer. Trailing blanks are not stored.';
COMMENT ON COLUMN appl_lock.object_id IS 'Which object of that kind.';
COMMENT ON COLUMN appl_lock.operator_id IS 'Who holds the lock: a person, a service or a process.';
COMMENT ON COLUMN appl_lock.department_id IS 'The department of the operator; may be empty.';
COMMENT ON COLUMN appl_lock.fence IS 'Fencing token of the grant: greater for every later grant of the same object.';
COMMENT ON COLUMN appl_lock.acquired_ts IS 'Start of the grant.';
COMMENT ON COLUMN appl_lock.lock_ts IS 'Last get, renewal or transfer. Equal to acquired_ts exactly until the first renewal. Once the lock has been released, when that was.';
COMMENT ON COLUMN appl_lock.expires_ts IS 'End of the lock; releasing sets it to 1970.';
COMMENT ON COLUMN appl_lock.note IS 'What the holder has noted on this grant; may be empty.';
COMMENT ON COLUMN appl_lock.history_fl IS 'Whether the history is told of each get, renewal, refusal and release, as the policy said at the last get.';

-- Fillfactor: what keeps a row alive rewrites it on its own page (a HOT update): expires_ts is in no index.
CREATE TABLE appl_lock_waiter (
    object_type varchar(64) COLLATE "C" NOT NULL,
    object_id varchar(255) COLLATE "C" NOT NULL,
    operator_id varchar(64) COLLATE "C" NOT NULL,
    department_id varchar(64) COLLATE "C" NOT NULL,
    client_id varchar(64) COLLATE "C" NOT NULL,
    since_ts timestamptz NOT NULL,
    until_ts timestamptz,
    expires_ts timestamptz NOT NULL,
    CONSTRAINT appl_lock_waiter_pk PRIMARY KEY (object_type, object_id, operator_id, client_id),
    CONSTRAINT appl_lock_waiter_type_ck CHECK (object_type <> '' AND position(':' IN object_type) = 0),
    CONSTRAINT appl_lock_waiter_id_ck CHECK (object_id <> ''),
    CONSTRAINT appl_lock_waiter_operator_ck CHECK (operator_id <> ''),
    CONSTRAINT appl_lock_waiter_client_ck CHECK (client_id <> '')
) WITH (fillfactor = 70);

CREATE INDEX appl_lock_waiter_client_ix ON appl_lock_waiter (client_id);

COMMENT ON TABLE appl_lock_waiter IS
    'One row for each operator that waits for an object, in each program. The row is live while expires_ts lies in the future; a dead row is nobody. Change it through the procedures only.';
COMMENT ON COLUMN appl_lock_waiter.object_type IS 'Kind of object, such as customer. Trailing blanks are not stored.';
COMMENT ON COLUMN appl_lock_waiter.object_id IS 'Which object of that kind.';
COMMENT ON COLUMN appl_lock_waiter.operator_id IS 'Who waits for the lock: a person, a service or a process.';
COMMENT ON COLUMN appl_lock_waiter.department_id IS 'The department of the operator; may be empty.';
COMMENT ON COLUMN appl_lock_waiter.client_id IS 'The waiting program, by a name that it has made up for itself.';
COMMENT ON COLUMN appl_lock_waiter.since_ts IS 'Since when it waits.';
COMMENT ON COLUMN appl_lock_waiter.until_ts IS 'When it gives up; NULL = never.';
COMMENT ON COLUMN appl_lock_waiter.expires_ts IS 'When the row is dead, unless the program goes on saying that it waits.';

-- No foreign key: an event outlives its object. All that an operator did and what happened at a time is looked for in the order
-- of event_id, which needs no sort; what it lost and what it got, by every heartbeat, in indexes.
CREATE TABLE appl_lock_event (
    event_id bigint GENERATED ALWAYS AS IDENTITY,
    event_ts timestamptz NOT NULL,
    object_type varchar(64) COLLATE "C" NOT NULL,
    object_id varchar(255) COLLATE "C" NOT NULL,
    event varchar(16) COLLATE "C" NOT NULL,
    actor_id varchar(64) COLLATE "C" NOT NULL,
    db_user varchar(255) COLLATE "C" NOT NULL,
    program varchar(255) COLLATE "C" NOT NULL,
    from_operator_id varchar(64) COLLATE "C" NOT NULL,
    from_department_id varchar(64) COLLATE "C" NOT NULL,
    to_operator_id varchar(64) COLLATE "C" NOT NULL,
    to_department_id varchar(64) COLLATE "C" NOT NULL,
    from_fence bigint NOT NULL,
    to_fence bigint NOT NULL,
    reason varchar(255) COLLATE "C" NOT NULL,
    CONSTRAINT appl_lock_event_pk PRIMARY KEY (event_id)
);

CREATE INDEX appl_lock_event_object_ix ON appl_lock_event (object_type, object_id, event_id);
CREATE INDEX appl_lock_event_from_ix ON appl_lock_event (from_operator_id, event_id);
CREATE INDEX appl_lock_event_to_ix ON appl_lock_event (to_operator_id, event_id);

COMMENT ON TABLE appl_lock_event IS
    'One row for each event of the history: a lock changed hands without its holder, or somebody said why. Written by the procedures only, and never changed.';
COMMENT ON COLUMN appl_lock_event.event_id IS 'Number of the event.';
COMMENT ON COLUMN appl_lock_event.event_ts IS 'When it happened.';
COMMENT ON COLUMN appl_lock_event.object_type IS 'Kind of object; empty for PURGED.';
COMMENT ON COLUMN appl_lock_event.object_id IS 'Which object of that kind; empty for PURGED and POLICY.';
COMMENT ON COLUMN appl_lock_event.event IS 'TRANSFERRED, TAKEN, RELEASED, OVERTAKEN, ACQUIRED, RENEWED, REFUSED, POLICY or PURGED.';
COMMENT ON COLUMN appl_lock_event.actor_id IS 'Who did it, as the call named him; empty for PURGED.';
COMMENT ON COLUMN appl_lock_event.db_user IS 'The database user of the session.';
COMMENT ON COLUMN appl_lock_event.program IS 'The application_name of the session.';
COMMENT ON COLUMN appl_lock_event.from_operator_id IS 'Who held the lock; empty if nobody.';
COMMENT ON COLUMN appl_lock_event.from_department_id IS 'The department of that operator; may be empty.';
COMMENT ON COLUMN appl_lock_event.to_operator_id IS 'Who has the lock now; empty if nobody.';
COMMENT ON COLUMN appl_lock_event.to_department_id IS 'The department of that operator; may be empty.';
COMMENT ON COLUMN appl_lock_event.from_fence IS 'Fencing token of the grant before; 0 for none.';
COMMENT ON COLUMN appl_lock_event.to_fence IS 'Fencing token of the grant now; 0 for none.';
COMMENT ON COLUMN appl_lock_event.reason IS 'Why, in the words of whoever did it; for PURGED the number of rows, for POLICY first what it says now.';

CREATE TABLE appl_lock_policy (
    object_type varchar(64) COLLATE "C" NOT NULL,
    default_ttl_seconds bigint,
    longest_ttl_seconds bigint,
    take_reason_fl character(1) COLLATE "C" NOT NULL,
    history_level varchar(8) COLLATE "C" NOT NULL,
    CONSTRAINT appl_lock_policy_pk PRIMARY KEY (object_type)
);

COMMENT ON TABLE appl_lock_policy IS
    'One row for each type of objects for which something is laid down. Change it through the procedures only: they tell the history.';
COMMENT ON COLUMN appl_lock_policy.object_type IS 'Kind of object, such as customer. Trailing blanks are not stored.';
COMMENT ON COLUMN appl_lock_policy.default_ttl_seconds IS 'Ttl of a new grant for which none is given; NULL = 7 days.';
COMMENT ON COLUMN appl_lock_policy.longest_ttl_seconds IS 'Greatest ttl, to which greater ones are cut; NULL = 10 years.';
COMMENT ON COLUMN appl_lock_policy.take_reason_fl IS 'Whether who takes a lock away must say why, Y or N.';
COMMENT ON COLUMN appl_lock_policy.history_level IS 'What the history is told: CHANGES, or ALL, each get, renewal, refusal and release, too.';

-- The answers of the routines that are called most, in the order of their OUT columns.
CREATE TYPE get_appl_lock_answer AS (
    p_lock_fl character(1),
    p_outcome text,
    p_old_operator_id text,
    p_old_department_id text,
    p_fence bigint,
    p_expires_ts timestamptz,
    p_seconds_left bigint,
    p_note text
);

COMMENT ON TYPE get_appl_lock_answer IS 'What get_appl_lock_row answers.';

CREATE TYPE release_appl_lock_answer AS (
    p_return_cd character(1),
    p_outcome text,
    p_old_operator_id text,
    p_old_department_id text
);

COMMENT ON TYPE release_appl_lock_answer IS 'What release_appl_lock_row answers.';

CREATE TYPE inquire_appl_lock_answer AS (
    p_return_cd character(1),
    p_operator_id text,
    p_department_id text,
    p_fence bigint,
    p_acquired_ts timestamptz,
    p_lock_ts timestamptz,
    p_expires_ts timestamptz,
    p_seconds_left bigint,
    p_note text
);

COMMENT ON TYPE inquire_appl_lock_answer IS 'What inquire_appl_lock_row answers.';

-- An empty or small table that the server knows to be one is read as it is, which costs half of what its index does.
ANALYZE appl_lock_policy;

SELECT set_config('search_path', current_setting('applock.caller_search_path'), true);

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
    EXECUTE format('DROP TABLE IF EXISTS %I.appl_lock_policy', v_schema);
    EXECUTE format('DROP TABLE IF EXISTS %I.appl_lock_event', v_schema);
    EXECUTE format('DROP TABLE IF EXISTS %I.appl_lock_waiter', v_schema);
    EXECUTE format('DROP TABLE IF EXISTS %I.appl_lock', v_schema);
END
$$;
-- +goose StatementEnd
