-- name: ReleaseApplLock :one
SELECT
    p_ok_fl::text AS ok_fl,
    p_outcome::text AS outcome,
    p_old_operator_id::text AS old_operator_id,
    p_old_department_id::text AS old_department_id,
    CASE WHEN @unflushed::boolean THEN set_config('synchronous_commit', 'off', true) = 'off' ELSE false END AS unflushed
FROM release_appl_lock_row(
    @object_type::text,
    @object_id::text,
    @operator_id::text,
    sqlc.narg('fence')::bigint,
    sqlc.narg('actor_id')::text,
    sqlc.narg('reason')::text
);

-- name: PassApplLock :one
-- A release and, if it succeeds, a get by the next operator, in one statement: nobody finds the object free. So nobody is told of the release.
SELECT
    r.p_outcome::text AS released,
    coalesce(g.p_outcome, '')::text AS outcome,
    coalesce(g.p_fence, 0)::bigint AS fence,
    (g.p_acquired_ts AT TIME ZONE 'UTC')::timestamp AS acquired_ts,
    (g.p_expires_ts AT TIME ZONE 'UTC')::timestamp AS expires_ts,
    coalesce(g.p_seconds_left, 0)::bigint AS seconds_left
FROM release_appl_lock_row(
    @object_type::text,
    @object_id::text,
    @operator_id::text,
    CASE set_config('applock.passing', 'on', true) WHEN 'on' THEN @fence::bigint END
) AS r
LEFT JOIN LATERAL (
    SELECT
        a.p_outcome::text AS p_outcome,
        a.p_fence::bigint AS p_fence,
        a.p_acquired_ts::timestamptz AS p_acquired_ts,
        a.p_expires_ts::timestamptz AS p_expires_ts,
        a.p_seconds_left::bigint AS p_seconds_left
    FROM unnest(CASE WHEN r.p_outcome = 'RELEASED' THEN ARRAY[sqlc.narg(ttl_seconds)::bigint] END) AS n (ttl_seconds)
    CROSS JOIN LATERAL get_appl_lock_row(
        @object_type::text,
        @object_id::text,
        @next_operator_id::text,
        sqlc.narg('next_department_id')::text,
        n.ttl_seconds
    ) AS a
) AS g ON true;
