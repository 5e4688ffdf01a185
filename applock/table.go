package applock

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/applock/applock/internal/db"
)

// table keeps leases in appl_lock: the backend of a Client.
type table struct {
	client   *Client
	clientID string
}

var (
	_ Backend     = (*table)(nil)
	_ Poller      = (*table)(nil)
	_ announcer   = (*table)(nil)
	_ notifier    = (*table)(nil)
	_ transferrer = (*table)(nil)
)

// pollRows is how many objects one poll returns: those that will be free soonest.
const pollRows = 100

// Take is a get, whose ttl has whole seconds: a lease frees the object itself when less have passed.
func (t *table) Take(ctx context.Context, object Object, owner Owner, ttl time.Duration) (Grant, error) {
	return t.client.get(ctx, GetRequest{Object: object, Owner: owner, TTL: wholeSeconds(ttl)})
}

func wholeSeconds(ttl time.Duration) time.Duration {
	return (ttl + time.Second - 1).Truncate(time.Second)
}

// Release is a release by fence.
func (t *table) Release(ctx context.Context, grant Grant) error {
	released, err := t.client.release(ctx, ReleaseRequest{
		Object: grant.Object, Operator: grant.Owner.Operator, Fence: grant.Fence,
	})
	if err == nil && !released {
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
		rows, err := t.client.renew(ctx, grants)
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
		}}}
	default:
		return Renewed{Object: object, Lost: ErrNotHeld}
	}
}

// Poll asks by the client's rows in appl_lock_waiter, so that one statement of constant size does for all objects.
func (t *table) Poll(ctx context.Context, _ iter.Seq[Object]) ([]Object, time.Duration, error) {
	rows, err := t.client.poll(ctx, t.clientID, pollRows)
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

func (t *table) announce(ctx context.Context, object Object, owner Owner, wait time.Duration) error {
	if wait == forever {
		wait = 0
	}
	return t.client.await(ctx, object, owner, t.clientID, wait)
}

func (t *table) retract(ctx context.Context, object Object, operator string) error {
	return t.client.unawait(ctx, object, operator, t.clientID)
}

func (t *table) listen(ctx context.Context) (releases, error) {
	return t.client.driver.Listen(ctx)
}

// transfer asserts the grant first, in the same transaction: a transfer itself cannot be told the fence.
func (t *table) transfer(ctx context.Context, grant Grant, request TransferLeaseRequest) (Grant, error) {
	var handed Grant
	var refusal error // from inside the transaction: nothing has happened
	_, err := settle(ctx, t.client, func() (struct{}, error) {
		err := t.client.driver.InTx(ctx, func(driver db.Driver) error {
			tx := &Client{driver: driver, logger: t.client.logger, inTx: true}
			handed, refusal = tx.transferGrant(ctx, grant, request)
			return refusal
		})
		return struct{}{}, err
	})
	if err != nil && refusal == nil {
		err = t.client.changeError(err)
	}
	return handed, err
}

func (c *Client) transferGrant(ctx context.Context, grant Grant, request TransferLeaseRequest) (Grant, error) {
	operator := grant.Owner.Operator
	if err := c.assert(ctx, AssertRequest{Object: grant.Object, Operator: operator, Fence: grant.Fence}); err != nil {
		return Grant{}, err
	}
	return c.transfer(ctx, TransferRequest{Object: grant.Object, From: operator, To: request.To, TTL: request.TTL})
}
