package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sqlitemigrations "github.com/applock/applock/internal/migrate/sqlite"

	"github.com/pressly/goose/v3"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testclient"
)

func newHandle(t *testing.T) *sql.DB {
	t.Helper()
	handle, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "plain.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = handle.Close() })
	return handle
}

// Goal: plain goose installs everything from migrations/. Method: goose without our code, then a client on the same file.
func TestPlainGoose(t *testing.T) {
	t.Parallel()
	handle := newHandle(t)
	fsys := sqlitemigrations.Migrations()
	provider, err := goose.NewProvider(goose.DialectSQLite3, handle, fsys, goose.WithTableName("appl_lock_goose"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := provider.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	requireInstalled(t, handle)
}

// Goal: the printed script is the same as migrating. Method: run it as one batch of statements, without the line that is the
// shell's own; the client finds every step applied. docs/dba has the shell run it.
func TestScript(t *testing.T) {
	t.Parallel()
	handle := newHandle(t)
	script, err := migrate.Script(migrate.ScriptRequest{Dialect: "sqlite"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := handle.ExecContext(t.Context(), strings.Replace(script, "\n.bail on\n", "\n", 1)); err != nil {
		t.Fatal(err)
	}
	requireInstalled(t, handle)
	if _, err := migrate.Script(migrate.ScriptRequest{Dialect: "sqlite", Schema: "locks"}); !errors.Is(err, applock.ErrInvalid) {
		t.Errorf("script for a schema: %v, want ErrInvalid", err)
	}
}

func requireInstalled(t *testing.T, handle *sql.DB) {
	t.Helper()
	client := testclient.SQLite(t, handle)
	if done, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil || len(done.Steps) != 0 {
		t.Errorf("migrate up: %v, %v, want nothing to do", done, err)
	}
	_, err := client.Get(t.Context(), applock.GetRequest{
		Object: applock.Object{Type: "customer", ID: "42"},
		Owner:  applock.Owner{Operator: "JDOE"},
	})
	if err != nil {
		t.Error(err)
	}
}

// Goal: every change of the schema shows in review. Method: the catalogue against a golden file;
// APPLOCK_UPDATE_GOLDEN=1 (make golden) rewrites it.
func TestGoldenSchema(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	rows, err := place.SQL.QueryContext(t.Context(),
		"SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'goose%' AND name NOT LIKE 'sqlite%' ORDER BY name")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var got strings.Builder
	for rows.Next() {
		var statement string
		if err := rows.Scan(&statement); err != nil {
			t.Fatal(err)
		}
		got.WriteString(statement + ";\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	contract.Golden(t, "../../../testdata/schema/sqlite.golden", got.String())
}

// Goal: a refusal waits for nobody and writes nothing, even while another transaction is writing to the
// file. Method: an open write transaction, and a get, release and transfer that are refused.
func TestRefusalDoesNotWait(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	ctx := t.Context()
	object := applock.Object{Type: "customer", ID: "1"}
	if _, err := place.Client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}}); err != nil {
		t.Fatal(err)
	}
	tx, err := place.SQL.BeginTx(context.WithoutCancel(ctx), nil) // immediate: it is the writer now
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := place.Client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "ASMITH"}}); !errors.Is(err, applock.ErrHeld) {
		t.Errorf("get: %v, want ErrHeld", err)
	}
	if _, err := place.Client.Release(ctx, applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: "ASMITH"}}); !errors.Is(err, applock.ErrHeld) {
		t.Errorf("release: %v, want ErrHeld", err)
	}
	transfer := applock.TransferRequest{Object: object, From: "ASMITH", To: applock.Owner{Operator: "BROWN"}}
	if _, err := place.Client.Transfer(ctx, transfer); !errors.Is(err, applock.ErrHeld) {
		t.Errorf("transfer: %v, want ErrHeld", err)
	}
	if _, err := place.Client.Inquire(ctx, object); err != nil {
		t.Errorf("inquire: %v", err)
	}
}

// Goal: the wait for another writer of the file ends with the context, and nothing is unknown then.
// Method: an open write transaction; a get whose context ends at moments spread over the driver's wait.
func TestWaitEndsWithContext(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	tx, err := place.SQL.BeginTx(context.WithoutCancel(t.Context()), nil) // immediate: it is the writer now
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	client, err := open.ByDSN(t.Context(), place.DSN, open.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	request := applock.GetRequest{Object: applock.Object{Type: "customer", ID: "1"}, Owner: applock.Owner{Operator: "JDOE"}}
	for wait := 20 * time.Millisecond; wait < 200*time.Millisecond; wait += 7 * time.Millisecond {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		_, err := client.Get(ctx, request)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, applock.ErrOutcomeUnknown) {
			t.Errorf("after %s: %v, want context.DeadlineExceeded and no unknown outcome", wait, err)
		}
	}
}

// Goal: status tells a view that is missing or has another text, and repair puts it back. Method: both, and what the view shows then.
func TestViewsAreMended(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	for _, damage := range []string{
		"DROP VIEW appl_lock_live",
		"DROP VIEW appl_lock_waiting; CREATE VIEW appl_lock_waiting AS SELECT 1 AS object_type",
		"DROP VIEW appl_lock_history; CREATE VIEW appl_lock_history AS SELECT * FROM appl_lock_event WHERE event <> 'TAKEN'",
	} {
		execute(t, place.SQL, damage)
		status, err := migrate.Status(t.Context(), place.Client)
		if err != nil || len(status.Findings) == 0 || status.Findings[0].Part != migrate.PartViews {
			t.Errorf("%s: status finds %+v, %v", damage, status.Findings, err)
		}
		repaired, err := migrate.Repair(t.Context(), place.Client, migrate.RepairRequest{})
		if err != nil || len(repaired.Repaired) == 0 || len(repaired.Left) != 0 {
			t.Errorf("%s: repair: %+v, %v", damage, repaired, err)
		}
		status, err = migrate.Status(t.Context(), place.Client)
		if err != nil || len(status.Findings) != 0 {
			t.Errorf("%s: after the repair status finds %+v, %v", damage, status.Findings, err)
		}
	}
}
