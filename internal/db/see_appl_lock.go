package db

import "context"

func seeApplLock() Operation {
	return Operation{
		Name:    "see_appl_lock",
		Summary: "List an operator as a viewer of an object, and show its holder, askers and other viewers.",
		Parameters: []Parameter{
			objectType(), objectID(), operatorID(),
			{"p_department_id", In, Text, "the operator's department, 0 to 64 characters; NULL = empty"},
			{"p_client_id", In, Text, "the browser tab or program, 1 to 64 characters, unique to it"},
			{"p_state", In, Text, "what it does there: `VIEWING`, `EDITING` or `IDLE`; NULL = it leaves"},
			{"p_ttl_seconds", In, Number, "how long it is listed unless it calls again, 1 to 300; NULL = 45"},
		},
		Columns: []Parameter{
			{"kind", Out, Text, "`HOLDER`, `ASKER` or `VIEWER`"},
			{"operator_id", Out, Text, "who it is"},
			rowDepartmentID(),
			{"client_id", Out, Text, "the browser tab or program; empty for `HOLDER`"},
			{"state", Out, Text, "`VIEWING`, `EDITING` or `IDLE`; empty unless `VIEWER`"},
			{"since_ts", Out, Timestamp, "start of the grant, the request or the listing"},
			{"seconds_left", Out, Number, "whole seconds from now to the end of the lock or the listing, rounded up"},
			{"message", Out, Text, "the asker's message; empty unless `ASKER`"},
		},
		Answers: []Answer{
			remark("`HOLDER`: the holder, even if it is the operator itself; `ASKER`: a request of another operator; `VIEWER`: another operator that looks at it, once for each program"),
			remark("the holder comes first, then askers, then viewers, each oldest first; at most 200 rows; no row: it is free, and nobody else is there"),
			remark("the operator is listed from its first call until it leaves or stops calling; the history does not record it"),
			remark("under presence N in the type's policy the call records nothing and shows only holder and askers"),
		},
	}
}

// SeeApplLockParams are the IN parameters of see_appl_lock. An empty state is NULL: the program leaves. A zero TTLSeconds is NULL.
type SeeApplLockParams struct {
	ObjectType   string
	ObjectID     string
	OperatorID   string
	DepartmentID string
	ClientID     string
	State        PresenceState
	TTLSeconds   int64
}

// Presence is one row of see_appl_lock: an object's holder, an asker or a viewer.
type Presence struct {
	// Kind is one of those of the contract. Later versions may add kinds.
	Kind         string
	OperatorID   string
	DepartmentID string
	// ClientID and State are empty for the holder.
	ClientID string
	State    PresenceState
	// SinceTS is the start of the holder's grant, or of the asking or viewing.
	SinceTS Moment
	// SecondsLeft is the time until the lock ends, or until the asker or viewer is no longer listed.
	SecondsLeft int64
	// Message is the asker's.
	Message string
}

// PresenceState is what a viewer does with the object.
type PresenceState = string

// The states of a viewer.
const (
	StateViewing PresenceState = "VIEWING"
	StateEditing PresenceState = "EDITING"
	StateIdle    PresenceState = "IDLE"
)

// SeeApplLock calls see_appl_lock.
func (r Routines) SeeApplLock(ctx context.Context, params SeeApplLockParams) ([]Presence, error) {
	return Rows(ctx, r, "see_appl_lock", []any{
		params.ObjectType, params.ObjectID, params.OperatorID, params.DepartmentID, params.ClientID,
		orNull(params.State), orNull(params.TTLSeconds),
	}, func(row *Presence) []any {
		return []any{
			&row.Kind, &row.OperatorID, &row.DepartmentID, &row.ClientID, &row.State, &row.SinceTS, &row.SecondsLeft, &row.Message,
		}
	})
}
