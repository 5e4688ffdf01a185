package applock_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	mysqldriver "github.com/applock/applock/internal/db/mysql"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/wire"
)

// troubled is a client to which something happens.
type troubled struct {
	locker lease.Locker
	// client is the locker, nil on a backend that is no database.
	client *applock.Client
	wire   *wire.Wire
	// later is where connections lead that are made from now on, nil for where the first ones do.
	later *atomic.Pointer[detour]
	// forget ends the connections that nobody uses.
	forget func()
	// occupy takes a connection of the pool until free, as a transaction of the program does.
	occupy func(ctx context.Context) (free func(), err error)
	// demote has the server take no changes any more, as one that has become a replica; nil where a setting does as well.
	demote func(ctx context.Context) error
	// block has a transaction of somebody else change the locks of objects until free.
	block func(ctx context.Context, objects ...applock.Object) (free func(), err error)
	close func()
}

// detour is another way to connect; what is empty stays. setting is a statement that a connection begins with.
type detour struct{ address, user, password, setting string }

// nowhere is an address at which nobody listens.
const nowhere = "127.0.0.1:1"

// kindsProduct makes clients of one product.
type kindsProduct struct {
	name string
	open func(t testing.TB, cause errorCause) (*troubled, error)
	// full makes a user whose connections the server refuses because there are too many.
	full *detour
	// isDatabase is true where objects have rows.
	isDatabase bool
	// readOnly and hasty are settings: nothing is to be changed, and a statement has less time than a row may be waited for. Empty where there is none.
	readOnly, hasty string
}

// kindsServer is what the clients of one database have in common.
type kindsServer struct {
	dsn    string
	handle *sql.DB
	realDialect
}

func newKindsServer(t testing.TB, product string) kindsServer {
	t.Helper()
	dsn := testclient.Lent(t, product)
	handle, dialect, err := openHandle(dsn, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = handle.Close() })
	return kindsServer{dsn: dsn, handle: handle, realDialect: dialect}
}

// block has a transaction change the locks of objects, which exist.
func (s kindsServer) block(ctx context.Context, objects ...applock.Object) (free func(), err error) {
	tx, err := s.handle.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	free = func() { _ = tx.Rollback() }
	statement := s.bound("SELECT object_id FROM " + s.locks + " WHERE object_type = $1 AND object_id = $2 FOR UPDATE")
	for _, object := range objects {
		var id string
		if err := tx.QueryRowContext(ctx, statement, object.Type, object.ID).Scan(&id); err != nil {
			free()
			return nil, fmt.Errorf("no lock of %s to change: %w", object, err)
		}
	}
	return free, nil
}

// through leads a DSN through a wire, if it is to be.
func (s kindsServer) through(t testing.TB, isWired bool) (*wire.Wire, string) {
	t.Helper()
	if !isWired {
		return nil, s.dsn
	}
	return wire.Through(t, s.dsn)
}

func postgresKinds(t testing.TB) kindsProduct {
	t.Helper()
	server := newKindsServer(t, onPostgres)
	full := &detour{user: "applock_full_" + rand.Text()[:8], password: rand.Text()}
	server.exec(t, "CREATE ROLE \""+full.user+"\" LOGIN PASSWORD '"+full.password+"' CONNECTION LIMIT 0")
	t.Cleanup(func() { server.exec(t, "DROP ROLE \""+full.user+"\"") })
	return kindsProduct{
		name: "PostgreSQL", isDatabase: true, open: server.openPostgres, full: full,
		readOnly: "SET default_transaction_read_only = on", hasty: "SET statement_timeout = 800",
	}
}

func (s kindsServer) exec(t testing.TB, statement string) {
	t.Helper()
	if _, err := s.handle.ExecContext(context.WithoutCancel(t.Context()), statement); err != nil {
		t.Errorf("%.20s: %v", statement, err)
	}
}

func (s kindsServer) openPostgres(t testing.TB, cause errorCause) (*troubled, error) {
	t.Helper()
	w, dsn := s.through(t, cause.isWired)
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, errors.New("the test DSN cannot be parsed")
	}
	later := &atomic.Pointer[detour]{}
	config.MaxConns = int32(cause.conns)
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false } // it depends on the time
	config.BeforeConnect = func(_ context.Context, config *pgx.ConnConfig) error {
		config.Fallbacks = nil
		way := later.Load()
		if way == nil {
			return nil
		}
		if way.address != "" {
			host, port, _ := net.SplitHostPort(way.address)
			number, _ := strconv.ParseUint(port, 10, 16)
			config.Host, config.Port = host, uint16(number)
		}
		config.User, config.Password = or(way.user, config.User), or(way.password, config.Password)
		return nil
	}
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		way := later.Load()
		if way == nil || way.setting == "" {
			return nil
		}
		_, err := conn.Exec(ctx, way.setting)
		return err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		return nil, err
	}
	client := testclient.Postgres(t, pool)
	return &troubled{
		locker: client, client: client, wire: w, later: later, block: s.block,
		forget: pool.Reset,
		occupy: func(ctx context.Context) (free func(), err error) {
			tx, err := pool.Begin(ctx)
			return func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }, err
		},
		close: func() {
			_ = client.Close()
			pool.Close()
		},
	}, nil
}

func or(value, otherwise string) string {
	if value != "" {
		return value
	}
	return otherwise
}

func mysqlKinds(t testing.TB, product string) kindsProduct {
	t.Helper()
	server := newKindsServer(t, product)
	full := &detour{user: "applock_full_" + rand.Text()[:8], password: rand.Text()}
	server.exec(t, "CREATE USER '"+full.user+"'@'%' IDENTIFIED BY '"+full.password+"' WITH MAX_USER_CONNECTIONS 1")
	t.Cleanup(func() { server.exec(t, "DROP USER '"+full.user+"'@'%'") })
	server.takeOnly(t, full)
	kinds := kindsProduct{name: "MySQL", isDatabase: true, open: server.openMySQL, full: full, readOnly: "SET transaction_read_only = 1"}
	if product == onMariaDB {
		kinds.name, kinds.hasty = "MariaDB", "SET max_statement_time = 0.8"
		kinds.readOnly = "SET tx_read_only = 1"
	}
	return kinds
}

// takeOnly takes the only connection of a user.
func (s kindsServer) takeOnly(t testing.TB, of *detour) {
	t.Helper()
	pool, err := openMySQL(s.dsn, func(config *mysql.Config) { config.User, config.Passwd, config.DBName = of.user, of.password, "" })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pool.Close() })
	if err := pool.PingContext(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// detouring connects as usual, or by a detour.
type detouring struct {
	config *mysql.Config
	later  *atomic.Pointer[detour]
}

func (d detouring) Driver() driver.Driver { return mysql.MySQLDriver{} }

func (d detouring) Connect(ctx context.Context) (driver.Conn, error) {
	config := d.config.Clone()
	if way := d.later.Load(); way != nil {
		config.Addr = or(way.address, config.Addr)
		config.User, config.Passwd = or(way.user, config.User), or(way.password, config.Passwd)
		if variable, value, ok := strings.Cut(way.setting, " = "); ok {
			config.Params = map[string]string{strings.TrimPrefix(variable, "SET "): value}
		}
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return connector.Connect(ctx)
}

// quiet keeps the client of MySQL from printing what the tests bring about.
type quiet struct{}

func (quiet) Print(...any) {}

func (s kindsServer) openMySQL(t testing.TB, cause errorCause) (*troubled, error) {
	t.Helper()
	w, dsn := s.through(t, cause.isWired)
	config, err := mysqldriver.ParseDSN(dsn)
	if err != nil {
		return nil, errors.New("the test DSN cannot be parsed")
	}
	config.InterpolateParams, config.Logger = true, quiet{}
	later := &atomic.Pointer[detour]{}
	pool := sql.OpenDB(detouring{config: config, later: later})
	pool.SetMaxOpenConns(cause.conns)
	pool.SetMaxIdleConns(cause.conns)
	client := testclient.MySQL(t, pool)
	return &troubled{
		locker: client, client: client, wire: w, later: later, block: s.block,
		forget: func() {
			pool.SetMaxIdleConns(-1)
			pool.SetMaxIdleConns(cause.conns)
		},
		occupy: func(ctx context.Context) (free func(), err error) {
			tx, err := pool.BeginTx(ctx, nil)
			return func() { _ = tx.Rollback() }, err
		},
		close: func() {
			_ = client.Close()
			_ = pool.Close()
		},
	}, nil
}
