package postgres_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/inspect"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// plantOperators adds every operator between the types of the schema that PostgreSQL has not for exactly these types.
const plantOperators = `DO $plant$
DECLARE
    v_types text[] := '{text,varchar,bpchar,name,int2,int4,int8,numeric,float8,bool,timestamptz,interval,jsonb,xid8,tid,
        text[],varchar[],int8[],tid[]}';
    v_left text;
    v_right text;
    v_name name;
BEGIN
    FOREACH v_left IN ARRAY v_types LOOP
        FOREACH v_right IN ARRAY v_types LOOP
            EXECUTE format('CREATE FUNCTION applock.planted(%s, %s) RETURNS boolean LANGUAGE plpgsql AS
                $f$BEGIN RAISE EXCEPTION ''foreign code runs as %%'', current_user; END$f$', v_left, v_right);
            FOR v_name IN
                SELECT DISTINCT o.oprname
                FROM pg_operator AS o
                WHERE o.oprname IN ('=', '<>', '<', '<=', '>', '>=', '||', '~', '!~', '~~', '+', '-', '*', '/', '->', '->>')
                    AND to_regoperator(format('pg_catalog.%s(%s,%s)', o.oprname, v_left, v_right)) IS NULL
            LOOP
                EXECUTE format('CREATE OPERATOR applock.%s (FUNCTION = applock.planted, LEFTARG = %s, RIGHTARG = %s)', v_name, v_left, v_right);
            END LOOP;
        END LOOP;
    END LOOP;
END
$plant$`

// plantFunctions adds, for each routine that a routine of ours calls and for each function of PostgreSQL that one names, every signature that
// has another type in one place, or a concrete one for a polymorphic one; and such with an argument less or more. No public name is planted:
// its caller alone would run that.
const plantFunctions = `DO $plant$
DECLARE
    v_types text[] := '{text,varchar,bpchar,int2,int4,int8,numeric,float8,bool,timestamptz,interval,jsonb,xid8,text[],int8[],tid}';
    v_routine record;
    v_type text;
    v_signature text[];
    v_body CONSTANT text := 'RETURNS text LANGUAGE plpgsql AS $f$BEGIN RAISE EXCEPTION ''foreign code runs as %'', current_user; END$f$';
BEGIN
    CREATE TEMPORARY TABLE planting (name text, arguments text[]);
    FOR v_routine IN
        SELECT p.proname AS name, p.pronargdefaults AS defaults, string_to_array(oidvectortypes(p.proargtypes), ', ') AS arguments
        FROM pg_proc AS p
        WHERE p.pronamespace = 'applock'::regnamespace AND p.proname ~ '^appl_lock_(?!version)|_row$'
            OR p.pronamespace = 'pg_catalog'::regnamespace AND EXISTS (
                SELECT FROM pg_proc AS o WHERE o.pronamespace = 'applock'::regnamespace AND o.prosrc ~ ('\m' || p.proname || '\(')
            )
    LOOP
        FOREACH v_type IN ARRAY v_types LOOP
            v_signature := ARRAY(
                SELECT CASE WHEN a.type LIKE 'any%array' THEN v_type || '[]' WHEN a.type LIKE '%any%' THEN v_type ELSE a.type END
                FROM unnest(v_routine.arguments) WITH ORDINALITY AS a (type, place)
                ORDER BY a.place
            );
            INSERT INTO planting VALUES
                (v_routine.name, v_signature), (v_routine.name, v_signature || v_type), (v_routine.name, v_signature || (v_type || ' DEFAULT NULL'));
            FOR v_place IN 1..cardinality(v_signature) LOOP
                INSERT INTO planting
                VALUES (v_routine.name, v_signature[:v_place - 1] || v_type || v_signature[v_place + 1:]), (v_routine.name, v_signature[:v_place]);
            END LOOP;
        END LOOP;
    END LOOP;
    INSERT INTO planting SELECT 'make_interval', ARRAY['secs ' || t] FROM unnest(v_types) AS t;
    INSERT INTO planting SELECT 'format', ARRAY['text', s, t] FROM unnest(v_types) AS s, unnest(v_types) AS t;
    INSERT INTO planting SELECT 'format', ARRAY['text', s, t, u] FROM unnest(v_types[:6]) AS s, unnest(v_types[:6]) AS t, unnest(v_types[:6]) AS u;
    FOR v_routine IN SELECT DISTINCT p.name, array_to_string(p.arguments, ', ') AS arguments FROM planting AS p LOOP
        BEGIN
            IF to_regprocedure(format('pg_catalog.%I(%s)', v_routine.name, v_routine.arguments)) IS NULL THEN
                EXECUTE format('CREATE FUNCTION applock.%I(%s) %s', v_routine.name, v_routine.arguments, v_body);
            END IF;
        EXCEPTION
            WHEN OTHERS THEN -- it is there already, or there is no such type
                NULL;
        END;
    END LOOP;
    DROP TABLE planting;
END
$plant$`

// Goal: whatever else the schema holds, the routines and views call what is ours or PostgreSQL's: no role that may create objects there has
// its code run with the owner's rights. Method: every better match of an operator or a function is planted, before and after the
// installation, and raises when it is called. The scenarios and verify then call every verb. What views and constraints call, the catalogue tells.
func TestHeavyPlantedObjectsAreNotCalled(t *testing.T) {
	t.Parallel()
	newPlanted := func(t testing.TB) contract.Place {
		dsn := testdb.PostgresCopy(t, "planted_"+testclient.MigrationsOf(t, "postgres"), func(dsn string) { plant(t, dsn) })
		return newPlaceIn(t, dsn+"&search_path=applock", dsn+"&search_path=pg_catalog")
	}
	places := contract.NewPlaces(t, newPlanted, emptied...)
	t.Run("Scenarios", func(t *testing.T) {
		contract.Scenarios(t, contract.Backend{New: places.Take, Ways: []string{"facade", "call"}})
	})
	t.Run("Verify", func(t *testing.T) {
		place := places.Take(t)
		if _, err := inspect.Rehearse(t.Context(), place.Client, time.Minute); err != nil {
			t.Error(err)
		}
		if _, err := migrate.Status(t.Context(), place.Client); err != nil {
			t.Error(err)
		}
		if _, err := migrate.MissingGrants(t.Context(), place.Client); err != nil {
			t.Error(err)
		}
		if called, err := contract.RowsByColumn(t.Context(), place.SQL, `SELECT pg_describe_object(d.classid, d.objid, d.objsubid) AS caller,
				pg_describe_object(d.refclassid, d.refobjid, 0) AS called
			FROM pg_depend AS d
			LEFT JOIN pg_operator AS o ON d.refclassid = 'pg_operator'::regclass AND o.oid = d.refobjid
			JOIN pg_proc AS p ON p.oid = coalesce(o.oprcode::oid, d.refobjid) AND p.prosrc LIKE '%foreign code%'
			WHERE d.classid IN ('pg_rewrite'::regclass, 'pg_constraint'::regclass, 'pg_attrdef'::regclass, 'pg_class'::regclass)`); err != nil || len(called) > 0 {
			t.Errorf("%v, %v", called, err)
		}
	})
}

// plant installs into a schema in which objects are planted, and plants those that are like ours.
func plant(t testing.TB, dsn string) {
	t.Helper()
	handle, err := sql.Open("pgx", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = handle.Close() }()
	client := testclient.Open(t, dsn, "", nil)
	defer func() { _ = client.Close() }()
	for _, step := range []func() error{
		func() error {
			_, err := handle.ExecContext(t.Context(), "CREATE SCHEMA applock;"+plantOperators)
			return err
		},
		func() error { _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); return err },
		func() error {
			_, err := handle.ExecContext(t.Context(), "SET search_path = pg_catalog;"+plantFunctions)
			return err
		},
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
}
