package db

import "context"

func releaseApplLock() Operation {
	return Operation{
		Name:    "release_appl_lock",
		Summary: "End the grant that an operator holds on an object.",
		Parameters: []Parameter{
			objectType(), objectID(), operatorID(),
			{"p_fence", In, Number, "the grant to end, 1 or greater; NULL = any grant"},
			{"p_actor_id", In, Text, "who releases it, 1 to 255 characters; NULL = p_operator_id"},
			reason(),
			okFL(), outcome(), oldOperatorID(), oldDepartmentID(),
		},
		Answers: []Answer{
			granted("RELEASED", "the operator held it; it is free now"),
			granted("FREE", "nobody holds it"),
			refused("HELD", "another operator, or another grant than p_fence, holds it"),
		},
	}
}

// ReleaseApplLockParams are the IN parameters of release_appl_lock. A zero Fence is any grant of the operator.
type ReleaseApplLockParams struct {
	ObjectType string
	ObjectID   string
	OperatorID string
	Fence      int64
	// ActorID and Reason are for the history. Empty is NULL: the operator itself, and no reason.
	ActorID string
	Reason  string
	// Unflushed commits without waiting for the disk, outside a transaction and where the database can. A server crash right after the call
	// can undo the release, and nothing else.
	Unflushed bool
}

// Passer is a [Driver] that can release a grant and get the object for the next operator in one call, which is one transaction.
type Passer interface {
	// PassApplLock gets nothing unless the release answers Released. It waits for the disk.
	PassApplLock(ctx context.Context, release ReleaseApplLockParams, next GetApplLockParams) (PassApplLockResult, error)
}

// PassApplLockResult is the release's outcome and the get's result.
type PassApplLockResult struct {
	Released Outcome
	Next     Result
}

// ReleaseApplLock calls release_appl_lock_row.
func (r Routines) ReleaseApplLock(ctx context.Context, params ReleaseApplLockParams) (Result, error) {
	return Row(ctx, r, "release_appl_lock_row", []any{
		params.ObjectType, params.ObjectID, params.OperatorID, orNull(params.Fence), orNull(params.ActorID), orNull(params.Reason),
	}, (*Result).holder)
}
