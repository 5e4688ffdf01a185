-- name: PurgeApplLocks :one
SELECT p_purged::bigint AS purged
FROM purge_appl_locks_row(@older_than_seconds::bigint, @max_rows::bigint);
