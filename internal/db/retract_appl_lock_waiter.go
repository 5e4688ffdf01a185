package db

import "context"

func retractApplLockWaiter() Operation {
	return Operation{
		Name:       "retract_appl_lock_waiter",
		Summary:    "Say that an operator does not wait for an object any more.",
		Parameters: []Parameter{objectType(), objectID(), operatorID(), clientID()},
		Answers:    []Answer{remark("none: the waiter is not listed any more, whether it was or not")},
	}
}

// RetractApplLockWaiterParams are the IN parameters of retract_appl_lock_waiter. The JSON names are for a list of them.
type RetractApplLockWaiterParams struct {
	ObjectType string `json:"object_type"`
	ObjectID   string `json:"object_id"`
	OperatorID string `json:"operator_id"`
	ClientID   string `json:"client_id"`
}

// RetractApplLockWaiter calls retract_appl_lock_waiter_row.
func (r Routines) RetractApplLockWaiter(ctx context.Context, params RetractApplLockWaiterParams) error {
	return r.run(ctx, "retract_appl_lock_waiter_row", params.ObjectType, params.ObjectID, params.OperatorID, params.ClientID)
}

// RetractApplLockWaiters makes a call for each of params.
func (r Routines) RetractApplLockWaiters(ctx context.Context, params []RetractApplLockWaiterParams) error {
	for _, waiter := range params {
		if err := r.RetractApplLockWaiter(ctx, waiter); err != nil {
			return err
		}
	}
	return nil
}
