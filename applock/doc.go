// Package applock gets, keeps and releases locks that a database keeps:
//
//	err := client.Do(ctx, applock.AcquireRequest{
//		Object:  applock.Object{Type: "customer", ID: "42"},
//		MaxHold: 10 * time.Minute, // it ends then, whatever happens
//		TTL:     30 * time.Second, // renewed until then; after a crash the object is free in 30 s
//	}, func(ctx context.Context, lease applock.Lease) error {
//		return work(ctx) // which ends when the lease is lost
//	})
//
// Package postgres, mysql, sqlite or db2 makes the client; package migrate installs first what it works on.
//
// A lock answers a business question: who is working on this customer, since when, until when, and may
// I? It is long-lived, expires, belongs to an operator and not to a connection, and is visible to everybody, also to programs in
// any language that call the same stored procedures. No connection is held while a lock is held.
//
// A person or a service gets a lock by [Client.Get]. A program that holds locks while it works takes leases: [Client.Acquire] waits,
// [Client.TryAcquire] gives up in time, [Client.Do] is a block. A [Lease] renews itself if asked to, ends by itself, and says so to its
// holder by a context. Package lease keeps them, and tells how; below it are leases elsewhere than in the table.
//
// Expected refusals are errors to ask about, with [errors.Is] and [errors.As]: [ErrHeld] with a
// [*HeldError] that tells the holder, [ErrNotHeld], [ErrLost]. Misuse is [ErrInvalid] with an
// [*InvalidError] that names the argument; nothing has been sent then. A call that may have taken effect
// although its answer is missing is [ErrOutcomeUnknown]: repeat it.
package applock
