package db

import "context"

func releaseApplLocks() Operation {
	return Operation{
		Name:    "release_appl_locks",
		Summary: "Release what an operator holds, all or of a type, page by page.",
		Parameters: []Parameter{
			{"p_operator_id", In, Text, "whose locks, 1 to 255 characters"},
			onlyType(),
			{"p_actor_id", In, Text, "who releases them, 1 to 255 characters; NULL = p_operator_id"},
			reason(), afterType(), afterID(), maxRows(), dryRun(),
		},
		Columns: []Parameter{
			rowType(), rowID(), rowOutcome(), rowOldOperatorID(), rowOldDepartmentID(),
			{"fence", Out, Number, "fencing token of the operator's grant; 0 when `HELD` or `FREE`"},
			{"expires_ts", Out, Timestamp, "when the lock ends; NULL when `RELEASED` or `FREE`"},
			rowSecondsLeft(),
		},
		Answers: []Answer{
			remark("a row for each lock of the page; a page with fewer than p_max_rows rows is the last"),
			granted("RELEASED", "it is free now"),
			refused("BUSY", "another transaction has locked it, and it is left as it was; not on Db2"),
			refused("HELD", "another operator holds it since the page was read, and it is left as it was"),
			refused("FREE", "nobody has held it since the page was read"),
			refused("WOULD_RELEASE", "nothing was done"),
		},
	}
}

// ReleaseApplLocksParams are the IN parameters of release_appl_locks. An empty ObjectType selects all; the first page starts after the
// empty key. Its rows are ChangedLock.
type ReleaseApplLocksParams struct {
	OperatorID string
	ObjectType string
	// ActorID and Reason are for the history. Empty is NULL: the operator, and no reason.
	ActorID   string
	Reason    string
	AfterType string
	AfterID   string
	MaxRows   int64
	// DryRunFL Yes changes nothing.
	DryRunFL Flag
}

// ReleaseApplLocks calls release_appl_locks.
func (r Routines) ReleaseApplLocks(ctx context.Context, params ReleaseApplLocksParams) ([]ChangedLock, error) {
	return Rows(ctx, r, "release_appl_locks", []any{
		params.OperatorID, orNull(params.ObjectType), orNull(params.ActorID), orNull(params.Reason),
		params.AfterType, params.AfterID, params.MaxRows, orNull(params.DryRunFL),
	}, (*ChangedLock).columns)
}
