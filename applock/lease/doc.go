// Package lease takes and keeps leases on any backend: it re-enters, queues, renews, and notices a loss. [New] makes [Leases] of a
// [Backend]. The leases of an applock.Client are on the table of its database, and are made by the packages of the engines; the packages
// below this one have other backends. All are a [Locker] with the same contract, which package locktest tests; docs/choosing.md
// tells which to choose.
//
// Who writes a backend reads [Backend], and the protocol that follows.
//
// # The protocol
//
// A lease here stands for a grant in the backend, which alone decides who has an object. Several leases share one grant when
// they re-enter; all that is said of a lease holds for them together. In this process a lease goes through these states:
//
//	        refused, busy, outage          granted               last Release
//	(request) ------------> waiting --------------> live ------------------------> released
//	    |     <------------    |                     |  \-- Transfer -------------> transferred
//	    |      woken: ask      |                     |
//	    |                      | ctx, MaxWait,       | not found by the backend,
//	    v                      v Close               v Deadline passed, Close
//	 refused               gave up                 lost
//
// Renewing. Leases with similar TTLs are renewed together, each a third of its TTL after the last time, spread over that time.
// On PostgreSQL that is done on one or two connections beside the pool, and on MySQL and MariaDB on one of the pool that is kept
// for it where the pool's limit is two or more: the program may use up the rest. They are given up a minute after the last
// renewal.
//
// Who trusts what, until when. The backend keeps a grant until its own clock passes the end that the last call gave it. The
// lease is trusted until [applock.Lease.Deadline]: the moment before that call was sent plus what it asked for, less a margin of a
// tenth of it and at most 1 s, on the monotonic clock of this process, to which is added what the machine has slept. Linux tells that by
// CLOCK_BOOTTIME, which no step of the machine's time moves. Elsewhere a wall clock that is set forward is taken for a sleep, and ends leases
// early. A slow call therefore shortens the trust and never the safety, and clocks that differ do no harm. Trust never goes beyond MaxHold after the call that took the grant, or the last
// [applock.Lease.Renew]. [applock.Lease.Context] ends when trust does. A holder that is paused does not notice: what it writes then is kept
// out by the fence, with Assert in the transaction that writes.
//
// What is bound to which grant. Renewing, releasing and transferring name the fence of one grant (or what takes its place
// in a backend without fences), so that a late call never touches a successor's. Only one call at a time changes a grant from
// here. A given operator that takes what it has from elsewhere begins a new grant, which ends the former one. A release without a fence
// is made only for a get without an answer, by an operator that nobody else has. It cannot end another grant, however late or often it is made.
//
// Waiting. Who waits in one process is served in the order of the calls, and only the first one asks the backend. It asks
// when the object is free here, when a message or a poll says that it could be free, soon after an answer that came to nothing, and every five minutes. All of
// that is hints: only the backend's answer to a get counts. Where the backend is a [Passer] a release passes the object on to the first waiter
// here, whose turn so begins without a call of its own, and nobody else finds the object free.
//
// Fairness. Programs in which somebody always waits for an object have it equally often, however many wait in each: they take rows of turns, one
// program after the other. A row ends when everybody has had a turn who was waiting in the program at its beginning, after a twentieth
// of a second at the earliest, or two where nobody else was seen, and after two seconds or 10,000 turns at the latest. Where nobody waits in a
// program when it releases the object, others may take it at once. After a row the program leaves the
// object alone for a twentieth of a second. Where a program has seen several others hold the object in the last
// minute, one after the other, it leaves it alone for longer, and asks later than those whose turns ended longer ago, by a fifth of a
// second at the most. Where a message names the program of whoever has waited longest, that one
// asks at once, and the others when they have heard nothing of the object for a twentieth of a second. An [Announcer] is told of one waiter for an
// object at first, and of those behind it after a second. The poll of a [Poller] comes every 10 to 250 ms, and with the messages
// of a [Notifier] every 5 s at the latest.
//
// What happens on each failure:
//
//   - The caller's context ends during a get: the caller leaves at once. The call is not broken off; what it takes is given
//     back, and until then, or for 5 s, it is nobody's turn here. With an operator that nobody else has, a release that fails for so long is
//     repeated as after a get without an answer.
//   - A get has no answer ([applock.ErrOutcomeUnknown]), and may still arrive at the backend, also after its release. With an operator that
//     nobody else has, the object is released at once, and in the background again after 1, 5 and 15 s, whatever the release before found.
//     So a get that arrives within 15 s is undone by the next of these releases. Until then it refuses others like any holder; a release that ends it
//     wakes the first waiter here. A get that arrives later keeps the object until its lock expires. The caller waits for none of the releases.
//     One that has no answer itself is repeated. At most 50,000 gets are kept for this; beyond that the oldest are dropped.
//     With a given operator nothing is released: a lock may stay, for the next call of that operator to take over.
//   - The answer to a get comes when the trust is over already: the grant is given back and asked for again. Who meets nothing else for
//     30 s is told so.
//   - A renewal fails, is passed over, or has no answer for a ninth of the TTL: that is no loss. It is tried again, a ninth of the
//     TTL or 1 s after it began, with more time from the third attempt on or where answers are known to be slow, until the
//     deadline, at which the lease is lost.
//   - A renewal or a release does not find the grant: the lease is lost, with a [*applock.LostError] as its cause. That is [applock.ErrLost] and
//     never [applock.ErrHeld], whoever has the object now.
//   - A pass has no answer: the former grant is released, and after that a pass which arrives late finds nothing. Then the waiter's grant is
//     released as after a get without an answer, and the waiter asks by another name.
//   - A waiter has given up when the object is passed on to it: the next one has it, or it is released.
//   - A release fails: it is repeated for 5 s. Then the lease is over here, and the object is free when the lock expires.
//   - A transfer has no answer: the lease is lost, and the object is the new owner's or free.
//   - Renewals come late, or a call of them has no answer: whoever takes something new waits for a moment first, a second at the
//     most, so that a program does not take more than it can keep.
//   - The process dies: the object is free after TTL, or after MaxHold without one.
//   - The process is stopped beyond the deadline: the lease is lost as soon as the process runs again.
//   - The backend is unreachable: who holds goes on until the deadline. Who waits, or comes to wait, goes on for 30 s, as long
//     as its context and MaxWait allow, and then gets the error; who asks once gets it at once, or after that moment.
//   - Another transaction is changing the lock (ErrBusy, ErrRetry, ErrContention): that is waited for like a holder.
//   - The time is up: [applock.ErrHeld] if somebody was seen to hold the object, here or by an answer; else what the last answer was; and
//     else, when there was none, [applock.ErrUnreachable]. The cause of the caller's context comes beside it, if that has ended. An outage is
//     never ErrHeld.
//   - [Leases.Close]: who waits gets [applock.ErrClosed], leases are lost with that cause and released. What the backend does not answer
//     within 5 s stays until it expires, and the error of Close says so. What a get without an answer may have taken is released
//     again until the backend has answered, for those 5 s. If that get arrives after Close, its lock stays until it expires, and no error says so.
package lease
