package db

import (
	"context"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
)

// ErrNoSchemas is the error for any schema in a dialect without schemas.
var ErrNoSchemas = errors.New("this dialect has no schemas")

// ErrNoListen is the error of Listen where there are no notices.
var ErrNoListen = errors.New("no messages of releases here")

// Kind is what an error means to the caller, so that no caller compares texts or a client's types.
type Kind int

// The kinds of errors.
const (
	// KindOther is any other error.
	KindOther Kind = iota
	// KindInvalid is LK001: the procedure refuses an argument.
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
	// KindNoAccount means that a grant or a definer names an account that does not exist.
	KindNoAccount
	// KindPrivilege means that the user lacks a privilege.
	KindPrivilege
	// KindReadOnly means that the server, the session or the file is read-only; nothing has happened.
	KindReadOnly
	// KindBusy means that the wait for another transaction timed out; nothing has happened.
	KindBusy
	// KindRetry is a deadlock or serialization failure: the caller must repeat the transaction.
	KindRetry
	// KindPooler means that a pooler has mixed up its clients' prepared statements; nothing has happened.
	KindPooler
	// KindInFlight means that the call was sent and no answer came back: it may have taken effect.
	KindInFlight
)

// KindOfState returns the kind of a SQLSTATE of the contract, which is the same on every server, and KindOther for any other.
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

// Error is an error of a driver. Its text is the database client's own.
type Error struct {
	Kind Kind
	Err  error
}

// Error returns the text of the wrapped error.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the database client's error.
func (e *Error) Unwrap() error { return e.Err }

// GrantError is an error of a GRANT or REVOKE: the account lacks the right to grant what the text names, though it may have that privilege.
type GrantError struct{ Err error }

// Error returns the text of the wrapped error.
func (e *GrantError) Error() string { return e.Err.Error() }

// Unwrap returns the driver's error.
func (e *GrantError) Unwrap() error { return e.Err }

// KindOf returns the kind of a driver's error, and KindOther for any other error.
func KindOf(err error) Kind {
	if dbErr, ok := errors.AsType[*Error](err); ok {
		return dbErr.Kind
	}
	return KindOther
}

// WrongProduct returns the error of a call whose answer came from another product than the client's, such as a syntax error, which has changed
// nothing. It returns nil for any other error.
func WrongProduct(err error, client string) error {
	for answer := err; answer != nil; answer = errors.Unwrap(answer) {
		if product := productOf(answer); product != "" && product != client {
			return &Error{Kind: KindOther, Err: fmt.Errorf("the client is one for %s, and the database is %s: make the client with New of its package: %w", client, product, err)}
		}
	}
	return nil
}

// The products whose answers WrongProduct tells apart.
const (
	PostgreSQL = "PostgreSQL"
	MySQL      = "MySQL or MariaDB"
	SQLite     = "SQLite"
	Db2        = "Db2"
)

// productOf goes by the name of the type, since a client does not link the others' packages.
func productOf(answer error) string {
	switch fmt.Sprintf("%T", answer) {
	case "*pgconn.PgError", "*pq.Error":
		return PostgreSQL
	case "*mysql.MySQLError":
		return MySQL
	case "*sqlite.Error", "sqlite3.Error":
		return SQLite
	}
	return ""
}

// The reasons of SQLite's errors, which are not those of a server.
var (
	ErrFileRights = errors.New("the file cannot be written: give this account write permission on it and on its directory, which readers need, too")
	ErrFileBusy   = errors.New("other processes keep writing to the file, which takes one writer at a time: try again")
)

// ErrUntrusted is the reason of a connection that the client has given up because of the server's certificate.
var ErrUntrusted = errors.New("the server's certificate is refused")

// Untrusted adds to such an error what to do, with the options of a DSN that name the CA's file and that compare the host. Other errors stay.
func Untrusted(err error, caOption, hostOption string) error {
	if _, is := errors.AsType[x509.UnknownAuthorityError](err); is {
		return fmt.Errorf("%w: %s must name the file of its CA: %w", ErrUntrusted, caOption, err)
	}
	if _, is := errors.AsType[x509.HostnameError](err); is {
		return fmt.Errorf("%w: %s wants the DSN's host among its names: %w", ErrUntrusted, hostOption, err)
	}
	return err
}

// ErrOnPrimary is the reason of an error on a standby, which has no unlogged tables.
var ErrOnPrimary = errors.New("a replica does not know who looks at an object: connect to the primary")

// NotSent returns the error of a call that had no connection yet. An unknown outcome becomes KindUnreachable, since nothing was sent. Once
// ctx has ended, the error says why.
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

// NotFree returns NotSent's error for a call that got no connection of a pool, or KindPool if the call timed out with all in use.
func NotFree(ctx context.Context, err error, allInUse bool) error {
	if ended := EndOf(ctx); ended != nil && allInUse {
		return &Error{Kind: KindPool, Err: ended}
	}
	return NotSent(ctx, err)
}

// AllInUse reports whether all connections of a pool are in use.
func AllInUse(pool *sql.DB) bool {
	stats := pool.Stats()
	return stats.MaxOpenConnections > 0 && stats.InUse >= stats.MaxOpenConnections
}

// withEnd returns why a context has ended, and the client's error where that says more.
func withEnd(err, ended error) error {
	if errors.Is(ended, err) {
		return ended
	}
	return fmt.Errorf("%w: %w", ended, err)
}

// EndOf returns why ctx has ended: its error and its cause. It returns nil before the end.
func EndOf(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// IsClosed reports whether a database/sql error says that the pool is closed. The package does not export that error, so IsClosed takes it
// from a closed pool.
func IsClosed(err error) bool {
	pool := sql.OpenDB(nil)
	_ = pool.Close()                   // nothing to close
	return errors.Is(err, pool.Ping()) //nolint:noctx // it answers at once
}
