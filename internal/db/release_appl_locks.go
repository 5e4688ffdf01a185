package db

// ReleaseApplLocksParams are the IN parameters of release_appl_locks. An empty ObjectType is any; the first page starts after the
// empty key. Its rows are ChangedLock.
type ReleaseApplLocksParams struct {
	OperatorID string
	ObjectType string
	// ActorID and Reason are for the history; empty is NULL: the operator, and no reason.
	ActorID   string
	Reason    string
	AfterType string
	AfterID   string
	MaxRows   int64
	// DryRunFL is Yes to change nothing.
	DryRunFL Flag
}
