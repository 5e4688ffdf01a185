package fakebackend

import (
	"cmp"
	"context"
	"iter"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

var (
	_ lease.Backend     = (*Backend)(nil)
	_ lease.Poller      = Polled{}
	_ lease.Poller      = Program{}
	_ lease.Announcer   = Program{}
	_ lease.Peeker      = Program{}
	_ lease.Notifier    = Program{}
	_ lease.Transferrer = Program{}
	_ lease.Passer      = Program{}
)

// Polled is a backend with only a Poll in addition.
type Polled struct{ *Backend }

// Poll is [lease.Poller.Poll].
func (p Polled) Poll(ctx context.Context, waited iter.Seq[applock.Object]) (lease.PollAnswer, error) {
	return p.poll(ctx, waited)
}

// poll returns which of the objects are free, and when the next one will be.
func (b *Backend) poll(ctx context.Context, waited iter.Seq[applock.Object]) (lease.PollAnswer, error) {
	return ask(ctx, b, Call{Operation: Poll}, func(Fault) (answer lease.PollAnswer, err error) {
		for object := range waited {
			left := b.grants[object].ExpiresAt.Sub(b.now())
			switch {
			case left <= 0:
				answer.Free = append(answer.Free, object)
			case answer.Next == 0 || left < answer.Next:
				answer.Next = left
			}
		}
		return answer, nil
	})
}

// Program is the backend for one program, with everything that a backend can offer.
type Program struct {
	*Backend
	// Name tells the program from others.
	Name string
}

// Poll is [lease.Poller.Poll]. Like the table, it uses the announced waiters.
func (p Program) Poll(ctx context.Context, waited iter.Seq[applock.Object]) (lease.PollAnswer, error) {
	listed := map[applock.Object]bool{}
	answer, err := p.poll(ctx, func(yield func(applock.Object) bool) {
		clear(listed)
		for _, listing := range p.listings {
			if listing.program == p.Name && listing.isListed() {
				listing.seen = time.Now()
				listed[listing.object] = true
			}
		}
		for object := range listed {
			if !yield(object) {
				return
			}
		}
	})
	if err != nil {
		return lease.PollAnswer{}, err
	}
	answer.Free, answer.Later = p.ranked(answer.Free)
	for object := range waited {
		if !listed[object] {
			answer.Unlisted = append(answer.Unlisted, object)
		}
	}
	return answer, nil
}

// ranked separates the free objects for which this program's waiter has been listed longest from the others.
func (p Program) ranked(free []applock.Object) (first, later []applock.Object) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, object := range free {
		if oldest := p.oldest(object); oldest == p.Name || oldest == "" {
			first = append(first, object)
		} else {
			later = append(later, object)
		}
	}
	return first, later
}

// Others is [lease.Crowd.Others].
func (p Program) Others(ctx context.Context, object applock.Object) (ahead, behind int, err error) {
	others, err := ask(ctx, p.Backend, Call{Operation: Others, Object: object}, func(Fault) (others [2]int, err error) {
		since := p.sinceOf(object)
		own, isListed := since[p.Name]
		delete(since, p.Name)
		for _, first := range since {
			if !isListed || first.Before(own) {
				others[0]++
			} else {
				others[1]++
			}
		}
		return others, nil
	})
	return others[0], others[1], err
}

// Peek is [lease.Peeker.Peek].
func (p Program) Peek(ctx context.Context, object applock.Object) (isFree, isFirst bool, err error) {
	told, err := ask(ctx, p.Backend, Call{Operation: Others, Object: object}, func(Fault) (told [2]bool, err error) {
		oldest := p.oldest(object)
		return [2]bool{oldest != "" && !p.grants[object].ExpiresAt.After(p.now()), oldest == p.Name}, nil
	})
	return told[0], told[1], err
}

// Announce is [lease.Announcer.Announce].
func (p Program) Announce(ctx context.Context, object applock.Object, owner applock.Owner, wait time.Duration) error {
	return p.travel(ctx, Call{Operation: Announce, Object: object, Owner: owner}, func(Fault) error {
		key := waiter{program: p.Name, object: object, operator: owner.Operator}
		listed := &listing{waiter: key, since: time.Now(), seen: time.Now()}
		if former := p.listings[key]; former != nil && former.isListed() {
			listed.since = former.since
		}
		if wait > 0 {
			listed.until = time.Now().Add(wait)
		}
		p.listings[key] = listed
		return nil
	})
}

// Retract is [lease.Announcer.Retract].
func (p Program) Retract(ctx context.Context, object applock.Object, operator string) error {
	call := Call{Operation: Retract, Object: object, Owner: applock.Owner{Operator: operator}}
	return p.travel(ctx, call, func(Fault) error {
		delete(p.listings, waiter{program: p.Name, object: object, operator: operator})
		return nil
	})
}

// forgottenAfter is after which time without a poll a program counts as dead, so that its waiters are not listed any more.
const forgottenAfter = 40 * time.Second

// waiter is the key of a waiter.
type waiter struct {
	program  string
	object   applock.Object
	operator string
}

// listing is an announced waiter.
type listing struct {
	waiter

	since time.Time
	until time.Time // zero for no limit
	seen  time.Time // when the program announced it, or polled
}

func (l *listing) isListed() bool {
	return (l.until.IsZero() || time.Now().Before(l.until)) && time.Since(l.seen) < forgottenAfter
}

// sinceOf has the programs that wait for an object, with the time since when; the mutex is held.
func (b *Backend) sinceOf(object applock.Object) map[string]time.Time {
	since := map[string]time.Time{}
	for _, listed := range b.listings {
		if first, ok := since[listed.program]; listed.object == object && listed.isListed() && (!ok || listed.since.Before(first)) {
			since[listed.program] = listed.since
		}
	}
	return since
}

// oldest is the program of the waiter that has waited longest for an object, empty without waiters; the mutex is held.
func (b *Backend) oldest(object applock.Object) (oldest string) {
	var first time.Time
	for program, since := range b.sinceOf(object) {
		if oldest == "" || since.Before(first) {
			oldest, first = program, since
		}
	}
	return oldest
}

// Listen is [lease.Notifier.Listen].
func (p Program) Listen(ctx context.Context) (lease.Listener, error) {
	listening := &listener{backend: p.Backend, program: p.Name, messages: make(chan lease.Message, maxMessages), cut: make(chan struct{})}
	err := p.travel(ctx, Call{Operation: Listen}, func(Fault) error {
		p.listeners[listening] = struct{}{}
		return nil
	})
	if err != nil {
		_ = listening.Close()
		return nil, err
	}
	return listening, nil
}

// Transfer is [lease.Transferrer.Transfer].
func (p Program) Transfer(
	ctx context.Context, grant applock.Grant, to applock.Owner, ttl time.Duration,
) (applock.Grant, error) {
	call := Call{Operation: Transfer, Object: grant.Object, Owner: grant.Owner, Grants: 1}
	return p.hand(ctx, call, grant, Claim{Object: grant.Object, Owner: to, TTL: cmp.Or(ttl, applock.DefaultTTL)}, applock.OutcomeTransferred)
}

// Pass is [lease.Passer.Pass].
func (p Program) Pass(
	ctx context.Context, grant applock.Grant, to applock.Owner, ttl time.Duration,
) (applock.Grant, error) {
	call := Call{Operation: Pass, Object: grant.Object, Owner: to, Grants: 1}
	return p.hand(ctx, call, grant, Claim{Object: grant.Object, Owner: to, TTL: ttl}, applock.OutcomeAcquired)
}

// hand ends a live grant, and begins the next one in the same step.
func (b *Backend) hand(ctx context.Context, call Call, grant applock.Grant, next Claim, outcome applock.Outcome) (applock.Grant, error) {
	sent := time.Now()
	return ask(ctx, b, call, func(Fault) (applock.Grant, error) {
		if err := b.lost(grant); err != nil {
			return applock.Grant{}, err
		}
		return b.begin(next, sent, outcome), nil
	})
}

// maxMessages is how many messages may be on their way to a listener. Further ones are lost.
const maxMessages = 1000

// listener receives messages of releases.
type listener struct {
	backend  *Backend
	program  string
	messages chan lease.Message
	cut      chan struct{} // closed when the backend is restarted
}

func (e *listener) send(message lease.Message) {
	select {
	case e.messages <- message:
	default:
	}
}

func (e *listener) Next(ctx context.Context) (lease.Message, error) {
	select {
	case message := <-e.messages:
		return message, nil
	case <-e.cut:
		return lease.Message{}, ErrConnection
	case <-ctx.Done():
		return lease.Message{}, context.Cause(ctx)
	}
}

func (e *listener) Close() error {
	e.backend.mutex.Lock()
	defer e.backend.mutex.Unlock()
	delete(e.backend.listeners, e)
	return nil
}
