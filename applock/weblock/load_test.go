package weblock_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/applock/weblock"
	"github.com/applock/applock/internal/testing/testclient"
)

// calls counts the calls of a client, which on PostgreSQL are a statement each.
type calls struct {
	slog.Handler
	made *atomic.Int64
}

func (calls) Enabled(context.Context, slog.Level) bool { return true }

func (c calls) Handle(context.Context, slog.Record) error { c.made.Add(1); return nil }

// Goal: 1,000 pages that all edit are less than 150 statements a second. Method: the beats of 75 s, five of each page, without waiting for them: only
// the ends of the locks come nearer. The server's time of a processor is logged, for docs/weblock.md.
func TestHeavyThousandPages(t *testing.T) {
	t.Parallel()
	const pages, beats, every = 1000, 5, 15 * time.Second
	dsn := testclient.InstalledPostgres(t)
	connection, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close(context.Background()) }()
	made := new(atomic.Int64)
	client := testclient.Open(t, dsn, "", slog.New(calls{slog.DiscardHandler, made}))
	o := &office{handler: weblock.New(client, weblock.Config{Owner: owner})}
	open := make([]*tab, pages)
	for i := range open {
		open[i] = o.tab(fmt.Sprint("USER", i), "a")
		open[i].is(t, "open", keys{"object_id": fmt.Sprint(i)}, 200, "ACQUIRED", open[i].person)
	}
	made.Store(0)
	used := 0.0
	for range beats {
		if _, err := connection.Exec(t.Context(), "UPDATE applock.appl_lock SET expires_ts = expires_ts - interval '15 s'"); err != nil {
			t.Fatal(err)
		}
		before := processorSeconds(t, connection)
		for i, page := range open {
			page.is(t, "beat", keys{"object_id": fmt.Sprint(i)}, 200, "RENEWED", page.person)
		}
		used += processorSeconds(t, connection) - before
	}
	seconds := (beats * every).Seconds()
	statements := float64(made.Load()) / seconds
	t.Logf("%.0f statements a second, %.1f %% of a core in the server", statements, 100*used/seconds)
	if statements >= 150 || statements < 130 {
		t.Errorf("%.1f statements a second", statements)
	}
}

// processorSeconds returns what all processes of a server on this host have used.
func processorSeconds(t *testing.T, connection *pgx.Conn) (seconds float64) {
	t.Helper()
	rows, err := connection.Query(t.Context(), "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
	if err != nil {
		t.Fatal(err)
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it has ended, or the server is elsewhere
		}
		_, fields, _ := strings.Cut(string(stat), ") ")
		var user, system float64
		if _, err := fmt.Sscan(strings.Join(strings.Fields(fields)[11:13], " "), &user, &system); err != nil {
			t.Fatal(err)
		}
		seconds += (user + system) / 100
	}
	return seconds
}
