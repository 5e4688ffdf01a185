-- The four procedures of the article "Using Stored Procedures to Lock Application Objects", with its
-- parameters in its order and types, on top of applock's. For sites whose programs call the article's.
--
-- Install    After `applockctl migrate up`, as the account that ran it, and again at any time (grants stay):
--                psql -v ON_ERROR_STOP=1 -f postgres.sql
--            They go into the schema applock, or the one that the setting applock.schema names:
--                PGOPTIONS="-c applock.schema=locks" psql ...
-- Call       CALL applock.get_customer_lock(42, 'JDOE', 'CS', NULL, NULL, NULL), which answers with a row; a
--            NULL stands for each OUT parameter. Nothing is granted to PUBLIC. Callers need USAGE on the schema
--            and EXECUTE on these procedures; they run with the rights of the account that installed them.
-- Object     customer:<p_customer_id>, as the full API has it. 7 days, as in the article, or the longest of a policy.
-- Out        'Y' or 'N'. Blank is 8 blanks, never NULL; only the time of a lock that is not held is NULL. The
--            time is UTC.
-- Raises     22001 for an operator or department of more than 8 characters: also the holder's, who has locked
--            through the full API; nothing has changed then. LK001, LK003 and what the database raises as in
--            get_appl_lock and its siblings.

BEGIN;

DO $$
DECLARE
    v_schema text := coalesce(nullif(current_setting('applock.schema', true), ''), 'applock');
BEGIN
    IF to_regclass(format('%I.appl_lock', v_schema)) IS NULL THEN
        RAISE EXCEPTION 'applock is not installed in schema %: run applockctl migrate up first', v_schema;
    END IF;
    PERFORM set_config('search_path', format('%I, pg_temp', v_schema), true);
END
$$;

CREATE OR REPLACE PROCEDURE get_customer_lock(
    IN p_customer_id bigint,
    IN p_operator_id character(8),
    IN p_department_id character(8),
    OUT p_lock_fl character(1),
    OUT p_old_operator_id character(8),
    OUT p_old_department_id character(8)
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
DECLARE
    -- PostgreSQL drops the length of a parameter's type, but keeps a variable's.
    v_operator_id character(8) := p_operator_id;
    v_department_id character(8) := p_department_id;
    v_old_operator_id text;
    v_old_department_id text;
BEGIN
    IF p_customer_id IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'LK001', MESSAGE = 'get_customer_lock: p_customer_id must not be NULL';
    END IF;
    SELECT r.p_ok_fl, r.p_old_operator_id, r.p_old_department_id
    INTO p_lock_fl, v_old_operator_id, v_old_department_id
    FROM get_appl_lock_row('customer', p_customer_id::text, v_operator_id, coalesce(v_department_id, ''), 604800, NULL) AS r;
    IF greatest(char_length(v_old_operator_id), char_length(v_old_department_id)) > 8 THEN
        RAISE EXCEPTION USING
            ERRCODE = '22001',
            MESSAGE = format('get_customer_lock: holder too long for CHAR(8): %s, %s', v_old_operator_id, v_old_department_id);
    END IF;
    p_old_operator_id := rpad(v_old_operator_id, 8);
    p_old_department_id := rpad(v_old_department_id, 8);
END
$$;

CREATE OR REPLACE PROCEDURE release_customer_lock(
    IN p_customer_id bigint,
    IN p_operator_id character(8),
    OUT p_return_cd character(1),
    OUT p_old_operator_id character(8),
    OUT p_old_department_id character(8)
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
DECLARE
    v_operator_id character(8) := p_operator_id;
    v_old_operator_id text;
    v_old_department_id text;
BEGIN
    IF p_customer_id IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'LK001', MESSAGE = 'release_customer_lock: p_customer_id must not be NULL';
    END IF;
    SELECT r.p_ok_fl, r.p_old_operator_id, r.p_old_department_id
    INTO p_return_cd, v_old_operator_id, v_old_department_id
    FROM release_appl_lock_row('customer', p_customer_id::text, v_operator_id, NULL, NULL, NULL) AS r;
    IF greatest(char_length(v_old_operator_id), char_length(v_old_department_id)) > 8 THEN
        RAISE EXCEPTION USING
            ERRCODE = '22001',
            MESSAGE = format('release_customer_lock: holder too long for CHAR(8): %s, %s', v_old_operator_id, v_old_department_id);
    END IF;
    p_old_operator_id := rpad(v_old_operator_id, 8);
    p_old_department_id := rpad(v_old_department_id, 8);
END
$$;

CREATE OR REPLACE PROCEDURE inquire_customer_lock(
    IN p_customer_id bigint,
    OUT p_return_cd character(1),
    OUT p_operator_id character(8),
    OUT p_department_id character(8),
    OUT p_lock_ts timestamp
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
DECLARE
    v_operator_id text;
    v_department_id text;
BEGIN
    IF p_customer_id IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'LK001', MESSAGE = 'inquire_customer_lock: p_customer_id must not be NULL';
    END IF;
    SELECT r.p_ok_fl, r.p_operator_id, r.p_department_id, r.p_lock_ts AT TIME ZONE 'UTC'
    INTO p_return_cd, v_operator_id, v_department_id, p_lock_ts
    FROM inquire_appl_lock_row('customer', p_customer_id::text) AS r;
    IF greatest(char_length(v_operator_id), char_length(v_department_id)) > 8 THEN
        RAISE EXCEPTION USING
            ERRCODE = '22001',
            MESSAGE = format('inquire_customer_lock: holder too long for CHAR(8): %s, %s', v_operator_id, v_department_id);
    END IF;
    p_operator_id := rpad(v_operator_id, 8);
    p_department_id := rpad(v_department_id, 8);
END
$$;

CREATE OR REPLACE PROCEDURE transfer_customer_lock(
    IN p_customer_id bigint,
    IN p_from_operator_id character(8),
    IN p_to_operator_id character(8),
    IN p_to_department_id character(8),
    OUT p_return_cd character(1),
    OUT p_old_operator_id character(8),
    OUT p_old_department_id character(8)
)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path FROM CURRENT
AS $$
DECLARE
    v_from_operator_id character(8) := p_from_operator_id;
    v_to_operator_id character(8) := p_to_operator_id;
    v_to_department_id character(8) := p_to_department_id;
    v_old_operator_id text;
    v_old_department_id text;
BEGIN
    IF p_customer_id IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'LK001', MESSAGE = 'transfer_customer_lock: p_customer_id must not be NULL';
    END IF;
    SELECT r.p_ok_fl, r.p_old_operator_id, r.p_old_department_id
    INTO p_return_cd, v_old_operator_id, v_old_department_id
    FROM transfer_appl_lock_row(
        'customer', p_customer_id::text, v_from_operator_id, v_to_operator_id, v_to_department_id, 604800,
        NULL, NULL
    ) AS r;
    IF greatest(char_length(v_old_operator_id), char_length(v_old_department_id)) > 8 THEN
        RAISE EXCEPTION USING
            ERRCODE = '22001',
            MESSAGE = format('transfer_customer_lock: holder too long for CHAR(8): %s, %s', v_old_operator_id, v_old_department_id);
    END IF;
    p_old_operator_id := rpad(v_old_operator_id, 8);
    p_old_department_id := rpad(v_old_department_id, 8);
END
$$;

COMMENT ON PROCEDURE get_customer_lock IS 'get_appl_lock for the object customer:id, with the parameters of the article''s GET_APPL_LOCK.';
COMMENT ON PROCEDURE release_customer_lock IS 'release_appl_lock for the object customer:id, with the parameters of the article''s RELEASE_APPL_LOCK.';
COMMENT ON PROCEDURE inquire_customer_lock IS 'inquire_appl_lock for the object customer:id, with the parameters of the article''s INQUIRE_APPL_LOCK.';
COMMENT ON PROCEDURE transfer_customer_lock IS 'transfer_appl_lock for the object customer:id, with the parameters of the article''s TRANSFER_APPL_LOCK.';

REVOKE ALL ON PROCEDURE get_customer_lock, release_customer_lock, inquire_customer_lock, transfer_customer_lock FROM PUBLIC;

COMMIT;
