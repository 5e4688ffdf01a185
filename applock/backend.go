package applock

import (
	"context"
	"iter"
	"time"
)

// Backend is where leases are kept. [Leases] does the rest: who re-enters, who waits and whose turn it is, when a
// lease has run out, and when to renew. A backend neither waits nor remembers.
//
// A backend that is an [io.Closer] is closed by [Leases.Close], last.
//
// All methods are safe for concurrent use. Errors other than those named are failures of the call, after which
// nothing is known.
type Backend interface {
	// Take takes an object that is free, at once and without waiting, until ttl from now. It returns a *HeldError
	// when somebody else holds it.
	Take(ctx context.Context, object Object, owner Owner, ttl time.Duration) (Grant, error)

	// Release ends a grant. A grant without a fence is whichever one the owner has. It returns ErrNotHeld when the
	// grant was not there any more.
	Release(ctx context.Context, grant Grant) error

	// Renew makes each grant last until its TTL from now, and returns what became of each, in any order. One that
	// is missing in the answer could not be asked about now; it is neither renewed nor lost.
	Renew(ctx context.Context, renewals []Renewal) ([]Renewed, error)
}

// Poller is a backend whose objects others may hold, too, so that it has to be asked when they are free.
type Poller interface {
	// Poll returns which of the objects that are waited for could be free, and when to ask again at the latest;
	// zero leaves that to the caller. It is called by one goroutine at a time. A needless answer costs a call of
	// Take.
	Poll(ctx context.Context, waited iter.Seq[Object]) (free []Object, next time.Duration, err error)
}

// Renewal asks for a grant to last longer.
type Renewal struct {
	Grant Grant
	TTL   time.Duration
}

// Renewed is what became of a grant that was to be renewed.
type Renewed struct {
	Object Object
	// Lost is why the grant is not live any more, nil when it has been renewed.
	Lost error
	// ExpiresAt is when the lock ends, where the backend tells.
	ExpiresAt time.Time
}

// The interfaces below are what only the table offers.
type (
	// announcer lists who waits, for others to see.
	announcer interface {
		announce(ctx context.Context, object Object, owner Owner, wait time.Duration) error
		retract(ctx context.Context, object Object, operator string) error
	}
	// notifier tells of releases.
	notifier interface {
		listen(ctx context.Context) (releases, error)
	}
	// transferrer hands a grant to another owner.
	transferrer interface {
		transfer(ctx context.Context, grant Grant, request TransferLeaseRequest) (Grant, error)
	}
)

// releases is where a notifier's messages come from: hints that an object, as TYPE:ID, is free.
type releases interface {
	Next(ctx context.Context) (object string, err error)
	Close() error
}
