package db

import "context"

func announceApplLockWaiter() Operation {
	return Operation{
		Name:    "announce_appl_lock_waiter",
		Summary: "Say that an operator waits for an object, or still waits.",
		Parameters: []Parameter{
			objectType(), objectID(), operatorID(),
			{"p_department_id", In, Text, "the operator's department, up to 64 characters; NULL = empty"},
			clientID(),
			{"p_wait_seconds", In, Number, "seconds until it gives up, 1 to 315360000; NULL = never"},
		},
		Answers: []Answer{remark("none: the waiter is listed for 60 s, or until it gives up; each poll of its program keeps it listed")},
	}
}

// AnnounceApplLockWaiterParams are the IN parameters of announce_appl_lock_waiter. Zero WaitSeconds means no limit.
type AnnounceApplLockWaiterParams struct {
	ObjectType   string
	ObjectID     string
	OperatorID   string
	DepartmentID string
	ClientID     string
	WaitSeconds  int64
}

// AnnounceApplLockWaiter calls announce_appl_lock_waiter_row.
func (r Routines) AnnounceApplLockWaiter(ctx context.Context, params AnnounceApplLockWaiterParams) error {
	return r.run(ctx, "announce_appl_lock_waiter_row",
		params.ObjectType, params.ObjectID, params.OperatorID, params.DepartmentID, params.ClientID, orNull(params.WaitSeconds))
}
