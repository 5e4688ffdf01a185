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
	// probeLimit is how long the listener waits for its test message.
	probeLimit = time.Second
	// After pingPause without a message the listener pings the server, and waits pingLimit for the answer: a connection that a firewall has
	// dropped stays silent for ever.
	pingPause = 15 * time.Second
	pingLimit = 5 * time.Second
)

// Listen opens a connection like the pool's and listens there to the channel of release_appl_lock. It returns db.ErrNoListen in a caller's
// transaction, on a database/sql pool, and where messages do not arrive.
func (d *Driver) Listen(ctx context.Context) (db.Listener, error) {
	if d.tx != nil {
		return nil, db.ErrNoListen
	}
	return d.pool.listen(ctx, d.schema+"_appl_lock")
}

// listen listens on a connection of its own.
//
// Behind a pooler that lends sessions for one transaction at a time (PgBouncer in transaction or statement mode), LISTEN succeeds, but in a
// session that other clients use afterwards. So listen first tests a random channel: the pool sends a message while the new connection only
// waits. The message arrives only if the session stays with that connection. A message from the new connection itself would prove nothing,
// since the pooler usually runs it in the session that has just listened. After a failed test that session listens to the random channel,
// which stays silent, and not to ours, whose messages its next clients would receive.
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
	config.ConnConfig.OnNotification = nil // the caller's handler would consume the messages
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

// try sends a test message through the pool and waits for it.
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

// listener is a connection that listens to a channel.
type listener struct {
	conn                 *pgx.Conn
	pingPause, pingLimit time.Duration
}

// to listens to a channel. A standby refuses that: it has no messages.
func (l *listener) to(ctx context.Context, channel string) error {
	_, err := l.conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize())
	var refusal *pgconn.PgError
	if errors.As(err, &refusal) && kindOfState(refusal.Code) == db.KindOther {
		return fmt.Errorf("%w: %w", db.ErrNoListen, err)
	}
	return interpretError(err)
}

// Next waits for a message. After an error other than ctx's the connection is broken.
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
