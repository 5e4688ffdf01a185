package lease

import (
	"context"
	"iter"
	"time"

	"github.com/applock/applock/applock"
)

// Backend is where leases are kept. Leases does the rest: re-entering, the queue, ends, and renewals. A backend neither waits nor remembers.
//
// All methods are safe for concurrent use. They return soon after ctx has ended. Errors other than those named here are failures of the call:
// nothing is known then, and the call is repeated if that helps.
//
// To write one:
//  1. Get, Release and Renew each decide in one atomic step, by the backend's clock and not by the program's.
//  2. An expired grant is no grant: Get takes it over at once, Release and Renew do not find it.
//  3. A refusal is a *HeldError. It names the holder, with its department, if the backend knows it, and is otherwise empty.
//  4. An operator that has the object already gets a new grant, as by a transfer to itself. The former grant, such as that of a crashed
//     predecessor, ends in the same step.
//  5. If grants have fences, a later grant of an object has a greater one, for ever. Without fences the fence is 0, and something else must
//     keep the backend from releasing or renewing a later grant of the same operator.
//  6. A call that was sent and got no answer is ErrOutcomeUnknown. Only then is its effect undone, by a Release of a grant that has only an
//     object and an owner. The call may still arrive: so this Release comes several times, and must look each time. An implementation must
//     not send a Get twice: the first one may arrive after the release.
//  7. A call that failed because others were changing the object is ErrBusy, and one that reached no server is ErrUnreachable: waiters go on
//     waiting.
//  8. A backend whose objects other programs can take is a Poller. One that sends messages is a Notifier, too. One that shows waiters is an
//     Announcer, and one that knows those of other programs and their order a Crowd, and a Peeker if its polls cost
//     more the more waiters this program has. One that can hand a grant to another owner is a Transferrer. One that can do so in a single call,
//     for the next caller of the same program, is a Passer.
//  9. A backend that has opened something is an io.Closer. Leases.Close closes it, last.
//  10. It passes the package locktest.
type Backend interface {
	// Get takes a free object, at once and without waiting, until ttl from now. It returns a *HeldError if somebody else holds it.
	Get(ctx context.Context, object applock.Object, owner applock.Owner, ttl time.Duration) (applock.Grant, error)

	// Release ends a grant. A grant without a fence means any grant of the owner. It returns ErrNotHeld or a *HeldError if the grant had
	// ended before.
	Release(ctx context.Context, grant applock.Grant) error

	// Renew extends each grant until its TTL from now, and never shortens it. It returns the result of each grant, in any order. A grant
	// that is missing in the answer could not be checked now; it is neither renewed nor lost.
	Renew(ctx context.Context, renewals []Renewal) ([]Renewed, error)
}

// Poller is a Backend whose objects other programs may hold, so that it has to be asked when they are free.
type Poller interface {
	// Poll asks about the awaited objects. It is called by one goroutine at a time. An Announcer may use its list of waiters instead of
	// waited.
	Poll(ctx context.Context, waited iter.Seq[applock.Object]) (PollAnswer, error)
}

// PollAnswer is the result of a poll.
type PollAnswer struct {
	// Free are the objects that could be free. A needless one costs a call of Get.
	Free []applock.Object
	// Later are further free objects, for which a waiter of another program has been listed longer. A [Crowd] has them.
	Later []applock.Object
	// Next is when to ask again at the latest; zero leaves that to the caller.
	Next time.Duration
	// Unlisted are awaited objects without a listed waiter, from an Announcer that polls by its list. Their waiters are announced again.
	Unlisted []applock.Object
}

// Announcer is a Backend that lists the waiters, for others to see.
type Announcer interface {
	// Announce lists the owner as a waiter for the object for the time wait, zero for no limit. A repeated call changes only that time.
	Announce(ctx context.Context, object applock.Object, owner applock.Owner, wait time.Duration) error

	// Retract removes a waiter from the list. A waiter that is not listed is no error.
	Retract(ctx context.Context, object applock.Object, operator string) error
}

// Notifier is a Backend that sends messages on releases. It is a Poller, too, because messages may be lost.
type Notifier interface {
	// Listen begins to listen. It returns errors.ErrUnsupported if there are no messages, or none arrive; after another error it is called
	// again later. ctx ends the listening.
	Listen(ctx context.Context) (Listener, error)
}

// Listener receives messages. It is used by one goroutine.
type Listener interface {
	// Next waits for a message. After an error the Listener is useless.
	Next(ctx context.Context) (Message, error)
	// Close ends the listening.
	Close() error
}

// Message says that an object was released. It is a hint: it may be late, doubled or needless.
type Message struct {
	// Object is the object that may be free.
	Object applock.Object
	// Rank says whether this program asks before or after others.
	Rank Rank
}

// Rank is a program's place among those that wait for an object.
type Rank int

// The ranks. Unranked is known of nobody: all ask at once. Where there is a First, it asks at once, and others give it a moment.
const (
	Unranked Rank = iota
	First
	Later
)

// Transferrer is a [Backend] that hands a grant to another owner.
type Transferrer interface {
	// Transfer ends the grant and begins one of to in the same step. It returns ErrNotHeld or a *HeldError if the grant had ended before,
	// and ErrOutcomeUnknown if it may have taken effect.
	Transfer(ctx context.Context, grant applock.Grant, to applock.Owner, ttl time.Duration) (applock.Grant, error)
}

// Passer is a Backend that passes an object on between callers of one program, in one call instead of a release and a Get.
type Passer interface {
	// Pass ends the grant and begins one of to in the same step, until ttl from now, with a greater fence if there are fences. Nobody finds
	// the object free in between. Pass returns ErrNotHeld or a *HeldError if the grant had ended before, and ErrOutcomeUnknown if it may
	// have taken effect. After errors.ErrUnsupported, ErrPrivilege and ErrSchema it is not called again, and objects are released and taken
	// instead. An implementation must not send it twice.
	Pass(ctx context.Context, grant applock.Grant, to applock.Owner, ttl time.Duration) (applock.Grant, error)
}

// Renewal asks to extend a grant.
type Renewal struct {
	Grant applock.Grant
	// TTL is how long the grant lasts from now on.
	TTL time.Duration
}

// Renewed is the result of a Renewal.
type Renewed struct {
	Object applock.Object
	// Lost is why the grant has ended, nil if it has been renewed.
	Lost error
	// ExpiresAt is when the lock ends, if the backend says so.
	ExpiresAt time.Time
	// Left is how long the lock lasts from the answer on, if the backend may grant less than the Renewal's TTL, as by a policy. Zero means
	// that TTL.
	Left time.Duration
}
