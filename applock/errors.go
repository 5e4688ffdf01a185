package applock

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/applock/applock/internal/db"
)

// The questions to ask about an error with [errors.Is].
var (
	// ErrHeld means that another operator holds the object. errors.As with a *HeldError names the holder.
	ErrHeld = errors.New("held by somebody else")
	// ErrNotHeld means that nobody holds the object, or that the named operator does not.
	ErrNotHeld = errors.New("not held")
	// ErrNotAsking means that the operator no longer asks for the object.
	ErrNotAsking = errors.New("the asker has withdrawn the request or has left")
	// ErrLost means that the caller's grant has ended.
	ErrLost = errors.New("lock lost")
	// ErrInvalid means that an argument was refused and nothing was changed. errors.As with an *InvalidError names it.
	ErrInvalid = errors.New("invalid argument")
	// ErrOutcomeUnknown means that a call was sent and no answer came back: it may have taken effect. Repeating it is safe: a repeated get
	// renews, a repeated release finds the object free.
	ErrOutcomeUnknown = errors.New("outcome unknown, repeat the call")
	// ErrBusy means that another transaction has been changing the lock for longer than the call waits. Nothing has changed, but some
	// databases roll back the caller's transaction. Call again.
	ErrBusy = errors.New("another transaction is changing the lock, try again")
	// ErrRetry means a deadlock or a serialization failure: roll back and repeat the whole transaction. A call outside a transaction is
	// repeated many times before it returns this.
	ErrRetry = errors.New("conflict with another transaction, roll back and begin again")
	// ErrContention means that the object changed hands repeatedly during the call. Nothing has changed: call again.
	ErrContention = errors.New("too much contention, nothing has happened, call again")
	// ErrUnreachable means that there was no connection. The server may be down or full, or all connections of the pool are in use; the
	// text says which. If a context has ended, its error and cause are joined. Nothing has been sent. For a lease it also means that no
	// answer came in time, or that a call for several objects broke off: the client releases what such a call takes later.
	ErrUnreachable = errors.New("cannot reach the database, check that it runs and that its address is right")
	// ErrReadOnly means that the server accepts no changes: it is a replica, or read-only. Inquire, List and the other reads work there,
	// with the replica's data.
	ErrReadOnly = errors.New("nothing can be changed there: it is a replica, so connect to the primary, or its transactions are read-only")
	// ErrPrivilege means that the database user lacks a right.
	ErrPrivilege = errors.New("a privilege is missing, ask the database administrator to grant it")
	// ErrSchema means that the tables or procedures are missing, or too old for this program.
	ErrSchema = errors.New("applock is not installed there or too old, install it with: applockctl migrate up")
	// ErrClosed means that the leases, the client or its pool are closed. Nothing has been sent.
	ErrClosed = errors.New("closed")
)

// ErrUnreachable in other words: of a pool, of a server that runs, and of a transaction of the call's own, which has ended with its connection.
const (
	errNoneFree    unreachable = "no connection of the pool was free in time, end the calls that keep them or raise the pool's limit"
	errFull        unreachable = "the server accepts no more connections, in all or of this account: end some of them or raise the limit; a lease needs two"
	errInterrupted unreachable = "the connection broke, or the server has ended the call: nothing has happened, call again"
)

type unreachable string

func (u unreachable) Error() string { return string(u) }

func (unreachable) Is(target error) bool { return target == ErrUnreachable }

// Holder is who holds an object, since when and until when.
type Holder struct {
	// Owner is empty where nobody knows it: on backends that do not tell, and when there was no answer in time.
	Owner Owner
	// Fence is that of the grant; zero where the call does not tell it.
	Fence Fence
	// AcquiredAt is the start of the grant; zero where the call does not tell it.
	AcquiredAt time.Time
	// ExpiresAt is when the lock ends; zero where the call does not tell it (a refused Release, a Waiter).
	ExpiresAt time.Time
	// Left is how long the lock lasted from the answer on, in whole seconds by the database's clock, rounded up; zero
	// where the call does not tell it.
	Left time.Duration
	// Note is the holder's note, as in Lock; empty where the call does not tell it, and on backends that have no
	// notes.
	Note string
}

// HeldError names the holder of the requested object. It is ErrHeld.
type HeldError struct {
	Object Object
	Holder Holder
}

// Error names the holder, the start of its grant and the end of the lock, and quotes the note with all that a terminal would obey escaped.
func (e *HeldError) Error() string {
	if e.Holder.Owner == (Owner{}) {
		return "held by an unknown owner"
	}
	text := "held by " + e.Holder.Owner.String()
	if !e.Holder.AcquiredAt.IsZero() {
		text += " since " + e.Holder.AcquiredAt.Format(time.RFC3339)
	}
	if !e.Holder.ExpiresAt.IsZero() {
		text += " until " + e.Holder.ExpiresAt.Format(time.RFC3339)
	}
	if e.Holder.Note != "" {
		text += ", " + strconv.Quote(e.Holder.Note)
	}
	return text
}

// Is reports whether target is ErrHeld.
func (e *HeldError) Is(target error) bool { return target == ErrHeld }

// InvalidError names the argument that was refused. It is ErrInvalid.
type InvalidError struct {
	// Argument is the field of the request, such as Object.Type or TTL, or the argument of the constructor.
	Argument string
	Reason   string
}

// Error names the argument and says what is wrong with it.
func (e *InvalidError) Error() string { return e.Argument + " " + e.Reason }

// Is reports whether target is ErrInvalid.
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// explain turns a driver's error into one of those above, which
// says what to do. The driver's error stays reachable with errors.As.
func explain(err error) error {
	kind := db.KindOf(err)
	for reason, question := range map[error]error{
		db.ErrFileRights: ErrPrivilege, db.ErrFileBusy: ErrBusy, db.ErrOnPrimary: ErrReadOnly, db.ErrUntrusted: ErrUnreachable,
	} {
		if errors.Is(err, reason) {
			return inOwnWords{err, question}
		}
	}
	switch kind {
	case db.KindAssertion:
		return newLostError(Object{}, err)
	case db.KindSchema:
		return fmt.Errorf("%w (%w)", ErrSchema, err)
	case db.KindAuthentication:
		return fmt.Errorf("the server refused the user or the password of the DSN: %w", err)
	case db.KindNoDatabase:
		return fmt.Errorf("the server has no such database, or the DSN names none: check it: %w", err)
	case db.KindPrivilege:
		return fmt.Errorf("%w%s: %w", ErrPrivilege, grantNeeded(err), err)
	case db.KindPooler:
		return fmt.Errorf("a connection pooler has changed the session between two statements, as PgBouncer does in transaction mode: "+
			"set default_query_exec_mode=exec in the DSN or the pool's configuration: %w", err)
	}
	if question := questionOf(kind); question != nil {
		return fmt.Errorf("%w: %w", question, err)
	}
	return err
}

// inOwnWords is an error that answers a question, and says itself what to do.
type inOwnWords struct {
	error
	question error
}

func (o inOwnWords) Unwrap() error { return o.error }

func (o inOwnWords) Is(target error) bool { return target == o.question }

// questionOf returns the error that a kind is; nil for those that need more words, or none.
func questionOf(kind db.Kind) error {
	return map[db.Kind]error{
		db.KindInvalid:     ErrInvalid,
		db.KindContention:  ErrContention,
		db.KindUnreachable: ErrUnreachable,
		db.KindPool:        errNoneFree,
		db.KindFull:        errFull,
		db.KindClosed:      ErrClosed,
		db.KindReadOnly:    ErrReadOnly,
		db.KindBusy:        ErrBusy,
		db.KindRetry:       ErrRetry,
	}[kind]
}

// ofContract finds the name of an operation, in any of its forms, or of a view.
var ofContract = regexp.MustCompile(`\b\w*appl_lock\w*`)

// grantNeeded names the grant that has what a database user may not do, if the error says what that is.
func grantNeeded(err error) string {
	if _, isGranting := errors.AsType[*db.GrantError](err); isGranting {
		return ""
	}
	for _, name := range ofContract.FindAllString(err.Error(), -1) {
		if role := db.RoleWith(name); role != "" {
			return " with: applockctl grant --to NAME --as " + string(role)
		}
	}
	return ""
}
