package applock

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
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

// pollRows is how many objects a poll returns at first: those that will be free soonest. Where all of them are free there may
// be more, and it asks again at once for pollGrowth times as many.
const (
	pollRows   = 100
	pollGrowth = 10
)

// Take is a get, whose ttl has whole seconds: a lease frees the object itself when less have passed.
func (t *table) Take(ctx context.Context, object Object, owner Owner, ttl time.Duration) (Grant, error) {
	return t.operations.take(ctx, object, owner, ttl)
}

// take begins a new grant also for the operator that has the object: a get would renew that one's grant. So it is released and
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
	_, err := o.release(ctx, db.ReleaseApplLockParams{
		ObjectType: params.ObjectType,
		ObjectID:   params.ObjectID,
		OperatorID: params.OperatorID,
		Fence:      int64(former.Fence),
	})
	if err != nil {
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
		TTLSeconds:   int64(wholeSeconds(ttl) / time.Second),
	}
}

func wholeSeconds(ttl time.Duration) time.Duration {
	return (ttl + time.Second - 1).Truncate(time.Second)
}

// Release is a release by fence. It need not wait for the disk: a crash of the server before it is written leaves a lock that
// ends by itself, and whoever takes the object later has the release written, too, or has nothing.
func (t *table) Release(ctx context.Context, grant Grant) error {
	result, err := t.operations.release(ctx, db.ReleaseApplLockParams{
		ObjectType: grant.Object.Type,
		ObjectID:   grant.Object.ID,
		OperatorID: grant.Owner.Operator,
		Fence:      int64(grant.Fence),
		Unflushed:  true,
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
		return Renewed{Object: object, ExpiresAt: row.ExpiresTS, Left: time.Duration(row.SecondsLeft) * time.Second}
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
func (t *table) Poll(ctx context.Context, waited iter.Seq[Object]) (PollAnswer, error) {
	for page := pollRows; ; page *= pollGrowth {
		rows, err := t.operations.poll(ctx, t.clientID, page)
		if err != nil {
			return PollAnswer{}, err
		}
		isFull := len(rows) == page
		if isFull && page < MaxPageSize && rows[page-1].FreeInUS <= 0 {
			continue
		}
		answer := pollAnswer(rows)
		if !isFull {
			answer.Unlisted = unlisted(rows, waited)
		}
		return answer, nil
	}
}

// pollAnswer takes those that are free, which come first, and the time of the next one.
func pollAnswer(rows []db.AwaitedObject) (answer PollAnswer) {
	for _, row := range rows {
		if row.FreeInUS > 0 {
			answer.Next = time.Duration(row.FreeInUS) * time.Microsecond
			break
		}
		answer.Free = append(answer.Free, Object{Type: row.ObjectType, ID: row.ObjectID})
	}
	return answer
}

// unlisted returns what is waited for and has no row: after a failover to a server that had not heard of it, or a cleanup.
func unlisted(rows []db.AwaitedObject, waited iter.Seq[Object]) (lost []Object) {
	listed := make(map[Object]bool, len(rows))
	for _, row := range rows {
		listed[Object{Type: row.ObjectType, ID: row.ObjectID}] = true
	}
	for object := range waited {
		if !listed[object] {
			lost = append(lost, object)
		}
	}
	return lost
}

// Announce lists a waiter under this client.
func (t *table) Announce(ctx context.Context, object Object, owner Owner, wait time.Duration) error {
	return t.operations.announce(ctx, object, owner, t.clientID, wait)
}

// Retract takes a waiter of this client off the list.
func (t *table) Retract(ctx context.Context, object Object, operator string) error {
	return t.operations.retract(ctx, []listingKey{{object: object, operator: operator}}, t.clientID)
}

// retractMany takes several waiters off the list at once.
func (t *table) retractMany(ctx context.Context, waiters []listingKey) error {
	return t.operations.retract(ctx, waiters, t.clientID)
}

// Listen listens to the messages of releases, where the database has some.
func (t *table) Listen(ctx context.Context) (Releases, error) {
	listener, err := t.operations.driver.Listen(ctx)
	if errors.Is(err, db.ErrNoListen) {
		return nil, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return &listenerReleases{Listener: listener, clientID: t.clientID}, err
}

// listenerReleases is a listener of a driver, whose messages are texts.
type listenerReleases struct {
	db.Listener

	clientID string
	// rank is what the last message has said of the next one.
	rank Rank
}

// Next passes on the messages that name an object. A message that names a client says which is to ask first for the next one.
func (r *listenerReleases) Next(ctx context.Context) (Message, error) {
	for {
		text, err := r.Listener.Next(ctx)
		if err != nil {
			return Message{}, err
		}
		if client, ok := strings.CutPrefix(text, ":"); ok {
			r.rank = Later
			if client == r.clientID {
				r.rank = First
			}
			continue
		}
		rank := r.rank
		r.rank = Unranked
		if object, err := ParseObject(text); err == nil {
			return Message{Object: object, Rank: rank}, nil
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
	if err := o.assert(ctx, Key{Object: grant.Object, Operator: operator, Fence: grant.Fence}); err != nil {
		return Grant{}, err
	}
	return o.transfer(ctx, TransferRequest{Object: grant.Object, From: operator, To: request.To, TTL: request.TTL})
}
