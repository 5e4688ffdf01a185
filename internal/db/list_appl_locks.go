package db

// ListApplLocksParams are the IN parameters of list_appl_locks. An empty filter is any, and so is a nil
// department; the first page starts after the empty key.
type ListApplLocksParams struct {
	ObjectType   string
	OperatorID   string
	DepartmentID *string
	AfterType    string
	AfterID      string
	MaxRows      int64
}
