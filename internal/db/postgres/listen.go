package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/internal/db"
)

const (
	// probeLimit is how long the listener's first message may take.
	probeLimit = time.Second
	// pingPause is after how much silence the listener asks the server whether it is still there, and pingLimit how
	// long that answer may take: a connection that a firewall has forgotten is silent for ever.
	pingPause = 15 * time.Second
	pingLimit = 5 * time.Second
)

// Listen opens a connection of its own, as the pool would, and listens there to the channel of release_appl_lock.
// It returns db.ErrNoListen in a caller's transaction, on a pool of database/sql, and where messages do not arrive.
func (d *Driver) Listen(ctx context.Context) (db.Listener, error) {
	if d.tx != nil {
		return nil, db.ErrNoListen
	}
	return d.pool.listen(ctx, d.schema+"_appl_lock")
}

// listen listens on a connection beside the pool.
//
// Messages do not arrive behind a pooler that gives a session to its clients for one transaction at a time, such as PgBouncer in
// transaction or statement mode: LISTEN succeeds there, in a session that is somebody else's afterwards. So Listen
// first tries a channel that nobody else knows, with a message that the pool sends while the new connection does
// nothing but wait. What the pooler then has for the session goes to whoever uses it at that moment, or to nobody; the
// waiting connection gets it only if the session is its own all the time. A message sent on the new connection itself
// would prove nothing: that it is answered by the session that has just listened is the usual case. A failed trial
// leaves that session listening to a channel that never says anything again, and not to ours, whose messages its other
// users would collect.
func (p pgxPool) listen(ctx context.Context, channel string) (db.Listener, error) {
	conn, err := connect(ctx, p.pool)
	if err != nil {
		return nil, db.NotFree(ctx, interpretError(err), p.allInUse())
	}
	listening := &listener{conn: conn, pingPause: pingPause, pingLimit: pingLimit}
	if err := p.beginToListen(ctx, listening, channel); err != nil {
		_ = listening.Close() //nolint:contextcheck // also when ctx has ended; the first error tells more
		return nil, err
	}
	return listening, nil
}

// connect makes a connection with a pool's hooks.
func connect(ctx context.Context, pool *pgxpool.Pool) (*pgx.Conn, error) {
	config := pool.Config()
	if config.BeforeConnect != nil {
		if err := config.BeforeConnect(ctx, config.ConnConfig); err != nil {
			return nil, err
		}
	}
	config.ConnConfig.OnNotification = nil // the caller's would swallow what we wait for
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil || config.AfterConnect == nil {
		return conn, err
	}
	if err := config.AfterConnect(ctx, conn); err != nil {
		_ = conn.Close(ctx) // the hook's error tells more
		return nil, err
	}
	return conn, nil
}

func (p pgxPool) beginToListen(ctx context.Context, listening *listener, channel string) error {
	trial := "applock_trial_" + rand.Text()
	if err := listening.to(ctx, trial); err != nil {
		return err
	}
	if err := p.try(ctx, listening.conn, trial); err != nil {
		return err
	}
	if err := listening.to(ctx, channel); err != nil {
		return err
	}
	_, err := listening.conn.Exec(ctx, "UNLISTEN "+pgx.Identifier{trial}.Sanitize())
	return interpretError(err)
}

// try sends a message from the pool and waits for it.
func (p pgxPool) try(ctx context.Context, conn *pgx.Conn, channel string) error {
	if _, err := p.pool.Exec(ctx, "NOTIFY "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return interpretError(err)
	}
	waiting, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	_, err := conn.WaitForNotification(waiting)
	if err != nil && ctx.Err() == nil && waiting.Err() != nil {
		return fmt.Errorf("%w: LISTEN works, but no message arrives within %s", db.ErrNoListen, probeLimit)
	}
	return interpretError(err)
}

// listener is a connection that listens.
type listener struct {
	conn                 *pgx.Conn
	pingPause, pingLimit time.Duration
}

// to listens to a channel. A server that refuses, as a standby does, has no messages.
func (l *listener) to(ctx context.Context, channel string) error {
	_, err := l.conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize())
	var refusal *pgconn.PgError
	if errors.As(err, &refusal) && kindOfState(refusal.Code) == db.KindOther {
		return fmt.Errorf("%w: %w", db.ErrNoListen, err)
	}
	return interpretError(err)
}

// Next waits for a message. After an error that is not ctx's the connection is of no use any more.
func (l *listener) Next(ctx context.Context) (string, error) {
	for {
		waiting, cancel := context.WithTimeout(ctx, l.pingPause)
		notification, err := l.conn.WaitForNotification(waiting)
		silent := waiting.Err() != nil
		cancel()
		if err == nil {
			return notification.Payload, nil
		}
		if ctx.Err() != nil || !silent {
			return "", interpretError(err)
		}
		if err := l.ping(ctx); err != nil {
			return "", interpretError(err)
		}
	}
}

func (l *listener) ping(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, l.pingLimit)
	defer cancel()
	return l.conn.Ping(asking)
}

// Close ends the connection. It must not be called while Next is waiting: end Next's context first.
func (l *listener) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), l.pingLimit)
	defer cancel()
	return l.conn.Close(ctx)
}
