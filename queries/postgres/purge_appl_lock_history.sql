-- name: PurgeApplLockHistory :one
SELECT p_purged::bigint AS purged
FROM purge_appl_lock_history_row(@older_than_seconds::bigint, @max_rows::bigint);
