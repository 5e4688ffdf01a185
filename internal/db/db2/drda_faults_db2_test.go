//go:build db2

package db2_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/db2"
	"github.com/applock/applock/internal/testing/drda"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/wire"
)

// Goal: the pool that Open makes is limited, a connection is used again, and one that is closed hangs up.
func poolOverDRDA(t *testing.T, server *drda.Server) {
	t.Helper()
	cable, dsn := wire.Through(t, server.DSN("database"))
	pool := openDRDA(t, dsn)
	if limit := pool.Stats().MaxOpenConnections; limit != db2.MaxConnections {
		t.Errorf("limit of %d connections, want %d", limit, db2.MaxConnections)
	}
	for range 3 {
		got(t, clients.Driver(testclient.DB2(t, pool)), "o", "pool")
	}
	if cable.Open() != 1 {
		t.Errorf("%d connections, want one", cable.Open())
	}
	_ = pool.Close()
	until(t, "all have hung up", func() bool { return cable.Open() == 0 })
}

// Goal: a statement whose answer was lost is not repeated behind our back, and the pool recovers. Method: a wire that delivers a statement
// after it has cut the client off.
func lostStatement(t *testing.T, server *drda.Server) {
	t.Helper()
	cable, dsn := wire.Through(t, server.DSN("database"))
	pool, direct := openDRDA(t, dsn), openDRDA(t, server.DSN("database"))
	if err := onEachTable(t.Context(), pool, "CREATE TABLE lost (x INTEGER)", "INSERT INTO lost VALUES (0)"); err != nil {
		t.Fatal(err)
	}
	cable.Strand(func(piece []byte) (time.Duration, bool) { return 0, strings.Contains(string(piece), "SET x = x + 1") })
	_, err := pool.ExecContext(t.Context(), "UPDATE lost SET x = x + 1")
	if diagnosis, found := db2.AnswerOf(err); !found || diagnosis.State != "40003" && diagnosis.State != "08001" || diagnosis.Code != -30081 {
		t.Errorf("diagnosed %t %+v of %v", found, diagnosis, err)
	}
	if db.KindOf(db2.InterpretError(err)) != db.KindInFlight {
		t.Errorf("error = %v, want an unknown outcome", err)
	}
	own := openDRDA(t, dsn)
	driver := clients.Driver(testclient.DB2(t, own))
	got(t, driver, "o", "lost")
	cable.Strand(func(piece []byte) (time.Duration, bool) { return 0, strings.Contains(string(piece), "lost") })
	_, err = driver.GetApplLock(t.Context(), db.GetApplLockParams{ObjectType: "t", ObjectID: "lost", OperatorID: "o"})
	if open := own.Stats().OpenConnections; db.KindOf(err) != db.KindInFlight || open != 0 {
		t.Errorf("error = %v, %d connections are in the pool, want none", err, open)
	}
	cable.Strand(nil)
	if err := onEachTable(t.Context(), pool, "UPDATE lost SET x = x + 10"); err != nil {
		t.Errorf("the next statement: %v", err)
	}
	if x := count(t, direct, "SELECT x FROM lost"); x != 11 || cable.Stranded.Load() != 2 {
		t.Errorf("x is %d after %d lost statements: want 11", x, cable.Stranded.Load())
	}
}

// Goal: a connection whose transaction could not be ended rolls it back, is closed, and not used again; so it is under autocommit. Method: a
// server whose log is full at a commit.
func failedCommit(t *testing.T, server *drda.Server) {
	t.Helper()
	pool := openDRDA(t, server.DSN("database"))
	got(t, clients.Driver(testclient.DB2(t, pool)), "o", "commit")
	const statement = "UPDATE appl_lock SET note = 'changed' WHERE object_id = 'commit' -- the log is full"
	tx := begin(t, pool)
	if _, err := tx.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
	err := tx.Commit()
	if diagnosis, found := db2.AnswerOf(err); !found || diagnosis.Code != -964 {
		t.Errorf("diagnosed %t %+v of %v", found, diagnosis, err)
	}
	if open := pool.Stats().OpenConnections; open != 0 {
		t.Errorf("%d connections are in the pool, want none", open)
	}
	_, err = pool.ExecContext(t.Context(), statement)
	if diagnosis, found := db2.AnswerOf(err); !found || diagnosis.Code != -964 {
		t.Errorf("under autocommit: diagnosed %t %+v of %v", found, diagnosis, err)
	}
	_ = pool.Close()
	other := openDRDA(t, server.DSN("database")) // which would wait if the row were still locked
	if changed := count(t, other, "SELECT COUNT(*) FROM appl_lock WHERE note = 'changed'"); changed != 0 {
		t.Error("what could not be committed is there")
	}
}

// Goal: a call returns when its context ends, and nobody knows what became of it; in a transaction everybody does. The connection serves
// the next call when the server has answered. Method: a silent wire.
func endOfContext(t *testing.T, server *drda.Server) {
	t.Helper()
	cable, dsn := wire.Through(t, server.DSN("database"))
	pool := openDRDA(t, dsn)
	client := testclient.DB2(t, pool)
	request := applock.GetRequest{Object: applock.Object{Type: "t", ID: "context"}, Owner: applock.Owner{Operator: "JDOE"}}
	tx := begin(t, pool)
	got(t, clients.Driver(client), "JDOE", "context")
	for isUnknown, locks := range map[bool]*applock.Client{true: client, false: client.WithSQLTx(tx)} {
		cable.Silence()
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := locks.Get(ctx, request)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, applock.ErrOutcomeUnknown) != isUnknown {
			t.Errorf("error = %v, want an unknown outcome: %t", err, isUnknown)
		}
		cable.Speak()
		if isUnknown {
			until(t, "the call has ended", func() bool { return pool.Stats().InUse == 1 }) // the transaction's
		}
	}
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
	got(t, clients.Driver(client), "JDOE", "context")
	if cable.Open() > 2 {
		t.Errorf("%d connections, want the call's and the transaction's", cable.Open())
	}
}

// Goal: a connection that comes too late is closed. Method: a wire that carries the login after its context has ended.
func lateConnection(t *testing.T, server *drda.Server) {
	t.Helper()
	cable, dsn := wire.Through(t, server.DSN("database"))
	pool := openDRDA(t, dsn)
	fallen := cable.SilenceAfter(1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-fallen
		cancel()
	}()
	if err := pool.PingContext(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want that of the context", err)
	}
	if !db2.Connects() {
		t.Error("the client's attempt has ended already: then this test shows nothing")
	}
	cable.Speak()
	until(t, "the connection is closed, and no goroutine is left", func() bool { return cable.Open() == 0 && !db2.Connects() })
}

// Goal: dead connections leave the pool, a call says what is known of it, and after a restart the same pool serves, and the lock is there.
// Method: three connections in the pool; the server is killed and started.
func killedServer(t *testing.T, server *drda.Server) {
	t.Helper()
	pool := openDRDA(t, server.DSN("database"))
	driver := clients.Driver(testclient.DB2(t, pool))
	fence := got(t, driver, "JDOE", "kept").Fence
	for _, tx := range []*sql.Tx{begin(t, pool), begin(t, pool), begin(t, pool)} {
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
	}
	server.Kill()
	_, err := driver.GetApplLock(t.Context(), db.GetApplLockParams{ObjectType: "t", ObjectID: "kept", OperatorID: "JDOE"})
	if kind := db.KindOf(err); kind != db.KindUnreachable && kind != db.KindInFlight {
		t.Errorf("error = %v of kind %d", err, kind)
	}
	if open := pool.Stats().OpenConnections; open > 2 {
		t.Errorf("%d connections are in the pool, want one less than there were", open)
	}
	server.Resume(t)
	until(t, "the pool serves", func() bool {
		renewed, err := driver.GetApplLock(t.Context(), db.GetApplLockParams{ObjectType: "t", ObjectID: "kept", OperatorID: "JDOE"})
		return err == nil && renewed.Outcome == db.Renewed && renewed.Fence == fence
	})
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(db2.Patience); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, db2.Patience)
		}
	}
}
