-- Creates the tables: appl_lock, the locks; appl_lock_waiter, its waiters; appl_lock_ask, the requests for it;
-- appl_lock_viewer, viewers of an object; appl_lock_event, the history; appl_lock_policy, the policies of types; appl_lock_fence, the
-- greatest fence that was purged; appl_lock_serialize, which MySQL and MariaDB need for serialize_appl_lock.

-- +goose Up
-- CREATE is not transactional: each statement can run again after a migration that broke off.
--
-- utf8mb4_bin: names are compared as bytes (trailing blanks are trimmed on entry, because it pads them).
-- DATETIME(6) in UTC: a TIMESTAMP has no value in the hour that daylight saving skips.
-- No second index: a renewal or a release changes the one row of the primary key and nothing else.
CREATE TABLE IF NOT EXISTS appl_lock (
    object_type VARCHAR(64) NOT NULL
        COMMENT 'Kind of object, such as customer. Trailing blanks are not stored.',
    object_id VARCHAR(255) NOT NULL
        COMMENT 'Which object of that kind.',
    operator_id VARCHAR(255) NOT NULL
        COMMENT 'The present or last holder: a person, a service or a process.',
    department_id VARCHAR(64) NOT NULL
        COMMENT 'The department of the operator; may be empty.',
    fence BIGINT NOT NULL
        COMMENT 'Fencing token of the grant: greater for every later grant of the same object.',
    acquired_ts DATETIME(6) NOT NULL
        COMMENT 'Start of the grant, UTC.',
    lock_ts DATETIME(6) NOT NULL
        COMMENT 'Last get, renewal or transfer, UTC; each of them makes it greater.',
    ttl_seconds BIGINT NOT NULL
        COMMENT 'Seconds that the last get, renewal or transfer asked for, within the policy''s longest.',
    expires_ts DATETIME(6) NOT NULL
        COMMENT 'When the lock ends by itself, UTC. A release does not change it.',
    note VARCHAR(255) NOT NULL DEFAULT ''
        COMMENT 'The holder''s note on this grant; may be empty.',
    history_fl CHAR(1) NOT NULL DEFAULT 'N'
        COMMENT 'Y or N: the history also records each get, renewal, refusal and release; from the policy at the last get.',
    released_ts DATETIME(6)
        COMMENT 'When the grant was released, UTC; NULL while it was not.',
    CONSTRAINT appl_lock_pk PRIMARY KEY (object_type, object_id),
    CONSTRAINT appl_lock_object_type_ck CHECK (object_type <> '' AND LOCATE(':', object_type) = 0),
    CONSTRAINT appl_lock_object_id_ck CHECK (object_id <> ''),
    CONSTRAINT appl_lock_operator_id_ck CHECK (operator_id <> ''),
    CONSTRAINT appl_lock_fence_ck CHECK (fence BETWEEN 1 AND 9000000000000000000),
    CONSTRAINT appl_lock_lock_ts_ck CHECK (lock_ts >= acquired_ts)
)
ENGINE = InnoDB
ROW_FORMAT = DYNAMIC
DEFAULT CHARACTER SET = utf8mb4
COLLATE = utf8mb4_bin
COMMENT = 'One row for each object that is or was locked. The lock is live while released_ts is NULL and expires_ts lies in the future. Change it through the procedures only.';

-- If another table has this name, the migration ends here.
DO EXISTS (
    SELECT
        object_type, object_id, operator_id, department_id, fence, acquired_ts, lock_ts, ttl_seconds, expires_ts, note, history_fl,
        released_ts
    FROM appl_lock
    WHERE FALSE
);

CREATE TABLE IF NOT EXISTS appl_lock_waiter (
    object_type VARCHAR(64) NOT NULL
        COMMENT 'Kind of object, such as customer. Trailing blanks are not stored.',
    object_id VARCHAR(255) NOT NULL
        COMMENT 'Which object of that kind.',
    operator_id VARCHAR(255) NOT NULL
        COMMENT 'The operator that waits: a person, a service or a process.',
    department_id VARCHAR(64) NOT NULL
        COMMENT 'The department of the operator; may be empty.',
    client_id VARCHAR(64) NOT NULL
        COMMENT 'The waiting program, under a name that no other program has.',
    since_ts DATETIME(6) NOT NULL
        COMMENT 'Since when it waits, UTC.',
    until_ts DATETIME(6)
        COMMENT 'When it gives up, UTC; NULL = never.',
    expires_ts DATETIME(6) NOT NULL
        COMMENT 'When the row is dead, UTC, unless the program keeps it listed.',
    holder_id VARCHAR(255) NOT NULL
        COMMENT 'The holder when the program last announced or polled; empty for nobody. The inbox verifies it.',
    CONSTRAINT appl_lock_waiter_pk PRIMARY KEY (object_type, object_id, operator_id, client_id),
    INDEX appl_lock_waiter_client_ix (client_id),
    INDEX appl_lock_waiter_holder_ix (holder_id),
    CONSTRAINT appl_lock_waiter_type_ck CHECK (object_type <> '' AND LOCATE(':', object_type) = 0),
    CONSTRAINT appl_lock_waiter_id_ck CHECK (object_id <> ''),
    CONSTRAINT appl_lock_waiter_operator_ck CHECK (operator_id <> ''),
    CONSTRAINT appl_lock_waiter_client_ck CHECK (client_id <> '')
)
ENGINE = InnoDB
ROW_FORMAT = DYNAMIC
DEFAULT CHARACTER SET = utf8mb4
COLLATE = utf8mb4_bin
COMMENT = 'One row for each operator that waits for an object, in each program. The row is live while expires_ts lies in the future; a dead row counts as absent. Change it through the procedures only.';

-- If another table has this name, the migration ends here.
DO EXISTS (
    SELECT object_type, object_id, operator_id, department_id, client_id, since_ts, until_ts, expires_ts, holder_id
    FROM appl_lock_waiter
    WHERE FALSE
);

CREATE TABLE IF NOT EXISTS appl_lock_ask (
    object_type VARCHAR(64) NOT NULL
        COMMENT 'Kind of object, such as customer. Trailing blanks are not stored.',
    object_id VARCHAR(255) NOT NULL
        COMMENT 'Which object of that kind.',
    operator_id VARCHAR(255) NOT NULL
        COMMENT 'The operator that asks for the lock.',
    department_id VARCHAR(64) NOT NULL
        COMMENT 'The department of the operator; may be empty.',
    client_id VARCHAR(64) NOT NULL
        COMMENT 'The program that asks, under a name that no other program has.',
    message VARCHAR(255) NOT NULL
        COMMENT 'The message to the holder; may be empty.',
    since_ts DATETIME(6) NOT NULL
        COMMENT 'Since when it asks, UTC.',
    until_ts DATETIME(6)
        COMMENT 'When it gives up; NULL = never.',
    expires_ts DATETIME(6) NOT NULL
        COMMENT 'When the row is dead, unless the program keeps it listed.',
    holder_id VARCHAR(255) NOT NULL
        COMMENT 'The holder at the last call, whose inbox shows the request.',
    fence BIGINT NOT NULL
        COMMENT 'The holder''s grant at the last call.',
    shown_ts DATETIME(6)
        COMMENT 'When the holder''s inbox first showed the request, if the type''s policy has a yield; NULL = not yet.',
    answer VARCHAR(8) NOT NULL
        COMMENT 'The holder''s answer, LATER or NO; empty for none.',
    answer_reason VARCHAR(255) NOT NULL
        COMMENT 'The reason of that answer; may be empty.',
    answered_ts DATETIME(6)
        COMMENT 'When the holder answered; NULL = not yet.',
    edited_ts DATETIME(6)
        COMMENT 'When the holder last reported EDITING since the request was shown; NULL = not since then.',
    CONSTRAINT appl_lock_ask_pk PRIMARY KEY (object_type, object_id, operator_id, client_id),
    INDEX appl_lock_ask_operator_ix (operator_id),
    INDEX appl_lock_ask_holder_ix (holder_id)
)
ENGINE = InnoDB
ROW_FORMAT = DYNAMIC
DEFAULT CHARACTER SET = utf8mb4
COLLATE = utf8mb4_bin
COMMENT = 'One row for each operator that asks for an object, in each program. The row is live while expires_ts lies in the future; a dead row counts as absent. Change it through the procedures only.';

-- If another table has this name, the migration ends here.
DO EXISTS (
    SELECT object_type, object_id, operator_id, department_id, client_id, message, since_ts, until_ts, expires_ts, holder_id, fence,
        shown_ts, answer, answer_reason, answered_ts, edited_ts
    FROM appl_lock_ask
    WHERE FALSE
);

-- No second index: a heartbeat changes the one row of the primary key and nothing else.
CREATE TABLE IF NOT EXISTS appl_lock_viewer (
    object_type VARCHAR(64) NOT NULL
        COMMENT 'Kind of object, such as customer. Trailing blanks are not stored.',
    object_id VARCHAR(255) NOT NULL
        COMMENT 'Which object of that kind.',
    operator_id VARCHAR(255) NOT NULL
        COMMENT 'The operator that looks at the object: a person, a service or a process.',
    department_id VARCHAR(64) NOT NULL
        COMMENT 'The department of the operator; may be empty.',
    client_id VARCHAR(64) NOT NULL
        COMMENT 'The browser tab or program, under a name that no other program has.',
    state VARCHAR(8) NOT NULL
        COMMENT 'The operator''s state: VIEWING, EDITING or IDLE.',
    since_ts DATETIME(6) NOT NULL
        COMMENT 'Since when it looks, UTC.',
    seen_ts DATETIME(6) NOT NULL
        COMMENT 'When it last reported its state, UTC.',
    expires_ts DATETIME(6) NOT NULL
        COMMENT 'When the row is dead, UTC, unless the program keeps it listed.',
    CONSTRAINT appl_lock_viewer_pk PRIMARY KEY (object_type, object_id, operator_id, client_id),
    CONSTRAINT appl_lock_viewer_type_ck CHECK (object_type <> '' AND LOCATE(':', object_type) = 0),
    CONSTRAINT appl_lock_viewer_id_ck CHECK (object_id <> ''),
    CONSTRAINT appl_lock_viewer_operator_ck CHECK (operator_id <> ''),
    CONSTRAINT appl_lock_viewer_client_ck CHECK (client_id <> '')
)
ENGINE = InnoDB
ROW_FORMAT = DYNAMIC
DEFAULT CHARACTER SET = utf8mb4
COLLATE = utf8mb4_bin
COMMENT = 'One row for each operator that looks at an object, in each program. The row is live while expires_ts lies in the future; a dead row counts as absent. Change it through the procedures only.';

-- If another table has this name, the migration ends here.
DO EXISTS (
    SELECT object_type, object_id, operator_id, department_id, client_id, state, since_ts, seen_ts, expires_ts
    FROM appl_lock_viewer
    WHERE FALSE
);

-- No foreign key: an event outlives its object. Three indexes serve the events of an actor, a former and a new holder.
CREATE TABLE IF NOT EXISTS appl_lock_event (
    event_id BIGINT NOT NULL AUTO_INCREMENT
        COMMENT 'Number of the event.',
    event_ts DATETIME(6) NOT NULL
        COMMENT 'When it happened, UTC.',
    object_type VARCHAR(64) NOT NULL
        COMMENT 'Kind of object; empty for PURGED and HISTORY_PURGED.',
    object_id VARCHAR(255) NOT NULL
        COMMENT 'Which object of that kind; empty for PURGED, HISTORY_PURGED and POLICY.',
    event VARCHAR(16) NOT NULL
        COMMENT 'TRANSFERRED, TAKEN, GIVEN, YIELDED, RELEASED, OVERTAKEN, ACQUIRED, RENEWED, REFUSED, POLICY, PURGED or HISTORY_PURGED.',
    actor_id VARCHAR(255) NOT NULL
        COMMENT 'The actor, as the call named it; empty when it named nobody.',
    db_user VARCHAR(255) NOT NULL
        COMMENT 'The database user of the session.',
    program VARCHAR(255) NOT NULL
        COMMENT 'The program; empty where the connection does not name it.',
    from_operator_id VARCHAR(255) NOT NULL
        COMMENT 'The former holder; empty for nobody.',
    from_department_id VARCHAR(64) NOT NULL
        COMMENT 'The department of that operator; may be empty.',
    to_operator_id VARCHAR(255) NOT NULL
        COMMENT 'The new holder; empty for nobody.',
    to_department_id VARCHAR(64) NOT NULL
        COMMENT 'The department of that operator; may be empty.',
    from_fence BIGINT NOT NULL
        COMMENT 'Fencing token of the grant before; 0 for none.',
    to_fence BIGINT NOT NULL
        COMMENT 'Fencing token of the grant now; 0 for none.',
    reason VARCHAR(255) NOT NULL
        COMMENT 'Why, as the call said; for PURGED and HISTORY_PURGED the number of rows, for POLICY the new values, then the reason.',
    CONSTRAINT appl_lock_event_pk PRIMARY KEY (event_id),
    INDEX appl_lock_event_object_ix (object_type, object_id, event_id),
    INDEX appl_lock_event_actor_ix (actor_id, event_id),
    INDEX appl_lock_event_from_ix (from_operator_id, event_id),
    INDEX appl_lock_event_to_ix (to_operator_id, event_id)
)
ENGINE = InnoDB
ROW_FORMAT = DYNAMIC
DEFAULT CHARACTER SET = utf8mb4
COLLATE = utf8mb4_bin
COMMENT = 'One row for each event of the history: a lock changed hands without its holder, or a caller gave a reason. Written by the procedures only, and never changed.';

-- If another table has this name, the migration ends here.
DO EXISTS (
    SELECT
        event_id, event_ts, object_type, object_id, event, actor_id, db_user, program, from_operator_id, from_department_id,
        to_operator_id, to_department_id, from_fence, to_fence, reason
    FROM appl_lock_event
    WHERE FALSE
);

CREATE TABLE IF NOT EXISTS appl_lock_policy (
    object_type VARCHAR(64) NOT NULL
        COMMENT 'Kind of object, such as customer. Trailing blanks are not stored.',
    default_ttl_seconds BIGINT
        COMMENT 'Ttl of a new grant whose caller names none; NULL = 7 days.',
    longest_ttl_seconds BIGINT
        COMMENT 'Limit of every ttl; NULL = 10 years.',
    take_reason_fl CHAR(1) NOT NULL
        COMMENT 'Y or N: taking a lock from another operator needs a reason.',
    history_level VARCHAR(8) NOT NULL
        COMMENT 'CHANGES, or ALL: the history also records each get, renewal, refusal and release.',
    presence_fl CHAR(1) NOT NULL
        COMMENT 'Y or N: see_appl_lock records who looks at objects of the type.',
    yield_after_seconds BIGINT
        COMMENT 'Seconds that a holder may leave a request unanswered before the asker gets the lock; NULL = for ever.',
    CONSTRAINT appl_lock_policy_pk PRIMARY KEY (object_type)
)
ENGINE = InnoDB
ROW_FORMAT = DYNAMIC
DEFAULT CHARACTER SET = utf8mb4
COLLATE = utf8mb4_bin
COMMENT = 'One row for each type of object that has a policy. Change it through the procedures only: they write the history.';

-- If another table has this name, the migration ends here.
DO EXISTS (
    SELECT object_type, default_ttl_seconds, longest_ttl_seconds, take_reason_fl, history_level, presence_fl, yield_after_seconds
    FROM appl_lock_policy
    WHERE FALSE
);

CREATE TABLE IF NOT EXISTS appl_lock_fence (
    slot INT NOT NULL
        COMMENT 'Always 1.',
    fence BIGINT NOT NULL
        COMMENT 'Greatest fence of the rows that a purge has removed.',
    CONSTRAINT appl_lock_fence_pk PRIMARY KEY (slot)
)
ENGINE = InnoDB
ROW_FORMAT = DYNAMIC
COMMENT = 'The greatest fence that a purge has removed, in one row: a new fence is greater.';

INSERT INTO appl_lock_fence (slot, fence)
VALUES (1, 0)
ON DUPLICATE KEY UPDATE fence = appl_lock_fence.fence;

CREATE TABLE IF NOT EXISTS appl_lock_serialize (
    slot INT NOT NULL
        COMMENT 'Hash of an object: CRC32 of type:id, modulo 65536.',
    turn BIGINT NOT NULL
        COMMENT 'How many transactions have had their turn.',
    CONSTRAINT appl_lock_serialize_pk PRIMARY KEY (slot)
)
ENGINE = InnoDB
ROW_FORMAT = DYNAMIC
COMMENT = 'The rows that serialize_appl_lock locks. They are permanent.';

INSERT INTO appl_lock_serialize (slot, turn)
WITH RECURSIVE digit (n) AS (
    SELECT 0
    UNION ALL
    SELECT n + 1 FROM digit WHERE n < 15
)
SELECT a.n * 4096 + b.n * 256 + c.n * 16 + d.n, 0
FROM digit AS a
CROSS JOIN digit AS b
CROSS JOIN digit AS c
CROSS JOIN digit AS d
WHERE TRUE -- or else ON would begin a condition of the join
ON DUPLICATE KEY UPDATE turn = appl_lock_serialize.turn;

-- +goose Down
-- All locks are lost.
DROP TABLE IF EXISTS appl_lock_serialize;
DROP TABLE IF EXISTS appl_lock_fence;
DROP TABLE IF EXISTS appl_lock_policy;
DROP TABLE IF EXISTS appl_lock_event;
DROP TABLE IF EXISTS appl_lock_viewer;
DROP TABLE IF EXISTS appl_lock_ask;
DROP TABLE IF EXISTS appl_lock_waiter;
DROP TABLE IF EXISTS appl_lock;
