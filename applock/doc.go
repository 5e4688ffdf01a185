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
// Package postgres, mysql, sqlite or db2 makes the client. Package migrate installs the tables and procedures.
//
// A lock answers a business question: who is working on this customer, since when, until when, and may I? It is long-lived and expires. It
// belongs to an operator, not to a connection. Everybody can see it, also programs in other languages, which call the same stored
// procedures. No connection is held while a lock is held.
//
// A person or a service gets a lock by [Client.Get]. A program that holds locks while it works takes leases: [Client.Acquire] waits,
// [Client.TryAcquire] gives up in time, [Client.Do] takes a function. A [Lease] renews itself if it has a TTL, ends by itself, and tells its
// holder by a context. Package lease has the rules, and leases on other backends than the table.
//
// Refusals are errors for [errors.Is] and [errors.As]: [ErrHeld] with a [*HeldError] that names the holder, [ErrNotHeld], [ErrLost]. Misuse is
// [ErrInvalid] with an [*InvalidError] that names the argument; nothing has been sent then. A call that may have taken effect although its
// answer is missing is [ErrOutcomeUnknown]: repeat it.
package applock
