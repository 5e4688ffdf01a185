package applock

import (
	"context"

	"github.com/applock/applock/internal/db"
)

// refusing is the driver of a client whose transaction cannot be used: so that WithTx need not return
// an error and client.WithTx(tx).Get(...) reads in one line.
type refusing struct{ err error }

var _ db.Driver = refusing{}

func (r refusing) GetApplLock(context.Context, db.GetApplLockParams) (db.GetApplLockResult, error) {
	return db.GetApplLockResult{}, r.err
}

func (r refusing) ReleaseApplLock(context.Context, db.ReleaseApplLockParams) (db.ReleaseApplLockResult, error) {
	return db.ReleaseApplLockResult{}, r.err
}

func (r refusing) InquireApplLock(context.Context, db.InquireApplLockParams) (db.InquireApplLockResult, error) {
	return db.InquireApplLockResult{}, r.err
}

func (r refusing) TransferApplLock(context.Context, db.TransferApplLockParams) (db.TransferApplLockResult, error) {
	return db.TransferApplLockResult{}, r.err
}

func (r refusing) ListApplLocks(context.Context, db.ListApplLocksParams) ([]db.Lock, error) {
	return nil, r.err
}

func (r refusing) PurgeApplLocks(context.Context, db.PurgeApplLocksParams) (db.PurgeApplLocksResult, error) {
	return db.PurgeApplLocksResult{}, r.err
}

func (r refusing) AssertApplLock(context.Context, db.AssertApplLockParams) error { return r.err }

func (r refusing) SerializeApplLock(context.Context, db.SerializeApplLockParams) error { return r.err }

func (r refusing) RenewApplLocks(context.Context, db.RenewApplLocksParams) ([]db.RenewedGrant, error) {
	return nil, r.err
}

func (r refusing) AwaitApplLock(context.Context, db.AwaitApplLockParams) error { return r.err }

func (r refusing) UnawaitApplLock(context.Context, db.UnawaitApplLockParams) error { return r.err }

func (r refusing) PollApplLocks(context.Context, db.PollApplLocksParams) ([]db.AwaitedObject, error) {
	return nil, r.err
}

func (r refusing) ListApplLockWaiters(context.Context, db.ListApplLockWaitersParams) ([]db.Waiter, error) {
	return nil, r.err
}

func (r refusing) InTx(context.Context, func(db.Driver) error) error { return r.err }

func (r refusing) Listen(context.Context) (db.Listener, error) { return nil, r.err }

func (r refusing) ApplLockVersion(context.Context) (db.ApplLockVersionResult, error) {
	return db.ApplLockVersionResult{}, r.err
}

func (r refusing) WithTx(any) (db.Driver, error)        { return nil, r.err }
func (r refusing) WithSchema(string) (db.Driver, error) { return nil, r.err }

func (r refusing) MigrationTarget(context.Context) (db.MigrationTarget, error) {
	return db.MigrationTarget{}, r.err
}

func (r refusing) Close() error { return nil }
