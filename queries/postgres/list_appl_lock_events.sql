-- name: ListApplLockEvents :many
SELECT
    event_id::bigint AS event_id,
    event_ts::timestamptz AS event_ts,
    object_type::text AS object_type,
    object_id::text AS object_id,
    event::text AS event,
    actor_id::text AS actor_id,
    db_user::text AS db_user,
    program::text AS program,
    from_operator_id::text AS from_operator_id,
    from_department_id::text AS from_department_id,
    to_operator_id::text AS to_operator_id,
    to_department_id::text AS to_department_id,
    from_fence::bigint AS from_fence,
    to_fence::bigint AS to_fence,
    reason::text AS reason
FROM list_appl_lock_events(
    sqlc.narg('object_type')::text,
    sqlc.narg('object_id')::text,
    sqlc.narg('operator_id')::text,
    sqlc.narg('since_seconds')::bigint,
    sqlc.narg('after_event_id')::bigint,
    @max_rows::bigint
);
