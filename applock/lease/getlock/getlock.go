// Package getlock keeps leases as named locks of MySQL and MariaDB (GET_LOCK): nothing to install, and nothing written.
//
// The locks of all leases are in a few sessions of the package's own, by default one. Neither a holder nor a waiter occupies a connection,
// and holders may acquire more while they hold.
//
// What it does not promise:
//   - Nothing is durable. The locks end with their session: after a restart, a failover or a killed session, all its leases are lost at
//     once. Their holders learn of it within a second. Until then other operators may already have the objects, and the program may pass
//     them on to its own waiters. There is no fence (it is 0) to keep a former holder's writes out.
//   - The locks are those of one server, for all of its databases. All programs must reach the same server. A server that is read_only,
//     such as a replica or a secondary of a group, gives no locks (ErrReadOnly), but keeps those that it has given. A Galera cluster has no
//     such locks, and is refused.
//   - It does not work through a proxy that lends sessions for one statement or transaction at a time. It notices such a proxy only when a
//     session changes.
//   - The server does not know when a lease ends. If a holder's process or host stops without closing its connections, its objects stay
//     locked until the server has heard nothing for Config.Grace.
//   - A refusal because of another program's holder names its session, not its operator.
//   - Which program gets an object next is chance: each keeps it for a row of at least 0.5 s and two turns, and then pauses for the others.
//
// Waiters of other processes poll, so that they get a lock some milliseconds after its release. GET_LOCK's own queue would be quicker, but
// a session that waits in it can do nothing else, neither release nor check its locks. Each awaited object would need a session of its own
// until its lease ends. For a program that waits for one hot object, choose the table on PostgreSQL, pgadvisory or redislock, which send
// messages of releases.
//
// A lock has the name that [Name] returns, because the server's names have at most 64 characters and, on MySQL, no
// case. In SQL the name for customer:42, and which session has it, are
//
//	concat('applock:', left(sha2('applock:customer:42', 256), 56))
//	is_used_lock(concat('applock:', left(sha2('applock:customer:42', 256), 56)))
package getlock

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/internal/sessions"
	mysqldriver "github.com/applock/applock/internal/db/mysql"
)

// Config says where the locks are.
type Config struct {
	// DSN names the server, as mysql://user@host:port/database or in the form of github.com/go-sql-driver/mysql.
	// It need not name a database.
	DSN string
	// Namespace separates independent locks on one server: up to 64 bytes without a colon. Empty is "applock".
	Namespace string
	// Sessions is how many sessions share the objects, 1 to 100; zero is 1. One is enough for any number of leases. More of them take and
	// release more locks at a time.
	Sessions int
	// Grace is how long objects stay locked after their holder's process or host has stopped without closing its connections: the server ends
	// a session that is silent for that long (wait_timeout, in whole seconds). It is 3 s to 1 h; zero is 30 s. A session without an answer for
	// a third of it is given up, and its leases are lost.
	Grace time.Duration
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
		return nil, fmt.Errorf("getlock: %w", err)
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
	conn, err := mysqldriver.ParseDSN(config.DSN)
	if err != nil {
		return nil, common, &applock.InvalidError{Argument: "dsn", Reason: err.Error()}
	}
	conn.InterpolateParams = true // one round trip
	mysqldriver.BeginWith(conn, "autocommit = 1")
	if conn.ConnectionAttributes == "" {
		conn.ConnectionAttributes = "program_name:" + sessions.ProgramName() // in performance_schema.session_connect_attrs
	}
	connector, err := mysql.NewConnector(conn)
	if err != nil {
		return nil, common, &applock.InvalidError{Argument: "dsn", Reason: err.Error()}
	}
	return &server{connector: connector, namespace: common.Namespace}, common, nil
}

const (
	namePrefix = "applock:"
	// nameBytes is how many bytes of the digest fit behind the prefix, in hex.
	nameBytes = (64 - len(namePrefix)) / 2
)

// Name returns the name of the lock on an object: "applock:", and the first 56 hexadecimal digits of the SHA-256
// of NAMESPACE:TYPE:ID. An empty namespace is "applock".
func Name(namespace string, object applock.Object) string {
	digest := sessions.Digest(namespace, object)
	return namePrefix + hex.EncodeToString(digest[:nameBytes])
}

type server struct {
	connector driver.Connector
	namespace string
}

func (s *server) Name(object applock.Object) (string, error) { return Name(s.namespace, object), nil }

func (s *server) Open(ctx context.Context, grace time.Duration) (sessions.Session[string], error) {
	pool := sql.OpenDB(s.connector)
	conn, err := pool.Conn(ctx)
	if err != nil {
		_ = pool.Close() // it has no connections
		return nil, err
	}
	opened := &session{pool: pool, conn: conn}
	if err := opened.prepare(ctx, grace); err != nil {
		opened.Close(ctx)
		return nil, err
	}
	return opened, nil
}

var (
	errGalera = errors.New("this server is a member of a Galera cluster, where a named lock (GET_LOCK) excludes only those on the " +
		"same member: keep the locks in the table instead, with package applock/mysql")
	errShared = errors.New("the session has changed between two statements: a proxy gives it to others while it has locks; " +
		"use a DSN that leads to the server itself")
	errReplica = errors.New("a named lock (GET_LOCK) on a server that is read_only, as replicas are, excludes nobody on the primary")
	errNoLock  = errors.New("the server could not take the lock, and does not say why")
)

// session is a session on MySQL or MariaDB, and the only one of its pool.
type session struct {
	pool *sql.DB
	conn *sql.Conn
	id   int64
}

func (s *session) prepare(ctx context.Context, grace time.Duration) error {
	if err := s.refuseGalera(ctx); err != nil {
		return err
	}
	if err := s.conn.QueryRowContext(ctx, "SELECT connection_id()").Scan(&s.id); err != nil {
		return err
	}
	seconds := int64((grace + time.Second - 1) / time.Second)
	_, err := s.conn.ExecContext(ctx, "SET SESSION wait_timeout = ?", seconds)
	return err
}

// refuseGalera checks the settings, because a cluster's members take such locks without an error.
func (s *session) refuseGalera(ctx context.Context) error {
	const cluster = "SHOW GLOBAL VARIABLES WHERE variable_name = 'wsrep_on' AND value = 'ON' " +
		"OR variable_name = 'wsrep_provider' AND value NOT IN ('', 'none')"
	rows, err := s.conn.QueryContext(ctx, cluster)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }() // Err tells
	settings := 0
	for rows.Next() {
		settings++
	}
	if settings == 2 {
		return fmt.Errorf("%w: %w", errors.ErrUnsupported, errGalera)
	}
	return rows.Err()
}

// TryLock is [sessions.Session.TryLock]. For a lock that is being released the server names no holder. A server that is read_only takes no
// lock; it can become so while sessions go on.
func (s *session) TryLock(ctx context.Context, name string) (holder string, err error) {
	const try = "SELECT connection_id(), locate(@@global.read_only, '0 OFF') = 0, " +
		"CASE WHEN locate(@@global.read_only, '0 OFF') > 0 THEN get_lock(?, 0) END, coalesce(concat('session ', is_used_lock(?)), 'unknown')"
	var id int64
	var isReplica bool
	var got sql.NullBool
	err = s.conn.QueryRowContext(ctx, try, name, name).Scan(&id, &isReplica, &got, &holder)
	switch {
	case err != nil:
		return "", err
	case isReplica:
		return "", fmt.Errorf("%w: %w", applock.ErrReadOnly, errReplica)
	case id != s.id:
		return "", fmt.Errorf("%w: %w", errors.ErrUnsupported, errShared)
	case !got.Valid:
		return "", errNoLock
	case got.Bool:
		return "", nil
	}
	return holder, nil
}

func (s *session) Unlock(ctx context.Context, name string, _ applock.Object) (had bool, err error) {
	err = s.conn.QueryRowContext(ctx, "SELECT coalesce(release_lock(?), 0)", name).Scan(&had)
	return had, err
}

func (s *session) Locked(ctx context.Context, names []string) ([]string, error) {
	return s.which(ctx, "SELECT t.name FROM "+nameTable+" WHERE is_used_lock(t.name) = connection_id()", names)
}

func (s *session) Free(ctx context.Context, names []string) ([]string, error) {
	return s.which(ctx, "SELECT t.name FROM "+nameTable+" WHERE is_free_lock(t.name) = 1", names)
}

// nameTable makes a table of a list of names.
const nameTable = "json_table(?, '$[*]' COLUMNS (name VARCHAR(64) PATH '$')) AS t"

func (s *session) which(ctx context.Context, query string, names []string) ([]string, error) {
	list, err := json.Marshal(names)
	if err != nil {
		return nil, err
	}
	rows, err := s.conn.QueryContext(ctx, query, string(list))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // Err tells
	var found []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		found = append(found, name)
	}
	return found, rows.Err()
}

// Broken is [sessions.Session.Broken]. After an answer the session is usable, unless the server ends it.
// https://dev.mysql.com/doc/mysql-errors/en/server-error-reference.html
// https://mariadb.com/docs/server/reference/error-codes/mariadb-error-code-reference
func (s *session) Broken(err error) bool {
	var answer *mysql.MySQLError
	if !errors.As(err, &answer) {
		return !errors.Is(err, errNoLock)
	}
	switch answer.Number {
	case 1053, 1927, 4031: // shutdown, killed, silent for too long
		return true
	}
	return false
}

func (s *session) Close(context.Context) {
	_ = s.conn.Close() // the server ends the session in any case
	_ = s.pool.Close()
}
