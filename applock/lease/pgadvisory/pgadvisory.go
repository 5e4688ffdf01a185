// Package pgadvisory keeps leases as session advisory locks of PostgreSQL: nothing to install, and nothing written.
//
// The locks of all leases are in a few sessions of the package's own, by default one. One more session listens while there are waiters.
// Neither a holder nor a waiter occupies a connection, and holders may acquire more while they hold.
//
// What it does not promise:
//   - Nothing is durable. The locks end with their session: after a restart, a failover or a killed session, all its leases are lost at
//     once. Their holders learn of it within a second. Until then other operators may already have the objects, and the program may pass
//     them on to its own waiters. There is no fence (it is 0) to keep a former holder's writes out.
//   - The locks are those of one database on one server. All programs must reach the same one. A standby has locks of its own, and is
//     refused (ErrReadOnly).
//   - It does not work through a pooler that lends sessions for one transaction at a time, such as PgBouncer with pool_mode = transaction.
//     Poolers are detected and refused; see Config.SessionPooler.
//   - The server does not know when a lease ends. If a holder's process or host stops without closing its connections, its objects stay
//     locked until the server has heard nothing for Config.Grace.
//   - A refusal because of another program's holder names its session, not its operator.
//   - Which program gets an object next is chance: each keeps it for a row of at least 0.5 s and two turns, and then pauses for the others.
//   - Each lock takes room in the server's lock table (max_locks_per_transaction), which is too small for hundreds of thousands.
//
// A lock is an exclusive session advisory lock with the single 64-bit key that [Key] returns, so programs in any language can take and see
// it. A collision of keys makes two objects exclude each other; it never lets two operators hold one. In SQL the key of customer:42 is
//
//	('x' || left(encode(sha256('applock:customer:42'), 'hex'), 16))::bit(64)::bigint
//
// To share locks with a program that uses its own keys, such as pg_advisory_lock(42) or pg_advisory_lock(1, 2), let [Config.Keys] return
// these keys for the objects.
//
// A release notifies waiters in other processes on the channel applock_advisory, with the payload applock:customer:42. A program with
// waiters listens there on one more connection. It shows that by shared advisory locks with two keys, so that a release without waiters
// sends nothing. A lock that ends with its session, or that another program releases, sends no message: polls find it within 250 ms.
package pgadvisory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/internal/sessions"
	"github.com/applock/applock/internal/pgproduct"
)

// Config says where the locks are.
type Config struct {
	// DSN names the database, as postgres://user@host:port/database or as key=value. Options of pools have no effect.
	DSN string
	// Namespace separates independent locks: up to 64 bytes without a colon. Empty is "applock".
	Namespace string
	// Keys, if set, returns the key of the lock on an object, always the same one, to share locks with another program. Two objects with the
	// same key exclude each other. An error of Keys refuses the object (ErrInvalid). Several goroutines call it at a time.
	Keys func(object applock.Object) (LockKey, error)
	// Sessions is how many sessions share the objects, 1 to 100; zero is 1. One is enough for any number of leases. More of them take and
	// release more locks at a time.
	Sessions int
	// Grace is how long objects stay locked after their holder's process or host has stopped without closing its connections: the server ends
	// a session that is silent for that long (idle_session_timeout). It is 3 s to 1 h; zero is 30 s. A session without an answer for a third
	// of it is given up, and its leases are lost.
	Grace time.Duration
	// SessionPooler says that DSN leads to a pooler that keeps one server session for each client, such as PgBouncer with pool_mode = session.
	// Without it a pooler is refused.
	SessionPooler bool
	// Logger gets errors from the background; nil logs nothing.
	Logger *slog.Logger
	// Hooks observe the leases.
	Hooks lease.Hooks
}

// New returns leases in sessions of their own, which Close ends. It does not connect: the first acquisition does. It returns ErrInvalid for
// an invalid configuration.
func New(config Config) (*lease.Leases, error) {
	server, common, err := configured(config)
	if err != nil {
		return nil, fmt.Errorf("pgadvisory: %w", err)
	}
	return sessions.New(server, common), nil
}

// configured returns the server and the settings of the sessions, or ErrInvalid.
func configured(config Config) (*server, sessions.Config, error) {
	common, err := sessions.Config{
		Namespace: config.Namespace, Sessions: config.Sessions, Grace: config.Grace, Logger: config.Logger, Hooks: config.Hooks,
	}.Checked()
	if err != nil {
		return nil, common, err
	}
	pool, err := pgxpool.ParseConfig(config.DSN)
	if err != nil { // err repeats the DSN, which may hold a password
		return nil, common, &applock.InvalidError{
			Argument: "dsn", Reason: "is not postgres://USER:PASSWORD@HOST:PORT/DATABASE or a list of key=value",
		}
	}
	if pool.ConnConfig.RuntimeParams["application_name"] == "" {
		pool.ConnConfig.RuntimeParams["application_name"] = sessions.ProgramName() // in pg_stat_activity and in other programs' refusals
	}
	return &server{
		config: pool.ConnConfig, pooler: config.SessionPooler, namespace: common.Namespace, keys: config.Keys,
	}, common, nil
}

type server struct {
	config    *pgx.ConnConfig
	pooler    bool
	namespace string
	keys      func(object applock.Object) (LockKey, error)
	listening atomic.Int32
}

var (
	errPooler = errors.New("the DSN leads to a connection pooler: an advisory lock belongs to a session. A pooler in transaction " +
		"mode gives that session to others while it has locks. Use a DSN that leads to the server itself. If the pooler " +
		"keeps one session for each client (PgBouncer: pool_mode = session), say so by SessionPooler")
	errStandby = errors.New("an advisory lock on a standby excludes nobody on the primary")
	errShared  = errors.New("the session has changed between two statements: a pooler in transaction mode gives it to others while " +
		"it has locks, contrary to SessionPooler; use a DSN that leads to the server itself")
)

func (s *server) Open(ctx context.Context, grace time.Duration) (sessions.Session[LockKey], error) {
	conn, err := pgx.ConnectConfig(ctx, s.config.Copy())
	if err != nil {
		return nil, err
	}
	opened := &session{server: s, conn: conn, hints: map[int32]bool{}}
	if err := s.prepare(ctx, opened, grace); err != nil {
		opened.Close(ctx)
		return nil, err
	}
	return opened, nil
}

// prepare refuses poolers, imitations of PostgreSQL and standbys, before it changes anything.
func (s *server) prepare(ctx context.Context, opened *session, grace time.Duration) error {
	if err := s.refusePooler(ctx, opened); err != nil {
		return err
	}
	const set = "SELECT pg_is_in_recovery(), set_config('idle_session_timeout', $1, false)"
	isStandby, isSet := false, ""
	if err := opened.conn.QueryRow(ctx, set, strconv.FormatInt(grace.Milliseconds(), 10)).Scan(&isStandby, &isSet); err != nil {
		return err
	}
	if isStandby { // until it is restarted or promoted
		return fmt.Errorf("%w: %w", applock.ErrReadOnly, errStandby)
	}
	return nil
}

// refusePooler finds out whether the session ends at a pooler. A server sends its clients the process id of their session, for cancelling;
// a pooler sends its own number. The same query returns the server's version.
func (s *server) refusePooler(ctx context.Context, opened *session) error {
	const ask = "SELECT version(), pg_backend_pid()"
	var version string
	if err := opened.conn.QueryRow(ctx, ask, pgx.QueryExecModeSimpleProtocol).Scan(&version, &opened.pid); err != nil {
		return err
	}
	if err := pgproduct.Check(version); err != nil {
		return err
	}
	if !s.pooler && opened.pid != opened.conn.PgConn().PID() {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, errPooler)
	}
	return nil
}

type session struct {
	server *server
	conn   *pgx.Conn
	pid    uint32
	hints  map[int32]bool
	// holders are the holders of the keys at holdersAsked. The query for them took holdersTook.
	holders      map[LockKey]string
	holdersAsked time.Time
	holdersTook  time.Duration
}

// holdersShare is the share of the time for queries of holders.
const holdersShare = 1.0 / 25

// advisoryLocks selects the advisory locks of all sessions in this database.
const advisoryLocks = `SELECT l.pid, (l.classid::bigint << 32) | l.objid::bigint AS bits, l.objsubid = 2 AS pair
	FROM pg_locks AS l
	WHERE l.locktype = 'advisory' AND l.granted
		AND l.database = (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database())`

func (s *session) TryLock(ctx context.Context, key LockKey) (holder string, err error) {
	statement := "SELECT pg_backend_pid(), pg_try_advisory_lock($1)"
	if key.pair {
		statement = "SELECT pg_backend_pid(), pg_try_advisory_lock(($1::bigint >> 32)::int, ($1::bigint << 32 >> 32)::int)"
	}
	var pid uint32
	var locked bool
	if err := s.conn.QueryRow(ctx, statement, key.bits).Scan(&pid, &locked); err != nil {
		return "", err
	}
	if pid != s.pid {
		return "", fmt.Errorf("%w: %w", errors.ErrUnsupported, errShared)
	}
	if locked {
		return "", nil
	}
	return s.holder(ctx, key)
}

// holder returns the session that has a key. The server reports only all locks at once, which is slow with many locks, so an answer serves
// later refusals, too.
func (s *session) holder(ctx context.Context, key LockKey) (string, error) {
	began := time.Now()
	if began.Sub(s.holdersAsked) > time.Duration(float64(s.holdersTook)/holdersShare) {
		rows, err := s.conn.Query(ctx, "SELECT l.bits, l.pair, format('session %s (%s)', l.pid, a.application_name) FROM ("+advisoryLocks+
			") AS l LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid")
		if err != nil {
			return "", err
		}
		holders, name := map[LockKey]string{}, ""
		var held LockKey
		remember := func() error { holders[held] = name; return nil }
		if _, err := pgx.ForEachRow(rows, []any{&held.bits, &held.pair, &name}, remember); err != nil {
			return "", err
		}
		s.holders, s.holdersAsked, s.holdersTook = holders, began, time.Since(began)
	}
	return cmp.Or(s.holders[key], "unknown"), nil
}

// Unlock is [sessions.Session.Unlock]. It notifies waiters, if there may be any.
func (s *session) Unlock(ctx context.Context, key LockKey, object applock.Object) (had bool, err error) {
	const (
		andNotify = "SELECT u.had, CASE WHEN u.had AND NOT pg_try_advisory_xact_lock($2, $3) THEN pg_notify($4, $5)::text END FROM " // after u
		one       = andNotify + "(SELECT pg_advisory_unlock($1) AS had) AS u"
		two       = andNotify + "(SELECT pg_advisory_unlock(($1::bigint >> 32)::int, ($1::bigint << 32 >> 32)::int) AS had) AS u"
	)
	unlock := one
	if key.pair {
		unlock = two
	}
	var notified *string
	text := sessions.Text(s.server.namespace, object)
	err = s.conn.QueryRow(ctx, unlock, key.bits, s.server.hintClass(), hintOf(key), channel, text).Scan(&had, &notified)
	return had, err
}

// Locked is [sessions.Session.Locked]. It returns all locks of the session, which is cheaper.
func (s *session) Locked(ctx context.Context, _ []LockKey) ([]LockKey, error) {
	return s.keys(ctx, "SELECT l.bits, l.pair FROM ("+advisoryLocks+") AS l WHERE l.pid = pg_backend_pid()")
}

// Free is [sessions.Session.Free]. It shows the hints first: then either this query finds a lock free, or its release finds the hint.
func (s *session) Free(ctx context.Context, keys []LockKey) ([]LockKey, error) {
	if err := s.hint(ctx, keys); err != nil || len(keys) == 0 {
		return nil, err
	}
	const free = "SELECT k.bits, k.pair FROM unnest($1::bigint[], $2::boolean[]) AS k (bits, pair) WHERE (k.bits, k.pair) NOT IN (" +
		"SELECT l.bits, l.pair FROM (" + advisoryLocks + ") AS l)"
	bits, pairs := make([]int64, len(keys)), make([]bool, len(keys))
	for i, key := range keys {
		bits[i], pairs[i] = key.bits, key.pair
	}
	return s.keys(ctx, free, bits, pairs)
}

func (s *session) keys(ctx context.Context, query string, args ...any) ([]LockKey, error) {
	rows, err := s.conn.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (key LockKey, err error) {
		err = row.Scan(&key.bits, &key.pair)
		return key, err
	})
}

func (s *session) Broken(err error) bool {
	return s.conn.IsClosed() || errors.Is(err, errShared)
}

// Close is [sessions.Session.Close]. Closing a broken connection takes some time.
func (s *session) Close(ctx context.Context) {
	_ = s.conn.Close(ctx) // the server ends the session in any case
	select {
	case <-s.conn.PgConn().CleanupDone():
	case <-ctx.Done():
	}
}
