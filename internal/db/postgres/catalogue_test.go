package postgres_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testclient"
)

// internalRoutines are in the catalogue but not in the contract: nobody is granted them.
func internalRoutines() []string {
	return []string{
		"appl_lock_has_control", "appl_lock_move", "appl_lock_move_page", "appl_lock_next_fence", "appl_lock_number", "appl_lock_record",
		"appl_lock_seconds_left", "appl_lock_text", "appl_lock_yes",
	}
}

// Goal: owner's rights, a pinned search path with pg_temp last, nothing for PUBLIC, a comment on each.
// Method: ask the catalogue for routines that lack one of them.
func TestRoutinesAreSafe(t *testing.T) {
	t.Parallel()
	pool := migratedPool(t)
	for _, check := range []struct{ what, condition string }{
		{"runs with the caller's rights", "NOT p.prosecdef AND p.proname <> ALL ($1)"},
		{"has no pinned search path with pg_temp last", "NOT EXISTS (SELECT FROM unnest(p.proconfig) AS c WHERE c = 'search_path=applock, pg_temp') AND p.proname <> ALL ($1)"},
		{"is granted to PUBLIC", "(p.proacl IS NULL OR EXISTS (SELECT FROM aclexplode(p.proacl) AS a WHERE a.grantee = 0)) AND cardinality($1::text[]) > 0"},
		{"has no comment", "obj_description(p.oid, 'pg_proc') IS NULL AND cardinality($1::text[]) > 0"},
		{"is immutable though it reads or writes", "p.provolatile = 'i' AND p.proname NOT IN ('appl_lock_version') AND p.proname <> ALL ($1)"},
	} {
		for _, name := range column(t, pool,
			"SELECT p.proname::text FROM pg_proc AS p WHERE p.pronamespace = 'applock'::regnamespace AND "+check.condition,
			internalRoutines()) {
			t.Errorf("%s %s", name, check.what)
		}
	}
	for _, granted := range column(t, pool, `
		SELECT c.relname::text FROM pg_class AS c, aclexplode(c.relacl) AS a
		WHERE c.relnamespace = 'applock'::regnamespace AND a.grantee = 0
		UNION ALL
		SELECT n.nspname::text FROM pg_namespace AS n, aclexplode(n.nspacl) AS a
		WHERE n.nspname = 'applock' AND a.grantee = 0`) {
		t.Errorf("PUBLIC has a privilege on %s", granted)
	}
}

// Goal: every change of the schema shows in review. Method: the catalogue as text against a golden
// file; APPLOCK_UPDATE_GOLDEN=1 (make golden) rewrites it.
func TestGoldenSchema(t *testing.T) {
	t.Parallel()
	lines := column(t, migratedPool(t), `
		SELECT line FROM (
			SELECT 1 AS part, format('column %s.%s %s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
					CASE WHEN a.attcollation = '"C"'::regcollation THEN ' COLLATE "C"' ELSE '' END,
					CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END) AS line,
					c.relname::text AS of, a.attnum AS position
			FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
			WHERE c.relnamespace = 'applock'::regnamespace AND c.relkind IN ('r', 'c', 'v') AND c.relname <> 'appl_lock_goose' AND a.attnum > 0
			UNION ALL
			SELECT 2, format('options %s %s', c.relname, c.reloptions), '', 0
			FROM pg_class AS c WHERE c.relnamespace = 'applock'::regnamespace AND c.reloptions IS NOT NULL
			UNION ALL
			SELECT 3, format('constraint %s %s', k.conname, pg_get_constraintdef(k.oid)), '', 0
			FROM pg_constraint AS k
			WHERE k.connamespace = 'applock'::regnamespace AND k.contype <> 'n'
				AND k.conrelid <> 'applock.appl_lock_goose'::regclass
			UNION ALL
			SELECT 4, format('index %s', pg_get_indexdef(i.indexrelid)), '', 0
			FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid
			WHERE c.relnamespace = 'applock'::regnamespace AND c.relname <> 'appl_lock_goose'
			UNION ALL
			SELECT 5, format('%s %s(%s)%s %s%s %s', CASE p.prokind WHEN 'p' THEN 'procedure' ELSE 'function' END, p.proname,
					pg_get_function_identity_arguments(p.oid),
					CASE p.prokind WHEN 'p' THEN '' ELSE ' returns ' || replace(format_type(p.prorettype, NULL), 'applock.', '') END,
					CASE p.provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END,
					CASE WHEN p.prosecdef THEN ' definer' ELSE '' END, p.proconfig), '', 0
			FROM pg_proc AS p WHERE p.pronamespace = 'applock'::regnamespace
		) AS all_lines ORDER BY part, of COLLATE "C", position, line COLLATE "C"`)
	got := strings.Join(lines, "\n") + "\n"
	contract.Golden(t, "../../../testdata/schema/postgres.golden", got)
}

func migratedPool(t testing.TB) *pgxpool.Pool {
	t.Helper()
	dsn := testclient.InstalledPostgres(t)
	return newPool(t, dsn)
}

// column returns the first column of a query.
func column(t testing.TB, pool *pgxpool.Pool, query string, args ...any) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var values []string
	for rows.Next() {
		var value string
		if err := rows.Scan(&value); err != nil {
			t.Fatal(err)
		}
		values = append(values, value)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return values
}
