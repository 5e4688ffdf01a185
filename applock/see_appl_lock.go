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
	MaxPresenceTTL = 60 * time.Second
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
func (c *Client) See(ctx context.Context, request SeeRequest) ([]Presence, error) {
	present, err := c.operations.seeApplLock(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("see %s: %w", request.Object, err)
	}
	return present, nil
}

func (r SeeRequest) params() (db.SeeApplLockParams, error) {
	object, err := r.Object.trim()
	if err != nil {
		return db.SeeApplLockParams{}, err
	}
	owner, err := r.Owner.trim("Owner")
	if err != nil {
		return db.SeeApplLockParams{}, err
	}
	params := db.SeeApplLockParams{
		ObjectType:   object.Type,
		ObjectID:     object.ID,
		OperatorID:   owner.Operator,
		DepartmentID: owner.Department,
	}
	if params.ClientID, err = checkOptionalText("Client", r.Client, MaxClientLength); err != nil {
		return params, err
	}
	if params.ClientID == "" {
		return params, &InvalidError{Argument: "Client", Reason: "must not be empty"}
	}
	if params.State, err = r.State.param(); err != nil || r.TTL == 0 {
		return params, err
	}
	if params.TTLSeconds, err = checkSeconds("TTL", r.TTL, 0); err == nil && r.TTL > MaxPresenceTTL {
		err = &InvalidError{Argument: "TTL", Reason: fmt.Sprintf("is %s, at most %s are allowed", r.TTL, MaxPresenceTTL)}
	}
	return params, err
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

func (o operations) seeApplLock(ctx context.Context, request SeeRequest) ([]Presence, error) {
	params, err := request.params()
	if err != nil {
		return nil, err
	}
	rows, err := retryIfUnchanged(ctx, o, func() ([]db.Presence, error) { return o.driver.SeeApplLock(ctx, params) })
	if err != nil {
		return nil, o.changeError(err)
	}
	o.log(ctx, "see_appl_lock",
		slog.String("object", Object{Type: params.ObjectType, ID: params.ObjectID}.String()),
		slog.String("operator", params.OperatorID),
		slog.Int("rows", len(rows)))
	present := make([]Presence, len(rows))
	for i, row := range rows {
		present[i] = Presence{
			Kind:   PresenceKind(row.Kind),
			Owner:  Owner{Operator: row.OperatorID, Department: row.DepartmentID},
			Client: row.ClientID,
			State:  PresenceState(row.State),
			Since:  row.SinceTS,
			Left:   time.Duration(row.SecondsLeft) * time.Second,

			Message: row.Message,
		}
	}
	return present, nil
}
