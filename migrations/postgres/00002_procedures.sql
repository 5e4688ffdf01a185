-- Installs the procedures. Made by `make snapshot` from procedures/postgres: edit them there.

-- +goose Up
-- +goose StatementBegin
-- Install into the schema that the setting applock.schema names, else into applock. Both settings
-- end with this transaction; the caller's search_path is put back at the end, for goose's own table.
DO $$
DECLARE
    v_schema text := coalesce(nullif(current_setting('applock.schema', true), ''), 'applock');
BEGIN
    PERFORM set_config('applock.caller_search_path', current_setting('search_path'), true);
    PERFORM set_config('search_path', format('%I, pg_temp', v_schema), true);
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
-- appl_lock_has_control, appl_lock_text, appl_lock_number, appl_lock_yes: check one argument. Internal.
--
-- Contract   The first returns whether a value has a control character. The second returns the value without trailing blanks, and an
--            empty string where NULL is allowed. The third returns the value, or p_default for NULL; without p_max any positive number
--            will do. The fourth returns whether the value is Y; N, NULL and blanks are no.
-- Raises     LK001; the message names routine and argument, the error's COLUMN field has the argument alone.
-- Locks      Nothing.
-- Differs    Nothing. They have no search_path of their own: the caller's is pinned. The bounds are integers, as literals are: any other
--            type would let a function of somebody else match better.

-- In other encodings 80 to 9F are letters. The fast paths of the verbs look for them in any, and then ask here.
CREATE OR REPLACE FUNCTION appl_lock_has_control(p_value text) RETURNS boolean
LANGUAGE sql STABLE
AS $$
    SELECT p_value COLLATE "C" ~ CASE
        WHEN pg_catalog.getdatabaseencoding()::text ~ '^(UTF8|LATIN|ISO)' THEN E'[\\x01-\\x1f\\x7f-\\u009f]'
        ELSE E'[\\x01-\\x1f\\x7f]'
    END
$$;

COMMENT ON FUNCTION appl_lock_has_control(text) IS
    'Internal to applock: tells whether a text has a control character.';

REVOKE ALL ON FUNCTION appl_lock_has_control(text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION appl_lock_text(
    p_routine text,
    p_argument text,
    p_value text,
    p_max_length integer,
    p_required boolean
) RETURNS text
LANGUAGE plpgsql IMMUTABLE
AS $$
DECLARE
    v_value text := coalesce(rtrim(p_value, ' '), '');
    v_reason text;
BEGIN
    IF p_required AND v_value = '' THEN
        v_reason := 'must not be empty';
    ELSIF char_length(v_value) > p_max_length THEN
        v_reason := pg_catalog.format('has %s characters, at most %s are allowed', char_length(v_value), p_max_length);
    ELSIF p_argument = 'p_object_type' AND position(':' IN v_value) > 0 THEN
        v_reason := 'must not contain ":", which ends the type in type:id';
    ELSIF v_value COLLATE "C" ~ E'[\\x01-\\x1f\\x7f-\\u009f]' AND appl_lock_has_control(v_value) AND p_argument NOT IN ('p_note', 'p_reason', 'p_client_id') THEN
        v_reason := 'must not contain a control character';
    ELSE
        RETURN v_value;
    END IF;
    RAISE EXCEPTION USING
        ERRCODE = 'LK001',
        MESSAGE = pg_catalog.format('%s: %s %s', p_routine, p_argument, v_reason),
        COLUMN = p_argument;
END
$$;

COMMENT ON FUNCTION appl_lock_text(text, text, text, integer, boolean) IS
    'Internal to applock: checks one text argument and trims its trailing blanks.';

REVOKE ALL ON FUNCTION appl_lock_text(text, text, text, integer, boolean) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION appl_lock_number(
    p_routine text,
    p_argument text,
    p_value bigint,
    p_default integer,
    p_max integer
) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE
AS $$
DECLARE
    v_value bigint := coalesce(p_value, p_default);
    v_max bigint := coalesce(p_max, 9223372036854775807);
BEGIN
    IF v_value BETWEEN 1 AND v_max THEN
        RETURN v_value;
    END IF;
    RAISE EXCEPTION USING
        ERRCODE = 'LK001',
        MESSAGE = pg_catalog.format('%s: %s must lie between 1 and %s', p_routine, p_argument, v_max),
        COLUMN = p_argument;
END
$$;

COMMENT ON FUNCTION appl_lock_number(text, text, bigint, integer, integer) IS
    'Internal to applock: checks one number argument and applies its default.';

REVOKE ALL ON FUNCTION appl_lock_number(text, text, bigint, integer, integer) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION appl_lock_yes(
    p_routine text,
    p_argument text,
    p_value text
) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE
AS $$
DECLARE
    v_value text := coalesce(rtrim(p_value, ' '), '');
BEGIN
    IF v_value IN ('Y', 'N', '') THEN
        RETURN v_value = 'Y';
    END IF;
    RAISE EXCEPTION USING
        ERRCODE = 'LK001',
        MESSAGE = pg_catalog.format('%s: %s must be Y or N', p_routine, p_argument),
        COLUMN = p_argument;
END
$$;

COMMENT ON FUNCTION appl_lock_yes(text, text, text) IS
    'Internal to applock: checks one flag argument, which is N unless it is Y.';

REVOKE ALL ON FUNCTION appl_lock_yes(text, text, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- appl_lock_record: write an event of the history. Internal: the operations call it once they have changed the lock.
--
-- Contract   One row of appl_lock_event, with the user and the application_name of the session.
--            next_xid is greater than every transaction id that was assigned before the event got its number. Each transaction
--            gets its id before its first number. So once a reader's xmin has reached next_xid, every transaction still open
--            has greater numbers than this event: inbox_appl_locks relies on it.
--            Numbers never fall, as fences do not: a number that is behind the clock by more than a second raises the sequence
--            to the clock, in microseconds. So a sequence that was lost, set back, or restored does no harm.
-- Raises     Nothing.
-- Locks      Nothing but the new row. It is part of the caller's transaction, as the change of the lock is. While it raises the
--            sequence, an advisory lock, which it gives back at once.
-- Race-free  S1 to S3 keep this order. A probe of an id that is not assigned yet raises. The first eight ids are probed one by
--            one, later ones in growing steps. Too great an id does no harm: the event only counts as safe later.
--            S2: one at a time raises the sequence, and a raised number is the sequence's at once, whatever becomes of the
--            transaction. Only a number that was no time yet is compared with the table's: that happens once to a sequence, so
--            transactions at SERIALIZABLE do not read where others insert.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION appl_lock_record(
    p_event text,
    p_object_type text,
    p_object_id text,
    p_actor_id text,
    p_from_operator_id text,
    p_from_department_id text,
    p_from_fence bigint,
    p_to_operator_id text,
    p_to_department_id text,
    p_to_fence bigint,
    p_reason text
) RETURNS void
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    -- S1: an id for this transaction, or the greatest one that is known to be assigned.
    v_first bigint := greatest(
        pg_current_xact_id()::text::bigint, pg_snapshot_xmax(pg_current_snapshot())::text::bigint - 1
    );
    -- S2: a number for the event.
    v_event_id bigint := pg_catalog.nextval('appl_lock_event_event_id_seq');
    v_clock bigint := (extract(epoch FROM clock_timestamp()) * 1000000::numeric)::bigint;
    v_next bigint := v_first;
    v_status text;
BEGIN
    IF v_event_id < v_clock - 1000000::bigint THEN
        BEGIN
            PERFORM pg_advisory_xact_lock(1819304812, 'appl_lock_event_event_id_seq'::regclass::oid::integer);
            v_event_id := pg_catalog.nextval('appl_lock_event_event_id_seq');
            IF v_event_id < v_clock - 1000000::bigint THEN
                v_event_id := pg_catalog.setval('appl_lock_event_event_id_seq', greatest(
                    v_clock, CASE WHEN v_event_id < 1000000000000000 THEN (SELECT max(e.event_id) + 1::bigint FROM appl_lock_event AS e) END
                ));
            END IF;
            -- Undone is the advisory lock. A sequence never goes back.
            RAISE EXCEPTION USING ERRCODE = 'LK999';
        EXCEPTION
            WHEN SQLSTATE 'LK999' THEN
                NULL;
        END;
    END IF;

    -- S3: an id that no transaction has yet.
    BEGIN
        LOOP
            v_next := v_next + 1 + (v_next - v_first) / 8;
            v_status := pg_xact_status(v_next::text::xid8);
        END LOOP;
    EXCEPTION
        WHEN invalid_parameter_value THEN
            NULL;
    END;

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
        reason,
        next_xid
    )
    OVERRIDING SYSTEM VALUE
    VALUES (
        v_event_id,
        clock_timestamp(),
        p_object_type,
        p_object_id,
        p_event,
        p_actor_id,
        session_user,
        current_setting('application_name'),
        p_from_operator_id,
        p_from_department_id,
        p_to_operator_id,
        p_to_department_id,
        p_from_fence,
        p_to_fence,
        p_reason,
        v_next::text::xid8
    );
END
$$;

COMMENT ON FUNCTION appl_lock_record(text, text, text, text, text, text, bigint, text, text, bigint, text) IS
    'Internal to applock: writes an event of the history.';

REVOKE ALL ON FUNCTION appl_lock_record(text, text, text, text, text, text, bigint, text, text, bigint, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- appl_lock_move: begin a new grant in place of a live one, for transfer, take, answer and ask. Internal.
--
-- Contract   Y and p_event: p_from_operator_id (NULL = any operator) held it by the grant p_expected_fence (NULL = any grant).
--            Now p_to_operator_id holds it: a new grant, a greater fence, an empty note. It records p_event. The former
--            holder is in p_old_*. The policy's longest ttl limits the new grant. With p_first_seconds the ttl is the policy's,
--            but the grant ends after p_first_seconds unless it is renewed.
--            N HELD: another operator or grant holds it; p_old_* is the holder, p_acquired_ts and p_expires_ts its times. N FREE:
--            nobody.
-- In         p_routine, for messages; p_unchanged_ts, the lock_ts that the grant must still have: a renewal since then makes
--            the answer HELD. The others as in transfer_appl_lock and take_appl_lock, checked.
-- Out        As transfer_appl_lock, but for p_old_*.
-- Raises     LK003 when the object changed thirty times during the call.
-- Locks      S1 reads without a lock and answers HELD and FREE. S2 locks the object's row, to the end of the caller's transaction.
-- Race-free  S2 matches only the version of the row that S1 has read; otherwise the call begins again. Of two calls that name
--            the same operator or grant one wins, and the other answers HELD.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION appl_lock_move(
    p_routine text,
    p_event text,
    p_object_type text,
    p_object_id text,
    p_from_operator_id text,
    p_expected_fence bigint,
    p_to_operator_id text,
    p_to_department_id text,
    p_ttl_seconds bigint,
    p_actor_id text,
    p_reason text,
    p_unchanged_ts timestamptz,
    p_first_seconds bigint,
    OUT p_ok_fl character(1),
    OUT p_outcome text,
    OUT p_old_operator_id text,
    OUT p_old_department_id text,
    OUT p_fence bigint,
    OUT p_acquired_ts timestamptz,
    OUT p_expires_ts timestamptz,
    OUT p_seconds_left bigint
)
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_fence bigint;
    v_lock_ts timestamptz;
    v_ttl_seconds bigint;
    v_first_seconds bigint;
BEGIN
    FOR v_round IN 1..30 LOOP
        -- S1: the row and the policy.
        SELECT l.operator_id, l.department_id, l.fence, l.acquired_ts, l.lock_ts, l.expires_ts, appl_lock_seconds_left(l.expires_ts),
            least(
                CASE
                    WHEN p_first_seconds IS NULL THEN coalesce(p_ttl_seconds, l.ttl_seconds)
                    ELSE coalesce(p.default_ttl_seconds, 604800)
                END,
                p.longest_ttl_seconds
            )
        INTO p_old_operator_id, p_old_department_id, v_fence, p_acquired_ts, v_lock_ts, p_expires_ts, p_seconds_left, v_ttl_seconds
        FROM appl_lock AS l
        LEFT JOIN appl_lock_policy AS p
            ON p.object_type::text = l.object_type::text
        WHERE l.object_type::text = p_object_type
            AND l.object_id::text = p_object_id
            AND l.released_ts IS NULL
            AND l.expires_ts > clock_timestamp();
        p_ok_fl := 'N';
        p_fence := 0;
        IF NOT FOUND THEN
            p_outcome := 'FREE';
            p_old_operator_id := '';
            p_old_department_id := '';
            p_seconds_left := 0;
            RETURN;
        END IF;
        IF p_old_operator_id <> p_from_operator_id OR v_fence <> p_expected_fence OR v_lock_ts <> p_unchanged_ts THEN
            p_outcome := 'HELD';
            RETURN;
        END IF;
        v_first_seconds := least(v_ttl_seconds, p_first_seconds);

        -- S2: the compare and set.
        UPDATE appl_lock AS l
        SET operator_id = p_to_operator_id,
            department_id = p_to_department_id,
            note = '',
            ttl_seconds = v_ttl_seconds,
            (fence, acquired_ts, lock_ts, expires_ts) = (
                SELECT
                    appl_lock_next_fence(l.fence, t.now_ts),
                    t.now_ts,
                    greatest(t.now_ts, l.lock_ts + interval '1 microsecond'),
                    t.now_ts + pg_catalog.make_interval(secs => v_first_seconds)
                FROM (SELECT clock_timestamp() AS now_ts) AS t
            )
        WHERE l.object_type::text = p_object_type
            AND l.object_id::text = p_object_id
            AND l.fence = v_fence
            AND l.lock_ts = v_lock_ts
            AND l.expires_ts = p_expires_ts
            AND l.released_ts IS NULL
            AND l.expires_ts > clock_timestamp()
        RETURNING l.fence, l.acquired_ts, l.expires_ts
        INTO p_fence, p_acquired_ts, p_expires_ts;
        IF FOUND THEN
            PERFORM appl_lock_record(
                p_event, p_object_type, p_object_id, p_actor_id,
                p_old_operator_id, p_old_department_id, v_fence, p_to_operator_id, p_to_department_id, p_fence, p_reason
            );
            p_ok_fl := 'Y';
            p_outcome := p_event;
            p_seconds_left := v_first_seconds;
            RETURN;
        END IF;
    END LOOP;
    RAISE EXCEPTION USING
        ERRCODE = 'LK003',
        MESSAGE = pg_catalog.format('%s: %s:%s changed hands during the call; call again', p_routine, p_object_type, p_object_id);
END
$$;

COMMENT ON FUNCTION appl_lock_move(text, text, text, text, text, bigint, text, text, bigint, text, text, timestamptz, bigint) IS
    'Internal to applock: moves the grant of a held object to an operator.';

REVOKE ALL ON FUNCTION appl_lock_move(text, text, text, text, text, bigint, text, text, bigint, text, text, timestamptz, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- The views: locks, waiters, requests, viewers, events, policies and numbers, for SELECT.
--
-- Contract   A row for each live lock, waiter, request and viewer, event, type with a policy, and type and department. A page
--            is a WHERE on the key behind the last row, ORDER BY and LIMIT. The columns are in internal/db/views.go.
-- Rights     They read with their owner's rights; a reader needs SELECT on the view, and nothing on the tables.
-- Locks      Nothing; they neither wait nor write.
-- Race-free  One snapshot; now is the start of the reader's statement.
-- Differs    The clock is statement_timestamp(): with a volatile one a join could not use the key. Whether a lock is live is one
--            expression, for which the planner has no statistics that could be old. A standby has no
--            appl_lock_viewers: its table is unlogged.

CREATE OR REPLACE VIEW appl_lock_live AS
SELECT
    l.object_type,
    l.object_id,
    l.operator_id,
    l.department_id,
    l.fence,
    l.acquired_ts,
    l.lock_ts,
    least(l.expires_ts, '9999-12-31 00:00:00+00'::timestamptz) AS expires_ts,
    greatest(ceil(extract(epoch FROM least(l.expires_ts, '2262-01-01 00:00:00+00'::timestamptz) - statement_timestamp())), 1)::bigint AS seconds_left,
    l.ttl_seconds,
    l.note
FROM appl_lock AS l
WHERE CASE WHEN l.released_ts IS NULL THEN l.expires_ts END > statement_timestamp();

COMMENT ON VIEW appl_lock_live IS
    'A row for each live lock.';

REVOKE ALL ON appl_lock_live FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE VIEW appl_lock_waiting AS
SELECT
    w.object_type,
    w.object_id,
    w.operator_id,
    w.department_id,
    w.client_id,
    w.since_ts,
    w.until_ts,
    greatest(floor(extract(epoch FROM statement_timestamp() - w.since_ts)), 0)::bigint AS waited_seconds,
    coalesce(l.operator_id, '') AS holder_id,
    coalesce(l.department_id, '') AS holder_department_id,
    CASE
        WHEN l.expires_ts IS NULL THEN 0
        ELSE ceil(extract(epoch FROM least(l.expires_ts, '2262-01-01 00:00:00+00'::timestamptz) - statement_timestamp()))::bigint
    END AS seconds_left
FROM appl_lock_waiter AS w
LEFT JOIN appl_lock AS l
    ON l.object_type::text = w.object_type::text
    AND l.object_id::text = w.object_id::text
    AND CASE WHEN l.released_ts IS NULL THEN l.expires_ts END > statement_timestamp()
WHERE w.expires_ts > statement_timestamp();

COMMENT ON VIEW appl_lock_waiting IS
    'A row for each operator that waits for an object, in each program.';

REVOKE ALL ON appl_lock_waiting FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE VIEW appl_lock_asking AS
SELECT
    a.object_type,
    a.object_id,
    a.operator_id,
    a.department_id,
    a.client_id,
    a.message,
    a.since_ts,
    a.until_ts,
    greatest(floor(extract(epoch FROM statement_timestamp() - a.since_ts)), 0)::bigint AS waited_seconds,
    a.answer,
    a.answer_reason,
    coalesce(l.operator_id, '') AS holder_id,
    coalesce(l.department_id, '') AS holder_department_id,
    CASE
        WHEN l.expires_ts IS NULL THEN 0
        ELSE ceil(extract(epoch FROM least(l.expires_ts, '2262-01-01 00:00:00+00'::timestamptz) - statement_timestamp()))::bigint
    END AS seconds_left
FROM appl_lock_ask AS a
LEFT JOIN appl_lock AS l
    ON l.object_type::text = a.object_type::text
    AND l.object_id::text = a.object_id::text
    AND CASE WHEN l.released_ts IS NULL THEN l.expires_ts END > statement_timestamp()
WHERE a.expires_ts > statement_timestamp();

COMMENT ON VIEW appl_lock_asking IS
    'A row for each operator that asks for an object, in each program.';

REVOKE ALL ON appl_lock_asking FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE VIEW appl_lock_viewers AS
SELECT
    v.object_type,
    v.object_id,
    v.operator_id,
    v.department_id,
    v.client_id,
    v.state,
    v.since_ts,
    ceil(extract(epoch FROM v.expires_ts - statement_timestamp()))::bigint AS seconds_left
FROM appl_lock_viewer AS v
WHERE v.expires_ts > statement_timestamp();

COMMENT ON VIEW appl_lock_viewers IS
    'A row for each operator that looks at an object, in each program, as see_appl_lock lists it. On PostgreSQL only the primary has it.';

REVOKE ALL ON appl_lock_viewers FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE VIEW appl_lock_history AS
SELECT
    e.event_id,
    e.event_ts,
    e.object_type,
    e.object_id,
    e.event,
    e.actor_id,
    e.db_user,
    e.program,
    e.from_operator_id,
    e.from_department_id,
    e.to_operator_id,
    e.to_department_id,
    e.from_fence,
    e.to_fence,
    e.reason
FROM appl_lock_event AS e;

COMMENT ON VIEW appl_lock_history IS
    'A row for each event of the history.';

REVOKE ALL ON appl_lock_history FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE VIEW appl_lock_policies AS
SELECT
    p.object_type,
    p.default_ttl_seconds,
    p.longest_ttl_seconds,
    p.take_reason_fl,
    p.history_level,
    p.presence_fl,
    p.yield_after_seconds
FROM appl_lock_policy AS p;

COMMENT ON VIEW appl_lock_policies IS
    'A row for each type that has a policy.';

REVOKE ALL ON appl_lock_policies FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE VIEW appl_lock_stats AS
SELECT
    s.object_type,
    s.department_id,
    sum(s.live)::bigint AS live,
    sum(s.expired)::bigint AS expired,
    greatest(floor(extract(epoch FROM statement_timestamp() - min(s.acquired_ts))), 0)::bigint AS oldest_seconds,
    CASE
        WHEN min(s.expires_ts) IS NULL THEN 0
        ELSE greatest(ceil(extract(epoch FROM least(min(s.expires_ts), '2262-01-01 00:00:00+00'::timestamptz) - statement_timestamp())), 0)::bigint
    END AS next_expiry_seconds,
    sum(s.waiters)::bigint AS waiters,
    greatest(floor(extract(epoch FROM statement_timestamp() - min(s.since_ts))), 0)::bigint AS longest_wait_seconds
FROM (
    SELECT
        l.object_type,
        l.department_id,
        count(*) FILTER (WHERE l.is_live) AS live,
        count(*) FILTER (WHERE NOT l.is_live) AS expired,
        min(l.acquired_ts) FILTER (WHERE l.is_live) AS acquired_ts,
        min(l.expires_ts) FILTER (WHERE l.is_live) AS expires_ts,
        0 AS waiters,
        NULL::timestamptz AS since_ts
    FROM (
        SELECT
            a.object_type,
            CASE WHEN a.released_ts IS NULL AND a.expires_ts > statement_timestamp() THEN a.department_id ELSE '' END
                AS department_id,
            a.acquired_ts,
            a.expires_ts,
            a.released_ts IS NULL AND a.expires_ts > statement_timestamp() AS is_live
        FROM appl_lock AS a
    ) AS l
    GROUP BY l.object_type, l.department_id
    UNION ALL
    SELECT
        w.object_type,
        w.department_id,
        0,
        0,
        NULL,
        NULL,
        count(*),
        min(w.since_ts)
    FROM appl_lock_waiter AS w
    WHERE w.expires_ts > statement_timestamp()
    GROUP BY w.object_type, w.department_id
) AS s
GROUP BY s.object_type, s.department_id;

COMMENT ON VIEW appl_lock_stats IS
    'A row for each type and department that has rows in the tables.';

REVOKE ALL ON appl_lock_stats FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- announce_appl_lock_waiter: say that an operator waits for an object, or still waits.
--
-- Contract   Lists the operator as a waiter of the program p_client_id for 60 s, but not longer than
--            p_wait_seconds. Called again, or kept by poll_appl_locks, it stays listed, and waits since the
--            first call; after the listing has ended, a call begins a new wait. The wait reserves nothing: others see it, the
--            holder finds it in its inbox, and release_appl_lock notifies the program.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255;
--            p_department_id 0..64, NULL = empty; p_client_id 1..64, the waiting program, under a name that no other program
--            has; p_wait_seconds until it gives up, 1..315360000, NULL = never.
--            Trailing blanks are trimmed first.
-- Out        None; the row form returns p_ok_fl 'Y'.
-- Raises     LK001 invalid argument. 55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as
--            the engine has them.
-- Locks      S1 inserts or changes the waiter's one row; held to the end of the caller's transaction. Only
--            announce, retract and purge of this very waiter wait for it; poll passes over it.
-- Race-free  Two calls: the primary key lets one insert. The other waits, then ON CONFLICT locks that row and judges whether it
--            is live.
--            Against purge: one of them has the row; an announce that waited inserts a new one.
--            The stored holder may be out of date: inbox verifies it, and the next announce or poll refreshes it.
--            REPEATABLE READ and SERIALIZABLE: S1 on a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION announce_appl_lock_waiter_row(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_department_id text,
    p_client_id text,
    p_wait_seconds bigint DEFAULT NULL,
    OUT p_ok_fl character(1)
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    p_object_type text COLLATE "C" := announce_appl_lock_waiter_row.p_object_type;
    p_object_id text COLLATE "C" := announce_appl_lock_waiter_row.p_object_id;
    p_operator_id text COLLATE "C" := announce_appl_lock_waiter_row.p_operator_id;
    p_department_id text COLLATE "C" := announce_appl_lock_waiter_row.p_department_id;
    p_client_id text COLLATE "C" := announce_appl_lock_waiter_row.p_client_id;
    v_object_type text COLLATE "C" := appl_lock_text('announce_appl_lock_waiter', 'p_object_type', p_object_type, 64, true);
    v_object_id text COLLATE "C" := appl_lock_text('announce_appl_lock_waiter', 'p_object_id', p_object_id, 255, true);
    v_operator_id text COLLATE "C" := appl_lock_text('announce_appl_lock_waiter', 'p_operator_id', p_operator_id, 255, true);
    v_department_id text COLLATE "C" := appl_lock_text('announce_appl_lock_waiter', 'p_department_id', p_department_id, 64, false);
    v_client_id text COLLATE "C" := appl_lock_text('announce_appl_lock_waiter', 'p_client_id', p_client_id, 64, true);
    v_now timestamptz := clock_timestamp();
    v_until timestamptz;
    v_holder_id text COLLATE "C";
BEGIN
    IF p_wait_seconds IS NOT NULL THEN
        v_until := v_now + pg_catalog.make_interval(
            secs => appl_lock_number('announce_appl_lock_waiter', 'p_wait_seconds', p_wait_seconds, NULL::integer, 315360000)
        );
    END IF;
    SELECT l.operator_id
    INTO v_holder_id
    FROM appl_lock AS l
    WHERE l.object_type::text = v_object_type
        AND l.object_id::text = v_object_id
        AND l.released_ts IS NULL
        AND l.expires_ts > v_now;

    -- S1: a new wait, or the one that goes on.
    INSERT INTO appl_lock_waiter AS w (
        object_type,
        object_id,
        operator_id,
        department_id,
        client_id,
        since_ts,
        until_ts,
        expires_ts,
        holder_id
    )
    VALUES (
        v_object_type,
        v_object_id,
        v_operator_id,
        v_department_id,
        v_client_id,
        v_now,
        v_until,
        least(v_now + interval '60 seconds', v_until),
        coalesce(v_holder_id, '')
    )
    ON CONFLICT ON CONSTRAINT appl_lock_waiter_pk DO UPDATE
    SET department_id = excluded.department_id,
        since_ts = CASE WHEN w.expires_ts > clock_timestamp() THEN w.since_ts ELSE excluded.since_ts END,
        until_ts = excluded.until_ts,
        expires_ts = excluded.expires_ts,
        holder_id = excluded.holder_id;
    p_ok_fl := 'Y';
END
$$;

COMMENT ON FUNCTION announce_appl_lock_waiter_row(text, text, text, text, text, bigint) IS
    'Say that an operator waits for an object, or still waits; the answer is one row.';

REVOKE ALL ON FUNCTION announce_appl_lock_waiter_row(text, text, text, text, text, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE announce_appl_lock_waiter(
    IN p_object_type text,
    IN p_object_id text,
    IN p_operator_id text,
    IN p_department_id text,
    IN p_client_id text,
    IN p_wait_seconds bigint DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM announce_appl_lock_waiter_row(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_client_id, p_wait_seconds
    );
END
$$;

COMMENT ON PROCEDURE announce_appl_lock_waiter(text, text, text, text, text, bigint) IS
    'Say that an operator waits for an object, or still waits.';

REVOKE ALL ON PROCEDURE announce_appl_lock_waiter(text, text, text, text, text, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- answer_appl_lock: answer an operator who asks for a held object: give it, or say later or no.
--
-- Contract   Y GIVEN, after GIVE: the asker holds the object: a new grant, a greater fence, an empty note, the ttl of the
--            type's policy. The grant ends after 60 s unless the asker calls get first, which returns the fence and renews for
--            the ttl. So an asker who has left blocks the object for 60 s only. It is an event that always reaches the former
--            holder's inbox: every operator can read the fence, so another may have made the call.
--            Y TOLD, after LATER and NO: the asker finds the answer in its inbox.
--            N HELD: another operator or grant holds the object; p_old_*, p_acquired_ts and p_expires_ts tell who, since and until
--            when.
--            N FREE: nobody holds it. N GONE: the asker is not listed any more. Nothing changed.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255, the holder; p_fence 1 or greater,
--            its grant; p_asker_id 1..255; p_client_id 1..64, the asker's program, NULL = any; p_answer GIVE, LATER or NO;
--            p_reason 0..255, NULL = empty. Trailing blanks are trimmed first.
-- Out        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD), p_acquired_ts and p_expires_ts
--            (of the lock as it is now; NULL when FREE or GONE), p_seconds_left (0 then).
-- Raises     LK001 invalid argument; LK003 as appl_lock_move. 55P03 after 1 s of waiting for another transaction, 40001 and 40P01
--            as the engine has them.
-- Locks      S1 reads without a lock. S2 locks the asker's rows, S3 the object's row as appl_lock_move; to the end of the caller's
--            transaction.
-- Race-free  An asker that withdraws its request locks its row before S2, which then finds none, or after S3, when it holds the
--            object. Against take, transfer, release and expiry: S3 names the grant. Of two answers one gives, the other finds
--            HELD.
--            An answer and an ask lock the request's row first and the lock's row second. The asker's other requests are
--            skipped where another transaction has locked them; their next call removes them.
--            REPEATABLE READ and SERIALIZABLE: a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION answer_appl_lock_row(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_fence bigint,
    p_asker_id text,
    p_client_id text,
    p_answer text,
    p_reason text DEFAULT NULL,
    OUT p_ok_fl character(1),
    OUT p_outcome text,
    OUT p_old_operator_id text,
    OUT p_old_department_id text,
    OUT p_acquired_ts timestamptz,
    OUT p_expires_ts timestamptz,
    OUT p_seconds_left bigint
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
-- Force the primary key, whatever the statistics say. For the same reason operator_id || '' matches no index.
SET enable_seqscan = 'off'
SET enable_bitmapscan = 'off'
AS $$
DECLARE
    p_object_type text COLLATE "C" := answer_appl_lock_row.p_object_type;
    p_object_id text COLLATE "C" := answer_appl_lock_row.p_object_id;
    p_operator_id text COLLATE "C" := answer_appl_lock_row.p_operator_id;
    p_asker_id text COLLATE "C" := answer_appl_lock_row.p_asker_id;
    p_client_id text COLLATE "C" := answer_appl_lock_row.p_client_id;
    p_answer text COLLATE "C" := answer_appl_lock_row.p_answer;
    p_reason text COLLATE "C" := answer_appl_lock_row.p_reason;
    v_object_type text COLLATE "C" := appl_lock_text('answer_appl_lock', 'p_object_type', p_object_type, 64, true);
    v_object_id text COLLATE "C" := appl_lock_text('answer_appl_lock', 'p_object_id', p_object_id, 255, true);
    v_operator_id text COLLATE "C" := appl_lock_text('answer_appl_lock', 'p_operator_id', p_operator_id, 255, true);
    v_fence bigint := appl_lock_number('answer_appl_lock', 'p_fence', p_fence, NULL::integer, NULL::integer);
    v_asker_id text COLLATE "C" := appl_lock_text('answer_appl_lock', 'p_asker_id', p_asker_id, 255, true);
    v_client_id text COLLATE "C" := nullif(appl_lock_text('answer_appl_lock', 'p_client_id', p_client_id, 64, p_client_id IS NOT NULL), '');
    v_answer text COLLATE "C" := rtrim(p_answer, ' ');
    v_reason text COLLATE "C";
    v_department_id text COLLATE "C";
    v_moved record;
BEGIN
    IF v_answer IN ('GIVE', 'LATER', 'NO') IS NOT TRUE THEN
        RAISE EXCEPTION USING
            ERRCODE = 'LK001',
            MESSAGE = 'answer_appl_lock: p_answer must be GIVE, LATER or NO',
            COLUMN = 'p_answer';
    END IF;
    v_reason := appl_lock_text('answer_appl_lock', 'p_reason', p_reason, 255, false);

    -- S1: does the operator hold it by that grant?
    SELECT l.operator_id, l.department_id, l.acquired_ts, l.expires_ts, appl_lock_seconds_left(l.expires_ts),
        CASE WHEN l.operator_id::text = v_operator_id AND l.fence = v_fence THEN 'GONE' ELSE 'HELD' END
    INTO p_old_operator_id, p_old_department_id, p_acquired_ts, p_expires_ts, p_seconds_left, p_outcome
    FROM appl_lock AS l
    WHERE l.object_type::text = v_object_type
        AND l.object_id::text = v_object_id
        AND l.released_ts IS NULL
        AND l.expires_ts > clock_timestamp();
    p_ok_fl := 'N';
    IF p_outcome = 'HELD' THEN
        RETURN;
    END IF;
    p_old_operator_id := '';
    p_old_department_id := '';
    IF p_outcome IS NULL THEN
        p_outcome := 'FREE';
        p_seconds_left := 0;
        RETURN;
    END IF;

    -- S2: does the asker still ask?
    SELECT a.department_id
    INTO v_department_id
    FROM appl_lock_ask AS a
    WHERE a.object_type::text = v_object_type
        AND a.object_id::text = v_object_id
        AND a.operator_id::text || '' = v_asker_id
        AND a.client_id::text = coalesce(v_client_id, a.client_id)
        AND a.expires_ts > clock_timestamp()
    ORDER BY a.client_id
    LIMIT 1
    FOR UPDATE;
    IF NOT FOUND THEN
        p_acquired_ts := NULL;
        p_expires_ts := NULL;
        p_seconds_left := 0;
        RETURN;
    END IF;

    IF v_answer = 'GIVE' THEN
        -- S3: grant it to the asker, and remove the asker's requests.
        v_moved := appl_lock_move(
            'answer_appl_lock', 'GIVEN', v_object_type, v_object_id, v_operator_id, v_fence,
            v_asker_id, v_department_id, NULL::bigint, v_operator_id, v_reason, NULL::timestamptz, 60::bigint
        );
        p_ok_fl := v_moved.p_ok_fl;
        p_outcome := v_moved.p_outcome;
        p_acquired_ts := v_moved.p_acquired_ts;
        p_expires_ts := v_moved.p_expires_ts;
        p_seconds_left := v_moved.p_seconds_left;
        IF p_ok_fl = 'N' THEN
            p_old_operator_id := v_moved.p_old_operator_id;
            p_old_department_id := v_moved.p_old_department_id;
            RETURN;
        END IF;
        DELETE FROM appl_lock_ask AS a
        WHERE a.ctid = ANY (ARRAY(
                SELECT s.ctid
                FROM appl_lock_ask AS s
                WHERE s.object_type::text = v_object_type
                    AND s.object_id::text = v_object_id
                    AND s.operator_id::text || '' = v_asker_id
                FOR UPDATE SKIP LOCKED
            ));
        RETURN;
    END IF;

    -- S4: store the answer for the asker.
    UPDATE appl_lock_ask AS a
    SET holder_id = v_operator_id,
        fence = v_fence,
        answer = v_answer,
        answer_reason = v_reason,
        answered_ts = clock_timestamp()
    WHERE a.object_type::text = v_object_type
        AND a.object_id::text = v_object_id
        AND a.operator_id::text || '' = v_asker_id
        AND a.client_id::text = coalesce(v_client_id, a.client_id);
    p_ok_fl := 'Y';
    p_outcome := 'TOLD';
END
$$;

COMMENT ON FUNCTION answer_appl_lock_row(text, text, text, bigint, text, text, text, text) IS
    'Answer an operator who asks for a held object: give it, or say later or no; the answer is one row.';

REVOKE ALL ON FUNCTION answer_appl_lock_row(text, text, text, bigint, text, text, text, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE answer_appl_lock(
    IN p_object_type text,
    IN p_object_id text,
    IN p_operator_id text,
    IN p_fence bigint,
    IN p_asker_id text,
    IN p_client_id text,
    IN p_answer text,
    IN p_reason text DEFAULT NULL,
    INOUT p_ok_fl character(1) DEFAULT NULL,
    INOUT p_outcome text DEFAULT NULL,
    INOUT p_old_operator_id text DEFAULT NULL,
    INOUT p_old_department_id text DEFAULT NULL,
    INOUT p_acquired_ts timestamptz DEFAULT NULL,
    INOUT p_expires_ts timestamptz DEFAULT NULL,
    INOUT p_seconds_left bigint DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT
        r.p_ok_fl, r.p_outcome, r.p_old_operator_id, r.p_old_department_id, r.p_acquired_ts, r.p_expires_ts,
        r.p_seconds_left
    INTO
        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id, p_acquired_ts, p_expires_ts, p_seconds_left
    FROM answer_appl_lock_row(
        p_object_type, p_object_id, p_operator_id, p_fence, p_asker_id, p_client_id, p_answer, p_reason
    ) AS r;
END
$$;

COMMENT ON PROCEDURE answer_appl_lock(text, text, text, bigint, text, text, text, text, character, text, text, text, timestamptz, timestamptz, bigint) IS
    'Answer an operator who asks for a held object: give it, or say later or no.';

REVOKE ALL ON PROCEDURE answer_appl_lock(text, text, text, bigint, text, text, text, text, character, text, text, text, timestamptz, timestamptz, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- appl_lock_move_page: a page of what an operator holds, released or handed over, for release_appl_locks and transfer_appl_locks.
-- Internal.
--
-- Contract   A page is at most p_max_rows live locks of p_operator_id whose key is greater than (p_after_type, p_after_id), of
--            p_object_type if that is given. The answer has a row for each. If p_to_operator_id is NULL, they are released;
--            else that operator gets them.
--            BUSY, HELD and FREE are left as they are. A dry run does nothing.
-- In         As in release_appl_locks and transfer_appl_locks, checked.
-- Out        As transfer_appl_locks.
-- Raises     As the operations on one object; then the page is undone.
-- Locks      S1 nothing. S2 locks one row after the other in the order of the keys, and waits for none. All are held to the end of
--            the caller's transaction.
-- Race-free  S3 is the operation on one object, whose row S2 has locked. A lock that was got after S1 is not in the page.
--            Calling again after a page repeats nothing: the operator does not hold those locks any more.
-- Differs    Nothing: this is the reference. Each caller keeps the planner from reading the whole table.

CREATE OR REPLACE FUNCTION appl_lock_move_page(
    p_operator_id text,
    p_object_type text,
    p_to_operator_id text,
    p_to_department_id text,
    p_ttl_seconds bigint,
    p_actor_id text,
    p_reason text,
    p_after_type text,
    p_after_id text,
    p_max_rows bigint,
    p_dry_run boolean,
    OUT object_type text,
    OUT object_id text,
    OUT outcome text,
    OUT old_operator_id text,
    OUT old_department_id text,
    OUT fence bigint,
    OUT expires_ts timestamptz,
    OUT seconds_left bigint
) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE
AS $$
DECLARE
    v_row record;
    v_done record;
BEGIN
    -- S1: the page, read to its end before the first lock changes. One of the two parts has rows: of any type, or of one.
    FOR object_type, object_id, fence, expires_ts, seconds_left IN
        (
            SELECT l.object_type, l.object_id, l.fence, l.expires_ts, appl_lock_seconds_left(l.expires_ts)
            FROM appl_lock AS l
            WHERE p_object_type IS NULL
                AND (l.object_type::text, l.object_id::text) > (p_after_type, p_after_id)
                AND l.operator_id::text = p_operator_id
                AND l.released_ts IS NULL
                AND l.expires_ts > clock_timestamp()
            ORDER BY l.object_type, l.object_id
            LIMIT p_max_rows
        )
        UNION ALL
        (
            SELECT l.object_type, l.object_id, l.fence, l.expires_ts, appl_lock_seconds_left(l.expires_ts)
            FROM appl_lock AS l
            WHERE l.object_type::text = p_object_type
                AND (l.object_type::text, l.object_id::text) > (p_after_type, p_after_id)
                AND l.operator_id::text = p_operator_id
                AND l.released_ts IS NULL
                AND l.expires_ts > clock_timestamp()
            ORDER BY l.object_type, l.object_id
            LIMIT p_max_rows
        )
    LOOP
        old_operator_id := '';
        old_department_id := '';
        IF p_dry_run THEN
            outcome := CASE WHEN p_to_operator_id IS NULL THEN 'WOULD_RELEASE' ELSE 'WOULD_TRANSFER' END;
            RETURN NEXT;
            CONTINUE;
        END IF;

        -- S2: can the row be locked at once, and which grant does it have?
        SELECT l.fence, l.expires_ts
        INTO v_row
        FROM appl_lock AS l
        WHERE l.object_type::text = appl_lock_move_page.object_type
            AND l.object_id::text = appl_lock_move_page.object_id
        FOR NO KEY UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            outcome := 'BUSY';
            RETURN NEXT;
            CONTINUE;
        END IF;

        -- S3: end it, or hand it over.
        IF p_to_operator_id IS NULL THEN
            v_done := release_appl_lock_row(object_type, object_id, p_operator_id, NULL::bigint, p_actor_id, p_reason);
            fence := CASE WHEN v_done.p_outcome = 'RELEASED' THEN v_row.fence ELSE 0 END;
            expires_ts := CASE WHEN v_done.p_outcome = 'HELD' THEN v_row.expires_ts END;
            seconds_left := CASE WHEN v_done.p_outcome = 'HELD' THEN appl_lock_seconds_left(v_row.expires_ts) ELSE 0 END;
        ELSE
            v_done := transfer_appl_lock_row(
                object_type, object_id, p_operator_id, p_to_operator_id, p_to_department_id, p_ttl_seconds, p_actor_id, p_reason
            );
            fence := v_done.p_fence;
            expires_ts := v_done.p_expires_ts;
            seconds_left := v_done.p_seconds_left;
        END IF;
        outcome := v_done.p_outcome;
        old_operator_id := v_done.p_old_operator_id;
        old_department_id := v_done.p_old_department_id;
        RETURN NEXT;
    END LOOP;
END
$$;

COMMENT ON FUNCTION appl_lock_move_page(text, text, text, text, bigint, text, text, text, text, bigint, boolean) IS
    'Internal to applock: hands over or releases a page of the locks of an operator.';

REVOKE ALL ON FUNCTION appl_lock_move_page(text, text, text, text, bigint, text, text, text, text, bigint, boolean) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- appl_lock_seconds_left, appl_lock_next_fence: the end and the fence of a grant. Internal.
--
-- Contract   The first returns the whole seconds from now to p_expires_ts, rounded up, at least 1: it is for locks that were
--            live a moment ago. One that was made endless by hand ends in 2262. The second returns the fence of a grant that begins at p_now after a grant with the fence
--            p_old.
-- Raises     Nothing.
-- Locks      Nothing.
-- Differs    Nothing. Each is one expression, which the planner inlines.

CREATE OR REPLACE FUNCTION appl_lock_seconds_left(p_expires_ts timestamptz) RETURNS bigint
LANGUAGE sql VOLATILE
AS $$
    SELECT greatest(ceil(extract(epoch FROM least(p_expires_ts, '2262-01-01 00:00:00+00'::timestamptz) - clock_timestamp())), 1)::bigint;
$$;

COMMENT ON FUNCTION appl_lock_seconds_left(timestamptz) IS
    'Internal to applock: returns the seconds until a lock ends.';

REVOKE ALL ON FUNCTION appl_lock_seconds_left(timestamptz) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION appl_lock_next_fence(p_old bigint, p_now timestamptz) RETURNS bigint
LANGUAGE sql STABLE
AS $$
    SELECT greatest(p_old + 1, (extract(epoch FROM p_now) * 1000000::numeric)::bigint);
$$;

COMMENT ON FUNCTION appl_lock_next_fence(bigint, timestamptz) IS
    'Internal to applock: returns the fence of the next grant.';

REVOKE ALL ON FUNCTION appl_lock_next_fence(bigint, timestamptz) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- appl_lock_version: the version of the installed contract.
--
-- Contract   A whole number that grows when an operation is added or changes its signature or answers.
-- In         None.
-- Out        The version.
-- Raises     Nothing.
-- Locks      Nothing.
-- Race-free  A constant.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION appl_lock_version() RETURNS integer
LANGUAGE sql IMMUTABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
    SELECT 1;
$$;

COMMENT ON FUNCTION appl_lock_version() IS
    'The version of the installed contract.';

REVOKE ALL ON FUNCTION appl_lock_version() FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- ask_appl_lock: ask an object's holder for it, with a message, or keep the request listed.
--
-- Contract   Y ASKED: the request is listed for 60 s, but not longer than p_wait_seconds, and the holder finds it in its inbox.
--            Each further call keeps it listed, since the first one. The holder is in p_old_*, p_acquired_ts and p_expires_ts.
--            Y GIVEN: the holder has neither renewed, edited (see_appl_lock) nor answered for as long as the type's policy
--            allows. The caller holds the object now, as after the GIVE of answer_appl_lock; p_old_operator_id held it.
--            Y WITHDRAWN: p_wait_seconds was 0, and the request is gone, if there was one.
--            N FREE: nobody holds the object. N OWN: the operator holds it itself. Both remove its request.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255; p_department_id 0..64, NULL =
--            empty; p_client_id 1..64, the asking program, under a name that no other program has; p_message 0..255, NULL =
--            empty; p_wait_seconds until it gives up, 0..315360000, NULL = never. Trailing blanks are trimmed first.
-- Out        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id (empty unless ASKED or GIVEN), p_fence (0 unless GIVEN),
--            p_acquired_ts, p_expires_ts (NULL when FREE or WITHDRAWN), p_seconds_left (0 then).
-- Raises     LK001 invalid argument; LK003 as appl_lock_move. 55P03 after 1 s of waiting for another transaction, 40001 and 40P01
--            as the engine has them.
-- Locks      S2 or S4 inserts, changes or deletes the request's one row; held to the end of the caller's transaction. If the
--            caller gets the object, S3 locks it as appl_lock_move. A request delays no waiting program.
-- Race-free  Two calls: the primary key lets one insert; the other waits, then judges that row anew. Each renewal restarts the
--            holder's time to answer: S3 names the lock_ts that S1 has read, so a renewal in between keeps the lock. Of two
--            askers one gets it. An answer and an ask lock the request's row first and the lock's row second. Other requests of
--            the operator are skipped where another transaction has locked them; their next call removes them.
--            REPEATABLE READ and SERIALIZABLE: a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION ask_appl_lock_row(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_department_id text,
    p_client_id text,
    p_message text DEFAULT NULL,
    p_wait_seconds bigint DEFAULT NULL,
    OUT p_ok_fl character(1),
    OUT p_outcome text,
    OUT p_old_operator_id text,
    OUT p_old_department_id text,
    OUT p_fence bigint,
    OUT p_acquired_ts timestamptz,
    OUT p_expires_ts timestamptz,
    OUT p_seconds_left bigint
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
-- Force the primary key, whatever the statistics say. For the same reason operator_id || '' matches no index.
SET enable_seqscan = 'off'
SET enable_bitmapscan = 'off'
AS $$
DECLARE
    p_object_type text COLLATE "C" := ask_appl_lock_row.p_object_type;
    p_object_id text COLLATE "C" := ask_appl_lock_row.p_object_id;
    p_operator_id text COLLATE "C" := ask_appl_lock_row.p_operator_id;
    p_department_id text COLLATE "C" := ask_appl_lock_row.p_department_id;
    p_client_id text COLLATE "C" := ask_appl_lock_row.p_client_id;
    p_message text COLLATE "C" := ask_appl_lock_row.p_message;
    v_object_type text COLLATE "C" := appl_lock_text('ask_appl_lock', 'p_object_type', p_object_type, 64, true);
    v_object_id text COLLATE "C" := appl_lock_text('ask_appl_lock', 'p_object_id', p_object_id, 255, true);
    v_operator_id text COLLATE "C" := appl_lock_text('ask_appl_lock', 'p_operator_id', p_operator_id, 255, true);
    v_department_id text COLLATE "C" := appl_lock_text('ask_appl_lock', 'p_department_id', p_department_id, 64, false);
    v_client_id text COLLATE "C" := appl_lock_text('ask_appl_lock', 'p_client_id', p_client_id, 64, true);
    v_message text COLLATE "C" := appl_lock_text('ask_appl_lock', 'p_message', p_message, 255, false);
    v_wait_seconds bigint := CASE
        WHEN p_wait_seconds <> 0 THEN appl_lock_number('ask_appl_lock', 'p_wait_seconds', p_wait_seconds, NULL::integer, 315360000)
        ELSE p_wait_seconds
    END;
    v_now timestamptz := clock_timestamp();
    v_until timestamptz := v_now + pg_catalog.make_interval(secs => v_wait_seconds);
    v_lock record;
    v_asked record;
    v_moved record;
BEGIN
    p_ok_fl := 'N';
    p_outcome := 'FREE';
    p_old_operator_id := '';
    p_old_department_id := '';
    p_fence := 0;
    p_seconds_left := 0;
    -- S1: who holds it, and how long may the holder leave a request unanswered?
    SELECT
        l.operator_id,
        l.department_id,
        l.fence,
        l.acquired_ts,
        l.lock_ts,
        l.expires_ts,
        -- A lock of less than an hour is a program's lease, with nobody there to answer.
        CASE WHEN l.ttl_seconds >= 3600 THEN pg_catalog.make_interval(secs => p.yield_after_seconds) END AS patience
    INTO v_lock
    FROM appl_lock AS l
    LEFT JOIN appl_lock_policy AS p
        ON p.object_type::text = l.object_type::text
    WHERE l.object_type::text = v_object_type
        AND l.object_id::text = v_object_id
        AND l.released_ts IS NULL
        AND l.expires_ts > v_now;

    IF coalesce(v_wait_seconds, 1) > 0 AND v_lock.operator_id::text <> v_operator_id THEN
        -- S2: a new request, or the one that goes on. It begins anew with another holder, grant or message.
        INSERT INTO appl_lock_ask AS a (
            object_type,
            object_id,
            operator_id,
            department_id,
            client_id,
            message,
            since_ts,
            until_ts,
            expires_ts,
            holder_id,
            fence,
            answer,
            answer_reason
        )
        VALUES (
            v_object_type,
            v_object_id,
            v_operator_id,
            v_department_id,
            v_client_id,
            v_message,
            v_now,
            v_until,
            least(v_now + interval '60 seconds', v_until),
            v_lock.operator_id,
            v_lock.fence,
            '',
            ''
        )
        ON CONFLICT ON CONSTRAINT appl_lock_ask_pk DO UPDATE
        SET department_id = excluded.department_id,
            message = excluded.message,
            until_ts = excluded.until_ts,
            expires_ts = excluded.expires_ts,
            holder_id = excluded.holder_id,
            fence = excluded.fence,
            since_ts = CASE WHEN a.expires_ts > clock_timestamp() THEN a.since_ts ELSE excluded.since_ts END,
            (shown_ts, answer, answer_reason, answered_ts, edited_ts) = (
                SELECT
                    CASE WHEN s.same THEN a.shown_ts END,
                    CASE WHEN s.same THEN a.answer ELSE '' END,
                    CASE WHEN s.same THEN a.answer_reason ELSE '' END,
                    CASE WHEN s.same THEN a.answered_ts END,
                    CASE WHEN s.same THEN a.edited_ts END
                FROM (
                    SELECT a.expires_ts > clock_timestamp() AND a.fence = excluded.fence AND a.message::text = excluded.message::text AS same
                ) AS s
            )
        RETURNING a.shown_ts, a.answered_ts, a.edited_ts
        INTO v_asked;
        p_ok_fl := 'Y';
        p_outcome := 'ASKED';
        p_old_operator_id := v_lock.operator_id;
        p_old_department_id := v_lock.department_id;
        p_acquired_ts := v_lock.acquired_ts;
        p_expires_ts := v_lock.expires_ts;
        p_seconds_left := appl_lock_seconds_left(v_lock.expires_ts);
        IF v_asked.shown_ts IS NOT NULL
            AND greatest(v_asked.shown_ts, v_asked.answered_ts, v_asked.edited_ts, v_lock.lock_ts) + v_lock.patience <= v_now
        THEN
            -- S3: the holder's time to answer is over.
            v_moved := appl_lock_move(
                'ask_appl_lock', 'YIELDED', v_object_type, v_object_id, v_lock.operator_id::text, v_lock.fence,
                v_operator_id, v_department_id, NULL::bigint, v_operator_id,
                pg_catalog.format('no answer for %s s', extract(epoch FROM v_lock.patience)::bigint), v_lock.lock_ts, 60::bigint
            );
            IF v_moved.p_ok_fl = 'Y' THEN
                p_outcome := 'GIVEN';
                p_fence := v_moved.p_fence;
                p_acquired_ts := v_moved.p_acquired_ts;
                p_expires_ts := v_moved.p_expires_ts;
                p_seconds_left := v_moved.p_seconds_left;
                DELETE FROM appl_lock_ask AS a
                WHERE a.ctid = ANY (ARRAY(
                        SELECT s.ctid
                        FROM appl_lock_ask AS s
                        WHERE s.object_type::text = v_object_type
                            AND s.object_id::text = v_object_id
                            AND s.operator_id::text || '' = v_operator_id
                        FOR UPDATE SKIP LOCKED
                    ));
            END IF;
        END IF;
        RETURN;
    END IF;

    -- S4: there is nothing to ask for.
    DELETE FROM appl_lock_ask AS a
    WHERE a.object_type::text = v_object_type
        AND a.object_id::text = v_object_id
        AND a.operator_id::text || '' = v_operator_id
        AND a.client_id::text = v_client_id;
    IF v_wait_seconds = 0 THEN
        p_ok_fl := 'Y';
        p_outcome := 'WITHDRAWN';
    ELSIF v_lock.operator_id::text = v_operator_id THEN
        p_outcome := 'OWN';
        p_acquired_ts := v_lock.acquired_ts;
        p_expires_ts := v_lock.expires_ts;
        p_seconds_left := appl_lock_seconds_left(v_lock.expires_ts);
    END IF;
END
$$;

COMMENT ON FUNCTION ask_appl_lock_row(text, text, text, text, text, text, bigint) IS
    'Ask an object''s holder for it, with a message, or keep the request listed; the answer is one row.';

REVOKE ALL ON FUNCTION ask_appl_lock_row(text, text, text, text, text, text, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE ask_appl_lock(
    IN p_object_type text,
    IN p_object_id text,
    IN p_operator_id text,
    IN p_department_id text,
    IN p_client_id text,
    IN p_message text DEFAULT NULL,
    IN p_wait_seconds bigint DEFAULT NULL,
    INOUT p_ok_fl character(1) DEFAULT NULL,
    INOUT p_outcome text DEFAULT NULL,
    INOUT p_old_operator_id text DEFAULT NULL,
    INOUT p_old_department_id text DEFAULT NULL,
    INOUT p_fence bigint DEFAULT NULL,
    INOUT p_acquired_ts timestamptz DEFAULT NULL,
    INOUT p_expires_ts timestamptz DEFAULT NULL,
    INOUT p_seconds_left bigint DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT
        r.p_ok_fl, r.p_outcome, r.p_old_operator_id, r.p_old_department_id, r.p_fence, r.p_acquired_ts, r.p_expires_ts,
        r.p_seconds_left
    INTO
        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_acquired_ts, p_expires_ts, p_seconds_left
    FROM ask_appl_lock_row(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_client_id, p_message, p_wait_seconds
    ) AS r;
END
$$;

COMMENT ON PROCEDURE ask_appl_lock(text, text, text, text, text, text, bigint, character, text, text, text, bigint, timestamptz, timestamptz, bigint) IS
    'Ask an object''s holder for it, with a message, or keep the request listed.';

REVOKE ALL ON PROCEDURE ask_appl_lock(text, text, text, text, text, text, bigint, character, text, text, text, bigint, timestamptz, timestamptz, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- assert_appl_lock: fail unless exactly this grant is live, and keep it so to the end of the transaction.
--
-- Contract   Returns when p_operator_id holds the object under p_fence; then nobody releases, transfers or takes over that
--            grant before the caller's transaction ends, even if it expires meanwhile. Called first in the transaction that
--            writes the protected data, it fences off a holder that lost its lock without noticing. Under autocommit it is a
--            check only.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255;
--            p_fence 1 or greater. Trailing blanks are trimmed first.
-- Out        None; the row form returns p_ok_fl 'Y'. It leaves the grant in the setting applock.asserted, which
--            the transaction's end empties, for the guards of docs/guard.md.
-- Raises     LK001 invalid argument. LK002 when the grant is not live; the message names the holder.
--            55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has them.
-- Locks      S1 takes a share lock on the object's one row and decides; held to the end of the caller's
--            transaction. Other asserts of the grant do not wait for it; its renewal elsewhere does.
-- Race-free  Assert against take-over, release, transfer: S1 names the grant and is judged on the row as it is once it is
--            locked.
--            REPEATABLE READ and SERIALIZABLE: a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION assert_appl_lock_row(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_fence bigint,
    OUT p_ok_fl character(1)
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    p_object_type text COLLATE "C" := assert_appl_lock_row.p_object_type;
    p_object_id text COLLATE "C" := assert_appl_lock_row.p_object_id;
    p_operator_id text COLLATE "C" := assert_appl_lock_row.p_operator_id;
    v_object_type text COLLATE "C" := rtrim(p_object_type, ' ');
    v_object_id text COLLATE "C" := rtrim(p_object_id, ' ');
    v_operator_id text COLLATE "C" := rtrim(p_operator_id, ' ');
    v_asserted text COLLATE "C";
    v_grant text COLLATE "C";
    v_holder text COLLATE "C";
BEGIN
    -- S1: is this grant live?
    SELECT 'Y'
    INTO p_ok_fl
    FROM appl_lock AS l
    WHERE l.object_type::text = v_object_type
        AND l.object_id::text = v_object_id
        AND l.operator_id::text = v_operator_id
        AND l.fence = p_fence
        AND l.released_ts IS NULL
        AND l.expires_ts > clock_timestamp()
    FOR SHARE;
    IF FOUND THEN
        -- Newest first, one line each. A line that is cut off loses its end, so no guard matches it.
        v_grant := E'\n' || p_fence::text || E'\t' || v_operator_id || E'\t' || v_object_type || ':' || v_object_id;
        v_asserted := coalesce(nullif(current_setting('applock.asserted', true), ''), E'\n');
        IF strpos(v_asserted, v_grant || E'\n') = 0 THEN
            v_asserted := set_config('applock.asserted', left(v_grant || v_asserted, 16000), true);
        END IF;
        RETURN;
    END IF;

    -- No grant matched, so the arguments may be invalid: a match would prove them valid.
    PERFORM appl_lock_text('assert_appl_lock', 'p_object_type', p_object_type, 64, true);
    PERFORM appl_lock_text('assert_appl_lock', 'p_object_id', p_object_id, 255, true);
    PERFORM appl_lock_text('assert_appl_lock', 'p_operator_id', p_operator_id, 255, true);
    PERFORM appl_lock_number('assert_appl_lock', 'p_fence', p_fence, NULL::integer, NULL::integer);
    SELECT pg_catalog.format('%s holds it with fence %s', l.operator_id, l.fence)
    INTO v_holder
    FROM appl_lock AS l
    WHERE l.object_type::text = v_object_type
        AND l.object_id::text = v_object_id
        AND l.released_ts IS NULL
        AND l.expires_ts > clock_timestamp();
    RAISE EXCEPTION USING
        ERRCODE = 'LK002',
        MESSAGE = pg_catalog.format(
            'assert_appl_lock: %s does not hold %s:%s with fence %s: %s',
            v_operator_id, v_object_type, v_object_id, p_fence, coalesce(v_holder, 'nobody holds it')
        );
END
$$;

COMMENT ON FUNCTION assert_appl_lock_row(text, text, text, bigint) IS
    'Fail unless exactly this grant is live, and keep it so to the end of the transaction; the answer is one row.';

REVOKE ALL ON FUNCTION assert_appl_lock_row(text, text, text, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE assert_appl_lock(
    IN p_object_type text,
    IN p_object_id text,
    IN p_operator_id text,
    IN p_fence bigint
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM assert_appl_lock_row(
        p_object_type, p_object_id, p_operator_id, p_fence
    );
END
$$;

COMMENT ON PROCEDURE assert_appl_lock(text, text, text, bigint) IS
    'Fail unless exactly this grant is live, and keep it so to the end of the transaction.';

REVOKE ALL ON PROCEDURE assert_appl_lock(text, text, text, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- drop_appl_lock_policy: remove the policy of a type.
--
-- Contract   Y DROPPED: the type has no policy any more. It is an event of the history: POLICY, with its actor and reason.
--            N NONE: it had none; nothing changed.
--            A grant keeps the end that it has until it is renewed or transferred.
-- In         p_object_type 1..64 characters without ":"; p_actor_id 1..255; p_reason 0..150, NULL = empty. Trailing
--            blanks are trimmed first.
-- Out        p_ok_fl, p_outcome.
-- Raises     LK001 invalid argument. 55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has
--            them.
-- Locks      S1 locks the type's one row, to the end of the caller's transaction. No get waits for that.
-- Race-free  Two at once: one waits for the other and answers NONE.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION drop_appl_lock_policy_row(
    p_object_type text,
    p_actor_id text,
    p_reason text DEFAULT NULL,
    OUT p_ok_fl character(1),
    OUT p_outcome text
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    p_object_type text COLLATE "C" := drop_appl_lock_policy_row.p_object_type;
    p_actor_id text COLLATE "C" := drop_appl_lock_policy_row.p_actor_id;
    p_reason text COLLATE "C" := drop_appl_lock_policy_row.p_reason;
    v_object_type text COLLATE "C" := appl_lock_text('drop_appl_lock_policy', 'p_object_type', p_object_type, 64, true);
    v_actor_id text COLLATE "C" := appl_lock_text('drop_appl_lock_policy', 'p_actor_id', p_actor_id, 255, true);
    v_reason text COLLATE "C" := appl_lock_text('drop_appl_lock_policy', 'p_reason', p_reason, 150, false);
BEGIN
    -- S1: remove it.
    DELETE FROM appl_lock_policy AS p
    WHERE p.object_type::text = v_object_type;
    IF NOT FOUND THEN
        p_ok_fl := 'N';
        p_outcome := 'NONE';
        RETURN;
    END IF;
    PERFORM appl_lock_record(
        'POLICY', v_object_type, '', v_actor_id, '', '', 0::bigint, '', '', 0::bigint,
        'dropped' || CASE WHEN v_reason = '' THEN '' ELSE ': ' || v_reason END
    );
    p_ok_fl := 'Y';
    p_outcome := 'DROPPED';
END
$$;

COMMENT ON FUNCTION drop_appl_lock_policy_row(text, text, text) IS
    'Remove the policy of a type; the answer is one row.';

REVOKE ALL ON FUNCTION drop_appl_lock_policy_row(text, text, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE drop_appl_lock_policy(
    IN p_object_type text,
    IN p_actor_id text,
    IN p_reason text DEFAULT NULL,
    INOUT p_ok_fl character(1) DEFAULT NULL,
    INOUT p_outcome text DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT
        r.p_ok_fl, r.p_outcome
    INTO
        p_ok_fl, p_outcome
    FROM drop_appl_lock_policy_row(
        p_object_type, p_actor_id, p_reason
    ) AS r;
END
$$;

COMMENT ON PROCEDURE drop_appl_lock_policy(text, text, text, character, text) IS
    'Remove the policy of a type.';

REVOKE ALL ON PROCEDURE drop_appl_lock_policy(text, text, text, character, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- get_appl_lock: take or renew the lock on an object for one operator until it expires.
--
-- Contract   Y ACQUIRED: the object was free or its lock had expired; a new grant, a greater fence, an empty note.
--            Y RENEWED: this operator holds it; same grant, fence and note, and the ttl counts from now.
--            N HELD: another operator holds it, or this one when p_new_fl is Y; p_old_*, p_acquired_ts, p_expires_ts and
--            p_note tell who, since when, until when and why.
--            Without p_ttl_seconds a new grant gets the policy's default ttl. The policy's longest ttl limits every grant.
--            Events: OVERTAKEN, when another operator's grant had expired unreleased. Under history ALL also ACQUIRED, RENEWED
--            and REFUSED; for REFUSED the policy at the holder's last get counts.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255;
--            p_department_id 0..64, NULL = the grant's in a renewal, else empty; p_ttl_seconds 1..315360000,
--            NULL = the grant's in a renewal, else the policy's, else 604800; p_new_fl Y or N, NULL or empty = N. Trailing
--            blanks are trimmed first.
-- Out        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD), p_fence (0 when HELD),
--            p_acquired_ts, p_expires_ts, p_seconds_left (from now to p_expires_ts), p_note (empty when ACQUIRED).
-- Raises     LK001 invalid argument. LK003 when the object changed thirty times during the call.
--            55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has them.
-- Locks      S1 and S2 read without a lock and answer HELD. S3 locks the object's row, to the end of the caller's transaction,
--            also where it had to wait and S1 then answers HELD.
-- Race-free  S3 matches only the version of the row that S1 has read, or inserts where there is none. Otherwise the call begins
--            again. So each answer is decided on the row as it was when S3 locked it.
--            The note in the answer is the row's at that moment.
--            S3 may have waited for a transaction that was rolled back, or in a trigger: S5 counts from the end of the wait.
--            A purge may have removed a later grant before S3 inserted: S4 checks for it, and S5 raises the fence above it.
--            REPEATABLE READ and SERIALIZABLE: S3 on a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION get_appl_lock_row(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_department_id text DEFAULT NULL,
    p_ttl_seconds bigint DEFAULT NULL,
    p_new_fl text DEFAULT NULL
)
-- A named row, because OUT parameters are described anew in each call.
RETURNS get_appl_lock_answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    p_object_type text COLLATE "C" := get_appl_lock_row.p_object_type;
    p_object_id text COLLATE "C" := get_appl_lock_row.p_object_id;
    p_operator_id text COLLATE "C" := get_appl_lock_row.p_operator_id;
    p_department_id text COLLATE "C" := get_appl_lock_row.p_department_id;
    p_new_fl text COLLATE "C" := get_appl_lock_row.p_new_fl;
    v_holder_id text COLLATE "C";
    v_holder_department_id text COLLATE "C";
    v_old_fence bigint;
    v_acquired_ts timestamptz;
    v_lock_ts timestamptz;
    v_old_ttl_seconds bigint;
    v_expires_ts timestamptz;
    v_released_ts timestamptz;
    v_note text COLLATE "C";
    v_history_fl boolean;
    v_version tid;
    v_now timestamptz;
    v_renews boolean;
    v_fence bigint;
    v_purged_fence bigint;
    v_department_id text COLLATE "C";
    v_default_ttl_seconds bigint;
    v_longest_ttl_seconds bigint;
    v_history_level text COLLATE "C";
    v_ttl_seconds bigint;
    v_round integer;
    v_length integer;
BEGIN
    LOOP
        -- S1: the row, and then the time. Without a row all is NULL.
        -- While another session holds an old snapshot, all versions of a row stay: the newest is last in the index.
        SELECT l.operator_id, l.department_id, l.fence, l.acquired_ts, l.lock_ts, l.ttl_seconds, l.expires_ts, l.released_ts,
            l.note, l.history_fl, l.ctid, l.released_ts IS NULL AND l.expires_ts > clock_timestamp(), clock_timestamp()
        INTO v_holder_id, v_holder_department_id, v_old_fence, v_acquired_ts, v_lock_ts, v_old_ttl_seconds, v_expires_ts, v_released_ts,
            v_note, v_history_fl, v_version, v_renews, v_now
        FROM appl_lock AS l
        WHERE l.object_type::text = p_object_type
            AND l.object_id::text >= p_object_id
            AND l.object_id::text <= p_object_id
        ORDER BY l.object_id DESC
        LIMIT 1;
        -- A row of this operator proves its name valid. Rare arguments have a branch of their own: even an unevaluated
        -- expression costs time.
        IF p_department_id IS NOT NULL
            OR p_new_fl IS NOT NULL
            OR p_ttl_seconds NOT BETWEEN 1 AND 315360000
            OR (
                p_operator_id = v_holder_id
                OR p_operator_id !~ E'[\\x01-\\x1f\\x7f-\\u009f]|^$| $' AND char_length(p_operator_id) <= 255
            ) IS NOT TRUE
        THEN
            IF (
                p_operator_id !~ E'[\\x01-\\x1f\\x7f-\\u009f]|^$| $'
                AND char_length(p_operator_id) <= 255
                AND (
                    p_department_id IS NULL
                    OR p_department_id !~ E'[\\x01-\\x1f\\x7f-\\u009f]| $' AND char_length(p_department_id) <= 64
                )
                AND (p_ttl_seconds IS NULL OR p_ttl_seconds BETWEEN 1 AND 315360000)
                AND (p_new_fl IS NULL OR p_new_fl = 'Y')
            ) IS NOT TRUE THEN
                v_length := char_length(p_object_type || p_object_id);
                p_object_type := appl_lock_text('get_appl_lock', 'p_object_type', p_object_type, 64, true);
                p_object_id := appl_lock_text('get_appl_lock', 'p_object_id', p_object_id, 255, true);
                p_operator_id := appl_lock_text('get_appl_lock', 'p_operator_id', p_operator_id, 255, true);
                IF p_department_id IS NOT NULL THEN
                    p_department_id := appl_lock_text('get_appl_lock', 'p_department_id', p_department_id, 64, false);
                END IF;
                PERFORM appl_lock_number('get_appl_lock', 'p_ttl_seconds', p_ttl_seconds, 604800, 315360000);
                p_new_fl := CASE WHEN appl_lock_yes('get_appl_lock', 'p_new_fl', p_new_fl) THEN 'Y' END;
                CONTINUE WHEN v_length <> char_length(p_object_type || p_object_id);
            END IF;
        END IF;
        IF v_renews AND (v_holder_id <> p_operator_id OR p_new_fl = 'Y') THEN
            IF v_history_fl THEN
                PERFORM appl_lock_record(
                    'REFUSED', p_object_type, p_object_id, p_operator_id,
                    v_holder_id, v_holder_department_id, v_old_fence, v_holder_id, v_holder_department_id, v_old_fence, ''
                );
            END IF;
            RETURN ROW(
                'N', 'HELD', v_holder_id, v_holder_department_id, 0,
                v_acquired_ts, v_expires_ts, appl_lock_seconds_left(v_expires_ts), v_note
            )::get_appl_lock_answer;
        END IF;

        -- S2: the policy.
        SELECT p.default_ttl_seconds, p.longest_ttl_seconds, p.history_level
        INTO v_default_ttl_seconds, v_longest_ttl_seconds, v_history_level
        FROM appl_lock_policy AS p
        WHERE p.object_type::text = p_object_type;
        v_ttl_seconds := least(
            coalesce(p_ttl_seconds, CASE WHEN v_renews THEN v_old_ttl_seconds ELSE v_default_ttl_seconds END, 604800),
            v_longest_ttl_seconds
        );

        -- S3: the compare and set. The place alone is no version: older servers do not compare it again after a wait.
        IF v_old_fence IS NOT NULL THEN
            UPDATE appl_lock AS l
            SET operator_id = p_operator_id,
                department_id = coalesce(p_department_id, CASE WHEN v_renews THEN l.department_id ELSE '' END),
                fence = CASE WHEN v_renews THEN l.fence ELSE appl_lock_next_fence(l.fence, v_now) END,
                acquired_ts = CASE WHEN v_renews THEN l.acquired_ts ELSE v_now END,
                lock_ts = greatest(v_now, l.lock_ts + interval '1 microsecond'),
                ttl_seconds = v_ttl_seconds,
                expires_ts = v_now + pg_catalog.make_interval(secs => v_ttl_seconds),
                note = CASE WHEN v_renews THEN l.note ELSE '' END,
                history_fl = v_history_level IS NOT NULL AND v_history_level = 'ALL',
                released_ts = NULL
            WHERE l.ctid = v_version
                AND l.object_type::text = p_object_type
                AND l.object_id::text = p_object_id
                AND l.fence = v_old_fence
                AND l.lock_ts = v_lock_ts
                AND l.released_ts IS NOT DISTINCT FROM v_released_ts
            RETURNING l.fence, l.acquired_ts, l.expires_ts, l.note
            INTO v_fence, v_acquired_ts, v_expires_ts, v_note;
        ELSE
            -- There is no row, so this type and id are unchecked.
            IF (
                p_object_type !~ E'[\\x01-\\x1f:\\x7f-\\u009f]|^$| $'
                AND char_length(p_object_type) <= 64
                AND p_object_id !~ E'[\\x01-\\x1f\\x7f-\\u009f]|^$| $'
                AND char_length(p_object_id) <= 255
            ) IS NOT TRUE THEN
                v_length := char_length(p_object_type || p_object_id);
                p_object_type := appl_lock_text('get_appl_lock', 'p_object_type', p_object_type, 64, true);
                p_object_id := appl_lock_text('get_appl_lock', 'p_object_id', p_object_id, 255, true);
                CONTINUE WHEN v_length <> char_length(p_object_type || p_object_id);
            END IF;
            v_now := clock_timestamp();
            INSERT INTO appl_lock AS l (
                object_type,
                object_id,
                operator_id,
                department_id,
                fence,
                acquired_ts,
                lock_ts,
                ttl_seconds,
                expires_ts,
                history_fl
            )
            VALUES (
                p_object_type,
                p_object_id,
                p_operator_id,
                coalesce(p_department_id, ''),
                appl_lock_next_fence(0::bigint, v_now),
                v_now,
                v_now,
                v_ttl_seconds,
                v_now + pg_catalog.make_interval(secs => v_ttl_seconds),
                v_history_level IS NOT NULL AND v_history_level = 'ALL'
            )
            ON CONFLICT ON CONSTRAINT appl_lock_pk DO NOTHING
            RETURNING l.fence, l.acquired_ts, l.expires_ts, l.note
            INTO v_fence, v_acquired_ts, v_expires_ts, v_note;
            IF FOUND THEN
                -- S4: the greatest fence that a purge has removed, if it is not below this one.
                SELECT f.fence
                INTO v_purged_fence
                FROM appl_lock_fence AS f
                WHERE f.id = 1
                    AND f.fence >= v_fence;
            END IF;
        END IF;
        EXIT WHEN v_fence IS NOT NULL;
        v_round := coalesce(v_round, 0) + 1;
        IF v_round = 30 THEN
            RAISE EXCEPTION USING
                ERRCODE = 'LK003',
                MESSAGE = pg_catalog.format('get_appl_lock: %s:%s changed hands during the call; call again', p_object_type, p_object_id);
        END IF;
    END LOOP;

    IF v_purged_fence IS NOT NULL OR clock_timestamp() > v_now + interval '100 milliseconds' OR clock_timestamp() < v_now THEN
        -- S5: the times from before S3 are too old, or the fence is too small. The row is this transaction's by now.
        v_now := clock_timestamp();
        UPDATE appl_lock AS l
        SET fence = CASE WHEN v_renews THEN l.fence ELSE greatest(l.fence, appl_lock_next_fence(v_purged_fence, v_now)) END,
            acquired_ts = CASE WHEN v_renews THEN l.acquired_ts ELSE v_now END,
            lock_ts = greatest(v_now, l.lock_ts),
            expires_ts = v_now + pg_catalog.make_interval(secs => v_ttl_seconds)
        WHERE l.object_type::text = p_object_type
            AND l.object_id::text = p_object_id
        RETURNING l.fence, l.acquired_ts, l.expires_ts
        INTO v_fence, v_acquired_ts, v_expires_ts;
    END IF;
    IF v_history_level = 'ALL' OR NOT v_renews AND v_released_ts IS NULL AND v_holder_id <> p_operator_id THEN
        -- S6: the event.
        SELECT l.department_id
        INTO v_department_id
        FROM appl_lock AS l
        WHERE l.object_type::text = p_object_type
            AND l.object_id::text = p_object_id;
        IF v_renews THEN
            PERFORM appl_lock_record(
                'RENEWED', p_object_type, p_object_id, p_operator_id,
                p_operator_id, v_department_id, v_fence, p_operator_id, v_department_id, v_fence, ''
            );
        ELSIF v_released_ts IS NULL AND v_holder_id <> p_operator_id THEN
            PERFORM appl_lock_record(
                'OVERTAKEN', p_object_type, p_object_id, p_operator_id,
                v_holder_id, v_holder_department_id, v_old_fence, p_operator_id, v_department_id, v_fence, ''
            );
        ELSE
            PERFORM appl_lock_record(
                'ACQUIRED', p_object_type, p_object_id, p_operator_id,
                '', '', 0::bigint, p_operator_id, v_department_id, v_fence, ''
            );
        END IF;
    END IF;
    RETURN ROW(
        'Y', CASE WHEN v_renews THEN 'RENEWED' ELSE 'ACQUIRED' END, '', '', v_fence, v_acquired_ts, v_expires_ts,
        v_ttl_seconds, v_note
    )::get_appl_lock_answer;
END
$$;

COMMENT ON FUNCTION get_appl_lock_row(text, text, text, text, bigint, text) IS
    'Take or renew the lock on an object for one operator until it expires; the answer is one row.';

REVOKE ALL ON FUNCTION get_appl_lock_row(text, text, text, text, bigint, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE get_appl_lock(
    IN p_object_type text,
    IN p_object_id text,
    IN p_operator_id text,
    IN p_department_id text DEFAULT NULL,
    IN p_ttl_seconds bigint DEFAULT NULL,
    IN p_new_fl text DEFAULT NULL,
    INOUT p_ok_fl character(1) DEFAULT NULL,
    INOUT p_outcome text DEFAULT NULL,
    INOUT p_old_operator_id text DEFAULT NULL,
    INOUT p_old_department_id text DEFAULT NULL,
    INOUT p_fence bigint DEFAULT NULL,
    INOUT p_acquired_ts timestamptz DEFAULT NULL,
    INOUT p_expires_ts timestamptz DEFAULT NULL,
    INOUT p_seconds_left bigint DEFAULT NULL,
    INOUT p_note text DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT
        r.p_ok_fl, r.p_outcome, r.p_old_operator_id, r.p_old_department_id, r.p_fence, r.p_acquired_ts, r.p_expires_ts,
        r.p_seconds_left, r.p_note
    INTO
        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_acquired_ts, p_expires_ts,
        p_seconds_left, p_note
    FROM get_appl_lock_row(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_ttl_seconds, p_new_fl
    ) AS r;
END
$$;

COMMENT ON PROCEDURE get_appl_lock(text, text, text, text, bigint, text, character, text, text, text, bigint, timestamptz, timestamptz, bigint, text) IS
    'Take or renew the lock on an object for one operator until it expires.';

REVOKE ALL ON PROCEDURE get_appl_lock(text, text, text, text, bigint, text, character, text, text, text, bigint, timestamptz, timestamptz, bigint, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- get_appl_lock_permit: take or renew one of the N permits of an object for one operator until it expires.
--
-- Contract   The permits are slots: the objects p_object_id#1 to p_object_id#N of the type, N being p_permits. A slot is an
--            object like any other: release, inquire, transfer, assert and the rest take its id.
--            ACQUIRED: a slot was free or had expired; a new grant, a greater fence. RENEWED: this operator holds a slot; same
--            grant and fence. One row has the slot.
--            FULL: others held each slot when the call looked at it. One row for each, the soonest to expire first; one that has
--            become free since comes first, without a holder: call again.
--            Lowering the number frees nothing. A slot above N is neither granted, renewed nor counted: it stays with its
--            holder until released or expired.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1 or more, with "#N" 255 at the most; p_permits 1..1000;
--            p_operator_id 1..255; p_department_id 0..64, NULL = the grant's in a renewal, else empty; p_ttl_seconds
--            1..315360000, NULL = the grant's in a renewal, else the policy's, else 604800. Trailing blanks are trimmed first.
-- Out        outcome, slot_id, operator_id, department_id, fence, acquired_ts, expires_ts, seconds_left (from now to
--            expires_ts), note (the grant's). Of a slot that has become free the texts are empty, the numbers 0 and the times NULL.
-- Raises     LK001 invalid argument. LK003, 55P03, 40001 and 40P01 as get_appl_lock.
-- Locks      S1 and S3 read without a lock, so FULL locks nothing. S2 is get_appl_lock for one slot, with its locks.
-- Race-free  Never more than N: each grant is one of get_appl_lock on one of N rows.
--            Two for the last slot: get_appl_lock lets one have it. The other looks again, for slots that it has not tried, and
--            so ends after N rounds at the most.
--            The same operator twice at once: both begin with the same slot, and the second renews it. Only where that slot
--            changes hands between the two S1 may each get a slot of its own; later calls renew one of them.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION get_appl_lock_permit(
    p_object_type text,
    p_object_id text,
    p_permits bigint,
    p_operator_id text,
    p_department_id text DEFAULT NULL,
    p_ttl_seconds bigint DEFAULT NULL,
    OUT outcome text,
    OUT slot_id text,
    OUT operator_id text,
    OUT department_id text,
    OUT fence bigint,
    OUT acquired_ts timestamptz,
    OUT expires_ts timestamptz,
    OUT seconds_left bigint,
    OUT note text
) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
-- Force an index, whatever the statistics say.
SET enable_seqscan = 'off'
AS $$
DECLARE
    p_object_type text COLLATE "C" := get_appl_lock_permit.p_object_type;
    p_object_id text COLLATE "C" := get_appl_lock_permit.p_object_id;
    p_operator_id text COLLATE "C" := get_appl_lock_permit.p_operator_id;
    p_department_id text COLLATE "C" := get_appl_lock_permit.p_department_id;
    v_object_type text COLLATE "C" := appl_lock_text('get_appl_lock_permit', 'p_object_type', p_object_type, 64, true);
    v_permits bigint := appl_lock_number('get_appl_lock_permit', 'p_permits', p_permits, 0, 1000);
    v_prefix text COLLATE "C" := appl_lock_text(
        'get_appl_lock_permit', 'p_object_id', p_object_id, 254 - char_length(v_permits::text), true
    ) || '#';
    v_operator_id text COLLATE "C" := appl_lock_text('get_appl_lock_permit', 'p_operator_id', p_operator_id, 255, true);
    v_department_id text COLLATE "C" := appl_lock_text('get_appl_lock_permit', 'p_department_id', p_department_id, 64, false);
    v_first bigint := mod(hashtext(v_operator_id)::bigint + 2147483648, v_permits);
    v_tried bigint[] := '{}';
    v_now timestamptz;
    v_slot bigint;
    v_own_department_id text COLLATE "C";
    v_got record;
BEGIN
    PERFORM appl_lock_number('get_appl_lock_permit', 'p_ttl_seconds', p_ttl_seconds, 604800, 315360000);
    LOOP
        -- S1: the operator's own slot, or else the next free one. The LIMIT forces a lookup by key for each slot.
        v_now := clock_timestamp();
        SELECT s.slot, l.department_id
        INTO v_slot, v_own_department_id
        FROM generate_series(1::bigint, v_permits) AS s (slot)
        LEFT JOIN LATERAL (
            SELECT h.operator_id, h.department_id
            FROM appl_lock AS h
            WHERE h.object_type::text = v_object_type
                AND h.object_id::text = v_prefix || s.slot::text
                AND h.released_ts IS NULL
                AND h.expires_ts > v_now
            LIMIT 1
        ) AS l ON true
        WHERE (l.operator_id IS NULL OR l.operator_id::text = v_operator_id)
            AND s.slot <> ALL (v_tried)
        ORDER BY l.operator_id IS NULL, mod(s.slot - v_first + v_permits, v_permits)
        LIMIT 1;
        EXIT WHEN NOT FOUND;

        -- S2: get it.
        v_got := get_appl_lock_row(v_object_type, v_prefix || v_slot::text, v_operator_id, p_department_id, p_ttl_seconds, 'N'::text);
        IF v_got.p_ok_fl = 'Y' THEN
            outcome := v_got.p_outcome;
            slot_id := v_prefix || v_slot::text;
            operator_id := v_operator_id;
            department_id := v_department_id;
            IF p_department_id IS NULL AND outcome = 'RENEWED' THEN
                department_id := coalesce(v_own_department_id, '');
            END IF;
            fence := v_got.p_fence;
            acquired_ts := v_got.p_acquired_ts;
            expires_ts := v_got.p_expires_ts;
            seconds_left := v_got.p_seconds_left;
            note := v_got.p_note;
            RETURN NEXT;
            RETURN;
        END IF;
        v_tried := pg_catalog.array_append(v_tried, v_slot);
    END LOOP;

    -- S3: who holds them?
    v_now := clock_timestamp();
    RETURN QUERY
    SELECT
        'FULL',
        v_prefix || s.slot::text,
        coalesce(l.operator_id, '')::text,
        coalesce(l.department_id, '')::text,
        coalesce(l.fence, 0),
        l.acquired_ts,
        l.expires_ts,
        CASE WHEN l.expires_ts IS NULL THEN 0 ELSE appl_lock_seconds_left(l.expires_ts) END,
        coalesce(l.note, '')::text
    FROM generate_series(1::bigint, v_permits) AS s (slot)
    LEFT JOIN LATERAL (
        SELECT h.operator_id, h.department_id, h.fence, h.acquired_ts, h.expires_ts, h.note
        FROM appl_lock AS h
        WHERE h.object_type::text = v_object_type
            AND h.object_id::text = v_prefix || s.slot::text
            AND h.released_ts IS NULL
            AND h.expires_ts > v_now
        LIMIT 1
    ) AS l ON true
    ORDER BY l.expires_ts NULLS FIRST, s.slot;
END
$$;

COMMENT ON FUNCTION get_appl_lock_permit(text, text, bigint, text, text, bigint) IS
    'Take or renew one of the N permits of an object for one operator until it expires.';

REVOKE ALL ON FUNCTION get_appl_lock_permit(text, text, bigint, text, text, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- inbox_appl_locks: report what others did with an operator's locks, who waits or asks for them, and how its own requests were
-- answered. Call it once in each heartbeat.
--
-- Contract   At most p_max_rows rows. First the events behind p_position, in their order. TAKEN: another operator has taken
--            this one's lock or handed it on to a third. HANDED: another operator has transferred a lock to this one. RELEASED:
--            another operator has ended its lock. GIVEN and YIELDED: its lock went to an asker; they appear even if this
--            operator was the actor. Then, oldest first, AWAITED: another operator waits or asks for a lock of this one. LATER
--            and DECLINED: a holder has answered this one's request. A request that was answered NO leaves the holder's inbox.
--            A lock that had expired before another operator got it is no TAKEN.
--            Events and the rest have half of the page each, and what the other leaves of its half. The next call passes
--            next_position; where there is no row, its position stays. So each event is told once, also one whose transaction
--            commits after later ones were told.
-- In         p_operator_id 1..255, without trailing blanks; p_position, NULL or '' = from the start: the number up to which all
--            is told, then numbers and ranges that are told, as in 120,124,130-141; p_max_rows 1..10000, NULL = 1000.
-- Out        kind; event_id, 0 unless an event; object_type; object_id; other_operator_id and other_department_id, the new
--            holder (TAKEN, GIVEN, YIELDED), the former one (HANDED), the waiter (AWAITED) or, without department, the actor
--            (RELEASED, LATER, DECLINED); event_ts, of the event or of the wait's begin; seconds_left of this operator's lock,
--            0 unless AWAITED; reason; next_position, the same in each row; message, client_id and fence of a request to
--            answer, else empty and 0.
-- Raises     LK001 invalid argument. 40001 where S3 writes above READ COMMITTED, as the engine has it.
-- Locks      Never waits. It reads by index only: the operator's own events behind the first number of p_position, the waiters
--            and requests for what it holds, its own requests, and the locks by key. S1 goes back in doubling steps, with one
--            event each. S3 writes once for each request shown, only where a type's policy has a yield, and only in a
--            transaction that may write.
-- Race-free  The page is one snapshot, and next_position has the numbers that it has told, so a later commit is news whatever
--            its number. S1 says up to which number all is visible. A transaction that is not visible has the id xmin or a
--            greater one. Where the next_xid of an event is not above xmin, such a transaction got its id, and so its numbers,
--            after that event (appl_lock_record). That holds at each isolation level. A full page ends before events that it
--            leaves out. In a restored dump next_xid may be another cluster's. Restored events have smaller numbers than all
--            later ones, so each of them is safe, and until then their numbers are told one by one.
-- Differs    Nothing: this is the reference. A function here, because it returns rows. A position is longer the more events of
--            the operator are told while a transaction is open that began before them.

CREATE OR REPLACE FUNCTION inbox_appl_locks(
    p_operator_id text,
    p_position text DEFAULT NULL,
    p_max_rows bigint DEFAULT NULL,
    OUT kind text,
    OUT event_id bigint,
    OUT object_type text,
    OUT object_id text,
    OUT other_operator_id text,
    OUT other_department_id text,
    OUT event_ts timestamptz,
    OUT seconds_left bigint,
    OUT reason text,
    OUT next_position text,
    OUT message text,
    OUT client_id text,
    OUT fence bigint
) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
-- Force an index, in its order, whatever the statistics say.
SET enable_seqscan = 'off'
SET enable_bitmapscan = 'off'
-- The plan's estimate is high, so JIT would compile it in each call, which takes longer than the query.
SET jit = 'off'
AS $$
DECLARE
    p_operator_id text COLLATE "C" := inbox_appl_locks.p_operator_id;
    p_position text COLLATE "C" := inbox_appl_locks.p_position;
    v_operator_id text COLLATE "C" := appl_lock_text('inbox_appl_locks', 'p_operator_id', p_operator_id, 255, true);
    v_position text COLLATE "C" := coalesce(nullif(p_position, ''), '0');
    v_after_event_id bigint;
    v_told int8multirange;
    v_max_rows bigint := appl_lock_number('inbox_appl_locks', 'p_max_rows', p_max_rows, 1000, 10000);
    v_now timestamptz := clock_timestamp();
    v_xmin xid8 := pg_snapshot_xmin(pg_current_snapshot());
    v_safe_event_id bigint;
    v_event_id bigint := 9223372036854775807;
    v_step bigint := 1;
    v_next_xid xid8;
    v_page int8multirange;
    v_last_event_id bigint;
    v_unshown tid;
    v_shown tid[] := '{}';
BEGIN
    BEGIN
        v_after_event_id := substring(v_position FROM '^[0-9]+')::bigint;
        SELECT pg_catalog.range_agg(pg_catalog.int8range(
            CASE WHEN t.place > 1 THEN pg_catalog.split_part(t.numbers, '-'::text, 1::integer)::bigint END,
            pg_catalog.split_part(t.numbers, '-'::text, -1::integer)::bigint, '[]'::text
        ))
        INTO STRICT v_told
        FROM pg_catalog.unnest(pg_catalog.string_to_array(v_position, ','::text)) WITH ORDINALITY AS t (numbers, place);
    EXCEPTION WHEN data_exception THEN
        v_after_event_id := NULL;
    END;
    IF v_position !~ '^[0-9]{1,18}(,[0-9][0-9,-]*)?$' OR v_after_event_id IS NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'LK001',
            MESSAGE = 'inbox_appl_locks: p_position is not one of its answers',
            COLUMN = 'p_position';
    END IF;
    v_safe_event_id := v_after_event_id;

    -- S1: the latest event with no open transaction before it.
    LOOP
        SELECT e.event_id, e.next_xid
        INTO v_event_id, v_next_xid
        FROM appl_lock_event AS e
        WHERE e.event_id <= v_event_id
            AND e.event_id > v_after_event_id
        ORDER BY e.event_id DESC
        LIMIT 1;
        EXIT WHEN NOT FOUND;
        v_safe_event_id := CASE WHEN v_next_xid <= v_xmin THEN v_event_id ELSE v_after_event_id END;
        EXIT WHEN v_next_xid <= v_xmin;
        v_event_id := v_event_id - v_step;
        v_step := v_step * 2;
    END LOOP;

    -- S2: the page.
    FOR
        kind, event_id, object_type, object_id, other_operator_id, other_department_id, event_ts, seconds_left, reason,
        message, client_id, fence, v_unshown, v_page, v_last_event_id
    IN SELECT
        m.kind::text,
        m.event_id,
        m.object_type::text,
        m.object_id::text,
        m.other_operator_id::text,
        m.other_department_id::text,
        m.event_ts,
        m.seconds_left,
        m.reason::text,
        m.message::text,
        m.client_id::text,
        m.fence,
        m.unshown,
        pg_catalog.range_agg(pg_catalog.int8range(m.event_id, m.event_id, '[]'::text)) FILTER (WHERE m.part = 1) OVER (),
        CASE WHEN count(*) OVER () = v_max_rows THEN max(m.event_id) FILTER (WHERE m.part = 1) OVER () END
    FROM (
        SELECT
            p.*,
            row_number() OVER (
                PARTITION BY p.part
                ORDER BY p.event_id, p.event_ts, p.object_type, p.object_id, p.other_operator_id
            ) AS place
        FROM (
            -- Ordering by both columns of the index, without = for the first, keeps the planner from the primary key.
            (
                SELECT
                    1 AS part,
                    CASE e.event::text WHEN 'TRANSFERRED' THEN 'TAKEN' ELSE e.event END AS kind,
                    e.event_id,
                    e.object_type,
                    e.object_id,
                    CASE e.event::text WHEN 'RELEASED' THEN e.actor_id ELSE e.to_operator_id END AS other_operator_id,
                    e.to_department_id AS other_department_id,
                    e.event_ts,
                    0::bigint AS seconds_left,
                    e.reason,
                    '' AS message,
                    '' AS client_id,
                    0::bigint AS fence,
                    NULL::tid AS unshown
                FROM appl_lock_event AS e
                WHERE (e.from_operator_id::text, e.event_id) > (v_operator_id, v_after_event_id)
                    AND e.from_operator_id::text <= v_operator_id
                    AND e.event::text IN ('TAKEN', 'TRANSFERRED', 'RELEASED', 'GIVEN', 'YIELDED')
                    AND (e.actor_id::text <> v_operator_id OR e.event::text IN ('GIVEN', 'YIELDED'))
                    AND e.to_operator_id::text <> v_operator_id
                    AND NOT e.event_id OPERATOR(pg_catalog.<@) v_told
                ORDER BY e.from_operator_id, e.event_id
                LIMIT v_max_rows
            )
            UNION ALL
            (
                SELECT
                    1,
                    'HANDED',
                    e.event_id,
                    e.object_type,
                    e.object_id,
                    e.from_operator_id,
                    e.from_department_id,
                    e.event_ts,
                    0,
                    e.reason,
                    '', '', 0, NULL
                FROM appl_lock_event AS e
                WHERE (e.to_operator_id::text, e.event_id) > (v_operator_id, v_after_event_id)
                    AND e.to_operator_id::text <= v_operator_id
                    AND e.event::text IN ('TRANSFERRED', 'GIVEN', 'YIELDED')
                    AND (e.actor_id::text <> v_operator_id OR e.event::text = 'YIELDED')
                    AND NOT e.event_id OPERATOR(pg_catalog.<@) v_told
                ORDER BY e.to_operator_id, e.event_id
                LIMIT v_max_rows
            )
            UNION ALL
            SELECT
                2,
                'AWAITED',
                0,
                w.object_type,
                w.object_id,
                w.operator_id,
                w.department_id,
                w.since_ts,
                appl_lock_seconds_left(l.expires_ts),
                '', '', '', 0, NULL
            FROM appl_lock_waiter AS w
            CROSS JOIN LATERAL (
                SELECT h.expires_ts
                FROM appl_lock AS h
                WHERE h.object_type::text = w.object_type::text
                    AND h.object_id::text = w.object_id::text
                    AND h.operator_id::text = v_operator_id
                    AND h.released_ts IS NULL
                    AND h.expires_ts > v_now
                LIMIT 1
            ) AS l
            WHERE w.holder_id::text = v_operator_id
                AND w.operator_id::text <> v_operator_id
                AND w.expires_ts > v_now
            UNION ALL
            SELECT
                2,
                'AWAITED',
                0,
                a.object_type,
                a.object_id,
                a.operator_id,
                a.department_id,
                a.since_ts,
                appl_lock_seconds_left(l.expires_ts),
                '',
                a.message,
                a.client_id,
                l.fence,
                CASE
                    WHEN a.shown_ts IS NULL AND a.fence = l.fence AND EXISTS (
                        SELECT
                        FROM appl_lock_policy AS y
                        WHERE y.object_type::text = a.object_type::text
                            AND y.yield_after_seconds IS NOT NULL
                    ) THEN a.ctid
                END
            FROM appl_lock_ask AS a
            CROSS JOIN LATERAL (
                SELECT h.expires_ts, h.fence
                FROM appl_lock AS h
                WHERE h.object_type::text = a.object_type::text
                    AND h.object_id::text = a.object_id::text
                    AND h.operator_id::text = v_operator_id
                    AND h.released_ts IS NULL
                    AND h.expires_ts > v_now
                LIMIT 1
            ) AS l
            WHERE a.holder_id::text = v_operator_id
                AND a.expires_ts > v_now
                AND a.answer::text <> 'NO'
            UNION ALL
            SELECT
                2,
                CASE a.answer::text WHEN 'NO' THEN 'DECLINED' ELSE 'LATER' END,
                0,
                a.object_type,
                a.object_id,
                a.holder_id,
                '',
                a.answered_ts,
                0,
                a.answer_reason,
                '', '', 0, NULL
            FROM appl_lock_ask AS a
            WHERE a.operator_id::text = v_operator_id
                AND a.expires_ts > v_now
                AND a.answer::text <> ''
        ) AS p
        ORDER BY place, p.part
        LIMIT v_max_rows
    ) AS m
    ORDER BY m.part, m.event_id, m.event_ts, m.object_type, m.object_id, m.other_operator_id
    LOOP
        IF next_position IS NULL THEN
            v_told := v_told
                OPERATOR(pg_catalog.+) coalesce(v_page, '{}'::int8multirange)
                OPERATOR(pg_catalog.+) pg_catalog.int8multirange(pg_catalog.int8range(NULL::bigint, least(v_safe_event_id, v_last_event_id), '[]'::text));
            SELECT string_agg(
                CASE
                    WHEN r.from_id < r.to_id THEN r.from_id::text || '-'::text || r.to_id::text
                    ELSE r.to_id::text
                END,
                ','
                ORDER BY r.to_id
            )
            INTO next_position
            FROM (
                SELECT pg_catalog.lower(u.told) AS from_id, pg_catalog.upper(u.told) - 1::bigint AS to_id
                FROM pg_catalog.unnest(v_told) AS u (told)
            ) AS r;
        END IF;
        RETURN NEXT;
        IF v_unshown IS NOT NULL THEN
            v_shown := pg_catalog.array_append(v_shown, v_unshown);
        END IF;
    END LOOP;

    -- S3: the page has shown these requests, so the time to answer them begins. By ctid: a row that has moved waits for the
    -- next page.
    IF pg_catalog.cardinality(v_shown) > 0 AND current_setting('transaction_read_only') = 'off' THEN
        UPDATE appl_lock_ask AS a
        SET shown_ts = clock_timestamp()
        WHERE a.ctid = ANY (ARRAY(
                SELECT s.ctid
                FROM appl_lock_ask AS s
                WHERE s.ctid = ANY (v_shown)
                FOR NO KEY UPDATE SKIP LOCKED
            ));
    END IF;
END
$$;

COMMENT ON FUNCTION inbox_appl_locks(text, text, bigint) IS
    'Report what others did with an operator''s locks, who waits or asks for them, and how its requests were answered.';

REVOKE ALL ON FUNCTION inbox_appl_locks(text, text, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- inquire_appl_lock: show who holds an object, since when and until when.
--
-- Contract   Y and the lock, when somebody holds the object. N and blanks (empty strings, fence 0, NULL timestamps), when it is
--            free or expired.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255. Trailing blanks are trimmed.
-- Out        p_ok_fl, p_operator_id, p_department_id, p_fence, p_acquired_ts, p_lock_ts, p_expires_ts,
--            p_seconds_left (from now to p_expires_ts, 0 when N), p_note (empty when N).
-- Raises     LK001 invalid argument. Nothing else on purpose.
-- Locks      Nothing; it neither waits nor writes.
-- Race-free  One read of one committed row version: what it says was true at one moment.
--            REPEATABLE READ and SERIALIZABLE: that moment is the transaction's snapshot.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION inquire_appl_lock_row(
    p_object_type text,
    p_object_id text
)
-- A named row, because OUT parameters are described anew in each call.
RETURNS inquire_appl_lock_answer
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
DECLARE
    p_object_type text COLLATE "C" := inquire_appl_lock_row.p_object_type;
    p_object_id text COLLATE "C" := inquire_appl_lock_row.p_object_id;
    v_answer inquire_appl_lock_answer;
BEGIN
    LOOP
        SELECT
            'Y',
            l.operator_id,
            l.department_id,
            l.fence,
            l.acquired_ts,
            l.lock_ts,
            l.expires_ts,
            appl_lock_seconds_left(l.expires_ts),
            l.note
        INTO v_answer
        FROM appl_lock AS l
        WHERE l.object_type::text = p_object_type
            AND l.object_id::text = p_object_id
            AND l.released_ts IS NULL
            AND l.expires_ts > clock_timestamp();
        IF FOUND THEN
            RETURN v_answer;
        END IF;
        -- No row matched: the arguments may have trailing blanks, or be invalid.
        IF (
            p_object_type NOT LIKE '% '
            AND p_object_id NOT LIKE '% '
            AND char_length(p_object_type) BETWEEN 1 AND 64
            AND position(':' IN p_object_type) = 0
            AND char_length(p_object_id) BETWEEN 1 AND 255
            AND p_object_type || p_object_id !~ E'[\\x01-\\x1f\\x7f-\\u009f]'
        ) OR (
            p_object_type = appl_lock_text('inquire_appl_lock', 'p_object_type', p_object_type, 64, true)
            AND p_object_id = appl_lock_text('inquire_appl_lock', 'p_object_id', p_object_id, 255, true)
        ) THEN
            RETURN ROW('N', '', '', 0, NULL, NULL, NULL, 0, '')::inquire_appl_lock_answer;
        END IF;
        p_object_type := rtrim(p_object_type, ' ');
        p_object_id := rtrim(p_object_id, ' ');
    END LOOP;
END
$$;

COMMENT ON FUNCTION inquire_appl_lock_row(text, text) IS
    'Show who holds an object, since when and until when; the answer is one row.';

REVOKE ALL ON FUNCTION inquire_appl_lock_row(text, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE inquire_appl_lock(
    IN p_object_type text,
    IN p_object_id text,
    INOUT p_ok_fl character(1) DEFAULT NULL,
    INOUT p_operator_id text DEFAULT NULL,
    INOUT p_department_id text DEFAULT NULL,
    INOUT p_fence bigint DEFAULT NULL,
    INOUT p_acquired_ts timestamptz DEFAULT NULL,
    INOUT p_lock_ts timestamptz DEFAULT NULL,
    INOUT p_expires_ts timestamptz DEFAULT NULL,
    INOUT p_seconds_left bigint DEFAULT NULL,
    INOUT p_note text DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT
        r.p_ok_fl, r.p_operator_id, r.p_department_id, r.p_fence, r.p_acquired_ts, r.p_lock_ts, r.p_expires_ts,
        r.p_seconds_left, r.p_note
    INTO
        p_ok_fl, p_operator_id, p_department_id, p_fence, p_acquired_ts, p_lock_ts, p_expires_ts, p_seconds_left, p_note
    FROM inquire_appl_lock_row(
        p_object_type, p_object_id
    ) AS r;
END
$$;

COMMENT ON PROCEDURE inquire_appl_lock(text, text, character, text, text, bigint, timestamptz, timestamptz, timestamptz, bigint, text) IS
    'Show who holds an object, since when and until when.';

REVOKE ALL ON PROCEDURE inquire_appl_lock(text, text, character, text, text, bigint, timestamptz, timestamptz, timestamptz, bigint, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- note_appl_lock: leave a note on why an operator holds an object, for everybody to read.
--
-- Contract   Y NOTED: the operator holds it (this very grant, if p_fence is given), and this is its note now. It lasts
--            as long as the grant, through renewals; the next grant begins without one.
--            N FREE: nobody holds it; nothing changed.
--            N HELD: another operator, or another grant than p_fence, holds it; p_old_* tell who. Nothing changed.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255;
--            p_fence 1 or greater, NULL = any grant; p_note 0..255, NULL = empty. Trailing blanks are trimmed first.
-- Out        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD).
-- Raises     LK001 invalid argument. LK003 when the object changed thirty times during the call.
--            55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has them.
-- Locks      S1 locks the object's row if it has this grant, to the end of the caller's transaction. It neither locks nor waits
--            for another operator's row. S2 reads without a lock and answers HELD and FREE.
-- Race-free  S1 reads, decides and writes in one statement that names the grant: a note never lands on another grant. Note
--            against renewal: the later one changes the row that the other has left, so both count.
--            If S2 sees a grant of this operator that S1 could not see, the call begins again.
--            REPEATABLE READ and SERIALIZABLE: S1 on a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION note_appl_lock_row(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_fence bigint DEFAULT NULL,
    p_note text DEFAULT NULL,
    OUT p_ok_fl character(1),
    OUT p_outcome text,
    OUT p_old_operator_id text,
    OUT p_old_department_id text
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    p_object_type text COLLATE "C" := note_appl_lock_row.p_object_type;
    p_object_id text COLLATE "C" := note_appl_lock_row.p_object_id;
    p_operator_id text COLLATE "C" := note_appl_lock_row.p_operator_id;
    p_note text COLLATE "C" := note_appl_lock_row.p_note;
    v_object_type text COLLATE "C" := appl_lock_text('note_appl_lock', 'p_object_type', p_object_type, 64, true);
    v_object_id text COLLATE "C" := appl_lock_text('note_appl_lock', 'p_object_id', p_object_id, 255, true);
    v_operator_id text COLLATE "C" := appl_lock_text('note_appl_lock', 'p_operator_id', p_operator_id, 255, true);
    v_fence bigint := CASE
        WHEN p_fence IS NOT NULL THEN appl_lock_number('note_appl_lock', 'p_fence', p_fence, NULL::integer, NULL::integer)
    END;
    v_note text COLLATE "C" := appl_lock_text('note_appl_lock', 'p_note', p_note, 255, false);
    v_holds boolean;
BEGIN
    FOR v_round IN 1..30 LOOP
        -- S1: note it on this grant.
        UPDATE appl_lock AS l
        SET note = v_note
        WHERE l.object_type::text = v_object_type
            AND l.object_id::text = v_object_id
            AND l.operator_id::text = v_operator_id
            AND l.fence = coalesce(v_fence, l.fence)
            AND l.released_ts IS NULL
            AND l.expires_ts > clock_timestamp();
        IF FOUND THEN
            p_ok_fl := 'Y';
            p_outcome := 'NOTED';
            p_old_operator_id := '';
            p_old_department_id := '';
            RETURN;
        END IF;

        -- S2: why not?
        SELECT l.operator_id, l.department_id, l.operator_id::text = v_operator_id AND l.fence = coalesce(v_fence, l.fence)
        INTO p_old_operator_id, p_old_department_id, v_holds
        FROM appl_lock AS l
        WHERE l.object_type::text = v_object_type
            AND l.object_id::text = v_object_id
            AND l.released_ts IS NULL
            AND l.expires_ts > clock_timestamp();
        IF NOT FOUND THEN
            p_ok_fl := 'N';
            p_outcome := 'FREE';
            p_old_operator_id := '';
            p_old_department_id := '';
            RETURN;
        END IF;
        IF NOT v_holds THEN
            p_ok_fl := 'N';
            p_outcome := 'HELD';
            RETURN;
        END IF;
    END LOOP;
    RAISE EXCEPTION USING
        ERRCODE = 'LK003',
        MESSAGE = pg_catalog.format('note_appl_lock: %s:%s changed hands during the call; call again', v_object_type, v_object_id);
END
$$;

COMMENT ON FUNCTION note_appl_lock_row(text, text, text, bigint, text) IS
    'Leave a note on why an operator holds an object, for everybody to read; the answer is one row.';

REVOKE ALL ON FUNCTION note_appl_lock_row(text, text, text, bigint, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE note_appl_lock(
    IN p_object_type text,
    IN p_object_id text,
    IN p_operator_id text,
    IN p_fence bigint DEFAULT NULL,
    IN p_note text DEFAULT NULL,
    INOUT p_ok_fl character(1) DEFAULT NULL,
    INOUT p_outcome text DEFAULT NULL,
    INOUT p_old_operator_id text DEFAULT NULL,
    INOUT p_old_department_id text DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT
        r.p_ok_fl, r.p_outcome, r.p_old_operator_id, r.p_old_department_id
    INTO
        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id
    FROM note_appl_lock_row(
        p_object_type, p_object_id, p_operator_id, p_fence, p_note
    ) AS r;
END
$$;

COMMENT ON PROCEDURE note_appl_lock(text, text, text, bigint, text, character, text, text, text) IS
    'Leave a note on why an operator holds an object, for everybody to read.';

REVOKE ALL ON PROCEDURE note_appl_lock(text, text, text, bigint, text, character, text, text, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- poll_appl_locks: show which objects that a program waits for are free or will be next, and keep its waiters listed.
--
-- Contract   One row for each object that a waiter of the program still waits for: free objects first, then by the end of their
--            locks, at most p_max_rows. A lock may be renewed or released meanwhile. It is the turn of the program whose waiter
--            has been listed longest. The program's waiters stay listed for 30 s or more, with the object's present holder once that
--            has had it for a second: while an object goes from hand to hand, polls write nothing.
-- In         p_client_id 1..64, the waiting program. p_max_rows 1..10000, NULL = 1000. Trailing blanks are
--            trimmed first.
-- Out        object_type, object_id, free_in_us (microseconds until the lock ends, 0 when the object is free),
--            first_fl (Y when it is free, and the turn of this program; otherwise N), ordered by free_in_us, object_type,
--            object_id.
-- Raises     LK001 invalid argument. 40001 as the engine has it.
-- Locks      Normally nothing. Once in 30 s S1, and S3 after a change of holders, lock rows of the program in appl_lock_waiter,
--            to the end of the caller's transaction; they skip rows that another transaction is changing.
-- Race-free  Against announce and retract of a row: they keep it listed or end it themselves; poll passes over it.
--            S2 was true at one moment: only a get decides.
--            REPEATABLE READ and SERIALIZABLE: S1 or S3 on a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION poll_appl_locks(
    p_client_id text,
    p_max_rows bigint DEFAULT NULL,
    OUT object_type text,
    OUT object_id text,
    OUT free_in_us bigint,
    OUT first_fl text
) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
-- Force an index, whatever the statistics say.
SET enable_seqscan = 'off'
AS $$
DECLARE
    p_client_id text COLLATE "C" := poll_appl_locks.p_client_id;
    v_client_id text COLLATE "C" := appl_lock_text('poll_appl_locks', 'p_client_id', p_client_id, 64, true);
    v_max_rows bigint := appl_lock_number('poll_appl_locks', 'p_max_rows', p_max_rows, 1000, 10000);
    v_now timestamptz := clock_timestamp();
    v_holders_changed boolean;
BEGIN
    -- S1: keep the waiters listed, all of them as soon as one of them must be.
    IF EXISTS (
        SELECT
        FROM appl_lock_waiter AS w
        WHERE w.client_id::text = v_client_id
            AND w.expires_ts < v_now + interval '30 seconds'
            AND (w.until_ts IS NULL OR (w.until_ts > v_now AND w.until_ts > w.expires_ts))
    ) THEN
        -- By ctid: a row that has just moved is being kept or ended by another call.
        UPDATE appl_lock_waiter AS w
        SET expires_ts = least(v_now + interval '60 seconds', w.until_ts)
        WHERE w.ctid = ANY (ARRAY(
                SELECT k.ctid
                FROM appl_lock_waiter AS k
                WHERE k.client_id::text = v_client_id
                    AND (k.until_ts IS NULL OR (k.until_ts > v_now AND k.until_ts > k.expires_ts))
                FOR NO KEY UPDATE SKIP LOCKED
            ));
    END IF;

    -- S2: when will each be free? The LIMIT forces a lookup by key for each object: a join would begin with the table that the
    -- statistics call small.
    FOR object_type, object_id, free_in_us, first_fl, v_holders_changed IN
        SELECT
            w.object_type,
            w.object_id,
            CASE
                WHEN l.expires_ts IS NULL THEN 0
                ELSE (extract(epoch FROM least(l.expires_ts, '2262-01-01 00:00:00+00'::timestamptz) - v_now) * 1000000::numeric)::bigint
            END AS free_in_us,
            CASE
                WHEN l.expires_ts IS NOT NULL THEN 'N'
                WHEN EXISTS (
                    SELECT
                    FROM appl_lock_waiter AS o
                    WHERE o.object_type::text = w.object_type::text
                        AND o.object_id::text = w.object_id::text
                        AND o.expires_ts > v_now
                        AND o.since_ts < w.since_ts
                ) THEN 'N'
                ELSE 'Y'
            END AS first_fl,
            bool_or(l.operator_id::text <> ANY (w.holders) AND l.acquired_ts < v_now - interval '1 second') OVER ()
        FROM (
            SELECT r.object_type, r.object_id, pg_catalog.array_agg(r.holder_id::text) AS holders, min(r.since_ts) AS since_ts
            FROM appl_lock_waiter AS r
            WHERE r.client_id::text = v_client_id
                AND (r.until_ts IS NULL OR r.until_ts > v_now)
            GROUP BY r.object_type, r.object_id
        ) AS w
        LEFT JOIN LATERAL (
            SELECT h.operator_id, h.acquired_ts, h.expires_ts
            FROM appl_lock AS h
            WHERE h.object_type::text = w.object_type::text
                AND h.object_id::text = w.object_id::text
                AND h.released_ts IS NULL
                AND h.expires_ts > v_now
            LIMIT 1
        ) AS l ON true
        ORDER BY 3, w.object_type, w.object_id
        LIMIT v_max_rows
    LOOP
        RETURN NEXT;
    END LOOP;

    -- S3: store the new holders, for their inboxes.
    IF v_holders_changed THEN
        UPDATE appl_lock_waiter AS w
        SET holder_id = k.now_id
        FROM (
            SELECT r.ctid, l.operator_id AS now_id
            FROM appl_lock_waiter AS r
            CROSS JOIN LATERAL (
                SELECT h.operator_id
                FROM appl_lock AS h
                WHERE h.object_type::text = r.object_type::text
                    AND h.object_id::text = r.object_id::text
                    AND h.released_ts IS NULL
                    AND h.expires_ts > v_now
                    AND h.acquired_ts < v_now - interval '1 second'
                LIMIT 1
            ) AS l
            WHERE r.client_id::text = v_client_id
                AND r.holder_id::text <> l.operator_id::text
            FOR NO KEY UPDATE OF r SKIP LOCKED
        ) AS k
        WHERE w.ctid = k.ctid;
    END IF;
END
$$;

COMMENT ON FUNCTION poll_appl_locks(text, bigint) IS
    'Show which objects that a program waits for are free or will be next, and keep its waiters listed.';

REVOKE ALL ON FUNCTION poll_appl_locks(text, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- purge_appl_lock_history: remove old events from the history.
--
-- Contract   Deletes at most p_max_rows events that happened more than p_older_than_seconds ago, the oldest first. An answer
--            below p_max_rows means that none is left before the first younger one. PURGED and HISTORY_PURGED, the records of
--            purges, stay for 400 days at least. If any went, the event HISTORY_PURGED has the number as its reason.
-- In         p_older_than_seconds 1..315360000, NULL = 34560000 (400 days). p_max_rows 1..10000, NULL = 1000.
-- Out        p_purged, the number of events removed.
-- Raises     LK001 invalid argument. 40001 as the engine has it.
-- Locks      The events it removes and the first that stays, to the end of the caller's transaction. It skips events that
--            another purge removes.
-- Race-free  An event never changes. Two at once remove different ones.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION purge_appl_lock_history_row(
    p_older_than_seconds bigint DEFAULT NULL,
    p_max_rows bigint DEFAULT NULL,
    OUT p_purged bigint
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_before timestamptz := v_now - pg_catalog.make_interval(
        secs => appl_lock_number('purge_appl_lock_history', 'p_older_than_seconds', p_older_than_seconds, 34560000, 315360000)
    );
    v_max_rows bigint := appl_lock_number('purge_appl_lock_history', 'p_max_rows', p_max_rows, 1000, 10000);
    v_old CURSOR FOR
        SELECT
            e.event_ts < v_before AS is_old,
            e.event::text IN ('PURGED', 'HISTORY_PURGED') AND e.event_ts >= v_now - interval '34560000 seconds' AS stays
        FROM appl_lock_event AS e
        ORDER BY e.event_id
        FOR UPDATE SKIP LOCKED;
BEGIN
    p_purged := 0;
    FOR v_row IN v_old LOOP
        EXIT WHEN NOT v_row.is_old;
        CONTINUE WHEN v_row.stays;
        DELETE FROM appl_lock_event WHERE CURRENT OF v_old;
        p_purged := p_purged + 1;
        EXIT WHEN p_purged = v_max_rows;
    END LOOP;
    IF p_purged > 0 THEN
        PERFORM appl_lock_record('HISTORY_PURGED', '', '', '', '', '', 0::bigint, '', '', 0::bigint, p_purged::text);
    END IF;
END
$$;

COMMENT ON FUNCTION purge_appl_lock_history_row(bigint, bigint) IS
    'Remove old events from the history; the answer is one row.';

REVOKE ALL ON FUNCTION purge_appl_lock_history_row(bigint, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE purge_appl_lock_history(
    IN p_older_than_seconds bigint DEFAULT NULL,
    IN p_max_rows bigint DEFAULT NULL,
    INOUT p_purged bigint DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT
        r.p_purged
    INTO
        p_purged
    FROM purge_appl_lock_history_row(
        p_older_than_seconds, p_max_rows
    ) AS r;
END
$$;

COMMENT ON PROCEDURE purge_appl_lock_history(bigint, bigint, bigint) IS
    'Remove old events from the history.';

REVOKE ALL ON PROCEDURE purge_appl_lock_history(bigint, bigint, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- purge_appl_locks: remove the rows of objects that have been free for long.
--
-- Contract   Deletes at most p_max_rows rows that expired or were released more than p_older_than_seconds ago. An answer below
--            p_max_rows means that none is left: call it until then. No live lock is ever touched. Only the last call, which
--            removes fewer, looks for waiters, requests and viewers that have been dead for as long. At most p_max_rows of each
--            go, and are not counted. If any row of a lock went, the event PURGED has the number as its reason.
-- In         p_older_than_seconds 1..315360000, NULL = 2592000 (30 days). p_max_rows 1..10000, NULL = 1000.
-- Out        p_purged, the number of rows of appl_lock removed.
-- Raises     LK001 invalid argument. 40001 as the engine has it.
-- Locks      The rows it removes, to the end of the caller's transaction. It skips rows that another transaction is changing.
--            S5 waits for another purge.
-- Race-free  Get of a row being purged: FOR UPDATE gives the row to one of them. Purge judges the row again once it is locked,
--            and a get that waited inserts a new row.
--            Fences never fall: S5 keeps the greatest fence removed in the same transaction, and the get that inserts looks for
--            it. A row whose fence lies in the future, because the clock was set back, stays.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION purge_appl_locks_row(
    p_older_than_seconds bigint DEFAULT NULL,
    p_max_rows bigint DEFAULT NULL,
    OUT p_purged bigint
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_before timestamptz := v_now - pg_catalog.make_interval(
        secs => appl_lock_number('purge_appl_locks', 'p_older_than_seconds', p_older_than_seconds, 2592000, 315360000)
    );
    v_max_rows bigint := appl_lock_number('purge_appl_locks', 'p_max_rows', p_max_rows, 1000, 10000);
    v_fence bigint := 0;
    v_free CURSOR FOR
        SELECT l.fence
        FROM appl_lock AS l
        WHERE coalesce(l.released_ts, l.expires_ts) < v_before
            AND l.fence < (extract(epoch FROM v_now) * 1000000::numeric)::bigint
        LIMIT v_max_rows
        FOR UPDATE SKIP LOCKED;
    v_dead CURSOR FOR
        SELECT
        FROM appl_lock_waiter AS w
        WHERE w.expires_ts < v_before
        LIMIT v_max_rows
        FOR UPDATE SKIP LOCKED;
    v_unasked CURSOR FOR
        SELECT
        FROM appl_lock_ask AS a
        WHERE a.expires_ts < v_before
        LIMIT v_max_rows
        FOR UPDATE SKIP LOCKED;
    v_gone CURSOR FOR
        SELECT
        FROM appl_lock_viewer AS v
        WHERE v.expires_ts < v_before
        LIMIT v_max_rows
        FOR UPDATE SKIP LOCKED;
BEGIN
    p_purged := 0;
    -- S1: the rows.
    FOR v_row IN v_free LOOP
        DELETE FROM appl_lock WHERE CURRENT OF v_free;
        v_fence := greatest(v_fence, v_row.fence);
        p_purged := p_purged + 1;
    END LOOP;
    IF p_purged < v_max_rows THEN
        -- S2: the waiters.
        FOR v_row IN v_dead LOOP
            DELETE FROM appl_lock_waiter WHERE CURRENT OF v_dead;
        END LOOP;
        -- S3: the requests.
        FOR v_row IN v_unasked LOOP
            DELETE FROM appl_lock_ask WHERE CURRENT OF v_unasked;
        END LOOP;
        -- S4: the viewers.
        FOR v_row IN v_gone LOOP
            DELETE FROM appl_lock_viewer WHERE CURRENT OF v_gone;
        END LOOP;
    END IF;
    IF p_purged > 0 THEN
        -- S5: the greatest fence.
        UPDATE appl_lock_fence AS f
        SET fence = v_fence
        WHERE f.fence < v_fence;
        PERFORM appl_lock_record('PURGED', '', '', '', '', '', 0::bigint, '', '', 0::bigint, p_purged::text);
    END IF;
END
$$;

COMMENT ON FUNCTION purge_appl_locks_row(bigint, bigint) IS
    'Remove the rows of objects that have been free for long; the answer is one row.';

REVOKE ALL ON FUNCTION purge_appl_locks_row(bigint, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE purge_appl_locks(
    IN p_older_than_seconds bigint DEFAULT NULL,
    IN p_max_rows bigint DEFAULT NULL,
    INOUT p_purged bigint DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT
        r.p_purged
    INTO
        p_purged
    FROM purge_appl_locks_row(
        p_older_than_seconds, p_max_rows
    ) AS r;
END
$$;

COMMENT ON PROCEDURE purge_appl_locks(bigint, bigint, bigint) IS
    'Remove the rows of objects that have been free for long.';

REVOKE ALL ON PROCEDURE purge_appl_locks(bigint, bigint, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- release_appl_lock: end the grant that an operator holds on an object.
--
-- Contract   Y RELEASED: the operator held it (this very grant, if p_fence is given); it is free now, and its note is cleared.
--            Y FREE: nobody holds it. If the operator's own grant had expired, it is marked as released.
--            N HELD: another operator, or another grant than p_fence, holds it; p_old_* tell who.
--            If somebody waits, the commit sends two notifications on the channel SCHEMA_appl_lock. The first is a colon and
--            the client that has waited longest, which is to try first. The second is the object as type:id. They are hints,
--            which may come late, needlessly or not at all.
--            A release by another actor, or with a reason, is an event, RELEASED. So is each release, also of an expired grant, if history was
--            ALL at the operator's last get.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255;
--            p_fence 1 or greater, NULL = any grant; p_actor_id 1..255, NULL = p_operator_id; p_reason 0..255, NULL = empty.
--            Trailing blanks are trimmed first.
-- Out        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD).
-- Raises     LK001 invalid argument. LK003 when the object changed thirty times during the call.
--            55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has them. A
--            transaction that has notified cannot be prepared for a two-phase commit (0A000).
-- Locks      S1 locks the object's row if it has this grant, to the end of the caller's transaction. It neither locks nor waits
--            for another operator's row. S2 reads without a lock and answers HELD and FREE. S3 locks the row of an expired grant,
--            and waits for a call that takes it over.
--            Notifications take their turn at commit.
-- Race-free  S1 reads, decides and writes in one statement that names the grant: a later grant never matches.
--            Two releases: the second finds the row released and answers FREE.
--            If S2 sees a grant of this operator that S1 missed, or that changed while S1 or S3 waited, the call begins again. So FREE
--            ends an expired grant for good: a renewal that was in time is there by then, and no later one finds it. An
--            uncommitted get is invisible: FREE, as for every reader.
--            A waiter that S1 cannot see yet is not notified: it must look again after it is listed.
--            REPEATABLE READ and SERIALIZABLE: S1 or S3 on a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION release_appl_lock_row(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_fence bigint DEFAULT NULL,
    p_actor_id text DEFAULT NULL,
    p_reason text DEFAULT NULL
)
-- A named row, because OUT parameters are described anew in each call.
RETURNS release_appl_lock_answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    p_object_type text COLLATE "C" := release_appl_lock_row.p_object_type;
    p_object_id text COLLATE "C" := release_appl_lock_row.p_object_id;
    p_operator_id text COLLATE "C" := release_appl_lock_row.p_operator_id;
    p_actor_id text COLLATE "C" := release_appl_lock_row.p_actor_id;
    p_reason text COLLATE "C" := release_appl_lock_row.p_reason;
    v_actor_id text COLLATE "C";
    v_reason text COLLATE "C";
    v_awaited boolean;
    v_holder_id text COLLATE "C";
    v_holder_department_id text COLLATE "C";
    v_fence bigint;
    v_holds boolean;
    v_live boolean;
    v_released boolean;
    v_round integer;
    v_history_fl boolean;
BEGIN
    LOOP
        -- S1: end this grant. A match proves the arguments valid. Does anybody wait? While another session holds an old
        -- snapshot, all versions of a row stay: the newest is last in the index.
        UPDATE appl_lock AS l
        SET released_ts = clock_timestamp(), note = ''
        WHERE l.ctid = (
                SELECT k.ctid
                FROM appl_lock AS k
                WHERE k.object_type::text = p_object_type
                    AND k.object_id::text >= p_object_id
                    AND k.object_id::text <= p_object_id
                ORDER BY k.object_id DESC
                LIMIT 1
            )
            AND l.object_type::text = p_object_type
            AND l.object_id::text = p_object_id
            AND l.operator_id::text = p_operator_id
            AND l.fence = coalesce(p_fence, l.fence)
            AND l.released_ts IS NULL
            AND l.expires_ts > clock_timestamp()
        RETURNING l.department_id, l.fence, l.history_fl, EXISTS (
            SELECT
            FROM appl_lock_waiter AS w
            WHERE w.object_type::text = p_object_type
                AND w.object_id::text = p_object_id
                AND w.expires_ts > clock_timestamp()
        )
        INTO v_holder_department_id, v_fence, v_history_fl, v_awaited;
        IF FOUND THEN
            -- A pass sets applock.passing: the object is not free for others.
            IF v_awaited AND current_setting('applock.passing', true) IS DISTINCT FROM 'on' THEN
                -- The bound keeps a long line cheap; the cast cuts off what is too long for a channel.
                PERFORM
                    pg_notify(f.channel, ':' || f.client_id::text),
                    pg_notify(f.channel, p_object_type || ':' || p_object_id)
                FROM (
                    SELECT a.client_id, (current_schema()::text || '_appl_lock')::name::text AS channel
                    FROM (
                        SELECT w.client_id, w.since_ts
                        FROM appl_lock_waiter AS w
                        WHERE w.object_type::text = p_object_type
                            AND w.object_id::text = p_object_id
                            AND w.expires_ts > clock_timestamp()
                        LIMIT 100
                    ) AS a
                    ORDER BY a.since_ts
                    LIMIT 1
                ) AS f;
            END IF;
            IF v_history_fl OR p_actor_id IS NOT NULL OR p_reason IS NOT NULL THEN
                v_actor_id := appl_lock_text('release_appl_lock', 'p_actor_id', coalesce(p_actor_id, p_operator_id), 255, true);
                v_reason := appl_lock_text('release_appl_lock', 'p_reason', p_reason, 255, false);
                IF v_history_fl OR v_actor_id <> p_operator_id OR v_reason <> '' THEN
                    PERFORM appl_lock_record(
                        'RELEASED', p_object_type, p_object_id, v_actor_id,
                        p_operator_id, v_holder_department_id, v_fence, '', '', 0::bigint, v_reason
                    );
                END IF;
            END IF;
            RETURN ROW('Y', 'RELEASED', '', '')::release_appl_lock_answer;
        END IF;

        -- Arguments with trailing blanks match no grant.
        IF (p_object_type NOT LIKE '% ' AND p_object_id NOT LIKE '% ' AND p_operator_id NOT LIKE '% ') IS NOT TRUE THEN
            p_object_type := appl_lock_text('release_appl_lock', 'p_object_type', p_object_type, 64, true);
            p_object_id := appl_lock_text('release_appl_lock', 'p_object_id', p_object_id, 255, true);
            p_operator_id := appl_lock_text('release_appl_lock', 'p_operator_id', p_operator_id, 255, true);
            CONTINUE;
        END IF;
        -- Fast path: valid arguments pass in one expression. Anything else goes to the full checks, which raise LK001.
        IF (
            char_length(p_object_type) BETWEEN 1 AND 64
            AND position(':' IN p_object_type) = 0
            AND char_length(p_object_id) BETWEEN 1 AND 255
            AND char_length(p_operator_id) BETWEEN 1 AND 255
            AND p_object_type || p_object_id || p_operator_id !~ E'[\\x01-\\x1f\\x7f-\\u009f]'
            AND coalesce(p_fence, 1) >= 1
            AND coalesce(p_actor_id, p_reason) IS NULL
        ) IS NOT TRUE THEN
            PERFORM appl_lock_text('release_appl_lock', 'p_object_type', p_object_type, 64, true);
            PERFORM appl_lock_text('release_appl_lock', 'p_object_id', p_object_id, 255, true);
            PERFORM appl_lock_text('release_appl_lock', 'p_operator_id', p_operator_id, 255, true);
            PERFORM appl_lock_number('release_appl_lock', 'p_fence', p_fence, 1, NULL::integer);
            PERFORM appl_lock_text('release_appl_lock', 'p_actor_id', p_actor_id, 255, p_actor_id IS NOT NULL);
            PERFORM appl_lock_text('release_appl_lock', 'p_reason', p_reason, 255, false);
        END IF;

        -- S2: why not?
        SELECT l.operator_id, l.department_id, l.operator_id::text = p_operator_id AND l.fence = coalesce(p_fence, l.fence),
            l.released_ts IS NULL AND l.expires_ts > clock_timestamp(), l.released_ts IS NOT NULL
        INTO v_holder_id, v_holder_department_id, v_holds, v_live, v_released
        FROM appl_lock AS l
        WHERE l.object_type::text = p_object_type
            AND l.object_id::text = p_object_id;
        IF v_live IS NOT TRUE THEN
            IF v_holds AND NOT v_released THEN
                -- S3: mark the expired grant as released. A renewal that was in time may still be under way: then the call begins again.
                UPDATE appl_lock AS l
                SET released_ts = clock_timestamp(), note = ''
                WHERE l.object_type::text = p_object_type
                    AND l.object_id::text = p_object_id
                    AND l.operator_id::text = p_operator_id
                    AND l.fence = coalesce(p_fence, l.fence)
                    AND l.released_ts IS NULL
                    AND l.expires_ts <= clock_timestamp()
                RETURNING l.fence, l.history_fl
                INTO v_fence, v_history_fl;
                v_released := v_fence IS NOT NULL;
                IF v_history_fl THEN
                    PERFORM appl_lock_record(
                        'RELEASED', p_object_type, p_object_id,
                        appl_lock_text('release_appl_lock', 'p_actor_id', coalesce(p_actor_id, p_operator_id), 255, true),
                        p_operator_id, v_holder_department_id, v_fence, '', '', 0::bigint,
                        appl_lock_text('release_appl_lock', 'p_reason', p_reason, 255, false)
                    );
                END IF;
            END IF;
            IF (v_holds AND NOT v_released) IS NOT TRUE THEN
                RETURN ROW('Y', 'FREE', '', '')::release_appl_lock_answer;
            END IF;
        ELSIF NOT v_holds THEN
            RETURN ROW('N', 'HELD', v_holder_id, v_holder_department_id)::release_appl_lock_answer;
        END IF;
        v_round := coalesce(v_round, 0) + 1;
        EXIT WHEN v_round = 30;
    END LOOP;
    RAISE EXCEPTION USING
        ERRCODE = 'LK003',
        MESSAGE = pg_catalog.format('release_appl_lock: %s:%s changed hands during the call; call again', p_object_type, p_object_id);
END
$$;

COMMENT ON FUNCTION release_appl_lock_row(text, text, text, bigint, text, text) IS
    'End the grant that an operator holds on an object; the answer is one row.';

REVOKE ALL ON FUNCTION release_appl_lock_row(text, text, text, bigint, text, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE release_appl_lock(
    IN p_object_type text,
    IN p_object_id text,
    IN p_operator_id text,
    IN p_fence bigint DEFAULT NULL,
    IN p_actor_id text DEFAULT NULL,
    IN p_reason text DEFAULT NULL,
    INOUT p_ok_fl character(1) DEFAULT NULL,
    INOUT p_outcome text DEFAULT NULL,
    INOUT p_old_operator_id text DEFAULT NULL,
    INOUT p_old_department_id text DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT
        r.p_ok_fl, r.p_outcome, r.p_old_operator_id, r.p_old_department_id
    INTO
        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id
    FROM release_appl_lock_row(
        p_object_type, p_object_id, p_operator_id, p_fence, p_actor_id, p_reason
    ) AS r;
END
$$;

COMMENT ON PROCEDURE release_appl_lock(text, text, text, bigint, text, text, character, text, text, text) IS
    'End the grant that an operator holds on an object.';

REVOKE ALL ON PROCEDURE release_appl_lock(text, text, text, bigint, text, text, character, text, text, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- release_appl_locks: release what an operator holds, all or of a type, page by page.
--
-- Contract   A page is at most p_max_rows live locks of p_operator_id whose key is greater than (p_after_type, p_after_id), with a
--            row for each. The next page starts after the last row of this one; a page shorter than p_max_rows is the last.
--            RELEASED: it is free now, with an event and a notification, as release_appl_lock has them.
--            BUSY: another transaction has locked the object's row. HELD or FREE: it has changed hands since the page
--            was read; old_* and expires_ts tell who holds it. These are left as they are, and the next ones are done.
--            WOULD_RELEASE: p_dry_run_fl is Y, and nothing is done. A dry run reports no BUSY.
-- In         p_operator_id 1..255; p_object_type 1..64 without ":", NULL = any; p_actor_id 1..255, NULL = p_operator_id;
--            p_reason 0..255, NULL = empty; p_after_type 0..64, p_after_id 0..255, NULL = from the start; p_max_rows
--            1..10000, NULL = 1000; p_dry_run_fl Y or N, NULL or empty = N. Trailing blanks are trimmed first.
-- Out        object_type, object_id, outcome, old_operator_id, old_department_id (empty unless HELD), fence (of the operator's
--            grant; 0 when HELD or FREE), expires_ts (NULL when RELEASED or FREE), seconds_left, ordered by object_type,
--            object_id as bytes.
-- Raises     LK001 invalid argument: nothing is done. 40001 and 40P01 as the engine has them: the page is undone.
-- Locks      As appl_lock_move_page.
-- Race-free  As appl_lock_move_page. Two at once: one finds the other's rows BUSY, or FREE, and neither waits.
--            REPEATABLE READ and SERIALIZABLE: a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION release_appl_locks(
    p_operator_id text,
    p_object_type text DEFAULT NULL,
    p_actor_id text DEFAULT NULL,
    p_reason text DEFAULT NULL,
    p_after_type text DEFAULT NULL,
    p_after_id text DEFAULT NULL,
    p_max_rows bigint DEFAULT NULL,
    p_dry_run_fl text DEFAULT NULL,
    OUT object_type text,
    OUT object_id text,
    OUT outcome text,
    OUT old_operator_id text,
    OUT old_department_id text,
    OUT fence bigint,
    OUT expires_ts timestamptz,
    OUT seconds_left bigint
) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
-- Force the key, in its order, whatever the statistics say.
SET enable_seqscan = 'off'
SET enable_bitmapscan = 'off'
AS $$
DECLARE
    p_operator_id text COLLATE "C" := release_appl_locks.p_operator_id;
    p_object_type text COLLATE "C" := release_appl_locks.p_object_type;
    p_actor_id text COLLATE "C" := release_appl_locks.p_actor_id;
    p_reason text COLLATE "C" := release_appl_locks.p_reason;
    p_after_type text COLLATE "C" := release_appl_locks.p_after_type;
    p_after_id text COLLATE "C" := release_appl_locks.p_after_id;
    p_dry_run_fl text COLLATE "C" := release_appl_locks.p_dry_run_fl;
    v_operator_id text COLLATE "C" := appl_lock_text('release_appl_locks', 'p_operator_id', p_operator_id, 255, true);
    v_object_type text COLLATE "C" := appl_lock_text('release_appl_locks', 'p_object_type', p_object_type, 64, p_object_type IS NOT NULL);
BEGIN
    PERFORM appl_lock_text('release_appl_locks', 'p_actor_id', p_actor_id, 255, p_actor_id IS NOT NULL);
    PERFORM appl_lock_text('release_appl_locks', 'p_reason', p_reason, 255, false);
    RETURN QUERY
    SELECT m.*
    FROM appl_lock_move_page(
        v_operator_id, nullif(v_object_type, ''), NULL::text, NULL::text, NULL::bigint, p_actor_id, p_reason,
        appl_lock_text('release_appl_locks', 'p_after_type', p_after_type, 64, false),
        appl_lock_text('release_appl_locks', 'p_after_id', p_after_id, 255, false),
        appl_lock_number('release_appl_locks', 'p_max_rows', p_max_rows, 1000, 10000),
        appl_lock_yes('release_appl_locks', 'p_dry_run_fl', p_dry_run_fl)
    ) AS m;
END
$$;

COMMENT ON FUNCTION release_appl_locks(text, text, text, text, text, text, bigint, text) IS
    'Release what an operator holds, all or of a type, page by page.';

REVOKE ALL ON FUNCTION release_appl_locks(text, text, text, text, text, text, bigint, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- renew_appl_locks: renew many grants in one call, each by its fence.
--
-- Contract   RENEWED: this very grant is live; it lasts for its ttl from now, or as long as it did, if that is longer. So a
--            late renewal shortens nothing. The policy's longest ttl is the limit.
--            HELD: another operator or grant holds the object; old_*, acquired_ts and expires_ts tell who, since and until when.
--            FREE: nobody holds it: the grant has ended, and is not revived.
--            No row: another transaction is changing or asserting this lock. It is neither renewed nor lost; call again. So a
--            busy lock delays none of the others.
--            A renewal is an event, RENEWED, if history was ALL at the operator's last get.
-- In         p_grants, a JSON array of 0 to 10000 grants such as {"object_type": "customer", "object_id": "42",
--            "operator_id": "JDOE", "fence": 17, "ttl_seconds": 30}, with the limits of get_appl_lock and assert_appl_lock; all
--            five are required; each object at most once. Trailing blanks are trimmed first.
-- Out        object_type, object_id, outcome, old_operator_id, old_department_id (empty unless HELD), acquired_ts
--            (NULL unless HELD), expires_ts (NULL when FREE), seconds_left (from now to expires_ts, 0 when FREE), ordered by
--            object_type, object_id as bytes.
-- Raises     LK001 invalid argument: nothing has been renewed. 40001 as the engine has it.
-- Locks      S1 locks the row that it renews, one after the other in the order of their keys, to the end of the caller's
--            transaction. It skips a row that another transaction has locked.
-- Race-free  Against take-over, release or transfer: S1 locks the row, judges it as it is then, and changes it, in one statement.
--            S2 reports the other grants, later. A grant that is still live then has no row: another transaction had locked it,
--            or changed it after S1 began.
--            REPEATABLE READ and SERIALIZABLE: S1 on a row changed since the snapshot is 40001; HELD and FREE are as
--            the transaction sees them, as in inquire_appl_lock.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION renew_appl_locks(
    p_grants text,
    OUT object_type text,
    OUT object_id text,
    OUT outcome text,
    OUT old_operator_id text,
    OUT old_department_id text,
    OUT acquired_ts timestamptz,
    OUT expires_ts timestamptz,
    OUT seconds_left bigint
) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
-- Force the key, whatever the statistics say.
SET enable_seqscan = 'off'
AS $$
DECLARE
    p_grants text COLLATE "C" := renew_appl_locks.p_grants;
    v_types text[] COLLATE "C";
    v_ids text[] COLLATE "C";
    v_operators text[] COLLATE "C";
    v_fences bigint[];
    v_ttls bigint[];
    v_reason text COLLATE "C";
    v_operator_id text COLLATE "C";
    v_fence bigint;
    v_old_fence bigint;
    v_ttl_seconds bigint;
    v_now timestamptz;
    v_expires_ts timestamptz;
    v_department_id text COLLATE "C";
    v_history_fl boolean;
BEGIN
    IF p_grants IS NULL THEN
        v_reason := 'must not be empty';
    ELSE
        BEGIN
            SELECT
                pg_catalog.array_agg(rtrim(g.object_type, ' ')),
                pg_catalog.array_agg(rtrim(g.object_id, ' ')),
                pg_catalog.array_agg(rtrim(g.operator_id, ' ')),
                pg_catalog.array_agg(g.fence),
                pg_catalog.array_agg(g.ttl_seconds)
            INTO v_types, v_ids, v_operators, v_fences, v_ttls
            FROM jsonb_to_recordset(p_grants::jsonb)
                AS g (object_type text, object_id text, operator_id text, fence bigint, ttl_seconds bigint);
        EXCEPTION
            WHEN data_exception OR program_limit_exceeded THEN
                v_reason := pg_catalog.format('is not a list of grants: %s', SQLERRM);
        END;
    END IF;
    IF pg_catalog.cardinality(v_types) > 10000 THEN
        v_reason := pg_catalog.format('has %s grants, at most 10000 are allowed', pg_catalog.cardinality(v_types));
    END IF;
    IF v_reason IS NULL THEN
        SELECT pg_catalog.format('has %s in grant %s', b.what, g.place)
        INTO v_reason
        FROM (
            SELECT
                r.*,
                row_number() OVER (PARTITION BY r.object_type COLLATE "C", r.object_id COLLATE "C") AS times
            FROM unnest(v_types, v_ids, v_operators, v_fences, v_ttls) WITH ORDINALITY
                AS r (object_type, object_id, operator_id, fence, ttl_seconds, place)
        ) AS g
        CROSS JOIN LATERAL (
            SELECT CASE
                WHEN (
                    char_length(g.object_type) BETWEEN 1 AND 64
                    AND position(':' IN g.object_type) = 0
                    AND (g.object_type::text !~ E'[\\x01-\\x1f\\x7f-\\u009f]' OR NOT appl_lock_has_control(g.object_type::text))
                ) IS NOT TRUE
                    THEN 'no valid object_type'
                WHEN (
                    char_length(g.object_id) BETWEEN 1 AND 255
                    AND (g.object_id::text !~ E'[\\x01-\\x1f\\x7f-\\u009f]' OR NOT appl_lock_has_control(g.object_id::text))
                ) IS NOT TRUE
                    THEN 'no valid object_id'
                WHEN (
                    char_length(g.operator_id) BETWEEN 1 AND 255
                    AND (g.operator_id::text !~ E'[\\x01-\\x1f\\x7f-\\u009f]' OR NOT appl_lock_has_control(g.operator_id::text))
                ) IS NOT TRUE
                    THEN 'no valid operator_id'
                WHEN (g.fence >= 1) IS NOT TRUE THEN 'no fence of 1 or greater'
                WHEN (g.ttl_seconds BETWEEN 1 AND 315360000) IS NOT TRUE THEN 'no ttl_seconds between 1 and 315360000'
                WHEN g.times > 1 THEN 'an object for the second time'
            END AS what
        ) AS b
        WHERE b.what IS NOT NULL
        ORDER BY g.place
        LIMIT 1;
    END IF;
    IF v_reason IS NOT NULL THEN
        RAISE EXCEPTION USING
            ERRCODE = 'LK001',
            MESSAGE = pg_catalog.format('renew_appl_locks: p_grants %s', v_reason),
            COLUMN = 'p_grants';
    END IF;

    FOR object_type, object_id, v_operator_id, v_fence, v_ttl_seconds IN
        SELECT g.object_type, g.object_id, g.operator_id, g.fence, least(g.ttl_seconds, p.longest_ttl_seconds)
        FROM unnest(v_types, v_ids, v_operators, v_fences, v_ttls)
            AS g (object_type, object_id, operator_id, fence, ttl_seconds)
        LEFT JOIN appl_lock_policy AS p
            ON p.object_type::text = g.object_type::text
        ORDER BY g.object_type COLLATE "C", g.object_id COLLATE "C"
    LOOP
        -- S1: renew live grants that can be locked at once. The inner SELECT comes first, locks, and judges the row once it is
        -- locked. While another session holds an old snapshot, all versions of a row stay: the newest is last in the index.
        v_now := clock_timestamp();
        v_expires_ts := v_now + pg_catalog.make_interval(secs => v_ttl_seconds);
        UPDATE appl_lock AS l
        SET lock_ts = greatest(v_now, l.lock_ts + interval '1 microsecond'),
            ttl_seconds = v_ttl_seconds,
            expires_ts = greatest(v_expires_ts, l.expires_ts)
        WHERE l.ctid = (
                SELECT k.ctid
                FROM appl_lock AS k
                WHERE k.object_type::text = renew_appl_locks.object_type COLLATE "C"
                    AND k.object_id::text >= renew_appl_locks.object_id COLLATE "C"
                    AND k.object_id::text <= renew_appl_locks.object_id COLLATE "C"
                    AND k.operator_id::text = v_operator_id
                    AND k.fence = v_fence
                    AND k.released_ts IS NULL
                    AND k.expires_ts > clock_timestamp()
                ORDER BY k.object_id DESC
                LIMIT 1
                FOR NO KEY UPDATE SKIP LOCKED
            )
        RETURNING l.expires_ts, l.department_id, l.history_fl
        INTO expires_ts, v_department_id, v_history_fl;
        IF FOUND THEN
            IF v_history_fl THEN
                PERFORM appl_lock_record(
                    'RENEWED', object_type, object_id, v_operator_id,
                    v_operator_id, v_department_id, v_fence, v_operator_id, v_department_id, v_fence, ''
                );
            END IF;
            outcome := 'RENEWED';
            old_operator_id := '';
            old_department_id := '';
            acquired_ts := NULL;
            seconds_left := v_ttl_seconds;
            IF expires_ts > v_expires_ts THEN
                seconds_left := appl_lock_seconds_left(expires_ts);
            END IF;
            RETURN NEXT;
            CONTINUE;
        END IF;

        -- S2: who has it? A grant that is still live was skipped, and gets no row.
        SELECT l.operator_id, l.department_id, l.fence, l.acquired_ts, l.expires_ts, appl_lock_seconds_left(l.expires_ts)
        INTO old_operator_id, old_department_id, v_old_fence, acquired_ts, expires_ts, seconds_left
        FROM appl_lock AS l
        WHERE l.object_type::text = renew_appl_locks.object_type COLLATE "C"
            AND l.object_id::text = renew_appl_locks.object_id COLLATE "C"
            AND l.released_ts IS NULL
            AND l.expires_ts > clock_timestamp();
        IF NOT FOUND THEN
            outcome := 'FREE';
            old_operator_id := '';
            old_department_id := '';
            seconds_left := 0;
        ELSE
            CONTINUE WHEN old_operator_id = v_operator_id AND v_old_fence = v_fence;
            outcome := 'HELD';
        END IF;
        RETURN NEXT;
    END LOOP;
END
$$;

COMMENT ON FUNCTION renew_appl_locks(text) IS
    'Renew many grants in one call, each by its fence.';

REVOKE ALL ON FUNCTION renew_appl_locks(text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- retract_appl_lock_waiter: say that an operator does not wait for an object any more.
--
-- Contract   The operator is no waiter of the program p_client_id for this object, whether it was or not.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255;
--            p_client_id 1..64. Trailing blanks are trimmed first.
-- Out        None; the row form returns p_ok_fl 'Y'.
-- Raises     LK001 invalid argument. 55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as
--            the engine has them.
-- Locks      S1 deletes the waiter's one row; held to the end of the caller's transaction. It locks nothing
--            else, and poll and purge pass over locked rows: so it cannot deadlock.
-- Race-free  Against announce, poll or purge of the same row: the call that locks it first goes first. An announce that waited
--            inserts a new row.
--            REPEATABLE READ and SERIALIZABLE: S1 on a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION retract_appl_lock_waiter_row(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_client_id text,
    OUT p_ok_fl character(1)
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    p_object_type text COLLATE "C" := retract_appl_lock_waiter_row.p_object_type;
    p_object_id text COLLATE "C" := retract_appl_lock_waiter_row.p_object_id;
    p_operator_id text COLLATE "C" := retract_appl_lock_waiter_row.p_operator_id;
    p_client_id text COLLATE "C" := retract_appl_lock_waiter_row.p_client_id;
    v_object_type text COLLATE "C" := appl_lock_text('retract_appl_lock_waiter', 'p_object_type', p_object_type, 64, true);
    v_object_id text COLLATE "C" := appl_lock_text('retract_appl_lock_waiter', 'p_object_id', p_object_id, 255, true);
    v_operator_id text COLLATE "C" := appl_lock_text('retract_appl_lock_waiter', 'p_operator_id', p_operator_id, 255, true);
    v_client_id text COLLATE "C" := appl_lock_text('retract_appl_lock_waiter', 'p_client_id', p_client_id, 64, true);
BEGIN
    -- S1: remove the waiter.
    DELETE FROM appl_lock_waiter AS w
    WHERE w.object_type::text = v_object_type
        AND w.object_id::text = v_object_id
        AND w.operator_id::text = v_operator_id
        AND w.client_id::text = v_client_id;
    p_ok_fl := 'Y';
END
$$;

COMMENT ON FUNCTION retract_appl_lock_waiter_row(text, text, text, text) IS
    'Say that an operator does not wait for an object any more; the answer is one row.';

REVOKE ALL ON FUNCTION retract_appl_lock_waiter_row(text, text, text, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE retract_appl_lock_waiter(
    IN p_object_type text,
    IN p_object_id text,
    IN p_operator_id text,
    IN p_client_id text
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM retract_appl_lock_waiter_row(
        p_object_type, p_object_id, p_operator_id, p_client_id
    );
END
$$;

COMMENT ON PROCEDURE retract_appl_lock_waiter(text, text, text, text) IS
    'Say that an operator does not wait for an object any more.';

REVOKE ALL ON PROCEDURE retract_appl_lock_waiter(text, text, text, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- see_appl_lock: list an operator as a viewer of an object, and show its holder, askers and other viewers. Call it once in each
-- heartbeat.
--
-- Contract   Lists the operator as a viewer for p_ttl_seconds, with its state, for the program p_client_id. Each further call
--            keeps it listed, since the first one; after the listing has ended, a call begins anew. Without a state the
--            program's row goes. Then at most 200 rows. HOLDER: the object's holder, even if it is the operator itself. ASKER:
--            each request of another operator. VIEWER: each program of another operator that is listed. Askers and viewers come
--            oldest first. No row: the object is free, and nobody else is there. The call is no lock, and the history does not
--            record it. EDITING by the holder restarts its time to answer (ask_appl_lock). Where the type's policy has presence
--            N, the call records nothing and shows only holder and askers.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255; p_department_id 0..64, NULL =
--            empty; p_client_id 1..64, the browser tab or program, under a name that no other program has; p_state VIEWING,
--            EDITING or IDLE, NULL = it leaves; p_ttl_seconds 1..300, NULL = 45. Trailing blanks are trimmed first.
-- Out        kind; operator_id; department_id; client_id (empty for HOLDER); state (empty unless VIEWER); since_ts (start of
--            the grant, the request or the listing); seconds_left (until the lock or the listing ends); message (empty unless
--            ASKER).
-- Raises     LK001 invalid argument. 55P03 after 1 s of waiting for another call for the same row, 40001 and 40P01 as the engine has
--            them. 0A000 on a standby: its table is unlogged.
-- Locks      S2 locks the operator's own row, for which only another call for it and a purge of it wait. S3 locks the requests
--            that ask the operator for the object, and S4 at most 200 dead rows of the object. Both skip rows that another
--            transaction is changing. All to the end of the caller's transaction. It reads the rows of this object only.
-- Race-free  Two calls for one row: the primary key lets one insert; the other waits, then ON CONFLICT locks that row and
--            judges whether it is live. S4 judges a row again once it is locked: a viewer that has come back stays.
--            S3 does not wait for an ask that is under way: the next heartbeat restarts its time.
--            REPEATABLE READ and SERIALIZABLE: S2, S3 or S4 on a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION see_appl_lock(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_department_id text,
    p_client_id text,
    p_state text DEFAULT NULL,
    p_ttl_seconds bigint DEFAULT NULL,
    OUT kind text,
    OUT operator_id text,
    OUT department_id text,
    OUT client_id text,
    OUT state text,
    OUT since_ts timestamptz,
    OUT seconds_left bigint,
    OUT message text
) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
-- Force the primary key, whatever the statistics say.
SET enable_seqscan = 'off'
SET enable_bitmapscan = 'off'
AS $$
DECLARE
    p_object_type text COLLATE "C" := see_appl_lock.p_object_type;
    p_object_id text COLLATE "C" := see_appl_lock.p_object_id;
    p_operator_id text COLLATE "C" := see_appl_lock.p_operator_id;
    p_department_id text COLLATE "C" := see_appl_lock.p_department_id;
    p_client_id text COLLATE "C" := see_appl_lock.p_client_id;
    p_state text COLLATE "C" := see_appl_lock.p_state;
    v_object_type text COLLATE "C" := appl_lock_text('see_appl_lock', 'p_object_type', p_object_type, 64, true);
    v_object_id text COLLATE "C" := appl_lock_text('see_appl_lock', 'p_object_id', p_object_id, 255, true);
    v_operator_id text COLLATE "C" := appl_lock_text('see_appl_lock', 'p_operator_id', p_operator_id, 255, true);
    v_department_id text COLLATE "C" := appl_lock_text('see_appl_lock', 'p_department_id', p_department_id, 64, false);
    v_client_id text COLLATE "C" := appl_lock_text('see_appl_lock', 'p_client_id', p_client_id, 64, true);
    v_state text COLLATE "C" := rtrim(p_state, ' ');
    v_ttl_seconds bigint := appl_lock_number('see_appl_lock', 'p_ttl_seconds', p_ttl_seconds, 45, 300);
    v_now timestamptz := clock_timestamp();
    v_presence boolean;
BEGIN
    IF v_state NOT IN ('VIEWING', 'EDITING', 'IDLE') THEN
        RAISE EXCEPTION USING
            ERRCODE = 'LK001',
            MESSAGE = 'see_appl_lock: p_state is VIEWING, EDITING or IDLE, or NULL',
            COLUMN = 'p_state';
    END IF;
    -- S1: is presence on?
    v_presence := NOT EXISTS (
        SELECT
        FROM appl_lock_policy AS p
        WHERE p.object_type::text = v_object_type
            AND p.presence_fl = 'N'
    );

    -- S2: it leaves, or it is listed.
    IF v_state IS NULL THEN
        DELETE FROM appl_lock_viewer AS v
        WHERE v.object_type::text = v_object_type
            AND v.object_id::text = v_object_id
            AND v.operator_id::text = v_operator_id
            AND v.client_id::text = v_client_id;
    ELSIF v_presence THEN
        INSERT INTO appl_lock_viewer AS v (
            object_type, object_id, operator_id, department_id, client_id, state, since_ts, seen_ts, expires_ts
        )
        VALUES (
            v_object_type, v_object_id, v_operator_id, v_department_id, v_client_id, v_state, v_now, v_now,
            v_now + pg_catalog.make_interval(secs => v_ttl_seconds)
        )
        ON CONFLICT ON CONSTRAINT appl_lock_viewer_pk DO UPDATE
        SET department_id = excluded.department_id,
            state = excluded.state,
            since_ts = CASE WHEN v.expires_ts > clock_timestamp() THEN v.since_ts ELSE excluded.since_ts END,
            seen_ts = excluded.seen_ts,
            expires_ts = excluded.expires_ts;
    END IF;

    -- S3: an operator that edits is present: restart its time to answer the requests for its lock.
    IF v_state = 'EDITING' AND v_presence THEN
        UPDATE appl_lock_ask AS a
        SET edited_ts = v_now
        WHERE a.ctid = ANY (ARRAY(
                SELECT s.ctid
                FROM appl_lock_ask AS s
                WHERE s.object_type::text = v_object_type
                    AND s.object_id::text = v_object_id
                    -- The || keeps the planner from the index of the holders.
                    AND s.holder_id::text || '' = v_operator_id
                    AND s.shown_ts IS NOT NULL
                FOR NO KEY UPDATE SKIP LOCKED
            ));
    END IF;

    -- S4: remove the dead rows of this object, by ctid: a row that has just moved is alive again, or gone.
    DELETE FROM appl_lock_viewer AS v
    WHERE v.ctid = ANY (ARRAY(
            SELECT d.ctid
            FROM appl_lock_viewer AS d
            WHERE d.object_type::text = v_object_type
                AND d.object_id::text = v_object_id
                AND d.expires_ts <= v_now
            LIMIT 200
            FOR UPDATE SKIP LOCKED
        ));

    -- S5: who is there?
    RETURN QUERY
    SELECT
        m.kind,
        m.operator_id::text,
        m.department_id::text,
        m.client_id::text,
        m.state::text,
        m.since_ts,
        m.seconds_left,
        m.message::text
    FROM (
        SELECT
            1 AS part,
            'HOLDER' AS kind,
            l.operator_id,
            l.department_id,
            '' AS client_id,
            '' AS state,
            l.acquired_ts AS since_ts,
            appl_lock_seconds_left(l.expires_ts) AS seconds_left,
            '' AS message
        FROM appl_lock AS l
        WHERE l.object_type::text = v_object_type
            AND l.object_id::text = v_object_id
            AND l.released_ts IS NULL
            AND l.expires_ts > v_now
        UNION ALL
        SELECT
            2,
            'ASKER',
            a.operator_id,
            a.department_id,
            a.client_id,
            '',
            a.since_ts,
            appl_lock_seconds_left(a.expires_ts),
            a.message
        FROM appl_lock_ask AS a
        WHERE a.object_type::text = v_object_type
            AND a.object_id::text = v_object_id
            AND a.operator_id::text <> v_operator_id
            AND a.expires_ts > v_now
        UNION ALL
        SELECT
            3,
            'VIEWER',
            v.operator_id,
            v.department_id,
            v.client_id,
            v.state,
            v.since_ts,
            appl_lock_seconds_left(v.expires_ts),
            ''
        FROM appl_lock_viewer AS v
        WHERE v_presence
            AND v.object_type::text = v_object_type
            AND v.object_id::text = v_object_id
            AND v.operator_id::text <> v_operator_id
            AND v.expires_ts > v_now
    ) AS m
    ORDER BY m.part, m.since_ts, m.operator_id, m.client_id
    LIMIT 200;
END
$$;

COMMENT ON FUNCTION see_appl_lock(text, text, text, text, text, text, bigint) IS
    'List an operator as a viewer of an object, and show its holder, askers and other viewers.';

REVOKE ALL ON FUNCTION see_appl_lock(text, text, text, text, text, text, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- serialize_appl_lock: let one transaction at a time work on an object.
--
-- Contract   Returns when no other open transaction is inside for this object, and keeps the others
--            out until the caller's transaction commits or rolls back. Leaves nothing behind. Has
--            nothing to do with appl_lock: an object may be locked and serialized independently.
--            Calling it again in the same transaction returns at once. Under autocommit it has no effect.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255. Trailing blanks are trimmed.
-- Out        None; the row form returns p_ok_fl 'Y'.
-- Raises     LK001 invalid argument. 40001 at REPEATABLE READ and SERIALIZABLE when the caller's snapshot may
--            be older than what the former transaction committed: roll back and begin again, with this
--            call first. 40P01 deadlock. The caller's own lock_timeout and statement_timeout bound the
--            wait; there is no other bound.
-- Locks      One transaction-level advisory lock, whose 64-bit key is a hash of schema and object. It uses no row: inserting
--            and deleting one would leave a dead entry per call.
-- Race-free  Two callers: the engine grants the lock to one, and to the next when the first has ended.
--            READ COMMITTED: the caller's next statement sees all that the former one committed.
--            REPEATABLE READ, SERIALIZABLE: the snapshot is as old as the call, or older. After a wait it
--            is too old. Without one it is when a transaction has committed in between: each such one is
--            either listed as running in the snapshot or not below its xmax. The answer is 40001, never
--            a stale view. (The one that committed may be a stranger: then a needless retry.)
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION serialize_appl_lock_row(
    p_object_type text,
    p_object_id text,
    OUT p_ok_fl character(1)
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
DECLARE
    p_object_type text COLLATE "C" := serialize_appl_lock_row.p_object_type;
    p_object_id text COLLATE "C" := serialize_appl_lock_row.p_object_id;
    v_object_type text COLLATE "C" := appl_lock_text('serialize_appl_lock', 'p_object_type', p_object_type, 64, true);
    v_object_id text COLLATE "C" := appl_lock_text('serialize_appl_lock', 'p_object_id', p_object_id, 255, true);
    v_key bigint := pg_catalog.hashtextextended(pg_catalog.format('%s:%s:%s', current_schema(), v_object_type, v_object_id), 0);
    v_stale boolean := false;
    v_next bigint;
BEGIN
    p_ok_fl := 'Y';
    IF NOT pg_try_advisory_xact_lock(v_key) THEN
        PERFORM pg_advisory_xact_lock(v_key);
        v_stale := true;
    END IF;
    IF current_setting('transaction_isolation') IN ('read committed', 'read uncommitted') THEN
        RETURN;
    END IF;

    -- Has anything committed that our snapshot does not show?
    IF NOT v_stale THEN
        SELECT coalesce(bool_or(pg_xact_status(x.xid) = 'committed'), false)
        INTO v_stale
        FROM pg_snapshot_xip(pg_current_snapshot()) AS x (xid);
    END IF;
    v_next := pg_snapshot_xmax(pg_current_snapshot())::text::bigint;
    BEGIN
        WHILE NOT v_stale LOOP
            v_stale := coalesce(pg_xact_status(v_next::text::xid8) = 'committed', false);
            v_next := v_next + 1;
        END LOOP;
    EXCEPTION
        WHEN invalid_parameter_value THEN
            NULL;  -- v_next lies in the future: all transactions are looked through.
    END;
    IF v_stale THEN
        RAISE EXCEPTION USING
            ERRCODE = 'serialization_failure',
            MESSAGE = pg_catalog.format('serialize_appl_lock: the snapshot is older than the turn of %s:%s', v_object_type, v_object_id),
            HINT = 'Roll back, begin again and call serialize_appl_lock first.';
    END IF;
END
$$;

COMMENT ON FUNCTION serialize_appl_lock_row(text, text) IS
    'Let one transaction at a time work on an object; the answer is one row.';

REVOKE ALL ON FUNCTION serialize_appl_lock_row(text, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE serialize_appl_lock(
    IN p_object_type text,
    IN p_object_id text
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    PERFORM serialize_appl_lock_row(
        p_object_type, p_object_id
    );
END
$$;

COMMENT ON PROCEDURE serialize_appl_lock(text, text) IS
    'Let one transaction at a time work on an object.';

REVOKE ALL ON PROCEDURE serialize_appl_lock(text, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- set_appl_lock_policy: set a type's policy: how long its locks last, whether a take needs a reason, what the history records,
-- and who sees whom.
--
-- Contract   Y SET: this replaces the policy of the type. A NULL argument gets its default, not its former value. It is an
--            event of the history: POLICY, with the new values, its actor and reason.
--            Every later get, renewal and transfer follows it. A grant keeps its end until then. With ALL the history also
--            records each get, renewal, refusal and release; for a lock that is held already, from the holder's next get on.
-- In         p_object_type 1..64 characters without ":"; p_default_ttl_seconds 1..315360000, not above
--            p_longest_ttl_seconds, NULL = 604800 (7 days); p_longest_ttl_seconds 1..315360000, NULL = 315360000 (10 years);
--            p_take_reason_fl Y or N, NULL = Y; p_actor_id 1..255;
--            p_reason 0..150, NULL = empty, because the event's 255 characters also hold the policy; p_history_level ALL or
--            CHANGES, NULL = CHANGES; p_presence_fl Y or N, NULL = Y; p_yield_after_seconds 60..315360000, NULL = for ever.
--            Trailing blanks are trimmed first.
-- Out        p_ok_fl, p_outcome.
-- Raises     LK001 invalid argument. 55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has
--            them.
-- Locks      S1 locks the type's one row, to the end of the caller's transaction. No get waits for that: it reads what is
--            committed.
-- Race-free  Two at once: the primary key lets one insert, the other waits and changes the row. The event of each is in
--            its transaction, and they are in the order of the changes.
--            A get that has begun before the policy is committed may still follow the former one.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION set_appl_lock_policy_row(
    p_object_type text,
    p_default_ttl_seconds bigint,
    p_longest_ttl_seconds bigint,
    p_take_reason_fl text,
    p_actor_id text,
    p_reason text DEFAULT NULL,
    p_history_level text DEFAULT NULL,
    p_presence_fl text DEFAULT NULL,
    p_yield_after_seconds bigint DEFAULT NULL,
    OUT p_ok_fl character(1),
    OUT p_outcome text
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    p_object_type text COLLATE "C" := set_appl_lock_policy_row.p_object_type;
    p_take_reason_fl text COLLATE "C" := set_appl_lock_policy_row.p_take_reason_fl;
    p_actor_id text COLLATE "C" := set_appl_lock_policy_row.p_actor_id;
    p_reason text COLLATE "C" := set_appl_lock_policy_row.p_reason;
    p_history_level text COLLATE "C" := set_appl_lock_policy_row.p_history_level;
    p_presence_fl text COLLATE "C" := set_appl_lock_policy_row.p_presence_fl;
    v_object_type text COLLATE "C" := appl_lock_text('set_appl_lock_policy', 'p_object_type', p_object_type, 64, true);
    v_longest_ttl_seconds bigint := appl_lock_number(
        'set_appl_lock_policy', 'p_longest_ttl_seconds', p_longest_ttl_seconds, 315360000, 315360000
    );
    v_take_reason_fl text COLLATE "C" := coalesce(rtrim(p_take_reason_fl, ' '), 'Y');
    v_history_level text COLLATE "C" := coalesce(rtrim(p_history_level, ' '), 'CHANGES');
    v_presence_fl text COLLATE "C" := coalesce(rtrim(p_presence_fl, ' '), 'Y');
    v_actor_id text COLLATE "C";
    v_reason text COLLATE "C";
BEGIN
    PERFORM appl_lock_number(
        'set_appl_lock_policy', 'p_default_ttl_seconds', p_default_ttl_seconds, 1, v_longest_ttl_seconds::integer
    );
    IF v_take_reason_fl NOT IN ('Y', 'N') THEN
        RAISE EXCEPTION USING
            ERRCODE = 'LK001',
            MESSAGE = 'set_appl_lock_policy: p_take_reason_fl must be Y or N',
            COLUMN = 'p_take_reason_fl';
    END IF;
    v_actor_id := appl_lock_text('set_appl_lock_policy', 'p_actor_id', p_actor_id, 255, true);
    v_reason := appl_lock_text('set_appl_lock_policy', 'p_reason', p_reason, 150, false);
    IF v_history_level NOT IN ('ALL', 'CHANGES') THEN
        RAISE EXCEPTION USING
            ERRCODE = 'LK001',
            MESSAGE = 'set_appl_lock_policy: p_history_level is ALL or CHANGES',
            COLUMN = 'p_history_level';
    END IF;
    IF v_presence_fl NOT IN ('Y', 'N') THEN
        RAISE EXCEPTION USING
            ERRCODE = 'LK001',
            MESSAGE = 'set_appl_lock_policy: p_presence_fl must be Y or N',
            COLUMN = 'p_presence_fl';
    END IF;
    IF p_yield_after_seconds NOT BETWEEN 60 AND 315360000 THEN
        RAISE EXCEPTION USING
            ERRCODE = 'LK001',
            MESSAGE = pg_catalog.format('set_appl_lock_policy: p_yield_after_seconds is %s, not 60 to 315360000', p_yield_after_seconds),
            COLUMN = 'p_yield_after_seconds';
    END IF;

    -- S1: the new policy.
    INSERT INTO appl_lock_policy (
        object_type, default_ttl_seconds, longest_ttl_seconds, take_reason_fl, history_level, presence_fl, yield_after_seconds
    )
    VALUES (
        v_object_type, p_default_ttl_seconds, p_longest_ttl_seconds, v_take_reason_fl, v_history_level, v_presence_fl,
        p_yield_after_seconds
    )
    ON CONFLICT ON CONSTRAINT appl_lock_policy_pk DO UPDATE
    SET default_ttl_seconds = excluded.default_ttl_seconds,
        longest_ttl_seconds = excluded.longest_ttl_seconds,
        take_reason_fl = excluded.take_reason_fl,
        history_level = excluded.history_level,
        presence_fl = excluded.presence_fl,
        yield_after_seconds = excluded.yield_after_seconds;
    PERFORM appl_lock_record(
        'POLICY', v_object_type, '', v_actor_id, '', '', 0::bigint, '', '', 0::bigint,
        pg_catalog.format(
            'default %s, longest %s, take reason %s, history %s, presence %s, yield after %s',
            coalesce(p_default_ttl_seconds::text, 'none'), coalesce(p_longest_ttl_seconds::text, 'none'),
            v_take_reason_fl, v_history_level, v_presence_fl, coalesce(p_yield_after_seconds::text, 'none')
        ) || CASE WHEN v_reason = '' THEN '' ELSE ': ' || v_reason END
    );
    p_ok_fl := 'Y';
    p_outcome := 'SET';
END
$$;

COMMENT ON FUNCTION set_appl_lock_policy_row(text, bigint, bigint, text, text, text, text, text, bigint) IS
    'Set a type''s policy: how long its locks last, whether a take needs a reason, what the history records, and who sees whom; the answer is one row.';

REVOKE ALL ON FUNCTION set_appl_lock_policy_row(text, bigint, bigint, text, text, text, text, text, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE set_appl_lock_policy(
    IN p_object_type text,
    IN p_default_ttl_seconds bigint,
    IN p_longest_ttl_seconds bigint,
    IN p_take_reason_fl text,
    IN p_actor_id text,
    IN p_reason text DEFAULT NULL,
    IN p_history_level text DEFAULT NULL,
    IN p_presence_fl text DEFAULT NULL,
    IN p_yield_after_seconds bigint DEFAULT NULL,
    INOUT p_ok_fl character(1) DEFAULT NULL,
    INOUT p_outcome text DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT
        r.p_ok_fl, r.p_outcome
    INTO
        p_ok_fl, p_outcome
    FROM set_appl_lock_policy_row(
        p_object_type, p_default_ttl_seconds, p_longest_ttl_seconds, p_take_reason_fl, p_actor_id, p_reason,
        p_history_level, p_presence_fl, p_yield_after_seconds
    ) AS r;
END
$$;

COMMENT ON PROCEDURE set_appl_lock_policy(text, bigint, bigint, text, text, text, text, text, bigint, character, text) IS
    'Set a type''s policy: how long its locks last, whether a take needs a reason, what the history records, and who sees whom.';

REVOKE ALL ON PROCEDURE set_appl_lock_policy(text, bigint, bigint, text, text, text, text, text, bigint, character, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- take_appl_lock: take a held object from its holder, for a reason.
--
-- Contract   Y TAKEN: an operator held it, by the grant p_expected_fence (NULL = any grant). Now p_operator_id holds it: a new
--            grant, a greater fence, an empty note. The former holder is in p_old_*, which are empty when p_operator_id held it
--            itself. It is an event, TAKEN, with the reason and p_operator_id as its actor. The policy's longest ttl limits the
--            new grant.
--            N HELD: another grant than p_expected_fence holds it; p_old_*, p_acquired_ts and p_expires_ts tell who, since and until when.
--            N FREE: nobody holds it; nothing changed: get_appl_lock gets it.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..255; p_department_id
--            0..64, NULL = empty; p_reason 1..255, or empty if the type's policy says N;
--            p_expected_fence 1 or greater, NULL = any grant; p_ttl_seconds 1..315360000, NULL = that of the grant that ends.
--            Trailing blanks are trimmed first.
-- Out        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id, p_fence (0 unless TAKEN), p_acquired_ts, p_expires_ts
--            (both NULL when FREE), p_seconds_left (from now to p_expires_ts, 0 when FREE).
-- Raises     LK001 invalid argument. LK003 when the object changed thirty times during the call.
--            55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has them.
-- Locks      As appl_lock_move.
-- Race-free  As appl_lock_move. A renewal keeps the fence: the take goes on, with the renewal's ttl.
--            REPEATABLE READ and SERIALIZABLE: a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION take_appl_lock_row(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_department_id text,
    p_reason text,
    p_expected_fence bigint DEFAULT NULL,
    p_ttl_seconds bigint DEFAULT NULL,
    OUT p_ok_fl character(1),
    OUT p_outcome text,
    OUT p_old_operator_id text,
    OUT p_old_department_id text,
    OUT p_fence bigint,
    OUT p_acquired_ts timestamptz,
    OUT p_expires_ts timestamptz,
    OUT p_seconds_left bigint
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    p_object_type text COLLATE "C" := take_appl_lock_row.p_object_type;
    p_object_id text COLLATE "C" := take_appl_lock_row.p_object_id;
    p_operator_id text COLLATE "C" := take_appl_lock_row.p_operator_id;
    p_department_id text COLLATE "C" := take_appl_lock_row.p_department_id;
    p_reason text COLLATE "C" := take_appl_lock_row.p_reason;
    v_object_type text COLLATE "C" := appl_lock_text('take_appl_lock', 'p_object_type', p_object_type, 64, true);
    v_object_id text COLLATE "C" := appl_lock_text('take_appl_lock', 'p_object_id', p_object_id, 255, true);
    v_operator_id text COLLATE "C" := appl_lock_text('take_appl_lock', 'p_operator_id', p_operator_id, 255, true);
    v_department_id text COLLATE "C" := appl_lock_text('take_appl_lock', 'p_department_id', p_department_id, 64, false);
    v_reason text COLLATE "C" := appl_lock_text('take_appl_lock', 'p_reason', p_reason, 255, false);
    v_checked bigint[] := ARRAY[
        appl_lock_number('take_appl_lock', 'p_expected_fence', p_expected_fence, 1, NULL::integer),
        appl_lock_number('take_appl_lock', 'p_ttl_seconds', p_ttl_seconds, 1, 315360000)
    ];
    v_moved record;
    v_own boolean;
BEGIN
    IF v_reason = '' AND NOT EXISTS (
        SELECT
        FROM appl_lock_policy AS p
        WHERE p.object_type::text = v_object_type
            AND p.take_reason_fl = 'N'
    ) THEN
        PERFORM appl_lock_text('take_appl_lock', 'p_reason', p_reason, 255, true);
    END IF;
    v_moved := appl_lock_move(
        'take_appl_lock', 'TAKEN', v_object_type, v_object_id, NULL::text, p_expected_fence,
        v_operator_id, v_department_id, p_ttl_seconds, v_operator_id, v_reason, NULL::timestamptz, NULL::bigint
    );
    v_own := v_moved.p_ok_fl = 'Y' AND v_moved.p_old_operator_id = v_operator_id;
    p_ok_fl := v_moved.p_ok_fl;
    p_outcome := v_moved.p_outcome;
    p_old_operator_id := CASE WHEN v_own THEN '' ELSE v_moved.p_old_operator_id END;
    p_old_department_id := CASE WHEN v_own THEN '' ELSE v_moved.p_old_department_id END;
    p_fence := v_moved.p_fence;
    p_acquired_ts := v_moved.p_acquired_ts;
    p_expires_ts := v_moved.p_expires_ts;
    p_seconds_left := v_moved.p_seconds_left;
END
$$;

COMMENT ON FUNCTION take_appl_lock_row(text, text, text, text, text, bigint, bigint) IS
    'Take a held object from its holder, for a reason; the answer is one row.';

REVOKE ALL ON FUNCTION take_appl_lock_row(text, text, text, text, text, bigint, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE take_appl_lock(
    IN p_object_type text,
    IN p_object_id text,
    IN p_operator_id text,
    IN p_department_id text,
    IN p_reason text,
    IN p_expected_fence bigint DEFAULT NULL,
    IN p_ttl_seconds bigint DEFAULT NULL,
    INOUT p_ok_fl character(1) DEFAULT NULL,
    INOUT p_outcome text DEFAULT NULL,
    INOUT p_old_operator_id text DEFAULT NULL,
    INOUT p_old_department_id text DEFAULT NULL,
    INOUT p_fence bigint DEFAULT NULL,
    INOUT p_acquired_ts timestamptz DEFAULT NULL,
    INOUT p_expires_ts timestamptz DEFAULT NULL,
    INOUT p_seconds_left bigint DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT
        r.p_ok_fl, r.p_outcome, r.p_old_operator_id, r.p_old_department_id, r.p_fence, r.p_acquired_ts, r.p_expires_ts,
        r.p_seconds_left
    INTO
        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_acquired_ts, p_expires_ts, p_seconds_left
    FROM take_appl_lock_row(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_reason, p_expected_fence, p_ttl_seconds
    ) AS r;
END
$$;

COMMENT ON PROCEDURE take_appl_lock(text, text, text, text, text, bigint, bigint, character, text, text, text, bigint, timestamptz, timestamptz, bigint) IS
    'Take a held object from its holder, for a reason.';

REVOKE ALL ON PROCEDURE take_appl_lock(text, text, text, text, text, bigint, bigint, character, text, text, text, bigint, timestamptz, timestamptz, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- transfer_appl_lock: hand a held object from one operator to another.
--
-- Contract   Y TRANSFERRED: p_from_operator_id held it; p_to_operator_id holds it now: a new grant, a greater fence, an empty
--            note. It is an event, with its actor and reason. The policy's longest ttl limits the new grant.
--            N HELD: another operator holds it; p_old_*, p_acquired_ts and p_expires_ts tell who, since and until when.
--            N FREE: nobody holds it; nothing changed.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_from_operator_id 1..255;
--            p_to_operator_id 1..255, another operator; p_to_department_id 0..64, NULL = empty;
--            p_ttl_seconds 1..315360000, NULL = that of the grant that ends; p_actor_id 1..255, NULL = unknown;
--            p_reason 0..255, NULL = empty. Trailing blanks are trimmed first.
-- Out        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD),
--            p_fence (0 unless TRANSFERRED), p_acquired_ts, p_expires_ts (both NULL when FREE), p_seconds_left
--            (from now to p_expires_ts, 0 when FREE).
-- Raises     LK001 invalid argument. LK003 when the object changed thirty times during the call.
--            55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has them.
-- Locks      As appl_lock_move.
-- Race-free  As appl_lock_move. A renewal that went first counts: a NULL keeps its ttl.
--            REPEATABLE READ and SERIALIZABLE: a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION transfer_appl_lock_row(
    p_object_type text,
    p_object_id text,
    p_from_operator_id text,
    p_to_operator_id text,
    p_to_department_id text DEFAULT NULL,
    p_ttl_seconds bigint DEFAULT NULL,
    p_actor_id text DEFAULT NULL,
    p_reason text DEFAULT NULL,
    OUT p_ok_fl character(1),
    OUT p_outcome text,
    OUT p_old_operator_id text,
    OUT p_old_department_id text,
    OUT p_fence bigint,
    OUT p_acquired_ts timestamptz,
    OUT p_expires_ts timestamptz,
    OUT p_seconds_left bigint
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    p_object_type text COLLATE "C" := transfer_appl_lock_row.p_object_type;
    p_object_id text COLLATE "C" := transfer_appl_lock_row.p_object_id;
    p_from_operator_id text COLLATE "C" := transfer_appl_lock_row.p_from_operator_id;
    p_to_operator_id text COLLATE "C" := transfer_appl_lock_row.p_to_operator_id;
    p_to_department_id text COLLATE "C" := transfer_appl_lock_row.p_to_department_id;
    p_actor_id text COLLATE "C" := transfer_appl_lock_row.p_actor_id;
    p_reason text COLLATE "C" := transfer_appl_lock_row.p_reason;
    v_object_type text COLLATE "C" := appl_lock_text('transfer_appl_lock', 'p_object_type', p_object_type, 64, true);
    v_object_id text COLLATE "C" := appl_lock_text('transfer_appl_lock', 'p_object_id', p_object_id, 255, true);
    v_from_operator_id text COLLATE "C" := appl_lock_text('transfer_appl_lock', 'p_from_operator_id', p_from_operator_id, 255, true);
    v_to_operator_id text COLLATE "C" := appl_lock_text('transfer_appl_lock', 'p_to_operator_id', p_to_operator_id, 255, true);
    v_to_department_id text COLLATE "C" := appl_lock_text('transfer_appl_lock', 'p_to_department_id', p_to_department_id, 64, false);
    v_checked bigint := appl_lock_number('transfer_appl_lock', 'p_ttl_seconds', p_ttl_seconds, 1, 315360000);
    v_actor_id text COLLATE "C" := appl_lock_text('transfer_appl_lock', 'p_actor_id', p_actor_id, 255, p_actor_id IS NOT NULL);
    v_reason text COLLATE "C" := appl_lock_text('transfer_appl_lock', 'p_reason', p_reason, 255, false);
    v_moved record;
BEGIN
    IF v_to_operator_id = v_from_operator_id THEN
        RAISE EXCEPTION USING
            ERRCODE = 'LK001',
            MESSAGE = 'transfer_appl_lock: p_to_operator_id must be another one',
            COLUMN = 'p_to_operator_id';
    END IF;
    v_moved := appl_lock_move(
        'transfer_appl_lock', 'TRANSFERRED', v_object_type, v_object_id, v_from_operator_id, NULL::bigint,
        v_to_operator_id, v_to_department_id, p_ttl_seconds, v_actor_id, v_reason, NULL::timestamptz, NULL::bigint
    );
    p_ok_fl := v_moved.p_ok_fl;
    p_outcome := v_moved.p_outcome;
    p_old_operator_id := CASE p_ok_fl WHEN 'Y' THEN '' ELSE v_moved.p_old_operator_id END;
    p_old_department_id := CASE p_ok_fl WHEN 'Y' THEN '' ELSE v_moved.p_old_department_id END;
    p_fence := v_moved.p_fence;
    p_acquired_ts := v_moved.p_acquired_ts;
    p_expires_ts := v_moved.p_expires_ts;
    p_seconds_left := v_moved.p_seconds_left;
END
$$;

COMMENT ON FUNCTION transfer_appl_lock_row(text, text, text, text, text, bigint, text, text) IS
    'Hand a held object from one operator to another; the answer is one row.';

REVOKE ALL ON FUNCTION transfer_appl_lock_row(text, text, text, text, text, bigint, text, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE transfer_appl_lock(
    IN p_object_type text,
    IN p_object_id text,
    IN p_from_operator_id text,
    IN p_to_operator_id text,
    IN p_to_department_id text DEFAULT NULL,
    IN p_ttl_seconds bigint DEFAULT NULL,
    IN p_actor_id text DEFAULT NULL,
    IN p_reason text DEFAULT NULL,
    INOUT p_ok_fl character(1) DEFAULT NULL,
    INOUT p_outcome text DEFAULT NULL,
    INOUT p_old_operator_id text DEFAULT NULL,
    INOUT p_old_department_id text DEFAULT NULL,
    INOUT p_fence bigint DEFAULT NULL,
    INOUT p_acquired_ts timestamptz DEFAULT NULL,
    INOUT p_expires_ts timestamptz DEFAULT NULL,
    INOUT p_seconds_left bigint DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT
        r.p_ok_fl, r.p_outcome, r.p_old_operator_id, r.p_old_department_id, r.p_fence, r.p_acquired_ts, r.p_expires_ts,
        r.p_seconds_left
    INTO
        p_ok_fl, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_acquired_ts, p_expires_ts, p_seconds_left
    FROM transfer_appl_lock_row(
        p_object_type, p_object_id, p_from_operator_id, p_to_operator_id, p_to_department_id, p_ttl_seconds, p_actor_id,
        p_reason
    ) AS r;
END
$$;

COMMENT ON PROCEDURE transfer_appl_lock(text, text, text, text, text, bigint, text, text, character, text, text, text, bigint, timestamptz, timestamptz, bigint) IS
    'Hand a held object from one operator to another.';

REVOKE ALL ON PROCEDURE transfer_appl_lock(text, text, text, text, text, bigint, text, text, character, text, text, text, bigint, timestamptz, timestamptz, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- transfer_appl_locks: hand over what an operator holds, all or of a type, page by page.
--
-- Contract   A page is at most p_max_rows live locks of p_from_operator_id whose key is greater than (p_after_type, p_after_id),
--            with a row for each. The next page starts after the last row of this one; a page shorter than p_max_rows is the last.
--            TRANSFERRED: a new grant of p_to_operator_id, and an event, as transfer_appl_lock has it.
--            BUSY: another transaction has locked the object's row. HELD or FREE: it has changed hands since the page
--            was read; old_* and expires_ts tell who holds it. These are left as they are, and the next ones are done.
--            WOULD_TRANSFER: p_dry_run_fl is Y, and nothing is done. A dry run reports no BUSY.
-- In         p_from_operator_id 1..255; p_to_operator_id 1..255, another operator; p_object_type 1..64 without ":", NULL = any;
--            p_to_department_id 0..64, NULL = empty; p_ttl_seconds 1..315360000, NULL = that of each grant that ends;
--            p_actor_id 1..255, NULL = unknown; p_reason 0..255, NULL = empty; p_after_type 0..64, p_after_id 0..255,
--            NULL = from the start; p_max_rows 1..10000, NULL = 1000; p_dry_run_fl Y or N, NULL or empty = N. Trailing blanks
--            are trimmed first.
-- Out        object_type, object_id, outcome, old_operator_id, old_department_id (empty unless HELD), fence (of the new grant;
--            of the old one when BUSY or WOULD_TRANSFER; 0 when HELD or FREE), expires_ts (NULL when FREE), seconds_left,
--            ordered by object_type, object_id as bytes.
-- Raises     LK001 invalid argument: nothing is done. 40001 and 40P01 as the engine has them: the page is undone.
-- Locks      As appl_lock_move_page.
-- Race-free  As appl_lock_move_page. Two at once: one finds the other's rows BUSY, or HELD by p_to_operator_id, and neither waits.
--            REPEATABLE READ and SERIALIZABLE: a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION transfer_appl_locks(
    p_from_operator_id text,
    p_object_type text,
    p_to_operator_id text,
    p_to_department_id text DEFAULT NULL,
    p_ttl_seconds bigint DEFAULT NULL,
    p_actor_id text DEFAULT NULL,
    p_reason text DEFAULT NULL,
    p_after_type text DEFAULT NULL,
    p_after_id text DEFAULT NULL,
    p_max_rows bigint DEFAULT NULL,
    p_dry_run_fl text DEFAULT NULL,
    OUT object_type text,
    OUT object_id text,
    OUT outcome text,
    OUT old_operator_id text,
    OUT old_department_id text,
    OUT fence bigint,
    OUT expires_ts timestamptz,
    OUT seconds_left bigint
) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
-- Force the key, in its order, whatever the statistics say.
SET enable_seqscan = 'off'
SET enable_bitmapscan = 'off'
AS $$
DECLARE
    p_from_operator_id text COLLATE "C" := transfer_appl_locks.p_from_operator_id;
    p_object_type text COLLATE "C" := transfer_appl_locks.p_object_type;
    p_to_operator_id text COLLATE "C" := transfer_appl_locks.p_to_operator_id;
    p_to_department_id text COLLATE "C" := transfer_appl_locks.p_to_department_id;
    p_actor_id text COLLATE "C" := transfer_appl_locks.p_actor_id;
    p_reason text COLLATE "C" := transfer_appl_locks.p_reason;
    p_after_type text COLLATE "C" := transfer_appl_locks.p_after_type;
    p_after_id text COLLATE "C" := transfer_appl_locks.p_after_id;
    p_dry_run_fl text COLLATE "C" := transfer_appl_locks.p_dry_run_fl;
    v_from_operator_id text COLLATE "C" := appl_lock_text('transfer_appl_locks', 'p_from_operator_id', p_from_operator_id, 255, true);
    v_object_type text COLLATE "C" := appl_lock_text('transfer_appl_locks', 'p_object_type', p_object_type, 64, p_object_type IS NOT NULL);
    v_to_operator_id text COLLATE "C" := appl_lock_text('transfer_appl_locks', 'p_to_operator_id', p_to_operator_id, 255, true);
    v_to_department_id text COLLATE "C" := appl_lock_text('transfer_appl_locks', 'p_to_department_id', p_to_department_id, 64, false);
BEGIN
    IF v_to_operator_id = v_from_operator_id THEN
        RAISE EXCEPTION USING
            ERRCODE = 'LK001',
            MESSAGE = 'transfer_appl_locks: p_to_operator_id must be another one',
            COLUMN = 'p_to_operator_id';
    END IF;
    PERFORM appl_lock_number('transfer_appl_locks', 'p_ttl_seconds', p_ttl_seconds, 1, 315360000);
    PERFORM appl_lock_text('transfer_appl_locks', 'p_actor_id', p_actor_id, 255, p_actor_id IS NOT NULL);
    PERFORM appl_lock_text('transfer_appl_locks', 'p_reason', p_reason, 255, false);
    RETURN QUERY
    SELECT m.*
    FROM appl_lock_move_page(
        v_from_operator_id, nullif(v_object_type, ''), v_to_operator_id, v_to_department_id, p_ttl_seconds, p_actor_id, p_reason,
        appl_lock_text('transfer_appl_locks', 'p_after_type', p_after_type, 64, false),
        appl_lock_text('transfer_appl_locks', 'p_after_id', p_after_id, 255, false),
        appl_lock_number('transfer_appl_locks', 'p_max_rows', p_max_rows, 1000, 10000),
        appl_lock_yes('transfer_appl_locks', 'p_dry_run_fl', p_dry_run_fl)
    ) AS m;
END
$$;

COMMENT ON FUNCTION transfer_appl_locks(text, text, text, text, bigint, text, text, text, text, bigint, text) IS
    'Hand over what an operator holds, all or of a type, page by page.';

REVOKE ALL ON FUNCTION transfer_appl_locks(text, text, text, text, bigint, text, text, text, text, bigint, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
DO $$ BEGIN
    PERFORM set_config('search_path', current_setting('applock.caller_search_path'), true);
END $$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
-- Install into the schema that the setting applock.schema names, else into applock. Both settings
-- end with this transaction; the caller's search_path is put back at the end, for goose's own table.
DO $$
DECLARE
    v_schema text := coalesce(nullif(current_setting('applock.schema', true), ''), 'applock');
BEGIN
    PERFORM set_config('applock.caller_search_path', current_setting('search_path'), true);
    PERFORM set_config('search_path', format('%I, pg_temp', v_schema), true);
END
$$;
-- +goose StatementEnd

DROP FUNCTION IF EXISTS transfer_appl_locks;
DROP PROCEDURE IF EXISTS transfer_appl_lock;
DROP FUNCTION IF EXISTS transfer_appl_lock_row;
DROP PROCEDURE IF EXISTS take_appl_lock;
DROP FUNCTION IF EXISTS take_appl_lock_row;
DROP PROCEDURE IF EXISTS set_appl_lock_policy;
DROP FUNCTION IF EXISTS set_appl_lock_policy_row;
DROP PROCEDURE IF EXISTS serialize_appl_lock;
DROP FUNCTION IF EXISTS serialize_appl_lock_row;
DROP FUNCTION IF EXISTS see_appl_lock;
DROP PROCEDURE IF EXISTS retract_appl_lock_waiter;
DROP FUNCTION IF EXISTS retract_appl_lock_waiter_row;
DROP FUNCTION IF EXISTS renew_appl_locks;
DROP FUNCTION IF EXISTS release_appl_locks;
DROP PROCEDURE IF EXISTS release_appl_lock;
DROP FUNCTION IF EXISTS release_appl_lock_row;
DROP PROCEDURE IF EXISTS purge_appl_locks;
DROP FUNCTION IF EXISTS purge_appl_locks_row;
DROP PROCEDURE IF EXISTS purge_appl_lock_history;
DROP FUNCTION IF EXISTS purge_appl_lock_history_row;
DROP FUNCTION IF EXISTS poll_appl_locks;
DROP PROCEDURE IF EXISTS note_appl_lock;
DROP FUNCTION IF EXISTS note_appl_lock_row;
DROP PROCEDURE IF EXISTS inquire_appl_lock;
DROP FUNCTION IF EXISTS inquire_appl_lock_row;
DROP FUNCTION IF EXISTS inbox_appl_locks;
DROP FUNCTION IF EXISTS get_appl_lock_permit;
DROP PROCEDURE IF EXISTS get_appl_lock;
DROP FUNCTION IF EXISTS get_appl_lock_row;
DROP PROCEDURE IF EXISTS drop_appl_lock_policy;
DROP FUNCTION IF EXISTS drop_appl_lock_policy_row;
DROP PROCEDURE IF EXISTS assert_appl_lock;
DROP FUNCTION IF EXISTS assert_appl_lock_row;
DROP PROCEDURE IF EXISTS ask_appl_lock;
DROP FUNCTION IF EXISTS ask_appl_lock_row;
DROP FUNCTION IF EXISTS appl_lock_version;
DROP FUNCTION IF EXISTS appl_lock_next_fence;
DROP FUNCTION IF EXISTS appl_lock_seconds_left;
DROP FUNCTION IF EXISTS appl_lock_move_page;
DROP PROCEDURE IF EXISTS answer_appl_lock;
DROP FUNCTION IF EXISTS answer_appl_lock_row;
DROP PROCEDURE IF EXISTS announce_appl_lock_waiter;
DROP FUNCTION IF EXISTS announce_appl_lock_waiter_row;
DROP VIEW IF EXISTS appl_lock_stats;
DROP VIEW IF EXISTS appl_lock_policies;
DROP VIEW IF EXISTS appl_lock_history;
DROP VIEW IF EXISTS appl_lock_viewers;
DROP VIEW IF EXISTS appl_lock_asking;
DROP VIEW IF EXISTS appl_lock_waiting;
DROP VIEW IF EXISTS appl_lock_live;
DROP FUNCTION IF EXISTS appl_lock_move;
DROP FUNCTION IF EXISTS appl_lock_record;
DROP FUNCTION IF EXISTS appl_lock_yes;
DROP FUNCTION IF EXISTS appl_lock_number;
DROP FUNCTION IF EXISTS appl_lock_text;
DROP FUNCTION IF EXISTS appl_lock_has_control;

-- +goose StatementBegin
DO $$ BEGIN
    PERFORM set_config('search_path', current_setting('applock.caller_search_path'), true);
END $$;
-- +goose StatementEnd
