// Package applocktest is a database of locks in memory, for tests of programs that use package applock:
//
//	locks := applocktest.New(t)
//	grant, err := locks.Client.Get(ctx, applock.GetRequest{...})
//	locks.Advance(8 * 24 * time.Hour) // it has expired
//
// It is no mock: it is applock on SQLite, and passes the scenarios of the contract.
package applocktest

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/sqlite"
)

// Locks is a separate database, which is closed when its test ends. It is safe for concurrent use.
type Locks struct {
	// Client uses the database. The test may close it earlier.
	Client *applock.Client

	t      testing.TB
	handle *sql.DB
}

// New creates a database without locks. An error fails the test.
func New(t testing.TB) *Locks {
	t.Helper()
	name := strings.NewReplacer("/", "-", "?", "-", "#", "-", "%", "-").Replace(t.Name())
	handle, err := sql.Open("sqlite", fmt.Sprintf("file:/%s-%d?vfs=memdb&_pragma=busy_timeout(50)&_txlock=immediate", name, time.Now().UnixNano()))
	if err != nil {
		t.Fatal(err)
	}
	kept, err := handle.Conn(t.Context()) // a connection must stay open, or SQLite drops the database
	if err != nil {
		t.Fatal(err)
	}
	client, err := sqlite.New(handle, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		_ = kept.Close()
		_ = handle.Close()
	})
	if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	return &Locks{Client: client, t: t, handle: handle}
}

// Advance sets the database's clock forward: a lock of an hour has expired after Advance(time.Hour). A negative duration sets the clock
// back. It does not affect the program's timers, so leases are still renewed in real time.
func (l *Locks) Advance(duration time.Duration) {
	l.t.Helper()
	time.Sleep(2 * time.Millisecond) // SQLite's clock counts milliseconds, and a later grant needs a later time
	_, err := l.handle.ExecContext(l.t.Context(), `BEGIN IMMEDIATE;
		UPDATE appl_lock SET acquired_ts = acquired_ts - ?1, lock_ts = lock_ts - ?1, expires_ts = expires_ts - ?1, released_ts = released_ts - ?1;
		UPDATE appl_lock_waiter SET since_ts = since_ts - ?1, until_ts = until_ts - ?1, expires_ts = expires_ts - ?1;
		UPDATE appl_lock_ask SET since_ts = since_ts - ?1, until_ts = until_ts - ?1, expires_ts = expires_ts - ?1,
			shown_ts = shown_ts - ?1, answered_ts = answered_ts - ?1, edited_ts = edited_ts - ?1;
		UPDATE appl_lock_viewer SET since_ts = since_ts - ?1, seen_ts = seen_ts - ?1, expires_ts = expires_ts - ?1;
		UPDATE appl_lock_event SET event_ts = event_ts - ?1;
		COMMIT`,
		duration.Microseconds())
	if err != nil {
		l.t.Fatal(err)
	}
}
