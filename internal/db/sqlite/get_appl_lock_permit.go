package sqlite

import (
	"context"

	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/db/sqlite/queries"
)

// GetApplLockPermit runs the statements of get_appl_lock_permit. The answer FULL waits for no writer.
func (d *Driver) GetApplLockPermit(ctx context.Context, params db.GetApplLockPermitParams) ([]db.Permit, error) {
	slots, err := withBusyRetry(ctx, d, func(ctx context.Context, d *Driver) ([]queries.GetApplLockPermitSlotsRow, error) {
		return d.slots(ctx, params)
	})
	if err != nil || isFull(slots) {
		return fullPermits(slots), err
	}
	return inOneTx(ctx, d, func(ctx context.Context, d *Driver) ([]db.Permit, error) { return d.permit(ctx, params) })
}

// permit runs statements S1 and S2 in one transaction.
func (d *Driver) permit(ctx context.Context, params db.GetApplLockPermitParams) ([]db.Permit, error) {
	slots, err := d.slots(ctx, params)
	if err != nil || isFull(slots) {
		return fullPermits(slots), err
	}
	slot := db.GetApplLockParams{
		ObjectType:   params.ObjectType,
		ObjectID:     slots[0].SlotID,
		OperatorID:   params.OperatorID,
		DepartmentID: params.DepartmentID,
		TTLSeconds:   params.TTLSeconds,
	}
	result, err := d.GetApplLock(ctx, slot)
	if err != nil {
		return nil, err
	}
	if result.OkFL != db.Yes { // another operator's grant became live between the two reads: the clock was set back
		return nil, contention("get_appl_lock_permit", key{ObjectType: params.ObjectType, ObjectID: params.ObjectID})
	}
	permit := db.Permit{
		Outcome:      result.Outcome,
		SlotID:       slots[0].SlotID,
		OperatorID:   params.OperatorID,
		DepartmentID: params.DepartmentID,
		Fence:        result.Fence,
		AcquiredTS:   result.AcquiredTS,
		ExpiresTS:    result.ExpiresTS,
		SecondsLeft:  result.SecondsLeft,
		Note:         result.Note,
	}
	if permit.DepartmentID == "" && permit.Outcome == db.Renewed {
		permit.DepartmentID = slots[0].DepartmentID
	}
	return []db.Permit{permit}, nil
}

// slots runs statement S1.
func (d *Driver) slots(ctx context.Context, params db.GetApplLockPermitParams) ([]queries.GetApplLockPermitSlotsRow, error) {
	return d.queries().GetApplLockPermitSlots(ctx, queries.GetApplLockPermitSlotsParams{
		ObjectType: params.ObjectType,
		ObjectID:   params.ObjectID,
		Permits:    params.Permits,
		OperatorID: params.OperatorID,
	})
}

// isFull reports whether the first slot is another operator's.
func isFull(slots []queries.GetApplLockPermitSlotsRow) bool {
	return len(slots) > 0 && slots[0].IsOwn == 0 && slots[0].OperatorID != ""
}

func fullPermits(slots []queries.GetApplLockPermitSlotsRow) []db.Permit {
	permits := make([]db.Permit, len(slots))
	for i, slot := range slots {
		permits[i] = db.Permit{
			Outcome:      db.Full,
			SlotID:       slot.SlotID,
			OperatorID:   slot.OperatorID,
			DepartmentID: slot.DepartmentID,
			Fence:        slot.Fence,
			AcquiredTS:   slot.AcquiredTS,
			ExpiresTS:    slot.ExpiresTS,
			SecondsLeft:  slot.SecondsLeft,
			Note:         slot.Note,
		}
	}
	return permits
}
