package etcdlock

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

const (
	// callLimit limits a call, in addition to the client's limits.
	callLimit = 10 * time.Second
	// attempts limits how often a call decides anew about an object that changes meanwhile.
	attempts = 3
	// untilLimit limits the query for when another holder's lease ends.
	untilLimit = time.Second
)

type backend struct {
	client    *clientv3.Client
	namespace string
	// program distinguishes this program's waiters from those of others.
	program string
	terms   terms
	spent   *sweeper
	list    list
}

var (
	_ lease.Backend     = (*backend)(nil)
	_ lease.Poller      = (*backend)(nil)
	_ lease.Announcer   = (*backend)(nil)
	_ lease.Crowd       = (*backend)(nil)
	_ lease.Notifier    = (*backend)(nil)
	_ lease.Transferrer = (*backend)(nil)
	_ lease.Passer      = (*backend)(nil)
	_ io.Closer         = (*backend)(nil)
)

func newBackend(config Config) *backend {
	return &backend{
		client:    config.Client,
		namespace: cmp.Or(config.Namespace, defaultNamespace),
		program:   rand.Text(),
		terms:     terms{ends: map[clientv3.LeaseID]time.Time{}},
		spent:     newSweeper(config.Client),
		list:      list{names: map[applock.Object]map[string]bool{}},
	}
}

// limited is the context of a call. It makes a member without a leader fail at once, so that the client tries another member.
func limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(clientv3.WithRequireLeader(ctx), callLimit)
}

func (b *backend) Get(
	ctx context.Context, object applock.Object, owner applock.Owner, ttl time.Duration,
) (applock.Grant, error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	return b.grant(ctx, object, owner, ttl, func(present state) error {
		if present.found && present.record.Operator != owner.Operator {
			return b.refusal(ctx, object, present)
		}
		return nil
	})
}

func (b *backend) Transfer(
	ctx context.Context, former applock.Grant, to applock.Owner, ttl time.Duration,
) (applock.Grant, error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	grant, err := b.grant(ctx, former.Object, to, ttl, func(present state) error {
		return b.mismatch(ctx, former, present)
	})
	grant.Outcome = applock.OutcomeTransferred
	return grant, err
}

// Pass is [lease.Passer.Pass]: without it others could take what is free for a moment between two turns of this program.
func (b *backend) Pass(ctx context.Context, former applock.Grant, to applock.Owner, ttl time.Duration) (applock.Grant, error) {
	grant, err := b.Transfer(ctx, former, to, ttl)
	grant.Outcome = applock.OutcomeAcquired
	return grant, err
}

// grant begins a grant if allow permits it, and ends the present one in the same step. A ttl of zero is the present grant's.
func (b *backend) grant(
	ctx context.Context, object applock.Object, owner applock.Owner, ttl time.Duration, allow func(present state) error,
) (applock.Grant, error) {
	var lease term
	former, revision, err := b.compareAndSet(ctx, object, func(present state) (clientv3.Op, error) {
		if err := allow(present); err != nil {
			return clientv3.Op{}, err
		}
		seconds := cmp.Or(wholeSeconds(ttl), present.record.TTL)
		if lease.id == clientv3.NoLease {
			begun, err := b.begin(ctx, seconds)
			if err != nil {
				return clientv3.Op{}, err
			}
			lease = begun
		}
		return b.write(object, record{Operator: owner.Operator, Department: owner.Department, TTL: seconds}, lease.id), nil
	})
	if err != nil {
		// Revoking this lease undoes an unknown outcome: it removes the key, and a late transaction fails without it.
		b.spent.add(lease)
		return applock.Grant{}, err
	}
	b.terms.note(lease)
	b.end(former.lease)
	return applock.Grant{
		Object: object, Owner: owner, Fence: applock.Fence(revision), ExpiresAt: lease.ends.UTC(), Outcome: applock.OutcomeAcquired,
	}, nil
}

func (b *backend) Release(ctx context.Context, grant applock.Grant) error {
	ctx, cancel := limited(ctx)
	defer cancel()
	former, _, err := b.compareAndSet(ctx, grant.Object, func(present state) (clientv3.Op, error) {
		return clientv3.OpDelete(b.held(grant.Object)), b.mismatch(ctx, grant, present)
	})
	if err == nil {
		b.end(former.lease)
	}
	return err
}

// compareAndSet reads an object, lets decide choose the change, and makes it. If the object has changed meanwhile, it starts again. It
// returns the state that it read, and the revision of the change.
func (b *backend) compareAndSet(
	ctx context.Context, object applock.Object, decide func(present state) (clientv3.Op, error),
) (former state, revision int64, err error) {
	for range attempts {
		present, err := b.look(ctx, object)
		if err != nil {
			return state{}, 0, err
		}
		change, err := decide(present)
		if err != nil {
			return state{}, 0, err
		}
		isUnchanged := clientv3.Compare(clientv3.ModRevision(b.held(object)), "=", present.revision) // 0 if there is none
		answer, err := b.client.Txn(ctx).If(isUnchanged).Then(change).Commit()
		if err != nil {
			return state{}, 0, changeFailed(err)
		}
		if answer.Succeeded {
			return present, answer.Header.Revision, nil
		}
	}
	return state{}, 0, applock.ErrBusy
}

// look returns an object's state, as a majority confirms it.
func (b *backend) look(ctx context.Context, object applock.Object) (state, error) {
	answer, err := b.client.Get(ctx, b.held(object))
	if err != nil {
		return state{}, unanswered(err)
	}
	return stateOf(answer.Kvs), nil
}

// mismatch says why the present state is not this grant, nil if it is.
func (b *backend) mismatch(ctx context.Context, grant applock.Grant, present state) error {
	isOwn := present.found && present.record.Operator == grant.Owner.Operator
	switch {
	case isOwn && (grant.Fence == 0 || grant.Fence == present.fence()):
		return nil
	case isOwn || !present.found:
		return fmt.Errorf("%w: %w", applock.ErrNotHeld, errGone)
	}
	return b.refusal(ctx, grant.Object, present)
}

var errGone = errors.New("its lease has expired or was revoked, or its key was deleted")

// refusal names the holder and when his lease ends, in whole seconds rounded down as etcd reports it. If that query fails, the refusal has
// no end.
func (b *backend) refusal(ctx context.Context, object applock.Object, present state) error {
	holder := applock.Holder{
		Owner: applock.Owner{Operator: present.record.Operator, Department: present.record.Department}, Fence: present.fence(),
	}
	ctx, cancel := context.WithTimeout(ctx, untilLimit)
	defer cancel()
	asked := time.Now()
	if answer, err := b.client.TimeToLive(ctx, present.lease); err == nil && answer.TTL >= 0 && present.lease != clientv3.NoLease {
		holder.Left = time.Duration(answer.TTL+1) * time.Second
		holder.ExpiresAt = asked.Add(holder.Left).UTC()
	}
	return &applock.HeldError{Object: object, Holder: holder}
}

// begin makes a lease of etcd, with nothing attached yet.
func (b *backend) begin(ctx context.Context, seconds int64) (term, error) {
	asked := time.Now()
	answer, err := b.client.Grant(ctx, seconds)
	if err != nil {
		return term{}, unanswered(err)
	}
	return term{id: answer.ID, ends: asked.Add(time.Duration(answer.TTL) * time.Second)}, nil
}

// end revokes a lease with nothing attached, in the background.
func (b *backend) end(id clientv3.LeaseID) {
	b.spent.add(b.terms.forget(id))
}

// Close revokes what it can in a moment. The rest expires.
func (b *backend) Close() error {
	b.spent.add(b.list.take())
	b.spent.close()
	return nil
}
