package mysql_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db/mysql"
	"github.com/applock/applock/internal/scenario"
	"github.com/applock/applock/internal/testing/contract"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// The contract on both products, through the façade, through CALL with OUT parameters and through the row
// forms.
func TestContract(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		contract.Exercise(t, backend(t, product))
	})
}

func TestHeavyContract(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		contract.ExerciseLong(t, backend(t, product))
	})
}

func backend(t *testing.T, product string) contract.Backend {
	t.Helper()
	return contract.Backend{
		// Some of it adds routines of its own.
		New:        keptPlaces(t, func(t testing.TB) contract.Place { return newPlace(t, product) }),
		Empty:      func(t testing.TB) func() *applock.Client { return testclient.Opener(t, testdb.MySQL(t, product)) },
		Ways:       []string{"facade", "call", "row"},
		Levels:     []sql.IsolationLevel{sql.LevelReadCommitted, sql.LevelRepeatableRead},
		JSONGrants: true,
		Slack:      time.Second, // its calls wait no longer
		Takes: func(value string) bool {
			surrogate := product == "mariadb" && strings.Contains(value, "\xed\xa0")
			return strings.Contains(value, "\x00") || surrogate
		},
	}
}

// Goal: no decision depends on whether the client has ROW_COUNT() count the rows that were found, or those that were changed, nor on a
// handler that the session can switch off. Method: the interleavings with CLIENT_FOUND_ROWS and without a list of warnings; the contract
// has them the other way.
func TestHeavyInterleavingsWithFoundRows(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, product string) {
		t.Helper()
		contract.Interleavings(t, contract.Backend{
			New: lentPlaces(t, product, func(config *driver.Config) {
				config.ClientFoundRows = true
				withoutWarnings(config)
			}),
			Ways:   []string{"row"},
			Levels: foundRowsLevels(product),
		})
	})
}

// onBoth runs a test on MariaDB and on MySQL and names the version.
func onBoth(t *testing.T, test func(t *testing.T, product string)) {
	t.Helper()
	testdb.EachProduct(t, testdb.MySQLProducts(), func(t *testing.T, product string) {
		t.Logf("%s %s", product, version(t, testdb.OpenMySQL(t, testdb.Require(t, product), nil)))
		test(t, product)
	})
}

func version(t testing.TB, handle *sql.DB) string {
	t.Helper()
	var text string
	if err := handle.QueryRowContext(t.Context(), "SELECT version()").Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

// newPlace migrates a new database of a product.
func newPlace(t testing.TB, product string) contract.Place {
	t.Helper()
	return placeOn(t, testdb.MySQL(t, product), nil)
}

// lentPlace is a place that the test has for itself and other tests had before: they change no more than rows.
func lentPlace(t testing.TB, product string) contract.Place {
	t.Helper()
	return placeOn(t, testclient.LentMySQL(t, product), nil)
}

// oneConnection opens a pool of one connection, which has the settings that change makes; nil changes nothing.
func oneConnection(t testing.TB, dsn string, change func(config *driver.Config)) *sql.DB {
	t.Helper()
	handle := testdb.OpenMySQL(t, dsn, change)
	handle.SetMaxOpenConns(1)
	return handle
}

// lentPlaces returns a lender of places of a product, to the tests below one test; nil changes nothing.
func lentPlaces(owner testing.TB, product string, change func(config *driver.Config)) func(t testing.TB) contract.Place {
	return keptPlaces(owner, func(t testing.TB) contract.Place { return placeOn(t, testclient.LentMySQL(t, product), change) })
}

// keptPlaces returns a lender of what create makes.
func keptPlaces(owner testing.TB, create func(t testing.TB) contract.Place) func(t testing.TB) contract.Place {
	return contract.NewPlaces(owner, create,
		"DELETE FROM appl_lock", "DELETE FROM appl_lock_waiter", "DELETE FROM appl_lock_ask", "DELETE FROM appl_lock_viewer", "DELETE FROM appl_lock_event", "DELETE FROM appl_lock_policy",
		"UPDATE appl_lock_fence SET fence = 0", "DROP TABLE IF EXISTS protected").Take
}

// placeOn migrates the database that dsn names. The calls go through pools with the client's default
// settings and what change makes of them; nil changes nothing.
func placeOn(t testing.TB, dsn string, change func(config *driver.Config)) contract.Place {
	t.Helper()
	handle := testdb.OpenMySQL(t, dsn, change)
	client := testclient.MySQL(t, handle)
	if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	plain := testdb.OpenMySQL(t, dsn, func(config *driver.Config) {
		if change != nil {
			change(config)
		}
		config.ParseTime, config.Loc = true, time.UTC
	})
	return contract.Place{
		Client: client,
		Driver: clients.Driver(testclient.MySQL(t, handle)),
		DSN:    dsn,
		SQL:    handle,
		Table:  "appl_lock",
		Executors: map[string]scenario.Executor{
			"call": contract.MySQLCall(plain),
			"row":  contract.MySQLRow(plain),
		},
		Advance: func(ctx context.Context, duration time.Duration) error {
			for table, columns := range map[string][]string{
				"appl_lock":        {"acquired_ts", "lock_ts", "expires_ts", "released_ts"},
				"appl_lock_waiter": {"since_ts", "until_ts", "expires_ts"},
				"appl_lock_viewer": {"since_ts", "seen_ts", "expires_ts"},
				"appl_lock_ask":    {"since_ts", "until_ts", "expires_ts", "shown_ts", "answered_ts", "edited_ts"},
				"appl_lock_event":  {"event_ts"},
			} {
				var moves []string
				for _, column := range columns {
					moves = append(moves, fmt.Sprintf("%s = %s - INTERVAL %d MICROSECOND", column, column, duration.Microseconds()))
				}
				if _, err := plain.ExecContext(ctx, "UPDATE "+table+" SET "+strings.Join(moves, ", ")); err != nil {
					return err
				}
			}
			return nil
		},
		Waiting:           func(ctx context.Context) (int, error) { return testdb.MySQLWaiting(ctx, plain) },
		Interpret:         mysql.InterpretError,
		SnapshotConflicts: func(sql.IsolationLevel) bool { return false },
		KeepsView:         func(level sql.IsolationLevel) bool { return level == sql.LevelRepeatableRead },
		ChecksView:        checksView(t, plain),
		RefusalsLock:      true,
	}
}

// checksView is so on MariaDB with innodb_snapshot_isolation, which is the default since 11.6.
func checksView(t testing.TB, handle *sql.DB) func(level sql.IsolationLevel) bool {
	t.Helper()
	rows, err := contract.RowsByColumn(t.Context(), handle, "SHOW VARIABLES LIKE 'innodb_snapshot_isolation'")
	if err != nil {
		t.Fatal(err)
	}
	checks := len(rows) == 1 && rows[0]["Value"] == "ON"
	return func(level sql.IsolationLevel) bool { return checks && level == sql.LevelRepeatableRead }
}
