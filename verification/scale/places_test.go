//go:build linux && scale

package scale

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"modernc.org/sqlite"

	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

// place is a product's database with one connection, so that what is counted is what a call has read.
type place struct {
	product string
	driver  db.Driver
	// execute runs a statement with one argument each of from and to, or with none.
	execute func(ctx context.Context, statement string, args ...any) error
	read    func(ctx context.Context) (counts, error)
	query   func(ctx context.Context, query string) ([][2]string, error)
}

func products() []string { return []string{"postgres", "mariadb", "mysql", "sqlite"} }

func newPlace(t *testing.T, product string) place {
	t.Helper()
	switch product {
	case "postgres":
		return newPostgres(t)
	case "sqlite":
		return newSQLite(t)
	}
	return newMySQL(t, product)
}

func migrated(t *testing.T, dsn string) {
	t.Helper()
	client, err := open.ByDSN(t.Context(), dsn, open.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	if _, err := migrate.Up(t.Context(), client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
}

func newPostgres(t *testing.T) place {
	t.Helper()
	dsn := testdb.Postgres(t)
	migrated(t, dsn)
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal("the DSN cannot be read")
	}
	config.MaxConns, config.MinConns = 1, 1
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	p := place{product: "postgres", driver: clients.Driver(testclient.Postgres(t, pool))}
	p.execute = func(ctx context.Context, statement string, args ...any) error {
		_, err := pool.Exec(ctx, statement, args...)
		return err
	}
	p.query = func(ctx context.Context, query string) (pairs [][2]string, err error) {
		rows, err := pool.Query(ctx, query)
		if err != nil {
			return nil, err
		}
		defer rows.Close()
		for rows.Next() {
			var pair [2]string
			if err := rows.Scan(&pair[0], &pair[1]); err != nil {
				return nil, err
			}
			pairs = append(pairs, pair)
		}
		return pairs, rows.Err()
	}
	p.read = func(ctx context.Context) (counts, error) {
		if err := p.execute(ctx, "SELECT pg_stat_force_next_flush()"); err != nil {
			return nil, err
		}
		return p.counts(ctx, `SELECT 'scan of ' || relname, (seq_scan + seq_tup_read)::text FROM pg_stat_user_tables WHERE schemaname = 'applock'
			UNION ALL SELECT indexrelname, (idx_scan + idx_tup_read)::text FROM pg_stat_user_indexes WHERE schemaname = 'applock'
			UNION ALL SELECT 'pages', sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)::text FROM pg_statio_user_tables WHERE schemaname = 'applock'`)
	}
	return p
}

func newMySQL(t *testing.T, product string) place {
	t.Helper()
	dsn := testdb.MySQL(t, product)
	handle := testdb.OpenMySQL(t, dsn, nil)
	handle.SetMaxOpenConns(1)
	p := ofHandle(t, product, dsn, handle)
	p.driver = clients.Driver(testclient.MySQL(t, handle))
	p.read = func(ctx context.Context) (counts, error) {
		return p.counts(ctx, `SHOW SESSION STATUS WHERE Variable_name IN ('Handler_read_first', 'Handler_read_key', 'Handler_read_last', 'Handler_read_next',
			'Handler_read_prev', 'Handler_read_rnd', 'Handler_read_rnd_next')`)
	}
	return p
}

func newSQLite(t *testing.T) place {
	t.Helper()
	path := filepath.Join(t.TempDir(), "million.db")
	dsn := "sqlite:" + path
	handle, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = handle.Close() })
	handle.SetMaxOpenConns(1)
	p := ofHandle(t, "sqlite", dsn, handle)
	p.driver = clients.Driver(testclient.SQLite(t, handle))
	p.read = func(ctx context.Context) (counts, error) {
		conn, err := handle.Conn(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { _ = conn.Close() }() // gives it back
		looked := 0
		err = conn.Raw(func(raw any) error {
			status := raw.(sqlite.DBStatus) //nolint:forcetypeassert // documented
			for _, what := range []sqlite.DBStatusOp{sqlite.DBStatusCacheHit, sqlite.DBStatusCacheMiss} {
				n, _, err := status.Status(what, false)
				if err != nil {
					return err
				}
				looked += n
			}
			return nil
		})
		return counts{pages: looked}, err
	}
	return p
}

func ofHandle(t *testing.T, product, dsn string, handle *sql.DB) place {
	t.Helper()
	migrated(t, dsn)
	p := place{product: product}
	p.execute = func(ctx context.Context, statement string, args ...any) error {
		_, err := handle.ExecContext(ctx, statement, args...)
		return err
	}
	p.query = func(ctx context.Context, query string) (pairs [][2]string, err error) {
		rows, err := handle.QueryContext(ctx, query)
		if err != nil {
			return nil, err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			var pair [2]string
			if err := rows.Scan(&pair[0], &pair[1]); err != nil {
				return nil, err
			}
			pairs = append(pairs, pair)
		}
		return pairs, rows.Err()
	}
	return p
}

func (p place) counts(ctx context.Context, query string) (counts, error) {
	pairs, err := p.query(ctx, query)
	if err != nil {
		return nil, err
	}
	c := counts{}
	for _, pair := range pairs {
		var n int
		if _, err := fmt.Sscan(pair[1], &n); err != nil {
			return nil, err
		}
		c[strings.TrimPrefix(pair[0], "Handler_read_")] = n
	}
	return c, nil
}

// countedRead is what a call has read, without what counting reads.
func (p place) countedRead(t *testing.T, call func()) counts {
	t.Helper()
	now := func() counts {
		c, err := p.read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := now()
	before := now()
	call()
	return now().minus(before).minus(before.minus(first))
}

func (p place) do(t *testing.T, statement string, args ...any) {
	t.Helper()
	if err := p.execute(t.Context(), statement, args...); err != nil {
		t.Fatalf("%.80s: %v", statement, err)
	}
}

// tables are what is filled and weighed.
func tables() []string {
	return []string{"appl_lock", "appl_lock_waiter", "appl_lock_ask", "appl_lock_viewer", "appl_lock_event", "appl_lock_policy"}
}

func (p place) analyze(t *testing.T) {
	t.Helper()
	for _, table := range tables() {
		switch p.product {
		case "postgres":
			p.do(t, "ALTER TABLE applock."+table+" SET (autovacuum_enabled = off)")
			p.do(t, "ANALYZE applock."+table)
		case "sqlite":
			p.do(t, "ANALYZE "+table)
		default:
			p.do(t, "ALTER TABLE "+table+" STATS_PERSISTENT = 1, STATS_AUTO_RECALC = 0")
			p.do(t, "ANALYZE TABLE "+table)
		}
	}
}

// fill writes the rows from one number to another into each table, all live, and 10,000 policies in all. An operator has perOperator of each.
func (p place) fill(t *testing.T, from, to int) {
	t.Helper()
	const step = 50_000 // rows of a statement, so that no transaction is large
	operators := max(testdb.Rows(t, fewRows)/perOperator, 1)
	const policies = 10_000
	for ; from <= to; from += step {
		last := min(from+step-1, to)
		for _, table := range tables() {
			if table != "appl_lock_policy" {
				p.do(t, p.numbered(table, operators), from, last)
			} else if from <= policies {
				p.do(t, p.numbered(table, operators), from, min(last, policies))
			}
		}
	}
}

// numbered is the statement that fills a table with rows of numbers n between two arguments.
func (p place) numbered(table string, operators int) string {
	numbers, schema := "WITH RECURSIVE s(n) AS (SELECT ? UNION ALL SELECT n + 1 FROM s WHERE n < ?)", ""
	now, later, n := "unixepoch() * 1000000", "unixepoch() * 1000000 + 86400000000", "CAST(n AS TEXT)"
	insert := "INSERT INTO %[1]s " + numbers + " SELECT %[2]s FROM s"
	flag := "'N'"
	switch p.product {
	case "postgres":
		schema, now, later, n, flag = "applock.", "now()", "now() + interval '1 day'", "n::text", "false"
		insert = "INSERT INTO %[1]s SELECT %[2]s FROM generate_series($1::int, $2::int) AS n"
	case "mariadb", "mysql":
		now, later, n = "UTC_TIMESTAMP(6)", "UTC_TIMESTAMP(6) + INTERVAL 1 DAY", "CAST(n AS CHAR)"
		insert = `INSERT INTO %[1]s SELECT %[2]s FROM (SELECT a.slot * 1000 + b.slot AS n FROM appl_lock_serialize AS a, appl_lock_serialize AS b
			WHERE a.slot <= 2000 AND b.slot < 1000 AND a.slot * 1000 + b.slot BETWEEN ? AND ?) AS s`
	}
	of := func(name string) string {
		if p.product == "mariadb" || p.product == "mysql" {
			return fmt.Sprintf("CONCAT('%s', n MOD %d)", name, operators)
		}
		return fmt.Sprintf("'%s' || (n %% %d)", name, operators)
	}
	rest := map[string]string{
		"appl_lock":        fmt.Sprintf("'customer', %s, %s, '', n, %s, %s, 3600, %s, '', %s, NULL", n, of("JDOE"), now, now, later, flag),
		"appl_lock_waiter": fmt.Sprintf("'customer', %s, %s, '', %s, %s, NULL, %s, %s", n, of("ASMITH"), of("p"), now, later, of("JDOE")),
		"appl_lock_ask": fmt.Sprintf("'customer', %s, %s, '', 'tab', '', %s, NULL, %s, %s, n, NULL, 'LATER', '', %s, NULL",
			n, of("BROWN"), now, later, of("JDOE"), now),
		"appl_lock_viewer": fmt.Sprintf("'customer', %s, %s, '', 'tab', 'VIEWING', %s, %s, %s", n, of("VIEWER"), now, now, later),
		"appl_lock_event": fmt.Sprintf("%s, 'customer', %s, 'TRANSFERRED', 'BOSS', '', '', %s, '', %s, '', n, n + 1, 'why'",
			now, n, of("OLD"), of("JDOE")),
		"appl_lock_policy": map[bool]string{true: "'type' || n", false: "CONCAT('type', n)"}[p.product == "postgres" || p.product == "sqlite"] +
			", 'N', 'CHANGES', 'Y'",
	}
	columns := map[string]string{
		"appl_lock_event": ` (event_ts, object_type, object_id, event, actor_id, db_user, program, from_operator_id, from_department_id,
			to_operator_id, to_department_id, from_fence, to_fence, reason)`,
		"appl_lock_policy": " (object_type, take_reason_fl, history_level, presence_fl)",
	}
	return fmt.Sprintf(insert, schema+table+columns[table], rest[table])
}

func (p place) server(t *testing.T) string {
	t.Helper()
	version, err := p.driver.Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(cmp.Or(version.Product, p.product) + " " + version.Version)
}
