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
-- appl_lock_text, appl_lock_number, appl_lock_yes: check one argument of an operation. Internal: nobody is granted
-- these; each operation calls them with its owner's rights.
--
-- Contract   appl_lock_text returns the value without trailing blanks (callers pad CHAR(8)), and an
--            empty string for a NULL that is allowed. appl_lock_number returns the value, or
--            p_default for NULL. appl_lock_yes returns whether the value is Y; N, NULL and blanks are no.
-- Raises     LK001 with the routine and the argument in the message and the argument alone in the
--            error's COLUMN field.
-- Locks      Nothing.
-- Differs    Nothing. No search_path of their own: the operations' is pinned, and pinning costs a call.

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
        v_reason := format('has %s characters, at most %s are allowed', char_length(v_value), p_max_length);
    ELSIF p_argument = 'p_object_type' AND position(':' IN v_value) > 0 THEN
        v_reason := 'must not contain ":", which ends the type in type:id';
    ELSE
        RETURN v_value;
    END IF;
    RAISE EXCEPTION USING
        ERRCODE = 'LK001',
        MESSAGE = format('%s: %s %s', p_routine, p_argument, v_reason),
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
    p_default bigint,
    p_max bigint
) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE
AS $$
DECLARE
    v_value bigint := coalesce(p_value, p_default);
BEGIN
    IF v_value BETWEEN 1 AND p_max THEN
        RETURN v_value;
    END IF;
    RAISE EXCEPTION USING
        ERRCODE = 'LK001',
        MESSAGE = format('%s: %s must lie between 1 and %s', p_routine, p_argument, p_max),
        COLUMN = p_argument;
END
$$;

COMMENT ON FUNCTION appl_lock_number(text, text, bigint, bigint, bigint) IS
    'Internal to applock: checks one number argument and applies its default.';

REVOKE ALL ON FUNCTION appl_lock_number(text, text, bigint, bigint, bigint) FROM PUBLIC;
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
        MESSAGE = format('%s: %s must be Y or N', p_routine, p_argument),
        COLUMN = p_argument;
END
$$;

COMMENT ON FUNCTION appl_lock_yes(text, text, text) IS
    'Internal to applock: checks one flag argument, which is N unless it is Y.';

REVOKE ALL ON FUNCTION appl_lock_yes(text, text, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- announce_appl_lock_waiter: say that an operator waits for an object, or still waits.
--
-- Contract   Lists the operator as a waiter of the program p_client_id for 60 s, but not longer than
--            p_wait_seconds. Called again, or kept by poll_appl_locks, it stays listed, and waits since the
--            first call; once it is not listed any more, a call begins a new wait. It takes nothing and
--            promises nothing: who waits is for others to see, and tells release_appl_lock whom to notify.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64;
--            p_department_id 0..64, NULL = empty; p_client_id 1..64, the waiting program, by a name that no
--            other one has; p_wait_seconds until it gives up, 1..315360000, NULL = never.
--            Trailing blanks are trimmed first.
-- Out        None; the row form returns p_return_cd 'Y'.
-- Raises     LK001 invalid argument. 55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as
--            the engine has them.
-- Locks      S1 inserts or changes the waiter's one row; held to the end of the caller's transaction. Only
--            announce, retract and purge of this very waiter wait for it; poll passes over it.
-- Race-free  Two calls: the primary key lets one insert; the other waits, then ON CONFLICT locks that row,
--            and whether it is live is judged on it.
--            Against purge: one of them has the row; an announce that waited inserts a new one.
--            REPEATABLE READ and SERIALIZABLE: S1 on a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION announce_appl_lock_waiter_row(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_department_id text,
    p_client_id text,
    p_wait_seconds bigint,
    OUT p_return_cd character(1)
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    v_object_type text := appl_lock_text('announce_appl_lock_waiter', 'p_object_type', p_object_type, 64, true);
    v_object_id text := appl_lock_text('announce_appl_lock_waiter', 'p_object_id', p_object_id, 255, true);
    v_operator_id text := appl_lock_text('announce_appl_lock_waiter', 'p_operator_id', p_operator_id, 64, true);
    v_department_id text := appl_lock_text('announce_appl_lock_waiter', 'p_department_id', p_department_id, 64, false);
    v_client_id text := appl_lock_text('announce_appl_lock_waiter', 'p_client_id', p_client_id, 64, true);
    v_now timestamptz := clock_timestamp();
    v_until timestamptz;
BEGIN
    IF p_wait_seconds IS NOT NULL THEN
        v_until := v_now + make_interval(
            secs => appl_lock_number('announce_appl_lock_waiter', 'p_wait_seconds', p_wait_seconds, NULL, 315360000)
        );
    END IF;

    -- S1: a new wait, or the one that goes on.
    INSERT INTO appl_lock_waiter AS w (
        object_type,
        object_id,
        operator_id,
        department_id,
        client_id,
        since_ts,
        until_ts,
        expires_ts
    )
    VALUES (
        v_object_type,
        v_object_id,
        v_operator_id,
        v_department_id,
        v_client_id,
        v_now,
        v_until,
        least(v_now + interval '60 seconds', v_until)
    )
    ON CONFLICT ON CONSTRAINT appl_lock_waiter_pk DO UPDATE
    SET department_id = excluded.department_id,
        since_ts = CASE WHEN w.expires_ts > clock_timestamp() THEN w.since_ts ELSE excluded.since_ts END,
        until_ts = excluded.until_ts,
        expires_ts = excluded.expires_ts;
    p_return_cd := 'Y';
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
    IN p_wait_seconds bigint
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
-- appl_lock_record: write an event of the history. Internal: nobody is granted this; the operations call it with their
-- owner's rights, once they have changed the lock.
--
-- Contract   One row of appl_lock_event, with the user and the application_name of the session.
-- Raises     Nothing.
-- Locks      Nothing but the new row. It is part of the caller's transaction, as the change of the lock is.
-- Differs    Nothing.

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
BEGIN
    INSERT INTO appl_lock_event (
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
        p_reason
    );
END
$$;

COMMENT ON FUNCTION appl_lock_record(text, text, text, text, text, text, bigint, text, text, bigint, text) IS
    'Internal to applock: writes an event of the history.';

REVOKE ALL ON FUNCTION appl_lock_record(text, text, text, text, text, text, bigint, text, text, bigint, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- appl_lock_seconds_left, appl_lock_ttl: how long a lock lasts, from now on and as its holder asked for. Internal:
-- nobody is granted these; the operations call them with their owner's rights.
--
-- Contract   appl_lock_seconds_left returns the whole seconds from now to p_expires_ts, rounded up: who waits as long
--            finds the lock expired. It is for locks that were live a moment ago, and so never less than 1.
--            appl_lock_ttl returns the ttl of the last get, renewal or transfer, in whole seconds, never less than 1.
--            lock_ts is at most a microsecond later than that call, which rounding takes off, unless the clock
--            was set back in the meantime: the ttl is shorter then.
-- Raises     Nothing.
-- Locks      Nothing.
-- Differs    Nothing. One expression each, so that the planner puts it in place of the call.

CREATE OR REPLACE FUNCTION appl_lock_seconds_left(p_expires_ts timestamptz) RETURNS bigint
LANGUAGE sql VOLATILE
AS $$
    SELECT greatest(ceil(extract(epoch FROM p_expires_ts - clock_timestamp())), 1)::bigint;
$$;

COMMENT ON FUNCTION appl_lock_seconds_left(timestamptz) IS
    'Internal to applock: the seconds until a lock ends.';

REVOKE ALL ON FUNCTION appl_lock_seconds_left(timestamptz) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION appl_lock_ttl(p_lock_ts timestamptz, p_expires_ts timestamptz) RETURNS interval
LANGUAGE sql IMMUTABLE
AS $$
    SELECT make_interval(secs => greatest(round(extract(epoch FROM p_expires_ts - p_lock_ts)), 1)::double precision);
$$;

COMMENT ON FUNCTION appl_lock_ttl(timestamptz, timestamptz) IS
    'Internal to applock: the ttl that a lock was last got, renewed or transferred with.';

REVOKE ALL ON FUNCTION appl_lock_ttl(timestamptz, timestamptz) FROM PUBLIC;
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

COMMENT ON FUNCTION appl_lock_version() IS 'The version of the installed contract.';

REVOKE ALL ON FUNCTION appl_lock_version() FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- assert_appl_lock: fail unless exactly this grant is live, and keep it so to the end of the transaction.
--
-- Contract   Returns when p_operator_id holds the object under p_fence; then nobody releases, transfers
--            or takes over that grant before the caller's transaction ends, even if it expires
--            meanwhile. Called first in the transaction that writes the protected data, it fences off
--            a holder that lost its lock without noticing. Under autocommit it is a check only.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64;
--            p_fence 1 or greater. Trailing blanks are trimmed first.
-- Out        None; the row form returns p_return_cd 'Y'. It leaves the grant in the setting applock.asserted, which
--            the transaction's end empties, for the guards of docs/guard.md.
-- Raises     LK001 invalid argument. LK002 when the grant is not live; the message names the holder.
--            55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has them.
-- Locks      S1 takes a share lock on the object's one row and decides; held to the end of the caller's
--            transaction. Other asserts of the grant do not wait for it; its renewal elsewhere does.
-- Race-free  Assert against take-over, release, transfer: whoever locks the row first goes first; S1
--            names the grant and is judged on the row as it is once it is locked.
--            REPEATABLE READ and SERIALIZABLE: a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION assert_appl_lock_row(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_fence bigint,
    OUT p_return_cd character(1)
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    v_object_type text := rtrim(p_object_type, ' ');
    v_object_id text := rtrim(p_object_id, ' ');
    v_operator_id text := rtrim(p_operator_id, ' ');
    v_asserted text;
    v_grant text;
    v_holder text;
BEGIN
    -- S1: is this grant live?
    SELECT 'Y'
    INTO p_return_cd
    FROM appl_lock AS l
    WHERE l.object_type = v_object_type
        AND l.object_id = v_object_id
        AND l.operator_id = v_operator_id
        AND l.fence = p_fence
        AND l.expires_ts > clock_timestamp()
    FOR SHARE;
    IF FOUND THEN
        -- Newest first, a line for each: what is cut off loses its end, by which a guard would find it.
        v_grant := E'\n' || p_fence || E'\t' || v_operator_id || E'\t' || v_object_type || ':' || v_object_id;
        v_asserted := coalesce(nullif(current_setting('applock.asserted', true), ''), E'\n');
        IF strpos(v_asserted, v_grant || E'\n') = 0 THEN
            v_asserted := set_config('applock.asserted', left(v_grant || v_asserted, 16000), true);
        END IF;
        RETURN;
    END IF;

    -- Whoever names a grant that is there has named it well.
    PERFORM appl_lock_text('assert_appl_lock', 'p_object_type', p_object_type, 64, true);
    PERFORM appl_lock_text('assert_appl_lock', 'p_object_id', p_object_id, 255, true);
    PERFORM appl_lock_text('assert_appl_lock', 'p_operator_id', p_operator_id, 64, true);
    PERFORM appl_lock_number('assert_appl_lock', 'p_fence', p_fence, NULL, 9223372036854775807);
    SELECT format('%s holds it with fence %s', l.operator_id, l.fence)
    INTO v_holder
    FROM appl_lock AS l
    WHERE l.object_type = v_object_type
        AND l.object_id = v_object_id
        AND l.expires_ts > clock_timestamp();
    RAISE EXCEPTION USING
        ERRCODE = 'LK002',
        MESSAGE = format(
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
    PERFORM assert_appl_lock_row(p_object_type, p_object_id, p_operator_id, p_fence);
END
$$;

COMMENT ON PROCEDURE assert_appl_lock(text, text, text, bigint) IS
    'Fail unless exactly this grant is live, and keep it so to the end of the transaction.';

REVOKE ALL ON PROCEDURE assert_appl_lock(text, text, text, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- drop_appl_lock_policy: take back the policy of a type.
--
-- Contract   Y DROPPED: the type has no policy any more. That is an event of the history: POLICY, with who did it and why.
--            N NONE: it had none; nothing changed.
--            A grant keeps the end that it has until it is renewed or transferred.
-- In         p_object_type 1..64 characters without ":"; p_actor_id 1..64; p_reason 0..180, NULL = empty. Trailing
--            blanks are trimmed first.
-- Out        p_return_cd, p_outcome.
-- Raises     LK001 invalid argument. 55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has
--            them.
-- Locks      S1 locks the type's one row, to the end of the caller's transaction. No get waits for that.
-- Race-free  Two at once: one waits for the other and answers NONE.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION drop_appl_lock_policy_row(
    p_object_type text,
    p_actor_id text,
    p_reason text,
    OUT p_return_cd character(1),
    OUT p_outcome text
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    v_object_type text := appl_lock_text('drop_appl_lock_policy', 'p_object_type', p_object_type, 64, true);
    v_actor_id text := appl_lock_text('drop_appl_lock_policy', 'p_actor_id', p_actor_id, 64, true);
    v_reason text := appl_lock_text('drop_appl_lock_policy', 'p_reason', p_reason, 180, false);
BEGIN
    -- S1: there is none from now on.
    DELETE FROM appl_lock_policy AS p
    WHERE p.object_type = v_object_type;
    IF NOT FOUND THEN
        p_return_cd := 'N';
        p_outcome := 'NONE';
        RETURN;
    END IF;
    PERFORM appl_lock_record(
        'POLICY', v_object_type, '', v_actor_id, '', '', 0, '', '', 0,
        'dropped' || CASE WHEN v_reason = '' THEN '' ELSE ': ' || v_reason END
    );
    p_return_cd := 'Y';
    p_outcome := 'DROPPED';
END
$$;

COMMENT ON FUNCTION drop_appl_lock_policy_row(text, text, text) IS
    'Take back the policy of a type; the answer is one row.';

REVOKE ALL ON FUNCTION drop_appl_lock_policy_row(text, text, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE drop_appl_lock_policy(
    IN p_object_type text,
    IN p_actor_id text,
    IN p_reason text,
    INOUT p_return_cd character(1) DEFAULT NULL,
    INOUT p_outcome text DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT r.p_return_cd, r.p_outcome
    INTO p_return_cd, p_outcome
    FROM drop_appl_lock_policy_row(p_object_type, p_actor_id, p_reason) AS r;
END
$$;

COMMENT ON PROCEDURE drop_appl_lock_policy(text, text, text, character, text) IS
    'Take back the policy of a type.';

REVOKE ALL ON PROCEDURE drop_appl_lock_policy(text, text, text, character, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- get_appl_lock: take or renew the lock on an object for one operator until it expires.
--
-- Contract   Y ACQUIRED: the object was free or its lock had expired; a new grant, a greater fence.
--            Y RENEWED: this operator holds it; same grant and fence, expires_ts = now + ttl. What is NULL of
--            p_department_id and p_ttl_seconds stays as the grant has it.
--            N HELD: another operator holds it; p_old_*, p_expires_ts and p_note tell who, until when and why.
--            ACQUIRED from another operator, whose lock had expired and had not been released, is an event of the history:
--            OVERTAKEN. Where the policy of the type has the history told ALL, so are a new grant, ACQUIRED, a renewal, RENEWED,
--            and a refusal, REFUSED; the last one goes by the policy of when the holder last called get.
--            The policy of the type, if it has one, has the ttl of a new grant for which none is given, and the greatest ttl:
--            a greater one is cut to it, also in a renewal, as p_expires_ts and p_seconds_left tell.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64;
--            p_department_id 0..64, NULL = the grant's in a renewal, else empty; p_ttl_seconds 1..315360000,
--            NULL = the grant's in a renewal, else the policy's, else 604800 (7 days). Trailing blanks are trimmed first.
-- Out        p_lock_fl, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD),
--            p_fence (0 when HELD), p_expires_ts, p_seconds_left (from now to p_expires_ts), p_note (the holder's when
--            HELD, the grant's own when RENEWED, empty in a new grant).
-- Raises     LK001 invalid argument. LK003 when the object changed hands thirty times during the call.
--            55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has them.
-- Locks      S1 reads without a lock and answers HELD; S1b reads without a lock. S2 locks the object's one row and
--            decides; held to the end of the caller's transaction (also when S2b or S2c loses its race: a HELD that S1
--            finds after it had to wait leaves the row locked until then).
-- Race-free  Nothing is granted on S1's word: each S2 names what S1 has seen, and is judged on the row as it is once it
--            is locked. What has changed since S1 is looked at again, and S1 is a new snapshot each time.
--            Free object, two callers: both reach S2a, the primary key lets one insert; the other waits and
--            finds the winner's row.
--            Expired row, two callers: S2b locks the row; for the second one its fence is another.
--            Release while S2 waits: the row expires at a time after S1's, so S2b passes it over and S1 looks again. So a
--            grant never begins before the former one's end. So, too, an event names the grant that S2b has ended.
--            Renewal or release while S2c waits: what a NULL keeps is read under the row lock, and so is whether it has
--            expired by then.
--            S2 waits, and what it waited for leaves the row as it was, or renewed: S3 has the lock last from the end of
--            the wait.
--            Killed before commit: the row goes back to what it was, and the waiter goes on.
--            REPEATABLE READ and SERIALIZABLE: S2 on a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION get_appl_lock_row(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_department_id text,
    p_ttl_seconds bigint
)
-- A named row, because OUT parameters are described anew in each call.
RETURNS get_appl_lock_answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    v_holder_id text;
    v_holder_department_id text;
    v_fence bigint;
    v_expired boolean;
    v_expires_ts timestamptz;
    v_note text;
    v_now_ts timestamptz;
    v_renewed boolean;
    v_new_fence bigint;
    v_seconds_left bigint;
    v_ttl_seconds bigint;
    v_longest_ttl_seconds bigint;
    v_history_fl boolean;
    v_history_level varchar(8);
    v_overtaken boolean;
    v_round integer;
BEGIN
    -- One expression, because each costs, and each operator in it. Blanks at the end are rare, and what is wrong the checks
    -- say themselves.
    IF (
        p_operator_id NOT LIKE '% '
        AND coalesce(p_department_id, '') NOT LIKE '% '
        AND char_length(p_operator_id) BETWEEN 1 AND 64
        AND coalesce(char_length(p_department_id), 0) <= 64
        AND coalesce(p_ttl_seconds, 1) BETWEEN 1 AND 315360000
    ) IS NOT TRUE THEN
        p_object_type := appl_lock_text('get_appl_lock', 'p_object_type', p_object_type, 64, true);
        p_object_id := appl_lock_text('get_appl_lock', 'p_object_id', p_object_id, 255, true);
        p_operator_id := appl_lock_text('get_appl_lock', 'p_operator_id', p_operator_id, 64, true);
        IF p_department_id IS NOT NULL THEN
            p_department_id := appl_lock_text('get_appl_lock', 'p_department_id', p_department_id, 64, false);
        END IF;
        PERFORM appl_lock_number('get_appl_lock', 'p_ttl_seconds', p_ttl_seconds, 604800, 315360000);
    END IF;
    LOOP
        -- S1: what is there, and when was that? A release puts lock_ts behind expires_ts.
        SELECT l.operator_id, l.department_id, l.fence, l.lock_ts < l.expires_ts, l.expires_ts, l.note, l.history_fl,
            clock_timestamp()
        INTO v_holder_id, v_holder_department_id, v_fence, v_expired, v_expires_ts, v_note, v_history_fl, v_now_ts
        FROM appl_lock AS l
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id;
        IF v_expires_ts > v_now_ts AND v_holder_id <> p_operator_id THEN
            IF v_history_fl THEN
                PERFORM appl_lock_record(
                    'REFUSED', p_object_type, p_object_id, p_operator_id,
                    v_holder_id, v_holder_department_id, v_fence, v_holder_id, v_holder_department_id, v_fence, ''
                );
            END IF;
            RETURN ROW(
                'N', 'HELD', v_holder_id, v_holder_department_id, 0,
                v_expires_ts, appl_lock_seconds_left(v_expires_ts), v_note
            )::get_appl_lock_answer;
        END IF;

        -- S1b: what is laid down for the type? A statement of its own costs less than a subquery in each S2.
        SELECT least(coalesce(p_ttl_seconds, p.default_ttl_seconds, 604800), p.longest_ttl_seconds), p.longest_ttl_seconds,
            p.history_level
        INTO v_ttl_seconds, v_longest_ttl_seconds, v_history_level
        FROM appl_lock_policy AS p
        WHERE p.object_type = p_object_type;
        IF v_fence IS NULL THEN
            -- Whoever names a row that is there has named its type and id well. Blanks at the end name none.
            IF (
                p_object_type NOT LIKE '% '
                AND p_object_id NOT LIKE '% '
                AND char_length(p_object_type) BETWEEN 1 AND 64
                AND position(':' IN p_object_type) = 0
                AND char_length(p_object_id) BETWEEN 1 AND 255
            ) IS NOT TRUE THEN
                p_object_type := appl_lock_text('get_appl_lock', 'p_object_type', p_object_type, 64, true);
                p_object_id := appl_lock_text('get_appl_lock', 'p_object_id', p_object_id, 255, true);
                CONTINUE;
            END IF;
            -- S2a: take what has no row.
            v_now_ts := clock_timestamp();
            INSERT INTO appl_lock AS l (
                object_type,
                object_id,
                operator_id,
                department_id,
                fence,
                acquired_ts,
                lock_ts,
                expires_ts
            )
            VALUES (
                p_object_type,
                p_object_id,
                p_operator_id,
                coalesce(p_department_id, ''),
                (extract(epoch FROM v_now_ts) * 1000000)::bigint,
                v_now_ts,
                v_now_ts,
                v_now_ts + make_interval(secs => coalesce(v_ttl_seconds, p_ttl_seconds, 604800))
            )
            ON CONFLICT ON CONSTRAINT appl_lock_pk DO NOTHING
            RETURNING l.fence, l.expires_ts
            INTO v_new_fence, v_expires_ts;
        ELSIF v_expires_ts <= v_now_ts THEN
            -- S2b: take what was free at S1, and is unchanged since: whatever happens to a row makes it expire
            -- later than that.
            UPDATE appl_lock AS l
            SET operator_id = p_operator_id,
                department_id = coalesce(p_department_id, ''),
                fence = greatest(l.fence + 1, (extract(epoch FROM v_now_ts) * 1000000)::bigint),
                acquired_ts = v_now_ts,
                lock_ts = v_now_ts,
                expires_ts = v_now_ts + make_interval(secs => coalesce(v_ttl_seconds, p_ttl_seconds, 604800)),
                note = ''
            WHERE l.object_type = p_object_type
                AND l.object_id = p_object_id
                AND l.fence = v_fence
                AND l.expires_ts = v_expires_ts
            RETURNING l.fence, l.expires_ts
            INTO v_new_fence, v_expires_ts;
            IF v_expired AND FOUND AND v_holder_id <> p_operator_id THEN
                PERFORM appl_lock_record(
                    'OVERTAKEN', p_object_type, p_object_id, p_operator_id,
                    v_holder_id, v_holder_department_id, v_fence, p_operator_id, coalesce(p_department_id, ''), v_new_fence, ''
                );
                v_overtaken := true;
            END IF;
        ELSE
            -- S2c: renew. What depends on the row is computed under its lock.
            UPDATE appl_lock AS l
            SET department_id = coalesce(p_department_id, l.department_id),
                -- Later than acquired_ts, whatever the clock does: so the row itself tells who has renewed.
                lock_ts = greatest(v_now_ts, l.acquired_ts + interval '1 microsecond'),
                expires_ts = v_now_ts + CASE
                    WHEN p_ttl_seconds IS NULL
                        THEN least(appl_lock_ttl(l.lock_ts, l.expires_ts), make_interval(secs => v_longest_ttl_seconds))
                    ELSE make_interval(secs => coalesce(v_ttl_seconds, p_ttl_seconds, 604800))
                END
            WHERE l.object_type = p_object_type
                AND l.object_id = p_object_id
                AND l.operator_id = p_operator_id
                AND l.expires_ts > clock_timestamp()
            RETURNING true, l.fence, l.expires_ts,
                CASE
                    WHEN p_ttl_seconds IS NULL THEN appl_lock_seconds_left(l.expires_ts)
                    ELSE coalesce(v_ttl_seconds, p_ttl_seconds)
                END, l.note
            INTO v_renewed, v_new_fence, v_expires_ts, v_seconds_left, v_note;
        END IF;
        IF FOUND THEN
            -- One expression for what is rare, because each costs, and an operator in it much.
            IF v_history_level IS NOT NULL OR v_history_fl OR clock_timestamp() > v_now_ts + interval '100 milliseconds' THEN
                IF clock_timestamp() > v_now_ts + interval '100 milliseconds' THEN
                    -- S3: S2 has waited, and its times are those from before.
                    UPDATE appl_lock AS l
                    SET acquired_ts = CASE WHEN v_renewed THEN l.acquired_ts ELSE t.now_ts END,
                        lock_ts = t.now_ts,
                        expires_ts = l.expires_ts + (t.now_ts - l.lock_ts)
                    FROM (
                        SELECT greatest(clock_timestamp(), o.lock_ts) AS now_ts
                        FROM appl_lock AS o
                        WHERE o.object_type = p_object_type
                            AND o.object_id = p_object_id
                    ) AS t
                    WHERE l.object_type = p_object_type
                        AND l.object_id = p_object_id
                    RETURNING l.expires_ts, appl_lock_seconds_left(l.expires_ts)
                    INTO v_expires_ts, v_seconds_left;
                END IF;
                -- S4: is the history to be told of this grant from now on?
                UPDATE appl_lock AS l
                SET history_fl = NOT l.history_fl
                WHERE l.object_type = p_object_type
                    AND l.object_id = p_object_id
                    AND l.history_fl <> (coalesce(v_history_level, '') = 'ALL');
                IF v_history_level = 'ALL' AND v_overtaken IS NOT TRUE THEN
                    PERFORM appl_lock_record(
                        CASE WHEN v_renewed THEN 'RENEWED' ELSE 'ACQUIRED' END, p_object_type, p_object_id, p_operator_id,
                        CASE WHEN v_renewed THEN l.operator_id ELSE '' END,
                        CASE WHEN v_renewed THEN l.department_id ELSE '' END,
                        CASE WHEN v_renewed THEN l.fence ELSE 0 END,
                        l.operator_id, l.department_id, l.fence, ''
                    )
                    FROM appl_lock AS l
                    WHERE l.object_type = p_object_type
                        AND l.object_id = p_object_id;
                END IF;
            END IF;
            RETURN ROW(
                'Y', CASE WHEN v_renewed THEN 'RENEWED' ELSE 'ACQUIRED' END, '', '', v_new_fence,
                v_expires_ts, coalesce(v_seconds_left, v_ttl_seconds, p_ttl_seconds, 604800),
                CASE WHEN v_renewed THEN v_note ELSE '' END
            )::get_appl_lock_answer;
        END IF;
        v_round := coalesce(v_round, 0) + 1;
        EXIT WHEN v_round = 30;
    END LOOP;
    RAISE EXCEPTION USING
        ERRCODE = 'LK003',
        MESSAGE = format('get_appl_lock: %s:%s changed hands during the call; call again', p_object_type, p_object_id);
END
$$;

COMMENT ON FUNCTION get_appl_lock_row(text, text, text, text, bigint) IS
    'Take or renew the lock on an object for one operator until it expires; the answer is one row.';

REVOKE ALL ON FUNCTION get_appl_lock_row(text, text, text, text, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE get_appl_lock(
    IN p_object_type text,
    IN p_object_id text,
    IN p_operator_id text,
    IN p_department_id text,
    IN p_ttl_seconds bigint,
    INOUT p_lock_fl character(1) DEFAULT NULL,
    INOUT p_outcome text DEFAULT NULL,
    INOUT p_old_operator_id text DEFAULT NULL,
    INOUT p_old_department_id text DEFAULT NULL,
    INOUT p_fence bigint DEFAULT NULL,
    INOUT p_expires_ts timestamptz DEFAULT NULL,
    INOUT p_seconds_left bigint DEFAULT NULL,
    INOUT p_note text DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT
        r.p_lock_fl,
        r.p_outcome,
        r.p_old_operator_id,
        r.p_old_department_id,
        r.p_fence,
        r.p_expires_ts,
        r.p_seconds_left,
        r.p_note
    INTO p_lock_fl, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_expires_ts, p_seconds_left, p_note
    FROM get_appl_lock_row(p_object_type, p_object_id, p_operator_id, p_department_id, p_ttl_seconds) AS r;
END
$$;

COMMENT ON PROCEDURE get_appl_lock(text, text, text, text, bigint, character, text, text, text, bigint, timestamptz, bigint, text) IS
    'Take or renew the lock on an object for one operator until it expires.';

REVOKE ALL ON PROCEDURE get_appl_lock(text, text, text, text, bigint, character, text, text, text, bigint, timestamptz, bigint, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- get_appl_lock_permit: take or renew one of the permits of an object, of which there are so many, for one operator until it
-- expires.
--
-- Contract   The permits are slots: the objects p_object_id#1 to p_object_id#N of the type, N being p_permits. A slot is an
--            object like any other: release, inquire, transfer, assert and the rest take its id.
--            ACQUIRED: a slot was free or had expired; a new grant, a greater fence. RENEWED: this operator holds a
--            slot; same grant and fence. One row tells the slot. What is NULL of p_department_id and p_ttl_seconds stays
--            as the grant has it.
--            FULL: each slot was held by somebody else when the call looked at it. One row for each, the
--            soonest to expire first; one that has become free since comes first, without a holder: call again.
--            A slot above N is neither granted nor renewed nor counted: who calls with a smaller N than others did leaves
--            those slots to end by themselves, and who has one of them may have another one within N.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1 or more, with "#N" 255 at the most; p_permits 1..1000;
--            p_operator_id 1..64; p_department_id 0..64, NULL = the grant's in a renewal, else empty; p_ttl_seconds
--            1..315360000, NULL = the grant's in a renewal, else the policy's, else 604800 (7 days). Trailing blanks are trimmed first.
-- Out        outcome, slot_id, operator_id, department_id, fence, expires_ts, seconds_left (from now to expires_ts), note (the
--            grant's). Of a slot that has become free the last six are empty, empty, 0, NULL, 0 and empty.
-- Raises     LK001 invalid argument. LK003, 55P03, 40001 and 40P01 as get_appl_lock.
-- Locks      S1 and S3 read without a lock, so FULL locks nothing. S2 is get_appl_lock for one slot, with its locks.
-- Race-free  Never more than N: S1 grants nothing. Each grant is one of get_appl_lock on one of N rows.
--            Two for the last slot: get_appl_lock lets one have it. The other looks again, for slots that it has not
--            tried; so it ends after N rounds at the most, whatever the others do.
--            Release of a slot during a round: S1 is a new snapshot each time. A slot that was tried is not tried again: it
--            was held when it was tried.
--            The same operator twice at once: both begin with the same slot, for which the second waits and renews it.
--            Only where that slot changes hands between the two S1 may each get one of its own; the next calls renew
--            the one of them, and the other ends with its ttl or by a release.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION get_appl_lock_permit(
    p_object_type text,
    p_object_id text,
    p_permits bigint,
    p_operator_id text,
    p_department_id text,
    p_ttl_seconds bigint,
    OUT outcome text,
    OUT slot_id text,
    OUT operator_id text,
    OUT department_id text,
    OUT fence bigint,
    OUT expires_ts timestamptz,
    OUT seconds_left bigint,
    OUT note text
) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
-- An index is the only way to a row, whatever the statistics say and whenever the plans were made.
SET enable_seqscan = 'off'
AS $$
DECLARE
    v_object_type text := appl_lock_text('get_appl_lock_permit', 'p_object_type', p_object_type, 64, true);
    v_permits bigint := appl_lock_number('get_appl_lock_permit', 'p_permits', p_permits, 0, 1000);
    v_prefix text := appl_lock_text(
        'get_appl_lock_permit', 'p_object_id', p_object_id, 254 - char_length(v_permits::text), true
    ) || '#';
    v_operator_id text := appl_lock_text('get_appl_lock_permit', 'p_operator_id', p_operator_id, 64, true);
    v_department_id text := appl_lock_text('get_appl_lock_permit', 'p_department_id', p_department_id, 64, false);
    v_first bigint := mod(hashtext(v_operator_id)::bigint + 2147483648, v_permits);
    v_tried bigint[] := '{}';
    v_now timestamptz;
    v_slot bigint;
    v_own_department_id text;
    v_got record;
BEGIN
    PERFORM appl_lock_number('get_appl_lock_permit', 'p_ttl_seconds', p_ttl_seconds, 604800, 315360000);
    LOOP
        -- S1: the slot that the operator has, or else the next one that is free. The limit, one row by the key, has each
        -- slot looked up by itself.
        v_now := clock_timestamp();
        SELECT s.slot, l.department_id
        INTO v_slot, v_own_department_id
        FROM generate_series(1, v_permits) AS s (slot)
        LEFT JOIN LATERAL (
            SELECT h.operator_id, h.department_id
            FROM appl_lock AS h
            WHERE h.object_type = v_object_type
                AND h.object_id = v_prefix || s.slot
                AND h.expires_ts > v_now
            LIMIT 1
        ) AS l ON true
        WHERE (l.operator_id IS NULL OR l.operator_id = v_operator_id)
            AND s.slot <> ALL (v_tried)
        ORDER BY l.operator_id IS NULL, mod(s.slot - v_first + v_permits, v_permits)
        LIMIT 1;
        EXIT WHEN NOT FOUND;

        -- S2: get it.
        SELECT *
        INTO v_got
        FROM get_appl_lock_row(v_object_type, v_prefix || v_slot, v_operator_id, p_department_id, p_ttl_seconds);
        IF v_got.p_lock_fl = 'Y' THEN
            outcome := v_got.p_outcome;
            slot_id := v_prefix || v_slot;
            operator_id := v_operator_id;
            department_id := v_department_id;
            IF p_department_id IS NULL AND outcome = 'RENEWED' THEN
                department_id := coalesce(v_own_department_id, '');
            END IF;
            fence := v_got.p_fence;
            expires_ts := v_got.p_expires_ts;
            seconds_left := v_got.p_seconds_left;
            note := v_got.p_note;
            RETURN NEXT;
            RETURN;
        END IF;
        v_tried := v_tried || v_slot;
    END LOOP;

    -- S3: who holds them?
    v_now := clock_timestamp();
    RETURN QUERY
    SELECT
        'FULL',
        v_prefix || s.slot,
        coalesce(l.operator_id, '')::text,
        coalesce(l.department_id, '')::text,
        coalesce(l.fence, 0),
        l.expires_ts,
        CASE WHEN l.expires_ts IS NULL THEN 0 ELSE appl_lock_seconds_left(l.expires_ts) END,
        coalesce(l.note, '')::text
    FROM generate_series(1, v_permits) AS s (slot)
    LEFT JOIN LATERAL (
        SELECT h.operator_id, h.department_id, h.fence, h.expires_ts, h.note
        FROM appl_lock AS h
        WHERE h.object_type = v_object_type
            AND h.object_id = v_prefix || s.slot
            AND h.expires_ts > v_now
        LIMIT 1
    ) AS l ON true
    ORDER BY l.expires_ts NULLS FIRST, s.slot;
END
$$;

COMMENT ON FUNCTION get_appl_lock_permit(text, text, bigint, text, text, bigint) IS
    'Take or renew one of the permits of an object, of which there are so many, for one operator until it expires.';

REVOKE ALL ON FUNCTION get_appl_lock_permit(text, text, bigint, text, text, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- inbox_appl_locks: what concerns an operator: what others did with its locks, who waits for them, and which of them end
-- within the hour. It is for one call in each heartbeat.
--
-- Contract   At most p_max_rows rows. First the events of the history after p_after_event_id in which somebody else is the
--            actor: TAKEN, another operator has taken it from this one, or has handed it on to a third; HANDED, it was
--            transferred to this one; RELEASED, this one's lock was ended. The next call starts after the greatest event_id
--            of this one. Then how it is now: AWAITED, another operator waits for what this one holds, who waits longest
--            first; EXPIRING, this one's lock ends within the hour, what ends first first. What had expired when another
--            operator got it was lost, and not taken.
-- In         p_operator_id 1..64; p_after_event_id 1 or greater, NULL = no event has been seen; p_max_rows 1..10000, NULL =
--            1000. Trailing blanks are trimmed first.
-- Out        kind; event_id (0 unless an event); object_type; object_id; other_operator_id and other_department_id (who has it
--            now, TAKEN; who had it, HANDED; who ended it, RELEASED, without department; who waits, AWAITED; empty,
--            EXPIRING); event_ts (of the event; since when that one waits; expires_ts); seconds_left (from now to the end of
--            this one's lock; 0 for events); reason.
-- Raises     LK001 invalid argument. Nothing else on purpose.
-- Locks      Nothing; never waits and never writes. It reads the operator's own events from p_after_event_id on,
--            each waiter, and each row of appl_lock: it has no index by operator, which each get would pay for.
-- Race-free  The answer is one snapshot. An event is numbered before its transaction commits: one that commits after a later
--            one was read is behind those who go on from there. Its lock's next renewal tells all the same.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION inbox_appl_locks(
    p_operator_id text,
    p_after_event_id bigint,
    p_max_rows bigint,
    OUT kind text,
    OUT event_id bigint,
    OUT object_type text,
    OUT object_id text,
    OUT other_operator_id text,
    OUT other_department_id text,
    OUT event_ts timestamptz,
    OUT seconds_left bigint,
    OUT reason text
) RETURNS SETOF record
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
-- A plan for these very arguments.
SET plan_cache_mode = 'force_custom_plan'
-- By the operator's index, whatever the statistics say: else each call could read the whole history.
SET enable_seqscan = 'off'
SET enable_bitmapscan = 'off'
-- Before PostgreSQL 18 a table that is read as a whole all the same costs so much on paper that the statement is compiled, for
-- half a second of each call.
SET jit = 'off'
AS $$
DECLARE
    v_operator_id text := appl_lock_text('inbox_appl_locks', 'p_operator_id', p_operator_id, 64, true);
    v_after_event_id bigint := CASE
        WHEN p_after_event_id IS NULL THEN 0
        ELSE appl_lock_number('inbox_appl_locks', 'p_after_event_id', p_after_event_id, NULL, 9223372036854775807)
    END;
    v_max_rows bigint := appl_lock_number('inbox_appl_locks', 'p_max_rows', p_max_rows, 1000, 10000);
    v_now timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    SELECT
        m.kind,
        m.event_id,
        m.object_type::text,
        m.object_id::text,
        m.other_operator_id::text,
        m.other_department_id::text,
        m.event_ts,
        m.seconds_left,
        m.reason::text
    FROM (
        -- The order of the two columns of the index, and no = for the first of them: the primary key has no such order.
        (
            SELECT
                1 AS part,
                CASE e.event WHEN 'RELEASED' THEN 'RELEASED' ELSE 'TAKEN' END AS kind,
                e.event_id,
                e.object_type,
                e.object_id,
                CASE e.event WHEN 'RELEASED' THEN e.actor_id ELSE e.to_operator_id END AS other_operator_id,
                e.to_department_id AS other_department_id,
                e.event_ts,
                0::bigint AS seconds_left,
                e.reason
            FROM appl_lock_event AS e
            WHERE (e.from_operator_id, e.event_id) > (v_operator_id, v_after_event_id)
                AND e.from_operator_id <= v_operator_id
                AND e.event IN ('TAKEN', 'TRANSFERRED', 'RELEASED')
                AND e.actor_id <> v_operator_id
                AND e.to_operator_id <> v_operator_id
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
                e.reason
            FROM appl_lock_event AS e
            WHERE (e.to_operator_id, e.event_id) > (v_operator_id, v_after_event_id)
                AND e.to_operator_id <= v_operator_id
                AND e.event = 'TRANSFERRED'
                AND e.actor_id <> v_operator_id
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
            ''
        FROM appl_lock_waiter AS w
        CROSS JOIN LATERAL (
            SELECT h.expires_ts
            FROM appl_lock AS h
            WHERE h.object_type = w.object_type
                AND h.object_id = w.object_id
                AND h.operator_id = v_operator_id
                AND h.expires_ts > v_now
            LIMIT 1
        ) AS l
        WHERE w.operator_id <> v_operator_id
            AND w.expires_ts > v_now
        UNION ALL
        SELECT
            3,
            'EXPIRING',
            0,
            l.object_type,
            l.object_id,
            '',
            '',
            l.expires_ts,
            appl_lock_seconds_left(l.expires_ts),
            ''
        FROM appl_lock AS l
        WHERE l.operator_id = v_operator_id
            AND l.expires_ts > v_now
            AND l.expires_ts <= v_now + interval '1 hour'
    ) AS m
    ORDER BY
        m.part,
        m.event_id,
        m.event_ts,
        m.object_type COLLATE "C",
        m.object_id COLLATE "C",
        m.other_operator_id COLLATE "C"
    LIMIT v_max_rows;
END
$$;

COMMENT ON FUNCTION inbox_appl_locks(text, bigint, bigint) IS
    'What concerns an operator: what others did with its locks, who waits for them, and which of them end within the hour.';

REVOKE ALL ON FUNCTION inbox_appl_locks(text, bigint, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- inquire_appl_lock: who holds an object, since when and until when.
--
-- Contract   Y and the lock, when somebody holds the object.
--            N and blanks (empty strings, fence 0, NULL timestamps), when it is free or expired.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255. Trailing blanks are trimmed.
-- Out        p_return_cd, p_operator_id, p_department_id, p_fence, p_acquired_ts, p_lock_ts, p_expires_ts,
--            p_seconds_left (from now to p_expires_ts, 0 when N), p_note (empty when N).
-- Raises     LK001 invalid argument. Nothing else on purpose.
-- Locks      Nothing; never waits and never writes.
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
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
            AND l.expires_ts > clock_timestamp();
        IF FOUND THEN
            RETURN v_answer;
        END IF;
        -- Whoever names a row that is there has named it well. Blanks at the end name none.
        IF (
            p_object_type NOT LIKE '% '
            AND p_object_id NOT LIKE '% '
            AND char_length(p_object_type) BETWEEN 1 AND 64
            AND position(':' IN p_object_type) = 0
            AND char_length(p_object_id) BETWEEN 1 AND 255
        ) THEN
            RETURN ROW('N', '', '', 0, NULL, NULL, NULL, 0, '')::inquire_appl_lock_answer;
        END IF;
        p_object_type := appl_lock_text('inquire_appl_lock', 'p_object_type', p_object_type, 64, true);
        p_object_id := appl_lock_text('inquire_appl_lock', 'p_object_id', p_object_id, 255, true);
    END LOOP;
END
$$;

COMMENT ON FUNCTION inquire_appl_lock_row(text, text) IS
    'Who holds an object, since when and until when; the answer is one row.';

REVOKE ALL ON FUNCTION inquire_appl_lock_row(text, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE inquire_appl_lock(
    IN p_object_type text,
    IN p_object_id text,
    INOUT p_return_cd character(1) DEFAULT NULL,
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
        r.p_return_cd,
        r.p_operator_id,
        r.p_department_id,
        r.p_fence,
        r.p_acquired_ts,
        r.p_lock_ts,
        r.p_expires_ts,
        r.p_seconds_left,
        r.p_note
    INTO p_return_cd, p_operator_id, p_department_id, p_fence, p_acquired_ts, p_lock_ts, p_expires_ts, p_seconds_left, p_note
    FROM inquire_appl_lock_row(p_object_type, p_object_id) AS r;
END
$$;

COMMENT ON PROCEDURE inquire_appl_lock(text, text, character, text, text, bigint, timestamptz, timestamptz, timestamptz, bigint, text) IS
    'Who holds an object, since when and until when.';

REVOKE ALL ON PROCEDURE inquire_appl_lock(text, text, character, text, text, bigint, timestamptz, timestamptz, timestamptz, bigint, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- list_appl_lock_events: one page of the history, oldest first, all or that of a type, an object or an operator.
--
-- Contract   At most p_max_rows events whose event_id is greater than p_after_event_id. The next page starts after the
--            last row of this one; a page shorter than p_max_rows is the last. An operator's events are those in which it
--            is actor, former or new holder.
-- In         p_object_type 1..64, p_object_id 1..255, p_operator_id 1..64: NULL = any. p_since_seconds 1..315360000, back
--            from now, NULL = any. p_after_event_id 1 or greater, NULL = from the start. p_max_rows 1..10000, NULL = 1000.
--            Trailing blanks are trimmed first.
-- Out        The columns of appl_lock_event, ordered by event_id.
-- Raises     LK001 invalid argument. Nothing else on purpose.
-- Locks      Nothing; never waits and never writes.
-- Race-free  A page is one snapshot. An event is numbered before its transaction commits: one that commits after a later
--            one was listed is behind those who go on from there.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION list_appl_lock_events(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_since_seconds bigint,
    p_after_event_id bigint,
    p_max_rows bigint,
    OUT event_id bigint,
    OUT event_ts timestamptz,
    OUT object_type text,
    OUT object_id text,
    OUT event text,
    OUT actor_id text,
    OUT db_user text,
    OUT program text,
    OUT from_operator_id text,
    OUT from_department_id text,
    OUT to_operator_id text,
    OUT to_department_id text,
    OUT from_fence bigint,
    OUT to_fence bigint,
    OUT reason text
) RETURNS SETOF record
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
-- A plan for these very arguments: a NULL filter falls away, an object becomes a range of its index.
SET plan_cache_mode = 'force_custom_plan'
-- In the order of an index, whatever the statistics say: else each page could read, and sort, the whole table.
SET enable_seqscan = 'off'
SET enable_bitmapscan = 'off'
AS $$
DECLARE
    v_object_type text := appl_lock_text('list_appl_lock_events', 'p_object_type', p_object_type, 64, p_object_type IS NOT NULL);
    v_object_id text := appl_lock_text('list_appl_lock_events', 'p_object_id', p_object_id, 255, p_object_id IS NOT NULL);
    v_operator_id text := appl_lock_text('list_appl_lock_events', 'p_operator_id', p_operator_id, 64, p_operator_id IS NOT NULL);
    v_since_ts timestamptz := clock_timestamp() - make_interval(
        secs => appl_lock_number('list_appl_lock_events', 'p_since_seconds', p_since_seconds, 1, 315360000)
    );
    v_after_event_id bigint := appl_lock_number(
        'list_appl_lock_events', 'p_after_event_id', p_after_event_id, 1, 9223372036854775807
    );
    v_max_rows bigint := appl_lock_number('list_appl_lock_events', 'p_max_rows', p_max_rows, 1000, 10000);
BEGIN
    RETURN QUERY
    SELECT
        e.event_id,
        e.event_ts,
        e.object_type::text,
        e.object_id::text,
        e.event::text,
        e.actor_id::text,
        e.db_user::text,
        e.program::text,
        e.from_operator_id::text,
        e.from_department_id::text,
        e.to_operator_id::text,
        e.to_department_id::text,
        e.from_fence,
        e.to_fence,
        e.reason::text
    FROM appl_lock_event AS e
    WHERE (p_after_event_id IS NULL OR e.event_id > v_after_event_id)
        AND (p_object_type IS NULL OR e.object_type = v_object_type)
        AND (p_object_id IS NULL OR e.object_id = v_object_id)
        AND (p_operator_id IS NULL OR v_operator_id IN (e.actor_id, e.from_operator_id, e.to_operator_id))
        AND (p_since_seconds IS NULL OR e.event_ts >= v_since_ts)
    ORDER BY e.event_id
    LIMIT v_max_rows;
END
$$;

COMMENT ON FUNCTION list_appl_lock_events(text, text, text, bigint, bigint, bigint) IS
    'One page of the history, oldest first, all or that of a type, an object or an operator.';

REVOKE ALL ON FUNCTION list_appl_lock_events(text, text, text, bigint, bigint, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- list_appl_lock_policies: the policies of all types, or that of one.
--
-- Contract   One row for each type that has a policy. There are a few: it has no pages.
-- In         p_object_type 1..64, NULL = any. Trailing blanks are trimmed first.
-- Out        The columns of appl_lock_policy, 0 for a NULL, ordered by object_type as bytes.
-- Raises     LK001 invalid argument. Nothing else on purpose.
-- Locks      Nothing; never waits and never writes.
-- Race-free  The answer is one snapshot.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION list_appl_lock_policies(
    p_object_type text,
    OUT object_type text,
    OUT default_ttl_seconds bigint,
    OUT longest_ttl_seconds bigint,
    OUT take_reason_fl text,
    OUT history_level text
) RETURNS SETOF record
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
DECLARE
    v_object_type text := appl_lock_text(
        'list_appl_lock_policies', 'p_object_type', p_object_type, 64, p_object_type IS NOT NULL
    );
BEGIN
    RETURN QUERY
    SELECT
        p.object_type::text,
        coalesce(p.default_ttl_seconds, 0),
        coalesce(p.longest_ttl_seconds, 0),
        p.take_reason_fl::text,
        p.history_level::text
    FROM appl_lock_policy AS p
    WHERE p_object_type IS NULL OR p.object_type = v_object_type
    ORDER BY p.object_type;
END
$$;

COMMENT ON FUNCTION list_appl_lock_policies(text) IS 'The policies of all types, or that of one.';

REVOKE ALL ON FUNCTION list_appl_lock_policies(text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- list_appl_lock_waiters: one page of those who wait, in key order, all or those for a type or an object, or of
-- an operator or department.
--
-- Contract   At most p_max_rows waiters whose key is greater than (p_after_type, p_after_id,
--            p_after_operator_id, p_after_client_id). The next page starts after the last row of this
--            one; a page shorter than p_max_rows is the last.
-- In         p_object_type 1..64, p_object_id 1..255, p_operator_id 1..64, p_department_id 0..64: NULL = any.
--            p_after_type 0..64, p_after_id 0..255, p_after_operator_id 0..64, p_after_client_id 0..64: NULL =
--            from the start. p_max_rows 1..10000, NULL = 1000. Trailing blanks are trimmed first.
-- Out        The columns of appl_lock_waiter and seconds_left (from now to expires_ts), ordered by object_type,
--            object_id, operator_id, client_id as bytes.
-- Raises     LK001 invalid argument. Nothing else on purpose.
-- Locks      Nothing; never waits and never writes.
-- Race-free  A page is one snapshot. One who waits through the whole listing is in it exactly once, because
--            the key does not change; one who comes or goes meanwhile may be in it or not.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION list_appl_lock_waiters(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_department_id text,
    p_after_type text,
    p_after_id text,
    p_after_operator_id text,
    p_after_client_id text,
    p_max_rows bigint,
    OUT object_type text,
    OUT object_id text,
    OUT operator_id text,
    OUT department_id text,
    OUT client_id text,
    OUT since_ts timestamptz,
    OUT until_ts timestamptz,
    OUT expires_ts timestamptz,
    OUT seconds_left bigint
) RETURNS SETOF record
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
-- A plan for these very arguments: a NULL filter falls away, an object becomes a range of the key.
SET plan_cache_mode = 'force_custom_plan'
-- In the order of the keys, whatever the statistics say: else each page could read, and sort, the whole table.
SET enable_seqscan = 'off'
SET enable_bitmapscan = 'off'
AS $$
DECLARE
    v_object_type text := appl_lock_text('list_appl_lock_waiters', 'p_object_type', p_object_type, 64, p_object_type IS NOT NULL);
    v_object_id text := appl_lock_text('list_appl_lock_waiters', 'p_object_id', p_object_id, 255, p_object_id IS NOT NULL);
    v_operator_id text := appl_lock_text('list_appl_lock_waiters', 'p_operator_id', p_operator_id, 64, p_operator_id IS NOT NULL);
    v_department_id text := appl_lock_text('list_appl_lock_waiters', 'p_department_id', p_department_id, 64, false);
    v_after_type text := appl_lock_text('list_appl_lock_waiters', 'p_after_type', p_after_type, 64, false);
    v_after_id text := appl_lock_text('list_appl_lock_waiters', 'p_after_id', p_after_id, 255, false);
    v_after_operator_id text := appl_lock_text('list_appl_lock_waiters', 'p_after_operator_id', p_after_operator_id, 64, false);
    v_after_client_id text := appl_lock_text('list_appl_lock_waiters', 'p_after_client_id', p_after_client_id, 64, false);
    v_max_rows bigint := appl_lock_number('list_appl_lock_waiters', 'p_max_rows', p_max_rows, 1000, 10000);
BEGIN
    RETURN QUERY
    SELECT
        w.object_type::text,
        w.object_id::text,
        w.operator_id::text,
        w.department_id::text,
        w.client_id::text,
        w.since_ts,
        w.until_ts,
        w.expires_ts,
        appl_lock_seconds_left(w.expires_ts)
    FROM appl_lock_waiter AS w
    WHERE (w.object_type, w.object_id, w.operator_id, w.client_id)
            > (v_after_type, v_after_id, v_after_operator_id, v_after_client_id)
        AND (p_object_type IS NULL OR w.object_type = v_object_type)
        AND (p_object_id IS NULL OR w.object_id = v_object_id)
        AND (p_operator_id IS NULL OR w.operator_id = v_operator_id)
        AND (p_department_id IS NULL OR w.department_id = v_department_id)
        AND w.expires_ts > clock_timestamp()
    ORDER BY w.object_type, w.object_id, w.operator_id, w.client_id
    LIMIT v_max_rows;
END
$$;

COMMENT ON FUNCTION list_appl_lock_waiters(text, text, text, text, text, text, text, text, bigint) IS
    'One page of those who wait, in key order, all or those for a type or an object, or of an operator or department.';

REVOKE ALL ON FUNCTION list_appl_lock_waiters(text, text, text, text, text, text, text, text, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- list_appl_locks: one page of the live locks in key order, all or those of a type, operator or department.
--
-- Contract   At most p_max_rows live locks whose key is greater than (p_after_type, p_after_id). The next
--            page starts after the last row of this one; a page shorter than p_max_rows is the last.
-- In         p_object_type 1..64, p_operator_id 1..64, p_department_id 0..64: NULL = any. p_after_type
--            0..64, p_after_id 0..255: NULL = from the start. p_max_rows 1..10000, NULL = 1000.
--            Trailing blanks are trimmed first.
-- Out        The columns of appl_lock and seconds_left (from now to expires_ts), ordered by object_type, object_id
--            as bytes.
-- Raises     LK001 invalid argument. Nothing else on purpose.
-- Locks      Nothing; never waits and never writes.
-- Race-free  A page is one snapshot. A lock that lives through the whole listing is in it exactly once,
--            because its key does not change; one that comes or goes meanwhile may be in it or not.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION list_appl_locks(
    p_object_type text,
    p_operator_id text,
    p_department_id text,
    p_after_type text,
    p_after_id text,
    p_max_rows bigint,
    OUT object_type text,
    OUT object_id text,
    OUT operator_id text,
    OUT department_id text,
    OUT fence bigint,
    OUT acquired_ts timestamptz,
    OUT lock_ts timestamptz,
    OUT expires_ts timestamptz,
    OUT seconds_left bigint,
    OUT note text
) RETURNS SETOF record
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
-- A plan for these very arguments: a NULL filter falls away, a type becomes a range of the key.
SET plan_cache_mode = 'force_custom_plan'
-- In the order of the keys, whatever the statistics say: else each page could read, and sort, the whole table.
SET enable_seqscan = 'off'
SET enable_bitmapscan = 'off'
AS $$
DECLARE
    v_object_type text := appl_lock_text('list_appl_locks', 'p_object_type', p_object_type, 64, p_object_type IS NOT NULL);
    v_operator_id text := appl_lock_text('list_appl_locks', 'p_operator_id', p_operator_id, 64, p_operator_id IS NOT NULL);
    v_department_id text := appl_lock_text('list_appl_locks', 'p_department_id', p_department_id, 64, false);
    v_after_type text := appl_lock_text('list_appl_locks', 'p_after_type', p_after_type, 64, false);
    v_after_id text := appl_lock_text('list_appl_locks', 'p_after_id', p_after_id, 255, false);
    v_max_rows bigint := appl_lock_number('list_appl_locks', 'p_max_rows', p_max_rows, 1000, 10000);
BEGIN
    RETURN QUERY
    SELECT
        l.object_type::text,
        l.object_id::text,
        l.operator_id::text,
        l.department_id::text,
        l.fence,
        l.acquired_ts,
        l.lock_ts,
        l.expires_ts,
        appl_lock_seconds_left(l.expires_ts),
        l.note::text
    FROM appl_lock AS l
    WHERE (l.object_type, l.object_id) > (v_after_type, v_after_id)
        AND (p_object_type IS NULL OR l.object_type = v_object_type)
        AND (p_operator_id IS NULL OR l.operator_id = v_operator_id)
        AND (p_department_id IS NULL OR l.department_id = v_department_id)
        AND l.expires_ts > clock_timestamp()
    ORDER BY l.object_type, l.object_id
    LIMIT v_max_rows;
END
$$;

COMMENT ON FUNCTION list_appl_locks(text, text, text, text, text, bigint) IS
    'One page of the live locks in key order, all or those of a type, operator or department.';

REVOKE ALL ON FUNCTION list_appl_locks(text, text, text, text, text, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- note_appl_lock: say why an operator holds an object, for whoever asks.
--
-- Contract   Y NOTED: the operator holds it (this very grant, if p_fence is given), and this is its note now. It lasts
--            as long as the grant, through renewals; the next grant begins without one.
--            N FREE: nobody holds it; nothing changed.
--            N HELD: another operator, or another grant than p_fence, holds it; p_old_* tell who. Nothing changed.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64;
--            p_fence 1 or greater, NULL = whichever grant; p_note 0..255, NULL = empty. Trailing blanks are trimmed first.
-- Out        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD).
-- Raises     LK001 invalid argument. LK003 when the object changed hands thirty times during the call.
--            55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has them.
-- Locks      S1 locks the object's one row if this grant is live, and decides; held to the end of the caller's
--            transaction. Another's row it neither locks nor waits for. S2 reads without a lock and answers HELD and
--            FREE.
-- Race-free  Note against release, take-over or transfer: S1 names operator, fence and expiry and is judged on the row
--            as it is once it is locked; a note never lands on a later grant of another operator, nor, with p_fence, on
--            one of this operator.
--            Note against renewal: the later one of the two changes the row that the other has left; neither is lost.
--            A grant of this operator that S1 could not see and S2 does begins again.
--            A get that has not committed yet is not there yet: FREE, as for every reader.
--            REPEATABLE READ and SERIALIZABLE: S1 on a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION note_appl_lock_row(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_fence bigint,
    p_note text,
    OUT p_return_cd character(1),
    OUT p_outcome text,
    OUT p_old_operator_id text,
    OUT p_old_department_id text
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    v_object_type text := appl_lock_text('note_appl_lock', 'p_object_type', p_object_type, 64, true);
    v_object_id text := appl_lock_text('note_appl_lock', 'p_object_id', p_object_id, 255, true);
    v_operator_id text := appl_lock_text('note_appl_lock', 'p_operator_id', p_operator_id, 64, true);
    v_fence bigint := CASE
        WHEN p_fence IS NOT NULL THEN appl_lock_number('note_appl_lock', 'p_fence', p_fence, NULL, 9223372036854775807)
    END;
    v_note text := appl_lock_text('note_appl_lock', 'p_note', p_note, 255, false);
    v_holds boolean;
BEGIN
    FOR v_round IN 1..30 LOOP
        -- S1: note it on this grant.
        UPDATE appl_lock AS l
        SET note = v_note
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.operator_id = v_operator_id
            AND l.fence = coalesce(v_fence, l.fence)
            AND l.expires_ts > clock_timestamp();
        IF FOUND THEN
            p_return_cd := 'Y';
            p_outcome := 'NOTED';
            p_old_operator_id := '';
            p_old_department_id := '';
            RETURN;
        END IF;

        -- S2: why not?
        SELECT l.operator_id, l.department_id, l.operator_id = v_operator_id AND l.fence = coalesce(v_fence, l.fence)
        INTO p_old_operator_id, p_old_department_id, v_holds
        FROM appl_lock AS l
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.expires_ts > clock_timestamp();
        IF NOT FOUND THEN
            p_return_cd := 'N';
            p_outcome := 'FREE';
            p_old_operator_id := '';
            p_old_department_id := '';
            RETURN;
        END IF;
        IF NOT v_holds THEN
            p_return_cd := 'N';
            p_outcome := 'HELD';
            RETURN;
        END IF;
    END LOOP;
    RAISE EXCEPTION USING
        ERRCODE = 'LK003',
        MESSAGE = format('note_appl_lock: %s:%s changed hands during the call; call again', v_object_type, v_object_id);
END
$$;

COMMENT ON FUNCTION note_appl_lock_row(text, text, text, bigint, text) IS
    'Say why an operator holds an object, for whoever asks; the answer is one row.';

REVOKE ALL ON FUNCTION note_appl_lock_row(text, text, text, bigint, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE note_appl_lock(
    IN p_object_type text,
    IN p_object_id text,
    IN p_operator_id text,
    IN p_fence bigint,
    IN p_note text,
    INOUT p_return_cd character(1) DEFAULT NULL,
    INOUT p_outcome text DEFAULT NULL,
    INOUT p_old_operator_id text DEFAULT NULL,
    INOUT p_old_department_id text DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT r.p_return_cd, r.p_outcome, r.p_old_operator_id, r.p_old_department_id
    INTO p_return_cd, p_outcome, p_old_operator_id, p_old_department_id
    FROM note_appl_lock_row(p_object_type, p_object_id, p_operator_id, p_fence, p_note) AS r;
END
$$;

COMMENT ON PROCEDURE note_appl_lock(text, text, text, bigint, text, character, text, text, text) IS
    'Say why an operator holds an object, for whoever asks.';

REVOKE ALL ON PROCEDURE note_appl_lock(text, text, text, bigint, text, character, text, text, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- poll_appl_locks: which of the objects that a program waits for are free, or will be next; keeps its waiters
-- listed.
--
-- Contract   One row for each object that a waiter of the program waits for who has not given up; those that
--            are free first, then those whose lock ends soonest, p_max_rows of them. The time is as
--            the lock stands: it may be renewed or released meanwhile. The program's waiters stay listed for
--            30 s or more.
-- In         p_client_id 1..64, the waiting program. p_max_rows 1..10000, NULL = 1000. Trailing blanks are
--            trimmed first.
-- Out        object_type, object_id, free_in_us (microseconds until the lock ends, 0 when the object is free),
--            ordered by free_in_us, object_type, object_id.
-- Raises     LK001 invalid argument. 40001 as the engine has it.
-- Locks      Normally nothing. Once in 30 s, S1 locks the program's rows in appl_lock_waiter, to the end of the
--            caller's transaction; rows that somebody else is changing are passed over, never waited for.
-- Race-free  Against announce and retract of a row: they keep it listed or end it themselves; poll passes over it.
--            Two polls: the second passes over what the first has locked.
--            What S2 says was true at one moment; a get finds out what has become of it.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION poll_appl_locks(
    p_client_id text,
    p_max_rows bigint,
    OUT object_type text,
    OUT object_id text,
    OUT free_in_us bigint
) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
-- An index is the only way to a row, whatever the statistics say and whenever the plans were made.
SET enable_seqscan = 'off'
AS $$
DECLARE
    v_client_id text := appl_lock_text('poll_appl_locks', 'p_client_id', p_client_id, 64, true);
    v_max_rows bigint := appl_lock_number('poll_appl_locks', 'p_max_rows', p_max_rows, 1000, 10000);
    v_now timestamptz := clock_timestamp();
BEGIN
    -- S1: keep the waiters listed, all of them as soon as one of them must be.
    IF EXISTS (
        SELECT
        FROM appl_lock_waiter AS w
        WHERE w.client_id = v_client_id
            AND w.expires_ts < v_now + interval '30 seconds'
            AND (w.until_ts IS NULL OR (w.until_ts > v_now AND w.until_ts > w.expires_ts))
    ) THEN
        -- By their places: a row that has just moved is being kept, or ended, by somebody else.
        UPDATE appl_lock_waiter AS w
        SET expires_ts = least(v_now + interval '60 seconds', w.until_ts)
        WHERE w.ctid = ANY (ARRAY(
                SELECT k.ctid
                FROM appl_lock_waiter AS k
                WHERE k.client_id = v_client_id
                    AND (k.until_ts IS NULL OR (k.until_ts > v_now AND k.until_ts > k.expires_ts))
                FOR NO KEY UPDATE SKIP LOCKED
            ));
    END IF;

    -- S2: when will each be free? The limit, one row by the key, has each object looked up by itself: a join would begin
    -- with whichever table the statistics call small.
    RETURN QUERY
    SELECT a.object_type, a.object_id, a.free_in_us
    FROM (
        SELECT
            w.object_type::text,
            w.object_id::text,
            coalesce((extract(epoch FROM l.expires_ts - v_now) * 1000000)::bigint, 0) AS free_in_us
        FROM (
            SELECT DISTINCT r.object_type, r.object_id
            FROM appl_lock_waiter AS r
            WHERE r.client_id = v_client_id
                AND (r.until_ts IS NULL OR r.until_ts > v_now)
        ) AS w
        LEFT JOIN LATERAL (
            SELECT h.expires_ts
            FROM appl_lock AS h
            WHERE h.object_type = w.object_type
                AND h.object_id = w.object_id
                AND h.expires_ts > v_now
            LIMIT 1
        ) AS l ON true
    ) AS a
    ORDER BY a.free_in_us, a.object_type COLLATE "C", a.object_id COLLATE "C"
    LIMIT v_max_rows;
END
$$;

COMMENT ON FUNCTION poll_appl_locks(text, bigint) IS
    'Which of the objects that a program waits for are free, or will be next; keeps its waiters listed.';

REVOKE ALL ON FUNCTION poll_appl_locks(text, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- purge_appl_locks: remove the rows of objects that have been free for long.
--
-- Contract   Deletes at most p_max_rows rows that expired or were released more than
--            p_older_than_seconds ago; fewer than p_max_rows means that none is left. No live lock
--            is ever touched. Call it again until it returns less than p_max_rows. Waiters that have been
--            dead for as long go as well, at most p_max_rows of them, and events of the history that are so old, as many;
--            they are not counted. What is counted is itself an event, PURGED, if there is any: its reason is the number.
-- In         p_older_than_seconds 1..315360000, NULL = 2592000 (30 days). p_max_rows 1..10000, NULL = 1000.
-- Out        p_purged, the number of rows of appl_lock removed.
-- Raises     LK001 invalid argument. 40001 as the engine has it.
-- Locks      The rows it removes, to the end of the caller's transaction. Rows that somebody else is
--            changing are passed over, never waited for.
-- Race-free  Get of a row being purged: FOR UPDATE decides which of them has the row; purge judges the
--            row again once it is locked, and a get that waited inserts a new row.
--            Fences stay monotonic: a row goes only when its fence lies in the past (it does not after
--            the clock was set back), so that the next grant's fence, now in microseconds, is greater.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION purge_appl_locks_row(
    p_older_than_seconds bigint,
    p_max_rows bigint,
    OUT p_purged bigint
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
DECLARE
    v_now timestamptz := clock_timestamp();
    v_before timestamptz := v_now - make_interval(
        secs => appl_lock_number('purge_appl_locks', 'p_older_than_seconds', p_older_than_seconds, 2592000, 315360000)
    );
    v_max_rows bigint := appl_lock_number('purge_appl_locks', 'p_max_rows', p_max_rows, 1000, 10000);
    v_free CURSOR FOR
        SELECT
        FROM appl_lock AS l
        WHERE l.expires_ts < v_before
            AND l.lock_ts < v_before
            AND l.fence < (extract(epoch FROM v_now) * 1000000)::bigint
        LIMIT v_max_rows
        FOR UPDATE SKIP LOCKED;
    v_dead CURSOR FOR
        SELECT
        FROM appl_lock_waiter AS w
        WHERE w.expires_ts < v_before
        LIMIT v_max_rows
        FOR UPDATE SKIP LOCKED;
    v_old CURSOR FOR
        SELECT
        FROM appl_lock_event AS e
        WHERE e.event_ts < v_before
        LIMIT v_max_rows
        FOR UPDATE SKIP LOCKED;
BEGIN
    p_purged := 0;
    FOR v_row IN v_free LOOP
        DELETE FROM appl_lock WHERE CURRENT OF v_free;
        p_purged := p_purged + 1;
    END LOOP;
    FOR v_row IN v_dead LOOP
        DELETE FROM appl_lock_waiter WHERE CURRENT OF v_dead;
    END LOOP;
    FOR v_row IN v_old LOOP
        DELETE FROM appl_lock_event WHERE CURRENT OF v_old;
    END LOOP;
    IF p_purged > 0 THEN
        PERFORM appl_lock_record('PURGED', '', '', '', '', '', 0, '', '', 0, p_purged::text);
    END IF;
END
$$;

COMMENT ON FUNCTION purge_appl_locks_row(bigint, bigint) IS
    'Remove the rows of objects that have been free for long; the answer is one row.';

REVOKE ALL ON FUNCTION purge_appl_locks_row(bigint, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE purge_appl_locks(
    IN p_older_than_seconds bigint,
    IN p_max_rows bigint,
    INOUT p_purged bigint DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT r.p_purged
    INTO p_purged
    FROM purge_appl_locks_row(p_older_than_seconds, p_max_rows) AS r;
END
$$;

COMMENT ON PROCEDURE purge_appl_locks(bigint, bigint, bigint) IS
    'Remove the rows of objects that have been free for long.';

REVOKE ALL ON PROCEDURE purge_appl_locks(bigint, bigint, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- release_appl_lock: end the grant that an operator holds on an object.
--
-- Contract   Y RELEASED: the operator held it (this very grant, if p_fence is given); it is free now.
--            Y FREE: nobody holds it; nothing changed.
--            N HELD: another operator, or another grant than p_fence, holds it; p_old_* tell who.
--            When somebody waits for the object, a notification on the channel SCHEMA_appl_lock names it as
--            type:id once the release is committed. It is a hint, which may come late, needlessly or not at all. One before
--            it names, behind a colon, the client of whoever has waited longest, which is to ask first.
--            A release by another actor than the operator, or with a reason, is an event of the history: RELEASED. So is any
--            where the type's policy had the history told ALL when the operator last called get.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64;
--            p_fence 1 or greater, NULL = whichever grant; p_actor_id 1..64, NULL = p_operator_id; p_reason 0..255, NULL =
--            empty. Trailing blanks are trimmed first.
-- Out        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD).
-- Raises     LK001 invalid argument. LK003 when the object changed hands thirty times during the call.
--            55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has them. A
--            transaction that has notified cannot be prepared for a two-phase commit (0A000).
-- Locks      S1 locks the object's one row if this grant is live, and decides; held to the end of the caller's
--            transaction. Another's row it neither locks nor waits for. S2 reads without a lock and answers HELD and
--            FREE. A notification takes its turn with all others at commit, and so is sent only when somebody waits.
-- Race-free  Release against take-over, renewal or transfer: S1 names operator, fence and expiry
--            and is judged on the row as it is once it is locked; a later grant never matches.
--            Two releases: the second finds the row expired and answers FREE.
--            A grant of this operator that S1 could not see and S2 does begins again.
--            A get that has not committed yet is not there yet: FREE, as for every reader.
--            A waiter that S1 cannot see yet is not notified: it must look again after it is listed.
--            REPEATABLE READ and SERIALIZABLE: S1 on a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION release_appl_lock_row(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_fence bigint,
    p_actor_id text,
    p_reason text
)
-- A named row, because OUT parameters are described anew in each call.
RETURNS release_appl_lock_answer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    v_actor_id text;
    v_reason text;
    v_awaited boolean;
    v_holder_id text;
    v_holder_department_id text;
    v_holds boolean;
    v_round integer;
    v_history_fl boolean;
BEGIN
    LOOP
        -- S1: end this grant, which whoever names it has named well, for good: however far the clock is set back, it does
        -- not come to life again. Does anybody wait? That lock_ts lies behind the end tells from now on that the grant has
        -- not just expired, and since when the object is free.
        UPDATE appl_lock AS l
        SET lock_ts = greatest(clock_timestamp(), l.lock_ts),
            expires_ts = 'epoch'
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
            AND l.operator_id = p_operator_id
            AND l.fence = coalesce(p_fence, l.fence)
            AND l.expires_ts > clock_timestamp()
        RETURNING EXISTS (
            SELECT
            FROM appl_lock_waiter AS w
            WHERE w.object_type = p_object_type
                AND w.object_id = p_object_id
                AND w.expires_ts > clock_timestamp()
        ), l.history_fl
        INTO v_awaited, v_history_fl;
        IF FOUND THEN
            IF v_awaited THEN
                -- The first in line is named first. The bound keeps a long line cheap; the cast cuts off what is too long for
                -- a channel.
                PERFORM
                    pg_notify(f.channel, ':' || f.client_id),
                    pg_notify(f.channel, p_object_type || ':' || p_object_id)
                FROM (
                    SELECT a.client_id, (current_schema() || '_appl_lock')::name::text AS channel
                    FROM (
                        SELECT w.client_id, w.since_ts
                        FROM appl_lock_waiter AS w
                        WHERE w.object_type = p_object_type
                            AND w.object_id = p_object_id
                            AND w.expires_ts > clock_timestamp()
                        LIMIT 100
                    ) AS a
                    ORDER BY a.since_ts
                    LIMIT 1
                ) AS f;
            END IF;
            IF v_history_fl OR p_actor_id IS NOT NULL OR p_reason IS NOT NULL THEN
                v_actor_id := appl_lock_text('release_appl_lock', 'p_actor_id', coalesce(p_actor_id, p_operator_id), 64, true);
                v_reason := appl_lock_text('release_appl_lock', 'p_reason', p_reason, 255, false);
                IF v_history_fl OR v_actor_id <> p_operator_id OR v_reason <> '' THEN
                    PERFORM appl_lock_record(
                        'RELEASED', p_object_type, p_object_id, v_actor_id,
                        l.operator_id, l.department_id, l.fence, '', '', 0, v_reason
                    )
                    FROM appl_lock AS l
                    WHERE l.object_type = p_object_type
                        AND l.object_id = p_object_id;
                END IF;
            END IF;
            RETURN ROW('Y', 'RELEASED', '', '')::release_appl_lock_answer;
        END IF;

        -- Blanks at the end, which are rare, name no grant.
        IF (p_object_type NOT LIKE '% ' AND p_object_id NOT LIKE '% ' AND p_operator_id NOT LIKE '% ') IS NOT TRUE THEN
            p_object_type := appl_lock_text('release_appl_lock', 'p_object_type', p_object_type, 64, true);
            p_object_id := appl_lock_text('release_appl_lock', 'p_object_id', p_object_id, 255, true);
            p_operator_id := appl_lock_text('release_appl_lock', 'p_operator_id', p_operator_id, 64, true);
            CONTINUE;
        END IF;
        -- One expression, because each costs. What is wrong the checks say themselves.
        IF (
            char_length(p_object_type) BETWEEN 1 AND 64
            AND position(':' IN p_object_type) = 0
            AND char_length(p_object_id) BETWEEN 1 AND 255
            AND char_length(p_operator_id) BETWEEN 1 AND 64
            AND coalesce(p_fence, 1) >= 1
            AND coalesce(p_actor_id, p_reason) IS NULL
        ) IS NOT TRUE THEN
            PERFORM appl_lock_text('release_appl_lock', 'p_object_type', p_object_type, 64, true);
            PERFORM appl_lock_text('release_appl_lock', 'p_object_id', p_object_id, 255, true);
            PERFORM appl_lock_text('release_appl_lock', 'p_operator_id', p_operator_id, 64, true);
            PERFORM appl_lock_number('release_appl_lock', 'p_fence', p_fence, 1, 9223372036854775807);
            PERFORM appl_lock_text('release_appl_lock', 'p_actor_id', p_actor_id, 64, p_actor_id IS NOT NULL);
            PERFORM appl_lock_text('release_appl_lock', 'p_reason', p_reason, 255, false);
        END IF;

        -- S2: why not?
        SELECT l.operator_id, l.department_id, l.operator_id = p_operator_id AND l.fence = coalesce(p_fence, l.fence)
        INTO v_holder_id, v_holder_department_id, v_holds
        FROM appl_lock AS l
        WHERE l.object_type = p_object_type
            AND l.object_id = p_object_id
            AND l.expires_ts > clock_timestamp();
        IF NOT FOUND THEN
            RETURN ROW('Y', 'FREE', '', '')::release_appl_lock_answer;
        END IF;
        IF NOT v_holds THEN
            RETURN ROW('N', 'HELD', v_holder_id, v_holder_department_id)::release_appl_lock_answer;
        END IF;
        v_round := coalesce(v_round, 0) + 1;
        EXIT WHEN v_round = 30;
    END LOOP;
    RAISE EXCEPTION USING
        ERRCODE = 'LK003',
        MESSAGE = format('release_appl_lock: %s:%s changed hands during the call; call again', p_object_type, p_object_id);
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
    IN p_fence bigint,
    IN p_actor_id text,
    IN p_reason text,
    INOUT p_return_cd character(1) DEFAULT NULL,
    INOUT p_outcome text DEFAULT NULL,
    INOUT p_old_operator_id text DEFAULT NULL,
    INOUT p_old_department_id text DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT r.p_return_cd, r.p_outcome, r.p_old_operator_id, r.p_old_department_id
    INTO p_return_cd, p_outcome, p_old_operator_id, p_old_department_id
    FROM release_appl_lock_row(p_object_type, p_object_id, p_operator_id, p_fence, p_actor_id, p_reason) AS r;
END
$$;

COMMENT ON PROCEDURE release_appl_lock(text, text, text, bigint, text, text, character, text, text, text) IS
    'End the grant that an operator holds on an object.';

REVOKE ALL ON PROCEDURE release_appl_lock(text, text, text, bigint, text, text, character, text, text, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- release_appl_locks: release what an operator holds, all or of a type, page by page.
--
-- Contract   A page is at most p_max_rows live locks of p_operator whose key is greater than (p_after_type, p_after_id), with a row
--            for each. The next page starts after the last row of this one; a page shorter than p_max_rows is the last.
--            RELEASED: it is free now, with an event of the history and a notification, as release_appl_lock has them.
--            BUSY: another transaction has locked the object's row. HELD or FREE: it has changed hands since the page
--            was read; old_* and expires_ts tell who holds it. These are left as they are, and the next ones are done.
--            WOULD_RELEASE: p_dry_run_fl is Y, and nothing is done. It does not tell what is busy.
-- In         p_operator_id 1..64; p_object_type 1..64 without ":", NULL = any; p_actor_id 1..64, NULL = p_operator_id;
--            p_reason 0..255, NULL = empty; p_after_type 0..64, p_after_id 0..255, NULL = from the start; p_max_rows
--            1..10000, NULL = 1000; p_dry_run_fl Y or N, NULL or empty = N. Trailing blanks are trimmed first.
-- Out        object_type, object_id, outcome, old_operator_id, old_department_id (empty unless HELD), fence (of the operator's
--            grant; 0 when HELD or FREE), expires_ts (NULL when RELEASED or FREE), seconds_left, ordered by object_type,
--            object_id as bytes.
-- Raises     LK001 invalid argument: nothing is done. 40001 and 40P01 as the engine has them: the page is undone.
-- Locks      S1, which is list_appl_locks, nothing. S2 locks one row after the other in the order of the keys, and waits for none;
--            S3 is release_appl_lock on that row. All are held to the end of the caller's transaction.
-- Race-free  Against get, renewal, take-over or transfer: S3 decides, as it does alone, on a row that S2 has locked and nobody
--            changes any more. What was got after S1 is not in the page.
--            Two at once: one finds the other's rows BUSY, or FREE, and neither waits.
--            Begun again after a page: nothing is done twice, because what is done is nobody's any more.
--            REPEATABLE READ and SERIALIZABLE: a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION release_appl_locks(
    p_operator_id text,
    p_object_type text,
    p_actor_id text,
    p_reason text,
    p_after_type text,
    p_after_id text,
    p_max_rows bigint,
    p_dry_run_fl text,
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
-- An index is the only way to a row, whatever the statistics say and whenever the plans were made.
SET enable_seqscan = 'off'
AS $$
DECLARE
    v_operator_id text := appl_lock_text('release_appl_locks', 'p_operator_id', p_operator_id, 64, true);
    v_object_type text := appl_lock_text('release_appl_locks', 'p_object_type', p_object_type, 64, p_object_type IS NOT NULL);
    v_dry_run boolean;
    v_lock record;
    v_row record;
    v_done record;
BEGIN
    PERFORM appl_lock_text('release_appl_locks', 'p_actor_id', p_actor_id, 64, p_actor_id IS NOT NULL);
    PERFORM appl_lock_text('release_appl_locks', 'p_reason', p_reason, 255, false);
    PERFORM appl_lock_text('release_appl_locks', 'p_after_type', p_after_type, 64, false);
    PERFORM appl_lock_text('release_appl_locks', 'p_after_id', p_after_id, 255, false);
    PERFORM appl_lock_number('release_appl_locks', 'p_max_rows', p_max_rows, 1000, 10000);
    v_dry_run := appl_lock_yes('release_appl_locks', 'p_dry_run_fl', p_dry_run_fl);

    -- S1: the page. It is read to its end before the first lock changes.
    FOR v_lock IN
        SELECT p.object_type, p.object_id, p.fence, p.expires_ts, p.seconds_left
        FROM list_appl_locks(
            CASE WHEN p_object_type IS NOT NULL THEN v_object_type END, v_operator_id, NULL,
            p_after_type, p_after_id, p_max_rows
        ) AS p
    LOOP
        object_type := v_lock.object_type;
        object_id := v_lock.object_id;
        old_operator_id := '';
        old_department_id := '';
        fence := v_lock.fence;
        expires_ts := v_lock.expires_ts;
        seconds_left := v_lock.seconds_left;
        IF v_dry_run THEN
            outcome := 'WOULD_RELEASE';
            RETURN NEXT;
            CONTINUE;
        END IF;

        -- S2: is the row at hand, and what grant does it have?
        SELECT l.fence, l.expires_ts
        INTO v_row
        FROM appl_lock AS l
        WHERE l.object_type = v_lock.object_type
            AND l.object_id = v_lock.object_id
        FOR NO KEY UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            outcome := 'BUSY';
            RETURN NEXT;
            CONTINUE;
        END IF;

        -- S3: end it.
        SELECT *
        INTO v_done
        FROM release_appl_lock_row(v_lock.object_type, v_lock.object_id, v_operator_id, NULL, p_actor_id, p_reason);
        outcome := v_done.p_outcome;
        old_operator_id := v_done.p_old_operator_id;
        old_department_id := v_done.p_old_department_id;
        fence := CASE WHEN outcome = 'RELEASED' THEN v_row.fence ELSE 0 END;
        expires_ts := CASE WHEN outcome = 'HELD' THEN v_row.expires_ts END;
        seconds_left := CASE WHEN outcome = 'HELD' THEN appl_lock_seconds_left(v_row.expires_ts) ELSE 0 END;
        RETURN NEXT;
    END LOOP;
END
$$;

COMMENT ON FUNCTION release_appl_locks(text, text, text, text, text, text, bigint, text) IS
    'Release what an operator holds, all or of a type, page by page.';

REVOKE ALL ON FUNCTION release_appl_locks(text, text, text, text, text, text, bigint, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- renew_appl_locks: renew many grants in one call, each by its fence.
--
-- Contract   RENEWED: this very grant is live; expires_ts = now + its ttl, or what it was, if that is later: a
--            ttl beyond the greatest one of its type's policy is cut to that; a renewal that arrives late undoes none that came first, and no get. All else is as it was.
--            HELD: somebody else holds the object, or the operator under another fence; old_* and expires_ts
--            tell who and until when. FREE: nobody holds it: the grant has ended. It is not revived, not
--            even when it has expired just now and nobody else has come.
--            No row: another transaction is changing this lock, or asserts it. It is neither renewed nor
--            lost; ask again. So one lock that is busy delays none of the others.
--            Where the type's policy had the history told ALL when the operator last called get, a renewal is an event:
--            RENEWED.
-- In         p_grants, a JSON array of 0 to 10000 grants such as {"object_type": "customer", "object_id": "42",
--            "operator_id": "JDOE", "fence": 17, "ttl_seconds": 30}, with the limits that these have as parameters
--            of get_appl_lock and assert_appl_lock; none may be left out, no object may come twice. Trailing
--            blanks are trimmed first.
-- Out        object_type, object_id, outcome, old_operator_id, old_department_id (empty unless HELD), expires_ts
--            (NULL when FREE), seconds_left (from now to expires_ts, 0 when FREE), ordered by object_type, object_id
--            as bytes.
-- Raises     LK001 invalid argument: nothing has been renewed. 40001 as the engine has it.
-- Locks      S1 locks the row that it renews, one after the other in the order of their keys, to the end of the caller's
--            transaction. A row that somebody else has locked is passed over, never waited for.
-- Race-free  Against take-over, release or transfer: whoever locks the row first goes first. The others'
--            change is judged on the row as it is once it is locked, the clock included; what they have not
--            committed yet is a row that S1 passes over.
--            What is not renewed is told by S2, later: a grant that is live there has no row.
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
    OUT expires_ts timestamptz,
    OUT seconds_left bigint
) RETURNS SETOF record
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
-- The key is the only way to a row, whatever the statistics say and whenever the plans were made.
SET enable_seqscan = 'off'
AS $$
DECLARE
    v_types text[];
    v_ids text[];
    v_operators text[];
    v_fences bigint[];
    v_ttls bigint[];
    v_reason text;
    v_operator_id text;
    v_fence bigint;
    v_old_fence bigint;
    v_ttl_seconds bigint;
    v_now timestamptz;
    v_expires_ts timestamptz;
    v_department_id text;
    v_history_fl boolean;
BEGIN
    IF p_grants IS NULL THEN
        v_reason := 'must not be empty';
    ELSE
        BEGIN
            SELECT
                array_agg(rtrim(g.object_type, ' ')),
                array_agg(rtrim(g.object_id, ' ')),
                array_agg(rtrim(g.operator_id, ' ')),
                array_agg(g.fence),
                array_agg(g.ttl_seconds)
            INTO v_types, v_ids, v_operators, v_fences, v_ttls
            FROM jsonb_to_recordset(p_grants::jsonb)
                AS g (object_type text, object_id text, operator_id text, fence bigint, ttl_seconds bigint);
        EXCEPTION
            WHEN data_exception OR program_limit_exceeded THEN
                v_reason := format('is not a list of grants: %s', SQLERRM);
        END;
    END IF;
    IF cardinality(v_types) > 10000 THEN
        v_reason := format('has %s grants, at most 10000 are allowed', cardinality(v_types));
    END IF;
    IF v_reason IS NULL THEN
        SELECT format('has %s in grant %s', b.what, g.place)
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
                WHEN (char_length(g.object_type) BETWEEN 1 AND 64 AND position(':' IN g.object_type) = 0) IS NOT TRUE
                    THEN 'no valid object_type'
                WHEN (char_length(g.object_id) BETWEEN 1 AND 255) IS NOT TRUE THEN 'no valid object_id'
                WHEN (char_length(g.operator_id) BETWEEN 1 AND 64) IS NOT TRUE THEN 'no valid operator_id'
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
            MESSAGE = format('renew_appl_locks: p_grants %s', v_reason),
            COLUMN = 'p_grants';
    END IF;

    FOR object_type, object_id, v_operator_id, v_fence, v_ttl_seconds IN
        SELECT g.object_type, g.object_id, g.operator_id, g.fence, least(g.ttl_seconds, p.longest_ttl_seconds)
        FROM unnest(v_types, v_ids, v_operators, v_fences, v_ttls)
            AS g (object_type, object_id, operator_id, fence, ttl_seconds)
        LEFT JOIN appl_lock_policy AS p
            ON p.object_type = g.object_type
        ORDER BY g.object_type COLLATE "C", g.object_id COLLATE "C"
    LOOP
        -- S1: renew what is live and at hand. The inner SELECT comes first, locks, and judges the row once it is locked.
        v_now := clock_timestamp();
        v_expires_ts := v_now + make_interval(secs => v_ttl_seconds);
        UPDATE appl_lock AS l
        SET lock_ts = greatest(v_now, l.acquired_ts + interval '1 microsecond'),
            expires_ts = greatest(v_expires_ts, l.expires_ts)
        WHERE l.object_type = renew_appl_locks.object_type
            AND l.object_id = renew_appl_locks.object_id
            AND (
                SELECT true
                FROM appl_lock AS k
                WHERE k.object_type = renew_appl_locks.object_type
                    AND k.object_id = renew_appl_locks.object_id
                    AND k.operator_id = v_operator_id
                    AND k.fence = v_fence
                    AND k.expires_ts > clock_timestamp()
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
            seconds_left := v_ttl_seconds;
            IF expires_ts > v_expires_ts THEN
                seconds_left := appl_lock_seconds_left(expires_ts);
            END IF;
            RETURN NEXT;
            CONTINUE;
        END IF;

        -- S2: who has it? A grant that is live after all was passed over.
        SELECT l.operator_id, l.department_id, l.fence, l.expires_ts, appl_lock_seconds_left(l.expires_ts)
        INTO old_operator_id, old_department_id, v_old_fence, expires_ts, seconds_left
        FROM appl_lock AS l
        WHERE l.object_type = renew_appl_locks.object_type
            AND l.object_id = renew_appl_locks.object_id
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

COMMENT ON FUNCTION renew_appl_locks(text) IS 'Renew many grants in one call, each by its fence.';

REVOKE ALL ON FUNCTION renew_appl_locks(text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- retract_appl_lock_waiter: say that an operator does not wait for an object any more.
--
-- Contract   The operator is no waiter of the program p_client_id for this object, whether it was or not.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64;
--            p_client_id 1..64. Trailing blanks are trimmed first.
-- Out        None; the row form returns p_return_cd 'Y'.
-- Raises     LK001 invalid argument. 55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as
--            the engine has them.
-- Locks      S1 deletes the waiter's one row; held to the end of the caller's transaction. It locks nothing
--            else, and poll and purge pass over locked rows: no circle of waiting calls can come about.
-- Race-free  Against announce, poll or purge of the same row: whoever locks it first goes first. An announce that
--            waited inserts a new row.
--            REPEATABLE READ and SERIALIZABLE: S1 on a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION retract_appl_lock_waiter_row(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_client_id text,
    OUT p_return_cd character(1)
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    v_object_type text := appl_lock_text('retract_appl_lock_waiter', 'p_object_type', p_object_type, 64, true);
    v_object_id text := appl_lock_text('retract_appl_lock_waiter', 'p_object_id', p_object_id, 255, true);
    v_operator_id text := appl_lock_text('retract_appl_lock_waiter', 'p_operator_id', p_operator_id, 64, true);
    v_client_id text := appl_lock_text('retract_appl_lock_waiter', 'p_client_id', p_client_id, 64, true);
BEGIN
    -- S1: nobody waits.
    DELETE FROM appl_lock_waiter AS w
    WHERE w.object_type = v_object_type
        AND w.object_id = v_object_id
        AND w.operator_id = v_operator_id
        AND w.client_id = v_client_id;
    p_return_cd := 'Y';
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
    PERFORM retract_appl_lock_waiter_row(p_object_type, p_object_id, p_operator_id, p_client_id);
END
$$;

COMMENT ON PROCEDURE retract_appl_lock_waiter(text, text, text, text) IS
    'Say that an operator does not wait for an object any more.';

REVOKE ALL ON PROCEDURE retract_appl_lock_waiter(text, text, text, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- serialize_appl_lock: let one transaction at a time work on an object.
--
-- Contract   Returns when no other open transaction is inside for this object, and keeps the others
--            out until the caller's transaction commits or rolls back. Leaves nothing behind. Has
--            nothing to do with appl_lock: an object may be locked and serialized independently.
--            Calling it again in the same transaction returns at once. Under autocommit it has no effect.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255. Trailing blanks are trimmed.
-- Out        None; the row form returns p_return_cd 'Y'.
-- Raises     LK001 invalid argument. 40001 at REPEATABLE READ and SERIALIZABLE when the caller's snapshot may
--            be older than what the former transaction committed: roll back and begin again, with this
--            call first. 40P01 deadlock. The caller's own lock_timeout and statement_timeout bound the
--            wait; there is no other bound.
-- Locks      One transaction-level advisory lock, whose 64-bit key is a hash of schema and object. No row:
--            an inserted and deleted row would leave a dead entry per call under one key.
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
    OUT p_return_cd character(1)
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
DECLARE
    v_object_type text := appl_lock_text('serialize_appl_lock', 'p_object_type', p_object_type, 64, true);
    v_object_id text := appl_lock_text('serialize_appl_lock', 'p_object_id', p_object_id, 255, true);
    v_key bigint := hashtextextended(format('%s:%s:%s', current_schema(), v_object_type, v_object_id), 0);
    v_stale boolean := false;
    v_next bigint;
BEGIN
    p_return_cd := 'Y';
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
            MESSAGE = format('serialize_appl_lock: the snapshot is older than the turn of %s:%s', v_object_type, v_object_id),
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
    PERFORM serialize_appl_lock_row(p_object_type, p_object_id);
END
$$;

COMMENT ON PROCEDURE serialize_appl_lock(text, text) IS
    'Let one transaction at a time work on an object.';

REVOKE ALL ON PROCEDURE serialize_appl_lock(text, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- set_appl_lock_policy: lay down how long locks on objects of a type last, whether a take wants a reason, and what the history is told.
--
-- Contract   Y SET: the policy of the type is this one, whichever it had; what is not given is none of it. That is an event
--            of the history: POLICY, with what it says now, who did it and why.
--            Each get, renewal and transfer from the next one on goes by it. A grant keeps the end that it has until then.
--            With ALL the history is told each get, renewal, refusal and release, too: of a lock that is held by then from the
--            holder's next get on.
-- In         p_object_type 1..64 characters without ":"; p_default_ttl_seconds 1..315360000, not above
--            p_longest_ttl_seconds, NULL = 604800 (7 days); p_longest_ttl_seconds 1..315360000, NULL = 315360000 (10 years);
--            p_take_reason_fl Y or N, NULL = Y; p_actor_id 1..64;
--            p_reason 0..180, NULL = empty: the event has room for 255 with what the policy says; p_history_level ALL or CHANGES,
--            NULL = CHANGES. Trailing blanks are trimmed first.
-- Out        p_return_cd, p_outcome.
-- Raises     LK001 invalid argument. 55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has
--            them.
-- Locks      S1 locks the type's one row, to the end of the caller's transaction. No get waits for that: it reads what is
--            committed.
-- Race-free  Two at once: the primary key lets one insert, the other waits and changes the row. The event of each is in
--            its transaction, and they are in the order of the changes.
--            A get that has begun before the policy is committed may still go by the former one.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION set_appl_lock_policy_row(
    p_object_type text,
    p_default_ttl_seconds bigint,
    p_longest_ttl_seconds bigint,
    p_take_reason_fl text,
    p_actor_id text,
    p_reason text,
    p_history_level text,
    OUT p_return_cd character(1),
    OUT p_outcome text
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    v_object_type text := appl_lock_text('set_appl_lock_policy', 'p_object_type', p_object_type, 64, true);
    v_longest_ttl_seconds bigint := appl_lock_number(
        'set_appl_lock_policy', 'p_longest_ttl_seconds', p_longest_ttl_seconds, 315360000, 315360000
    );
    v_take_reason_fl text := coalesce(rtrim(p_take_reason_fl, ' '), 'Y');
    v_history_level text := coalesce(rtrim(p_history_level, ' '), 'CHANGES');
    v_actor_id text;
    v_reason text;
BEGIN
    PERFORM appl_lock_number(
        'set_appl_lock_policy', 'p_default_ttl_seconds', p_default_ttl_seconds, 1, v_longest_ttl_seconds
    );
    IF v_take_reason_fl NOT IN ('Y', 'N') THEN
        RAISE EXCEPTION USING
            ERRCODE = 'LK001',
            MESSAGE = 'set_appl_lock_policy: p_take_reason_fl must be Y or N',
            COLUMN = 'p_take_reason_fl';
    END IF;
    v_actor_id := appl_lock_text('set_appl_lock_policy', 'p_actor_id', p_actor_id, 64, true);
    v_reason := appl_lock_text('set_appl_lock_policy', 'p_reason', p_reason, 180, false);
    IF v_history_level NOT IN ('ALL', 'CHANGES') THEN
        RAISE EXCEPTION USING
            ERRCODE = 'LK001',
            MESSAGE = 'set_appl_lock_policy: p_history_level is ALL or CHANGES',
            COLUMN = 'p_history_level';
    END IF;

    -- S1: this is the policy from now on.
    INSERT INTO appl_lock_policy (object_type, default_ttl_seconds, longest_ttl_seconds, take_reason_fl, history_level)
    VALUES (v_object_type, p_default_ttl_seconds, p_longest_ttl_seconds, v_take_reason_fl, v_history_level)
    ON CONFLICT ON CONSTRAINT appl_lock_policy_pk DO UPDATE
    SET default_ttl_seconds = excluded.default_ttl_seconds,
        longest_ttl_seconds = excluded.longest_ttl_seconds,
        take_reason_fl = excluded.take_reason_fl,
        history_level = excluded.history_level;
    PERFORM appl_lock_record(
        'POLICY', v_object_type, '', v_actor_id, '', '', 0, '', '', 0,
        format(
            'default %s, longest %s, take reason %s, history %s',
            coalesce(p_default_ttl_seconds::text, 'none'), coalesce(p_longest_ttl_seconds::text, 'none'),
            v_take_reason_fl, v_history_level
        ) || CASE WHEN v_reason = '' THEN '' ELSE ': ' || v_reason END
    );
    p_return_cd := 'Y';
    p_outcome := 'SET';
END
$$;

COMMENT ON FUNCTION set_appl_lock_policy_row(text, bigint, bigint, text, text, text, text) IS
    'Lay down how long locks on objects of a type last, whether a take wants a reason, and what the history is told; the answer is one row.';

REVOKE ALL ON FUNCTION set_appl_lock_policy_row(text, bigint, bigint, text, text, text, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE set_appl_lock_policy(
    IN p_object_type text,
    IN p_default_ttl_seconds bigint,
    IN p_longest_ttl_seconds bigint,
    IN p_take_reason_fl text,
    IN p_actor_id text,
    IN p_reason text,
    IN p_history_level text,
    INOUT p_return_cd character(1) DEFAULT NULL,
    INOUT p_outcome text DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT r.p_return_cd, r.p_outcome
    INTO p_return_cd, p_outcome
    FROM set_appl_lock_policy_row(
        p_object_type, p_default_ttl_seconds, p_longest_ttl_seconds, p_take_reason_fl, p_actor_id, p_reason,
        p_history_level
    ) AS r;
END
$$;

COMMENT ON PROCEDURE set_appl_lock_policy(text, bigint, bigint, text, text, text, text, character, text) IS
    'Lay down how long locks on objects of a type last, whether a take wants a reason, and what the history is told.';

REVOKE ALL ON PROCEDURE set_appl_lock_policy(text, bigint, bigint, text, text, text, text, character, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- stats_appl_locks: how many locks and waiters there are of each type and department, and how old and how long.
--
-- Contract   One row for each type and department that has a row in appl_lock, or somebody who is listed in
--            appl_lock_waiter: live locks by the department of the holder, waiters by their own. What is free is
--            nobody's, and has the empty one. The sum of live and expired is the number of rows of appl_lock.
-- In         p_object_type 1..64, p_department_id 0..64: NULL = any. Trailing blanks are trimmed first.
-- Out        live, expired (free again, and not purged), oldest_seconds (since acquired_ts, of live locks),
--            next_expiry_seconds (to expires_ts, of live locks), waiters (listed now), longest_wait_seconds (since
--            since_ts), ordered by object_type, department_id as bytes. Seconds are whole ones: what lies behind is
--            rounded down, what lies ahead is rounded up; 0 for none, and for what the clock was set back behind.
-- Raises     LK001 invalid argument. Nothing else on purpose.
-- Locks      Nothing; never waits and never writes. It reads each table once, from end to end; of appl_lock what there
--            is of the type, if one is given.
-- Race-free  The answer is one snapshot, and one time is the now of all its rows.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION stats_appl_locks(
    p_object_type text,
    p_department_id text,
    OUT object_type text,
    OUT department_id text,
    OUT live bigint,
    OUT expired bigint,
    OUT oldest_seconds bigint,
    OUT next_expiry_seconds bigint,
    OUT waiters bigint,
    OUT longest_wait_seconds bigint
) RETURNS SETOF record
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
-- A plan for these very arguments: a NULL filter falls away, a type becomes a range of the key.
SET plan_cache_mode = 'force_custom_plan'
AS $$
DECLARE
    v_object_type text := appl_lock_text('stats_appl_locks', 'p_object_type', p_object_type, 64, p_object_type IS NOT NULL);
    v_department_id text := appl_lock_text('stats_appl_locks', 'p_department_id', p_department_id, 64, false);
    v_now timestamptz := clock_timestamp();
BEGIN
    RETURN QUERY
    SELECT
        s.object_type::text,
        s.department_id::text,
        sum(s.live)::bigint,
        sum(s.expired)::bigint,
        max(s.oldest_seconds)::bigint,
        max(s.next_expiry_seconds)::bigint,
        sum(s.waiters)::bigint,
        max(s.longest_wait_seconds)::bigint
    FROM (
        SELECT
            l.object_type,
            l.department_id,
            count(*) FILTER (WHERE l.is_live) AS live,
            count(*) FILTER (WHERE NOT l.is_live) AS expired,
            greatest(floor(extract(epoch FROM v_now - min(l.acquired_ts) FILTER (WHERE l.is_live))), 0) AS oldest_seconds,
            greatest(ceil(extract(epoch FROM min(l.expires_ts) FILTER (WHERE l.is_live) - v_now)), 0) AS next_expiry_seconds,
            0 AS waiters,
            0 AS longest_wait_seconds
        FROM (
            SELECT
                a.object_type,
                CASE WHEN a.expires_ts > v_now THEN a.department_id ELSE '' END AS department_id,
                a.acquired_ts,
                a.expires_ts,
                a.expires_ts > v_now AS is_live
            FROM appl_lock AS a
            WHERE p_object_type IS NULL OR a.object_type = v_object_type
        ) AS l
        WHERE p_department_id IS NULL OR l.department_id = v_department_id
        GROUP BY l.object_type, l.department_id
        UNION ALL
        SELECT
            w.object_type,
            w.department_id,
            0,
            0,
            0,
            0,
            count(*),
            greatest(floor(extract(epoch FROM v_now - min(w.since_ts))), 0)
        FROM appl_lock_waiter AS w
        WHERE (p_object_type IS NULL OR w.object_type = v_object_type)
            AND (p_department_id IS NULL OR w.department_id = v_department_id)
            AND w.expires_ts > v_now
        GROUP BY w.object_type, w.department_id
    ) AS s
    GROUP BY s.object_type, s.department_id
    ORDER BY s.object_type, s.department_id;
END
$$;

COMMENT ON FUNCTION stats_appl_locks(text, text) IS
    'How many locks and waiters there are of each type and department, and how old and how long.';

REVOKE ALL ON FUNCTION stats_appl_locks(text, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- take_appl_lock: take a held object from whoever holds it, for a reason.
--
-- Contract   Y TAKEN: somebody held it, by the grant p_expected_fence or, if that is NULL, by whichever; p_operator_id
--            holds it now: a new grant, a greater fence, an empty note. p_old_* tell from whom it was taken. Of what it
--            holds itself an operator gets a new grant, too, and p_old_* are empty: nobody was displaced.
--            That is an event of the history, TAKEN, with the reason: p_operator_id is the actor.
--            The greatest ttl of the type's policy, if it has one, is that of the new grant, too, as p_expires_ts tells.
--            N HELD: another grant than p_expected_fence holds it; p_old_* and p_expires_ts tell who and until when.
--            N FREE: nobody holds it; nothing changed: get_appl_lock gets it.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64; p_department_id
--            0..64, NULL = empty; p_reason 1..255, or empty if the type's policy says N;
--            p_expected_fence 1 or greater, NULL = whichever;
--            p_ttl_seconds 1..315360000, NULL = that of the grant that ends.
--            Trailing blanks are trimmed first.
-- Out        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id (empty when FREE, and when p_operator_id
--            held it), p_fence (0 unless TAKEN), p_expires_ts (NULL when FREE), p_seconds_left (from now to
--            p_expires_ts, 0 when FREE).
-- Raises     LK001 invalid argument. LK003 when the object changed hands three times during the call.
--            55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has them.
-- Locks      S1 reads without a lock and answers HELD and FREE. S2 locks the object's one row and
--            decides; held to the end of the caller's transaction.
-- Race-free  Take against renewal, release, transfer or another take: S2 names the fence that S1 read and the expiry
--            again, and is judged on the row as it is once it is locked. A renewal keeps the fence: the take goes on, with the
--            ttl of the renewal. Any other change ends that grant: S1 looks again, and of two takes that expect the
--            same fence one wins and the other answers HELD.
--            REPEATABLE READ and SERIALIZABLE: a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION take_appl_lock_row(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_department_id text,
    p_reason text,
    p_expected_fence bigint,
    p_ttl_seconds bigint,
    OUT p_return_cd character(1),
    OUT p_outcome text,
    OUT p_old_operator_id text,
    OUT p_old_department_id text,
    OUT p_fence bigint,
    OUT p_expires_ts timestamptz,
    OUT p_seconds_left bigint
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    v_object_type text := appl_lock_text('take_appl_lock', 'p_object_type', p_object_type, 64, true);
    v_object_id text := appl_lock_text('take_appl_lock', 'p_object_id', p_object_id, 255, true);
    v_operator_id text := appl_lock_text('take_appl_lock', 'p_operator_id', p_operator_id, 64, true);
    v_department_id text := appl_lock_text('take_appl_lock', 'p_department_id', p_department_id, 64, false);
    v_reason text := appl_lock_text('take_appl_lock', 'p_reason', p_reason, 255, false);
    v_expected_fence bigint := CASE
        WHEN p_expected_fence IS NOT NULL
            THEN appl_lock_number('take_appl_lock', 'p_expected_fence', p_expected_fence, NULL, 9223372036854775807)
    END;
    v_ttl interval := CASE
        WHEN p_ttl_seconds IS NOT NULL
            THEN make_interval(secs => appl_lock_number('take_appl_lock', 'p_ttl_seconds', p_ttl_seconds, NULL, 315360000))
    END;
    v_from_fence bigint;
    v_longest_ttl interval;
    v_take_reason_fl text;
BEGIN
    SELECT make_interval(secs => p.longest_ttl_seconds), p.take_reason_fl
    INTO v_longest_ttl, v_take_reason_fl
    FROM appl_lock_policy AS p
    WHERE p.object_type = v_object_type;
    IF v_reason = '' AND v_take_reason_fl IS DISTINCT FROM 'N' THEN
        PERFORM appl_lock_text('take_appl_lock', 'p_reason', p_reason, 255, true);
    END IF;
    FOR v_round IN 1..3 LOOP
        -- S1: who holds it?
        SELECT l.operator_id, l.department_id, l.fence, l.expires_ts, appl_lock_seconds_left(l.expires_ts)
        INTO p_old_operator_id, p_old_department_id, v_from_fence, p_expires_ts, p_seconds_left
        FROM appl_lock AS l
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.expires_ts > clock_timestamp();
        IF NOT FOUND THEN
            p_return_cd := 'N';
            p_outcome := 'FREE';
            p_old_operator_id := '';
            p_old_department_id := '';
            p_fence := 0;
            p_seconds_left := 0;
            RETURN;
        END IF;
        IF v_from_fence <> v_expected_fence THEN
            p_return_cd := 'N';
            p_outcome := 'HELD';
            p_fence := 0;
            RETURN;
        END IF;

        -- S2: a new grant, if that one is still live.
        UPDATE appl_lock AS l
        SET operator_id = v_operator_id,
            department_id = v_department_id,
            note = '',
            (fence, acquired_ts, lock_ts, expires_ts) = (
                SELECT
                    greatest(l.fence + 1, (extract(epoch FROM t.now_ts) * 1000000)::bigint),
                    t.now_ts,
                    t.now_ts,
                    t.now_ts + least(coalesce(v_ttl, appl_lock_ttl(l.lock_ts, l.expires_ts)), v_longest_ttl)
                FROM (SELECT clock_timestamp() AS now_ts) AS t
            )
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.fence = v_from_fence
            AND l.expires_ts > clock_timestamp()
        RETURNING l.fence, l.expires_ts, CASE
            WHEN p_ttl_seconds IS NULL OR v_longest_ttl < v_ttl THEN appl_lock_seconds_left(l.expires_ts)
            ELSE p_ttl_seconds
        END
        INTO p_fence, p_expires_ts, p_seconds_left;
        IF FOUND THEN
            PERFORM appl_lock_record(
                'TAKEN', v_object_type, v_object_id, v_operator_id,
                p_old_operator_id, p_old_department_id, v_from_fence, v_operator_id, v_department_id, p_fence, v_reason
            );
            p_return_cd := 'Y';
            p_outcome := 'TAKEN';
            IF p_old_operator_id = v_operator_id THEN
                p_old_operator_id := '';
                p_old_department_id := '';
            END IF;
            RETURN;
        END IF;
    END LOOP;
    RAISE EXCEPTION USING
        ERRCODE = 'LK003',
        MESSAGE = format('take_appl_lock: %s:%s changed hands during the call; call again', v_object_type, v_object_id);
END
$$;

COMMENT ON FUNCTION take_appl_lock_row(text, text, text, text, text, bigint, bigint) IS
    'Take a held object from whoever holds it, for a reason; the answer is one row.';

REVOKE ALL ON FUNCTION take_appl_lock_row(text, text, text, text, text, bigint, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE take_appl_lock(
    IN p_object_type text,
    IN p_object_id text,
    IN p_operator_id text,
    IN p_department_id text,
    IN p_reason text,
    IN p_expected_fence bigint,
    IN p_ttl_seconds bigint,
    INOUT p_return_cd character(1) DEFAULT NULL,
    INOUT p_outcome text DEFAULT NULL,
    INOUT p_old_operator_id text DEFAULT NULL,
    INOUT p_old_department_id text DEFAULT NULL,
    INOUT p_fence bigint DEFAULT NULL,
    INOUT p_expires_ts timestamptz DEFAULT NULL,
    INOUT p_seconds_left bigint DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT r.p_return_cd, r.p_outcome, r.p_old_operator_id, r.p_old_department_id, r.p_fence, r.p_expires_ts, r.p_seconds_left
    INTO p_return_cd, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_expires_ts, p_seconds_left
    FROM take_appl_lock_row(
        p_object_type, p_object_id, p_operator_id, p_department_id, p_reason, p_expected_fence, p_ttl_seconds
    ) AS r;
END
$$;

COMMENT ON PROCEDURE take_appl_lock(text, text, text, text, text, bigint, bigint, character, text, text, text, bigint, timestamptz, bigint) IS
    'Take a held object from whoever holds it, for a reason.';

REVOKE ALL ON PROCEDURE take_appl_lock(text, text, text, text, text, bigint, bigint, character, text, text, text, bigint, timestamptz, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- transfer_appl_lock: hand a held object from one operator to another.
--
-- Contract   Y TRANSFERRED: p_from held it; p_to holds it now: a new grant, a greater fence.
--            That is an event of the history, with who did it and why.
--            The greatest ttl of the type's policy, if it has one, is that of the new grant, too, as p_expires_ts tells.
--            N HELD: somebody else than p_from holds it; p_old_* and p_expires_ts tell who and until when.
--            N FREE: nobody holds it; nothing changed.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_from_operator_id and
--            p_to_operator_id 1..64, may be equal; p_to_department_id 0..64, NULL = empty;
--            p_ttl_seconds 1..315360000, NULL = that of the grant that ends; p_actor_id 1..64, NULL = p_from_operator_id;
--            p_reason 0..255, NULL = empty. Trailing blanks are trimmed first.
-- Out        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD),
--            p_fence (0 unless TRANSFERRED), p_expires_ts (NULL when FREE), p_seconds_left (from now to
--            p_expires_ts, 0 when FREE).
-- Raises     LK001 invalid argument. LK003 when the object changed hands three times during the call.
--            55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has them.
-- Locks      S1 reads without a lock and answers HELD and FREE. S2 locks the object's one row and
--            decides; held to the end of the caller's transaction.
-- Race-free  Transfer against release, take-over or another transfer: S2 names the old operator and the
--            expiry again and is judged on the row as it is once it is locked; of two transfers from
--            the same operator one wins and the other answers HELD. S2 names the fence, so that the event does. Time and fence are computed, and the
--            ttl that a NULL keeps is read, under the row lock: a renewal that went first counts.
--            REPEATABLE READ and SERIALIZABLE: a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION transfer_appl_lock_row(
    p_object_type text,
    p_object_id text,
    p_from_operator_id text,
    p_to_operator_id text,
    p_to_department_id text,
    p_ttl_seconds bigint,
    p_actor_id text,
    p_reason text,
    OUT p_return_cd character(1),
    OUT p_outcome text,
    OUT p_old_operator_id text,
    OUT p_old_department_id text,
    OUT p_fence bigint,
    OUT p_expires_ts timestamptz,
    OUT p_seconds_left bigint
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    v_object_type text := appl_lock_text('transfer_appl_lock', 'p_object_type', p_object_type, 64, true);
    v_object_id text := appl_lock_text('transfer_appl_lock', 'p_object_id', p_object_id, 255, true);
    v_from_operator_id text := appl_lock_text('transfer_appl_lock', 'p_from_operator_id', p_from_operator_id, 64, true);
    v_to_operator_id text := appl_lock_text('transfer_appl_lock', 'p_to_operator_id', p_to_operator_id, 64, true);
    v_to_department_id text := appl_lock_text('transfer_appl_lock', 'p_to_department_id', p_to_department_id, 64, false);
    v_ttl interval := CASE
        WHEN p_ttl_seconds IS NOT NULL
            THEN make_interval(secs => appl_lock_number('transfer_appl_lock', 'p_ttl_seconds', p_ttl_seconds, NULL, 315360000))
    END;
    v_actor_id text := appl_lock_text('transfer_appl_lock', 'p_actor_id', coalesce(p_actor_id, v_from_operator_id), 64, true);
    v_reason text := appl_lock_text('transfer_appl_lock', 'p_reason', p_reason, 255, false);
    v_from_department_id text;
    v_from_fence bigint;
    v_longest_ttl interval;
BEGIN
    FOR v_round IN 1..3 LOOP
        -- S1: who holds it?
        SELECT l.operator_id, l.department_id, l.department_id, l.fence, l.expires_ts, appl_lock_seconds_left(l.expires_ts),
            make_interval(secs => p.longest_ttl_seconds)
        INTO p_old_operator_id, p_old_department_id, v_from_department_id, v_from_fence, p_expires_ts, p_seconds_left,
            v_longest_ttl
        FROM appl_lock AS l
        LEFT JOIN appl_lock_policy AS p
            ON p.object_type = l.object_type
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.expires_ts > clock_timestamp();
        IF NOT FOUND THEN
            p_return_cd := 'N';
            p_outcome := 'FREE';
            p_old_operator_id := '';
            p_old_department_id := '';
            p_fence := 0;
            p_seconds_left := 0;
            RETURN;
        END IF;
        IF p_old_operator_id <> v_from_operator_id THEN
            p_return_cd := 'N';
            p_outcome := 'HELD';
            p_fence := 0;
            RETURN;
        END IF;

        -- S2: a new grant for the other operator.
        UPDATE appl_lock AS l
        SET operator_id = v_to_operator_id,
            department_id = v_to_department_id,
            note = '',
            (fence, acquired_ts, lock_ts, expires_ts) = (
                SELECT
                    greatest(l.fence + 1, (extract(epoch FROM t.now_ts) * 1000000)::bigint),
                    t.now_ts,
                    t.now_ts,
                    t.now_ts + least(coalesce(v_ttl, appl_lock_ttl(l.lock_ts, l.expires_ts)), v_longest_ttl)
                FROM (SELECT clock_timestamp() AS now_ts) AS t
            )
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.operator_id = v_from_operator_id
            AND l.fence = v_from_fence
            AND l.expires_ts > clock_timestamp()
        RETURNING l.fence, l.expires_ts, CASE
            WHEN p_ttl_seconds IS NULL OR v_longest_ttl < v_ttl THEN appl_lock_seconds_left(l.expires_ts)
            ELSE p_ttl_seconds
        END
        INTO p_fence, p_expires_ts, p_seconds_left;
        IF FOUND THEN
            PERFORM appl_lock_record(
                'TRANSFERRED', v_object_type, v_object_id, v_actor_id,
                v_from_operator_id, v_from_department_id, v_from_fence, v_to_operator_id, v_to_department_id, p_fence, v_reason
            );
            p_return_cd := 'Y';
            p_outcome := 'TRANSFERRED';
            p_old_operator_id := '';
            p_old_department_id := '';
            RETURN;
        END IF;
    END LOOP;
    RAISE EXCEPTION USING
        ERRCODE = 'LK003',
        MESSAGE = format('transfer_appl_lock: %s:%s changed hands during the call; call again', v_object_type, v_object_id);
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
    IN p_to_department_id text,
    IN p_ttl_seconds bigint,
    IN p_actor_id text,
    IN p_reason text,
    INOUT p_return_cd character(1) DEFAULT NULL,
    INOUT p_outcome text DEFAULT NULL,
    INOUT p_old_operator_id text DEFAULT NULL,
    INOUT p_old_department_id text DEFAULT NULL,
    INOUT p_fence bigint DEFAULT NULL,
    INOUT p_expires_ts timestamptz DEFAULT NULL,
    INOUT p_seconds_left bigint DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT r.p_return_cd, r.p_outcome, r.p_old_operator_id, r.p_old_department_id, r.p_fence, r.p_expires_ts, r.p_seconds_left
    INTO p_return_cd, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_expires_ts, p_seconds_left
    FROM transfer_appl_lock_row(
        p_object_type, p_object_id, p_from_operator_id, p_to_operator_id, p_to_department_id, p_ttl_seconds,
        p_actor_id, p_reason
    ) AS r;
END
$$;

COMMENT ON PROCEDURE transfer_appl_lock(text, text, text, text, text, bigint, text, text, character, text, text, text, bigint, timestamptz, bigint) IS
    'Hand a held object from one operator to another.';

REVOKE ALL ON PROCEDURE transfer_appl_lock(text, text, text, text, text, bigint, text, text, character, text, text, text, bigint, timestamptz, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- transfer_appl_locks: hand over what an operator holds, all or of a type, page by page.
--
-- Contract   A page is at most p_max_rows live locks of p_from whose key is greater than (p_after_type, p_after_id), with a row for
--            each. The next page starts after the last row of this one; a page shorter than p_max_rows is the last.
--            TRANSFERRED: a new grant of p_to, and an event of the history, as transfer_appl_lock has it.
--            BUSY: another transaction has locked the object's row. HELD or FREE: it has changed hands since the page
--            was read; old_* and expires_ts tell who holds it. These are left as they are, and the next ones are done.
--            WOULD_TRANSFER: p_dry_run_fl is Y, and nothing is done. It does not tell what is busy.
-- In         p_from_operator_id and p_to_operator_id 1..64, may be equal; p_object_type 1..64 without ":", NULL = any;
--            p_to_department_id 0..64, NULL = empty; p_ttl_seconds 1..315360000, NULL = that of each grant that ends;
--            p_actor_id 1..64, NULL = p_from_operator_id; p_reason 0..255, NULL = empty; p_after_type 0..64, p_after_id 0..255,
--            NULL = from the start; p_max_rows 1..10000, NULL = 1000; p_dry_run_fl Y or N, NULL or empty = N. Trailing blanks
--            are trimmed first.
-- Out        object_type, object_id, outcome, old_operator_id, old_department_id (empty unless HELD), fence (of the new grant;
--            of the old one when BUSY or WOULD_TRANSFER; 0 when HELD or FREE), expires_ts (NULL when FREE), seconds_left,
--            ordered by object_type, object_id as bytes.
-- Raises     LK001 invalid argument: nothing is done. 40001 and 40P01 as the engine has them: the page is undone.
-- Locks      S1, which is list_appl_locks, nothing. S2 locks one row after the other in the order of the keys, and waits for none;
--            S3 is transfer_appl_lock on that row. All are held to the end of the caller's transaction.
-- Race-free  Against get, release, take-over or another transfer: S3 decides, as it does alone, on a row that S2 has locked and
--            nobody changes any more. What was got after S1 is not in the page.
--            Two at once: one finds the other's rows BUSY, or HELD by p_to, and neither waits.
--            Begun again after a page: nothing is done twice, because what is done is not p_from's any more.
--            REPEATABLE READ and SERIALIZABLE: a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference. A function here, because it returns rows.

CREATE OR REPLACE FUNCTION transfer_appl_locks(
    p_from_operator_id text,
    p_object_type text,
    p_to_operator_id text,
    p_to_department_id text,
    p_ttl_seconds bigint,
    p_actor_id text,
    p_reason text,
    p_after_type text,
    p_after_id text,
    p_max_rows bigint,
    p_dry_run_fl text,
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
-- An index is the only way to a row, whatever the statistics say and whenever the plans were made.
SET enable_seqscan = 'off'
AS $$
DECLARE
    v_from_operator_id text := appl_lock_text('transfer_appl_locks', 'p_from_operator_id', p_from_operator_id, 64, true);
    v_object_type text := appl_lock_text('transfer_appl_locks', 'p_object_type', p_object_type, 64, p_object_type IS NOT NULL);
    v_to_operator_id text := appl_lock_text('transfer_appl_locks', 'p_to_operator_id', p_to_operator_id, 64, true);
    v_to_department_id text := appl_lock_text('transfer_appl_locks', 'p_to_department_id', p_to_department_id, 64, false);
    v_dry_run boolean;
    v_lock record;
    v_done record;
BEGIN
    PERFORM appl_lock_number('transfer_appl_locks', 'p_ttl_seconds', coalesce(p_ttl_seconds, 1), NULL, 315360000);
    PERFORM appl_lock_text('transfer_appl_locks', 'p_actor_id', p_actor_id, 64, p_actor_id IS NOT NULL);
    PERFORM appl_lock_text('transfer_appl_locks', 'p_reason', p_reason, 255, false);
    PERFORM appl_lock_text('transfer_appl_locks', 'p_after_type', p_after_type, 64, false);
    PERFORM appl_lock_text('transfer_appl_locks', 'p_after_id', p_after_id, 255, false);
    PERFORM appl_lock_number('transfer_appl_locks', 'p_max_rows', p_max_rows, 1000, 10000);
    v_dry_run := appl_lock_yes('transfer_appl_locks', 'p_dry_run_fl', p_dry_run_fl);

    -- S1: the page. It is read to its end before the first lock changes.
    FOR v_lock IN
        SELECT p.object_type, p.object_id, p.fence, p.expires_ts, p.seconds_left
        FROM list_appl_locks(
            CASE WHEN p_object_type IS NOT NULL THEN v_object_type END, v_from_operator_id, NULL,
            p_after_type, p_after_id, p_max_rows
        ) AS p
    LOOP
        object_type := v_lock.object_type;
        object_id := v_lock.object_id;
        old_operator_id := '';
        old_department_id := '';
        fence := v_lock.fence;
        expires_ts := v_lock.expires_ts;
        seconds_left := v_lock.seconds_left;
        IF v_dry_run THEN
            outcome := 'WOULD_TRANSFER';
            RETURN NEXT;
            CONTINUE;
        END IF;

        -- S2: is the row at hand?
        PERFORM
        FROM appl_lock AS l
        WHERE l.object_type = v_lock.object_type
            AND l.object_id = v_lock.object_id
        FOR NO KEY UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            outcome := 'BUSY';
            RETURN NEXT;
            CONTINUE;
        END IF;

        -- S3: hand it over.
        SELECT *
        INTO v_done
        FROM transfer_appl_lock_row(
            v_lock.object_type, v_lock.object_id, v_from_operator_id, v_to_operator_id, v_to_department_id, p_ttl_seconds,
            p_actor_id, p_reason
        );
        outcome := v_done.p_outcome;
        old_operator_id := v_done.p_old_operator_id;
        old_department_id := v_done.p_old_department_id;
        fence := v_done.p_fence;
        expires_ts := v_done.p_expires_ts;
        seconds_left := v_done.p_seconds_left;
        RETURN NEXT;
    END LOOP;
END
$$;

COMMENT ON FUNCTION transfer_appl_locks(text, text, text, text, bigint, text, text, text, text, bigint, text) IS
    'Hand over what an operator holds, all or of a type, page by page.';

REVOKE ALL ON FUNCTION transfer_appl_locks(text, text, text, text, bigint, text, text, text, text, bigint, text) FROM PUBLIC;
-- +goose StatementEnd

SELECT set_config('search_path', current_setting('applock.caller_search_path'), true);

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
DROP FUNCTION IF EXISTS stats_appl_locks;
DROP PROCEDURE IF EXISTS set_appl_lock_policy;
DROP FUNCTION IF EXISTS set_appl_lock_policy_row;
DROP PROCEDURE IF EXISTS serialize_appl_lock;
DROP FUNCTION IF EXISTS serialize_appl_lock_row;
DROP PROCEDURE IF EXISTS retract_appl_lock_waiter;
DROP FUNCTION IF EXISTS retract_appl_lock_waiter_row;
DROP FUNCTION IF EXISTS renew_appl_locks;
DROP FUNCTION IF EXISTS release_appl_locks;
DROP PROCEDURE IF EXISTS release_appl_lock;
DROP FUNCTION IF EXISTS release_appl_lock_row;
DROP PROCEDURE IF EXISTS purge_appl_locks;
DROP FUNCTION IF EXISTS purge_appl_locks_row;
DROP FUNCTION IF EXISTS poll_appl_locks;
DROP PROCEDURE IF EXISTS note_appl_lock;
DROP FUNCTION IF EXISTS note_appl_lock_row;
DROP FUNCTION IF EXISTS list_appl_locks;
DROP FUNCTION IF EXISTS list_appl_lock_waiters;
DROP FUNCTION IF EXISTS list_appl_lock_policies;
DROP FUNCTION IF EXISTS list_appl_lock_events;
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
DROP FUNCTION IF EXISTS appl_lock_version;
DROP FUNCTION IF EXISTS appl_lock_ttl;
DROP FUNCTION IF EXISTS appl_lock_seconds_left;
DROP FUNCTION IF EXISTS appl_lock_record;
DROP PROCEDURE IF EXISTS announce_appl_lock_waiter;
DROP FUNCTION IF EXISTS announce_appl_lock_waiter_row;
DROP FUNCTION IF EXISTS appl_lock_yes;
DROP FUNCTION IF EXISTS appl_lock_number;
DROP FUNCTION IF EXISTS appl_lock_text;

SELECT set_config('search_path', current_setting('applock.caller_search_path'), true);
