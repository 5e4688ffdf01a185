package db

// Asker is one row of appl_lock_asking.
type Asker struct {
	ObjectType   string
	ObjectID     string
	OperatorID   string
	DepartmentID string
	ClientID     string
	Message      string
	SinceTS      Moment
	// UntilTS is when the request expires, zero for never.
	UntilTS Moment
	// WaitedSeconds is how long it has asked, by the database's clock, rounded down.
	WaitedSeconds int64
	// Answer is LATER or NO, and empty for none.
	Answer       string
	AnswerReason string
	// HolderID is the operator that holds the object, and SecondsLeft the time until that lock ends; empty and 0 when it is free.
	HolderID           string
	HolderDepartmentID string
	SecondsLeft        int64
}
