-- name: InboxApplLocks :many
SELECT
    kind::text AS kind,
    event_id::bigint AS event_id,
    object_type::text AS object_type,
    object_id::text AS object_id,
    other_operator_id::text AS other_operator_id,
    other_department_id::text AS other_department_id,
    (event_ts AT TIME ZONE 'UTC')::timestamp AS event_ts,
    seconds_left::bigint AS seconds_left,
    reason::text AS reason,
    next_position::text AS next_position,
    message::text AS message,
    client_id::text AS client_id,
    fence::bigint AS fence
FROM inbox_appl_locks(
    @operator_id::text,
    @position::text,
    @max_rows::bigint
);
