// Package lease takes and keeps leases on any backend: it re-enters, queues, renews, and notices a loss. [New] makes [Leases] from a
// [Backend]. An applock.Client keeps its leases in the table of its database; the packages below this one are other backends. Each is a
// [Locker] with the same contract, which package locktest tests. docs/choosing.md helps to choose.
//
// To write a backend, read [Backend] and the protocol.
//
// # The protocol
//
// A lease stands for a grant in the backend, and only the backend decides who has an object. Leases that re-enter share one grant; what
// follows holds for them together. In this process a lease has these states:
//
//	        refused, busy, outage          granted               last Release
//	(request) ------------> waiting --------------> live ------------------------> released
//	    |     <------------    |                     |  \-- Transfer -------------> transferred
//	    |      woken: ask      |                     |
//	    |                      | ctx, MaxWait,       | not found by the backend,
//	    v                      v Close               v Deadline passed, Close
//	 refused               gave up                 lost
//
// Renewals. Leases with similar TTLs are renewed together, up to 500 in one call and two calls at a time, every third of the TTL or up to a ninth
// of it earlier. Those that begin in one moment are spread over that third. A TTL should be 3 s or more: a ninth of it is the time that a busy
// server needs for a call. On PostgreSQL one or two connections outside the pool do that. MySQL and MariaDB keep one of the pool's connections for it if the pool's limit is two or more. The
// program may use the rest of the pool. These connections are closed a minute after the last renewal.
//
// Slow ways. A renewal is sent a third of the TTL after the call before it, and given up after another third. So a lease lives if the
// way there and back is shorter than a third of its TTL, and than a sixth or a tenth of it where one or two renewals are lost. Before that the
// first lease of a program makes its connections: with the get and the first renewal that is about six times the way, within the trust below.
// Measured on PostgreSQL, MariaDB and MySQL, a program's first lease lives on a way of an eighth of its TTL, and may be lost from a seventh on:
// from 300 ms for a TTL of 2 s, from 410 to 450 ms for 3 s. A first lease on open connections is lost from 2/9 of its TTL on with MariaDB and
// MySQL, where the connection for renewals is checked first. The log warns of a grant that took longer than a third of its TTL.
//
// Trust. The backend keeps a grant until its own clock passes the end that the last call set. The program may trust the lease until
// [applock.Lease.Deadline]: the time before that call was sent, plus its TTL, less a margin of a tenth and at most 1 s. It counts on this
// process's monotonic clock, plus the time that the machine slept. So a slow call shortens the trust and never the safety, and different
// clocks do no harm. Linux counts sleep by CLOCK_BOOTTIME, which a step of the machine's time does not move; elsewhere a wall clock
// that is set forward counts as a sleep, and ends leases early. Trust never exceeds MaxHold after the call that took the grant, or
// after the last [applock.Lease.Renew]. [applock.Lease.Context] ends with the trust. A paused holder does not notice in time: Assert, in the
// transaction that writes, keeps its write out by the fence.
//
// Fences. A renewal, release or transfer names the fence of one grant (or the backend's substitute), so that a late call never touches a
// successor's grant. Renewals and transfers of a grant are sent one at a time from this process. A release waits for none of them: what arrives
// after it finds nothing, and after a transfer it finds nothing itself. A request may name its operator: a given operator. If that operator
// takes its own lock elsewhere, a new grant begins, and the former one ends. A release without a fence is only sent after a get
// without an answer, for an operator that nobody else has. It cannot end another grant, however late or often it is sent.
//
// Waiting. Waiters in one process are served in the order of their calls, and only the first one asks the backend. It asks when the object is
// free in this process, when a message or a poll says that it could be free, soon after an attempt without a result, and every five minutes.
// Messages and polls are hints: only the backend's answer to a get counts. If the backend is a [Passer], a release passes the object on to
// the first waiter in this process in the same call, and nobody else finds the object free.
//
// Fairness. Programs that want one object take rows of turns. Where the backend knows who waits (a [Crowd], as the tables, Redis and etcd
// are), the program whose waiter has been listed longest has the next row. So between two rows of one program each other listed program
// has had one, however many waiters each has:
//
//   - A row ends with the first turn that ends later than 2/5 s after its beginning, if others are listed. That is asked every 1/10 s, so no row
//     lasts for more than 1/2 s beyond the hold under way. Then the program goes to the end of the list.
//   - A program that is told that it is first asks at once. The others ask if that one has not taken the object for 1/4 s, one after the
//     other in the order of the list. So a program that has died costs the others at most half of their turns until it is not listed any more.
//   - A program that is not listed yet loses its place, not its turn. A caller that finds the object free when it comes may have it before
//     those who are listed.
//   - Elsewhere, as with advisory locks, nobody knows who waits: a row lasts for 1/2 s and two turns at least. Then the program leaves the
//     object alone for 1/20 s, and chance decides.
//
// An [Announcer] lists up to eight waiters of a program for an object: the first one after 1/20 s, or at once if another program has the
// object, and those behind it after a second. A [Poller] polls every 5 to 250 ms, and at least every 5 s if a [Notifier] brings messages;
// rarely enough that polls take a twenty-fifth of the server's time, for which the time on the network does not count. Where thousands of
// waiters of one program make polls rarer than every 50 ms, up to once in a second, a [Peeker] is asked meanwhile about the four objects of the
// last newcomers.
//
// Failures:
//
//   - The caller's context ends during a get: the caller returns at once, and the call goes on. Its grant is released. Until then, for at most
//     5 s, no other waiter has its turn. If the release still fails after 5 s, it is repeated as after a get without an answer, provided that
//     nobody else has the operator.
//   - A get has no answer ([applock.ErrOutcomeUnknown]): it may still arrive at the backend, also after its release. If nobody else has the
//     operator, the object is released at once, and again after 1, 5 and 15 s, whatever the former release found. So a get that arrives within 15 s is
//     undone by the next of these releases, which wakes the first waiter. Until then it refuses others like any holder. A get that arrives
//     later keeps the object until its lock expires. The caller does not wait for these releases, and one without an answer is repeated. At
//     most 50,000 gets are kept for this; the oldest are dropped. A given operator's lock is not released: its next call takes it over.
//   - The answer to a get comes after its trust has ended: the grant is released, and the get is repeated. After 30 s without any other
//     answer the caller gets the error.
//   - A renewal fails, is passed over, or has no answer for a ninth of the TTL: the lease is not lost. The renewal is repeated a ninth of the
//     TTL or 1 s after its beginning, with more time from the third attempt on or if answers are known to be slow. The lease is lost at the
//     deadline.
//   - A renewal or a release does not find the grant: the lease is lost, with a [*applock.LostError] as its cause. That is [applock.ErrLost] and
//     never [applock.ErrHeld], even if another operator has the object now.
//   - A pass has no answer: the former grant is released; a pass that arrives after that finds nothing. Then the waiter's grant is released
//     as after a get without an answer, and the waiter asks under a new name.
//   - The waiter has given up when the object is passed on to it: the next waiter gets it, or it is released.
//   - A release fails: it is repeated for 5 s. Then the lease is over in this process, and the object is free when the lock expires.
//   - A transfer has no answer: the lease is lost, and the object is the new owner's or free.
//   - Renewals are late or without an answer: new acquisitions wait for up to a second first, so that a program does not take more than it
//     can keep.
//   - The process dies: the object is free after TTL, or after MaxHold without one.
//   - The process is stopped beyond the deadline: the lease is lost as soon as the process runs again.
//   - The backend is unreachable: holders go on until the deadline. Waiters go on for 30 s, within their context and MaxWait, and then get
//     the error. A call that asks once gets the error at once, or after it has waited for late renewals.
//   - Another transaction is changing the lock (ErrBusy, ErrRetry, ErrContention): the caller waits as for a holder.
//   - The time is up: [applock.ErrHeld] if a holder was seen, in this process or in an answer; otherwise the last answer; without any answer
//     [applock.ErrUnreachable]. The cause of an ended context is joined. An outage is never ErrHeld.
//   - [Leases.Close]: waiters get [applock.ErrClosed]; leases are lost with that cause and released. A lock whose release has no answer within 5 s
//     stays until it expires, and the error of Close says so. For those 5 s the object of a get without an answer is
//     released again until the backend has answered. If that get arrives after Close, its lock stays until it expires, and no error says so.
//
// # The engine
//
// For those who change it. Leases has the calls of programs, and five parts with a mutex each: the queue has the waiters and what is known of
// their objects; the keeper has the holds and their renewals; the hub polls and receives messages; the lister lists waiters in the backend; and
// lateTakes are released again. What a mutex guards is reached only by a lock method, so the methods behind it lock nothing themselves.
//
// The order of locks: first the queue, then the keeper, then one of the other parts or the counter of goroutines. No mutex is held during a
// call of the backend or of a hook.
//
// In this program an object is in the first of these states that applies. The state says which waiter may send a get:
//
//	held       a hold has the object              nobody; a hint has the hold verified
//	unsettled  a take may still have to be undone nobody
//	resting    it is another program's turn       nobody, until this program is told that it is first, or the other one is late
//	asking     the first waiter's get is sent     that one only
//	awaited    somebody waits                     the first waiter
//	unused     nobody waits                       the next caller
//
// A set waits in the queue of one object and asks for its other objects in passing. If its operator is a given one, they are unsettled meanwhile,
// so that two calls of one operator never take over from each other. The oldest set that waits is favoured from time to time: then no other
// waiter of this program has a turn for its objects. So a set is had in bounded time beside callers of this program that hold them for up to
// two seconds each. Beside other programs it depends on chance.
//
// Right. Only the backend grants, and a hold is trusted for less time than its grant lasts. A lease's own name under which a take had no answer
// is never used again, and the take is released again and again for 15 s. A given operator's next call takes over what the former one may have left.
//
// Live. Each change of state that gives a waiter its turn wakes the first waiter: the end of a hold, of an unsettled take, of a rest, and
// the departure of the waiter before. For a waiter that the backend has refused, polls and messages wake the first one, too. A wake that
// comes between a waiter's look and its sleep is kept, so that none is lost. If all of that fails, the waiter looks again after five
// minutes. verification/model checks this with messages that are lost, late and doubled.
//
// Fair. The rows of turns above are the only rule between programs, and the order of the calls is the only one within a program.
package lease
