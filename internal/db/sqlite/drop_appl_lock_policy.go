package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// DropApplLockPolicy runs the statements of drop_appl_lock_policy and records the event, in one transaction.
func (d *Driver) DropApplLockPolicy(ctx context.Context, params db.DropApplLockPolicyParams) (db.Result, error) {
	return inOneTx(ctx, d, func(ctx context.Context, d *Driver) (db.Result, error) {
		dropped, err := d.queries().DropApplLockPolicy(ctx, queries.DropApplLockPolicyParams{ObjectType: params.ObjectType})
		if err != nil {
			return db.Result{}, err
		}
		if dropped == 0 {
			return db.Result{OkFL: db.No, Outcome: db.None}, nil
		}
		return db.Result{OkFL: db.Yes, Outcome: db.Dropped},
			d.recordPolicy(ctx, params.ObjectType, params.ActorID, "dropped", params.Reason)
	})
}
