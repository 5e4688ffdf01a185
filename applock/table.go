package applock

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/applock/applock/internal/db"
)

// table keeps leases in appl_lock: the backend of a Client.
type table struct {
	operations operations
	clientID   string
}

var (
	_ Backend     = (*table)(nil)
	_ Poller      = (*table)(nil)
	_ Announcer   = (*table)(nil)
	_ Notifier    = (*table)(nil)
	_ Transferrer = (*table)(nil)
)

// pollRows is how many objects one poll returns: those that will be free soonest.
const pollRows = 100

// Take is a get, whose ttl has whole seconds: a lease frees the object itself when less have passed.
func (t *table) Take(ctx context.Context, object Object, owner Owner, ttl time.Duration) (Grant, error) {
	return t.operations.take(ctx, object, owner, ttl)
}

// take begins a new grant also for the operator that has the object: a get renews that one's grant, and a transfer to itself
// ends it. What comes between the two is an answer like any other, and if the second never comes, the operator has what it
// had.
func (o operations) take(ctx context.Context, object Object, owner Owner, ttl time.Duration) (Grant, error) {
	for range takeovers {
		grant, err := o.get(ctx, getParams(object, owner, ttl))
		if err != nil || grant.Outcome != OutcomeRenewed {
			return grant, err
		}
		grant, err = o.transfer(ctx, TransferRequest{Object: object, From: owner.Operator, To: owner, TTL: wholeSeconds(ttl)})
		if !errors.Is(err, ErrNotHeld) { // else the predecessor has released it
			return grant, err
		}
	}
	return Grant{}, fmt.Errorf("%w: the operator releases it again and again", ErrContention)
}

// takeovers bounds how often an operator's own grant may end while it is being taken over.
const takeovers = 10

// getParams has the arguments of a get, checked and trimmed already.
func getParams(object Object, owner Owner, ttl time.Duration) db.GetApplLockParams {
	return db.GetApplLockParams{
		ObjectType:   object.Type,
		ObjectID:     object.ID,
		OperatorID:   owner.Operator,
		DepartmentID: owner.Department,
		TTLSeconds:   int64(wholeSeconds(ttl) / time.Second),
	}
}

func wholeSeconds(ttl time.Duration) time.Duration {
	return (ttl + time.Second - 1).Truncate(time.Second)
}

// Release is a release by fence.
func (t *table) Release(ctx context.Context, grant Grant) error {
	result, err := t.operations.release(ctx, db.ReleaseApplLockParams{
		ObjectType: grant.Object.Type,
		ObjectID:   grant.Object.ID,
		OperatorID: grant.Owner.Operator,
		Fence:      int64(grant.Fence),
	})
	if err == nil && result.Outcome != OutcomeReleased {
		return ErrNotHeld
	}
	return err
}

// Renew renews all grants in one statement.
func (t *table) Renew(ctx context.Context, renewals []Renewal) ([]Renewed, error) {
	var answers []Renewed
	for batch := range slices.Chunk(renewals, db.MaxGrants) {
		grants := make([]db.RenewableGrant, len(batch))
		for i, renewal := range batch {
			grants[i] = db.RenewableGrant{
				ObjectType: renewal.Grant.Object.Type,
				ObjectID:   renewal.Grant.Object.ID,
				OperatorID: renewal.Grant.Owner.Operator,
				Fence:      int64(renewal.Grant.Fence),
				TTLSeconds: int64(wholeSeconds(renewal.TTL) / time.Second),
			}
		}
		rows, err := t.operations.renew(ctx, grants)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			answers = append(answers, renewedOf(row))
		}
	}
	return answers, nil
}

func renewedOf(row db.RenewedGrant) Renewed {
	object := Object{Type: row.ObjectType, ID: row.ObjectID}
	switch row.Outcome {
	case db.Renewed:
		return Renewed{Object: object, ExpiresAt: row.ExpiresTS}
	case db.Held:
		return Renewed{Object: object, Lost: &HeldError{Object: object, Holder: Holder{
			Owner:     Owner{Operator: row.OldOperatorID, Department: row.OldDepartmentID},
			ExpiresAt: row.ExpiresTS,
			Left:      time.Duration(row.SecondsLeft) * time.Second,
		}}}
	default:
		return Renewed{Object: object, Lost: ErrNotHeld}
	}
}

// Poll asks by the client's rows in appl_lock_waiter, so that one statement of constant size does for all objects.
func (t *table) Poll(ctx context.Context, _ iter.Seq[Object]) ([]Object, time.Duration, error) {
	rows, err := t.operations.poll(ctx, t.clientID, pollRows)
	if err != nil {
		return nil, 0, err
	}
	var free []Object
	for _, row := range rows {
		if row.FreeInUS > 0 {
			return free, time.Duration(row.FreeInUS) * time.Microsecond, nil
		}
		free = append(free, Object{Type: row.ObjectType, ID: row.ObjectID})
	}
	return free, 0, nil
}

// Announce lists a waiter under this client.
func (t *table) Announce(ctx context.Context, object Object, owner Owner, wait time.Duration) error {
	return t.operations.announce(ctx, object, owner, t.clientID, wait)
}

// Retract takes a waiter of this client off the list.
func (t *table) Retract(ctx context.Context, object Object, operator string) error {
	return t.operations.retract(ctx, object, operator, t.clientID)
}

// Listen listens to the messages of releases, where the database has some.
func (t *table) Listen(ctx context.Context) (Releases, error) {
	listener, err := t.operations.driver.Listen(ctx)
	if errors.Is(err, db.ErrNoListen) {
		return nil, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return listenerReleases{listener}, err
}

// listenerReleases is a listener of a driver, whose messages are texts.
type listenerReleases struct{ db.Listener }

// Next skips what names no object.
func (r listenerReleases) Next(ctx context.Context) (Object, error) {
	for {
		text, err := r.Listener.Next(ctx)
		if err != nil {
			return Object{}, err
		}
		if object, err := ParseObject(text); err == nil {
			return object, nil
		}
	}
}

// Transfer asserts the grant first, in the same transaction: a transfer itself cannot be told the fence.
func (t *table) Transfer(ctx context.Context, grant Grant, request TransferLeaseRequest) (Grant, error) {
	var handed Grant
	err := t.operations.inOwnTx(ctx, func(inTx operations) error {
		var err error
		handed, err = inTx.transferGrant(ctx, grant, request)
		return err
	})
	return handed, err
}

// inOwnTx runs operations in a transaction of their own, which is repeated when the database has undone it for another
// one's sake. What they return is returned as it is: nothing has happened then.
func (o operations) inOwnTx(ctx context.Context, run func(inTx operations) error) error {
	var refusal error
	_, err := retryIfUnchanged(ctx, o, func() (struct{}, error) {
		err := o.driver.InTx(ctx, func(driver db.Driver) error {
			refusal = run(operations{driver: driver, logger: o.logger, inTx: true})
			return refusal
		})
		return struct{}{}, err
	})
	if err != nil && refusal == nil {
		err = o.changeError(err)
	}
	return err
}

func (o operations) transferGrant(ctx context.Context, grant Grant, request TransferLeaseRequest) (Grant, error) {
	operator := grant.Owner.Operator
	if err := o.assert(ctx, AssertRequest{Object: grant.Object, Operator: operator, Fence: grant.Fence}); err != nil {
		return Grant{}, err
	}
	return o.transfer(ctx, TransferRequest{Object: grant.Object, From: operator, To: request.To, TTL: request.TTL})
}
