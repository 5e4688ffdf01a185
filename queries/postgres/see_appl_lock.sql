-- name: SeeApplLock :many
SELECT
    kind::text AS kind,
    operator_id::text AS operator_id,
    department_id::text AS department_id,
    client_id::text AS client_id,
    state::text AS state,
    (since_ts AT TIME ZONE 'UTC')::timestamp AS since_ts,
    seconds_left::bigint AS seconds_left,
    message::text AS message
FROM see_appl_lock(
    @object_type::text,
    @object_id::text,
    @operator_id::text,
    @department_id::text,
    @client_id::text,
    sqlc.narg('state')::text,
    sqlc.narg('ttl_seconds')::bigint
);
