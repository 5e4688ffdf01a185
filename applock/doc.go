// Package applock gets, keeps and releases locks that a database keeps. A person's lock, a program's lease, and work that runs once at a time:
//
//	customer := applock.Object{Type: "customer", ID: "42"}
//	grant, err := client.Get(ctx, applock.GetRequest{Object: customer, Owner: applock.Owner{Operator: "JDOE"}, TTL: 72 * time.Hour})
//	// A refusal is a *HeldError: who has it, and until when. Client.Release gives it back.
//
//	lease, err := client.Acquire(ctx, applock.AcquireRequest{Object: applock.Object{Type: "import", ID: "7"}})
//	// It waits for its turn, and lasts until lease.Release; after a crash the object is free in a minute.
//
//	ran, err := client.TryDo(ctx, applock.AcquireRequest{Object: applock.Object{Type: "job", ID: "nightly"}}, work)
//	// It has not run if another node is running it.
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
