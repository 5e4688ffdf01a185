package main

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/migrations"
)

// firstVersion is what the first release has left: its table and its procedures.
const firstVersion = 2

// MigrationsOf returns the dialect's migrations, to which a test may add.
func MigrationsOf(t *testing.T, dialect string) fstest.MapFS {
	t.Helper()
	names, err := fs.Glob(migrations.FS, dialect+"/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	for _, name := range names {
		text, err := migrations.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[strings.TrimPrefix(name, dialect+"/")] = &fstest.MapFile{Data: text}
	}
	return files
}

// Goal: the upgrade leaves locks and grants alone, installs the new operations, and goes back to exactly what
// was there. Method: a user with grants holds a lock of the first version and renews it after the way up to a later one
// and after the way down, and lets go after the second way up. The server's own words for each routine are compared.
// On MySQL and MariaDB TestHeavyUpgradeUnderLoad has the grants, and TestUpgradeLeadsThereAndBack the texts.
func TestUpgradeRestores(t *testing.T) {
	t.Parallel()
	dsn := testdb.Postgres(t)
	owner := openPostgres(t, dsn, "")
	files, later := MigrationsOf(t, postgresFolder), edition(t, postgresFolder)
	upgrade, err := migration(postgresFolder, later, installing(t, postgresFolder))
	if err != nil {
		t.Fatal(err)
	}
	files[fmt.Sprintf("%05d_procedures.sql", firstVersion+1)] = &fstest.MapFile{Data: []byte(upgrade)}
	provider, err := goose.NewProvider(goose.DialectPostgres, owner, files)
	if err != nil {
		t.Fatal(err)
	}
	to := func(version int64) map[string]string {
		t.Helper()
		_, err := provider.UpTo(t.Context(), version)
		if err == nil {
			_, err = provider.DownTo(t.Context(), version)
		}
		if err != nil {
			t.Fatal(err)
		}
		return definitions(t, owner)
	}
	to(firstVersion)
	user := grantee(t, dsn, owner)
	first := definitions(t, owner)
	fence := requireGet(t, user, "ACQUIRED")
	newest := to(firstVersion + 1)
	want, err := routinesOf(postgresFolder, later)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(want))
	for i, routine := range want {
		names[i] = routine.Name
	}
	if slices.Sort(names); !slices.Equal(slices.Sorted(maps.Keys(newest)), names) || maps.Equal(first, newest) {
		t.Errorf("installed are %v, want %v, with other texts than before", slices.Sorted(maps.Keys(newest)), names)
	}
	for _, step := range []struct {
		version int64
		want    map[string]string
	}{{firstVersion, first}, {firstVersion + 1, newest}} {
		if renewed := requireGet(t, user, "RENEWED"); renewed != fence {
			t.Errorf("before the way to %d the lock has fence %d, had %d", step.version, renewed, fence)
		}
		if got := to(step.version); !maps.Equal(got, step.want) {
			t.Errorf("at %d again there are\n%v\nand were\n%v", step.version, got, step.want)
		}
	}
	if _, err := user.ExecContext(t.Context(), "SELECT * FROM applock.release_appl_lock_row('customer', '1', 'GRANTEE', NULL, NULL, NULL)"); err != nil {
		t.Errorf("release after the upgrade: %v", err)
	}
	if _, err := user.ExecContext(t.Context(), "SELECT * FROM applock.inquire_appl_lock_row('customer', '1')"); err == nil {
		t.Error("after the upgrade the user may what it was not granted")
	}
	if left := to(0); len(left) != 0 {
		t.Errorf("left behind: %v", slices.Sorted(maps.Keys(left)))
	}
}

// definitions returns what the server says that each routine and view is, with rights and comment.
func definitions(t *testing.T, owner *sql.DB) map[string]string {
	t.Helper()
	rows, err := owner.QueryContext(t.Context(), `
		SELECT proname, concat_ws(E'\n', pg_get_functiondef(oid), proacl, obj_description(oid))
		FROM pg_proc WHERE pronamespace = to_regnamespace('applock')
		UNION ALL
		SELECT relname, concat_ws(E'\n', pg_get_viewdef(oid), relacl, obj_description(oid))
		FROM pg_class WHERE relkind = 'v' AND relnamespace = to_regnamespace('applock')`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	result := map[string]string{}
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			t.Fatal(err)
		}
		result[name] = text
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return result
}

// requireGet calls get and returns the fence.
func requireGet(t *testing.T, user *sql.DB, outcome string) (fence int64) {
	t.Helper()
	var got string
	row := user.QueryRowContext(t.Context(), "SELECT p_outcome, p_fence FROM applock.get_appl_lock_row('customer', '1', 'GRANTEE', '', 60)")
	if err := row.Scan(&got, &fence); err != nil || got != outcome {
		t.Errorf("get: %q, %v, want %s", got, err, outcome)
	}
	return fence
}

// grantee returns connections of a user who may get and release. An owner also granted something to PUBLIC, which no upgrade takes back.
func grantee(t *testing.T, dsn string, owner *sql.DB) *sql.DB {
	t.Helper()
	var name string
	if err := owner.QueryRowContext(t.Context(), "SELECT 'grantee_' || current_database()").Scan(&name); err != nil {
		t.Fatal(err)
	}
	execute(t, owner,
		"CREATE ROLE "+name,
		"GRANT USAGE ON SCHEMA applock TO "+name,
		"GRANT EXECUTE ON FUNCTION applock.get_appl_lock_row, applock.release_appl_lock_row TO "+name,
		"GRANT EXECUTE ON FUNCTION applock.appl_lock_version TO PUBLIC",
	)
	t.Cleanup(func() {
		if _, err := owner.ExecContext(context.Background(), "DROP OWNED BY "+name+"; DROP ROLE "+name); err != nil {
			t.Error(err)
		}
	})
	return openPostgres(t, dsn, name)
}

// openPostgres returns connections of the DSN's user, or in a role.
func openPostgres(t *testing.T, dsn, role string) *sql.DB {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	if role != "" {
		config.RuntimeParams["role"] = role
	}
	handle := stdlib.OpenDB(*config)
	t.Cleanup(func() { _ = handle.Close() })
	return handle
}

func execute(t *testing.T, handle *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := handle.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}
