package db

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
