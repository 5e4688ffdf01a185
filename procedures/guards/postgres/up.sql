-- A guard of applock for PostgreSQL. Run it with: psql -v ON_ERROR_STOP=1 -f FILE
-- It replaces an earlier guard of the table. "applockctl guard print --down" prints what removes it.

BEGIN;

-- A trigger of a table does not see the rows of a table that inherits from it, which a statement on the former changes as well.
DO GUARD_DOLLARS
DECLARE
    v_child text;
BEGIN
    SELECT pg_catalog.min(i.inhrelid::pg_catalog.regclass::text)
    INTO v_child
    FROM pg_catalog.pg_inherits AS i
    JOIN pg_catalog.pg_class AS c
        ON c.oid = i.inhparent
    WHERE i.inhparent = GUARD_NAME::pg_catalog.regclass
        AND c.relkind <> 'p'
        AND NOT EXISTS (
            SELECT
            FROM pg_catalog.pg_trigger AS t
            WHERE t.tgrelid = i.inhrelid
                AND t.tgname = 'appl_lock_guard'
        );
    IF v_child IS NOT NULL THEN
        RAISE EXCEPTION 'guard: % inherits from %: guard it first', v_child, GUARD_NAME;
    END IF;
END
GUARD_DOLLARS;

CREATE OR REPLACE FUNCTION GUARD_FUNCTION()
RETURNS trigger
LANGUAGE plpgsql
AS GUARD_DOLLARS
DECLARE
    v_asserted text := pg_catalog.current_setting('applock.asserted', true);
    v_old_id text;
    v_new_id text;
    v_object_id text;
    v_end text;
    v_at integer;
    v_line text;
    v_fence text;
BEGIN
    IF TG_OP <> 'INSERT' THEN
        v_old_id := pg_catalog.rtrim(OLD.GUARD_COLUMN::text, ' ');
    END IF;
    IF TG_OP <> 'DELETE' THEN
        v_new_id := pg_catalog.rtrim(NEW.GUARD_COLUMN::text, ' ');
    END IF;
    FOREACH v_object_id IN ARRAY CASE
        WHEN TG_OP = 'INSERT' THEN ARRAY[v_new_id]
        WHEN TG_OP = 'DELETE' OR v_old_id COLLATE "C" = v_new_id COLLATE "C" THEN ARRAY[v_old_id]
        ELSE ARRAY[v_old_id, v_new_id]
    END LOOP
        -- The line of the grant that assert_appl_lock has found last: fence, operator, object.
        v_end := E'\t' || GUARD_TYPE || ':' || v_object_id || E'\n';
        v_at := pg_catalog.strpos(v_asserted COLLATE "C", v_end COLLATE "C");
        IF v_at IS NULL OR v_at = 0 THEN
            RAISE EXCEPTION USING
                ERRCODE = 'LK002',
                MESSAGE = pg_catalog.format(
                    'guard: %s of %s without assert_appl_lock of %s:%s in this transaction',
                    TG_OP, TG_TABLE_NAME, GUARD_TYPE, coalesce(v_object_id, 'NULL')
                );
        END IF;
        v_line := pg_catalog.split_part(pg_catalog.left(v_asserted, v_at - 1), E'\n', -1);
        v_fence := pg_catalog.split_part(v_line, E'\t', 1);
        PERFORM GUARD_ASSERT(
            GUARD_TYPE,
            v_object_id,
            pg_catalog.substr(v_line, pg_catalog.length(v_fence) + 2),
            v_fence::bigint
        );
    END LOOP;
    RETURN NULL;
END
GUARD_DOLLARS;

-- After the row is written, and so after all triggers that may change it. An error undoes the statement.
CREATE OR REPLACE TRIGGER appl_lock_guard
AFTER GUARD_EVENTS ON GUARD_TABLE
FOR EACH ROW
EXECUTE FUNCTION GUARD_FUNCTION();

COMMIT;
