package db

// AssertApplLockParams are the IN parameters of assert_appl_lock, which has no OUT parameters: a grant
// that is not live is an error of KindAssertion.
type AssertApplLockParams struct {
	ObjectType string
	ObjectID   string
	OperatorID string
	Fence      int64
}
