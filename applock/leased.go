package applock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/applock/applock/internal/db"
)

// leased is what package lease does with a client's database, on checked arguments. Its methods are exported because that package calls
// them, through package clients and by an interface of its own; nobody else can.
type leased struct{ operations }

// GetAnew begins a new grant also for the operator that has the object; ttl is rounded up to whole seconds.
func (l leased) GetAnew(ctx context.Context, object Object, owner Owner, ttl time.Duration) (Grant, error) {
	return l.take(ctx, object, owner, ttl)
}

// GetAllAnew is GetAnew for several objects, in one transaction, except for those that are known to be held. It takes all of them, or
// returns a *ConflictError, in the order of the objects.
func (l leased) GetAllAnew(
	ctx context.Context, objects []Object, owner Owner, ttl time.Duration, known map[Object]*HeldError,
) ([]Grant, error) {
	var grants []Grant
	err := l.inOwnTx(ctx, func(inTx operations) error {
		var err error
		grants, err = inTx.getEach(ctx, objects, owner, ttl, known)
		return err
	})
	return grants, err
}

// ReleaseGrant is a release by fence. It need not wait for the disk: a crash of the server before it is written leaves a lock that
// ends by itself. A later grant of the object is written after the release, so a crash never keeps that grant and loses the release.
func (l leased) ReleaseGrant(ctx context.Context, grant Grant) error {
	ended := releaseParams(grant)
	ended.Unflushed = true
	outcome, err := l.release(ctx, ended)
	if err == nil && outcome != OutcomeReleased {
		return ErrNotHeld
	}
	return err
}

// ReleaseGrants releases all that an operator has, and returns what it has released. What another transaction is changing stays.
func (l leased) ReleaseGrants(ctx context.Context, operator string) ([]Object, error) {
	changes, err := l.releaseAll(ctx, ReleaseAllRequest{Operator: operator})
	var released []Object
	for _, change := range changes {
		if change.Outcome == OutcomeReleased {
			released = append(released, change.Object)
		}
	}
	return released, err
}

func releaseParams(grant Grant) db.ReleaseApplLockParams {
	return db.ReleaseApplLockParams{
		ObjectType: grant.Object.Type,
		ObjectID:   grant.Object.ID,
		OperatorID: grant.Owner.Operator,
		Fence:      int64(grant.Fence),
	}
}

// RenewGrants renews grants in one statement, and calls visit with each that was there to be asked about: lost is why it is not live.
func (l leased) RenewGrants(
	ctx context.Context, grants []db.RenewableGrant, visit func(object Object, lost error, row db.RenewedGrant),
) error {
	rows, err := l.renew(ctx, grants)
	for _, row := range rows {
		visit(Object{Type: row.ObjectType, ID: row.ObjectID}, lossOf(row), row)
	}
	return err
}

// TransferGrant asserts the grant first, in the same transaction: a transfer itself has no argument for the fence.
func (l leased) TransferGrant(ctx context.Context, grant Grant, to Owner, ttl time.Duration) (Grant, error) {
	operator := grant.Owner.Operator
	var handed Grant
	err := l.inOwnTx(ctx, func(inTx operations) error {
		if err := inTx.assert(ctx, Key{Object: grant.Object, Operator: operator, Fence: grant.Fence}); err != nil {
			return err
		}
		var err error
		handed, err = inTx.transfer(ctx, TransferRequest{Object: grant.Object, From: operator, To: to, TTL: ttl})
		return err
	})
	return handed, err
}

// PassGrant ends a grant and begins the next one in one call, where the database can.
func (l leased) PassGrant(ctx context.Context, grant Grant, to Owner, ttl time.Duration) (Grant, error) {
	passer, ok := l.driver.(db.Passer)
	if !ok {
		return Grant{}, errors.ErrUnsupported
	}
	ended, next := releaseParams(grant), getParams(grant.Object, to, ttl)
	result, err := retryIfUnchanged(ctx, l.operations, func() (db.PassApplLockResult, error) {
		return passer.PassApplLock(ctx, ended, next)
	})
	if err != nil {
		return Grant{}, l.changeError(err)
	}
	l.logRelease(ctx, ended, result.Released)
	if result.Released != db.Released {
		return Grant{}, ErrNotHeld
	}
	return l.answerToGet(ctx, next, result.Next)
}

// Others returns how many other programs than clientID have waiters listed for an object: those ahead have been listed longer, the others are
// behind. isFree is true if the object is free while somebody waits for it. It looks at the first thousand waiters.
func (l leased) Others(ctx context.Context, object Object, clientID string) (isFree bool, ahead, behind int, err error) {
	const enough = 1000
	params := db.ListedParams{ObjectType: object.Type, ObjectID: object.ID, MaxRows: enough}
	waiters, err := read(ctx, l.operations, db.Driver.ApplLockWaiting, params)
	since := map[string]time.Time{}
	for _, waiter := range waiters {
		isFree = waiter.HolderID == ""
		if first, ok := since[waiter.ClientID]; !ok || waiter.SinceTS.Before(first) {
			since[waiter.ClientID] = waiter.SinceTS.Time
		}
	}
	own, isListed := since[clientID]
	delete(since, clientID)
	for _, first := range since {
		if !isListed || first.Before(own) {
			ahead++
		}
	}
	return isFree, ahead, len(since) - ahead, err
}

// Listen listens to the messages of releases, where the database has some; db.ErrNoListen is where it has none.
func (l leased) Listen(ctx context.Context) (db.Listener, error) { return l.driver.Listen(ctx) }

// take begins a new grant also for the operator that has the object: a get would renew the existing one. So it is released and
// taken again in one transaction, in which nobody else gets the object. It is no transfer, which is not an operator's right.
func (o operations) take(ctx context.Context, object Object, owner Owner, ttl time.Duration) (Grant, error) {
	params := getParams(object, owner, ttl)
	grant, err := o.get(ctx, params)
	if err != nil || grant.Outcome != OutcomeRenewed {
		return grant, err
	}
	if o.inTx {
		return o.takeOver(ctx, params, grant)
	}
	err = o.inOwnTx(ctx, func(inTx operations) error {
		grant, err = inTx.take(ctx, object, owner, ttl)
		return err
	})
	return grant, err
}

// takeOver ends a grant of the operator's own, which the transaction has just renewed, and begins another one.
func (o operations) takeOver(ctx context.Context, params db.GetApplLockParams, former Grant) (Grant, error) {
	if _, err := o.release(ctx, releaseParams(former)); err != nil {
		return Grant{}, err
	}
	return o.get(ctx, params)
}

// getParams has the arguments of a get, checked and trimmed already.
func getParams(object Object, owner Owner, ttl time.Duration) db.GetApplLockParams {
	return db.GetApplLockParams{
		ObjectType:   object.Type,
		ObjectID:     object.ID,
		OperatorID:   owner.Operator,
		DepartmentID: owner.Department,
		TTLSeconds:   db.WholeSeconds(ttl),
	}
}

// inOwnTx runs operations in a transaction of their own, which is repeated when the database has undone it for another
// one's sake. What they return is returned as it is: nothing has happened then.
func (o operations) inOwnTx(ctx context.Context, run func(inTx operations) error) error {
	var refusal error
	err := o.run(ctx, func() error {
		return o.driver.InTx(ctx, func(driver db.Driver) error {
			refusal = run(operations{driver: driver, logger: o.logger, inTx: true})
			return refusal
		})
	})
	switch {
	case err == nil:
		return nil
	case refusal == nil:
		return o.changeError(err)
	case db.KindOf(err) == db.KindInFlight: // it is rolled back, whatever it has done
		return fmt.Errorf("%w: %w", errInterrupted, err)
	}
	return err
}

// getEach gets all locks in one call, the others also when one is refused: for the sake of the answer. Those that the operator
// has already are taken over one by one.
func (o operations) getEach(
	ctx context.Context, objects []Object, owner Owner, ttl time.Duration, known map[Object]*HeldError,
) ([]Grant, error) {
	var params []db.GetApplLockParams
	var asked []int
	for i, object := range objects {
		if known[object] == nil {
			asked = append(asked, i)
			params = append(params, getParams(object, owner, ttl))
		}
	}
	refusals := maps.Clone(known)
	grants := make([]Grant, len(objects))
	err := o.getMany(ctx, params, func(i int, grant Grant, err error) error {
		var held *HeldError
		if errors.As(err, &held) {
			refusals[held.Object] = held
			return nil
		}
		if err == nil && grant.Outcome == OutcomeRenewed && len(refusals) == 0 {
			grant, err = o.takeOver(ctx, params[i], grant)
		}
		grants[asked[i]] = grant
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(refusals) > 0 {
		return nil, conflictOf(objects, refusals)
	}
	return grants, nil
}

// conflictOf has the refusals in the order of the objects.
func conflictOf(objects []Object, refusals map[Object]*HeldError) *ConflictError {
	conflict := &ConflictError{}
	for _, object := range objects {
		if held := refusals[object]; held != nil {
			conflict.Conflicts = append(conflict.Conflicts, held)
		}
	}
	return conflict
}
