// Package inprocess keeps leases in memory: locks among the goroutines of one process, first come, first served.
//
// What it does not promise: anything beyond the process. The locks end with it, other processes do not see them, and nothing is durable.
// Fences grow like those of the table, even from one process to the next, unless the machine's clock is set back in between.
package inprocess

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// New returns leases in memory. Each call returns independent locks.
func New() *lease.Leases {
	return lease.New(newBackend(), lease.Config{})
}

func newBackend() *backend { return &backend{table: table{grants: map[applock.Object]applock.Grant{}}} }

// backend is a table in memory, one call at a time. It needs no poller: all waiters are in the same Leases as the holder.
type backend struct {
	mutex sync.Mutex
	table table
}

type table struct {
	grants map[applock.Object]applock.Grant
	fence  applock.Fence
}

var (
	_ lease.Backend = (*backend)(nil)
	_ lease.Passer  = (*backend)(nil)
)

func (b *backend) Get(_ context.Context, object applock.Object, owner applock.Owner, ttl time.Duration) (applock.Grant, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	now := time.Now()
	former, found := b.table.grants[object]
	if found && now.Before(former.ExpiresAt) && former.Owner.Operator != owner.Operator {
		return applock.Grant{}, &applock.HeldError{
			Object: object,
			Holder: applock.Holder{Owner: former.Owner, ExpiresAt: former.ExpiresAt},
		}
	}
	return b.table.begin(object, owner, now, ttl), nil
}

func (b *backend) Pass(_ context.Context, grant applock.Grant, to applock.Owner, ttl time.Duration) (applock.Grant, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.table.lost(grant) != nil {
		return applock.Grant{}, applock.ErrNotHeld
	}
	return b.table.begin(grant.Object, to, time.Now(), ttl), nil
}

// begin begins a new grant.
func (t *table) begin(object applock.Object, owner applock.Owner, now time.Time, ttl time.Duration) applock.Grant {
	t.fence = max(t.fence+1, applock.Fence(now.UnixMicro()))
	grant := applock.Grant{Object: object, Owner: owner, Fence: t.fence, ExpiresAt: now.Add(ttl).UTC(), Outcome: applock.OutcomeAcquired}
	t.grants[object] = grant
	return grant
}

func (b *backend) Release(_ context.Context, grant applock.Grant) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.table.lost(grant) != nil {
		return applock.ErrNotHeld
	}
	delete(b.table.grants, grant.Object)
	return nil
}

func (b *backend) Renew(_ context.Context, renewals []lease.Renewal) ([]lease.Renewed, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	answers := make([]lease.Renewed, len(renewals))
	for i, renewal := range renewals {
		object := renewal.Grant.Object
		answers[i] = lease.Renewed{Object: object, Lost: b.table.lost(renewal.Grant)}
		if answers[i].Lost == nil {
			grant := b.table.grants[object]
			if expires := time.Now().Add(renewal.TTL).UTC(); expires.After(grant.ExpiresAt) {
				grant.ExpiresAt = expires
			}
			b.table.grants[object] = grant
			answers[i].ExpiresAt = grant.ExpiresAt
		}
	}
	return answers, nil
}

var errExpired = errors.New("expired")

// lost returns why a grant is not live, nil if it is.
func (t *table) lost(grant applock.Grant) error {
	now, found := t.grants[grant.Object]
	switch {
	case !found || !time.Now().Before(now.ExpiresAt):
		return errExpired
	case now.Owner.Operator != grant.Owner.Operator || grant.Fence != 0 && now.Fence != grant.Fence:
		return &applock.HeldError{Object: grant.Object, Holder: applock.Holder{Owner: now.Owner, ExpiresAt: now.ExpiresAt}}
	}
	return nil
}
