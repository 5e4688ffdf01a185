// Package db is the seam between the façade and the databases: one Driver for each dialect, the
// parameters and results of each operation, and the kinds of errors.
//
// The meaning of an operation is written once, in procedures/; drivers only carry it. A driver takes
// arguments as the façade has checked and trimmed them, makes one call, and hands the answer back.
// Timestamps are UTC.
//
// CONTRIBUTING.md lists what a new dialect, operation or parameter takes.
package db

import (
	"context"
	"database/sql"
	"time"
)

// ContractVersion is the version of the operations' contract that this code needs, as
// appl_lock_version reports it.
const ContractVersion = 1

// Flag is the yes or no of an answer.
type Flag string

// The two flags.
const (
	Yes Flag = "Y"
	No  Flag = "N"
)

// Outcome is the word that goes with a flag. The set is closed.
type Outcome string

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
	// WouldTransfer and WouldRelease are those of a dry run.
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
	AcquiredTS   time.Time
	LockTS       time.Time
	ExpiresTS    time.Time
	// TTLSeconds is what the last get, renewal or transfer asked for; 0 where an operation does not tell.
	TTLSeconds int64
	// SecondsLeft is how many seconds ExpiresTS lies ahead, by the database's clock, rounded up.
	SecondsLeft int64
	// Note is what the holder has noted, empty for nothing.
	Note string
}

// Driver runs the operations on one database. It is safe for concurrent use, except that a driver
// made by WithTx is as safe as its transaction.
//
// Each method is the operation of the same name in procedures/, which documents its answers. Errors are
// an *Error that tells the kind and wraps what the database client returned.
type Driver interface {
	GetApplLock(ctx context.Context, params GetApplLockParams) (GetApplLockResult, error)
	// GetApplLocks is GetApplLock for each of params, one after the other, in one call where the dialect can. What is granted
	// when one of them fails is left to the transaction: it is for InTx.
	GetApplLocks(ctx context.Context, params []GetApplLockParams) ([]GetApplLockResult, error)
	GetApplLockPermit(ctx context.Context, params GetApplLockPermitParams) ([]Permit, error)
	ReleaseApplLock(ctx context.Context, params ReleaseApplLockParams) (ReleaseApplLockResult, error)
	ReleaseApplLocks(ctx context.Context, params ReleaseApplLocksParams) ([]ChangedLock, error)
	InquireApplLock(ctx context.Context, params InquireApplLockParams) (InquireApplLockResult, error)
	TransferApplLock(ctx context.Context, params TransferApplLockParams) (TransferApplLockResult, error)
	TakeApplLock(ctx context.Context, params TakeApplLockParams) (TakeApplLockResult, error)
	TransferApplLocks(ctx context.Context, params TransferApplLocksParams) ([]ChangedLock, error)
	NoteApplLock(ctx context.Context, params NoteApplLockParams) (NoteApplLockResult, error)
	ApplLockLive(ctx context.Context, params ApplLockLiveParams) ([]Lock, error)
	PurgeApplLocks(ctx context.Context, params PurgeApplLocksParams) (PurgeApplLocksResult, error)
	PurgeApplLockHistory(ctx context.Context, params PurgeApplLockHistoryParams) (PurgeApplLockHistoryResult, error)
	AssertApplLock(ctx context.Context, params AssertApplLockParams) error
	SerializeApplLock(ctx context.Context, params SerializeApplLockParams) error
	// RenewApplLocks of no grants makes ready what renewals need: a connection of their own, where they have one.
	RenewApplLocks(ctx context.Context, params RenewApplLocksParams) ([]RenewedGrant, error)
	AnnounceApplLockWaiter(ctx context.Context, params AnnounceApplLockWaiterParams) error
	RetractApplLockWaiter(ctx context.Context, params RetractApplLockWaiterParams) error
	// RetractApplLockWaiters is RetractApplLockWaiter for each of params, in one call where the dialect can. It is for InTx, too.
	RetractApplLockWaiters(ctx context.Context, params []RetractApplLockWaiterParams) error
	PollApplLocks(ctx context.Context, params PollApplLocksParams) ([]AwaitedObject, error)
	ApplLockWaiting(ctx context.Context, params ApplLockWaitingParams) ([]Waiter, error)
	ApplLockStats(ctx context.Context, params ApplLockStatsParams) ([]Stats, error)
	ApplLockHistory(ctx context.Context, params ApplLockHistoryParams) ([]Event, error)
	InboxApplLocks(ctx context.Context, params InboxApplLocksParams) ([]Notice, error)
	SeeApplLock(ctx context.Context, params SeeApplLockParams) ([]Presence, error)
	ApplLockViewers(ctx context.Context, params ApplLockViewersParams) ([]Viewer, error)
	SetApplLockPolicy(ctx context.Context, params SetApplLockPolicyParams) (SetApplLockPolicyResult, error)
	DropApplLockPolicy(ctx context.Context, params DropApplLockPolicyParams) (DropApplLockPolicyResult, error)
	ApplLockPolicies(ctx context.Context, params ApplLockPoliciesParams) ([]Policy, error)
	ApplLockAsking(ctx context.Context, params ApplLockAskingParams) ([]Asker, error)
	AskApplLock(ctx context.Context, params AskApplLockParams) (AskApplLockResult, error)
	AnswerApplLock(ctx context.Context, params AnswerApplLockParams) (AnswerApplLockResult, error)
	ApplLockVersion(ctx context.Context) (ApplLockVersionResult, error)

	// Server asks which product answers, on a connection of its own. It needs nothing to be installed.
	Server(ctx context.Context) (Server, error)

	// InTx runs operations in a transaction of their own, which it commits when they return nil and rolls back
	// otherwise. Inside a caller's transaction they are part of that one, and it is left to the caller.
	InTx(ctx context.Context, operations func(Driver) error) error

	// Listen returns a listener for the releases of objects that somebody waits for, on a connection of its own,
	// or ErrNoListen where the dialect has no such notices or the connection does not carry them.
	Listen(ctx context.Context) (Listener, error)

	// WithSQLTx returns a driver whose operations run in the caller's transaction.
	WithSQLTx(tx *sql.Tx) Driver

	// Handle returns the database itself, for what is not an operation. Its Close must be called.
	Handle() (Handle, error)

	// Close closes what the driver itself opened, and nothing that was handed to it.
	Close() error
}

// Server is the product that answers.
type Server struct {
	// Product is its name, Version its number; empty where the dialect has no one way to ask.
	Product string
	Version string
}

// Listener hears of releases. A message is a hint: it may be lost, late or needless.
type Listener interface {
	// Next waits for a message and returns it: an object as type:id, or behind a colon the client that is to ask first for the next
	// message's. It returns an error once the connection is of no use any more or ctx has ended.
	Next(ctx context.Context) (message string, err error)
	// Close ends the connection.
	Close() error
}

// Handle is a driver's database, for what is not an operation: migrating.
type Handle struct {
	// Dialect is the name of the dialect, also that of its folders.
	Dialect string
	// DB is the pool. On PostgreSQL by pgx it is nil, and Pool is a *pgxpool.Pool, which internal/migrate/postgres makes a
	// *sql.DB of: programs that only lock do without that package of pgx.
	DB   *sql.DB
	Pool any
	// Schema is where the table and the procedures are; empty is where a connection is.
	Schema string
	// Interpret gives an error of DB its kind; nil stays nil.
	Interpret func(ctx context.Context, err error) error
	// Create makes the file that DB is in, if it is not there; nil where there is always something to connect to.
	Create func(ctx context.Context) error
	// Close releases DB, unless it was handed to the driver.
	Close func() error
}
