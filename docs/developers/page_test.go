// Package developers_test runs the code of docs/developers.md.
package developers_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/applocktest"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/sqlite"
	"github.com/applock/applock/internal/testing/testfile"
)

// openLocks installs what is missing, and returns a client on the program's own pool. One client serves all goroutines.
func openLocks(ctx context.Context, db *sql.DB) (*applock.Client, error) {
	client, err := sqlite.New(db, sqlite.Config{})
	if err != nil {
		return nil, err
	}
	_, err = migrate.Up(ctx, client, migrate.UpRequest{})
	return client, err
}

// openTicket gives an operator the customer and a ticket, or neither.
func openTicket(ctx context.Context, client *applock.Client, customer string, operator applock.Owner) error {
	return client.InSQLTx(ctx, func(tx *sql.Tx, locks *applock.Client) error {
		_, err := locks.Get(ctx, applock.GetRequest{
			Object: applock.Object{Type: "customer", ID: customer},
			Owner:  operator,
		})
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, "INSERT INTO ticket (customer, operator) VALUES ($1, $2)", customer, operator.Operator)
		return err
	})
}

// Goal: a clerk keeps a case for eight hours at most. Method: a clock that moves.
func TestCaseEndsAfterEightHours(t *testing.T) {
	t.Parallel()
	locks := applocktest.New(t)
	request := applock.GetRequest{Object: applock.Object{Type: "case", ID: "4711"}, Owner: applock.Owner{Operator: "JDOE"}, TTL: 8 * time.Hour}
	if _, err := locks.Client.Get(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	locks.Advance(8 * time.Hour)
	if _, err := locks.Client.Inquire(t.Context(), request.Object); !errors.Is(err, applock.ErrNotHeld) {
		t.Errorf("%v, want ErrNotHeld", err)
	}
}

// newShop returns a database with locks and a table of the application's.
func newShop(t *testing.T) (*sql.DB, *applock.Client) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "shop.db")+"?_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_txlock=immediate")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	client, err := openLocks(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE ticket (customer TEXT CHECK (customer <> '13'), operator TEXT)"); err != nil {
		t.Fatal(err)
	}
	return db, client
}

// Goal: the lock and the data are there together, or neither. Method: the page's function, granted, refused by the holder, and refused by
// the application's own table.
func TestLockAndDataInOneTransaction(t *testing.T) {
	t.Parallel()
	db, client := newShop(t)
	jdoe, asmith := applock.Owner{Operator: "JDOE"}, applock.Owner{Operator: "ASMITH"}
	if err := openTicket(t.Context(), client, "42", jdoe); err != nil {
		t.Error(err)
	}
	if err := openTicket(t.Context(), client, "42", asmith); !errors.Is(err, applock.ErrHeld) {
		t.Errorf("somebody else: %v", err)
	}
	if err := openTicket(t.Context(), client, "13", asmith); err == nil {
		t.Error("the table takes customer 13")
	}
	if _, err := client.Inquire(t.Context(), applock.Object{Type: "customer", ID: "13"}); !errors.Is(err, applock.ErrNotHeld) {
		t.Errorf("the lock without its ticket: %v", err)
	}
	var tickets string
	if err := db.QueryRowContext(t.Context(), "SELECT group_concat(customer || operator) FROM ticket").Scan(&tickets); err != nil || tickets != "42JDOE" {
		t.Errorf("the tickets are %s, %v", tickets, err)
	}
}

// Goal: a transaction begins again after each error after which the page says so, and after no other; what it wrote before is gone. Method: work
// that fails twice, with the errors of the page's table.
func TestTransactionBeginsAgain(t *testing.T) {
	t.Parallel()
	for _, row := range errorsOfPage(t) {
		db, client := newShop(t)
		runs := 0
		err := client.InSQLTx(t.Context(), func(tx *sql.Tx, _ *applock.Client) error {
			runs++
			if _, err := tx.ExecContext(t.Context(), "INSERT INTO ticket VALUES ('42', 'JDOE')"); err != nil {
				return err
			}
			if runs < 3 {
				return fmt.Errorf("get: %w", row.err)
			}
			return nil
		})
		var tickets int
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM ticket").Scan(&tickets); err != nil {
			t.Fatal(err)
		}
		if row.again && (err != nil || runs != 3 || tickets != 1) || !row.again && (!errors.Is(err, row.err) || runs != 1 || tickets != 0) {
			t.Errorf("%v: %d runs, %d tickets, %v", row.err, runs, tickets, err)
		}
	}
}

// row is a row of the page's table of errors.
type row struct {
	err error
	// again is what the page says of a transaction.
	again bool
}

// errorsOfPage returns the page's table, which must have all errors that a call of the database can be.
func errorsOfPage(t *testing.T) []row {
	t.Helper()
	all := map[string]error{
		"ErrHeld": applock.ErrHeld, "ErrNotHeld": applock.ErrNotHeld, "ErrNotAsking": applock.ErrNotAsking, "ErrLost": applock.ErrLost, "ErrInvalid": applock.ErrInvalid,
		"ErrContention": applock.ErrContention, "ErrBusy": applock.ErrBusy, "ErrRetry": applock.ErrRetry, "ErrOutcomeUnknown": applock.ErrOutcomeUnknown,
		"ErrUnreachable": applock.ErrUnreachable, "ErrReadOnly": applock.ErrReadOnly, "ErrPrivilege": applock.ErrPrivilege,
		"ErrSchema": applock.ErrSchema, "ErrClosed": applock.ErrClosed,
	}
	source, err := os.ReadFile("../../applock/errors.go")
	if err != nil {
		t.Fatal(err)
	}
	if declared := regexp.MustCompile(`(?m)^\tErr\w+ = errors.New`).FindAll(source, -1); len(declared) != len(all) {
		t.Errorf("applock/errors.go has %d errors, this test %d", len(declared), len(all))
	}
	var rows []row
	for _, found := range regexp.MustCompile("(?m)^\\| `(Err\\w+)` \\|.*\\| ([^|]*) \\|$").FindAllStringSubmatch(page(t), -1) {
		rows = append(rows, row{all[found[1]], strings.Contains(found[2], "again")})
		delete(all, found[1])
	}
	if len(all) > 0 {
		t.Errorf("the page's table lacks %v", all)
	}
	return rows
}

func page(t *testing.T) string {
	t.Helper()
	return testfile.Read(t, "../developers.md")
}

// etcdlock returns the text of the backend that the page points at.
func etcdlock(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("../../applock/lease/etcdlock/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// Goal: what the page shows is what runs. Method: each block is a part of this file or of the backend whose tests run it.
func TestDevelopersShowsTestedCode(t *testing.T) {
	t.Parallel()
	tested := testfile.Read(t, "page_test.go") + etcdlock(t)
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(page(t), -1)
	for _, block := range blocks {
		if !strings.Contains(tested, "\n"+block[1]) {
			t.Errorf("no tested file has\n%s", block[1])
		}
	}
	if len(blocks) != 4 {
		t.Errorf("%d blocks", len(blocks))
	}
}

// Goal: the places that the page points authors of backends at are there. Method: each name in its section, in the code of etcdlock.
func TestDevelopersPointsAtEtcdlock(t *testing.T) {
	t.Parallel()
	code := etcdlock(t)
	_, section, _ := strings.Cut(page(t), "\n## A backend of your own\n")
	section = regexp.MustCompile("(?s)```go.*?```").ReplaceAllString(section, "")
	names := regexp.MustCompile("`([A-Za-z.]+)`").FindAllStringSubmatch(section, -1)
	for _, name := range names {
		_, last, isQualified := strings.Cut(name[1], ".")
		if !isQualified {
			last = name[1]
		}
		if !regexp.MustCompile(`\b` + last + `\b`).MatchString(code) {
			t.Errorf("etcdlock has no %s", name[1])
		}
	}
	if len(names) < 10 {
		t.Errorf("%d names", len(names))
	}
}
