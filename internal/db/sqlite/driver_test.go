package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testclient"
)

// The contract, through the façade. SQLite has no procedures to call.
func TestContract(t *testing.T) {
	t.Parallel()
	contract.Exercise(t, backend())
}

func TestHeavyContract(t *testing.T) {
	t.Parallel()
	contract.ExerciseLong(t, backend())
}

func backend() contract.Backend {
	return contract.Backend{New: newPlace, Empty: newFile, Ways: []string{"facade"}, OneWriter: true}
}

func newPlace(t testing.TB) contract.Place {
	t.Helper()
	path := filepath.Join(t.TempDir(), "applock.db")
	handle, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = handle.Close() })
	client, err := open.ByDSN(t.Context(), "sqlite:"+path, open.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	return contract.Place{
		Client: client,
		Driver: clients.Driver(testclient.SQLite(t, handle)),
		DSN:    "sqlite:" + path,
		SQL:    handle,
		Table:  "appl_lock",
		Advance: func(ctx context.Context, duration time.Duration) error {
			// Fences do not move: they come to lie in the past as time passes, which SQLite counts in milliseconds.
			time.Sleep(2 * time.Millisecond)
			_, err := handle.ExecContext(ctx, `
				UPDATE appl_lock SET acquired_ts = acquired_ts - ?1, lock_ts = lock_ts - ?1, expires_ts = expires_ts - ?1, released_ts = released_ts - ?1;
				UPDATE appl_lock_waiter SET since_ts = since_ts - ?1, until_ts = until_ts - ?1, expires_ts = expires_ts - ?1;
				UPDATE appl_lock_viewer SET since_ts = since_ts - ?1, seen_ts = seen_ts - ?1, expires_ts = expires_ts - ?1;
				UPDATE appl_lock_ask SET since_ts = since_ts - ?1, until_ts = until_ts - ?1, expires_ts = expires_ts - ?1,
					shown_ts = shown_ts - ?1, answered_ts = answered_ts - ?1, edited_ts = edited_ts - ?1;
				UPDATE appl_lock_event SET event_ts = event_ts - ?1`,
				duration.Microseconds())
			return err
		},
	}
}

func newFile(t testing.TB) func() *applock.Client {
	t.Helper()
	path := filepath.Join(t.TempDir(), "new.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return testclient.Opener(t, "sqlite:"+path)
}

// Goal: only migrate.Up creates the file; everything else says that it is not there. Method: a look for the file after
// reading, changing, and asking what is applied.
func TestOnlyUpCreatesTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new.db")
	client, err := open.ByDSN(t.Context(), "sqlite:"+path, open.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	object := applock.Object{Type: "customer", ID: "42"}
	get := func() error {
		_, err := client.Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}})
		return err
	}
	_, inquireErr := client.Inquire(t.Context(), object)
	_, statusErr := migrate.Status(t.Context(), client)
	_, downErr := migrate.Down(t.Context(), client, migrate.DownRequest{})
	for _, err := range []error{get(), inquireErr, statusErr, downErr} {
		if !errors.Is(err, applock.ErrSchema) || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("without the file: %v", err)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the file was made: %v", err)
	}
	if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	if err := get(); err != nil {
		t.Errorf("with the file: %v", err)
	}
}

// Goal: the number of an event never falls, though SQLite's own sequence and the old events are lost. Method: each loss, then an event.
func TestEventNumbersNeverFall(t *testing.T) {
	t.Parallel()
	handle, driver := plainDriver(t, "")
	var before int64
	for _, loss := range []string{
		"SELECT 1", "DELETE FROM sqlite_sequence", "DELETE FROM appl_lock_event; DELETE FROM sqlite_sequence",
		"UPDATE appl_lock_event SET event_id = event_id + 3600000000; DELETE FROM sqlite_sequence", "SELECT 1",
	} {
		if _, err := handle.ExecContext(t.Context(), loss); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(loss, "UPDATE") {
			before += 3600000000
		}
		time.Sleep(2 * time.Millisecond) // SQLite's clock counts milliseconds
		_, err := driver.SetApplLockPolicy(t.Context(), db.SetApplLockPolicyParams{ObjectType: "customer", TakeReasonFL: "N", HistoryLevel: "CHANGES", PresenceFL: "N", ActorID: "BOSS"})
		if err != nil {
			t.Fatal(err)
		}
		var number int64
		if err := handle.QueryRowContext(t.Context(), "SELECT max(event_id) FROM appl_lock_event").Scan(&number); err != nil {
			t.Fatal(err)
		}
		if number <= before {
			t.Errorf("after %s: event %d after %d", loss, number, before)
		}
		before = number
	}
}
