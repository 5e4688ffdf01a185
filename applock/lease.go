package applock

import (
	"context"
	"time"
)

// Lease is a lock that a program has taken: what one Acquire returns. It is safe for concurrent use. Package lease has the leases;
// this is an interface so that the tests of a program may fake them. A fake embeds the interface, which may get more methods.
//
// Who is authoritative: the backend. The lease may be trusted until Deadline, which is counted on this process's
// monotonic clock from before the request that took or renewed it, less a margin, and so is over before the backend
// gives the object to somebody else. A process that is paused beyond it finds out when it goes on, which is too late
// for a write that is under way: pass the fence to Assert in the transaction that writes.
type Lease interface {
	// Object is what is held.
	Object() Object

	// Owner is who holds it.
	Owner() Owner

	// Fence is the fencing token of the grant, 0 on backends that have none.
	Fence() Fence

	// Key names the grant, as Assert and the other operations on it take it.
	Key() Key

	// ExpiresAt is when the backend frees the object unless the lease is renewed: UTC, by the backend's clock. It is zero
	// on backends that do not tell.
	ExpiresAt() time.Time

	// Deadline is until when the lease may be trusted unless it is renewed, by this process's monotonic clock.
	Deadline() time.Time

	// Context carries the lease: acquiring the same object with it re-enters. It has the values of the context that acquired
	// the lease, but does not end with it. It ends, with a cause that context.Cause tells:
	//
	//   - when the lease is known to be lost: the cause is a [*LostError] (ErrLost). A lease with a TTL learns of a loss within
	//     a third of it; one without within 30 s, or when somebody who waits for the object in the same client is told that it is free;
	//   - when the lease has run out, at Deadline: the cause is a *LostError, too;
	//   - when the lease is released or transferred: the cause is ErrNotHeld, and not ErrLost.
	//
	// Its Deadline is when MaxHold ends, which Renew puts off; by then the context has ended. A pause of the process or of its
	// machine delays the end of the context: Err looks at the clocks.
	Context() context.Context

	// Err returns nil while the lease may be trusted, and otherwise why not, as the cause of its context tells. Unlike that it looks
	// at the clocks at this moment, also at the one that goes on while a machine sleeps.
	Err() error

	// Renew makes the lease last for another MaxHold, or TTL at a time up to it, from now. It returns ErrLost when the
	// lease was lost or has run out. After another error the lease is what it was, and Renew may be called again; with a TTL
	// the call may take a third of that.
	Renew(ctx context.Context) error

	// Release ends the lease; the object is free once all leases that re-entered have ended. It runs also when ctx has
	// ended, for 5 s at the most, and repeats calls that fail. Further calls return what the first one did.
	//
	// It returns ErrLost when the lease had been lost or run out before, so that its holder may not have been alone. After
	// any other error the lease is over here, and the object is free when the lock expires. On PostgreSQL a crash of the server
	// just after the release may undo it: then, too, the object is free when the lock expires (see FlushReleases of
	// applock/postgres). Everywhere else it waits as every commit does; MySQL and MariaDB have innodb_flush_log_at_trx_commit for
	// the whole server only.
	Release(ctx context.Context) error

	// Transfer ends the lease, with all that re-entered, and begins a grant of another owner in the same moment, which lasts until
	// ttl from now, in whole seconds; zero keeps the TTL of the lease's grant. It returns ErrLost when the lease was lost before, and errors.ErrUnsupported on backends without owners. After
	// ErrOutcomeUnknown the lease is over, and the object is the new owner's or free: inquire.
	Transfer(ctx context.Context, to Owner, ttl time.Duration) (Grant, error)

	// Leave ends the lease, with all that re-entered, and leaves the object locked: until ttl from now, in whole seconds, or as
	// long as its grant lasts anyway if that is longer. It keeps others from beginning again what has just been done.
	//
	// It returns ErrLost when the lease was lost before. After another error the lease is what it was. Backends that keep locks in
	// sessions free the object when the client is closed.
	Leave(ctx context.Context, ttl time.Duration) error
}

// LeaseSet is the leases that one AcquireAll has taken. It is safe for concurrent use. It is an interface as Lease is.
type LeaseSet interface {
	// Leases are in the order of the objects' types and ids.
	Leases() []Lease

	// Context carries all leases, and ends with the first of them that does, with its cause.
	Context() context.Context

	// Release releases all leases, in one call to the database where the request named no operator, and returns what their Release
	// returns, joined.
	Release(ctx context.Context) error
}
