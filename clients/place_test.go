package clients_test

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the database/sql driver "pgx"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	mysqldriver "github.com/applock/applock/internal/db/mysql"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

const (
	onPostgres = "postgres"
	onMariaDB  = "mariadb"
	onMySQL    = "mysql"
)

// place is a database of its own with the operations installed.
type place struct {
	product string
	dsn     string
	client  *applock.Client
	handle  *sql.DB
	// environment tells programs where it is, in the variables that the products' own clients and DBI read, and two more.
	environment []string
}

func newPlace(t *testing.T, product string) place {
	t.Helper()
	at := place{product: product}
	if product == onPostgres {
		at.openPostgres(t, testdb.Postgres(t))
	} else {
		at.openMySQL(t, testdb.MySQL(t, product))
	}
	if _, err := migrate.Up(t.Context(), at.client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	return at
}

func (p *place) openPostgres(t *testing.T, dsn string) {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		t.Fatal("the DSN cannot be parsed")
	}
	handle, err := openHandle(dsn)
	if err != nil {
		t.Fatal("the DSN cannot be parsed")
	}
	t.Cleanup(func() { _ = handle.Close() })
	p.dsn, p.client, p.handle = dsn, testclient.Open(t, dsn, "", nil), handle
	p.environment = []string{
		"PGHOST=" + config.Host, "PGPORT=" + strconv.Itoa(int(config.Port)), "PGUSER=" + config.User,
		"PGPASSWORD=" + config.Password, "PGDATABASE=" + config.Database, "DBI_DSN=dbi:Pg:",
		"PATH=" + programs(t, "psql", testdb.Psql(t)),
	}
}

func (p *place) openMySQL(t *testing.T, dsn string) {
	t.Helper()
	config, err := mysqldriver.ParseDSN(dsn)
	if err != nil {
		t.Fatal("the DSN cannot be parsed")
	}
	host, port, err := net.SplitHostPort(config.Addr)
	if err != nil {
		t.Fatal(err)
	}
	p.dsn, p.client, p.handle = dsn, testclient.Open(t, dsn, "", nil), testdb.OpenMySQL(t, dsn, nil)
	p.environment = []string{
		"MYSQL_HOST=" + host, "MYSQL_TCP_PORT=" + port, "MYSQL_USER=" + config.User,
		"MYSQL_PWD=" + config.Passwd, "MYSQL_DATABASE=" + config.DBName,
		"DBI_DSN=dbi:MariaDB:host=" + host + ";port=" + port + ";database=" + config.DBName,
		"DBI_USER=" + config.User, "DBI_PASS=" + config.Passwd,
		"PATH=" + programs(t, p.product, testdb.MySQLClient(t, p.product)),
	}
}

// programs returns a PATH in which a product's own client goes by its name.
func programs(t *testing.T, name, client string) string {
	t.Helper()
	folder := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\"\n", client)
	if err := os.WriteFile(filepath.Join(folder, name), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return folder + string(filepath.ListSeparator) + os.Getenv("PATH")
}

// version is the server's.
func (p place) version(t *testing.T) string {
	t.Helper()
	var version string
	query := "SELECT version()"
	if p.product == onPostgres {
		query = "SHOW server_version"
	}
	if err := p.handle.QueryRowContext(t.Context(), query).Scan(&version); err != nil {
		t.Fatal(err)
	}
	version, _, _ = strings.Cut(version, " ")
	version, _, _ = strings.Cut(version, "-")
	return version
}

// openHandle opens a pool on either kind of DSN.
func openHandle(dsn string) (*sql.DB, error) {
	if !strings.HasPrefix(dsn, "mysql:") {
		return sql.Open("pgx", dsn)
	}
	config, err := mysqldriver.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// table is one of those that the operations write to, with its columns of time.
type table struct {
	name  string
	times []string
}

func (p place) tables() []table {
	tables := []table{
		{"appl_lock", []string{"acquired_ts", "lock_ts", "expires_ts", "released_ts"}},
		{"appl_lock_waiter", []string{"since_ts", "until_ts", "expires_ts"}},
		{"appl_lock_ask", []string{"since_ts", "until_ts", "expires_ts", "shown_ts", "answered_ts", "edited_ts"}},
		{"appl_lock_viewer", []string{"since_ts", "seen_ts", "expires_ts"}},
		{"appl_lock_event", []string{"event_ts"}},
		{"appl_lock_policy", nil},
	}
	if p.product == onPostgres {
		for i := range tables {
			tables[i].name = "applock." + tables[i].name
		}
	}
	return tables
}

// empty removes all locks, waiters, requests, viewers, events and policies.
func (p place) empty(ctx context.Context) error {
	for _, table := range p.tables() {
		if _, err := p.handle.ExecContext(ctx, "DELETE FROM "+table.name); err != nil {
			return err
		}
	}
	return nil
}

// advance moves the timestamps of all rows into the past.
func (p place) advance(ctx context.Context, duration time.Duration) error {
	interval := fmt.Sprintf("INTERVAL %d MICROSECOND", duration.Microseconds())
	if p.product == onPostgres {
		interval = fmt.Sprintf("INTERVAL '%d microseconds'", duration.Microseconds())
	}
	for _, table := range p.tables() {
		if len(table.times) == 0 {
			continue
		}
		var changes []string
		for _, column := range table.times {
			changes = append(changes, fmt.Sprintf("%s = %s - %s", column, column, interval))
		}
		if _, err := p.handle.ExecContext(ctx, "UPDATE "+table.name+" SET "+strings.Join(changes, ", ")); err != nil {
			return err
		}
	}
	return nil
}
