package postgres_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/internal/testing/testclient"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testdb"
)

const (
	announceCall = "CALL applock.announce_appl_lock_waiter('customer', $1, $2, 'CS', 'p1', 600)"
	retractCall  = "CALL applock.retract_appl_lock_waiter('customer', $1, $2, 'p1')"
	pollCall     = "SELECT * FROM applock.poll_appl_locks('p1', NULL)"
)

// messageLimit bounds the wait for a message that should be on its way.
const messageLimit = 20 * time.Second

// listening returns a connection that listens to a channel with plain SQL.
func listening(t *testing.T, dsn, channel string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	if _, err := conn.Exec(t.Context(), "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		t.Fatal(err)
	}
	return conn
}

// requireMessages requires exactly these messages, in this order. It sends a last one, which comes after all that are on their way.
func requireMessages(t *testing.T, pool *pgxpool.Pool, conn *pgx.Conn, channel string, want ...string) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), "SELECT pg_notify($1, 'last')", channel); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), messageLimit)
	defer cancel()
	var got []string
	for {
		notification, err := conn.WaitForNotification(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if notification.Payload == "last" {
			break
		}
		got = append(got, notification.Payload)
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("messages %q, want %q", got, want)
	}
}

func call(t *testing.T, pool *pgxpool.Pool, query string, args ...any) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

// Goal: a release sends a message if the object has a waiter, and only then: not for waiters of other objects, not for dead ones, not for
// those who have given up waiting, not for a release that releases nothing, and not for a pass, after which the object is not free. Method: a connection that listens.
func TestReleaseNotifiesWaitersOnly(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	dsn := place.DSN
	pool := newPool(t, dsn)
	conn := listening(t, dsn, "applock_appl_lock")

	call(t, pool, getCall, "1", "JDOE")
	call(t, pool, releaseCall, "1", "JDOE")
	requireMessages(t, pool, conn, "applock_appl_lock")

	call(t, pool, announceCall, "1", "ASMITH")
	call(t, pool, announceCall, "1", "BROWN")
	call(t, pool, releaseCall, "1", "JDOE") // free
	call(t, pool, getCall, "1", "JDOE")
	call(t, pool, getCall, "2", "JDOE")
	call(t, pool, releaseCall, "1", "ASMITH") // held by another
	call(t, pool, "CALL applock.ask_appl_lock('customer', '2', 'ASMITH', 'CS', 'p1', NULL, NULL)")
	call(t, pool, releaseCall, "2", "JDOE") // nobody waits: a request is no waiter
	requireMessages(t, pool, conn, "applock_appl_lock")
	driver := clients.Driver(testclient.Postgres(t, pool))
	held, err := driver.InquireApplLock(t.Context(), db.InquireApplLockParams{ObjectType: "customer", ObjectID: "1"})
	if err != nil {
		t.Fatal(err)
	}
	passed, err := contract.Pass(t.Context(), driver,
		db.ReleaseApplLockParams{ObjectType: "customer", ObjectID: "1", OperatorID: "JDOE", Fence: held.Lock.Fence},
		db.GetApplLockParams{ObjectType: "customer", ObjectID: "1", OperatorID: "CLARK"})
	if err != nil || passed.Next.Outcome != db.Acquired {
		t.Fatalf("pass: %+v, %v", passed, err)
	}
	requireMessages(t, pool, conn, "applock_appl_lock")
	call(t, pool, releaseCall, "1", "CLARK")
	requireMessages(t, pool, conn, "applock_appl_lock", ":p1", "customer:1")

	call(t, pool, getCall, "1", "JDOE")
	call(t, pool, retractCall, "1", "ASMITH")
	if err := place.Advance(t.Context(), 61*time.Second); err != nil {
		t.Fatal(err)
	}
	call(t, pool, releaseCall, "1", "JDOE") // BROWN is dead
	requireMessages(t, pool, conn, "applock_appl_lock")
}

// Goal: the message goes out when the release is committed, and never when it is rolled back. Method: a release in
// a transaction, and a connection that listens.
func TestReleaseNotifiesAtCommit(t *testing.T) {
	t.Parallel()
	dsn := testclient.InstalledPostgres(t)
	pool := newPool(t, dsn)
	conn := listening(t, dsn, "applock_appl_lock")
	call(t, pool, getCall, "1", "JDOE")
	call(t, pool, announceCall, "1", "ASMITH")
	inTx(t, pool, func(tx pgx.Tx) {
		execute(t, tx, releaseCall, "1", "JDOE")
		requireMessages(t, pool, conn, "applock_appl_lock")
	})
	requireMessages(t, pool, conn, "applock_appl_lock")
	inTx(t, pool, func(tx pgx.Tx) {
		execute(t, tx, releaseCall, "1", "JDOE")
		requireMessages(t, pool, conn, "applock_appl_lock")
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
	requireMessages(t, pool, conn, "applock_appl_lock", ":p1", "customer:1")
}

// Goal: a release names the client whose waiter has waited longest, with any names. Method: two clients whose waiters sort the other way
// round, the first of whom gives up.
func TestReleaseNamesTheFirstInLine(t *testing.T) {
	t.Parallel()
	dsn := testclient.InstalledPostgres(t)
	pool := newPool(t, dsn)
	conn := listening(t, dsn, "applock_appl_lock")
	const announce = "CALL applock.announce_appl_lock_waiter('customer', '1', $1, 'CS', $2, 600)"
	call(t, pool, getCall, "1", "JDOE")
	call(t, pool, announce, "ZOE", "p9")
	call(t, pool, announce, "ADAM", "p1")
	call(t, pool, announce, "ZOE", "p9") // once more changes nothing
	call(t, pool, releaseCall, "1", "JDOE")
	requireMessages(t, pool, conn, "applock_appl_lock", ":p9", "customer:1")
	call(t, pool, "CALL applock.retract_appl_lock_waiter('customer', '1', 'ZOE', 'p9')")
	call(t, pool, getCall, "1", "JDOE")
	call(t, pool, releaseCall, "1", "JDOE")
	requireMessages(t, pool, conn, "applock_appl_lock", ":p1", "customer:1")
}

// Goal: a schema has its own channel, and one whose name is too long for a channel's does not make releases fail.
// Method: plain installations in such schemas, and a connection that listens to what the server makes of the name.
func TestChannelIsTheSchemas(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{"locks_2", strings.Repeat("s", 63)} {
		t.Run(schema, func(t *testing.T) {
			t.Parallel()
			dsn := testdb.Postgres(t)
			pool := newPool(t, dsn)
			plainGoose(t, dsn, schema)
			channel := (schema + "_appl_lock")[:min(63, len(schema)+len("_appl_lock"))]
			conn := listening(t, dsn, channel)
			other := listening(t, dsn, "applock_appl_lock")
			in := strings.NewReplacer("applock.", pgx.Identifier{schema}.Sanitize()+".")
			call(t, pool, in.Replace(getCall), "1", "JDOE")
			call(t, pool, in.Replace(announceCall), "1", "ASMITH")
			call(t, pool, in.Replace(releaseCall), "1", "JDOE")
			requireMessages(t, pool, conn, channel, ":p1", "customer:1")
			requireMessages(t, pool, other, "applock_appl_lock")
		})
	}
}

// Goal: polling normally writes nothing, and renewing what is not the caller's neither. Method: such a transaction
// has no transaction id.
func TestPollsAndLostGrantsWriteNothing(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	dsn := place.DSN
	pool := newPool(t, dsn)
	call(t, pool, getCall, "1", "JDOE")
	call(t, pool, announceCall, "1", "ASMITH")
	call(t, pool, "CALL applock.announce_appl_lock_waiter('customer', '2', 'ASMITH', 'CS', 'p1', 20)") // cannot be kept longer
	call(t, pool, "INSERT INTO applock.appl_lock SELECT 'customer', '3', 'ASMITH', '', 3, now(), now(), 60, now()")
	writes := func(query string, args ...any) bool {
		wrote := false
		inTx(t, pool, func(tx pgx.Tx) {
			execute(t, tx, query, args...)
			wrote = value[*string](t, tx, "SELECT pg_current_xact_id_if_assigned()::text") != nil
			if err := tx.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
		return wrote
	}
	renewCall := "SELECT * FROM applock.renew_appl_locks($1)"
	for what, grant := range map[string]db.RenewableGrant{
		"expired": {ObjectType: "customer", ObjectID: "3", OperatorID: "ASMITH", Fence: 3, TTLSeconds: 60},
		"held":    {ObjectType: "customer", ObjectID: "1", OperatorID: "ASMITH", Fence: 1, TTLSeconds: 60},
		"free":    {ObjectType: "customer", ObjectID: "2", OperatorID: "ASMITH", Fence: 1, TTLSeconds: 60},
	} {
		if writes(renewCall, document(t, grant)) {
			t.Errorf("renewing what is %s writes", what)
		}
	}
	if writes(pollCall) || writes("SELECT * FROM applock.appl_lock_waiting") ||
		writes("SELECT * FROM applock.appl_lock_stats") || writes("SELECT * FROM applock.inbox_appl_locks('ASMITH', NULL, NULL)") ||
		writes("SELECT * FROM applock.appl_lock_policies") {
		t.Error("a poll, a list or a count writes")
	}
	if err := place.Advance(t.Context(), 31*time.Second); err != nil {
		t.Fatal(err)
	}
	if !writes(pollCall) {
		t.Error("the first poll after half a minute does not write")
	}
	if writes(pollCall) {
		t.Error("the next poll writes again")
	}
}

func document(t *testing.T, grants ...db.RenewableGrant) string {
	t.Helper()
	text, err := json.Marshal(grants)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Goal: a grant that expires while a batch is being renewed is not revived. Method: a trigger that takes its time over the
// first lock, until the second one has expired.
func TestExpiryWhileRenewing(t *testing.T) {
	t.Parallel()
	pool := migratedPool(t)
	call(t, pool, `INSERT INTO applock.appl_lock VALUES
		('customer', '1', 'JDOE', '', 1, now(), now(), 3600, now() + interval '1 hour'),
		('customer', '2', 'JDOE', '', 2, now(), now(), 1, clock_timestamp() + interval '1 second')`)
	call(t, pool, `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN IF new.object_id = '1' THEN PERFORM pg_sleep(1.5); END IF; RETURN new; END $$`)
	call(t, pool, "CREATE TRIGGER slow BEFORE UPDATE ON applock.appl_lock FOR EACH ROW EXECUTE FUNCTION slow()")
	answers, err := clients.Driver(testclient.Postgres(t, pool)).RenewApplLocks(t.Context(), db.RenewApplLocksParams{Grants: []db.RenewableGrant{
		{ObjectType: "customer", ObjectID: "1", OperatorID: "JDOE", Fence: 1, TTLSeconds: 60},
		{ObjectType: "customer", ObjectID: "2", OperatorID: "JDOE", Fence: 2, TTLSeconds: 60},
	}})
	if err != nil || len(answers) != 2 || answers[0].Outcome != db.Renewed || answers[1].Outcome != db.Free {
		t.Errorf("%v, %v, want the first grant renewed and the second free", answers, err)
	}
}

// Goal: the message of a refused batch says what is wrong, and where. Method: documents that are wrong in one thing.
func TestRefusedGrantsSayWhy(t *testing.T) {
	t.Parallel()
	pool := migratedPool(t)
	good := `{"object_type":"customer","object_id":"1","operator_id":"JDOE","fence":1,"ttl_seconds":1}`
	for wrong, want := range map[string]string{
		good: "p_grants is not a list of grants: ",
		"[" + good + "," + strings.Replace(good, `"1"`, `"1 "`, 1) + "]":             "p_grants has an object for the second time in grant 2",
		"[" + good + "," + strings.Replace(good, `"JDOE"`, `null`, 1) + "]":          "p_grants has no valid operator_id in grant 2",
		"[" + strings.Replace(good, `"ttl_seconds":1`, `"ttl_seconds":1.5`, 1) + "]": "p_grants is not a list of grants: ",
		"[" + strings.Replace(good, `"1"`, `"\u0000"`, 1) + "]":                      "p_grants is not a list of grants: ",
		strings.Repeat("[", 100000):                                                  "p_grants is not a list of grants: ",
		"[1]":                                                                        "p_grants is not a list of grants: ",
	} {
		_, err := pool.Exec(t.Context(), "SELECT * FROM applock.renew_appl_locks($1)", wrong)
		if err == nil || !strings.Contains(err.Error(), "renew_appl_locks: "+want) || !strings.Contains(err.Error(), "LK001") {
			t.Errorf("%.200s: %v, want %s", wrong, err, want)
		}
	}
	if _, err := pool.Exec(t.Context(), "SELECT * FROM applock.renew_appl_locks('[]')"); err != nil {
		t.Errorf("no grants: %v", err)
	}
}

// Goal: a transaction of the driver's own is one of READ COMMITTED, and an error of its end says what has happened.
// Method: a server that has another default; an operation whose failure is not passed on; a commit whose answer is lost.
func TestInTx(t *testing.T) {
	t.Parallel()
	dsn := testclient.InstalledPostgres(t)
	driver := clients.Driver(testclient.Postgres(t, newPool(t, dsn)))
	get := func(t *testing.T, d db.Driver, id string) {
		t.Helper()
		if _, err := d.GetApplLock(t.Context(), db.GetApplLockParams{ObjectType: "t", ObjectID: id, OperatorID: "JDOE", TTLSeconds: 60}); err != nil {
			t.Fatal(err)
		}
	}
	held := func(t *testing.T, id string) bool {
		t.Helper()
		result, err := driver.InquireApplLock(t.Context(), db.InquireApplLockParams{ObjectType: "t", ObjectID: id})
		if err != nil {
			t.Fatal(err)
		}
		return result.OkFL == db.Yes
	}
	t.Run("ReadCommitted", func(t *testing.T) {
		t.Parallel()
		pool := newPool(t, dsn+"&default_transaction_isolation=serializable")
		err := clients.Driver(testclient.Postgres(t, pool)).InTx(t.Context(), func(d db.Driver) error {
			get(t, d, "before")
			get(t, driver, "beside")
			_, err := d.ReleaseApplLock(t.Context(), db.ReleaseApplLockParams{ObjectType: "t", ObjectID: "beside", OperatorID: "JDOE"})
			return err
		})
		if err != nil || held(t, "beside") {
			t.Errorf("%v, and a lock that was taken meanwhile cannot be released", err)
		}
	})
	t.Run("FailedBefore", func(t *testing.T) {
		t.Parallel()
		err := driver.InTx(t.Context(), func(d db.Driver) error {
			get(t, d, "failed")
			_ = d.AssertApplLock(t.Context(), db.AssertApplLockParams{ObjectType: "t", ObjectID: "failed", OperatorID: "JDOE", Fence: 1})
			return nil
		})
		if err == nil || db.KindOf(err) != db.KindOther || held(t, "failed") {
			t.Errorf("%v (kind %d), want an error of no kind, and no lock", err, db.KindOf(err))
		}
	})
	t.Run("Unanswered", func(t *testing.T) {
		t.Parallel()
		proxy := newProxy(t, dsn)
		err := clients.Driver(testclient.Postgres(t, newPool(t, proxy.dsn))).InTx(t.Context(), func(d db.Driver) error {
			get(t, d, "unanswered")
			proxy.loseAnswers()
			return nil
		})
		if db.KindOf(err) != db.KindInFlight || !held(t, "unanswered") {
			t.Errorf("%v (kind %d), want in flight; held %t", err, db.KindOf(err), held(t, "unanswered"))
		}
	})
}
