package db

import "context"

func getApplLockPermit() Operation {
	return Operation{
		Name:    "get_appl_lock_permit",
		Summary: "Take or renew one of the N permits of an object for one operator until it expires.",
		Parameters: []Parameter{
			objectType(),
			{"p_object_id", In, Text, "which object; with `#` and p_permits behind it, up to 255 characters"},
			{"p_permits", In, Number, "how many may hold it at once, 1 to 1000; the same in all calls"},
			operatorID(),
			{"p_department_id", In, Text, "the operator's department, up to 64 characters; NULL = as it is in a renewal, empty in a new grant"},
			{"p_ttl_seconds", In, Number, "seconds until expiry, 1 to 315360000; NULL = those of the grant in a renewal, in a new grant those of the type's policy, else 604800 (7 days)"},
		},
		Columns: []Parameter{
			{"outcome", Out, Text, "the answer in one word"},
			{"slot_id", Out, Text, "the object id of the slot, such as `desk#2`, for all other operations"},
			{"operator_id", Out, Text, "who holds the slot; empty when it has become free during the call"},
			rowDepartmentID(),
			{"fence", Out, Number, "fencing token of the slot's grant; 0 when it has become free"},
			{"acquired_ts", Out, Timestamp, "start of the slot's grant; NULL when it has become free"},
			{"expires_ts", Out, Timestamp, "when the slot's lock ends; NULL when it has become free"},
			rowSecondsLeft(),
			{"note", Out, Text, "the note of the slot's holder; empty when there is none, or when the slot has become free"},
		},
		Answers: []Answer{
			granted("ACQUIRED", "a slot was free or expired; one row, a new grant"),
			granted("RENEWED", "this operator held a slot; one row, the same grant, and the ttl counts from now"),
			refused("FULL", "others hold all of them; one row for each slot, the soonest to expire first"),
		},
	}
}

// GetApplLockPermitParams are the IN parameters of get_appl_lock_permit. An empty DepartmentID and a zero TTLSeconds are NULL: a renewal
// keeps the grant's own, and a new grant has no department and seven days.
type GetApplLockPermitParams struct {
	ObjectType   string
	ObjectID     string
	Permits      int64
	OperatorID   string
	DepartmentID string
	TTLSeconds   int64
}

// Permit is one row of get_appl_lock_permit: the operator's slot, or one of the held slots when none is free.
type Permit struct {
	Outcome Outcome
	// SlotID is the object id of the slot.
	SlotID string
	// OperatorID, DepartmentID, Fence, AcquiredTS and ExpiresTS are zero for a slot that became free during the call.
	OperatorID   string
	DepartmentID string
	Fence        int64
	AcquiredTS   Moment
	ExpiresTS    Moment
	// SecondsLeft is the time until ExpiresTS by the database's clock, rounded up.
	SecondsLeft int64
	// Note is the holder's note, or empty.
	Note string
}

// GetApplLockPermit calls get_appl_lock_permit.
func (r Routines) GetApplLockPermit(ctx context.Context, params GetApplLockPermitParams) ([]Permit, error) {
	return Rows(ctx, r, "get_appl_lock_permit", []any{
		params.ObjectType, params.ObjectID, params.Permits, params.OperatorID, orNull(params.DepartmentID), orNull(params.TTLSeconds),
	}, func(row *Permit) []any {
		return []any{
			&row.Outcome, &row.SlotID, &row.OperatorID, &row.DepartmentID, &row.Fence, &row.AcquiredTS, &row.ExpiresTS, &row.SecondsLeft, &row.Note,
		}
	})
}
