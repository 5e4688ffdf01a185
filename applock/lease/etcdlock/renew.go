package etcdlock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

const (
	// batch is how many keys one transaction reads: a cluster's default limit.
	batch = 128
	// refreshers is the number of concurrent renewals.
	refreshers = 64
	// slackPerTTL and maxSlack limit by how much a lease may end too early before it needs a renewal. The holder's trust ends ten times as
	// much before the lease does.
	slackPerTTL = 100
	maxSlack    = 100 * time.Millisecond
)

// Renew is [lease.Backend.Renew]. It reads many keys at once, and then renews the leases that would end too early.
func (b *backend) Renew(ctx context.Context, renewals []lease.Renewal) ([]lease.Renewed, error) {
	ctx = clientv3.WithRequireLeader(ctx)
	var answers []lease.Renewed
	for some := range slices.Chunk(renewals, batch) {
		objects := make([]applock.Object, len(some))
		for i, renewal := range some {
			objects[i] = renewal.Grant.Object
		}
		states, err := b.lookAt(ctx, objects)
		if err != nil {
			return answers, err
		}
		answers = append(answers, b.renew(ctx, some, states)...)
	}
	return answers, nil
}

// lookAt is look for up to batch objects.
func (b *backend) lookAt(ctx context.Context, objects []applock.Object, options ...clientv3.OpOption) ([]state, error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	reads := make([]clientv3.Op, len(objects))
	for i, object := range objects {
		reads[i] = clientv3.OpGet(b.held(object), options...)
	}
	answer, err := b.client.Txn(ctx).Then(reads...).Commit()
	if err != nil {
		return nil, unanswered(err)
	}
	states := make([]state, len(objects))
	for i := range objects {
		states[i] = stateOf(answer.Responses[i].GetResponseRange().GetKvs())
	}
	return states, nil
}

func (b *backend) renew(ctx context.Context, renewals []lease.Renewal, states []state) (answers []lease.Renewed) {
	results := make([]*lease.Renewed, len(renewals))
	busy := make(chan struct{}, refreshers)
	var group sync.WaitGroup
	for i, renewal := range renewals {
		busy <- struct{}{}
		group.Go(func() {
			results[i] = b.renewOne(ctx, renewal, states[i])
			<-busy
		})
	}
	group.Wait()
	for _, result := range results {
		if result != nil {
			answers = append(answers, *result)
		}
	}
	return answers
}

// renewOne renews a grant; nil means that the result is unknown. If the grant exists when its key is read, and its lease is renewed after
// that, the grant was renewed at that later moment.
func (b *backend) renewOne(ctx context.Context, renewal lease.Renewal, present state) *lease.Renewed {
	ctx, cancel := limited(ctx)
	defer cancel()
	if lost := b.mismatch(ctx, renewal.Grant, present); lost != nil {
		return &lease.Renewed{Object: renewal.Grant.Object, Lost: lost}
	}
	lease := b.terms.of(present.lease)
	var err error
	switch seconds := wholeSeconds(renewal.TTL); {
	case lease.left() >= renewal.TTL-min(renewal.TTL/slackPerTTL, maxSlack):
	case present.record.TTL >= seconds:
		lease, err = b.keepAlive(ctx, present.lease)
	default:
		lease, err = b.move(ctx, renewal.Grant, seconds)
	}
	return renewed(renewal.Grant, lease, err)
}

func renewed(grant applock.Grant, kept term, err error) *lease.Renewed {
	switch {
	case err == nil:
		return &lease.Renewed{Object: grant.Object, ExpiresAt: kept.ends.UTC()}
	case errors.Is(err, applock.ErrNotHeld) || errors.Is(err, applock.ErrHeld):
		return &lease.Renewed{Object: grant.Object, Lost: err}
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		return &lease.Renewed{Object: grant.Object, Lost: errGone}
	}
	return nil
}

// keepAlive starts the TTL of a lease again. It writes nothing.
func (b *backend) keepAlive(ctx context.Context, id clientv3.LeaseID) (term, error) {
	asked := time.Now()
	answer, err := b.client.KeepAliveOnce(ctx, id)
	if err != nil {
		return term{}, err
	}
	lease := term{id: id, ends: asked.Add(time.Duration(answer.TTL) * time.Second)}
	b.terms.note(lease)
	return lease, nil
}

// move attaches a grant's key to a longer lease, since etcd cannot change a lease's TTL. The grant keeps its fence.
func (b *backend) move(ctx context.Context, grant applock.Grant, seconds int64) (term, error) {
	longer, err := b.begin(ctx, seconds)
	if err != nil {
		return term{}, err
	}
	former, _, err := b.compareAndSet(ctx, grant.Object, func(present state) (clientv3.Op, error) {
		moved := present.record
		moved.TTL, moved.Fence = seconds, int64(present.fence())
		return b.write(grant.Object, moved, longer.id), b.mismatch(ctx, grant, present)
	})
	switch {
	case err == nil:
		b.terms.note(longer)
		b.end(former.lease)
	case !errors.Is(err, applock.ErrOutcomeUnknown):
		b.spent.add(longer)
	}
	return longer, err
}
