package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"

	driver "github.com/go-sql-driver/mysql"
	"github.com/pressly/goose/v3"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testdb"
	"github.com/applock/applock/migrations"
	"github.com/applock/applock/procedures"
)

const (
	released = "mysql/00002_procedures.sql"
	upgraded = "get_appl_lock_core"
)

// upgradeOf returns a migration to a later version, in which one core has another text.
func upgradeOf(t *testing.T, routine string) (string, error) {
	t.Helper()
	names, err := fs.Glob(procedures.FS, "mysql/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	texts, err := readAll(procedures.FS, names)
	if err != nil {
		t.Fatal(err)
	}
	changed := 0
	for i, text := range texts {
		from := strings.Index(text, "CREATE PROCEDURE "+routine+"(")
		if from < 0 {
			continue
		}
		texts[i] = text[:from] + strings.Replace(text[from:], "BEGIN\n", "BEGIN\n    -- A later version.\n", 1)
		changed++
	}
	if changed != 1 {
		t.Fatalf("%d files create %s", changed, routine)
	}
	former, err := readAll(migrations.FS, []string{released})
	if err != nil {
		t.Fatal(err)
	}
	return render("mysql", texts, former)
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
		if created := create.FindAllStringSubmatch(text, -1); len(created) != 1 || created[0][1] != upgraded {
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

// Goal: while an upgrade replaces a core, callers through the façade notice nothing, callers of the bare
// procedures meet LK003 at worst, and grants survive. Method: eight of each get and release all the time, on
// both products, while plain goose applies the upgrade and takes it back twenty times.
func TestUpgradeUnderLoad(t *testing.T) {
	t.Parallel()
	for _, product := range testdb.MySQLProducts() {
		t.Run(product, func(t *testing.T) {
			t.Parallel()
			dsn := testdb.MySQL(t, product)
			handle := testdb.OpenMySQL(t, dsn, nil)
			client := applock.NewMySQL(handle)
			if _, err := client.MigrateUp(t.Context()); err != nil {
				t.Fatal(err)
			}
			grantee := newGrantee(t, dsn, handle)
			load := startLoad(t, client, handle)
			defer load.stop()
			migrateRepeatedly(t, handle)
			load.stop()
			if _, err := grantee.ExecContext(t.Context(), "CALL get_appl_lock_row('customer', '1', 'GRANTEE', '', 60)"); err != nil {
				t.Errorf("a user with grants after the upgrade: %v", err)
			}
			t.Logf("%d calls through the façade, %d bare ones, %d of those met LK003", load.facade.Load(), load.bare.Load(), load.replaced.Load())
			if load.facade.Load() == 0 || load.bare.Load() == 0 {
				t.Error("there was no load")
			}
		})
	}
}

// migrateRepeatedly applies the upgrade with plain goose and takes it back, many times.
func migrateRepeatedly(t *testing.T, handle *sql.DB) {
	t.Helper()
	upgrade, err := upgradeOf(t, upgraded)
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{"00003_procedures.sql": {Data: []byte(upgrade)}}
	for _, name := range []string{"00001_appl_lock.sql", "00002_procedures.sql"} {
		text, err := migrations.FS.ReadFile("mysql/" + name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = &fstest.MapFile{Data: text}
	}
	provider, err := goose.NewProvider(goose.DialectMySQL, handle, files)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if done, err := provider.Up(t.Context()); err != nil || len(done) != 1 {
			t.Fatalf("upgrade: %v, %v, want one migration", done, err)
		}
		if _, err := provider.Down(t.Context()); err != nil {
			t.Fatal(err)
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
					_, err = client.Release(t.Context(), applock.ReleaseRequest{Object: object, Operator: operator})
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
				_, err := handle.ExecContext(t.Context(), "CALL get_appl_lock_row('load', ?, 'BARE', '', 60)", fmt.Sprint("bare", i))
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

// newGrantee returns a pool of a user who may get and nothing else.
func newGrantee(t *testing.T, dsn string, handle *sql.DB) *sql.DB {
	t.Helper()
	const password = "gr4ntee"
	var name string
	return testdb.OpenMySQL(t, dsn, func(config *driver.Config) {
		name = "grantee" + strings.TrimPrefix(config.DBName, "applock_test")
		for _, statement := range []string{
			"CREATE USER " + name + " IDENTIFIED BY '" + password + "'",
			"GRANT EXECUTE ON PROCEDURE get_appl_lock_row TO " + name,
		} {
			if _, err := handle.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() {
			if _, err := handle.ExecContext(context.Background(), "DROP USER "+name); err != nil {
				t.Error(err)
			}
		})
		config.User, config.Passwd = name, password
	})
}
