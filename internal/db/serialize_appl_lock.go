package db

import "context"

func serializeApplLock() Operation {
	return Operation{
		Name:       "serialize_appl_lock",
		Summary:    "Let one transaction at a time work on an object.",
		Parameters: []Parameter{objectType(), objectID()},
		Answers:    []Answer{remark("none: it waits for its turn and keeps it until commit or rollback")},
	}
}

// SerializeApplLockParams are the IN parameters of serialize_appl_lock, which has no OUT parameters.
type SerializeApplLockParams struct {
	ObjectType string
	ObjectID   string
}

// SerializeApplLock calls serialize_appl_lock_row.
func (r Routines) SerializeApplLock(ctx context.Context, params SerializeApplLockParams) error {
	return r.run(ctx, "serialize_appl_lock_row", params.ObjectType, params.ObjectID)
}
