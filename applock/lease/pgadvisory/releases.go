package pgadvisory

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/internal/sessions"
)

// A release sends a message only if there may be waiters. Waiters show a hint: a shared advisory lock with two keys, one for the namespace
// and one of 256 that the object's key maps to. A releasing session tries to take the same lock exclusively for one statement, which fails
// while another session shows the hint. So hints are few, however many waiters there are, and seldom needless.
const (
	channel = "applock_advisory"
	hints   = 256
)

func hintOf(key LockKey) int32 { return int32(key.bits & (hints - 1)) }

// hintClass is the first key of the namespace's hints.
func (s *server) hintClass() int32 {
	digest := sha256.Sum256([]byte(s.namespace))
	return int32(binary.BigEndian.Uint32(digest[:4])) //nolint:gosec // the same bits
}

// hint shows hints for exactly these keys, if this program listens. A hint that another session blocks is tried again the next time.
func (s *session) hint(ctx context.Context, keys []LockKey) error {
	wanted := map[int32]bool{}
	if s.server.listening.Load() > 0 {
		for _, key := range keys {
			wanted[hintOf(key)] = true
		}
	}
	const (
		show = "SELECT h FROM unnest($2::int[]) AS h WHERE pg_try_advisory_lock_shared($1, h)"
		hide = "SELECT h FROM unnest($2::int[]) AS h WHERE pg_advisory_unlock_shared($1, h)"
	)
	shown, err := s.change(ctx, show, without(wanted, s.hints))
	if err != nil {
		return err
	}
	hidden := without(s.hints, wanted)
	if _, err := s.change(ctx, hide, hidden); err != nil {
		return err
	}
	for _, hint := range shown {
		s.hints[hint] = true
	}
	for _, hint := range hidden {
		delete(s.hints, hint)
	}
	return nil
}

func without(these, others map[int32]bool) (rest []int32) {
	for hint := range these {
		if !others[hint] {
			rest = append(rest, hint)
		}
	}
	return rest
}

func (s *session) change(ctx context.Context, query string, hints []int32) ([]int32, error) {
	if len(hints) == 0 {
		return nil, nil
	}
	rows, err := s.conn.Query(ctx, query, s.server.hintClass(), hints)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[int32])
}

const (
	// After pingPause without a message a listening connection pings the server, and waits pingLimit for the answer: a connection that a
	// firewall has dropped stays silent for ever.
	pingPause = 15 * time.Second
	pingLimit = 5 * time.Second
)

// Listen is [sessions.Notifier.Listen], on a connection of its own. A pooler is refused as for any session.
func (s *server) Listen(ctx context.Context) (lease.Listener, error) {
	conn, err := pgx.ConnectConfig(ctx, s.config.Copy())
	if err != nil {
		return nil, err
	}
	listening := &releases{server: s, conn: conn}
	if err := s.refusePooler(ctx, &session{conn: conn}); err != nil {
		return nil, errors.Join(err, listening.disconnect()) //nolint:contextcheck // also when ctx has ended
	}
	if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
		return nil, errors.Join(err, listening.disconnect()) //nolint:contextcheck // also when ctx has ended
	}
	s.listening.Add(1)
	return listening, nil
}

// releases is [lease.Listener].
type releases struct {
	server *server
	conn   *pgx.Conn
}

func (r *releases) Next(ctx context.Context) (lease.Message, error) {
	for {
		waiting, cancel := context.WithTimeout(ctx, pingPause)
		notification, err := r.conn.WaitForNotification(waiting)
		silent := waiting.Err() != nil
		cancel()
		switch {
		case err == nil:
			namespace, text, _ := strings.Cut(notification.Payload, ":")
			if object, err := applock.ParseObject(text); err == nil && namespace == r.server.namespace {
				return lease.Message{Object: object}, nil
			}
		case ctx.Err() != nil || !silent:
			return lease.Message{}, err
		default:
			if err := r.ping(ctx); err != nil {
				return lease.Message{}, err
			}
		}
	}
}

func (r *releases) ping(ctx context.Context) error {
	asking, cancel := context.WithTimeout(ctx, pingLimit)
	defer cancel()
	return r.conn.Ping(asking)
}

func (r *releases) Close() error {
	r.server.listening.Add(-1)
	return r.disconnect()
}

func (r *releases) disconnect() error {
	ctx, cancel := context.WithTimeout(context.Background(), pingLimit)
	defer cancel()
	return r.conn.Close(ctx)
}

var _ sessions.Notifier = (*server)(nil)
