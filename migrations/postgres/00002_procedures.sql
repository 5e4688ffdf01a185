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
-- appl_lock_text, appl_lock_number: check one argument of an operation. Internal: nobody is granted
-- these; each operation calls them with its owner's rights.
--
-- Contract   appl_lock_text returns the value without trailing blanks (callers pad CHAR(8)), and an
--            empty string for a NULL that is allowed. appl_lock_number returns the value, or
--            p_default for NULL.
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

COMMENT ON FUNCTION appl_lock_text(text, text, text, integer, boolean) IS
    'Internal to applock: checks one text argument and trims its trailing blanks.';
COMMENT ON FUNCTION appl_lock_number(text, text, bigint, bigint, bigint) IS
    'Internal to applock: checks one number argument and applies its default.';

REVOKE ALL ON FUNCTION appl_lock_text(text, text, text, integer, boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION appl_lock_number(text, text, bigint, bigint, bigint) FROM PUBLIC;
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
-- Out        None; the row form returns p_return_cd 'Y'.
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
    v_object_type text := appl_lock_text('assert_appl_lock', 'p_object_type', p_object_type, 64, true);
    v_object_id text := appl_lock_text('assert_appl_lock', 'p_object_id', p_object_id, 255, true);
    v_operator_id text := appl_lock_text('assert_appl_lock', 'p_operator_id', p_operator_id, 64, true);
    v_fence bigint := appl_lock_number('assert_appl_lock', 'p_fence', p_fence, NULL, 9223372036854775807);
    v_holder text;
BEGIN
    -- S1: is this grant live?
    SELECT 'Y'
    INTO p_return_cd
    FROM appl_lock AS l
    WHERE l.object_type = v_object_type
        AND l.object_id = v_object_id
        AND l.operator_id = v_operator_id
        AND l.fence = v_fence
        AND l.expires_ts > clock_timestamp()
    FOR SHARE;
    IF FOUND THEN
        RETURN;
    END IF;

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
            v_operator_id, v_object_type, v_object_id, v_fence, coalesce(v_holder, 'nobody holds it')
        );
END
$$;

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

COMMENT ON FUNCTION assert_appl_lock_row(text, text, text, bigint) IS
    'Fail unless exactly this grant is live, and keep it so to the end of the transaction; the answer is one row.';
COMMENT ON PROCEDURE assert_appl_lock(text, text, text, bigint) IS
    'Fail unless exactly this grant is live, and keep it so to the end of the transaction.';

REVOKE ALL ON FUNCTION assert_appl_lock_row(text, text, text, bigint) FROM PUBLIC;
REVOKE ALL ON PROCEDURE assert_appl_lock(text, text, text, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- get_appl_lock: take or renew the lock on an object for one operator until it expires.
--
-- Contract   Y ACQUIRED: the object was free or its lock had expired; a new grant, a greater fence.
--            Y RENEWED: this operator holds it; same grant and fence, expires_ts = now + ttl.
--            N HELD: another operator holds it; p_old_* and p_expires_ts tell who and until when.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64;
--            p_department_id 0..64, NULL = empty; p_ttl_seconds 1..315360000, NULL = 604800 (7 days).
--            Trailing blanks are trimmed first.
-- Out        p_lock_fl, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD),
--            p_fence (0 when HELD), p_expires_ts.
-- Raises     LK001 invalid argument. LK003 when the object changed hands three times during the call.
--            55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has them.
-- Locks      S1 reads without a lock and answers HELD. S2 locks the object's one row and decides; held
--            to the end of the caller's transaction (also when S2 loses its race: a HELD that S1
--            finds after S2 had to wait leaves the row locked until then).
-- Race-free  Free object, two callers: both reach S2, the primary key lets one insert; the other
--            waits, then ON CONFLICT locks the winner's row and its WHERE is judged on it.
--            Expired row, two callers: S2 locks the row; the second judges the first one's version.
--            Release while S2 waits: the clock is read again under the row lock, never before it.
--            Killed before commit: the row goes back to what it was, and the waiter goes on.
--            REPEATABLE READ and SERIALIZABLE: S2 on a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION get_appl_lock_row(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_department_id text,
    p_ttl_seconds bigint,
    OUT p_lock_fl character(1),
    OUT p_outcome text,
    OUT p_old_operator_id text,
    OUT p_old_department_id text,
    OUT p_fence bigint,
    OUT p_expires_ts timestamptz
)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER
SET search_path FROM CURRENT
SET lock_timeout = '1s'
AS $$
DECLARE
    v_object_type text := appl_lock_text('get_appl_lock', 'p_object_type', p_object_type, 64, true);
    v_object_id text := appl_lock_text('get_appl_lock', 'p_object_id', p_object_id, 255, true);
    v_operator_id text := appl_lock_text('get_appl_lock', 'p_operator_id', p_operator_id, 64, true);
    v_department_id text := appl_lock_text('get_appl_lock', 'p_department_id', p_department_id, 64, false);
    v_ttl interval := make_interval(
        secs => appl_lock_number('get_appl_lock', 'p_ttl_seconds', p_ttl_seconds, 604800, 315360000)
    );
BEGIN
    FOR v_round IN 1..3 LOOP
        -- S1: held by somebody else?
        SELECT l.operator_id, l.department_id, l.expires_ts
        INTO p_old_operator_id, p_old_department_id, p_expires_ts
        FROM appl_lock AS l
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.operator_id <> v_operator_id
            AND l.expires_ts > clock_timestamp();
        IF FOUND THEN
            p_lock_fl := 'N';
            p_outcome := 'HELD';
            p_fence := 0;
            RETURN;
        END IF;

        -- S2: take or renew. Time and fence of an existing row are computed in DO UPDATE, that is
        -- under its lock: a value from before the wait could be smaller than a later grant's.
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
        SELECT
            v_object_type,
            v_object_id,
            v_operator_id,
            v_department_id,
            (extract(epoch FROM t.now_ts) * 1000000)::bigint,
            t.now_ts,
            t.now_ts,
            t.now_ts + v_ttl
        FROM (SELECT clock_timestamp() AS now_ts) AS t
        ON CONFLICT ON CONSTRAINT appl_lock_pk DO UPDATE
        SET operator_id = excluded.operator_id,
            department_id = excluded.department_id,
            (fence, acquired_ts, lock_ts, expires_ts) = (
                SELECT
                    CASE
                        WHEN r.renews THEN l.fence
                        ELSE greatest(l.fence + 1, (extract(epoch FROM t.now_ts) * 1000000)::bigint)
                    END,
                    CASE WHEN r.renews THEN l.acquired_ts ELSE t.now_ts END,
                    -- Later than acquired_ts in every renewal, whatever the clock does: so the row
                    -- itself tells RENEWED from ACQUIRED.
                    CASE
                        WHEN r.renews THEN greatest(t.now_ts, l.acquired_ts + interval '1 microsecond')
                        ELSE t.now_ts
                    END,
                    t.now_ts + v_ttl
                FROM (SELECT clock_timestamp() AS now_ts) AS t
                CROSS JOIN LATERAL (
                    SELECT l.operator_id = excluded.operator_id AND l.expires_ts > t.now_ts AS renews
                ) AS r
            )
        WHERE l.operator_id = excluded.operator_id
            OR l.expires_ts <= clock_timestamp()
        RETURNING
            CASE WHEN l.lock_ts = l.acquired_ts THEN 'ACQUIRED' ELSE 'RENEWED' END,
            l.fence,
            l.expires_ts
        INTO p_outcome, p_fence, p_expires_ts;
        IF FOUND THEN
            p_lock_fl := 'Y';
            p_old_operator_id := '';
            p_old_department_id := '';
            RETURN;
        END IF;
    END LOOP;
    RAISE EXCEPTION USING
        ERRCODE = 'LK003',
        MESSAGE = format('get_appl_lock: %s:%s changed hands during the call; call again', v_object_type, v_object_id);
END
$$;

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
    INOUT p_expires_ts timestamptz DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT r.p_lock_fl, r.p_outcome, r.p_old_operator_id, r.p_old_department_id, r.p_fence, r.p_expires_ts
    INTO p_lock_fl, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_expires_ts
    FROM get_appl_lock_row(p_object_type, p_object_id, p_operator_id, p_department_id, p_ttl_seconds) AS r;
END
$$;

COMMENT ON FUNCTION get_appl_lock_row(text, text, text, text, bigint) IS
    'Take or renew the lock on an object for one operator until it expires; the answer is one row.';
COMMENT ON PROCEDURE get_appl_lock(text, text, text, text, bigint, character, text, text, text, bigint, timestamptz) IS
    'Take or renew the lock on an object for one operator until it expires.';

REVOKE ALL ON FUNCTION get_appl_lock_row(text, text, text, text, bigint) FROM PUBLIC;
REVOKE ALL ON PROCEDURE get_appl_lock(text, text, text, text, bigint, character, text, text, text, bigint, timestamptz) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- inquire_appl_lock: who holds an object, since when and until when.
--
-- Contract   Y and the lock, when somebody holds the object.
--            N and blanks (empty strings, fence 0, NULL timestamps), when it is free or expired.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255. Trailing blanks are trimmed.
-- Out        p_return_cd, p_operator_id, p_department_id, p_fence, p_acquired_ts, p_lock_ts, p_expires_ts.
-- Raises     LK001 invalid argument. Nothing else on purpose.
-- Locks      Nothing; never waits and never writes.
-- Race-free  One read of one committed row version: what it says was true at one moment.
--            REPEATABLE READ and SERIALIZABLE: that moment is the transaction's snapshot.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION inquire_appl_lock_row(
    p_object_type text,
    p_object_id text,
    OUT p_return_cd character(1),
    OUT p_operator_id text,
    OUT p_department_id text,
    OUT p_fence bigint,
    OUT p_acquired_ts timestamptz,
    OUT p_lock_ts timestamptz,
    OUT p_expires_ts timestamptz
)
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
DECLARE
    v_object_type text := appl_lock_text('inquire_appl_lock', 'p_object_type', p_object_type, 64, true);
    v_object_id text := appl_lock_text('inquire_appl_lock', 'p_object_id', p_object_id, 255, true);
BEGIN
    SELECT 'Y', l.operator_id, l.department_id, l.fence, l.acquired_ts, l.lock_ts, l.expires_ts
    INTO p_return_cd, p_operator_id, p_department_id, p_fence, p_acquired_ts, p_lock_ts, p_expires_ts
    FROM appl_lock AS l
    WHERE l.object_type = v_object_type
        AND l.object_id = v_object_id
        AND l.expires_ts > clock_timestamp();
    IF NOT FOUND THEN
        p_return_cd := 'N';
        p_operator_id := '';
        p_department_id := '';
        p_fence := 0;
    END IF;
END
$$;

CREATE OR REPLACE PROCEDURE inquire_appl_lock(
    IN p_object_type text,
    IN p_object_id text,
    INOUT p_return_cd character(1) DEFAULT NULL,
    INOUT p_operator_id text DEFAULT NULL,
    INOUT p_department_id text DEFAULT NULL,
    INOUT p_fence bigint DEFAULT NULL,
    INOUT p_acquired_ts timestamptz DEFAULT NULL,
    INOUT p_lock_ts timestamptz DEFAULT NULL,
    INOUT p_expires_ts timestamptz DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT r.p_return_cd, r.p_operator_id, r.p_department_id, r.p_fence, r.p_acquired_ts, r.p_lock_ts, r.p_expires_ts
    INTO p_return_cd, p_operator_id, p_department_id, p_fence, p_acquired_ts, p_lock_ts, p_expires_ts
    FROM inquire_appl_lock_row(p_object_type, p_object_id) AS r;
END
$$;

COMMENT ON FUNCTION inquire_appl_lock_row(text, text) IS
    'Who holds an object, since when and until when; the answer is one row.';
COMMENT ON PROCEDURE inquire_appl_lock(text, text, character, text, text, bigint, timestamptz, timestamptz, timestamptz) IS
    'Who holds an object, since when and until when.';

REVOKE ALL ON FUNCTION inquire_appl_lock_row(text, text) FROM PUBLIC;
REVOKE ALL ON PROCEDURE inquire_appl_lock(text, text, character, text, text, bigint, timestamptz, timestamptz, timestamptz) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- list_appl_locks: one page of the live locks in key order, all or those of a type, operator or department.
--
-- Contract   At most p_max_rows live locks whose key is greater than (p_after_type, p_after_id). The next
--            page starts after the last row of this one; a page shorter than p_max_rows is the last.
-- In         p_object_type 1..64, p_operator_id 1..64, p_department_id 0..64: NULL = any. p_after_type
--            0..64, p_after_id 0..255: NULL = from the start. p_max_rows 1..10000, NULL = 1000.
--            Trailing blanks are trimmed first.
-- Out        Rows of appl_lock, ordered by object_type, object_id as bytes.
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
    p_max_rows bigint
) RETURNS SETOF appl_lock
LANGUAGE plpgsql STABLE SECURITY DEFINER
SET search_path FROM CURRENT
-- A plan for these very arguments: a NULL filter falls away, a type becomes a range of the key.
SET plan_cache_mode = 'force_custom_plan'
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
        l.object_type,
        l.object_id,
        l.operator_id,
        l.department_id,
        l.fence,
        l.acquired_ts,
        l.lock_ts,
        l.expires_ts
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
-- purge_appl_locks: remove the rows of objects that have been free for long.
--
-- Contract   Deletes at most p_max_rows rows that expired or were released more than
--            p_older_than_seconds ago; fewer than p_max_rows means that none is left. No live lock
--            is ever touched. Call it again until it returns less than p_max_rows.
-- In         p_older_than_seconds 1..315360000, NULL = 2592000 (30 days). p_max_rows 1..10000, NULL = 1000.
-- Out        p_purged, the number of rows removed.
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
BEGIN
    WITH free AS (
        SELECT l.object_type, l.object_id
        FROM appl_lock AS l
        WHERE l.expires_ts < v_before
            AND l.fence < (extract(epoch FROM v_now) * 1000000)::bigint
        LIMIT v_max_rows
        FOR UPDATE SKIP LOCKED
    )
    DELETE FROM appl_lock AS l
    USING free AS f
    WHERE l.object_type = f.object_type
        AND l.object_id = f.object_id;
    GET DIAGNOSTICS p_purged = ROW_COUNT;
END
$$;

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

COMMENT ON FUNCTION purge_appl_locks_row(bigint, bigint) IS
    'Remove the rows of objects that have been free for long; the answer is one row.';
COMMENT ON PROCEDURE purge_appl_locks(bigint, bigint, bigint) IS
    'Remove the rows of objects that have been free for long.';

REVOKE ALL ON FUNCTION purge_appl_locks_row(bigint, bigint) FROM PUBLIC;
REVOKE ALL ON PROCEDURE purge_appl_locks(bigint, bigint, bigint) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- release_appl_lock: end the grant that an operator holds on an object.
--
-- Contract   Y RELEASED: the operator held it (this very grant, if p_fence is given); it is free now.
--            Y FREE: nobody holds it; nothing changed.
--            N HELD: another operator, or another grant than p_fence, holds it; p_old_* tell who.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_operator_id 1..64;
--            p_fence 1 or greater, NULL = whichever grant. Trailing blanks are trimmed first.
-- Out        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD).
-- Raises     LK001 invalid argument. LK003 when the object changed hands three times during the call.
--            55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has them.
-- Locks      S1 reads without a lock and answers HELD and FREE. S2 locks the object's one row and
--            decides; held to the end of the caller's transaction.
-- Race-free  Release against take-over, renewal or transfer: S2 names operator, fence and expiry again
--            and is judged on the row as it is once it is locked; a later grant never matches.
--            Two releases: the second finds the row expired and answers FREE.
--            A get that has not committed yet is not there yet: FREE, as for every reader.
--            REPEATABLE READ and SERIALIZABLE: S2 on a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION release_appl_lock_row(
    p_object_type text,
    p_object_id text,
    p_operator_id text,
    p_fence bigint,
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
    v_object_type text := appl_lock_text('release_appl_lock', 'p_object_type', p_object_type, 64, true);
    v_object_id text := appl_lock_text('release_appl_lock', 'p_object_id', p_object_id, 255, true);
    v_operator_id text := appl_lock_text('release_appl_lock', 'p_operator_id', p_operator_id, 64, true);
    v_holds boolean;
BEGIN
    IF p_fence IS NOT NULL THEN
        PERFORM appl_lock_number('release_appl_lock', 'p_fence', p_fence, NULL, 9223372036854775807);
    END IF;
    FOR v_round IN 1..3 LOOP
        -- S1: who holds it?
        SELECT l.operator_id, l.department_id, l.operator_id = v_operator_id AND l.fence = coalesce(p_fence, l.fence)
        INTO p_old_operator_id, p_old_department_id, v_holds
        FROM appl_lock AS l
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.expires_ts > clock_timestamp();
        IF NOT FOUND THEN
            p_return_cd := 'Y';
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

        -- S2: end this grant.
        UPDATE appl_lock AS l
        SET expires_ts = clock_timestamp()
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.operator_id = v_operator_id
            AND l.fence = coalesce(p_fence, l.fence)
            AND l.expires_ts > clock_timestamp();
        IF FOUND THEN
            p_return_cd := 'Y';
            p_outcome := 'RELEASED';
            p_old_operator_id := '';
            p_old_department_id := '';
            RETURN;
        END IF;
    END LOOP;
    RAISE EXCEPTION USING
        ERRCODE = 'LK003',
        MESSAGE = format('release_appl_lock: %s:%s changed hands during the call; call again', v_object_type, v_object_id);
END
$$;

CREATE OR REPLACE PROCEDURE release_appl_lock(
    IN p_object_type text,
    IN p_object_id text,
    IN p_operator_id text,
    IN p_fence bigint,
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
    FROM release_appl_lock_row(p_object_type, p_object_id, p_operator_id, p_fence) AS r;
END
$$;

COMMENT ON FUNCTION release_appl_lock_row(text, text, text, bigint) IS
    'End the grant that an operator holds on an object; the answer is one row.';
COMMENT ON PROCEDURE release_appl_lock(text, text, text, bigint, character, text, text, text) IS
    'End the grant that an operator holds on an object.';

REVOKE ALL ON FUNCTION release_appl_lock_row(text, text, text, bigint) FROM PUBLIC;
REVOKE ALL ON PROCEDURE release_appl_lock(text, text, text, bigint, character, text, text, text) FROM PUBLIC;
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

COMMENT ON FUNCTION serialize_appl_lock_row(text, text) IS
    'Let one transaction at a time work on an object; the answer is one row.';
COMMENT ON PROCEDURE serialize_appl_lock(text, text) IS
    'Let one transaction at a time work on an object.';

REVOKE ALL ON FUNCTION serialize_appl_lock_row(text, text) FROM PUBLIC;
REVOKE ALL ON PROCEDURE serialize_appl_lock(text, text) FROM PUBLIC;
-- +goose StatementEnd

-- +goose StatementBegin
-- transfer_appl_lock: hand a held object from one operator to another.
--
-- Contract   Y TRANSFERRED: p_from held it; p_to holds it now: a new grant, a greater fence.
--            N HELD: somebody else than p_from holds it; p_old_* and p_expires_ts tell who and until when.
--            N FREE: nobody holds it; nothing changed.
-- In         p_object_type 1..64 characters without ":"; p_object_id 1..255; p_from_operator_id and
--            p_to_operator_id 1..64, may be equal; p_to_department_id 0..64, NULL = empty;
--            p_ttl_seconds 1..315360000, NULL = 604800 (7 days). Trailing blanks are trimmed first.
-- Out        p_return_cd, p_outcome, p_old_operator_id, p_old_department_id (empty unless HELD),
--            p_fence (0 unless TRANSFERRED), p_expires_ts (NULL when FREE).
-- Raises     LK001 invalid argument. LK003 when the object changed hands three times during the call.
--            55P03 after 1 s of waiting for another transaction, 40001 and 40P01 as the engine has them.
-- Locks      S1 reads without a lock and answers HELD and FREE. S2 locks the object's one row and
--            decides; held to the end of the caller's transaction.
-- Race-free  Transfer against release, take-over or another transfer: S2 names the old operator and the
--            expiry again and is judged on the row as it is once it is locked; of two transfers from
--            the same operator one wins and the other answers HELD. Time and fence are computed under
--            the row lock. REPEATABLE READ and SERIALIZABLE: a row changed since the snapshot is 40001.
-- Differs    Nothing: this is the reference.

CREATE OR REPLACE FUNCTION transfer_appl_lock_row(
    p_object_type text,
    p_object_id text,
    p_from_operator_id text,
    p_to_operator_id text,
    p_to_department_id text,
    p_ttl_seconds bigint,
    OUT p_return_cd character(1),
    OUT p_outcome text,
    OUT p_old_operator_id text,
    OUT p_old_department_id text,
    OUT p_fence bigint,
    OUT p_expires_ts timestamptz
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
    v_ttl interval := make_interval(
        secs => appl_lock_number('transfer_appl_lock', 'p_ttl_seconds', p_ttl_seconds, 604800, 315360000)
    );
BEGIN
    FOR v_round IN 1..3 LOOP
        -- S1: who holds it?
        SELECT l.operator_id, l.department_id, l.expires_ts
        INTO p_old_operator_id, p_old_department_id, p_expires_ts
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
            (fence, acquired_ts, lock_ts, expires_ts) = (
                SELECT
                    greatest(l.fence + 1, (extract(epoch FROM t.now_ts) * 1000000)::bigint),
                    t.now_ts,
                    t.now_ts,
                    t.now_ts + v_ttl
                FROM (SELECT clock_timestamp() AS now_ts) AS t
            )
        WHERE l.object_type = v_object_type
            AND l.object_id = v_object_id
            AND l.operator_id = v_from_operator_id
            AND l.expires_ts > clock_timestamp()
        RETURNING l.fence, l.expires_ts
        INTO p_fence, p_expires_ts;
        IF FOUND THEN
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

CREATE OR REPLACE PROCEDURE transfer_appl_lock(
    IN p_object_type text,
    IN p_object_id text,
    IN p_from_operator_id text,
    IN p_to_operator_id text,
    IN p_to_department_id text,
    IN p_ttl_seconds bigint,
    INOUT p_return_cd character(1) DEFAULT NULL,
    INOUT p_outcome text DEFAULT NULL,
    INOUT p_old_operator_id text DEFAULT NULL,
    INOUT p_old_department_id text DEFAULT NULL,
    INOUT p_fence bigint DEFAULT NULL,
    INOUT p_expires_ts timestamptz DEFAULT NULL
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
BEGIN
    SELECT r.p_return_cd, r.p_outcome, r.p_old_operator_id, r.p_old_department_id, r.p_fence, r.p_expires_ts
    INTO p_return_cd, p_outcome, p_old_operator_id, p_old_department_id, p_fence, p_expires_ts
    FROM transfer_appl_lock_row(
        p_object_type, p_object_id, p_from_operator_id, p_to_operator_id, p_to_department_id, p_ttl_seconds
    ) AS r;
END
$$;

COMMENT ON FUNCTION transfer_appl_lock_row(text, text, text, text, text, bigint) IS
    'Hand a held object from one operator to another; the answer is one row.';
COMMENT ON PROCEDURE transfer_appl_lock(text, text, text, text, text, bigint, character, text, text, text, bigint, timestamptz) IS
    'Hand a held object from one operator to another.';

REVOKE ALL ON FUNCTION transfer_appl_lock_row(text, text, text, text, text, bigint) FROM PUBLIC;
REVOKE ALL ON PROCEDURE transfer_appl_lock(text, text, text, text, text, bigint, character, text, text, text, bigint, timestamptz) FROM PUBLIC;
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

DROP FUNCTION appl_lock_text;
DROP FUNCTION appl_lock_number;
DROP FUNCTION appl_lock_version;
DROP FUNCTION assert_appl_lock_row;
DROP PROCEDURE assert_appl_lock;
DROP FUNCTION get_appl_lock_row;
DROP PROCEDURE get_appl_lock;
DROP FUNCTION inquire_appl_lock_row;
DROP PROCEDURE inquire_appl_lock;
DROP FUNCTION list_appl_locks;
DROP FUNCTION purge_appl_locks_row;
DROP PROCEDURE purge_appl_locks;
DROP FUNCTION release_appl_lock_row;
DROP PROCEDURE release_appl_lock;
DROP FUNCTION serialize_appl_lock_row;
DROP PROCEDURE serialize_appl_lock;
DROP FUNCTION transfer_appl_lock_row;
DROP PROCEDURE transfer_appl_lock;

SELECT set_config('search_path', current_setting('applock.caller_search_path'), true);
