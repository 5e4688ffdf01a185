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

func newBackend() *backend { return &backend{grants: map[applock.Object]applock.Grant{}} }

// backend is a table in memory, one call at a time. It needs no poller: all waiters are in the same Leases as the holder.
type backend struct {
	mutex  sync.Mutex
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
	if err := b.lost(applock.Grant{Object: object, Owner: owner}); errors.Is(err, applock.ErrHeld) {
		return applock.Grant{}, err
	}
	return b.begin(object, owner, ttl), nil
}

func (b *backend) Pass(_ context.Context, grant applock.Grant, to applock.Owner, ttl time.Duration) (applock.Grant, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.lost(grant) != nil {
		return applock.Grant{}, applock.ErrNotHeld
	}
	return b.begin(grant.Object, to, ttl), nil
}

// begin begins a new grant; the mutex is held.
func (b *backend) begin(object applock.Object, owner applock.Owner, ttl time.Duration) applock.Grant {
	now := time.Now()
	b.fence = max(b.fence+1, applock.Fence(now.UnixMicro()))
	grant := applock.Grant{Object: object, Owner: owner, Fence: b.fence, ExpiresAt: now.Add(ttl).UTC(), Outcome: applock.OutcomeAcquired}
	b.grants[object] = grant
	return grant
}

func (b *backend) Release(_ context.Context, grant applock.Grant) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.lost(grant) != nil {
		return applock.ErrNotHeld
	}
	delete(b.grants, grant.Object)
	return nil
}

func (b *backend) Renew(_ context.Context, renewals []lease.Renewal) ([]lease.Renewed, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	answers := make([]lease.Renewed, len(renewals))
	for i, renewal := range renewals {
		object := renewal.Grant.Object
		answers[i] = lease.Renewed{Object: object, Lost: b.lost(renewal.Grant)}
		if answers[i].Lost == nil {
			grant := b.grants[object]
			if expires := time.Now().Add(renewal.TTL).UTC(); expires.After(grant.ExpiresAt) {
				grant.ExpiresAt = expires
			}
			b.grants[object] = grant
			answers[i].ExpiresAt = grant.ExpiresAt
		}
	}
	return answers, nil
}

var errExpired = errors.New("expired")

// lost returns why a grant is not live, nil if it is; the mutex is held. A grant without a fence is any one of its operator.
func (b *backend) lost(grant applock.Grant) error {
	now, found := b.grants[grant.Object]
	switch {
	case !found || !time.Now().Before(now.ExpiresAt):
		return errExpired
	case now.Owner.Operator != grant.Owner.Operator || grant.Fence != 0 && now.Fence != grant.Fence:
		return &applock.HeldError{Object: grant.Object, Holder: applock.Holder{Owner: now.Owner, ExpiresAt: now.ExpiresAt}}
	}
	return nil
}
