package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/applock/applock/internal/db"
)

// interpretError wraps a pgx error with its kind; nil stays nil.
func interpretError(err error) error {
	if err == nil {
		return nil
	}
	if wrong := db.WrongProduct(err, db.PostgreSQL); wrong != nil {
		return wrong
	}
	var connectErr *pgconn.ConnectError
	if errors.As(err, &connectErr) {
		return &db.Error{Kind: kindOf(err), Err: db.Untrusted(unconnected{err}, "sslrootcert", "sslmode=verify-full")}
	}
	if isUnloggedOnStandby(err) {
		return &db.Error{Kind: db.KindReadOnly, Err: fmt.Errorf("%w: %w", db.ErrOnPrimary, err)}
	}
	return &db.Error{Kind: kindOf(err), Err: err}
}

// unconnected removes repeated lines: pgx reports an error for each attempt, with TLS and without.
type unconnected struct{ error }

func (e unconnected) Error() string {
	var told []string
	for line := range strings.Lines(e.error.Error()) {
		line = strings.TrimSpace(line)
		if !slices.ContainsFunc(told, func(before string) bool { return strings.HasSuffix(before, line) }) {
			told = append(told, line)
		}
	}
	return strings.Join(told, "\n")
}

func (e unconnected) Unwrap() error { return e.error }

// notFree wraps the error of a call that got no connection of the pool.
func (d *Driver) notFree(ctx context.Context, err error) error {
	return db.NotFree(ctx, interpretError(err), d.pool.allInUse())
}

// answer is a server's error, of pgx or of another client.
type answer interface {
	error
	SQLState() string
}

func kindOf(err error) db.Kind {
	if errors.Is(err, puddle.ErrClosedPool) {
		return db.KindClosed
	}
	var told answer
	answered := errors.As(err, &told)
	var connectErr *pgconn.ConnectError
	if errors.As(err, &connectErr) {
		if answered && kindOfState(told.SQLState()) != db.KindInFlight {
			return kindOfState(told.SQLState())
		}
		return db.KindUnreachable
	}
	if answered {
		return kindOfState(told.SQLState())
	}
	if db.IsClosed(err) {
		return db.KindClosed
	}
	// pgx 5.12 calls this safe to retry. But it returns it, too, for a statement of the simple protocol, such as COMMIT, that was sent and
	// whose answer was cut off.
	if pgconn.SafeToRetry(err) && !errors.Is(err, pgconn.ErrConnClosed) {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			return db.KindOther
		}
		return db.KindUnreachable
	}
	// Cancelled, timed out, cut off or unreadable: the call was sent, and no valid answer came. This includes driver.ErrBadConn, which some
	// clients return when the server hangs up instead of answering.
	return db.KindInFlight
}

// isUnloggedOnStandby recognizes the error of a read of an unlogged table, which a standby does not have. Its SQLSTATE is shared with other
// errors and its text is translated, so the routine in the server's source decides.
func isUnloggedOnStandby(err error) bool {
	var answer *pgconn.PgError
	return errors.As(err, &answer) && answer.Code == "0A000" && answer.Routine == "get_relation_info"
}

// https://www.postgresql.org/docs/current/errcodes-appendix.html
func kindOfState(state string) db.Kind {
	switch state {
	case "42704": // undefined object, such as the role of a grant
		return db.KindNoAccount
	case "42883", "42P01", "3F000": // undefined function, table, schema
		return db.KindSchema
	case "28000", "28P01": // invalid authorization, invalid password
		return db.KindAuthentication
	case "3D000": // no such database
		return db.KindNoDatabase
	case "42501": // insufficient privilege
		return db.KindPrivilege
	case "25006": // read only transaction; on a standby all are
		return db.KindReadOnly
	case "55P03", "57014": // lock not available: lock_timeout; query canceled: a shorter statement_timeout
		return db.KindBusy
	case "40001", "40P01", "25P03": // serialization failure, deadlock, idle in transaction for too long
		return db.KindRetry
	case "42P05", "26000": // the prepared statement exists already, or does not exist: the session is not the one that the client assumes
		return db.KindPooler
	case "53300": // too many connections
		return db.KindFull
	}
	if strings.HasPrefix(state, "57P") || strings.HasPrefix(state, "08") { // shutdown, connection exception
		return db.KindInFlight
	}
	return db.KindOfState(state)
}
