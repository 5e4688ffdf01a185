package db_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/internal/db"
)

// pinged is a connection whose answers take so long.
type pinged struct {
	driver.Conn
	server *pingedServer
	delay  time.Duration
}

func (c *pinged) Ping(ctx context.Context) error {
	select {
	case <-time.After(c.delay):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *pinged) Close() error {
	c.server.closed.Add(1)
	return nil
}

// pingedServer makes connections that answer at once, until a test says something else.
type pingedServer struct {
	made   []*pinged
	closed atomic.Int64
}

func (s *pingedServer) Connect(context.Context) (driver.Conn, error) {
	conn := &pinged{server: s}
	s.made = append(s.made, conn)
	return conn, nil
}

func (s *pingedServer) Driver() driver.Driver { return nil }

// Goal: a network that has forgotten the idle connections of a pool costs those who want a live one a moment, and connections that are just
// slow are not closed. Method: four idle connections of which all, or all but the last one asked, are dead; or slow.
func TestLiveConn(t *testing.T) {
	t.Parallel()
	const idle, dead = 4, time.Hour
	for name, test := range map[string]struct {
		delays [idle]time.Duration
		made   int
		closed int64
		within time.Duration
	}{
		"live": {made: idle},
		"dead": {delays: [idle]time.Duration{dead, dead, dead, dead}, made: idle + 1, closed: idle, within: idle * 100 * time.Millisecond},
		"slow": {
			delays: [idle]time.Duration{time.Second, time.Second, time.Second, time.Second}, made: idle + 1,
			within: idle * 100 * time.Millisecond,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := &pingedServer{}
				pool := sql.OpenDB(server)
				defer func() { _ = pool.Close() }()
				pool.SetMaxIdleConns(2 * idle)
				var conns [idle]*sql.Conn
				for i := range conns {
					conns[i], _ = pool.Conn(t.Context())
				}
				for i, conn := range conns {
					_ = conn.Close()
					server.made[i].delay = test.delays[i]
				}
				began := time.Now()
				conn, err := db.LiveConn(t.Context(), pool)
				took := time.Since(began)
				if err != nil || took > test.within || conn.PingContext(t.Context()) != nil {
					t.Fatalf("after %s: %v, want a live one within %s", took, err, test.within)
				}
				_ = conn.Close()
				time.Sleep(time.Minute)
				synctest.Wait()
				if len(server.made) != test.made || server.closed.Load() != test.closed {
					t.Errorf("%d made and %d closed, want %d and %d", len(server.made), server.closed.Load(), test.made, test.closed)
				}
			})
		})
	}
}

// Goal: a caller whose ctx ends before there is a live connection gets that error, and a server's refusal is returned as it is. Method: all
// are dead, and ctx ends; a closed pool.
func TestNoLiveConn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &pingedServer{}
		pool := sql.OpenDB(server)
		conn, _ := pool.Conn(t.Context())
		_ = conn.Close()
		server.made[0].delay = time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := db.LiveConn(ctx, pool); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want that ctx has ended", err)
		}
		_ = pool.Close()
		if _, err := db.LiveConn(t.Context(), pool); err == nil {
			t.Error("a connection of a pool that is closed")
		}
		time.Sleep(time.Minute)
		synctest.Wait()
	})
}
