-- Creates appl_lock_waiter, the table of those who wait for a lock. It is new: an older client notices nothing.

-- +goose Up
-- The columns are those of appl_lock, with as many bytes. The primary key may have 1788 bytes: on pages of 8 KB an
-- index key has room for 2048.
-- VOLATILE: always by an index, whatever the statistics say of a table that was small once.
-- No index has expires_ts: what keeps a row alive changes none.
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
ALTER TABLE appl_lock_waiter VOLATILE CARDINALITY
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON TABLE appl_lock_waiter IS 'One row for each operator that waits for an object, in each program. The row is live while expires_ts lies in the future; a dead row is nobody. Change it through the procedures only.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_waiter.object_type IS 'Kind of object, such as customer. Trailing blanks are not stored.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_waiter.object_id IS 'Which object of that kind.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_waiter.operator_id IS 'Who waits for the lock: a person, a service or a process.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_waiter.department_id IS 'The department of the operator; may be empty.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_waiter.client_id IS 'The waiting program, by a name that it has made up for itself.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_waiter.since_ts IS 'Since when it waits, UTC.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_waiter.until_ts IS 'When it gives up, UTC; NULL = never.'
-- +goose StatementEnd

-- +goose StatementBegin
COMMENT ON COLUMN appl_lock_waiter.expires_ts IS 'When the row is dead, unless the program goes on saying that it waits, UTC.'
-- +goose StatementEnd

-- +goose Down
-- Nobody is known to wait any more; no lock is lost.
-- +goose StatementBegin
DROP TABLE appl_lock_waiter
-- +goose StatementEnd
