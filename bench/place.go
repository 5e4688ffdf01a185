//go:build unix

package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // the database/sql driver "sqlite"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	mysqlclient "github.com/applock/applock/applock/mysql"
	"github.com/applock/applock/applock/postgres"
	"github.com/applock/applock/applock/sqlite"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	mysqldriver "github.com/applock/applock/internal/db/mysql"
)

const (
	productPostgres = "postgres"
	productMariaDB  = "mariadb"
	productMySQL    = "mysql"
	productSQLite   = "sqlite"
	productRedis    = "redis"
)

// server is where databases are made. For SQLite it is a directory without a DSN.
type server struct {
	product string
	dsn     string
	pid     int // 0 if unknown
}

// servers returns the servers that the environment names.
func servers(getenv func(string) string, complaints io.Writer) ([]server, error) {
	var found []server
	required := strings.Split(getenv("APPLOCK_TEST_REQUIRE"), ",")
	for _, product := range []string{productPostgres, productMariaDB, productMySQL, productRedis} {
		variable := "APPLOCK_TEST_" + strings.ToUpper(product)
		dsn := getenv(variable + "_DSN")
		switch {
		case dsn != "":
			pid, _ := strconv.Atoi(getenv(variable + "_PID")) // only testserver sets it
			found = append(found, server{product: product, dsn: dsn, pid: pid})
		case slices.Contains(required, product):
			return nil, fmt.Errorf("%s_DSN is not set, and APPLOCK_TEST_REQUIRE lists %s", variable, product)
		default:
			fmt.Fprintf(complaints, "bench: without %s: %s_DSN is not set\n", product, variable)
		}
	}
	return append(found, server{product: productSQLite}), nil
}

// place is a database with the schema, or a Redis.
type place struct {
	server
	statements statements
	raw        executor // for plain SQL; nil on Redis
	redis      *redis.Client
	closers    []func() error
}

// newPlace makes a database.
func newPlace(ctx context.Context, s server) (p *place, err error) {
	if s.product == productRedis {
		client, err := openRedis(s.dsn)
		if err != nil {
			return nil, err
		}
		return &place{server: s, redis: client, closers: []func() error{client.Close}}, nil
	}
	p = &place{server: s, statements: statementsOf(s.product)}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.remove())
		}
	}()
	if err := p.create(ctx); err != nil {
		return p, err
	}
	a, err := p.open(ctx, access{connections: manyConnections, name: "by hand", patience: 10 * time.Second})
	if err != nil {
		return p, err
	}
	p.raw = a.raw
	p.closers = append(p.closers, a.close)
	if _, err := migrate.Up(ctx, a.client, migrate.UpRequest{}); err != nil {
		return p, err
	}
	for _, statement := range slices.Concat(p.statements.tables, p.statements.least) {
		if err := p.raw.exec(ctx, statement); err != nil {
			return p, err
		}
	}
	for id := 1; id <= rowOf(manyConnections); id++ {
		if err := p.raw.exec(ctx, p.statements.insertRow, id); err != nil {
			return p, err
		}
	}
	return p, nil
}

// rowOf is the row of a goroutine in bench_row. No goroutine has row 1.
func rowOf(goroutine int) int { return goroutine + 2 }

// clear empties the tables.
func (p *place) clear(ctx context.Context) error {
	for _, statement := range p.statements.clear {
		if err := p.raw.exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// describe returns the product's version, and the settings that affect the cost of a commit.
func (p *place) describe(ctx context.Context) (product, error) {
	if p.redis != nil {
		return describeRedis(ctx, p.redis)
	}
	var d product
	return d, errors.Join(
		p.raw.row(ctx, p.statements.version, nil, &d.Version), p.raw.row(ctx, p.statements.settings, nil, &d.Settings))
}

// create makes the database, which remove drops.
func (p *place) create(ctx context.Context) error {
	name := "applock_bench_" + strings.ToLower(rand.Text())
	if p.product == productSQLite {
		directory, err := os.MkdirTemp("", "applock-bench-")
		p.dsn = filepath.Join(directory, "bench.db")
		p.closers = append(p.closers, func() error { return os.RemoveAll(directory) })
		return err
	}
	creator := &place{server: p.server}
	a, err := creator.open(ctx, access{connections: 1, name: "creator"})
	if err != nil {
		return err
	}
	p.closers = append(p.closers, a.close, func() error {
		return a.raw.exec(context.WithoutCancel(ctx), fmt.Sprintf(p.statements.dropDatabase, name))
	})
	if err := a.raw.exec(ctx, fmt.Sprintf(p.statements.createDatabase, name)); err != nil {
		return err
	}
	p.dsn, err = withDatabase(p.dsn, name)
	return err
}

// remove undoes everything, in reverse order.
func (p *place) remove() error {
	var err error
	for _, undo := range slices.Backward(p.closers) {
		err = errors.Join(err, undo())
	}
	return err
}

func withDatabase(dsn, name string) (string, error) {
	parsed, err := url.Parse(dsn)
	if err != nil {
		return "", errors.New("the server's DSN is not a URL") // it may hold a password
	}
	parsed.Path, parsed.RawPath = "/"+name, ""
	return parsed.String(), nil
}

const (
	// poolSize is the default number of competing goroutines and connections.
	poolSize = 8
	// manyConnections is the greatest number of connections.
	manyConnections = 64
)

// access says how to open a place.
type access struct {
	connections int
	name        string          // in PostgreSQL's list of connections
	tracer      pgx.QueryTracer // on PostgreSQL
	deaf        bool            // PostgreSQL: no connection to listen on
	patience    time.Duration   // SQLite: how long to wait for other writers; 0 is the default of open.ByDSN
	logger      *slog.Logger    // gets a record for each operation
}

// opened is a pool, with a client on it.
type opened struct {
	client      *applock.Client
	driver      db.Driver
	raw         executor
	connections func() int // of the pool
	close       func() error
}

func (p *place) open(ctx context.Context, a access) (opened, error) {
	switch p.product {
	case productPostgres:
		return p.openPostgres(ctx, a)
	case productSQLite:
		return p.openSQLite(a)
	default:
		return p.openMySQL(a)
	}
}

var errDeaf = errors.New("no more connections")

func (p *place) openPostgres(ctx context.Context, a access) (opened, error) {
	config, err := pgxpool.ParseConfig(p.dsn)
	if err != nil {
		return opened{}, errors.New("the DSN of PostgreSQL cannot be parsed")
	}
	config.MaxConns = int32(a.connections) //nolint:gosec // a handful
	config.ConnConfig.RuntimeParams["application_name"] = a.name
	config.ConnConfig.Tracer = a.tracer
	var complete atomic.Bool
	config.BeforeConnect = func(context.Context, *pgx.ConnConfig) error {
		if complete.Load() {
			return errDeaf
		}
		return nil
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return opened{}, err
	}
	if a.deaf {
		if err := fill(ctx, pool, a.connections); err != nil {
			pool.Close()
			return opened{}, err
		}
		complete.Store(true)
	}
	client, err := postgres.New(pool, postgres.Config{Logger: a.logger})
	if err != nil {
		pool.Close()
		return opened{}, err
	}
	return opened{
		client:      client,
		driver:      clients.Driver(client),
		raw:         pgExecutor{pool},
		connections: func() int { return int(pool.Stat().TotalConns()) },
		close:       func() error { defer pool.Close(); return client.Close() },
	}, nil
}

// fill makes a pool open all its connections.
func fill(ctx context.Context, pool *pgxpool.Pool, connections int) error {
	for range connections {
		conn, err := pool.Acquire(ctx)
		if err != nil {
			return err
		}
		defer conn.Release()
	}
	return nil
}

func (p *place) openMySQL(a access) (opened, error) {
	config, err := mysqldriver.ParseDSN(p.dsn)
	if err != nil {
		return opened{}, err
	}
	config.InterpolateParams = true
	config.ParseTime = true
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return opened{}, err
	}
	handle := sql.OpenDB(connector)
	client, err := mysqlclient.New(handle, mysqlclient.Config{Logger: a.logger})
	return openedOn(handle, a, client), err
}

// openSQLite opens the file as open.ByDSN does.
func (p *place) openSQLite(a access) (opened, error) {
	patience := cmp.Or(a.patience, 50*time.Millisecond)
	dsn := fmt.Sprintf("file:%s?_pragma=busy_timeout(%d)&_pragma=journal_mode(WAL)", p.dsn, patience.Milliseconds())
	handle, err := sql.Open("sqlite", dsn)
	if err != nil {
		return opened{}, err
	}
	client, err := sqlite.New(handle, sqlite.Config{Logger: a.logger})
	return openedOn(handle, a, client), err
}

func openedOn(handle *sql.DB, a access, client *applock.Client) opened {
	handle.SetMaxOpenConns(a.connections)
	handle.SetMaxIdleConns(a.connections)
	return opened{
		client:      client,
		driver:      clients.Driver(client),
		raw:         sqlExecutor{handle},
		connections: func() int { return handle.Stats().OpenConnections },
		close:       func() error { return errors.Join(client.Close(), handle.Close()) },
	}
}

// executor runs statements. Parameters are $1, $2 and so on for PostgreSQL, and ? elsewhere.
type executor interface {
	// handle is the pool, for peers.
	handle() *sql.DB
	exec(ctx context.Context, statement string, args ...any) error
	// row reads one row. No row is an error.
	row(ctx context.Context, query string, args []any, into ...any) error
}

type pgExecutor struct{ pool *pgxpool.Pool }

func (e pgExecutor) handle() *sql.DB { return stdlib.OpenDBFromPool(e.pool) }

func (e pgExecutor) exec(ctx context.Context, statement string, args ...any) error {
	_, err := e.pool.Exec(ctx, statement, args...)
	return err
}

func (e pgExecutor) row(ctx context.Context, query string, args []any, into ...any) error {
	return e.pool.QueryRow(ctx, query, args...).Scan(into...)
}

type sqlExecutor struct{ pool *sql.DB }

func (e sqlExecutor) handle() *sql.DB { return e.pool }

func (e sqlExecutor) exec(ctx context.Context, statement string, args ...any) error {
	_, err := e.pool.ExecContext(ctx, statement, args...)
	return err
}

func (e sqlExecutor) row(ctx context.Context, query string, args []any, into ...any) error {
	return e.pool.QueryRowContext(ctx, query, args...).Scan(into...)
}
