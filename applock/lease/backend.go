package lease

import (
	"context"
	"iter"
	"time"

	"github.com/applock/applock/applock"
)

// Backend is where leases are kept. [Leases] does the rest: who re-enters, who waits and whose turn it is, when a
// lease has run out, and when to renew. A backend neither waits nor remembers.
//
// All methods are safe for concurrent use. They return soon after ctx has ended. Errors other than those named here are
// failures of the call, after which nothing is known, and the call is repeated where that is of use.
//
// To write one:
//  1. Get, Release and Renew decide in one atomic step each, by the clock of the backend and not by that of the program.
//  2. A grant that has expired is no grant: Get takes it over at once, Release and Renew do not find it.
//  3. A refusal is a *HeldError. It names the holder where the backend knows it, and is otherwise empty.
//  4. An operator that has the object already gets a new grant, as by a transfer to itself: the former one, such as that of a
//     crashed predecessor, is over in the same moment.
//  5. Where grants have fences, a later grant of an object has a greater one, for ever. Where they have none, the fence is
//     0, and something else must keep the backend from releasing or renewing a later grant of the same operator.
//  6. A call that was sent and got no answer is ErrOutcomeUnknown. Only then is its effect undone by a Release of a grant that has an
//     object, an owner, and nothing else. The call may still arrive: so this Release comes several times, and each time has to look. Do not
//     send a Get twice by yourself: of two that were sent the first may arrive after the release.
//  7. A call that nothing came of, because others were changing the object at this moment, is ErrBusy, and one that reached
//     nobody is ErrUnreachable: who waits goes on waiting.
//  8. A backend whose objects other programs can take is a [Poller]. One that sends messages is a [Notifier], too. One that
//     shows who waits is an [Announcer]. One that can hand a grant to another owner is a [Transferrer]. One that can do so in a single
//     call, for the next caller of the same program, is a [Passer].
//  9. A backend that has opened something is an [io.Closer]. [Leases.Close] closes it, last.
//  10. It passes the package locktest.
type Backend interface {
	// Get takes an object that is free, at once and without waiting, until ttl from now. It returns a *HeldError
	// when somebody else holds it.
	Get(ctx context.Context, object applock.Object, owner applock.Owner, ttl time.Duration) (applock.Grant, error)

	// Release ends a grant. A grant without a fence is whichever one the owner has. It returns ErrNotHeld or a *HeldError
	// when the grant was not there any more.
	Release(ctx context.Context, grant applock.Grant) error

	// Renew makes each grant last until its TTL from now, and never shorter than it did. It returns what became of each
	// grant, in any order. One that is missing in the answer could not be asked about now; it is neither renewed nor lost.
	Renew(ctx context.Context, renewals []Renewal) ([]Renewed, error)
}

// Poller is a [Backend] whose objects others may hold, too, so that it has to be asked when they are free.
type Poller interface {
	// Poll asks about the objects that are waited for. It is called by one goroutine at a time. An Announcer may go by what
	// was announced to it instead of waited.
	Poll(ctx context.Context, waited iter.Seq[applock.Object]) (PollAnswer, error)
}

// PollAnswer is what a poll has found out.
type PollAnswer struct {
	// Free are the objects that could be free. A needless one costs a call of Get.
	Free []applock.Object
	// Next is when to ask again at the latest; zero leaves that to the caller.
	Next time.Duration
	// Unlisted are objects that are waited for, of which an Announcer that goes by its list has nothing there. Their waiters
	// are announced again.
	Unlisted []applock.Object
}

// Announcer is a [Backend] that lists who waits, for others to see.
type Announcer interface {
	// Announce lists the owner as waiting for the object, for as long as wait, zero for no limit. Announcing again
	// changes only how long.
	Announce(ctx context.Context, object applock.Object, owner applock.Owner, wait time.Duration) error

	// Retract takes a waiter off the list. One that is not listed is no error.
	Retract(ctx context.Context, object applock.Object, operator string) error
}

// Notifier is a [Backend] that tells of releases. It is a Poller, too, because messages may be lost.
type Notifier interface {
	// Listen begins to listen. It returns errors.ErrUnsupported where there are no messages or none arrive; other errors
	// have it called again later. ctx ends the listening.
	Listen(ctx context.Context) (Listener, error)
}

// Listener is where messages come from. It is used by one goroutine.
type Listener interface {
	// Next waits for a message. After an error Listener is of no use any more.
	Next(ctx context.Context) (Message, error)
	// Close ends the listening.
	Close() error
}

// Message tells of a release. It is a hint: it may be late, doubled or needless.
type Message struct {
	// Object is said to be free.
	Object applock.Object
	// Rank is whether this program is to ask before or after others.
	Rank Rank
}

// Rank is a program's place among those who wait for an object.
type Rank int

// The ranks. Unranked is known of nobody: all ask at once. Where there is a First, it asks at once, and others give it a moment.
const (
	Unranked Rank = iota
	First
	Later
)

// Transferrer is a [Backend] that hands a grant to another owner.
type Transferrer interface {
	// Transfer ends the grant and begins one of request.To in the same moment. It returns ErrNotHeld or a *HeldError when
	// the grant was not there any more, and ErrOutcomeUnknown when it may have taken effect.
	Transfer(ctx context.Context, grant applock.Grant, to applock.Owner, ttl time.Duration) (applock.Grant, error)
}

// Passer is a [Backend] that passes an object on between callers of one program, in one call in the place of a release and a Get.
type Passer interface {
	// Pass ends the grant and begins one of to's in the same moment, with a greater fence where there are fences, until ttl from now. Nobody who asks
	// meanwhile finds the object free. Pass returns ErrNotHeld or a *HeldError when the grant was not there any more, and ErrOutcomeUnknown
	// when it may have taken effect. After errors.ErrUnsupported, ErrPrivilege and ErrSchema it is not called again: objects are released
	// and taken. Do not send it twice by yourself.
	Pass(ctx context.Context, grant applock.Grant, to applock.Owner, ttl time.Duration) (applock.Grant, error)
}

// Renewal asks for a grant to last longer.
type Renewal struct {
	Grant applock.Grant
	// TTL is how long the grant is to last from now on.
	TTL time.Duration
}

// Renewed is what became of a grant that was to be renewed.
type Renewed struct {
	Object applock.Object
	// Lost is why the grant is not live any more, nil when it has been renewed.
	Lost error
	// ExpiresAt is when the lock ends, where the backend tells.
	ExpiresAt time.Time
	// Left is how long it lasts from the answer on, where the backend may grant less than the Renewal's TTL, as by a policy.
	// Zero is that TTL.
	Left time.Duration
}
