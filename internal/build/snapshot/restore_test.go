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

// migrationsOf returns the dialect's migrations, to which a test may add.
func migrationsOf(t *testing.T, dialect string) fstest.MapFS {
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

// site is a database that is upgraded.
type site struct {
	dialect string
	goose   goose.Dialect
	owner   *sql.DB
	// grant returns the connections of a user who may get and release, and nothing else.
	grant func() *sql.DB
	// get, release and inquire are calls.
	get, release, inquire string
	// definitions returns what the server says that each routine is.
	definitions func() map[string]string
}

// Goal: the upgrade leaves locks and grants alone, installs the new operations, and goes back to exactly what
// was there. Method: a user with grants holds a lock of the first version and renews it after the way up to a later one
// and after the way down, and lets go after the second way up. The server's own words for each routine are compared.
func TestUpgradeRestores(t *testing.T) {
	t.Parallel()
	sites := map[string]func(t *testing.T) site{"postgres": postgresSite}
	for _, product := range testdb.MySQLProducts() {
		sites[product] = func(t *testing.T) site { t.Helper(); return mysqlSite(t, product) }
	}
	for name, open := range sites {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			upgradeAndRestore(t, open(t))
		})
	}
}

func upgradeAndRestore(t *testing.T, site site) {
	t.Helper()
	ctx := t.Context()
	files := migrationsOf(t, site.dialect)
	later := edition(t, site.dialect)
	upgrade, err := migration(site.dialect, later, installing(t, site.dialect))
	if err != nil {
		t.Fatal(err)
	}
	files[fmt.Sprintf("%05d_procedures.sql", firstVersion+1)] = &fstest.MapFile{Data: []byte(upgrade)}
	provider, err := goose.NewProvider(site.goose, site.owner, files)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.UpTo(ctx, firstVersion); err != nil {
		t.Fatal(err)
	}
	user := site.grant()
	first := site.definitions()
	fence := requireGet(t, user, site.get, "ACQUIRED")
	up := func() map[string]string {
		t.Helper()
		if _, err := provider.Up(ctx); err != nil {
			t.Fatal(err)
		}
		want, err := routinesOf(site.dialect, later)
		if err != nil {
			t.Fatal(err)
		}
		definitions := site.definitions()
		if got := slices.Sorted(maps.Keys(definitions)); !slices.Equal(got, namesOf(want)) {
			t.Errorf("installed are %v, want %v", got, namesOf(want))
		}
		return definitions
	}
	newest := up()
	if maps.Equal(first, newest) {
		t.Error("there is no upgrade: all routines are as they were")
	}
	if renewed := requireGet(t, user, site.get, "RENEWED"); renewed != fence {
		t.Errorf("after the upgrade the lock has fence %d, had %d", renewed, fence)
	}
	if _, err := provider.DownTo(ctx, firstVersion); err != nil {
		t.Fatal(err)
	}
	requireSame(t, "down", site.definitions(), first)
	if renewed := requireGet(t, user, site.get, "RENEWED"); renewed != fence {
		t.Errorf("after the way back the lock has fence %d, had %d", renewed, fence)
	}
	requireSame(t, "up again", up(), newest)
	if _, err := user.ExecContext(ctx, site.release); err != nil {
		t.Errorf("release after the upgrade: %v", err)
	}
	if _, err := user.ExecContext(ctx, site.inquire); err == nil {
		t.Error("after the upgrade the user may what it was not granted")
	}
	if _, err := provider.DownTo(ctx, 0); err != nil {
		t.Fatal(err)
	}
	if left := site.definitions(); len(left) != 0 {
		t.Errorf("left behind: %v", slices.Sorted(maps.Keys(left)))
	}
}

// requireGet calls get and returns the fence.
func requireGet(t *testing.T, user *sql.DB, call, outcome string) (fence int64) {
	t.Helper()
	var got string
	row := user.QueryRowContext(t.Context(), call)
	if err := row.Scan(new(any), &got, new(any), new(any), &fence, new(any), new(any), new(any)); err != nil || got != outcome {
		t.Errorf("get: %q, %v, want %s", got, err, outcome)
	}
	return fence
}

func requireSame(t *testing.T, when string, got, want map[string]string) {
	t.Helper()
	for name := range maps.Keys(want) {
		if got[name] != want[name] {
			t.Errorf("%s: %s is\n%s\nand was\n%s", when, name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: there are %v", when, slices.Sorted(maps.Keys(got)))
	}
}

func namesOf(routines []*routine) []string {
	var names []string
	for _, routine := range routines {
		names = append(names, routine.Name)
	}
	slices.Sort(names)
	return names
}

// postgresSite grants to PUBLIC, too: what an owner has given, the upgrade does not take back.
func postgresSite(t *testing.T) site {
	t.Helper()
	dsn := testdb.Postgres(t)
	owner := openPostgres(t, dsn, "")
	return site{
		dialect: postgresFolder,
		goose:   goose.DialectPostgres,
		owner:   owner,
		grant: func() *sql.DB {
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
		},
		get:     "SELECT * FROM applock.get_appl_lock_row('customer', '1', 'GRANTEE', '', 60)",
		release: "SELECT * FROM applock.release_appl_lock_row('customer', '1', 'GRANTEE', NULL, NULL, NULL)",
		inquire: "SELECT * FROM applock.inquire_appl_lock_row('customer', '1')",
		definitions: func() map[string]string {
			return texts(t, owner, `
				SELECT proname, concat_ws(E'\n', pg_get_functiondef(oid), proacl, obj_description(oid))
				FROM pg_proc WHERE pronamespace = to_regnamespace('applock')
				UNION ALL
				SELECT relname, concat_ws(E'\n', pg_get_viewdef(oid), relacl, obj_description(oid))
				FROM pg_class WHERE relkind = 'v' AND relnamespace = to_regnamespace('applock')`)
		},
	}
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

func mysqlSite(t *testing.T, product string) site {
	t.Helper()
	dsn := testdb.MySQL(t, product)
	owner := testdb.OpenMySQL(t, dsn, nil)
	return site{
		dialect: mysqlFolder,
		goose:   goose.DialectMySQL,
		owner:   owner,
		grant:   func() *sql.DB { return newGrantee(t, dsn, owner, "get_appl_lock_row", "release_appl_lock_row") },
		get:     "CALL get_appl_lock_row('customer', '1', 'GRANTEE', '', 60, NULL)",
		release: "CALL release_appl_lock_row('customer', '1', 'GRANTEE', NULL, NULL, NULL)",
		inquire: "CALL inquire_appl_lock_row('customer', '1')",
		definitions: func() map[string]string {
			definitions := texts(t, owner, `
				SELECT routine_name, '' FROM information_schema.routines WHERE routine_schema = DATABASE()`)
			for name := range definitions {
				var mode, text string
				row := owner.QueryRowContext(t.Context(), "SHOW CREATE PROCEDURE "+name)
				if err := row.Scan(new(any), &mode, &text, new(any), new(any), new(any)); err != nil {
					t.Fatal(err)
				}
				definitions[name] = mode + "\n" + text
			}
			maps.Copy(definitions, texts(t, owner, `
				SELECT table_name, view_definition FROM information_schema.views WHERE table_schema = DATABASE()`))
			return definitions
		},
	}
}

func execute(t *testing.T, handle *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := handle.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// texts returns the rows of a query with two columns.
func texts(t *testing.T, handle *sql.DB, query string) map[string]string {
	t.Helper()
	rows, err := handle.QueryContext(t.Context(), query)
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
