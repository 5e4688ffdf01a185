package lease

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
)

// table is the backend of a client: it keeps leases in appl_lock.
type table struct {
	operations clientOperations
	clientID   string
}

// clientOperations are a client's methods for its leases. Arguments are already checked.
type clientOperations interface {
	GetAnew(ctx context.Context, object applock.Object, owner applock.Owner, ttl time.Duration) (applock.Grant, error)
	GetAllAnew(ctx context.Context, objects []applock.Object, owner applock.Owner, ttl time.Duration, known map[applock.Object]*applock.HeldError) ([]applock.Grant, error)
	ReleaseGrant(ctx context.Context, grant applock.Grant) error
	ReleaseGrants(ctx context.Context, operator string) ([]applock.Object, error)
	RenewGrants(ctx context.Context, grants []db.RenewableGrant, visit func(object applock.Object, lost error, row db.RenewedGrant)) error
	TransferGrant(ctx context.Context, grant applock.Grant, to applock.Owner, ttl time.Duration) (applock.Grant, error)
	PassGrant(ctx context.Context, grant applock.Grant, to applock.Owner, ttl time.Duration) (applock.Grant, error)
	Poll(ctx context.Context, clientID string, maxRows int) ([]db.AwaitedObject, error)
	Announce(ctx context.Context, object applock.Object, owner applock.Owner, clientID string, wait time.Duration) error
	Retract(ctx context.Context, waiters []db.RetractApplLockWaiterParams) error
	Others(ctx context.Context, object applock.Object, clientID string) (isFree bool, ahead, behind int, err error)
	Listen(ctx context.Context) (db.Listener, error)
}

var (
	_ Backend     = (*table)(nil)
	_ Poller      = (*table)(nil)
	_ Announcer   = (*table)(nil)
	_ Peeker      = (*table)(nil)
	_ Notifier    = (*table)(nil)
	_ Transferrer = (*table)(nil)
	_ Passer      = (*table)(nil)
)

// pollRows is how many objects a poll returns at first, the earliest free ones. If all of them are free there may be more, and it polls
// again at once for pollGrowth times as many.
const (
	pollRows   = 100
	pollGrowth = 10
)

// Get calls get_appl_lock, whose ttl is in whole seconds. The lease itself frees the object earlier.
func (t *table) Get(ctx context.Context, object applock.Object, owner applock.Owner, ttl time.Duration) (applock.Grant, error) {
	return t.operations.GetAnew(ctx, object, owner, ttl)
}

// Release releases by fence.
func (t *table) Release(ctx context.Context, grant applock.Grant) error {
	return t.operations.ReleaseGrant(ctx, grant)
}

// releaseSet releases all locks of an operator.
func (t *table) releaseSet(ctx context.Context, operator string) ([]applock.Object, error) {
	return t.operations.ReleaseGrants(ctx, operator)
}

// prepareToRenew makes a connection for renewals, by renewing nothing.
func (t *table) prepareToRenew(ctx context.Context) error {
	return t.operations.RenewGrants(ctx, nil, func(applock.Object, error, db.RenewedGrant) {})
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
				TTLSeconds: db.WholeSeconds(renewal.TTL),
			}
		}
		err := t.operations.RenewGrants(ctx, grants, func(object applock.Object, lost error, row db.RenewedGrant) {
			answers = append(answers, renewedOf(object, lost, row))
		})
		if err != nil {
			return nil, err
		}
	}
	return answers, nil
}

func renewedOf(object applock.Object, lost error, row db.RenewedGrant) Renewed {
	if lost != nil {
		return Renewed{Object: object, Lost: lost}
	}
	return Renewed{Object: object, ExpiresAt: row.ExpiresTS.Time, Left: time.Duration(row.SecondsLeft) * time.Second}
}

// Poll asks by the client's rows in appl_lock_waiter: one statement of constant size for all objects.
func (t *table) Poll(ctx context.Context, waited iter.Seq[applock.Object]) (PollAnswer, error) {
	for page := pollRows; ; page *= pollGrowth {
		rows, err := t.operations.Poll(ctx, t.clientID, page)
		if err != nil {
			return PollAnswer{}, err
		}
		isFull := len(rows) == page
		if isFull && page < applock.MaxPageSize && rows[page-1].FreeInUS <= 0 {
			continue
		}
		answer := pollAnswer(rows)
		if !isFull {
			answer.Unlisted = unlisted(rows, waited)
		}
		return answer, nil
	}
}

// pollAnswer returns the free objects, which come first, and the time of the next one.
func pollAnswer(rows []db.AwaitedObject) (answer PollAnswer) {
	for _, row := range rows {
		if row.FreeInUS > 0 {
			answer.Next = time.Duration(row.FreeInUS) * time.Microsecond
			break
		}
		object := applock.Object{Type: row.ObjectType, ID: row.ObjectID}
		if row.FirstFL == db.Yes {
			answer.Free = append(answer.Free, object)
		} else {
			answer.Later = append(answer.Later, object)
		}
	}
	return answer
}

// unlisted returns awaited objects without a row, after a failover that lost them or a cleanup.
func unlisted(rows []db.AwaitedObject, waited iter.Seq[applock.Object]) (lost []applock.Object) {
	listed := make(map[applock.Object]bool, len(rows))
	for _, row := range rows {
		listed[applock.Object{Type: row.ObjectType, ID: row.ObjectID}] = true
	}
	for object := range waited {
		if !listed[object] {
			lost = append(lost, object)
		}
	}
	return lost
}

// Announce lists a waiter under this client.
func (t *table) Announce(ctx context.Context, object applock.Object, owner applock.Owner, wait time.Duration) error {
	return t.operations.Announce(ctx, object, owner, t.clientID, wait)
}

// Retract removes a waiter of this client from the list.
func (t *table) Retract(ctx context.Context, object applock.Object, operator string) error {
	return t.retractMany(ctx, []listingKey{{object: object, operator: operator}})
}

// retractMany removes several waiters at once.
func (t *table) retractMany(ctx context.Context, waiters []listingKey) error {
	params := make([]db.RetractApplLockWaiterParams, len(waiters))
	for i, waiter := range waiters {
		params[i] = db.RetractApplLockWaiterParams{
			ObjectType: waiter.object.Type,
			ObjectID:   waiter.object.ID,
			OperatorID: waiter.operator,
			ClientID:   t.clientID,
		}
	}
	return t.operations.Retract(ctx, params)
}

// Others reads the list of waiters.
func (t *table) Others(ctx context.Context, object applock.Object) (ahead, behind int, err error) {
	_, ahead, behind, err = t.operations.Others(ctx, object, t.clientID)
	return ahead, behind, err
}

// Peek reads the list of waiters of one object.
func (t *table) Peek(ctx context.Context, object applock.Object) (isFree, isFirst bool, err error) {
	isFree, ahead, _, err := t.operations.Others(ctx, object, t.clientID)
	return isFree, ahead == 0, err
}

// Listen listens to messages of releases, if the database has them.
func (t *table) Listen(ctx context.Context) (Listener, error) {
	listener, err := t.operations.Listen(ctx)
	if errors.Is(err, db.ErrNoListen) {
		return nil, fmt.Errorf("%w: %w", errors.ErrUnsupported, err)
	}
	return &tableListener{Listener: listener, clientID: t.clientID}, err
}

// tableListener is a driver's listener, whose messages are texts.
type tableListener struct {
	db.Listener

	clientID string
	// rank is what the last message said about the next one.
	rank Rank
}

// Next returns messages that name an object. A message that names a client says which one is to ask first for the next message's object.
func (r *tableListener) Next(ctx context.Context) (Message, error) {
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
		if object, err := applock.ParseObject(text); err == nil {
			return Message{Object: object, Rank: rank}, nil
		}
	}
}

// Transfer ends the grant by its fence.
func (t *table) Transfer(ctx context.Context, grant applock.Grant, to applock.Owner, ttl time.Duration) (applock.Grant, error) {
	return t.operations.TransferGrant(ctx, grant, to, ttl)
}

// Pass ends the grant by its fence and gets the object for the next owner.
func (t *table) Pass(ctx context.Context, grant applock.Grant, to applock.Owner, ttl time.Duration) (applock.Grant, error) {
	return t.operations.PassGrant(ctx, grant, to, ttl)
}
