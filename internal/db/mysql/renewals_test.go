package mysql_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
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
func TestHeavyRenewalsPassOverLockedRows(t *testing.T) {
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
					if others == 1 { // where MariaDB cuts off the list of those to try again
						mustQuery(t, conn, "SET SESSION group_concat_max_len = 4")
					}
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

// Goal: a document is LK001 and names p_grants, and nothing is renewed, under any sql_mode, even where the JSON functions of MariaDB or MySQL
// would convert, cut off or raise an error of their own. Method: each document has one fault, behind a good grant. The contract has more.
func TestRefusedGrants(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		place := lentPlace(t, product)
		good := granted(t, place.SQL, "1", "JDOE")
		list := document(t, good, granted(t, place.SQL, "xxx", "JDOE"))
		fence := list[strings.LastIndex(list, `"fence"`):strings.LastIndex(list, `,"ttl_seconds"`)]
		documents := map[string]any{"NULL": nil, "blank": "  ", "twice": document(t, good, good)}
		for _, change := range [][2]string{
			{`"xxx"`, `"1  "`}, {`"xxx"`, `"xx\ud83d"`}, {`"xxx"`, "\"xx\n\""}, {`"xxx"`, `'xxx'`}, {"}]", "},]"}, {"}]", "},null]"}, {"}]", "},{}]"}, {"}]", "}]x"},
			{`"object_type":"customer",`, ""}, {`"operator_id":"JDOE",`, ""}, {fence + ",", ""}, {`,"ttl_seconds":7200`, ""},
			{fence, fence + ".0"}, {fence, fence + ".5e1"}, {fence, `"fence":"1"`}, {`"ttl_seconds":7200`, `"ttl_seconds":7200.5`},
		} {
			at := strings.LastIndex(list, change[0])
			documents[change[0]+" as "+change[1]] = list[:at] + change[1] + list[at+len(change[0]):]
		}
		const expiries = "SELECT GROUP_CONCAT(expires_ts ORDER BY object_id) FROM appl_lock"
		before := value(t, place.SQL, expiries)
		for _, mode := range []string{pinnedMode, "", otherSyntax} {
			handle := testdb.OpenMySQL(t, place.DSN, inMode(mode))
			for name, text := range documents {
				requireRefused(t, handle, name, text)
			}
		}
		if after := value(t, place.SQL, expiries); after != before {
			t.Errorf("something has been renewed:\n%s, was\n%s", after, before)
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

// Goal: a renewed grant is RENEWED, even if it was released or taken before the answer (Q6). Method: a trigger keeps the renewal inside its
// UPDATE until LOCK TABLES waits, which then comes before the renewal's next read, and ends the grant.
func TestHeavyRenewedStaysRenewed(t *testing.T) {
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
