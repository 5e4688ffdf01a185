//go:build db2

package db2_test

import (
	"database/sql"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/scenario"
	"github.com/applock/applock/internal/testing/drda"
	"github.com/applock/applock/internal/testing/testclient"
)

// got returns the answer to a get of an object of the type t.
func got(t *testing.T, driver db.Driver, operator, id string) db.Result {
	t.Helper()
	result, err := driver.GetApplLock(t.Context(), db.GetApplLockParams{ObjectType: "t", ObjectID: id, OperatorID: operator})
	if err != nil {
		t.Fatalf("get of %.20s: %v", id, err)
	}
	return result
}

// Goal: texts arrive whole, of 255 characters that take one to four bytes, and timestamps to the microsecond; what is absent is absent.
// Method: an object, a note and a department with all of them; rows at given microseconds; OUT parameters, too.
func valuesOverDRDA(t *testing.T, server *drda.Server) {
	t.Helper()
	pool := openDRDA(t, server.DSN("database"))
	client := testclient.DB2(t, pool)
	id, note := strings.Repeat("aé€😀", 63)+"日本語", strings.Repeat("ß", 254)+"'"
	object := applock.Object{Type: strings.Repeat("ü", 64), ID: id}
	owner := applock.Owner{Operator: strings.Repeat("ø", 127), Department: strings.Repeat("Ж", 64)}
	grant, err := client.Get(t.Context(), applock.GetRequest{Object: object, Owner: owner})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Note(t.Context(), grant.Key(), note); err != nil {
		t.Fatal(err)
	}
	const acquired, expires = 1_795_287_976_225_805, 4_102_444_799_999_999
	if err := onEachTable(t.Context(), pool, "UPDATE appl_lock SET acquired_ts = 1795287976225805, expires_ts = 4102444799999999"); err != nil {
		t.Fatal(err)
	}
	lock, err := client.Inquire(t.Context(), object)
	if err != nil || lock.Object != object || lock.Owner != owner || lock.Note != note || lock.Fence != grant.Fence ||
		lock.AcquiredAt.UnixMicro() != acquired || lock.ExpiresAt.UnixMicro() != expires {
		t.Errorf("inquired %+v, %v", lock, err)
	}
	pages := 0
	for listed, err := range client.List(t.Context(), applock.ListRequest{}) {
		if pages++; err != nil || listed.Object != object || listed.Note != note || listed.ExpiresAt.UnixMicro() != expires {
			t.Errorf("listed %+v, %v", listed, err)
		}
	}
	if pages != 1 {
		t.Errorf("%d locks are listed", pages)
	}
	answer, err := callExecutor(pool, drdaSchema)(t.Context(), "inquire", scenario.Args{"object_type": object.Type, "object_id": object.ID})
	if err != nil || answer.Values["note"] != note || !strings.Contains(answer.Values["expires_ts"], ".999999") {
		t.Errorf("OUT parameters %v, %v", answer, err)
	}
	none, err := clients.Driver(client).InquireApplLock(t.Context(), db.InquireApplLockParams{ObjectType: "t", ObjectID: "free"})
	if want := (db.InquireApplLockResult{OkFL: db.No}); err != nil || none != want {
		t.Errorf("nothing is %+v, %v", none, err)
	}
}

// Goal: the client tells each error with the codes and texts by which the driver knows it. Method: mistakes that the server answers as Db2
// does, by a call, in a transaction, and at a login.
func errorsOverDRDA(t *testing.T, server *drda.Server) {
	t.Helper()
	pool := openDRDA(t, server.DSN("database"))
	client := testclient.DB2(t, pool)
	driver := clients.Driver(client)
	opened := func(dsn string) db.Driver { return clients.Driver(testclient.DB2(t, openDRDA(t, dsn))) }
	version := func(driver db.Driver) error {
		_, err := driver.ApplLockVersion(t.Context())
		return err
	}
	for name, test := range map[string]struct {
		err  error
		kind db.Kind
		text string
	}{
		"Invalid": {errorOf(driver.GetApplLock(t.Context(), db.GetApplLockParams{ObjectType: "a:b", ObjectID: "1", OperatorID: "o"})),
			db.KindInvalid, "p_object_type must not contain a colon"},
		"Assertion": {driver.AssertApplLock(t.Context(), db.AssertApplLockParams{ObjectType: "t", ObjectID: "nobody's", OperatorID: "o", Fence: 1}),
			db.KindAssertion, "nobody's is free"},
		"NoRoutine":  {version(clients.Driver(testclient.DB2In(t, pool, "elsewhere"))), db.KindSchema, "SQL0440N"},
		"NoView":     {errorOf(driver.ApplLockStats(t.Context(), db.ApplLockStatsParams{})), db.KindSchema, "SQL0204N"},
		"Busy":       {crossing(t, pool, "busy", false), db.KindBusy, `Reason code "68"`},
		"Deadlock":   {crossing(t, pool, "deadlock", true), db.KindRetry, `Reason code "2"`},
		"Password":   {version(opened(server.DSNWith("database", "s3cretWord"))), db.KindAuthentication, "SQL30082N"},
		"NoDatabase": {version(opened(server.DSN("none"))), db.KindNoDatabase, "SQL30061N"},
	} {
		if db.KindOf(test.err) != test.kind || !strings.Contains(test.err.Error(), test.text) || strings.Contains(test.err.Error(), "s3cretWord") {
			t.Errorf("%s: %v of kind %d, want %q and kind %d", name, test.err, db.KindOf(test.err), test.text, test.kind)
		}
	}
	err := client.Assert(t.Context(), applock.Key{Object: applock.Object{Type: "t", ID: "nobody's"}, Operator: "o", Fence: 1})
	if !errors.Is(err, applock.ErrLost) || !errors.Is(err, applock.ErrNotHeld) {
		t.Errorf("error = %v, want that the lock is lost", err)
	}
	if stats := pool.Stats(); stats.InUse != 0 {
		t.Errorf("%d connections are still in use", stats.InUse)
	}
}

// crossing returns the error of a call on an object that a transaction has changed. In a crossing of two the other transaction waits for an
// object of the call's own.
func crossing(t *testing.T, pool *sql.DB, name string, isCrossed bool) error {
	t.Helper()
	outside := clients.Driver(testclient.DB2(t, pool))
	first, second := begin(t, pool), begin(t, pool)
	defer func() { _, _ = first.Rollback(), second.Rollback() }() // one of them is over
	got(t, outside.WithSQLTx(first), "o", name+"1")
	got(t, outside.WithSQLTx(second), "o", name+"2")
	other := make(chan error, 1)
	if isCrossed {
		go func() {
			_, err := outside.WithSQLTx(second).GetApplLock(t.Context(), db.GetApplLockParams{ObjectType: "t", ObjectID: name + "1", OperatorID: "o"})
			other <- err
		}()
	} else {
		other <- nil
	}
	_, err := outside.WithSQLTx(first).GetApplLock(t.Context(), db.GetApplLockParams{ObjectType: "t", ObjectID: name + "2", OperatorID: "o"})
	if err == nil {
		_ = first.Rollback() // the other one was chosen, or it goes on now
	}
	return errors.Join(<-other, err)
}

// Goal: what is done in one transaction is there as a whole or not at all, and several objects are got together or not at all. Method: a
// table beside the locks, and an object that another operator holds.
func transactionsOverDRDA(t *testing.T, server *drda.Server) {
	t.Helper()
	pool := openDRDA(t, server.DSN("database"))
	client := testclient.DB2(t, pool)
	if err := onEachTable(t.Context(), pool, "CREATE TABLE done (operator_id VARCHAR(255) NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	objects := []applock.Object{{Type: "t", ID: "first"}, {Type: "t", ID: "second"}}
	for _, want := range []error{refused, nil} {
		err := client.InSQLTx(t.Context(), func(tx *sql.Tx, locks *applock.Client) error {
			_, err := locks.Get(t.Context(), applock.GetRequest{Object: objects[0], Owner: applock.Owner{Operator: "JDOE"}})
			_, doneErr := tx.ExecContext(t.Context(), "INSERT INTO done VALUES (?)", "JDOE")
			return errors.Join(err, doneErr, want)
		})
		if !errors.Is(err, want) {
			t.Errorf("error = %v, want %v", err, want)
		}
		_, held := client.Inquire(t.Context(), objects[0])
		if isDone := count(t, pool, "SELECT COUNT(*) FROM done"); errors.Is(held, applock.ErrNotHeld) != (want != nil) || (isDone == 0) != (want != nil) {
			t.Errorf("after %v: %v, %d rows", want, held, isDone)
		}
	}
	request := applock.AcquireAllRequest{Objects: objects, Owner: applock.Owner{Operator: "KIM"}, MaxHold: time.Hour}
	if _, err := client.TryAcquireAll(t.Context(), request); !errors.Is(err, applock.ErrHeld) {
		t.Errorf("one of two is held: %v", err)
	}
	if _, err := client.Inquire(t.Context(), objects[1]); !errors.Is(err, applock.ErrNotHeld) {
		t.Errorf("the other one: %v", err)
	}
	if _, err := client.Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: objects[0], Operator: "JDOE"}}); err != nil {
		t.Fatal(err)
	}
	set, err := client.TryAcquireAll(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

func errorOf[T any](_ T, err error) error { return err }

func count(t *testing.T, pool *sql.DB, query string) (number int) {
	t.Helper()
	if err := pool.QueryRowContext(t.Context(), query).Scan(&number); err != nil {
		t.Error(err)
	}
	return number
}

// Goal: one lock that another transaction has changed costs its own answer, and not those of the others. Method: more grants than fit into
// one call.
func renewalsOverDRDA(t *testing.T, server *drda.Server) {
	t.Helper()
	pool := openDRDA(t, server.DSN("database"))
	driver := clients.Driver(testclient.DB2(t, pool))
	var grants []db.RenewableGrant
	for i := range 40 {
		id := strings.Repeat("😀", 240) + string(rune('Ā'+i))
		grants = append(grants, db.RenewableGrant{ObjectType: "t", ObjectID: id, OperatorID: "o", Fence: got(t, driver, "o", id).Fence, TTLSeconds: 3600})
	}
	tx := begin(t, pool)
	got(t, driver.WithSQLTx(tx), "o", grants[35].ObjectID)
	renewed, err := driver.RenewApplLocks(t.Context(), db.RenewApplLocksParams{Grants: grants})
	if err != nil || len(renewed) != 39 {
		t.Errorf("%d are renewed, %v, want all but one", len(renewed), err)
	}
	for _, one := range renewed {
		if one.Outcome != db.Renewed || one.ObjectID == grants[35].ObjectID || one.SecondsLeft < 3600 {
			t.Errorf("renewed %+v", one)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
}

// Goal: of sixteen sessions that want an object at the same time one gets it, each time with a greater fence. Method: each has its own pool
// and operator, and the winner releases.
func sessionsOverDRDA(t *testing.T, server *drda.Server) {
	t.Helper()
	object := applock.Object{Type: "t", ID: "wanted"}
	var fences atomic.Int64
	rounds, ends := make([]chan struct{}, 16), make(chan error)
	for i := range rounds {
		rounds[i] = make(chan struct{})
		client := testclient.DB2(t, openDRDA(t, server.DSN("database")))
		owner := applock.Owner{Operator: "SESSION" + string(rune('A'+i))}
		go func() {
			for range rounds[i] {
				grant, err := client.Get(t.Context(), applock.GetRequest{Object: object, Owner: owner})
				if err == nil && fences.Swap(int64(grant.Fence)) >= int64(grant.Fence) {
					err = errors.New("the fence has not grown")
				}
				ends <- err
			}
		}()
	}
	for range 5 {
		for _, round := range rounds {
			round <- struct{}{}
		}
		var winners int
		for range rounds {
			switch err := <-ends; {
			case err == nil:
				winners++
			case !errors.Is(err, applock.ErrHeld):
				t.Error(err)
			}
		}
		client := testclient.DB2(t, openDRDA(t, server.DSN("database")))
		lock, err := client.Inquire(t.Context(), object)
		if err != nil || winners != 1 {
			t.Fatalf("%d winners, %v", winners, err)
		}
		if _, err := client.Release(t.Context(), applock.ReleaseRequest{Key: lock.Key()}); err != nil {
			t.Error(err)
		}
	}
	for _, round := range rounds {
		close(round)
	}
}
