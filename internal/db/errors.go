package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// ErrNoSchemas is what is wrong with any schema where the dialect has none.
var ErrNoSchemas = errors.New("this dialect has no schemas")

// ErrNoListen is the answer of Listen where no messages are to be had.
var ErrNoListen = errors.New("no messages of releases here")

// Kind tells what an error means to the caller, so that nobody looks at texts or at a client's types.
type Kind int

// The kinds of errors.
const (
	// KindOther is an error that needs no word of ours.
	KindOther Kind = iota
	// KindInvalid is LK001: an argument that the procedure refuses.
	KindInvalid
	// KindAssertion is LK002: the asserted grant is not live.
	KindAssertion
	// KindContention is LK003: the object changed hands too often during the call.
	KindContention
	// KindSchema means that the operation, the table or the schema does not exist.
	KindSchema
	// KindUnreachable means that no connection could be made; nothing has happened.
	KindUnreachable
	// KindPool means that no connection of the pool was free in time; nothing has happened.
	KindPool
	// KindFull means that the server accepts no more connections; nothing has happened.
	KindFull
	// KindClosed means that the pool has been closed; nothing has happened.
	KindClosed
	// KindAuthentication means that the server refused the user or the password.
	KindAuthentication
	// KindNoDatabase means that the server has no such database.
	KindNoDatabase
	// KindNoAccount means that a grant or a definer names an account that the server has not.
	KindNoAccount
	// KindPrivilege means that the user lacks a grant.
	KindPrivilege
	// KindReadOnly means that the server, the session or the file takes no changes; nothing has happened.
	KindReadOnly
	// KindBusy means that the wait for another transaction was cut off; nothing has happened.
	KindBusy
	// KindRetry is a deadlock or serialization failure: the transaction must be repeated.
	KindRetry
	// KindPooler means that a pooler has mixed up what its clients have prepared; nothing has happened.
	KindPooler
	// KindInFlight means that the call was sent and no answer came back: it may have taken effect.
	KindInFlight
)

// KindOfState returns the kind of the contract's own SQLSTATEs, the same in every server dialect, and KindOther
// for any other.
func KindOfState(state string) Kind {
	switch state {
	case "LK001":
		return KindInvalid
	case "LK002":
		return KindAssertion
	case "LK003":
		return KindContention
	}
	return KindOther
}

// Error is an error of a driver. Its text is the database client's.
type Error struct {
	Kind Kind
	Err  error
}

// Error returns the text of the wrapped error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the database client's error.
func (e *Error) Unwrap() error { return e.Err }

// GrantError is an error of a statement that grants or revokes: what its text names the account may not give away, whether or not it has it.
type GrantError struct{ Err error }

// Error returns the text of the wrapped error.
func (e *GrantError) Error() string { return e.Err.Error() }

// Unwrap returns the driver's error.
func (e *GrantError) Unwrap() error { return e.Err }

// KindOf returns the kind of a driver's error, KindOther for any other error.
func KindOf(err error) Kind {
	if dbErr, ok := errors.AsType[*Error](err); ok {
		return dbErr.Kind
	}
	return KindOther
}

// NotSent returns a driver's error from before there was a connection: what would be an unknown outcome later is a
// database that cannot be reached. Once ctx has ended the error tells why.
func NotSent(ctx context.Context, err error) error {
	var dbErr *Error
	if !errors.As(err, &dbErr) {
		return err
	}
	if ended := EndOf(ctx); ended != nil && (dbErr.Kind == KindInFlight || dbErr.Kind == KindOther || dbErr.Kind == KindUnreachable) {
		return &Error{Kind: KindUnreachable, Err: withEnd(dbErr.Err, ended)}
	}
	if dbErr.Kind == KindInFlight {
		return &Error{Kind: KindUnreachable, Err: dbErr.Err}
	}
	return err
}

// NotFree returns the error of a call that got no connection of a pool, as NotSent does; allInUse says whether it has waited for one in vain.
func NotFree(ctx context.Context, err error, allInUse bool) error {
	if ended := EndOf(ctx); ended != nil && allInUse {
		return &Error{Kind: KindPool, Err: ended}
	}
	return NotSent(ctx, err)
}

// AllInUse reports whether a pool has no connection left to give.
func AllInUse(pool *sql.DB) bool {
	stats := pool.Stats()
	return stats.MaxOpenConnections > 0 && stats.InUse >= stats.MaxOpenConnections
}

// withEnd returns the end of a context, with what the client says if that is more.
func withEnd(err, ended error) error {
	if errors.Is(ended, err) {
		return ended
	}
	return fmt.Errorf("%w: %w", ended, err)
}

// EndOf returns why ctx has ended, its error and its cause; nil before that.
func EndOf(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// IsClosed reports whether an error of database/sql says that the pool has been closed. Which error that is, the package
// keeps to itself, so a closed pool is asked.
func IsClosed(err error) bool {
	pool := sql.OpenDB(nil)
	_ = pool.Close()                   // it has nothing to close
	return errors.Is(err, pool.Ping()) //nolint:noctx // it answers at once
}
