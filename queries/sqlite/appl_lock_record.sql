-- appl_lock_record: write an event of the history.
--
-- Contract   As procedures/postgres/appl_lock_record.sql. The driver runs it in the transaction that changes the lock.
-- In         The columns of the event. SQLite has neither users nor a program's name.
-- Raises     Nothing of its own.
-- Locks      The one write lock of the database file, which the driver has by then.
-- Differs    The number is the clock, in microseconds, or the one behind the last event. SQLite lets one transaction write at a time.

-- name: RecordApplLockEvent :exec
INSERT INTO appl_lock_event (
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
)
VALUES (
    max(
        CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000,
        (SELECT coalesce(max(e.event_id), 0) + 1 FROM appl_lock_event AS e)
    ),
    CAST(round(unixepoch('subsec') * 1000) AS INTEGER) * 1000,
    @object_type,
    @object_id,
    @event,
    @actor_id,
    '',
    '',
    @from_operator_id,
    @from_department_id,
    @to_operator_id,
    @to_department_id,
    @from_fence,
    @to_fence,
    @reason
);
