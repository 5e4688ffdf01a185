package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/mysql"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// Goal: no call fixes the snapshot of the caller's transaction: who then gets an object sees all that its former holder has written. Method:
// the call in a transaction, or without autocommit; another session writes and releases; a get comes with the data.
func TestHeavyNoCallFixesTheSnapshot(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := placeWithData(t, product)
		conn, err := place.SQL.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }() // gives it back to the pool
		letYield(t, place.SQL, 0)
		for _, begin := range []string{"START TRANSACTION", "SET autocommit = 0"} {
			for _, test := range []struct{ call, want string }{
				{"get_appl_lock_row('customer', 'held', 'ASMITH', NULL, NULL, NULL)", "HELD"},
				{"get_appl_lock_rows('[]')", ""},
				{"assert_appl_lock_row('customer', 'held', 'ASMITH', 1)", "LK002"},
				{"assert_appl_lock_row('customer', 'nobody''s', 'ASMITH', 1)", "LK002"},
				{"ask_appl_lock_row('customer', 'held', 'ASMITH', NULL, 'p1', NULL, NULL)", "ASKED"},
				{"ask_appl_lock_row('customer', 'nobody''s', 'ASMITH', NULL, 'p1', NULL, NULL)", "FREE"},
				{"ask_appl_lock_row('customer', 'held', 'SHOWN', NULL, 'p1', NULL, NULL)", "GIVEN"},
				{"ask_appl_lock_row('customer', 'held', 'SHOWN', NULL, 'p1', NULL, 0)", "WITHDRAWN"},
				{"answer_appl_lock_row('customer', 'held', 'JDOE', FENCE, 'NOBODY', NULL, 'NO', NULL)", "GONE"},
				{"answer_appl_lock_row('customer', 'held', 'JDOE', FENCE, 'SHOWN', NULL, 'NO', NULL)", "TOLD"},
				{"answer_appl_lock_row('customer', 'held', 'JDOE', FENCE, 'SHOWN', NULL, 'GIVE', NULL)", "GIVEN"},
			} {
				for _, table := range []string{"data", "appl_lock", "appl_lock_ask"} {
					mustQuery(t, place.SQL, "DELETE FROM "+table)
				}
				mustQuery(t, place.SQL, getCall, "2", "JDOE")
				fence := fmt.Sprint(granted(t, place.SQL, "held", "JDOE").Fence)
				mustQuery(t, place.SQL, "CALL ask_appl_lock_row('customer', 'held', 'SHOWN', NULL, 'p1', NULL, NULL)")
				mustQuery(t, place.SQL, inboxCall, "JDOE")
				mustQuery(t, conn, begin)
				if got := answerOrState(conn, "CALL "+strings.ReplaceAll(test.call, "FENCE", fence)); got != test.want {
					t.Errorf("%s: %s, want %s", test.call, got, test.want)
				}
				mustQuery(t, place.SQL, "INSERT INTO data VALUES (1)")
				mustQuery(t, place.SQL, releaseCall, "2", "JDOE")
				mustQuery(t, conn, getCall, "2", "ASMITH")
				if rows := value(t, conn, "SELECT COUNT(*) FROM data"); rows != "1" {
					t.Errorf("%s after %s: the new holder sees %s rows of the former one, want 1", test.call, begin, rows)
				}
				mustQuery(t, conn, "ROLLBACK")
				mustQuery(t, conn, "SET autocommit = 1")
			}
		}
	})
}

// answerOrState returns the outcome of a call, or the state of its error.
func answerOrState(client contract.Querier, call string) string {
	rows, err := contract.RowsByColumn(context.Background(), client, call)
	var answer *driver.MySQLError
	switch {
	case errors.As(err, &answer):
		return string(answer.SQLState[:])
	case err != nil:
		return err.Error()
	case len(rows) == 0:
		return ""
	}
	return fmt.Sprint(rows[0]["p_outcome"])
}

// Goal: nor does a refusal in a stored function, which is one statement of the caller's. Method: a function that is refused, waits, and gets
// what another session has written and released meanwhile.
func TestRefusalInAFunctionFixesNoSnapshot(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := placeWithData(t, product)
		mustQuery(t, place.SQL, getCall, "held", "JDOE")
		mustQuery(t, place.SQL, getCall, "2", "JDOE")
		mustQuery(t, place.SQL, `CREATE FUNCTION second_try() RETURNS INT MODIFIES SQL DATA
			BEGIN
				CALL get_appl_lock('customer', 'held', 'ASMITH', NULL, NULL, NULL, @a, @b, @c, @d, @e, @f, @g, @h, @i);
				DO GET_LOCK(DATABASE(), 60);
				CALL get_appl_lock('customer', '2', 'ASMITH', NULL, NULL, NULL, @a, @b, @c, @d, @e, @f, @g, @h, @i);
				RETURN IF(@b = 'ACQUIRED', (SELECT COUNT(*) FROM data), -1);
			END`)
		conn, err := place.SQL.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }() // gives it back to the pool
		mustQuery(t, conn, "DO GET_LOCK(DATABASE(), 60)")
		seen := make(chan []map[string]any, 1)
		go func() {
			rows, err := contract.RowsByColumn(t.Context(), place.SQL, "SELECT second_try() AS seen")
			if err != nil {
				t.Error(err)
			}
			seen <- rows
		}()
		untilInState(t, place.SQL, "User lock")
		mustQuery(t, place.SQL, "INSERT INTO data VALUES (1)")
		mustQuery(t, place.SQL, releaseCall, "2", "JDOE")
		mustQuery(t, conn, "DO RELEASE_LOCK(DATABASE())")
		if rows := <-seen; len(rows) != 1 || fmt.Sprint(rows[0]["seen"]) != "1" {
			t.Errorf("the function has seen %v rows of the former holder, want 1", rows)
		}
	})
}

// placeWithData has a table of data.
func placeWithData(t *testing.T, product string) contract.Place {
	t.Helper()
	place := newPlace(t, product)
	mustQuery(t, place.SQL, "CREATE TABLE data (value INTEGER NOT NULL)")
	return place
}

// untilInState returns when a session of the database is in a state.
func untilInState(t *testing.T, handle *sql.DB, state string) {
	t.Helper()
	for began := time.Now(); time.Since(began) < patience; time.Sleep(pollInterval) {
		if value(t, handle, "SELECT COUNT(*) FROM information_schema.processlist WHERE db = DATABASE() AND state = ?", state) != "0" {
			return
		}
	}
	t.Fatalf("no session is in the state %s", state)
}

// Goal: where MariaDB checks a locking read against the snapshot, its refusal is one to begin again after.
// Method: a transaction that has read gets a lock that was released meanwhile.
func TestSnapshotIsolationOfMariaDB(t *testing.T) {
	t.Parallel()
	place := placeOn(t, testdb.MySQL(t, "mariadb"), func(config *driver.Config) {
		config.Params = map[string]string{"innodb_snapshot_isolation": "ON"}
	})
	mustQuery(t, place.SQL, getCall, "1", "JDOE")
	inTx(t, place.SQL, func(tx *sql.Tx) {
		mustQuery(t, tx, "SELECT COUNT(*) FROM appl_lock")
		mustQuery(t, place.SQL, releaseCall, "1", "JDOE")
		_, err := contract.RowsByColumn(t.Context(), tx, getCall, "1", "ASMITH")
		if numberOf(err) != 1020 || db.KindOf(mysql.InterpretError(err)) != db.KindRetry {
			t.Errorf("get: %v, want 1020, to be begun again", err)
		}
	})
}

// Goal: times are UTC for every session, and a lock ends for all at the same moment. Method: sessions in
// three time zones take, inquire and list the same locks.
func TestTimeZonesAgree(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		dsn := lentPlace(t, product).DSN
		var clients []*applock.Client
		for _, zone := range []string{"+00:00", "+13:00", "-11:00"} {
			clients = append(clients, testclient.MySQL(t, testdb.OpenMySQL(t, dsn, func(config *driver.Config) {
				config.Params = map[string]string{"time_zone": "'" + zone + "'"}
			})))
		}
		for i, taker := range clients {
			object := applock.Object{Type: "zone", ID: fmt.Sprint(i)}
			grant, err := taker.Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}, TTL: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			if left := time.Until(grant.ExpiresAt); left < 55*time.Minute || left > 65*time.Minute {
				t.Errorf("client %d: expires in %s, want 1h", i, left)
			}
			for j, other := range clients {
				if lock, err := other.Inquire(t.Context(), object); err != nil || !lock.ExpiresAt.Equal(grant.ExpiresAt) {
					t.Errorf("taken by client %d until %s, client %d sees %s, %v", i, grant.ExpiresAt, j, lock.ExpiresAt, err)
				}
			}
		}
	})
}
