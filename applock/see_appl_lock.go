package applock

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/applock/applock/internal/db"
)

// PresenceState is what a viewer does.
type PresenceState string

// The states. The zero value is StateViewing.
const (
	StateViewing PresenceState = "VIEWING"
	StateEditing PresenceState = "EDITING"
	StateIdle    PresenceState = "IDLE"
	// StateLeft says that the program no longer shows the object.
	StateLeft PresenceState = "LEFT"
)

// PresenceKind says what an operator is at an object. More kinds may come.
type PresenceKind string

// The kinds of presence.
const (
	// PresenceHolder is the holder, also if it is the calling operator.
	PresenceHolder PresenceKind = "HOLDER"
	// PresenceAsker is another operator that asks for the object, once for each program.
	PresenceAsker PresenceKind = "ASKER"
	// PresenceViewer is another operator that looks at the object, once for each program.
	PresenceViewer PresenceKind = "VIEWER"
)

// The limits of presence.
const (
	// DefaultPresenceTTL is how long a viewer is listed after a call: three heartbeats of 15 s.
	DefaultPresenceTTL = 45 * time.Second
	// MaxPresenceTTL is the longest time for which a viewer can be listed after a call.
	MaxPresenceTTL = 300 * time.Second
)

// Presence is an operator at an object: its holder, an asker or a viewer.
type Presence struct {
	Kind  PresenceKind
	Owner Owner
	// Client is the viewer's browser tab or program, and State what it does there; both are empty for the holder, and State for an asker.
	Client string
	State  PresenceState
	// Since is the start of the holder's grant, or since when a viewer looks.
	Since time.Time
	// Left is how long the lock lasts, or until when a viewer is listed unless it calls again, in whole seconds by the database's clock.
	Left time.Duration
	// Message is the asker's; empty for a holder or viewer.
	Message string
}

// SeeRequest says who looks at which object, and what it does there.
type SeeRequest struct {
	Object Object
	Owner  Owner
	// Client is the browser tab or program: 1 to MaxClientLength characters, by a name that no other one has.
	Client string
	// State is what it does there; zero is StateViewing.
	State PresenceState
	// TTL is how long it is listed unless it calls again: whole seconds up to MaxPresenceTTL, zero is DefaultPresenceTTL.
	TTL time.Duration
}

// See records that an operator looks at an object, or with StateLeft that it has stopped. It returns the others there, at most 200: the holder
// first, then the other askers and viewers, oldest first. An empty answer means that the object is free
// and without other askers and viewers. It is for one call in each heartbeat of a support tool, such as every 15 s.
//
// It locks nothing, and writes no event. Where the policy of the type has no presence, nothing is recorded, and only the
// holder and the askers are returned. On PostgreSQL it needs the primary. A call that was cancelled or broke off may have been recorded: the next one
// says it again.
func (c *Client) See(ctx context.Context, request SeeRequest) (present []Presence, err error) {
	defer begin(&err, "see %s: %w", request.Object)
	params, err := request.params()
	if err != nil {
		return nil, err
	}
	o, object := c.ops(), Object{Type: params.ObjectType, ID: params.ObjectID}
	rows, err := change(ctx, o, db.Driver.SeeApplLock, params)
	if err != nil {
		return nil, err
	}
	o.logObject(ctx, "see_appl_lock", object, params.OperatorID, slog.Int("rows", len(rows)))
	return db.Converted(rows, nil, func(row db.Presence) Presence {
		return Presence{
			Kind:    PresenceKind(row.Kind),
			Owner:   Owner{Operator: row.OperatorID, Department: row.DepartmentID},
			Client:  row.ClientID,
			State:   PresenceState(row.State),
			Since:   row.SinceTS.Time,
			Left:    seconds(row.SecondsLeft),
			Message: row.Message,
		}
	})
}

func (r SeeRequest) params() (db.SeeApplLockParams, error) {
	var c checks
	object, owner := c.object(r.Object.trim()), c.owner(r.Owner.trim("Owner"))
	params := db.SeeApplLockParams{
		ObjectType:   object.Type,
		ObjectID:     object.ID,
		OperatorID:   owner.Operator,
		DepartmentID: owner.Department,
		ClientID:     c.text(checkClient(r.Client)),
	}
	state, err := r.State.param()
	params.State = keep(&c, state, err)
	params.TTLSeconds = c.number(checkTTL(r.TTL))
	c.refuse(r.TTL > MaxPresenceTTL, "TTL", fmt.Sprintf("is %s, at most %s are allowed", r.TTL, MaxPresenceTTL))
	return params, c.err
}

// param is empty for a viewer that leaves.
func (s PresenceState) param() (db.PresenceState, error) {
	switch s {
	case "":
		return db.StateViewing, nil
	case StateViewing, StateEditing, StateIdle:
		return db.PresenceState(s), nil
	case StateLeft:
		return "", nil
	}
	return "", &InvalidError{Argument: "State", Reason: fmt.Sprintf("is %q, not VIEWING, EDITING, IDLE or LEFT", string(s))}
}
