package sqlite

import (
	"context"
	"errors"

	"github.com/applock/applock/internal/db"
)

// TakeApplLock reads, decides, runs a statement of get_appl_lock and records the event, in one transaction.
func (d *Driver) TakeApplLock(ctx context.Context, params db.TakeApplLockParams) (db.Result, error) {
	key := key{ObjectType: params.ObjectType, ObjectID: params.ObjectID}
	var taken object
	result, err := change(ctx, d, "take_appl_lock", key, func(object object) decision[db.Result] {
		if params.Reason == "" && object.TakeReasonFL != db.No {
			return decision[db.Result]{err: &db.Error{
				Kind: db.KindInvalid, Err: errors.New("take_appl_lock: p_reason must not be empty"),
			}}
		}
		taken = object
		return decideMove(object, move{
			expected:   object.isHeldBy(object.OperatorID, params.ExpectedFence),
			operator:   params.OperatorID,
			department: params.DepartmentID,
			ttl:        params.TTLSeconds,
			outcome:    db.Taken,
			event:      db.EventTaken,
			actor:      params.OperatorID,
			reason:     params.Reason,
		})
	})
	if result.Outcome == db.Taken && taken.OperatorID != params.OperatorID {
		result.OldOperatorID, result.OldDepartmentID = taken.OperatorID, taken.DepartmentID
	}
	return result, err
}
