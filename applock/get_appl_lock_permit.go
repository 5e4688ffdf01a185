package applock

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/applock/applock/internal/db"
)

// MaxPermits is how many permits an object may have.
const MaxPermits = 1000

// GetPermitRequest asks for one of the permits of an object.
type GetPermitRequest struct {
	// Object is what the permits are for. Its slots are objects of the same type, ID#1 to ID#N, whose ids have the limits of
	// every other.
	Object Object
	// Permits is how many may hold the object at once: 1 to MaxPermits. Name the same number in all calls: a slot above it is
	// neither granted nor renewed nor counted.
	Permits int
	// Owner is who wants a permit. An empty department is left as it is by a renewal.
	Owner Owner
	// TTL is that of GetRequest.
	TTL time.Duration
}

// FullError names the holders of all slots of an object. It is ErrHeld.
type FullError struct {
	Object Object
	// Slots names the holder of each slot, which is its Object, the soonest to expire first. A slot that has become free during the call is
	// missing: then call again.
	Slots []*HeldError
}

// Error names the number of slots and the first one to expire.
func (e *FullError) Error() string {
	if len(e.Slots) == 0 {
		return "full: all permits were held"
	}
	first := e.Slots[0]
	return fmt.Sprintf("full: %d permits are held, the first of them, %s, by %s until %s",
		len(e.Slots), first.Object, first.Holder.Owner, first.Holder.ExpiresAt.Format(time.RFC3339))
}

// Is reports whether target is ErrHeld.
func (e *FullError) Is(target error) bool { return target == ErrHeld }

// As returns the *HeldError of the slot that expires first, or of the object if no slot is held any more.
func (e *FullError) As(target any) bool {
	held, ok := target.(**HeldError)
	if !ok {
		return false
	}
	*held = &HeldError{Object: e.Object}
	if len(e.Slots) > 0 {
		*held = e.Slots[0]
	}
	return true
}

// GetPermit takes one of the permits of an object, or renews the operator's own: at most N operators hold the object at once. A permit is a
// lock on a slot. A slot is an object like any other, and the Object of the Grant: release it by Grant.Key. The Owner of the Grant has the
// department of the grant.
//
// It returns a *FullError (ErrHeld) if others hold all permits, at once and without writing. Only while another open transaction is
// changing a slot that looks free does it wait, at most 1 s; on SQLite it waits for any writer of the file, at most 5 s. ErrOutcomeUnknown
// after a cancelled ctx or a broken connection: repeat the call, which renews what the first one may have taken. Two concurrent calls of
// the same operator get the same permit, unless it changes hands between them: then each may get one.
func (c *Client) GetPermit(ctx context.Context, request GetPermitRequest) (permit Grant, err error) {
	defer begin(&err, "get a permit of %s: %w", request.Object)
	params, err := request.params()
	if err != nil {
		return Grant{}, err
	}
	o := c.ops()
	rows, err := change(ctx, o, db.Driver.GetApplLockPermit, params)
	if err != nil {
		return Grant{}, err
	}
	row := rows[0] // there is always one
	slot := Object{Type: params.ObjectType, ID: row.SlotID}
	o.logObject(ctx, "get_appl_lock_permit", Object{Type: params.ObjectType, ID: params.ObjectID}, params.OperatorID,
		slog.String("slot", slot.String()), fenceAttr(row.Fence), outcomeAttr(row.Outcome))
	if row.Outcome == db.Full {
		return Grant{}, fullError(params, rows)
	}
	return Grant{
		Object:     slot,
		Owner:      Owner{Operator: row.OperatorID, Department: row.DepartmentID},
		Fence:      Fence(row.Fence),
		AcquiredAt: row.AcquiredTS.Time,
		ExpiresAt:  row.ExpiresTS.Time,
		Left:       seconds(row.SecondsLeft),
		Outcome:    Outcome(row.Outcome),
		Note:       row.Note,
	}, nil
}

func (r GetPermitRequest) params() (db.GetApplLockPermitParams, error) {
	var c checks
	objectType := c.text(checkObjectType("Object.Type", r.Object.Type))
	c.refuse(r.Permits < 1 || r.Permits > MaxPermits, "Permits", fmt.Sprintf("must lie between 1 and %d", MaxPermits))
	id := c.text(checkText("Object.ID", r.Object.ID, MaxObjectIDLength-len("#"+strconv.Itoa(r.Permits))))
	owner := c.owner(r.Owner.trim("Owner"))
	return db.GetApplLockPermitParams{
		ObjectType:   objectType,
		ObjectID:     id,
		Permits:      int64(r.Permits),
		OperatorID:   owner.Operator,
		DepartmentID: owner.Department,
		TTLSeconds:   c.number(checkTTL(r.TTL)),
	}, c.err
}

func fullError(params db.GetApplLockPermitParams, rows []db.Permit) *FullError {
	full := &FullError{Object: Object{Type: params.ObjectType, ID: params.ObjectID}}
	for _, row := range rows {
		if row.OperatorID == "" {
			continue
		}
		full.Slots = append(full.Slots, &HeldError{
			Object: Object{Type: params.ObjectType, ID: row.SlotID},
			Holder: Holder{
				Owner:      Owner{Operator: row.OperatorID, Department: row.DepartmentID},
				Fence:      Fence(row.Fence),
				AcquiredAt: row.AcquiredTS.Time,
				ExpiresAt:  row.ExpiresTS.Time,
				Left:       seconds(row.SecondsLeft),
				Note:       row.Note,
			},
		})
	}
	return full
}
