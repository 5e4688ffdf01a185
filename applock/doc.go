// Package applock takes, renews, inquires, transfers and releases application locks that a database
// keeps: long-lived, expiring, owned by an operator, visible to everybody, and shared with programs in
// any language that call the same stored procedures.
//
// A lock answers a business question: who is working on this customer, since when, until when, and may
// I? It outlives clients and servers, ends by itself, and belongs to an operator, not to a connection.
// No connection is held while a lock is held.
//
// A program that holds locks takes leases: [Client.Acquire] waits, [Client.TryAcquire] gives up in time, [Client.Do] is
// a block. A [Lease] renews itself if asked to, ends by itself, and says so to its holder by a context. No connection is
// held by a lease or by a waiter. The packages below this one keep leases elsewhere than in the table, with the same
// contract, which package locktest tests; docs/choosing.md tells which to choose.
//
// Expected refusals are errors to ask about, with [errors.Is] and [errors.As]: [ErrHeld] with a
// [*HeldError] that tells the holder, [ErrNotHeld], [ErrLost]. Misuse is [ErrInvalid] with an
// [*InvalidError] that names the argument; nothing has been sent then. A call that may have taken effect
// although its answer is missing is [ErrOutcomeUnknown]: repeat it.
package applock
