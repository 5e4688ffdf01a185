package applock

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
func (c *Client) Renew(ctx context.Context, key Key, ttl time.Duration) (Grant, error) {
	grant, err := c.operations.renewOne(ctx, key, ttl)
	if err != nil {
		return Grant{}, fmt.Errorf("renew %s: %w", key.Object, err)
	}
	return grant, nil
}

func renewableGrant(key Key, ttl time.Duration) (db.RenewableGrant, error) {
	key, err := key.trimWithFence()
	if err != nil {
		return db.RenewableGrant{}, err
	}
	seconds, err := checkTTL(ttl)
	return db.RenewableGrant{
		ObjectType: key.Object.Type,
		ObjectID:   key.Object.ID,
		OperatorID: key.Operator,
		Fence:      int64(key.Fence),
		TTLSeconds: seconds,
	}, err
}

// errChanging means that another transaction was changing the grant.
var errChanging = errors.New("renew_appl_locks: another transaction is changing the lock")

func (o operations) renewOne(ctx context.Context, key Key, ttl time.Duration) (Grant, error) {
	grant, err := renewableGrant(key, ttl)
	if err != nil {
		return Grant{}, err
	}
	object := Object{Type: grant.ObjectType, ID: grant.ObjectID}
	if grant.TTLSeconds == 0 {
		if grant.TTLSeconds, err = o.ttlOf(ctx, object, grant); err != nil {
			return Grant{}, err
		}
	}
	rows, err := retryIfUnchanged(ctx, o, func() ([]db.RenewedGrant, error) {
		rows, err := o.driver.RenewApplLocks(ctx, db.RenewApplLocksParams{Grants: []db.RenewableGrant{grant}})
		if err == nil && len(rows) == 0 {
			err = &db.Error{Kind: db.KindContention, Err: errChanging} // so that it is asked again
		}
		return rows, err
	})
	if errors.Is(err, errChanging) {
		if ended := db.EndOf(ctx); ended != nil {
			return Grant{}, fmt.Errorf("%w: %w", ErrBusy, ended)
		}
		return Grant{}, ErrBusy
	}
	if err != nil {
		return Grant{}, o.changeError(err)
	}
	o.log(ctx, "renew_appl_locks",
		slog.String("object", object.String()),
		slog.String("operator", grant.OperatorID),
		slog.Int64("fence", grant.Fence),
		slog.String("outcome", string(rows[0].Outcome)))
	if lost := lossOf(rows[0]); lost != nil {
		return Grant{}, newLostError(object, lost)
	}
	return Grant{
		Object:    object,
		Owner:     Owner{Operator: grant.OperatorID},
		Fence:     key.Fence,
		ExpiresAt: rows[0].ExpiresTS,
		Left:      time.Duration(rows[0].SecondsLeft) * time.Second,
		Outcome:   OutcomeRenewed,
	}, nil
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
	params := db.RenewApplLocksParams{Grants: grants}
	answers, err := retryIfUnchanged(ctx, o, func() ([]db.RenewedGrant, error) { return o.driver.RenewApplLocks(ctx, params) })
	if err != nil {
		return nil, o.changeError(err)
	}
	o.log(ctx, "renew_appl_locks",
		slog.Int("grants", len(grants)),
		slog.Int("rows", len(answers)))
	return answers, nil
}

// lossOf returns why a grant that was to be renewed is not live, nil if it is.
func lossOf(row db.RenewedGrant) error {
	switch row.Outcome {
	case db.Renewed:
		return nil
	case db.Held:
		return &HeldError{Object: Object{Type: row.ObjectType, ID: row.ObjectID}, Holder: Holder{
			Owner:     Owner{Operator: row.OldOperatorID, Department: row.OldDepartmentID},
			ExpiresAt: row.ExpiresTS,
			Left:      time.Duration(row.SecondsLeft) * time.Second,
		}}
	}
	return ErrNotHeld
}
