package weblock_test

import (
	"context"
	"fmt"
	"log/slog"
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
// the ends of the locks come nearer.
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
	for range beats {
		if _, err := connection.Exec(t.Context(), "UPDATE applock.appl_lock SET expires_ts = expires_ts - interval '15 s'"); err != nil {
			t.Fatal(err)
		}
		for i, page := range open {
			page.is(t, "beat", keys{"object_id": fmt.Sprint(i)}, 200, "RENEWED", page.person)
		}
	}
	if statements := float64(made.Load()) / (beats * every).Seconds(); statements >= 150 || statements < 130 {
		t.Errorf("%.1f statements a second", statements)
	}
}
