package migrate_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// shop is an application in the same database that migrates with goose, as its tutorial says.
type shop struct {
	dialect goose.Dialect
	handle  *sql.DB
	// dsn opens the same database for applock.
	dsn string
}

// migrate applies the shop's steps; each creates a table of its own.
func (s shop) migrate(t *testing.T, versions ...int64) {
	t.Helper()
	files := fstest.MapFS{}
	for _, version := range versions {
		text := fmt.Sprintf("-- +goose Up\nCREATE TABLE shop_%[1]d (id INTEGER);\n-- +goose Down\nDROP TABLE shop_%[1]d;\n", version)
		files[fmt.Sprintf("%05d_shop.sql", version)] = &fstest.MapFile{Data: []byte(text)}
	}
	provider, err := goose.NewProvider(s.dialect, s.handle, files)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// require fails unless the shop has exactly these steps' tables, and applock works.
func (s shop) require(t *testing.T, client *applock.Client, versions ...int64) {
	t.Helper()
	for _, version := range versions {
		if _, err := s.handle.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO shop_%d (id) VALUES (1)", version)); err != nil {
			t.Errorf("step %d of the application was never run: %v", version, err)
		}
	}
	object := applock.Object{Type: "customer", ID: "42"}
	if _, err := client.Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}}); err != nil {
		t.Errorf("get: %v", err)
	}
	if done, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil || len(done.Steps) != 0 {
		t.Errorf("migrate up again: %v, %v, want nothing to do", done, err)
	}
}

// Goal: applock and an application that migrates the same database with goose do not see each other's steps. Method: both
// orders on every dialect that goose knows, with small version numbers and with timestamps. Db2 is none of them: what
// migrates there has a store of its own, and its table's name.
func TestHeavyBesideAGooseApplication(t *testing.T) {
	t.Parallel()
	shops := map[string]func(t *testing.T) shop{
		"sqlite": func(t *testing.T) shop {
			t.Helper()
			path := filepath.Join(t.TempDir(), "shop.db")
			handle, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = handle.Close() })
			return shop{goose.DialectSQLite3, handle, "sqlite:" + path}
		},
		"postgres": func(t *testing.T) shop {
			t.Helper()
			dsn := testdb.Postgres(t)
			config, err := pgx.ParseConfig(dsn)
			if err != nil {
				t.Fatal(err)
			}
			handle := stdlib.OpenDB(*config)
			t.Cleanup(func() { _ = handle.Close() })
			return shop{goose.DialectPostgres, handle, dsn}
		},
	}
	for _, product := range testdb.MySQLProducts() {
		shops[product] = func(t *testing.T) shop {
			t.Helper()
			dsn := testdb.MySQL(t, product)
			return shop{goose.DialectMySQL, testdb.OpenMySQL(t, dsn, nil), dsn}
		}
	}
	for name, open := range shops {
		for kind, versions := range map[string][]int64{
			"Numbers":    {1, 2, 3, 4},
			"Timestamps": {20260101000000, 20260201000000, 20260301000000, 20260401000000},
		} {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				t.Run("ApplicationFirst", func(t *testing.T) {
					t.Parallel()
					shop := open(t)
					client := testclient.Open(t, shop.dsn, "", nil)
					shop.migrate(t, versions[:2]...)
					install(t, client)
					shop.migrate(t, versions...)
					shop.require(t, client, versions...)
				})
				t.Run("ApplockFirst", func(t *testing.T) {
					t.Parallel()
					shop := open(t)
					client := testclient.Open(t, shop.dsn, "", nil)
					install(t, client)
					shop.migrate(t, versions...)
					shop.require(t, client, versions...)
					if _, err := migrate.Uninstall(t.Context(), client, migrate.UninstallRequest{Force: true}); err != nil {
						t.Fatal(err)
					}
					later := versions[len(versions)-1] + 1
					shop.migrate(t, append(slices.Clone(versions), later)...)
					install(t, client)
					shop.require(t, client, append(slices.Clone(versions), later)...)
				})
			})
		}
	}
}

func install(t *testing.T, client *applock.Client) {
	t.Helper()
	done, err := migrate.Up(t.Context(), client, migrate.UpRequest{})
	if err != nil || len(done.Steps) == 0 {
		t.Fatalf("migrate up: %v, %v", done, err)
	}
}
