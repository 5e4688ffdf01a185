package applock

import (
	"context"
	"slices"
	"time"

	"github.com/applock/applock/internal/db"
)

// GetRequest asks for the lock on an object.
type GetRequest struct {
	Object Object
	// Owner is who wants the lock. An empty department is left as it is by a renewal.
	Owner Owner
	// TTL is how long the lock lasts from this call on, by the database's clock: 1 s to MaxTTL, in whole seconds. With zero a renewal keeps
	// the TTL of the grant, and a new grant has that of the type's Policy, or DefaultTTL (7 days). A Policy may cut it: the Grant says when
	// it ends. A shorter TTL shortens the lock.
	TTL time.Duration
	// MaxWait bounds the wait for an object that another operator holds or whose lock another transaction is changing, and through an
	// outage. Waiters shows the waiter. Zero answers at once. A client on a transaction refuses MaxWait, because it would keep the
	// transaction open.
	MaxWait time.Duration
	// New refuses a renewal: the answer is a *HeldError with the operator itself as the holder, and nothing changes. So of two runs of a
	// job under one name one gets the lock. After ErrOutcomeUnknown a repeated call is refused if the first one took the lock: look with
	// Inquire, or give each attempt an operator of its own.
	New bool
}

// Grant is what a successful Get or Transfer returns.
type Grant struct {
	Object Object
	// Owner is as requested. A renewal without a department keeps the grant's, which Inquire returns.
	Owner Owner
	// Fence is the same through all renewals of a grant, and greater for every later grant.
	Fence Fence
	// AcquiredAt is the start of the grant: UTC, by the database's clock; zero on backends of leases that do not tell it.
	AcquiredAt time.Time
	// ExpiresAt is when the lock ends unless it is renewed: UTC, by the database's clock.
	ExpiresAt time.Time
	// Left is how long the lock lasts from the answer on: whole seconds by the database's clock, rounded up. Count it from before the call,
	// on a monotonic clock, to be independent of the clocks of both machines.
	Left time.Duration
	// Outcome is OutcomeAcquired, OutcomeRenewed when the operator held the lock already, OutcomeTransferred or OutcomeTaken.
	Outcome Outcome
	// Note is the operator's note if a get renewed the grant. A new grant has none.
	Note string
	// From is the operator that a Take displaced: empty if Owner held the object itself, and for every other call.
	From Owner
}

// Key names the grant, for Renew, Release, Assert and Note.
func (g Grant) Key() Key { return Key{Object: g.Object, Operator: g.Owner.Operator, Fence: g.Fence} }

// Get takes the lock on an object, or renews it if the operator holds it already. An expired lock is no lock. Every caller with the same
// operator has the same lock: give each run of a job an operator of its own, or set New.
//
// It returns a *HeldError (ErrHeld) if another operator holds the object, at once and without writing. Only while another open transaction
// is changing this very lock does it wait, at most 1 s; on SQLite it waits for any writer of the file, at most 5 s. On MySQL a refusal in a
// transaction keeps the lock's row locked until the transaction ends. ErrOutcomeUnknown after a cancelled ctx or a broken connection:
// repeat the call, which renews what the first one may have taken (not with New).
//
// With a MaxWait it tries again until that time is over; a call that is under way then may take 3 s more. The error is a *HeldError if a
// holder was seen, and otherwise ErrBusy, ErrUnreachable or ErrOutcomeUnknown, from the last call.
func (c *Client) Get(ctx context.Context, request GetRequest) (grant Grant, err error) {
	defer begin(&err, "get %s: %w", request.Object)
	params, err := request.params()
	if err != nil {
		return Grant{}, err
	}
	if request.MaxWait > 0 && c.ops().inTx {
		return Grant{}, &InvalidError{Argument: "MaxWait", Reason: "must be zero in a transaction"}
	}
	if request.MaxWait == 0 {
		return c.ops().get(ctx, params)
	}
	engine, err := c.leases()
	if err != nil {
		return Grant{}, err
	}
	object, owner := Object{Type: params.ObjectType, ID: params.ObjectID}, Owner{Operator: params.OperatorID, Department: params.DepartmentID}
	err = engine.Wait(ctx, object, owner, request.MaxWait, func(ctx context.Context) (err error) {
		grant, err = c.ops().get(ctx, params)
		return err
	})
	if err != nil {
		return Grant{}, err
	}
	return grant, nil
}

// holderOf tells who holds a live lock.
func holderOf(lock Lock) Holder {
	return Holder{
		Owner: lock.Owner, Fence: lock.Fence, AcquiredAt: lock.AcquiredAt, ExpiresAt: lock.ExpiresAt, Left: lock.Left, Note: lock.Note,
	}
}

func (r GetRequest) params() (db.GetApplLockParams, error) {
	var c checks
	object, owner := c.object(r.Object.trim()), c.owner(r.Owner.trim("Owner"))
	params := db.GetApplLockParams{
		ObjectType:   object.Type,
		ObjectID:     object.ID,
		OperatorID:   owner.Operator,
		DepartmentID: owner.Department,
		TTLSeconds:   c.number(checkTTL(r.TTL)),
		NewFL:        r.New,
	}
	c.check(checkMaxWait(r.MaxWait))
	return params, c.err
}

func (o operations) get(ctx context.Context, params db.GetApplLockParams) (Grant, error) {
	result, err := change(ctx, o, db.Driver.GetApplLock, params)
	if err != nil {
		return Grant{}, err
	}
	return o.answerToGet(ctx, params, result)
}

// getMany is get for several objects, in the order of params; visit is called with each answer.
func (o operations) getMany(
	ctx context.Context, params []db.GetApplLockParams, visit func(i int, grant Grant, refusal error) error,
) error {
	results := make([]db.Result, 0, len(params))
	for batch := range slices.Chunk(params, db.MaxGrants) {
		answers, err := change(ctx, o, db.Driver.GetApplLocks, batch)
		if err != nil {
			return err
		}
		results = append(results, answers...)
	}
	for i, result := range results {
		grant, err := o.answerToGet(ctx, params[i], result)
		if err := visit(i, grant, err); err != nil {
			return err
		}
	}
	return nil
}

// answerToGet makes a grant or a refusal of the answer.
func (o operations) answerToGet(ctx context.Context, params db.GetApplLockParams, result db.Result) (Grant, error) {
	object := Object{Type: params.ObjectType, ID: params.ObjectID}
	o.logObject(ctx, "get_appl_lock", object, params.OperatorID, fenceAttr(result.Fence), outcomeAttr(result.Outcome))
	if result.OkFL != db.Yes {
		return Grant{}, heldBy(object, result)
	}
	return grantOf(object, Owner{Operator: params.OperatorID, Department: params.DepartmentID}, result), nil
}
