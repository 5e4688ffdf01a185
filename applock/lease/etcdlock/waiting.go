package etcdlock

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

const (
	// listSeconds is how long a crashed program's waiters stay listed. The list is renewed after a listPart-th of that time.
	listSeconds = 30
	listPart    = 10
	// rankLimit limits the query for whose turn it is.
	rankLimit = time.Second
)

// list is this program's entries in the list of waiters, and the one lease that keeps them there.
type list struct {
	mutex sync.Mutex
	lease term
	names map[applock.Object]map[string]bool
}

func (l *list) note(object applock.Object, operator string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.names[object] == nil {
		l.names[object] = map[string]bool{}
	}
	l.names[object][operator] = true
}

func (l *list) forget(object applock.Object, operator string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	delete(l.names[object], operator)
	if len(l.names[object]) == 0 {
		delete(l.names, object)
	}
}

func (l *list) has(object applock.Object) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.names[object] != nil
}

func (l *list) take() term {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	defer func() { l.lease = term{} }()
	return l.lease
}

// Announce is [lease.Announcer.Announce]. A waiter stays listed until Retract, or until polls stop.
func (b *backend) Announce(ctx context.Context, object applock.Object, owner applock.Owner, _ time.Duration) error {
	ctx, cancel := limited(ctx)
	defer cancel()
	text := record{Operator: owner.Operator, Department: owner.Department}.text()
	b.list.note(object, owner.Operator)
	for range attempts {
		lease, err := b.listLease(ctx)
		if err != nil {
			return err
		}
		_, err = b.client.Put(ctx, b.waiting(object, owner.Operator), text, clientv3.WithLease(lease.id))
		if !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			return unanswered(err)
		}
		b.unlist(lease)
	}
	return applock.ErrBusy
}

func (b *backend) Retract(ctx context.Context, object applock.Object, operator string) error {
	ctx, cancel := limited(ctx)
	defer cancel()
	_, err := b.client.Delete(ctx, b.waiting(object, operator))
	if err == nil {
		b.list.forget(object, operator)
	}
	return unanswered(err)
}

// listLease returns the lease of the list, and makes one if needed.
func (b *backend) listLease(ctx context.Context) (term, error) {
	b.list.mutex.Lock()
	defer b.list.mutex.Unlock()
	if b.list.lease.id != clientv3.NoLease {
		return b.list.lease, nil
	}
	begun, err := b.begin(ctx, listSeconds)
	b.list.lease = begun
	return begun, err
}

// unlist forgets the lease of the list, if it is still this one.
func (b *backend) unlist(gone term) {
	b.list.mutex.Lock()
	defer b.list.mutex.Unlock()
	if b.list.lease.id == gone.id {
		b.list.lease = term{}
	}
}

// keepList renews the lease of the list when it is due, and reports whether it is gone.
func (b *backend) keepList(ctx context.Context) (gone bool, err error) {
	b.list.mutex.Lock()
	lease := b.list.lease
	b.list.mutex.Unlock()
	if lease.id == clientv3.NoLease || lease.left() > listSeconds*time.Second*(listPart-1)/listPart {
		return false, nil
	}
	kept, err := b.keepAlive(ctx, lease.id)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		b.unlist(lease)
		return true, nil
	}
	if err != nil {
		return false, unanswered(err)
	}
	b.list.mutex.Lock()
	defer b.list.mutex.Unlock()
	if b.list.lease.id == kept.id {
		b.list.lease = kept
	}
	return false, nil
}

// Poll is [lease.Poller.Poll]. It sets no time for the next poll, since the watch reports expiries, too.
func (b *backend) Poll(ctx context.Context, waited iter.Seq[applock.Object]) (answer lease.PollAnswer, err error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	objects := slices.Collect(waited)
	gone, err := b.keepList(ctx)
	if err != nil {
		return lease.PollAnswer{}, err
	}
	if gone {
		answer.Unlisted = objects
	}
	for some := range slices.Chunk(objects, batch) {
		states, err := b.lookAt(ctx, some, clientv3.WithKeysOnly())
		if err != nil {
			return lease.PollAnswer{}, err
		}
		var free []applock.Object
		for i, object := range some {
			if !states[i].found {
				free = append(free, object)
			}
		}
		if err := b.tell(ctx, free, &answer); err != nil {
			return lease.PollAnswer{}, err
		}
	}
	return answer, nil
}

// tell adds free objects to an answer. An object without a listed waiter is left to others until there is one.
func (b *backend) tell(ctx context.Context, free []applock.Object, answer *lease.PollAnswer) error {
	if len(free) == 0 {
		return nil
	}
	ranks, err := b.ranks(ctx, free)
	if err != nil {
		return err
	}
	for i, object := range free {
		if ranks[i] == lease.First {
			answer.Free = append(answer.Free, object)
		} else {
			answer.Later = append(answer.Later, object)
		}
	}
	return nil
}

// Listen is [lease.Notifier.Listen]. It reports every deleted key, released or expired.
func (b *backend) Listen(ctx context.Context) (lease.Listener, error) {
	watching, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	events := b.client.Watch(watching, b.locks(), clientv3.WithPrefix(), clientv3.WithFilterPut(), clientv3.WithCreatedNotify())
	result := &releases{backend: b, events: events, cancel: cancel}
	select {
	case begun, open := <-events:
		if err := begun.Err(); err != nil || !open {
			cancel()
			return nil, errors.Join(errEnded, err)
		}
		return result, nil
	case <-time.After(callLimit):
		cancel()
		return nil, applock.ErrUnreachable
	case <-ctx.Done():
		cancel()
		return nil, context.Cause(ctx)
	}
}

var errEnded = errors.New("the watch has ended")

// releases is [lease.Listener].
type releases struct {
	backend *backend
	events  clientv3.WatchChan
	cancel  context.CancelFunc
	// pending are further messages that came in one response.
	pending []lease.Message
}

func (r *releases) Next(ctx context.Context) (lease.Message, error) {
	for len(r.pending) == 0 {
		select {
		case <-ctx.Done():
			return lease.Message{}, context.Cause(ctx)
		case some, open := <-r.events:
			if err := some.Err(); err != nil || !open {
				return lease.Message{}, errors.Join(errEnded, err)
			}
			r.add(some.Events)
		}
	}
	first := r.pending[0]
	r.pending = r.pending[1:]
	first.Rank = r.backend.rank(ctx, first.Object)
	return first, nil
}

// rank says whose turn it is for an object with a waiter here. Without ranks all programs would make a lease and a transaction, of which
// one succeeds.
func (b *backend) rank(ctx context.Context, object applock.Object) lease.Rank {
	if !b.list.has(object) {
		return lease.Unranked
	}
	ctx, cancel := context.WithTimeout(clientv3.WithRequireLeader(ctx), rankLimit)
	defer cancel()
	ranks, err := b.ranks(ctx, []applock.Object{object})
	if err != nil {
		return lease.Unranked
	}
	return ranks[0]
}

// ranks says for up to batch objects whose turn it is: the program's whose waiter was listed first. It is unranked if nobody is listed.
func (b *backend) ranks(ctx context.Context, objects []applock.Object) ([]lease.Rank, error) {
	reads := make([]clientv3.Op, len(objects))
	for i, object := range objects {
		reads[i] = clientv3.OpGet(b.waitingAt(object), append(clientv3.WithFirstCreate(), clientv3.WithKeysOnly())...)
	}
	answer, err := b.client.Txn(ctx).Then(reads...).Commit()
	if err != nil {
		return nil, unanswered(err)
	}
	ranks := make([]lease.Rank, len(objects))
	for i, object := range objects {
		first := answer.Responses[i].GetResponseRange().GetKvs()
		switch {
		case len(first) == 0:
		case strings.HasPrefix(string(first[0].Key), b.waiting(object, "")):
			ranks[i] = lease.First
		default:
			ranks[i] = lease.Later
		}
	}
	return ranks, nil
}

// Others is [lease.Crowd.Others]. It looks at the first waiters.
func (b *backend) Others(ctx context.Context, object applock.Object) (ahead, behind int, err error) {
	ctx, cancel := limited(ctx)
	defer cancel()
	all := b.waitingAt(object)
	answer, err := b.client.Get(ctx, all, clientv3.WithPrefix(), clientv3.WithKeysOnly(), clientv3.WithLimit(batch),
		clientv3.WithSort(clientv3.SortByCreateRevision, clientv3.SortAscend))
	if err != nil {
		return 0, 0, unanswered(err)
	}
	var line []string
	for _, waiter := range answer.Kvs {
		program, _, _ := strings.Cut(strings.TrimPrefix(string(waiter.Key), all), "/")
		if !slices.Contains(line, program) {
			line = append(line, program)
		}
	}
	place := slices.Index(line, b.program)
	if place < 0 {
		return len(line), 0, nil
	}
	return place, len(line) - place - 1, nil
}

func (r *releases) add(events []*clientv3.Event) {
	for _, event := range events {
		if object, err := r.backend.objectOf(event.Kv.Key); err == nil {
			r.pending = append(r.pending, lease.Message{Object: object})
		}
	}
}

func (r *releases) Close() error {
	r.cancel()
	return nil
}
