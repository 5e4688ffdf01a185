package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// RenewApplLocks runs the statements of renew_appl_locks.
func (d *Driver) RenewApplLocks(ctx context.Context, params db.RenewApplLocksParams) ([]db.RenewedGrant, error) {
	if len(params.Grants) == 0 {
		return nil, nil
	}
	return inOneTx(ctx, d, func(ctx context.Context, d *Driver) ([]db.RenewedGrant, error) {
		answers := make([]db.RenewedGrant, len(params.Grants))
		for i, grant := range params.Grants {
			var err error
			if answers[i], err = d.renew(ctx, grant); err != nil {
				return nil, err
			}
		}
		slices.SortFunc(answers, func(a, b db.RenewedGrant) int {
			return cmp.Or(cmp.Compare(a.ObjectType, b.ObjectType), cmp.Compare(a.ObjectID, b.ObjectID))
		})
		return answers, nil
	})
}

func (d *Driver) renew(ctx context.Context, grant db.RenewableGrant) (db.RenewedGrant, error) {
	answer := db.RenewedGrant{ObjectType: grant.ObjectType, ObjectID: grant.ObjectID}
	row, err := d.queries().RenewApplLock(ctx, queries.RenewApplLockParams{
		ObjectType: grant.ObjectType,
		ObjectID:   grant.ObjectID,
		OperatorID: grant.OperatorID,
		Fence:      grant.Fence,
		TTLSeconds: grant.TTLSeconds,
	})
	if err == nil {
		answer.Outcome, answer.ExpiresTS, answer.SecondsLeft = db.Renewed, db.AtMicro(row.ExpiresTS), row.Column2 // sqlc drops the alias
		if row.HistoryFL == db.Yes {
			err = d.recordRenewal(ctx, grant, row.DepartmentID)
		}
		return answer, err
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return answer, err
	}
	object, err := d.read(ctx, key{ObjectType: grant.ObjectType, ObjectID: grant.ObjectID})
	if err != nil {
		return answer, err
	}
	answer.Outcome = db.Free
	if object.isLive() {
		answer.Outcome, answer.ExpiresTS, answer.SecondsLeft = db.Held, db.AtMicro(object.ExpiresTS), object.SecondsLeft
		answer.AcquiredTS = db.AtMicro(object.AcquiredTS)
		answer.OldOperatorID, answer.OldDepartmentID = object.OperatorID, object.DepartmentID
	}
	return answer, nil
}

// recordRenewal records a renewal in the history.
func (d *Driver) recordRenewal(ctx context.Context, grant db.RenewableGrant, departmentID string) error {
	return d.record(ctx, db.Event{
		ObjectType:       grant.ObjectType,
		ObjectID:         grant.ObjectID,
		Event:            db.EventRenewed,
		ActorID:          grant.OperatorID,
		FromOperatorID:   grant.OperatorID,
		FromDepartmentID: departmentID,
		ToOperatorID:     grant.OperatorID,
		ToDepartmentID:   departmentID,
		FromFence:        grant.Fence,
		ToFence:          grant.Fence,
	})
}
