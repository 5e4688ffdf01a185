// Package choosing_test runs what docs/choosing.md and docs/recipes.md show.
package choosing_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the database/sql driver "pgx"
	"modernc.org/sqlite"
	sqlitelib "modernc.org/sqlite/lib"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/inprocess"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

const (
	onPostgres = "postgres"
	onSQLite   = "sqlite"
	onMariaDB  = "mariadb"
	onMySQL    = "mysql"
)

// onEachProduct runs a test on a bank of each product. One whose server is missing is skipped.
func onEachProduct(t *testing.T, open func(t *testing.T, product string) bank, test func(t *testing.T, b bank)) {
	t.Helper()
	for _, product := range []string{onPostgres, onSQLite, onMariaDB, onMySQL} {
		t.Run(product, func(t *testing.T) { test(t, open(t, product)) })
	}
}

// wallet is what the tests pay into.
const wallet = "W1"

// account is what a transaction has read.
type account struct {
	id      string
	balance int
	version int
}

// bank is an application with a framework of its own: execute.
type bank struct {
	product string
	db      *sql.DB
	// client has the locks in the database of the accounts, and locks are where the leases come from: mostly the client.
	client *applock.Client
	locks  lease.Locker
	// versioned has each write check that nobody has written since the read.
	versioned bool
	// beforeBegin and beforeCommit, if set, are what the tests want to happen before the transaction begins, and between
	// the action and the write.
	beforeBegin, beforeCommit func(ctx context.Context) error
}

// errConflict means that another transaction has changed what this one has read.
var errConflict = errors.New("the account has another version by now")

// execute is what frameworks do: it begins a transaction, has the action say what is to change, writes that, and commits.
func (b bank) execute(ctx context.Context, action func(ctx context.Context, tx *sql.Tx) (account, error)) error {
	if err := call(ctx, b.beforeBegin); err != nil {
		return err
	}
	tx, err := b.db.BeginTx(ctx, b.level())
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after the commit there is nothing to roll back
	changed, err := action(ctx, tx)
	if err != nil {
		return err
	}
	if err := call(ctx, b.beforeCommit); err != nil {
		return err
	}
	if err := b.write(ctx, tx, changed); err != nil {
		return err
	}
	return tx.Commit()
}

func call(ctx context.Context, hook func(ctx context.Context) error) error {
	if hook == nil {
		return nil
	}
	return hook(ctx)
}

// level is READ COMMITTED where one can choose. At the other levels some products refuse what would be lost here.
func (b bank) level() *sql.TxOptions {
	if b.product == onSQLite {
		return nil
	}
	return &sql.TxOptions{Isolation: sql.LevelReadCommitted}
}

// read returns the account with the amount added, which is what a deposit is going to write.
func (b bank) read(ctx context.Context, tx *sql.Tx, id string, amount int) (account, error) {
	read := account{id: id}
	row := tx.QueryRowContext(ctx, b.bound("SELECT balance, version FROM account WHERE id = $1"), id)
	err := row.Scan(&read.balance, &read.version)
	read.balance += amount
	return read, err
}

func (b bank) write(ctx context.Context, tx *sql.Tx, changed account) error {
	const (
		blind     = "UPDATE account SET balance = $1, version = $2 WHERE id = $3"
		versioned = blind + " AND version = $4"
	)
	statement, args := blind, []any{changed.balance, changed.version + 1, changed.id}
	if b.versioned {
		statement, args = versioned, append(args, changed.version)
	}
	result, err := tx.ExecContext(ctx, b.bound(statement), args...)
	var busy *sqlite.Error
	if errors.As(err, &busy) && busy.Code()&0xff == sqlitelib.SQLITE_BUSY {
		return fmt.Errorf("%w (%w)", errConflict, err) // SQLite compares the versions of the whole file
	}
	if err != nil || !b.versioned {
		return err
	}
	rows, err := result.RowsAffected()
	if err == nil && rows == 0 {
		return errConflict
	}
	return err
}

var placeholders = regexp.MustCompile(`\$\d`)

// bound returns a statement with the placeholders of the product.
func (b bank) bound(statement string) string {
	if b.product == onMariaDB || b.product == onMySQL {
		return placeholders.ReplaceAllString(statement, "?")
	}
	return statement
}

// newBank returns a bank with an empty wallet, in a database of its own, where the locks are, too.
func newBank(t *testing.T, product string) bank {
	t.Helper()
	return newBankAt(t, product, newDSN(t, product))
}

func newBankAt(t *testing.T, product, dsn string) bank {
	t.Helper()
	client := testclient.Open(t, dsn, "", nil)
	if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	b := bank{product: product, client: client, locks: client}
	b.db = b.open(t, dsn, "&_txlock=immediate")
	for _, statement := range []string{
		"CREATE TABLE account (id VARCHAR(64) NOT NULL PRIMARY KEY, balance INTEGER NOT NULL, version INTEGER NOT NULL)",
		"INSERT INTO account (id, balance, version) VALUES ('" + wallet + "', 0, 0)",
	} {
		if _, err := b.db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// newHastyBank returns a bank whose transactions read before they have anything locked. On SQLite such a transaction fails as
// soon as anybody has written anything to the file, and so the leases must not be in it.
func newHastyBank(t *testing.T, product string) bank {
	t.Helper()
	b := newBank(t, product)
	if product == onSQLite {
		leases := inprocess.New()
		t.Cleanup(func() { _ = leases.Close() })
		var path string
		row := b.db.QueryRowContext(t.Context(), "SELECT file FROM pragma_database_list")
		if err := row.Scan(&path); err != nil {
			t.Fatal(err)
		}
		b.locks, b.db = leases, b.open(t, "sqlite:"+path, "")
	}
	return b
}

func newDSN(t *testing.T, product string) string {
	t.Helper()
	switch product {
	case onPostgres:
		return testdb.Postgres(t)
	case onSQLite:
		return "sqlite:" + filepath.Join(t.TempDir(), "bank.db")
	}
	return testdb.MySQL(t, product)
}

// open opens the application's own handle. The options are those of SQLite.
func (b bank) open(t *testing.T, dsn, options string) *sql.DB {
	t.Helper()
	if b.product == onMariaDB || b.product == onMySQL {
		return testdb.OpenMySQL(t, dsn, func(config *mysql.Config) { config.InterpolateParams = true })
	}
	driver := "pgx"
	if path, found := strings.CutPrefix(dsn, "sqlite:"); found {
		driver = "sqlite"
		dsn = fmt.Sprintf("file:%s?_pragma=busy_timeout(%d)&_pragma=journal_mode(WAL)%s",
			url.PathEscape(path), time.Minute.Milliseconds(), options)
	}
	handle, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal("the DSN cannot be parsed")
	}
	t.Cleanup(func() { _ = handle.Close() })
	return handle
}

// balance returns what the wallet has.
func (b bank) balance(t *testing.T) int {
	t.Helper()
	var balance int
	row := b.db.QueryRowContext(t.Context(), b.bound("SELECT balance FROM account WHERE id = $1"), wallet)
	if err := row.Scan(&balance); err != nil {
		t.Fatal(err)
	}
	return balance
}
