package db

// SerializeApplLockParams are the IN parameters of serialize_appl_lock, which has no OUT parameters.
type SerializeApplLockParams struct {
	ObjectType string
	ObjectID   string
}
