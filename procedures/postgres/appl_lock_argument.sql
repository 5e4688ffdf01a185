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

COMMENT ON FUNCTION appl_lock_has_control(text) IS
    'Internal to applock: tells whether a text has a control character.';
COMMENT ON FUNCTION appl_lock_text(text, text, text, integer, boolean) IS
    'Internal to applock: checks one text argument and trims its trailing blanks.';
COMMENT ON FUNCTION appl_lock_number(text, text, bigint, integer, integer) IS
    'Internal to applock: checks one number argument and applies its default.';
COMMENT ON FUNCTION appl_lock_yes(text, text, text) IS
    'Internal to applock: checks one flag argument, which is N unless it is Y.';
