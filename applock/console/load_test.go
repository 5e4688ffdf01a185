package console

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/reading"
	"github.com/applock/applock/applock/postgres"
	"github.com/applock/applock/internal/testing/testclient"
)

// queries counts what goes to PostgreSQL.
type queries struct{ number atomic.Int64 }

func (q *queries) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	q.number.Add(1)
	return ctx
}

func (q *queries) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// countedPostgres returns a database of PostgreSQL with so many locks, all of which end within the hour.
func countedPostgres(t testing.TB, locks int) (*applock.Client, *queries) {
	t.Helper()
	pooled, err := pgxpool.ParseConfig(testclient.InstalledPostgres(t))
	if err != nil {
		t.Fatal("the DSN is none of PostgreSQL")
	}
	sent := &queries{}
	pooled.ConnConfig.Tracer = sent
	pool, err := pgxpool.NewWithConfig(t.Context(), pooled)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	client, err := postgres.New(pool, postgres.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(t.Context(), `INSERT INTO applock.appl_lock (object_type, object_id, operator_id, department_id, fence, acquired_ts, lock_ts, ttl_seconds, expires_ts)
		SELECT 'customer', lpad(i::text, 5, '0'), 'jdoe', 'sales', i, now(), now(), 3600, now() + interval '59 minutes' FROM generate_series(1, $1::int) AS i`,
		locks); err != nil {
		t.Fatal(err)
	}
	return client, sent
}

// pageMost bounds the bytes of a page of a hundred locks, each with a box to select it where somebody may change things.
const pageMost = 56 * 1024

// Goal: a page of ten thousand locks is four queries on a server, for the locks, who waits, who asks and who looks, also for who may change things,
// whose rights are not asked for with each page. Method: count what goes to PostgreSQL; and the time of fifty first pages, which is told and not judged: docs/console.md has it.
func TestPageIsFourQueries(t *testing.T) {
	t.Parallel()
	client, sent := countedPostgres(t, 10000)
	config := supervisor()
	config.Timeout = time.Hour
	for who, d := range map[string]desk{"who looks": deskOn(client, Config{Timeout: time.Hour}), "a supervisor": deskOn(client, config)} {
		d.see(t, "/locks", http.StatusOK) // the rights, for who may change, and how many locks there are
		rights := d.console.own.rights(t.Context())
		d.console.own.rights = func(context.Context) map[string]bool { return rights } // however slow this is, no minute is over
		d.console.own.reader.Counts.Age = time.Hour
		for _, address := range []string{"/locks", "/locks?after=customer%3A05000", "/locks?type=customer&operator=jdoe&department=sales"} {
			before := sent.number.Load()
			page := d.see(t, address, http.StatusOK)
			if got := sent.number.Load() - before; got != 4 {
				t.Errorf("%s: %s is %d queries", who, address, got)
			}
			if rows := strings.Count(page, `<th scope="row">`); rows != reading.RowsOfPage || len(page) > pageMost {
				t.Errorf("%s: %s has %d locks in %d bytes", who, address, rows, len(page))
			}
		}
		var times []time.Duration
		for range 50 {
			begun := time.Now()
			d.see(t, "/locks", http.StatusOK)
			times = append(times, time.Since(begun))
		}
		slices.Sort(times)
		t.Logf("%s: the first page of 10,000 locks takes %s, the median of 50; the fastest %s, the slowest %s", who, times[25], times[0], times[49])
	}
}
