package db

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"
)

const (
	// liveWithin is how long one connection may stay silent before the next one is tried, too.
	liveWithin = 100 * time.Millisecond
	// liveLimit is how long an answer may take. A connection that needs longer is closed.
	liveLimit = 5 * time.Second
)

// LiveConn returns a connection of a pool that answers: a network may have dropped idle connections without the pool's knowledge.
// Connections that answer late go back to the pool, and those that do not answer are closed.
func LiveConn(ctx context.Context, pool *sql.DB) (*sql.Conn, error) {
	idle := pool.Stats().Idle
	if idle == 0 {
		return pool.Conn(ctx)
	}
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	first := make(chan result)
	ask := func() { go askOne(asking, pool, first) }
	ask()
	next := time.NewTicker(liveWithin)
	defer next.Stop()
	for asked := 1; ; {
		select {
		case got := <-first:
			return got.conn, got.err
		case <-next.C:
			if asked <= idle { // the attempt after the idle ones gets a new connection
				asked++
				ask()
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

type result struct {
	conn *sql.Conn
	err  error
}

// askOne takes a connection, pings it, and sends it to first. If asking has ended by then, the connection goes back to the pool.
func askOne(asking context.Context, pool *sql.DB, first chan<- result) {
	conn, err := pool.Conn(asking)
	if err == nil && !isLive(asking, conn) {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // closes it
		return
	}
	select {
	case first <- result{conn, err}:
	case <-asking.Done():
		if err == nil {
			_ = conn.Close() // gives it back to the pool
		}
	}
}

// isLive ignores the end of ctx: this connection may just be slow, and stays in the pool then.
func isLive(ctx context.Context, conn *sql.Conn) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), liveLimit)
	defer cancel()
	return conn.PingContext(ctx) == nil
}
