-- name: ApplLockHistory :many
SELECT
    h.event_id::bigint AS event_id,
    (h.event_ts AT TIME ZONE 'UTC')::timestamp AS event_ts,
    h.object_type::text AS object_type,
    h.object_id::text AS object_id,
    h.event::text AS event,
    h.actor_id::text AS actor_id,
    h.db_user::text AS db_user,
    h.program::text AS program,
    h.from_operator_id::text AS from_operator_id,
    h.from_department_id::text AS from_department_id,
    h.to_operator_id::text AS to_operator_id,
    h.to_department_id::text AS to_department_id,
    h.from_fence::bigint AS from_fence,
    h.to_fence::bigint AS to_fence,
    h.reason::text AS reason
FROM (
    (
        SELECT e.*
        FROM appl_lock_history AS e
        WHERE NOT @newest_first::boolean
            AND e.event_id > @after_event_id::bigint
            AND (sqlc.narg('object_type')::text IS NULL OR e.object_type::text = sqlc.narg('object_type')::text)
            AND (sqlc.narg('object_id')::text IS NULL OR e.object_id::text = sqlc.narg('object_id')::text)
            AND (@since_seconds::bigint = 0 OR e.event_ts >= statement_timestamp() - pg_catalog.make_interval(secs => @since_seconds::bigint))
        ORDER BY e.event_id
        LIMIT @max_rows::bigint
    )
    UNION ALL
    (
        SELECT e.*
        FROM appl_lock_history AS e
        WHERE @newest_first::boolean
            AND e.event_id < @before_event_id::bigint
            AND (sqlc.narg('object_type')::text IS NULL OR e.object_type::text = sqlc.narg('object_type')::text)
            AND (sqlc.narg('object_id')::text IS NULL OR e.object_id::text = sqlc.narg('object_id')::text)
            AND (@since_seconds::bigint = 0 OR e.event_ts >= statement_timestamp() - pg_catalog.make_interval(secs => @since_seconds::bigint))
        ORDER BY e.event_id DESC
        LIMIT @max_rows::bigint
    )
) AS h
ORDER BY CASE WHEN @newest_first::boolean THEN -h.event_id ELSE h.event_id END
LIMIT @max_rows::bigint;

-- The pair keeps the server from reading all events in the order of their numbers. The end of a pair of two columns would not end the scan.
-- name: ApplLockHistoryOfObject :many
SELECT
    h.event_id::bigint AS event_id,
    (h.event_ts AT TIME ZONE 'UTC')::timestamp AS event_ts,
    h.object_type::text AS object_type,
    h.object_id::text AS object_id,
    h.event::text AS event,
    h.actor_id::text AS actor_id,
    h.db_user::text AS db_user,
    h.program::text AS program,
    h.from_operator_id::text AS from_operator_id,
    h.from_department_id::text AS from_department_id,
    h.to_operator_id::text AS to_operator_id,
    h.to_department_id::text AS to_department_id,
    h.from_fence::bigint AS from_fence,
    h.to_fence::bigint AS to_fence,
    h.reason::text AS reason
FROM (
    (
        SELECT e.*
        FROM appl_lock_history AS e
        WHERE NOT @newest_first::boolean
            AND e.object_type::text = @object_type::text
            AND (e.object_id::text, e.event_id) > (@object_id::text, @after_event_id::bigint)
            AND e.object_id::text <= @object_id::text
            AND (@since_seconds::bigint = 0 OR e.event_ts >= statement_timestamp() - pg_catalog.make_interval(secs => @since_seconds::bigint))
        ORDER BY e.object_type, e.object_id, e.event_id
        LIMIT @max_rows::bigint
    )
    UNION ALL
    (
        SELECT e.*
        FROM appl_lock_history AS e
        WHERE @newest_first::boolean
            AND e.object_type::text = @object_type::text
            AND (e.object_id::text, e.event_id) < (@object_id::text, @before_event_id::bigint)
            AND e.object_id::text >= @object_id::text
            AND (@since_seconds::bigint = 0 OR e.event_ts >= statement_timestamp() - pg_catalog.make_interval(secs => @since_seconds::bigint))
        ORDER BY e.object_type DESC, e.object_id DESC, e.event_id DESC
        LIMIT @max_rows::bigint
    )
) AS h
ORDER BY CASE WHEN @newest_first::boolean THEN -h.event_id ELSE h.event_id END
LIMIT @max_rows::bigint;

-- name: ApplLockHistoryOfOperator :many
SELECT
    h.event_id::bigint AS event_id,
    (h.event_ts AT TIME ZONE 'UTC')::timestamp AS event_ts,
    h.object_type::text AS object_type,
    h.object_id::text AS object_id,
    h.event::text AS event,
    h.actor_id::text AS actor_id,
    h.db_user::text AS db_user,
    h.program::text AS program,
    h.from_operator_id::text AS from_operator_id,
    h.from_department_id::text AS from_department_id,
    h.to_operator_id::text AS to_operator_id,
    h.to_department_id::text AS to_department_id,
    h.from_fence::bigint AS from_fence,
    h.to_fence::bigint AS to_fence,
    h.reason::text AS reason
FROM (
    (
        SELECT e.*
        FROM appl_lock_history AS e
        WHERE NOT @newest_first::boolean
            AND (e.actor_id::text, e.event_id) > (@operator_id::text, @after_event_id::bigint)
            AND e.actor_id::text <= @operator_id::text
            AND (sqlc.narg('object_type')::text IS NULL OR e.object_type::text = sqlc.narg('object_type')::text)
            AND (sqlc.narg('object_id')::text IS NULL OR e.object_id::text = sqlc.narg('object_id')::text)
            AND (@since_seconds::bigint = 0 OR e.event_ts >= statement_timestamp() - pg_catalog.make_interval(secs => @since_seconds::bigint))
        ORDER BY e.actor_id, e.event_id
        LIMIT @max_rows::bigint
    )
    UNION
    (
        SELECT e.*
        FROM appl_lock_history AS e
        WHERE @newest_first::boolean
            AND (e.actor_id::text, e.event_id) < (@operator_id::text, @before_event_id::bigint)
            AND e.actor_id::text >= @operator_id::text
            AND (sqlc.narg('object_type')::text IS NULL OR e.object_type::text = sqlc.narg('object_type')::text)
            AND (sqlc.narg('object_id')::text IS NULL OR e.object_id::text = sqlc.narg('object_id')::text)
            AND (@since_seconds::bigint = 0 OR e.event_ts >= statement_timestamp() - pg_catalog.make_interval(secs => @since_seconds::bigint))
        ORDER BY e.actor_id DESC, e.event_id DESC
        LIMIT @max_rows::bigint
    )
    UNION
    (
        SELECT e.*
        FROM appl_lock_history AS e
        WHERE NOT @newest_first::boolean
            AND (e.from_operator_id::text, e.event_id) > (@operator_id::text, @after_event_id::bigint)
            AND e.from_operator_id::text <= @operator_id::text
            AND (sqlc.narg('object_type')::text IS NULL OR e.object_type::text = sqlc.narg('object_type')::text)
            AND (sqlc.narg('object_id')::text IS NULL OR e.object_id::text = sqlc.narg('object_id')::text)
            AND (@since_seconds::bigint = 0 OR e.event_ts >= statement_timestamp() - pg_catalog.make_interval(secs => @since_seconds::bigint))
        ORDER BY e.from_operator_id, e.event_id
        LIMIT @max_rows::bigint
    )
    UNION
    (
        SELECT e.*
        FROM appl_lock_history AS e
        WHERE @newest_first::boolean
            AND (e.from_operator_id::text, e.event_id) < (@operator_id::text, @before_event_id::bigint)
            AND e.from_operator_id::text >= @operator_id::text
            AND (sqlc.narg('object_type')::text IS NULL OR e.object_type::text = sqlc.narg('object_type')::text)
            AND (sqlc.narg('object_id')::text IS NULL OR e.object_id::text = sqlc.narg('object_id')::text)
            AND (@since_seconds::bigint = 0 OR e.event_ts >= statement_timestamp() - pg_catalog.make_interval(secs => @since_seconds::bigint))
        ORDER BY e.from_operator_id DESC, e.event_id DESC
        LIMIT @max_rows::bigint
    )
    UNION
    (
        SELECT e.*
        FROM appl_lock_history AS e
        WHERE NOT @newest_first::boolean
            AND (e.to_operator_id::text, e.event_id) > (@operator_id::text, @after_event_id::bigint)
            AND e.to_operator_id::text <= @operator_id::text
            AND (sqlc.narg('object_type')::text IS NULL OR e.object_type::text = sqlc.narg('object_type')::text)
            AND (sqlc.narg('object_id')::text IS NULL OR e.object_id::text = sqlc.narg('object_id')::text)
            AND (@since_seconds::bigint = 0 OR e.event_ts >= statement_timestamp() - pg_catalog.make_interval(secs => @since_seconds::bigint))
        ORDER BY e.to_operator_id, e.event_id
        LIMIT @max_rows::bigint
    )
    UNION
    (
        SELECT e.*
        FROM appl_lock_history AS e
        WHERE @newest_first::boolean
            AND (e.to_operator_id::text, e.event_id) < (@operator_id::text, @before_event_id::bigint)
            AND e.to_operator_id::text >= @operator_id::text
            AND (sqlc.narg('object_type')::text IS NULL OR e.object_type::text = sqlc.narg('object_type')::text)
            AND (sqlc.narg('object_id')::text IS NULL OR e.object_id::text = sqlc.narg('object_id')::text)
            AND (@since_seconds::bigint = 0 OR e.event_ts >= statement_timestamp() - pg_catalog.make_interval(secs => @since_seconds::bigint))
        ORDER BY e.to_operator_id DESC, e.event_id DESC
        LIMIT @max_rows::bigint
    )
) AS h
ORDER BY CASE WHEN @newest_first::boolean THEN -h.event_id ELSE h.event_id END
LIMIT @max_rows::bigint;
