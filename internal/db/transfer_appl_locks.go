package db

import "context"

func transferApplLocks() Operation {
	return Operation{
		Name:    "transfer_appl_locks",
		Summary: "Hand over what an operator holds, all or of a type, page by page.",
		Parameters: []Parameter{
			{"p_from_operator_id", In, Text, "who holds them, 1 to 255 characters"},
			onlyType(),
			{"p_to_operator_id", In, Text, "who shall hold them, 1 to 255 characters, not who holds them"},
			{"p_to_department_id", In, Text, "the new holder's department, up to 64 characters; NULL = empty"},
			{"p_ttl_seconds", In, Number, "seconds until expiry, 1 to 315360000; NULL = those of each grant that it ends"},
			{"p_actor_id", In, Text, "who hands them over, 1 to 255 characters; NULL = unknown: the former holder's inbox shows it in any case"},
			reason(), afterType(), afterID(), maxRows(), dryRun(),
		},
		Columns: []Parameter{
			rowType(), rowID(), rowOutcome(), rowOldOperatorID(), rowOldDepartmentID(),
			{"fence", Out, Number, "fencing token of the new grant; of the old one when `BUSY` or `WOULD_TRANSFER`; 0 when `HELD` or `FREE`"},
			{"expires_ts", Out, Timestamp, "when the lock ends; NULL when `FREE`"},
			rowSecondsLeft(),
		},
		Answers: []Answer{
			remark("a row for each lock of the page; a page with fewer than p_max_rows rows is the last"),
			granted("TRANSFERRED", "the new operator holds it; a new grant"),
			refused("BUSY", "another transaction has locked it, and it is left as it was; not on Db2"),
			refused("HELD", "another operator holds it since the page was read, and it is left as it was"),
			refused("FREE", "nobody has held it since the page was read"),
			refused("WOULD_TRANSFER", "nothing was done"),
		},
	}
}

// TransferApplLocksParams are the IN parameters of transfer_appl_locks. An empty ObjectType selects all. A zero TTLSeconds is NULL: that of
// each grant that ends. The first page starts after the empty key.
type TransferApplLocksParams struct {
	FromOperatorID string
	ObjectType     string
	ToOperatorID   string
	ToDepartmentID string
	TTLSeconds     int64
	// ActorID and Reason are for the history. Empty is NULL: the former operator, and no reason.
	ActorID   string
	Reason    string
	AfterType string
	AfterID   string
	MaxRows   int64
	// DryRunFL Yes changes nothing.
	DryRunFL Flag
}

// ChangedLock is one row of transfer_appl_locks or release_appl_locks: a lock of the page, and what became of it.
type ChangedLock struct {
	ObjectType string
	ObjectID   string
	Outcome    Outcome
	// OldOperatorID and OldDepartmentID are the holder's, when the outcome is Held.
	OldOperatorID   string
	OldDepartmentID string
	// Fence is that of the grant that the operation began, ended or left as it was; zero for Held and Free.
	Fence int64
	// ExpiresTS is zero for Released and Free.
	ExpiresTS Moment
	// SecondsLeft is the time until ExpiresTS by the database's clock, rounded up; zero for none.
	SecondsLeft int64
}

func (c *ChangedLock) columns() []any {
	return []any{
		&c.ObjectType, &c.ObjectID, &c.Outcome, &c.OldOperatorID, &c.OldDepartmentID, &c.Fence, &c.ExpiresTS, &c.SecondsLeft,
	}
}

// TransferApplLocks calls transfer_appl_locks.
func (r Routines) TransferApplLocks(ctx context.Context, params TransferApplLocksParams) ([]ChangedLock, error) {
	return Rows(ctx, r, "transfer_appl_locks", []any{
		params.FromOperatorID, orNull(params.ObjectType), params.ToOperatorID, params.ToDepartmentID,
		orNull(params.TTLSeconds), orNull(params.ActorID), orNull(params.Reason),
		params.AfterType, params.AfterID, params.MaxRows, orNull(params.DryRunFL),
	}, (*ChangedLock).columns)
}
