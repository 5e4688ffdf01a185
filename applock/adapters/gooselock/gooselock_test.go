package gooselock_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the database/sql driver "mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the database/sql driver "pgx"
	"github.com/pressly/goose/v3"
	_ "modernc.org/sqlite" // the database/sql driver "sqlite"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/adapters/gooselock"
	"github.com/applock/applock/applock/lease"
	mysqldriver "github.com/applock/applock/internal/db/mysql"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// place is a database that is migrated, and where its locks are. In SQLite these are two files.
type place struct {
	Dialect goose.Dialect
	// DSN is for applock, Name for database/sql.
	DSN, Name string
}

// eachPlace runs a test on a new database of each product. One whose server is missing is skipped.
func eachPlace(t *testing.T, test func(t *testing.T, p place)) {
	t.Helper()
	testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) {
		p := place{Dialect: goose.DialectMySQL, DSN: testclient.Installed(t, product)}
		switch product {
		case "postgres":
			p.Dialect, p.Name = goose.DialectPostgres, p.DSN
		case "sqlite":
			p.Dialect, p.Name = goose.DialectSQLite3, filepath.Join(t.TempDir(), "shop.db")
		default:
			config, err := mysqldriver.ParseDSN(p.DSN)
			if err != nil {
				t.Fatal(err)
			}
			config.ParseTime = true // goose reads times
			p.Name = config.FormatDSN()
		}
		test(t, p)
	})
}

func (p place) open() (*sql.DB, error) {
	drivers := map[goose.Dialect]string{
		goose.DialectPostgres: "pgx", goose.DialectMySQL: "mysql", goose.DialectSQLite3: "sqlite",
	}
	return sql.Open(drivers[p.Dialect], p.Name)
}

// provider returns one with a handle of its own and one migration, which runs step.
func (p place) provider(locker *gooselock.Locker, step func(ctx context.Context) error) (*goose.Provider, error) {
	handle, err := p.open()
	if err != nil {
		return nil, err
	}
	up := &goose.GoFunc{RunDB: func(ctx context.Context, _ *sql.DB) error { return step(ctx) }}
	return goose.NewProvider(p.Dialect, handle, nil,
		goose.WithGoMigrations(goose.NewGoMigration(1, up, nil)), goose.WithLocker(locker))
}

func (p place) mustProvider(t *testing.T, locker *gooselock.Locker, step func(ctx context.Context) error) *goose.Provider {
	t.Helper()
	provider, err := p.provider(locker, step)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = provider.Close() })
	return provider
}

func mustNew(t *testing.T, locks lease.Locker, config gooselock.Config) *gooselock.Locker {
	t.Helper()
	locker, err := gooselock.New(locks, config)
	if err != nil {
		t.Fatal(err)
	}
	return locker
}

// awaitWaiter returns when somebody waits for the migrations.
func awaitWaiter(ctx context.Context, client *applock.Client) error {
	for {
		for _, err := range client.Waiters(ctx, applock.WaitersRequest{ObjectType: "goose", ObjectID: "migrations"}) {
			return err
		}
	}
}

// Goal: of two programs that migrate at once, one waits for the other and finds nothing to do. Method: the migration does not
// end before the table of waiters has the other program.
func TestTwoProvidersTakeTurns(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, p place) {
		watching := testclient.Open(t, p.DSN, "", nil)
		var applied atomic.Int32
		step := func(ctx context.Context) error {
			applied.Add(1)
			return awaitWaiter(ctx, watching)
		}
		errs := make(chan error, 2)
		for range cap(errs) {
			provider := p.mustProvider(t, mustNew(t, testclient.Open(t, p.DSN, "", nil), gooselock.Config{}), step)
			go func() {
				_, err := provider.Up(t.Context())
				errs <- err
			}()
		}
		for range cap(errs) {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		if applied.Load() != 1 {
			t.Errorf("the migration was applied %d times", applied.Load())
		}
		object := applock.Object{Type: "goose", ID: "migrations"}
		if _, err := watching.Inquire(t.Context(), object); !errors.Is(err, applock.ErrNotHeld) {
			t.Errorf("inquire: %v, want the lock to be free", err)
		}
	})
}

// Goal: providers of one program take turns, too, with one locker, and whoever's patience ends does not migrate. Method: while the
// first migrates, others try with little patience, with the same locker and with that of another client; then again.
func TestOneLockerForTwoProviders(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, p place) {
		client := testclient.Open(t, p.DSN, "", nil)
		shared := mustNew(t, client, gooselock.Config{})
		impatient := mustNew(t, testclient.Open(t, p.DSN, "", nil), gooselock.Config{MaxWait: 20 * time.Millisecond})
		never := func(context.Context) error { return errors.New("applied twice") }
		_, err := p.mustProvider(t, shared, func(ctx context.Context) error {
			hurried, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			defer cancel()
			if _, err := p.mustProvider(t, shared, never).Up(hurried); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("up with the same locker: %v, want a wait until the deadline", err)
			}
			if _, err := p.mustProvider(t, impatient, never).Up(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("up with little patience: %v, want a wait until it ends", err)
			}
			return nil
		}).Up(t.Context())
		if err != nil {
			t.Error(err)
		}
		if results, err := p.mustProvider(t, shared, never).Up(t.Context()); err != nil || len(results) > 0 {
			t.Errorf("afterwards: %v, %v, want nothing to do", results, err)
		}
	})
}

// Goal: who has lost the lock while it migrated hears of it from Up. Method: a supervisor releases it during the migration.
func TestALostLock(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, p place) {
		client := testclient.Open(t, p.DSN, "", nil)
		_, err := p.mustProvider(t, mustNew(t, client, gooselock.Config{}), func(ctx context.Context) error {
			lock, err := client.Inquire(ctx, applock.Object{Type: "goose", ID: "migrations"})
			if err != nil {
				return err
			}
			_, err = client.Release(ctx, applock.ReleaseRequest{Key: lock.Key()})
			return err
		}).Up(t.Context())
		if !errors.Is(err, applock.ErrLost) {
			t.Errorf("up: %v, want ErrLost", err)
		}
	})
}

// Goal: what cannot be meant is refused, by its name. Method: one of each.
func TestConfig(t *testing.T) {
	t.Parallel()
	for argument, config := range map[string]gooselock.Config{
		"MaxHold": {MaxHold: -time.Second},
		"TTL":     {TTL: 1500 * time.Millisecond},
		"MaxWait": {MaxWait: -time.Second},
	} {
		_, err := gooselock.New(nil, config)
		var invalid *applock.InvalidError
		if !errors.As(err, &invalid) || invalid.Argument != argument {
			t.Errorf("new: %v, want %s to be refused", err, argument)
		}
	}
}
