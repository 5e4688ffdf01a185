package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// SeeApplLock runs the statements of see_appl_lock in one transaction.
func (d *Driver) SeeApplLock(ctx context.Context, params db.SeeApplLockParams) ([]db.Presence, error) {
	rows, err := inOneTx(ctx, d, func(ctx context.Context, d *Driver) ([]queries.SeeApplLockRow, error) { return d.see(ctx, params) })
	return db.Converted(rows, err, func(row queries.SeeApplLockRow) db.Presence { return db.Presence(row) })
}

// see lists or removes the viewer, deletes expired viewers, and reads the rest.
func (d *Driver) see(ctx context.Context, params db.SeeApplLockParams) ([]queries.SeeApplLockRow, error) {
	if err := d.sayState(ctx, params); err != nil {
		return nil, err
	}
	err := d.queries().SeeApplLockBury(ctx, queries.SeeApplLockBuryParams{ObjectType: params.ObjectType, ObjectID: params.ObjectID})
	if err != nil {
		return nil, err
	}
	return d.queries().SeeApplLock(ctx, queries.SeeApplLockParams{
		ObjectType: params.ObjectType,
		ObjectID:   params.ObjectID,
		OperatorID: params.OperatorID,
	})
}

// sayState lists the viewer or removes it. An operator in state EDITING gets his full time to answer again.
func (d *Driver) sayState(ctx context.Context, params db.SeeApplLockParams) error {
	if params.State == "" {
		return d.queries().SeeApplLockLeave(ctx, queries.SeeApplLockLeaveParams{
			ObjectType: params.ObjectType,
			ObjectID:   params.ObjectID,
			OperatorID: params.OperatorID,
			ClientID:   params.ClientID,
		})
	}
	err := d.queries().SeeApplLockKeep(ctx, queries.SeeApplLockKeepParams{
		ObjectType:   params.ObjectType,
		ObjectID:     params.ObjectID,
		OperatorID:   params.OperatorID,
		DepartmentID: params.DepartmentID,
		ClientID:     params.ClientID,
		State:        params.State,
		TTLSeconds:   db.NullNumber(params.TTLSeconds),
	})
	if err != nil || params.State != db.StateEditing {
		return err
	}
	return d.queries().SeeApplLockEdit(ctx, queries.SeeApplLockEditParams{
		ObjectType: params.ObjectType,
		ObjectID:   params.ObjectID,
		OperatorID: params.OperatorID,
	})
}
