package db

import "context"

func assertApplLock() Operation {
	return Operation{
		Name:    "assert_appl_lock",
		Summary: "Fail unless exactly this grant is live, and keep it so to the end of the transaction.",
		Parameters: []Parameter{
			objectType(), objectID(), operatorID(),
			{"p_fence", In, Number, "the grant, 1 or greater"},
		},
		Answers: []Answer{remark("none: if the grant is not live, it raises `LK002`, which names the holder")},
	}
}

// AssertApplLockParams are the IN parameters of assert_appl_lock, which has no OUT parameters. A grant that is not live gives an error of
// KindAssertion.
type AssertApplLockParams struct {
	ObjectType string
	ObjectID   string
	OperatorID string
	Fence      int64
}

// AssertApplLock calls assert_appl_lock_row.
func (r Routines) AssertApplLock(ctx context.Context, params AssertApplLockParams) error {
	return r.run(ctx, "assert_appl_lock_row", params.ObjectType, params.ObjectID, params.OperatorID, params.Fence)
}
