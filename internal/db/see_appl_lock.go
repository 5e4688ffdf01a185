package db

import "time"

func seeApplLock() Operation {
	return Operation{
		Name:    "see_appl_lock",
		Summary: "Say that an operator looks at an object, and see who else is there: its holder, who asks for it, and who looks at it.",
		Parameters: []Parameter{
			objectType(), objectID(), operatorID(),
			{"p_department_id", In, Text, "the operator's department, 0 to 64 characters; NULL = empty"},
			{"p_client_id", In, Text, "the browser tab or program, 1 to 64 characters, unique to it"},
			{"p_state", In, Text, "what it does there: `VIEWING`, `EDITING` or `IDLE`; NULL = it leaves"},
			{"p_ttl_seconds", In, Number, "how long it is listed unless it calls again, 1 to 60; NULL = 45"},
		},
		Columns: []Parameter{
			{"kind", Out, Text, "`HOLDER`, `ASKER` or `VIEWER`"},
			{"operator_id", Out, Text, "who it is"},
			rowDepartmentID(),
			{"client_id", Out, Text, "the browser tab or program; empty for `HOLDER`"},
			{"state", Out, Text, "`VIEWING`, `EDITING` or `IDLE`; empty unless `VIEWER`"},
			{"since_ts", Out, Timestamp, "start of the grant, `HOLDER`; since when it asks or looks"},
			{"seconds_left", Out, Number, "whole seconds from now to the end of the lock, `HOLDER`; until that one is not listed any more; rounded up"},
			{"message", Out, Text, "what who asks has to say; empty unless `ASKER`"},
		},
		Answers: []Answer{
			remark("`HOLDER`: who holds it, also where that is the operator itself; `ASKER`: a request of another operator; `VIEWER`: another operator that looks at it, once for each program"),
			remark("the holder first, then who asks, then who looks, both oldest first; at most 200 rows; none: it is free, and nobody else is there"),
			remark("listed since its first call, until it leaves or stops calling; nothing of it is in the history"),
			remark("the type's policy may say presence N: then no call is recorded, and only the holder and who asks are shown"),
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

// Presence is one row of see_appl_lock: somebody who has to do with the object.
type Presence struct {
	Kind         PresenceKind
	OperatorID   string
	DepartmentID string
	// ClientID and State are empty for the holder.
	ClientID string
	State    PresenceState
	// SinceTS is the start of the holder's grant, or since when somebody asks or looks.
	SinceTS time.Time
	// SecondsLeft is until the lock ends, or until that one is not listed any more.
	SecondsLeft int64
	// Message is what an asker has to say.
	Message string
}

// PresenceKind tells what somebody has to do with an object. More of them may come.
type PresenceKind string

// The kinds of presence.
const (
	PresenceHolder PresenceKind = "HOLDER"
	PresenceViewer PresenceKind = "VIEWER"
)

// PresenceState is what a viewer does.
type PresenceState string

// The states of a viewer.
const (
	StateViewing PresenceState = "VIEWING"
	StateEditing PresenceState = "EDITING"
	StateIdle    PresenceState = "IDLE"
)
