package mysql_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/internal/testing/testclient"

	driver "github.com/go-sql-driver/mysql"

	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testdb"
)

const renewCall = "CALL renew_appl_locks(?)"

// granted gets a lock of type customer and returns it as a grant to renew.
func granted(t *testing.T, client contract.Querier, id, operator string) db.RenewableGrant {
	t.Helper()
	var fence int64
	if _, err := fmt.Sscan(fmt.Sprint(mustQuery(t, client, getCall, id, operator)[0]["p_fence"]), &fence); err != nil || fence == 0 {
		t.Fatalf("get %s: fence %d, %v", id, fence, err)
	}
	return db.RenewableGrant{ObjectType: "customer", ObjectID: id, OperatorID: operator, Fence: fence, TTLSeconds: 7200}
}

// document returns grants as renew_appl_locks takes them.
func document(t *testing.T, grants ...db.RenewableGrant) string {
	t.Helper()
	text, err := json.Marshal(grants)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// outcomes returns what becomes of grants in one call, as id=OUTCOME.
func outcomes(t *testing.T, client contract.Querier, grants ...db.RenewableGrant) string {
	t.Helper()
	var all []string
	for _, row := range mustQuery(t, client, renewCall, document(t, grants...)) {
		all = append(all, fmt.Sprintf("%s=%s", row["object_id"], row["outcome"]))
	}
	return strings.Join(all, " ")
}

// fill inserts that many live locks of JDOE's with fence 1.
func fill(t *testing.T, handle *sql.DB, count int) {
	t.Helper()
	mustQuery(t, handle, `INSERT INTO appl_lock
		SELECT 'customer', LPAD(s.slot, 5, '0'), 'JDOE', '', 1, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6), 86400, UTC_TIMESTAMP(6) + INTERVAL 1 DAY, '', 'N', NULL
		FROM appl_lock_serialize AS s WHERE s.slot < ?`, count)
	mustQuery(t, handle, "ANALYZE TABLE appl_lock")
}

// Goal: a renewal neither waits for rows that others have locked nor touches them, however small the table is
// (of few rows, an optimizer rather reads all). Method: of the rows, one is asserted in an open transaction, one is
// being taken over and one is being inserted; the others are renewed at once.
func TestRenewalsPassOverLockedRows(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		for _, others := range []int{0, 1, 5, 500} {
			place := lentPlace(t, product)
			fill(t, place.SQL, others)
			mine, asserted, moved := granted(t, place.SQL, "mine", "JDOE"), granted(t, place.SQL, "asserted", "JDOE"), granted(t, place.SQL, "moved", "JDOE")
			mustQuery(t, place.SQL, "ANALYZE TABLE appl_lock")
			for _, level := range []string{"READ COMMITTED", "REPEATABLE READ"} {
				inTx(t, place.SQL, func(tx *sql.Tx) {
					mustQuery(t, tx, "CALL assert_appl_lock_row('customer', 'asserted', 'JDOE', ?)", asserted.Fence)
					mustQuery(t, tx, "CALL transfer_appl_lock_row('customer', 'moved', 'JDOE', 'ASMITH', '', NULL, NULL, NULL)")
					mustQuery(t, tx, getCall, "new", "ASMITH")
					conn, err := place.SQL.Conn(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					defer func() { _ = conn.Close() }() // gives it back to the pool
					mustQuery(t, conn, "SET SESSION TRANSACTION ISOLATION LEVEL "+level)
					if got := outcomes(t, conn, asserted, mine, moved); got != "mine=RENEWED" { // a wait would end with 1205
						t.Errorf("%d other rows, %s: %q, want mine=RENEWED", others, level, got)
					}
				})
			}
			if got, want := outcomes(t, place.SQL, asserted, mine, moved), "asserted=RENEWED mine=RENEWED moved=RENEWED"; got != want {
				t.Errorf("%d other rows, afterwards: %q, want %q", others, got, want)
			}
		}
	})
}

// Goal: a renewal in a transaction locks the rows of its grants and no others. Method: renew in a transaction at REPEATABLE READ; meanwhile
// others renew the neighbouring rows and get new ones.
func TestRenewalsLockNothingElse(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		mine := granted(t, place.SQL, "d", "JDOE")
		for _, id := range []string{"b", "f"} {
			mustQuery(t, place.SQL, getCall, id, "JDOE")
		}
		mustQuery(t, place.SQL, "ANALYZE TABLE appl_lock")
		inTx(t, place.SQL, func(tx *sql.Tx) {
			if got := outcomes(t, tx, mine); got != "d=RENEWED" {
				t.Fatalf("renewed %q, want d=RENEWED", got)
			}
			for _, id := range []string{"b", "f", "a", "c", "e", "g"} {
				mustQuery(t, place.SQL, getCall, id, "JDOE")
			}
		})
	})
}

// Goal: 10000 grants are found by their keys, in a table of which the server knows nothing, and are one
// transaction, not one for each. Method: count what the session reads and commits.
func TestManyRenewalsAreCheap(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		fill(t, place.SQL, 60000)
		var grants []db.RenewableGrant
		for i := range db.MaxGrants {
			grants = append(grants, db.RenewableGrant{ObjectType: "customer", ObjectID: fmt.Sprintf("%05d", i*5), OperatorID: "JDOE", Fence: 1, TTLSeconds: 60})
		}
		conn, err := place.SQL.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }() // gives it back to the pool
		read := func() int { return status(t, conn, "Handler_read_next") + status(t, conn, "Handler_read_rnd_next") }
		reads, commits, began := read(), status(t, conn, "Handler_commit"), time.Now()
		rows := mustQuery(t, conn, renewCall, document(t, grants...))
		t.Logf("%d grants among 60000 locks took %s", len(grants), time.Since(began))
		if len(rows) != len(grants) || rows[0]["outcome"] != "RENEWED" || rows[len(rows)-1]["outcome"] != "RENEWED" {
			t.Errorf("%d rows for %d grants", len(rows), len(grants))
		}
		// The document itself is read several times, row by row.
		if reads = read() - reads; reads > 12*len(grants) {
			t.Errorf("read %d rows for %d grants", reads, len(grants))
		}
		if commits = status(t, conn, "Handler_commit") - commits; commits > 50 {
			t.Errorf("%d commits", commits)
		}
	})
}

// Goal: any other document than a list of grants is LK001 and names p_grants, and nothing is renewed, under any sql_mode, even where the
// JSON functions of MariaDB or MySQL would convert, cut off or raise an error of their own. Method: each document has one fault, and a good
// grant.
func TestRefusedGrants(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		good := granted(t, place.SQL, "1", "JDOE")
		long := granted(t, place.SQL, strings.Repeat("x", 255), "JDOE")
		greatest := long
		greatest.ObjectID = "greatest"
		greatest.Fence = 9223372036854775807
		mustQuery(t, place.SQL, getCall, "greatest", "JDOE")
		mustQuery(t, place.SQL, "UPDATE appl_lock SET fence = 9223372036854775807 WHERE object_id = 'greatest'")
		with := func(grant db.RenewableGrant, old, replacement string) string {
			text := document(t, good, grant)
			position := strings.LastIndex(text, old)
			if position < 0 {
				t.Fatalf("%s has no %s", text, old)
			}
			return text[:position] + replacement + text[position+len(old):]
		}
		fence := fmt.Sprintf(`"fence":%d`, long.Fence)
		documents := map[string]string{
			"empty":                  "",
			"blank":                  "  ",
			"null":                   "null",
			"text":                   `"grants"`,
			"number":                 "1",
			"one grant":              document(t, good)[1 : len(document(t, good))-1],
			"open":                   strings.TrimSuffix(document(t, good, long), "]"),
			"half":                   document(t, good, long)[:200],
			"something behind":       document(t, good) + "x",
			"a comma too many":       strings.Replace(document(t, good), "}]", "},]", 1),
			"single quotes":          strings.ReplaceAll(document(t, good), `"`, "'"),
			"too deep":               strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
			"too deep in a grant":    with(long, `"ttl_seconds":`, `"x":`+strings.Repeat("[", 500)+strings.Repeat("]", 500)+`,"ttl_seconds":`),
			"list in list":           "[" + document(t, good) + "]",
			"null in it":             strings.Replace(document(t, good), "]", ",null]", 1),
			"number in it":           strings.Replace(document(t, good), "]", ",1]", 1),
			"text in it":             strings.Replace(document(t, good), "]", `,"x"]`, 1),
			"an empty one":           strings.Replace(document(t, good), "]", ",{}]", 1),
			"twice":                  document(t, good, good),
			"twice but for blanks":   with(good, `"object_id":"1"`, `"object_id":"1  "`),
			"no type":                with(long, `"object_type":"customer",`, ""),
			"null type":              with(long, `"object_type":"customer"`, `"object_type":null`),
			"number as type":         with(long, `"object_type":"customer"`, `"object_type":1`),
			"object as type":         with(long, `"object_type":"customer"`, `"object_type":{"a":1}`),
			"blank type":             with(long, `"object_type":"customer"`, `"object_type":"  "`),
			"colon in the type":      with(long, `"object_type":"customer"`, `"object_type":"a:b"`),
			"long type":              with(long, `"object_type":"customer"`, `"object_type":"`+strings.Repeat("x", 65)+`"`),
			"number as id":           with(good, `"object_id":"1"`, `"object_id":2`),
			"truth as id":            with(good, `"object_id":"1"`, `"object_id":true`),
			"list as id":             with(good, `"object_id":"1"`, `"object_id":["1"]`),
			"blank id":               with(good, `"object_id":"1"`, `"object_id":""`),
			"long id":                with(long, `xxx"`, `xxxx"`),
			"half a character":       with(long, `xxx"`, `xx\ud83d"`),
			"raw line end":           with(long, `xxx"`, "xx\n\""),
			"no operator":            with(long, `"operator_id":"JDOE",`, ""),
			"null operator":          with(long, `"operator_id":"JDOE"`, `"operator_id":null`),
			"number as operator":     with(long, `"operator_id":"JDOE"`, `"operator_id":1`),
			"truth as operator":      with(long, `"operator_id":"JDOE"`, `"operator_id":true`),
			"blank operator":         with(long, `"operator_id":"JDOE"`, `"operator_id":" "`),
			"long operator":          with(long, `"operator_id":"JDOE"`, `"operator_id":"`+strings.Repeat("x", 65)+`"`),
			"no fence":               with(long, fence+",", ""),
			"null fence":             with(long, fence, `"fence":null`),
			"fence in quotes":        with(long, fence, fmt.Sprintf(`"fence":"%d"`, long.Fence)),
			"fence with a point":     with(long, fence, fence+".0"),
			"fence with an exponent": with(long, fence, fence+".5e1"),
			"fence beyond all":       with(greatest, "9223372036854775807", "1e30"),
			"fence 0":                with(long, fence, `"fence":0`),
			"fence below 0":          with(long, fence, `"fence":-1`),
			"fence too great":        with(greatest, "9223372036854775807", "9223372036854775808"),
			"fence far too great":    with(greatest, "9223372036854775807", "92233720368547758070"),
			"no ttl":                 with(long, `,"ttl_seconds":7200`, ""),
			"null ttl":               with(long, `"ttl_seconds":7200`, `"ttl_seconds":null`),
			"ttl in quotes":          with(long, `"ttl_seconds":7200`, `"ttl_seconds":"7200"`),
			"ttl with a point":       with(long, `"ttl_seconds":7200`, `"ttl_seconds":7200.5`),
			"ttl 0":                  with(long, `"ttl_seconds":7200`, `"ttl_seconds":0`),
			"ttl too great":          with(long, `"ttl_seconds":7200`, `"ttl_seconds":315360001`),
			"ttl far too great":      with(long, `"ttl_seconds":7200`, `"ttl_seconds":99999999999999999999`),
		}
		const expiries = "SELECT GROUP_CONCAT(expires_ts ORDER BY object_id) FROM appl_lock"
		before := value(t, place.SQL, expiries)
		for _, mode := range []string{pinnedMode, "", otherSyntax} {
			handle := testdb.OpenMySQL(t, place.DSN, inMode(mode))
			for name, text := range documents {
				requireRefused(t, handle, name, text)
			}
			requireRefused(t, handle, "NULL", nil)
		}
		if after := value(t, place.SQL, expiries); after != before {
			t.Errorf("something has been renewed:\n%s, was\n%s", after, before)
		}
		if got := outcomes(t, place.SQL, good, long); got != "1=RENEWED "+long.ObjectID+"=RENEWED" {
			t.Errorf("the good ones: %s", got)
		}
	})
}

func requireRefused(t *testing.T, handle *sql.DB, name string, grants any) {
	t.Helper()
	_, err := contract.RowsByColumn(t.Context(), handle, renewCall, grants)
	var answer *driver.MySQLError
	if !errors.As(err, &answer) || string(answer.SQLState[:]) != "LK001" || contract.RefusedParameter(answer.Message) != "p_grants" {
		t.Errorf("%s: %v, want LK001 of p_grants", name, err)
	}
}

// Goal: a batch is bounded. Method: one grant too many.
func TestTooManyGrants(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		driver := lentPlace(t, product).Driver
		grants := make([]db.RenewableGrant, db.MaxGrants+1)
		for i := range grants {
			grants[i] = db.RenewableGrant{ObjectType: "customer", ObjectID: fmt.Sprint(i), OperatorID: "JDOE", Fence: 1, TTLSeconds: 1}
		}
		_, err := driver.RenewApplLocks(t.Context(), db.RenewApplLocksParams{Grants: grants})
		if db.KindOf(err) != db.KindInvalid || !strings.Contains(err.Error(), "p_grants has 10001 grants") {
			t.Errorf("%v, want LK001", err)
		}
		answers, err := driver.RenewApplLocks(t.Context(), db.RenewApplLocksParams{Grants: grants[1:]})
		if err != nil || len(answers) != db.MaxGrants {
			t.Errorf("%d answers, %v, want %d", len(answers), err, db.MaxGrants)
		}
	})
}

// Goal: names go through JSON as they are: the grant that is renewed is the one that is meant, and its name comes
// back. Method: names that JSON has to write in another way, the longest ones, and pairs that differ a little;
// through the text and the prepared protocol.
func TestRenewedNames(t *testing.T) {
	t.Parallel()
	names := []string{
		`"`, `\`, `\"`, `'`, `\u0041`, "A", "a", "/", "<&>", "é", "e\u0301", "日本", "😀", "\u2028", "{}", "[]", "null",
		" leading", "in ner", strings.Repeat("😀", 255), strings.Repeat("😀", 254), strings.Repeat("\\", 255),
	}
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		var grants []db.RenewableGrant
		for _, name := range names {
			grant := granted(t, place.SQL, name, "JDOE")
			if short := []rune(name); len(short) <= 64 { // an operator of the same name
				mustQuery(t, place.SQL, releaseCall, name, "JDOE")
				grant = granted(t, place.SQL, name, name)
			}
			grants = append(grants, grant)
		}
		for _, interpolate := range []bool{false, true} {
			handle := testdb.OpenMySQL(t, place.DSN, func(config *driver.Config) { config.InterpolateParams = interpolate })
			for i, grant := range grants {
				answers, err := clients.Driver(testclient.MySQL(t, handle)).RenewApplLocks(t.Context(), db.RenewApplLocksParams{Grants: grants[i : i+1]})
				if err != nil || len(answers) != 1 || answers[0].Outcome != db.Renewed || answers[0].ObjectID != grant.ObjectID {
					t.Errorf("%q: %+v, %v, want RENEWED", grant.ObjectID, answers, err)
				}
			}
			answers, err := clients.Driver(testclient.MySQL(t, handle)).RenewApplLocks(t.Context(), db.RenewApplLocksParams{Grants: grants})
			if err != nil || len(answers) != len(names) {
				t.Errorf("all: %d answers, %v, want %d", len(answers), err, len(names))
			}
		}
	})
}

// Goal: callers who keep asking for an object, and lock its row at each refusal, do not keep its holder from renewing. Method: four connections ask as fast as they can, and the holder renews 60 times. Each of its calls may be
// passed over; that many in a row are would be a lease lost. (On an idle machine fewer than one in ten is passed over, on a
// busy one half.)
func TestRefusalsDoNotStarveRenewals(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		mine := granted(t, place.SQL, "1", "JDOE")
		ctx, cancel := context.WithCancel(t.Context())
		var asking sync.WaitGroup
		for i := range 4 {
			asking.Go(func() {
				for ctx.Err() == nil {
					rows, err := contract.RowsByColumn(t.Context(), place.SQL, getCall, "1", fmt.Sprint("OPERATOR", i))
					if err != nil || rows[0]["p_outcome"] != "HELD" {
						t.Errorf("get: %v, %v, want HELD", rows, err)
						return
					}
				}
			})
		}
		const rounds, tooMany = 60, 20
		for passedOver, renewed := 0, 0; renewed < rounds && passedOver < tooMany; passedOver++ {
			if outcomes(t, place.SQL, mine) == "1=RENEWED" {
				renewed++
				passedOver = -1
			}
			if passedOver == tooMany-1 {
				t.Errorf("passed over %d times in a row after %d renewals", tooMany, renewed)
			}
		}
		cancel()
		asking.Wait()
	})
}

// Goal: a session's limit of what it aggregates does no harm. Method: the smallest limits, and rows to try again.
func TestRenewalsWithAShortAggregate(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		mine, asserted := granted(t, place.SQL, "1", "JDOE"), granted(t, place.SQL, "2", "JDOE")
		conn, err := place.SQL.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }() // gives it back to the pool
		inTx(t, place.SQL, func(tx *sql.Tx) {
			mustQuery(t, tx, "CALL assert_appl_lock_row('customer', '2', 'JDOE', ?)", asserted.Fence)
			for _, limit := range []int{4, 16, 100, 1024} {
				mustQuery(t, conn, fmt.Sprint("SET SESSION group_concat_max_len = ", limit))
				if got := outcomes(t, conn, mine, asserted); got != "1=RENEWED" {
					t.Errorf("group_concat_max_len %d: %q, want 1=RENEWED", limit, got)
				}
			}
		})
	})
}

// Goal: names are trimmed, as those of every operation: in the object that is renewed and in the answer. Method: names
// with blanks behind them, also beyond the longest one, of a grant that is live and one that is not.
func TestRenewedNamesAreTrimmed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		id, operator := strings.Repeat("x", 255), strings.Repeat("o", 64)
		long := granted(t, place.SQL, id, operator)
		long.ObjectType, long.ObjectID, long.OperatorID = long.ObjectType+"  ", id+"   ", operator+"   "
		gone := long
		gone.ObjectID = "1  "
		for _, grant := range []struct {
			grant db.RenewableGrant
			want  string
		}{{long, "customer/" + id + "/RENEWED"}, {gone, "customer/1/FREE"}} {
			rows := mustQuery(t, place.SQL, renewCall, document(t, grant.grant))
			if got := fmt.Sprintf("%s/%s/%s", rows[0]["object_type"], rows[0]["object_id"], rows[0]["outcome"]); got != grant.want {
				t.Errorf("%q, want %q", got, grant.want)
			}
		}
	})
}

// Goal: a grant that begins in the future, because the clock was set back, is renewed like any other, and the row
// says so: lock_ts is later than acquired_ts exactly after a renewal. Method: such a row.
func TestRenewalOfAFutureGrant(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		mine := granted(t, place.SQL, "1", "JDOE")
		mustQuery(t, place.SQL, `UPDATE appl_lock SET acquired_ts = acquired_ts + INTERVAL 1 HOUR, lock_ts = lock_ts + INTERVAL 1 HOUR,
			expires_ts = expires_ts + INTERVAL 1 HOUR`)
		if got := outcomes(t, place.SQL, mine); got != "1=RENEWED" {
			t.Errorf("%q, want RENEWED", got)
		}
		if later := value(t, place.SQL, "SELECT lock_ts > acquired_ts FROM appl_lock"); later != "1" {
			t.Error("lock_ts is not later than acquired_ts")
		}
	})
}

// Goal: a released row is free for transactions older than its release, too. Method: a released grant whose end lies in the future.
func TestReleasedRowIsFree(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		mine := granted(t, place.SQL, "1", "JDOE")
		mustQuery(t, place.SQL, announceCall, "1", "ASMITH", "program")
		mustQuery(t, place.SQL, "UPDATE appl_lock SET released_ts = UTC_TIMESTAMP(6)")
		if got := outcomes(t, place.SQL, mine); got != "1=FREE" {
			t.Errorf("renew: %q, want FREE", got)
		}
		if awaited := mustQuery(t, place.SQL, pollCall, "program"); len(awaited) != 1 || fmt.Sprint(awaited[0]["free_in_us"]) != "0" {
			t.Errorf("poll: %v, want a free object", awaited)
		}
	})
}

// Goal: clients that begin with safe updates, as some do, can renew and poll, and keep them. Method: such a session,
// and waiters that a poll must keep.
func TestSafeUpdates(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		conn, err := place.SQL.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }() // gives it back to the pool
		mustQuery(t, conn, "SET SESSION sql_safe_updates = TRUE")
		requireSafe := func() {
			t.Helper()
			if safe := value(t, conn, "SELECT @@SESSION.sql_safe_updates + 0"); safe != "1" {
				t.Error("the session's updates are not safe any more")
			}
		}
		if got := outcomes(t, conn, granted(t, conn, "1", "JDOE"), granted(t, conn, "2", "JDOE")); got != "1=RENEWED 2=RENEWED" {
			t.Errorf("renewed %q, want both", got)
		}
		requireSafe()
		mustQuery(t, conn, announceCall, "1", "ASMITH", "program")
		makeDue(t, place.SQL, "program")
		mustQuery(t, conn, pollCall, "program")
		if kept := value(t, conn, "SELECT expires_ts > UTC_TIMESTAMP(6) + INTERVAL 30 SECOND FROM appl_lock_waiter"); kept != "1" {
			t.Error("the poll has kept nothing")
		}
		requireSafe()
		mustQuery(t, conn, retractCall, "1", "ASMITH", "program")
		mustQuery(t, conn, "CALL purge_appl_locks_row(1, 10)")
	})
}

// Goal: renewals meet no deadlock and no other error, whatever else goes on and in whatever order they name their
// grants; a grant that is live is never said to be lost, and one that has ended is never renewed. Method: 32
// connections get, release, assert in transactions and renew on 40 objects.
func TestRenewalsInAStorm(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		const rounds = 100
		holders := make([]*holder, stormConnections)
		for i := range holders {
			holders[i] = &holder{operator: fmt.Sprint("OPERATOR", i), held: map[string]int64{}, ended: map[string]int64{}}
		}
		new(storm).run(t, place.SQL, rounds, func(conn *sql.Conn, connection, _ int) error {
			return holders[connection].act(t, conn, fmt.Sprint(rand.IntN(40)))
		})
	})
}

// holder is an operator who knows its grants.
type holder struct {
	operator    string
	held, ended map[string]int64 // fences by id
}

func (h *holder) act(t *testing.T, conn *sql.Conn, id string) error {
	t.Helper()
	switch rand.IntN(6) {
	case 0, 1:
		rows, err := contract.RowsByColumn(t.Context(), conn, "CALL get_appl_lock_row('storm', ?, ?, '', 3600, NULL)", id, h.operator)
		if err == nil && rows[0]["p_ok_fl"] == "Y" {
			var fence int64
			_, err = fmt.Sscan(fmt.Sprint(rows[0]["p_fence"]), &fence)
			h.held[id] = fence
		}
		return err
	case 2:
		fence, found := h.held[id]
		if !found {
			return nil
		}
		_, err := contract.RowsByColumn(t.Context(), conn, "CALL release_appl_lock_row('storm', ?, ?, ?, NULL, NULL)", id, h.operator, fence)
		if err == nil {
			delete(h.held, id)
			h.ended[id] = fence
		}
		return err
	case 3:
		return h.assert(t, conn, id)
	}
	return h.renew(t, conn)
}

// assert keeps its transaction open for a while.
func (h *holder) assert(t *testing.T, conn *sql.Conn, id string) error {
	t.Helper()
	fence, found := h.held[id]
	if !found {
		return nil
	}
	tx, err := conn.BeginTx(t.Context(), nil)
	if err != nil {
		return err
	}
	_, err = contract.RowsByColumn(t.Context(), tx, "CALL assert_appl_lock_row('storm', ?, ?, ?)", id, h.operator, fence)
	time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
	return errors.Join(err, tx.Rollback())
}

// renew renews what is held and what has ended, in any order.
func (h *holder) renew(t *testing.T, conn *sql.Conn) error {
	t.Helper()
	grants := []db.RenewableGrant{}
	for _, fences := range []map[string]int64{h.held, h.ended} {
		for id, fence := range fences {
			if grant := (db.RenewableGrant{ObjectType: "storm", ObjectID: id, OperatorID: h.operator, Fence: fence, TTLSeconds: 3600}); !slices.ContainsFunc(
				grants, func(other db.RenewableGrant) bool { return other.ObjectID == id }) {
				grants = append(grants, grant)
			}
		}
	}
	rows, err := contract.RowsByColumn(t.Context(), conn, renewCall, document(t, grants...))
	for _, row := range rows {
		_, mine := h.held[fmt.Sprint(row["object_id"])]
		if renewed := row["outcome"] == "RENEWED"; renewed != mine {
			t.Errorf("%s holds %v: %t, and is told %v", h.operator, row["object_id"], mine, row["outcome"])
		}
	}
	return err
}

// Goal: a grant that a call has renewed, and that its holder has got for longer since, is not taken for one that the call
// has passed over. Method: the holder comes between S1 and S2, as often as the call looks again.
func TestRenewalHasOneEffect(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		handle := newPlace(t, product).SQL
		grant := granted(t, handle, "1", "JDOE")
		grant.TTLSeconds = 60
		mustQuery(t, handle, "CALL get_appl_lock_row('customer', '1', 'JDOE', '', 60, NULL)")
		interrupt(t, handle, "renew_appl_locks_core", "-- S2:", "IF v_round = 1 THEN "+renewed+" END IF;")
		mustQuery(t, handle, renewCall, document(t, grant))
		const left = "SELECT TIMESTAMPDIFF(SECOND, UTC_TIMESTAMP(6), expires_ts) > 7000 FROM appl_lock"
		if isThere := value(t, handle, left); fmt.Sprint(isThere) != "1" {
			t.Errorf("the two hours that the holder was told are gone")
		}
	})
}

// Goal: a renewed grant is RENEWED, even if it was released or taken before the answer (Q6). Method: a trigger keeps the renewal inside its
// UPDATE until LOCK TABLES waits, which then comes before the renewal's next read, and ends the grant.
func TestRenewedStaysRenewed(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		for _, end := range []string{
			"UPDATE appl_lock SET released_ts = UTC_TIMESTAMP(6)",
			"UPDATE appl_lock SET operator_id = 'BOSS', fence = fence + 1, ttl_seconds = 999",
			"DELETE FROM appl_lock",
		} {
			place := newPlace(t, product)
			mustQuery(t, place.SQL, getCall, "1", "JDOE")
			fence := value(t, place.SQL, "SELECT fence FROM appl_lock")
			mustQuery(t, place.SQL, "CREATE TRIGGER slow BEFORE UPDATE ON appl_lock FOR EACH ROW "+
				"SET @slept = IF(NEW.released_ts IS NULL AND NEW.ttl_seconds = 77, SLEEP(2), 0)")
			locker, err := place.SQL.Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			answer := make(chan string, 1)
			go func() {
				rows, err := contract.RowsByColumn(context.WithoutCancel(t.Context()), place.SQL, renewCall, `[{"object_type": "customer", "object_id": "1", `+
					`"operator_id": "JDOE", "fence": `+fence+`, "ttl_seconds": 77}]`)
				if err != nil || len(rows) != 1 {
					answer <- fmt.Sprint(rows, err)
					return
				}
				answer <- fmt.Sprint(rows[0]["outcome"])
			}()
			for value(t, place.SQL, "SELECT COUNT(*) FROM information_schema.processlist WHERE state LIKE 'User sleep' AND db = DATABASE()") == "0" {
				if len(answer) > 0 {
					t.Fatalf("the renewal does not sleep: %s", <-answer)
				}
			}
			mustQuery(t, locker, "LOCK TABLES appl_lock WRITE")
			mustQuery(t, locker, end)
			mustQuery(t, locker, "UNLOCK TABLES")
			if err := locker.Close(); err != nil {
				t.Error(err)
			}
			if got := <-answer; got != "RENEWED" {
				t.Errorf("%s: %s, want RENEWED", end, got)
			}
		}
	})
}
