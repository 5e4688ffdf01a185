-- name: PollApplLocks :many
SELECT
    object_type::text AS object_type,
    object_id::text AS object_id,
    free_in_us::bigint AS free_in_us,
    first_fl::text AS first_fl
FROM poll_appl_locks(@client_id::text, @max_rows::bigint);
