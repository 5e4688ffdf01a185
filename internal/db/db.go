// Package db is the seam between the façade and the databases: one Driver for each dialect, the
// parameters and results of each operation, and the kinds of errors.
//
// The meaning of an operation is written once, in procedures/; drivers only carry it. A driver takes
// arguments as the façade has checked and trimmed them, makes one call, and hands the answer back.
// Timestamps are UTC.
//
// A new dialect is a folder below this one, folders of the same name in migrations/, procedures/ and
// queries/, an entry in the registry package, and a test that runs dbtest.Exercise.
package db

import (
	"context"
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
}

// Driver runs the operations on one database. It is safe for concurrent use, except that a driver
// made by WithTx is as safe as its transaction.
//
// Each method is the operation of the same name in procedures/, which documents its answers. Errors are
// an *Error that tells the kind and wraps what the database client returned.
type Driver interface {
	GetApplLock(ctx context.Context, params GetApplLockParams) (GetApplLockResult, error)
	ReleaseApplLock(ctx context.Context, params ReleaseApplLockParams) (ReleaseApplLockResult, error)
	InquireApplLock(ctx context.Context, params InquireApplLockParams) (InquireApplLockResult, error)
	TransferApplLock(ctx context.Context, params TransferApplLockParams) (TransferApplLockResult, error)
	ListApplLocks(ctx context.Context, params ListApplLocksParams) ([]Lock, error)
	PurgeApplLocks(ctx context.Context, params PurgeApplLocksParams) (PurgeApplLocksResult, error)
	AssertApplLock(ctx context.Context, params AssertApplLockParams) error
	SerializeApplLock(ctx context.Context, params SerializeApplLockParams) error
	ApplLockVersion(ctx context.Context) (ApplLockVersionResult, error)

	// WithTx returns a driver whose operations run in the caller's transaction. It returns ErrTxType
	// for a transaction that does not belong to the driver's database client.
	WithTx(tx any) (Driver, error)

	// WithSchema returns a driver for the locks of another schema of the same database, or
	// ErrNoSchemas where the dialect has none.
	WithSchema(schema string) (Driver, error)

	// MigrationTarget returns what it takes to migrate this database. Its Close must be called.
	MigrationTarget(ctx context.Context) (MigrationTarget, error)

	// Close closes what the driver itself opened, and nothing that was handed to it.
	Close() error
}
