package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	driver "github.com/go-sql-driver/mysql"
	"github.com/pressly/goose/v3"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

const upgraded = "get_appl_lock_row_core"

// upgradeOf returns a migration to a later version, in which one core has another text.
func upgradeOf(t *testing.T, routine string) (string, error) {
	t.Helper()
	later := edit(t, sources(t, mysqlFolder), "CREATE PROCEDURE "+routine+"(", "BEGIN\n", "BEGIN\n    -- A later version.\n")
	return migration(mysqlFolder, later, installing(t, mysqlFolder))
}

// Goal: an upgrade replaces a procedure only when its text has changed. Method: the migration for one
// changed core, for none, and for a changed procedure that users are granted.
func TestUpgradeReplacesOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	upgrade, err := upgradeOf(t, upgraded)
	if err != nil {
		t.Fatal(err)
	}
	up, down, _ := strings.Cut(upgrade, "-- +goose Down\n")
	for direction, text := range map[string]string{"up": up, "down": down} {
		if created := namesIn(text); !slices.Equal(created, []string{upgraded}) {
			t.Errorf("%s creates %v, want %s alone", direction, created, upgraded)
		}
		if later := strings.Contains(text, "A later version."); later != (direction == "up") {
			t.Errorf("%s: the later text is there: %t", direction, later)
		}
	}
	for _, granted := range []string{"get_appl_lock", "get_appl_lock_row"} {
		if _, err := upgradeOf(t, granted); err == nil || !strings.Contains(err.Error(), granted+" is installed with another text") {
			t.Errorf("a changed %s: %v, want an error: its grants would be lost", granted, err)
		}
	}
}

// Goal: while upgrades replace cores, callers through the façade notice nothing, callers of the bare
// procedures meet LK003 at worst, and grants survive. Method: eight of each get and release all the time, on
// both products, while plain goose upgrades eight times from the first version to the newest and on to a later
// one, and takes it all back.
func TestHeavyUpgradeUnderLoad(t *testing.T) {
	t.Parallel()
	testdb.EachProduct(t, testdb.MySQLProducts(), func(t *testing.T, product string) {
		dsn := testdb.MySQL(t, product)
		handle := testdb.OpenMySQL(t, dsn, nil)
		client := testclient.MySQL(t, handle)
		if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
			t.Fatal(err)
		}
		grantee := newGrantee(t, dsn, handle, "get_appl_lock_row")
		load := startLoad(t, client, handle)
		defer load.stop()
		migrateRepeatedly(t, handle)
		load.stop()
		if _, err := grantee.ExecContext(t.Context(), "CALL get_appl_lock_row('customer', '1', 'GRANTEE', '', 60, NULL)"); err != nil {
			t.Errorf("a user with grants after the upgrade: %v", err)
		}
		t.Logf("%d calls through the façade, %d bare ones, %d of those met LK003", load.facade.Load(), load.bare.Load(), load.replaced.Load())
		if load.facade.Load() == 0 || load.bare.Load() == 0 {
			t.Error("there was no load")
		}
	})
}

// migrateRepeatedly goes with plain goose from the first version to one after the newest and back, many times.
func migrateRepeatedly(t *testing.T, handle *sql.DB) {
	t.Helper()
	upgrade, err := upgradeOf(t, upgraded)
	if err != nil {
		t.Fatal(err)
	}
	files := MigrationsOf(t, mysqlFolder)
	newest, err := goose.NumericComponent(slices.Max(slices.Collect(maps.Keys(files))))
	if err != nil {
		t.Fatal(err)
	}
	files[fmt.Sprintf("%05d_procedures.sql", newest+1)] = &fstest.MapFile{Data: []byte(upgrade)}
	provider, err := goose.NewProvider(goose.DialectMySQL, handle, files, goose.WithTableName("appl_lock_goose"))
	if err != nil {
		t.Fatal(err)
	}
	for range 8 {
		if _, err := provider.Up(t.Context()); err != nil {
			t.Fatal(err)
		}
		undone, err := provider.DownTo(t.Context(), firstVersion)
		if err != nil || len(undone) != len(files)-firstVersion {
			t.Fatalf("undone: %v, %v, want %d migrations", undone, err, len(files)-firstVersion)
		}
	}
	if _, err := provider.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// load is callers that go on until they are stopped.
type load struct {
	facade, bare, replaced atomic.Int64
	stop                   func()
}

func startLoad(t *testing.T, client *applock.Client, handle *sql.DB) *load {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	l := &load{stop: func() { cancel(); callers.Wait() }}
	for i := range 8 {
		callers.Go(func() {
			operator := fmt.Sprintf("FACADE%d", i)
			object := applock.Object{Type: "load", ID: operator}
			for ctx.Err() == nil {
				l.facade.Add(1)
				_, err := client.Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: operator}})
				if err == nil {
					_, err = client.Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: operator}})
				}
				if err != nil {
					t.Errorf("through the façade: %v", err)
					return
				}
			}
		})
		callers.Go(func() {
			for ctx.Err() == nil {
				l.bare.Add(1)
				_, err := handle.ExecContext(t.Context(), "CALL get_appl_lock_row('load', ?, 'BARE', '', 60, NULL)", fmt.Sprint("bare", i))
				var answer *driver.MySQLError
				if errors.As(err, &answer) && string(answer.SQLState[:]) == "LK003" {
					l.replaced.Add(1)
				} else if err != nil {
					t.Errorf("bare call: %v", err)
					return
				}
			}
		})
	}
	return l
}

// newGrantee returns a pool of a user who may call these routines and nothing else.
func newGrantee(t *testing.T, dsn string, handle *sql.DB, routines ...string) *sql.DB {
	t.Helper()
	const password = "gr4ntee"
	var name string
	return testdb.OpenMySQL(t, dsn, func(config *driver.Config) {
		name = "grantee" + strings.TrimPrefix(config.DBName, "applock_test")
		execute(t, handle, "CREATE USER "+name+" IDENTIFIED BY '"+password+"'")
		for _, routine := range routines {
			execute(t, handle, "GRANT EXECUTE ON PROCEDURE "+routine+" TO "+name)
		}
		t.Cleanup(func() {
			if _, err := handle.ExecContext(context.Background(), "DROP USER "+name); err != nil {
				t.Error(err)
			}
		})
		config.User, config.Passwd = name, password
	})
}
