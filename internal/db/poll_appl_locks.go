package db

import "context"

func pollApplLocks() Operation {
	return Operation{
		Name:    "poll_appl_locks",
		Summary: "Show which objects that a program waits for are free or will be next, and keep its waiters listed.",
		Parameters: []Parameter{
			clientID(),
			{"p_max_rows", In, Number, "rows at the most, 1 to 10000; NULL = 1000"},
		},
		Columns: []Parameter{
			rowType(), rowID(),
			{"free_in_us", Out, Number, "microseconds until its lock ends, 0 when it is free"},
			{"first_fl", Out, Text, "`Y` when it is free, and the turn of this program, whose waiter has been listed longest; otherwise `N`"},
		},
		Answers: []Answer{remark("the objects that will be free soonest, in that order")},
	}
}

// PollApplLocksParams are the IN parameters of poll_appl_locks.
type PollApplLocksParams struct {
	ClientID string
	MaxRows  int64
}

// AwaitedObject is one row of poll_appl_locks.
type AwaitedObject struct {
	ObjectType string
	ObjectID   string
	// FreeInUS is the time until the object's lock ends, in microseconds by the database's clock: 0 is free.
	FreeInUS int64
	// FirstFL is Yes if the object is free and no other program's waiter has been listed longer.
	FirstFL Flag
}

// PollApplLocks calls poll_appl_locks.
func (r Routines) PollApplLocks(ctx context.Context, params PollApplLocksParams) ([]AwaitedObject, error) {
	return Rows(ctx, r, "poll_appl_locks", []any{params.ClientID, params.MaxRows}, func(row *AwaitedObject) []any {
		return []any{&row.ObjectType, &row.ObjectID, &row.FreeInUS, &row.FirstFL}
	})
}
