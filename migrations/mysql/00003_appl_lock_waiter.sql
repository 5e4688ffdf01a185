-- Creates appl_lock_waiter, the table of those who wait for a lock. It is new: an older client notices nothing.

-- +goose Up
-- There are no transactions around CREATE: each statement also does after a migration that broke off.
CREATE TABLE IF NOT EXISTS appl_lock_waiter (
    object_type VARCHAR(64) NOT NULL
        COMMENT 'Kind of object, such as customer. Trailing blanks are not stored.',
    object_id VARCHAR(255) NOT NULL
        COMMENT 'Which object of that kind.',
    operator_id VARCHAR(64) NOT NULL
        COMMENT 'Who waits for the lock: a person, a service or a process.',
    department_id VARCHAR(64) NOT NULL
        COMMENT 'The department of the operator; may be empty.',
    client_id VARCHAR(64) NOT NULL
        COMMENT 'The waiting program, by a name that it has made up for itself.',
    since_ts DATETIME(6) NOT NULL
        COMMENT 'Since when it waits, UTC.',
    until_ts DATETIME(6)
        COMMENT 'When it gives up, UTC; NULL = never.',
    expires_ts DATETIME(6) NOT NULL
        COMMENT 'When the row is dead, UTC, unless the program goes on saying that it waits.',
    CONSTRAINT appl_lock_waiter_pk PRIMARY KEY (object_type, object_id, operator_id, client_id),
    INDEX appl_lock_waiter_client_ix (client_id),
    CONSTRAINT appl_lock_waiter_type_ck CHECK (object_type <> '' AND LOCATE(':', object_type) = 0),
    CONSTRAINT appl_lock_waiter_id_ck CHECK (object_id <> ''),
    CONSTRAINT appl_lock_waiter_operator_ck CHECK (operator_id <> ''),
    CONSTRAINT appl_lock_waiter_client_ck CHECK (client_id <> '')
)
ENGINE = InnoDB
DEFAULT CHARACTER SET = utf8mb4
COLLATE = utf8mb4_bin
COMMENT = 'One row for each operator that waits for an object, in each program. The row is live while expires_ts lies in the future; a dead row is nobody. Change it through the procedures only.';

-- A table of that name that is not this one ends the migration here.
DO EXISTS (
    SELECT object_type, object_id, operator_id, department_id, client_id, since_ts, until_ts, expires_ts
    FROM appl_lock_waiter
    WHERE FALSE
);

-- +goose Down
-- Nobody is known to wait any more; no lock is lost.
DROP TABLE IF EXISTS appl_lock_waiter;
