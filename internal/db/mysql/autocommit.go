package mysql

import (
	"context"
	"database/sql"
	"reflect"
	"sync"

	"github.com/applock/applock/internal/db"
)

// Statements around the work on a connection without autocommit. The first commits what a statement outside a transaction, such as a read,
// has left open there, as the program's own BEGIN would: else the work would see an old view of the data, and nobody would commit it.
const (
	switchOn   = "SET @applock_autocommit = @@SESSION.autocommit, SESSION autocommit = 1"
	switchBack = "SET SESSION autocommit = @applock_autocommit"
)

// spareSettings is how many connections more than twice those of the pool are remembered.
const spareSettings = 8

// settings remembers which connections of a caller's pool are without autocommit. It is safe for concurrent use.
type settings struct {
	pool  *sql.DB
	mutex sync.Mutex
	// isOff has the client's connections, also some that have ended.
	isOff map[any]bool
}

func newSettings(pool *sql.DB) *settings { return &settings{pool: pool, isOff: map[any]bool{}} }

// switchOn puts a connection into autocommit, and returns the statements that undo that. Only the first call on a connection asks for its
// setting. A nil *settings is that of a pool of ours, which is in autocommit.
func (s *settings) switchOn(ctx context.Context, conn *sql.Conn) (undo []string, err error) {
	if s == nil {
		return nil, nil
	}
	var client any
	err = conn.Raw(func(raw any) error {
		if reflect.ValueOf(raw).Comparable() { // as a pointer is, but not each value of a driver around the client's
			client = raw
		}
		return nil
	})
	if err != nil {
		return nil, connectError(ctx, err)
	}
	isOff, known := s.find(client)
	if known && !isOff {
		return nil, nil
	}
	defer db.Connects(ctx, func() bool { return false })() // the call itself is not sent yet
	if !known {
		if err := conn.QueryRowContext(ctx, "SELECT NOT @@SESSION.autocommit").Scan(&isOff); err != nil {
			return nil, connectError(ctx, err)
		}
		s.remember(client, isOff)
	}
	if !isOff {
		return nil, nil
	}
	if _, err := conn.ExecContext(ctx, switchOn); err != nil {
		return nil, connectError(ctx, err)
	}
	return []string{switchBack}, nil
}

func (s *settings) find(client any) (isOff, known bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	isOff, known = s.isOff[client]
	return isOff, known
}

// remember forgets all connections when most of them must have ended: nobody tells when one ends.
func (s *settings) remember(client any, isOff bool) {
	if client == nil {
		return
	}
	open := s.pool.Stats().OpenConnections
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.isOff) > 2*open+spareSettings {
		clear(s.isOff)
	}
	s.isOff[client] = isOff
}
