package db

import "time"

// ApplLockAskingParams selects rows of the view appl_lock_asking, as ApplLockWaitingParams does of appl_lock_waiting.
type ApplLockAskingParams ApplLockWaitingParams

// Asker is one row of appl_lock_asking.
type Asker struct {
	ObjectType   string
	ObjectID     string
	OperatorID   string
	DepartmentID string
	ClientID     string
	Message      string
	SinceTS      time.Time
	// UntilTS is when the asker gives up, zero for never.
	UntilTS time.Time
	// WaitedSeconds is how long it has asked, by the database's clock, rounded down.
	WaitedSeconds int64
	// Answer is LATER or NO, and empty for none.
	Answer       string
	AnswerReason string
	// HolderID is who holds the object, and SecondsLeft when that lock ends; empty and 0 when it is free.
	HolderID           string
	HolderDepartmentID string
	SecondsLeft        int64
}
