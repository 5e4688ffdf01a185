package applock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/applock/applock/internal/db"
)

// Renew moves the end of exactly this grant. Unlike Get it never takes a lock: one that has expired has ended, although
// nobody else has come, and what happened since then is not this holder's.
// The fence must be given. The ttl is how long the lock outlives this call at least, by the database's clock, in whole seconds: 1 s to
// MaxTTL; the lock never ends sooner than it did. Zero keeps the TTL of the grant, which takes a second call to the database.
//
// The Grant has no department, which Inquire tells. It returns a *LostError (ErrLost, ErrNotHeld) with the holder, if there
// is one, when the grant is not live; ErrBusy when another transaction was changing the lock for longer than about 1 s, or until ctx ended,
// whose error comes with it then;
// ErrOutcomeUnknown after a cancelled ctx or a broken connection: repeat the call.
func (c *Client) Renew(ctx context.Context, key Key, ttl time.Duration) (renewed Grant, err error) {
	defer begin(&err, "renew %s: %w", key.Object)
	grant, err := renewableGrant(key, ttl)
	if err != nil {
		return Grant{}, err
	}
	o, object := c.ops(), Object{Type: grant.ObjectType, ID: grant.ObjectID}
	if grant.TTLSeconds == 0 {
		if grant.TTLSeconds, err = o.ttlOf(ctx, object, grant); err != nil {
			return Grant{}, err
		}
	}
	row, err := o.renewOne(ctx, grant)
	if err != nil {
		return Grant{}, err
	}
	o.logObject(ctx, "renew_appl_locks", object, grant.OperatorID, fenceAttr(grant.Fence), outcomeAttr(row.Outcome))
	if lost := lossOf(row); lost != nil {
		return Grant{}, newLostError(object, lost)
	}
	return Grant{
		Object:    object,
		Owner:     Owner{Operator: grant.OperatorID},
		Fence:     key.Fence,
		ExpiresAt: row.ExpiresTS.Time,
		Left:      seconds(row.SecondsLeft),
		Outcome:   OutcomeRenewed,
	}, nil
}

// RenewAllRequest names grants to renew.
type RenewAllRequest struct {
	// Keys are the grants, each with its fence, and no object twice.
	Keys []Key
	// TTL is how long each lock outlives this call at least, as in Renew, but not zero.
	TTL time.Duration
}

// RenewAll renews grants as Renew does, 10,000 in one call to the database, and returns what became of each in the order of the keys:
// OutcomeRenewed, OutcomeHeld with the holder, OutcomeFree, or OutcomeBusy where another transaction is changing the lock, which is then
// neither renewed nor lost. A lock that cannot be renewed delays none of the others. With an error comes what was done before it: call again.
func (c *Client) RenewAll(ctx context.Context, request RenewAllRequest) (changes []LockChange, err error) {
	defer begin(&err, "renew all: %w")
	if request.TTL == 0 {
		return nil, &InvalidError{Argument: "TTL", Reason: "must not be zero"}
	}
	grants, named := make([]db.RenewableGrant, len(request.Keys)), map[Object]bool{}
	for i, key := range request.Keys {
		if grants[i], err = renewableGrant(key, request.TTL); err != nil {
			return nil, err
		}
		object := Object{Type: grants[i].ObjectType, ID: grants[i].ObjectID}
		if named[object] {
			return nil, &InvalidError{Argument: "Keys", Reason: "must not have an object twice"}
		}
		named[object] = true
	}
	o := c.ops()
	if err := o.ready(ctx); err != nil { // also without a grant
		return nil, err
	}
	for batch := range slices.Chunk(grants, db.MaxGrants) {
		rows, err := o.renew(ctx, batch)
		if err != nil {
			return changes, err
		}
		renewed := map[Object]db.RenewedGrant{}
		for _, row := range rows {
			renewed[Object{Type: row.ObjectType, ID: row.ObjectID}] = row
		}
		for _, grant := range batch {
			changes = append(changes, renewalOf(grant, renewed))
		}
	}
	return changes, nil
}

func renewalOf(grant db.RenewableGrant, renewed map[Object]db.RenewedGrant) LockChange {
	object := Object{Type: grant.ObjectType, ID: grant.ObjectID}
	row, answered := renewed[object]
	if !answered || row.Outcome == db.Renewed {
		row.OldOperatorID = grant.OperatorID
	} else {
		grant.Fence = 0
	}
	return LockChange{
		Object: object, Outcome: cmp.Or(Outcome(row.Outcome), OutcomeBusy), Owner: Owner{Operator: row.OldOperatorID, Department: row.OldDepartmentID},
		Fence: Fence(grant.Fence), ExpiresAt: row.ExpiresTS.Time, Left: seconds(row.SecondsLeft),
	}
}

func renewableGrant(key Key, ttl time.Duration) (db.RenewableGrant, error) {
	var c checks
	key = c.key(key.trimWithFence())
	return db.RenewableGrant{
		ObjectType: key.Object.Type,
		ObjectID:   key.Object.ID,
		OperatorID: key.Operator,
		Fence:      int64(key.Fence),
		TTLSeconds: c.number(checkTTL(ttl)),
	}, c.err
}

// errChanging means that another transaction was changing the grant.
var errChanging = errors.New("renew_appl_locks: another transaction is changing the lock")

// renewOne renews a grant, and waits for a transaction that is changing it.
func (o operations) renewOne(ctx context.Context, grant db.RenewableGrant) (db.RenewedGrant, error) {
	rows, err := retryIfUnchanged(ctx, o, func() ([]db.RenewedGrant, error) {
		rows, err := o.driver.RenewApplLocks(ctx, db.RenewApplLocksParams{Grants: []db.RenewableGrant{grant}})
		if err == nil && len(rows) == 0 {
			err = &db.Error{Kind: db.KindContention, Err: errChanging} // so that it is asked again
		}
		return rows, err
	})
	if errors.Is(err, errChanging) {
		if ended := db.EndOf(ctx); ended != nil {
			return db.RenewedGrant{}, fmt.Errorf("%w: %w", ErrBusy, ended)
		}
		return db.RenewedGrant{}, ErrBusy
	}
	if err != nil {
		return db.RenewedGrant{}, o.changeError(err)
	}
	return rows[0], nil
}

// ttlOf returns the ttl of a grant in seconds, if it is live.
func (o operations) ttlOf(ctx context.Context, object Object, grant db.RenewableGrant) (int64, error) {
	for lock, err := range o.list(ctx, ListRequest{ObjectType: object.Type, ObjectID: object.ID}) {
		if err != nil {
			return 0, err
		}
		if int64(lock.Fence) != grant.Fence || lock.Owner.Operator != grant.OperatorID {
			return 0, newLostError(object, &HeldError{Object: object, Holder: holderOf(lock)})
		}
		return int64(lock.TTL / time.Second), nil
	}
	return 0, newLostError(object, ErrNotHeld)
}

// renew renews grants, at most db.MaxGrants and no object twice. One that another transaction is changing has no
// row in the answer.
func (o operations) renew(ctx context.Context, grants []db.RenewableGrant) ([]db.RenewedGrant, error) {
	answers, err := change(ctx, o, db.Driver.RenewApplLocks, db.RenewApplLocksParams{Grants: grants})
	if err != nil {
		return nil, err
	}
	o.log(ctx, "renew_appl_locks", slog.Int("grants", len(grants)), slog.Int("rows", len(answers)))
	return answers, nil
}

// lossOf returns why a grant that was to be renewed is not live, nil if it is.
func lossOf(row db.RenewedGrant) error {
	switch row.Outcome {
	case db.Renewed:
		return nil
	case db.Held:
		return &HeldError{Object: Object{Type: row.ObjectType, ID: row.ObjectID}, Holder: Holder{
			Owner:      Owner{Operator: row.OldOperatorID, Department: row.OldDepartmentID},
			AcquiredAt: row.AcquiredTS.Time,
			ExpiresAt:  row.ExpiresTS.Time,
			Left:       seconds(row.SecondsLeft),
		}}
	}
	return ErrNotHeld
}
