package applock

import (
	"context"
	"time"
)

// Lease is a lock that a program has taken: the result of one Acquire. It is safe for concurrent use. Package lease makes leases; Lease is
// an interface so that a program's tests can fake it. A fake embeds the interface, which may get more methods.
//
// The backend decides who holds the object. The lease may be trusted until Deadline, which counts on this process's monotonic clock from
// before the request that took or renewed it, less a margin. So it is over before the backend gives the object to anybody else. A process
// that is paused beyond Deadline notices only when it continues, too late for a write that is under way: pass the fence to Assert in the
// transaction that writes.
type Lease interface {
	// Object is the held object.
	Object() Object

	// Owner is the holder.
	Owner() Owner

	// Fence is the fencing token of the grant, 0 on backends without fences.
	Fence() Fence

	// Key names the grant for Assert and the other operations on it.
	Key() Key

	// ExpiresAt is when the backend frees the object unless the lease is renewed: UTC, by the backend's clock. It is zero on backends that
	// do not say.
	ExpiresAt() time.Time

	// Deadline is until when the lease may be trusted unless it is renewed, by this process's monotonic clock.
	Deadline() time.Time

	// Context carries the lease: acquiring the same object with it re-enters. It has the values of the context that acquired the lease, but
	// does not end with it. It ends with a cause, which context.Cause returns:
	//
	//   - when the lease is known to be lost: a [*LostError] (ErrLost). A lease with a TTL learns of a loss within a third of it; a lease
	//     without one within 30 s, or when a waiter for the object in the same client learns that it is free;
	//   - when the lease has run out, at Deadline: a *LostError, too;
	//   - when the lease is released or transferred: ErrNotHeld, and not ErrLost.
	//
	// Its Deadline is when MaxHold ends, which Renew extends; by then the context has ended. A pause of the process or its machine delays
	// the end of the context; Err does not have that delay.
	Context() context.Context

	// Err returns nil while the lease may be trusted, and otherwise the cause as its context has it. Unlike the context it reads the clocks
	// at this moment, also the one that counts while a machine sleeps.
	Err() error

	// Renew extends the lease from now by MaxHold, or by TTL at a time up to MaxHold. It returns ErrLost if the lease was lost or has run
	// out. After another error the lease is unchanged, and Renew may be called again; with a TTL the call may take a third of it.
	Renew(ctx context.Context) error

	// Release ends the lease; the object is free when all leases that re-entered have ended. It also runs if ctx has ended, for at most 5
	// s, and repeats calls that fail. Further calls return the result of the first.
	//
	// It returns ErrLost if the lease had been lost or had run out, so that its holder may not have been alone. After any other error the
	// lease is over in this program, and the object is free when the lock expires. On PostgreSQL a crash of the server just after the
	// release may undo it, and the object is then free when the lock expires (see FlushReleases of applock/postgres). Elsewhere the release
	// waits for the disk as every commit does; MySQL and MariaDB have innodb_flush_log_at_trx_commit for the whole server only.
	Release(ctx context.Context) error

	// Transfer ends the lease, with all that re-entered, and begins a grant of another owner in the same step. The grant lasts for ttl from
	// now, in whole seconds; zero keeps the TTL of the lease's grant. It returns ErrLost if the lease was lost before, and
	// errors.ErrUnsupported on backends without owners. After ErrOutcomeUnknown the lease is over, and the object is the new owner's or
	// free: inquire.
	Transfer(ctx context.Context, to Owner, ttl time.Duration) (Grant, error)

	// Leave ends the lease, with all that re-entered, and leaves the object locked for ttl from now, in whole seconds, or until its grant
	// ends if that is later. It keeps other nodes from repeating work that was just done.
	//
	// It returns ErrLost if the lease was lost before. After another error the lease is unchanged. Backends that keep locks in sessions
	// free the object when the client is closed.
	Leave(ctx context.Context, ttl time.Duration) error
}

// LeaseSet is the leases of one AcquireAll. It is safe for concurrent use. It is an interface for the same reason as Lease.
type LeaseSet interface {
	// Leases are in the order of the objects' types and ids.
	Leases() []Lease

	// Context carries all leases, and ends with the first of them that ends, with its cause.
	Context() context.Context

	// Release releases all leases, in one call to the database if the request named no operator, and returns the joined errors of their
	// Release.
	Release(ctx context.Context) error
}
