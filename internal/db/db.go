// Package db connects the façade with the databases. It has the interface Driver, the parameters and results of each operation, and the
// kinds of errors.
//
// procedures/ decides what an operation means, and drivers only carry it. A driver takes arguments that the façade has checked and trimmed,
// makes one call, and returns the answer. Timestamps are UTC.
//
// CONTRIBUTING.md lists the steps for a new dialect, operation or parameter.
package db

import (
	"context"
	"database/sql"
)

// ContractVersion is the version of the contract that this code needs, as appl_lock_version reports it.
const ContractVersion = 1

// Flag is Y or N.
type Flag = string

// The two flags.
const (
	Yes Flag = "Y"
	No  Flag = "N"
)

// Outcome is the word that explains a flag. The set is closed.
type Outcome = string

// All outcomes of all operations.
const (
	Acquired    Outcome = "ACQUIRED"
	Renewed     Outcome = "RENEWED"
	Held        Outcome = "HELD"
	Released    Outcome = "RELEASED"
	Free        Outcome = "FREE"
	Transferred Outcome = "TRANSFERRED"
	Taken       Outcome = "TAKEN"
	Noted       Outcome = "NOTED"
	Full        Outcome = "FULL"
	Busy        Outcome = "BUSY"
	Set         Outcome = "SET"
	Dropped     Outcome = "DROPPED"
	None        Outcome = "NONE"
	Asked       Outcome = "ASKED"
	Given       Outcome = "GIVEN"
	Withdrawn   Outcome = "WITHDRAWN"
	Own         Outcome = "OWN"
	Told        Outcome = "TOLD"
	Gone        Outcome = "GONE"
	// WouldTransfer and WouldRelease are answers of a dry run.
	WouldTransfer Outcome = "WOULD_TRANSFER"
	WouldRelease  Outcome = "WOULD_RELEASE"
)

// Lock is one live row of appl_lock.
type Lock struct {
	ObjectType   string
	ObjectID     string
	OperatorID   string
	DepartmentID string
	Fence        int64
	AcquiredTS   Moment
	LockTS       Moment
	ExpiresTS    Moment
	// SecondsLeft is the time until ExpiresTS by the database's clock, rounded up.
	SecondsLeft int64
	// TTLSeconds is what the last get, renewal or transfer requested; 0 where an operation does not report it.
	TTLSeconds int64
	// Note is the holder's note, or empty.
	Note string
}

// Driver runs the operations on one database. It is safe for concurrent use, except that a driver made by WithTx is as safe as its
// transaction.
//
// Each method is the operation of the same name in procedures/, which documents its answers. An error is an *Error with its kind, and wraps
// the database client's error.
type Driver interface {
	GetApplLock(ctx context.Context, params GetApplLockParams) (Result, error)
	// GetApplLocks runs GetApplLock for each of params in order, in one call where the dialect can. It is for InTx: after an error the
	// transaction must undo what was granted.
	GetApplLocks(ctx context.Context, params []GetApplLockParams) ([]Result, error)
	GetApplLockPermit(ctx context.Context, params GetApplLockPermitParams) ([]Permit, error)
	ReleaseApplLock(ctx context.Context, params ReleaseApplLockParams) (Result, error)
	ReleaseApplLocks(ctx context.Context, params ReleaseApplLocksParams) ([]ChangedLock, error)
	InquireApplLock(ctx context.Context, params InquireApplLockParams) (InquireApplLockResult, error)
	TransferApplLock(ctx context.Context, params TransferApplLockParams) (Result, error)
	TakeApplLock(ctx context.Context, params TakeApplLockParams) (Result, error)
	TransferApplLocks(ctx context.Context, params TransferApplLocksParams) ([]ChangedLock, error)
	NoteApplLock(ctx context.Context, params NoteApplLockParams) (Result, error)
	ApplLockLive(ctx context.Context, params ApplLockLiveParams) ([]Lock, error)
	PurgeApplLocks(ctx context.Context, params PurgeParams) (PurgeResult, error)
	PurgeApplLockHistory(ctx context.Context, params PurgeParams) (PurgeResult, error)
	AssertApplLock(ctx context.Context, params AssertApplLockParams) error
	SerializeApplLock(ctx context.Context, params SerializeApplLockParams) error
	// RenewApplLocks without grants prepares later renewals: it opens their own connection, where they have one.
	RenewApplLocks(ctx context.Context, params RenewApplLocksParams) ([]RenewedGrant, error)
	AnnounceApplLockWaiter(ctx context.Context, params AnnounceApplLockWaiterParams) error
	RetractApplLockWaiter(ctx context.Context, params RetractApplLockWaiterParams) error
	// RetractApplLockWaiters runs RetractApplLockWaiter for each of params, in one call where the dialect can. It is for InTx, too.
	RetractApplLockWaiters(ctx context.Context, params []RetractApplLockWaiterParams) error
	PollApplLocks(ctx context.Context, params PollApplLocksParams) ([]AwaitedObject, error)
	ApplLockWaiting(ctx context.Context, params ListedParams) ([]Waiter, error)
	ApplLockStats(ctx context.Context, params ApplLockStatsParams) ([]Stats, error)
	ApplLockHistory(ctx context.Context, params ApplLockHistoryParams) ([]Event, error)
	InboxApplLocks(ctx context.Context, params InboxApplLocksParams) ([]Notice, error)
	SeeApplLock(ctx context.Context, params SeeApplLockParams) ([]Presence, error)
	ApplLockViewers(ctx context.Context, params ListedParams) ([]Viewer, error)
	SetApplLockPolicy(ctx context.Context, params SetApplLockPolicyParams) (Result, error)
	DropApplLockPolicy(ctx context.Context, params DropApplLockPolicyParams) (Result, error)
	ApplLockPolicies(ctx context.Context, params ApplLockPoliciesParams) ([]Policy, error)
	ApplLockAsking(ctx context.Context, params ListedParams) ([]Asker, error)
	AskApplLock(ctx context.Context, params AskApplLockParams) (Result, error)
	AnswerApplLock(ctx context.Context, params AnswerApplLockParams) (Result, error)
	ApplLockVersion(ctx context.Context) (ApplLockVersionResult, error)

	// Server returns the server's product and version. It uses a connection of its own and needs no schema.
	Server(ctx context.Context) (Server, error)

	// InTx runs operations in a transaction, which it commits when they return nil and rolls back otherwise. Inside a caller's transaction it
	// neither commits nor rolls back.
	InTx(ctx context.Context, operations func(Driver) error) error

	// Listen returns a listener for releases of objects with waiters, on a connection of its own. It returns ErrNoListen where the dialect has
	// no notices or the connection does not carry them.
	Listen(ctx context.Context) (Listener, error)

	// WithSQLTx returns a driver whose operations run in the caller's transaction.
	WithSQLTx(tx *sql.Tx) Driver

	// Handle returns the database for other work than operations. The caller must call its Close.
	Handle() (Handle, error)

	// Close closes what the driver itself opened. A pool that was handed to it stays open.
	Close() error
}

// Server is a database server's product and version.
type Server struct {
	// Product and Version are empty where the dialect has no one way to ask.
	Product string
	Version string
}

// Listener receives notices of releases. A message is a hint: it may be lost, late or needless.
type Listener interface {
	// Next waits for a message and returns it. A message is an object as type:id. A message that begins with a colon is the client that is to
	// try first for the object of the next message. Next returns an error once the connection is broken or ctx has ended.
	Next(ctx context.Context) (message string, err error)
	// Close ends the connection.
	Close() error
}

// Handle is a driver's database, for migrations.
type Handle struct {
	// Dialect is the name of the dialect and of its folders.
	Dialect string
	// DB is the pool. With pgx it is nil, and Pool is a *pgxpool.Pool. internal/migrate/postgres makes a *sql.DB of that, so that programs
	// which only lock do not link that package of pgx.
	DB   *sql.DB
	Pool any
	// Schema is where the table and the procedures are; empty for the connection's own.
	Schema string
	// Interpret wraps an error of DB in an *Error with its kind; nil stays nil.
	Interpret func(ctx context.Context, err error) error
	// Create creates the database file if it is missing; nil for a server.
	Create func(ctx context.Context) error
	// Close releases DB, unless it was handed to the driver.
	Close func() error
}

// Qualify returns the name of a table or routine with the schema, if there is one.
func (h Handle) Qualify(name string) string {
	if h.Schema == "" {
		return name
	}
	return h.Schema + "." + name
}

// Conn returns a connection of DB.
func (h Handle) Conn(ctx context.Context) (*sql.Conn, error) {
	conn, err := h.DB.Conn(ctx)
	return conn, NotSent(ctx, h.Interpret(ctx, err))
}
