// Package fakebackend is a backend of leases for tests. It keeps grants in memory, in the time of a testing/synctest bubble, and answers
// late, wrongly or not at all when a test wants that.
//
// It decides as the table does: one row for each object, a growing fence, an expiry, and a refusal that names the holder. Faults affect
// only the way of a call and of its answer. So a test knows the truth, whatever the tested program was told.
package fakebackend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// The operations of a Call.
const (
	Get     = "get"
	GetAll  = "get all"
	Release = "release"
	// ReleaseAll ends all grants of an operator.
	ReleaseAll = "release all"
	Renew      = "renew"
	Poll       = "poll"
	Announce   = "announce"
	Retract    = "retract"
	Listen     = "listen"
	Transfer   = "transfer"
	Pass       = "pass"
	// Others asks which other programs wait for an object, as a peek does.
	Others = "others"
)

// Call is a call that a program makes.
type Call struct {
	Operation string
	// Number counts the calls of the operation, from 1.
	Number int
	// Object and Owner are those of the first grant, if any.
	Object applock.Object
	Owner  applock.Owner
	// Grants is the number of grants in the call.
	Grants int
}

// Fault is what happens to a call. The zero value is none.
type Fault struct {
	// Before is how long the call takes to the backend, and After how long the answer takes back.
	Before, After time.Duration
	// Deaf lets the call go on when its context ends, as a driver without cancellation does.
	Deaf bool
	// Refuse, if set, is the answer of a call that has no effect.
	Refuse error
	// Lose lets the call take effect and loses its answer, which is ErrOutcomeUnknown, wrapped around ErrConnection.
	Lose bool
	// Duplicate makes the call arrive twice, one after the other. The second answer is returned. For a release and a pass, which find nothing
	// the second time, it is the first.
	Duplicate bool
	// Ghost lets a call whose context ended on the way arrive all the same. Its caller has ErrOutcomeUnknown by then.
	Ghost bool
	// Stray, if set, breaks the connection while the call is on its way. Its caller has ErrOutcomeUnknown after Before, and the call arrives
	// that much later, whatever its caller has done since.
	Stray time.Duration
	// PassOver makes a renewal answer nothing about its grants and renew none, and makes ReleaseAll release nothing.
	PassOver bool
}

// ErrConnection is the error of a broken connection.
var ErrConnection = errors.New("connection reset")

// Backend is the truth about the objects, which all programs of a test share. Set Fault, Granted and Messages before its use; ChangeFault
// is for later. It is only a lease.Backend; Polled and Program add the rest.
type Backend struct {
	// Fault, if set, returns the fault of a call. It may block.
	Fault Faults
	// Granted, if set, is called when a new grant begins, at the moment of the decision, with the time at which its call was sent. It must not
	// call the backend.
	Granted func(grant applock.Grant, sent time.Time)
	// Messages, if set, returns how often a message about a release arrives. Otherwise it arrives once.
	Messages func() int

	mutex sync.Mutex
	// grants are the last grants of all objects. A released grant has expired.
	grants  map[applock.Object]applock.Grant
	fence   applock.Fence
	numbers map[string]int
	// listings are the waiters that were announced and not retracted.
	listings  map[waiter]*listing
	listeners map[*listener]struct{}
	// ahead is how much the backend's clock is ahead of the programs'. restarts counts the backend's restarts.
	ahead    time.Duration
	restarts int
}

// Faults returns the fault of a call.
type Faults func(ctx context.Context, call Call) Fault

// ChangeFault replaces the faults of a backend in use.
func (b *Backend) ChangeFault(change func(former Faults) Faults) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.Fault = change(b.Fault)
}

// New returns a backend without grants.
func New() *Backend {
	return &Backend{
		grants:    map[applock.Object]applock.Grant{},
		numbers:   map[string]int{},
		listings:  map[waiter]*listing{},
		listeners: map[*listener]struct{}{},
	}
}

// ask makes a call, and returns its answer unless the call has an error. It calls decide with the mutex held.
func ask[T any](ctx context.Context, b *Backend, call Call, decide func(fault Fault) (T, error)) (T, error) {
	var none, answer T
	err := b.travel(ctx, call, func(fault Fault) error {
		got, err := decide(fault)
		if err == nil {
			answer = got
		}
		return err
	})
	if err != nil {
		return none, err // a late call may still write the answer
	}
	return answer, nil
}

// travel takes a call to the backend and its answer back. It calls decide at the moment in which the backend decides, with the mutex held.
func (b *Backend) travel(ctx context.Context, call Call, decide func(fault Fault) error) error {
	fault, restarts := b.faultOf(ctx, call)
	if ctx.Err() != nil {
		return context.Cause(ctx) // nothing was sent
	}
	if err := fault.wait(ctx, fault.Before); err != nil {
		return b.cutOff(fault, decide, err)
	}
	if fault.Refuse != nil {
		return cmp.Or(fault.wait(ctx, fault.After), fault.Refuse)
	}
	if b.hasRestarted(restarts) {
		return unknown(ErrConnection) // it never arrives
	}
	if fault.Stray > 0 {
		b.stray(fault, restarts, decide)
		return unknown(ErrConnection)
	}
	err := b.decided(fault, decide)
	if fault.Duplicate {
		again := b.decided(fault, decide)
		if call.Operation != Release && call.Operation != ReleaseAll && call.Operation != Pass {
			err = again
		}
	}
	gone := fault.wait(ctx, fault.After)
	if gone != nil || fault.Lose || b.hasRestarted(restarts) {
		return unknown(cmp.Or(gone, ErrConnection))
	}
	return err
}

func unknown(cause error) error { return fmt.Errorf("%w: %w", applock.ErrOutcomeUnknown, cause) }

func (b *Backend) hasRestarted(restarts int) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.restarts != restarts
}

// cutOff is a call whose context ended on its way. It arrives late or never.
func (b *Backend) cutOff(fault Fault, decide func(fault Fault) error, cause error) error {
	if !fault.Ghost || fault.Refuse != nil {
		return cause
	}
	time.AfterFunc(fault.Before, func() { _ = b.decided(fault, decide) }) // nobody receives the answer
	return unknown(cause)
}

// stray makes a call arrive for which nobody waits any more, unless the backend restarts first.
func (b *Backend) stray(fault Fault, restarts int, decide func(fault Fault) error) {
	time.AfterFunc(fault.Stray, func() {
		if !b.hasRestarted(restarts) {
			_ = b.decided(fault, decide) // nobody receives the answer
		}
	})
}

// faultOf returns a call's fault, and how often the backend restarted before the call.
func (b *Backend) faultOf(ctx context.Context, call Call) (fault Fault, restarts int) {
	b.mutex.Lock()
	b.numbers[call.Operation]++
	call.Number = b.numbers[call.Operation]
	faults, restarts := b.Fault, b.restarts
	b.mutex.Unlock()
	if faults == nil {
		return Fault{}, restarts
	}
	return faults(ctx, call), restarts
}

func (b *Backend) decided(fault Fault, decide func(fault Fault) error) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return decide(fault)
}

// wait waits while a call is on its way, unless ctx ends first.
func (f Fault) wait(ctx context.Context, way time.Duration) error {
	if way <= 0 {
		return nil
	}
	if f.Deaf {
		time.Sleep(way)
		return nil
	}
	timer := time.NewTimer(way)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Get is [lease.Backend.Get].
func (b *Backend) Get(
	ctx context.Context, object applock.Object, owner applock.Owner, ttl time.Duration,
) (applock.Grant, error) {
	call, sent := Call{Operation: Get, Object: object, Owner: owner, Grants: 1}, time.Now()
	return ask(ctx, b, call, func(Fault) (applock.Grant, error) {
		return b.take(Claim{Object: object, Owner: owner, TTL: ttl}, sent)
	})
}

// Claim is a claim of GetAll.
type Claim struct {
	Object applock.Object
	Owner  applock.Owner
	TTL    time.Duration
}

// GetAll takes all or none at once, as the database does for Client.AcquireAll.
func (b *Backend) GetAll(ctx context.Context, claims []Claim) ([]applock.Grant, error) {
	call, sent := Call{Operation: GetAll, Object: claims[0].Object, Owner: claims[0].Owner, Grants: len(claims)}, time.Now()
	return ask(ctx, b, call, func(Fault) ([]applock.Grant, error) { return b.takeAll(claims, sent) })
}

// takeAll is GetAll with the mutex held.
func (b *Backend) takeAll(claims []Claim, sent time.Time) ([]applock.Grant, error) {
	var conflicts []*applock.HeldError
	for _, claim := range claims {
		if held := b.heldByOther(claim); held != nil {
			conflicts = append(conflicts, held)
		}
	}
	if len(conflicts) > 0 {
		return nil, &applock.ConflictError{Conflicts: conflicts}
	}
	var taken []applock.Grant
	for _, claim := range claims {
		grant, err := b.take(claim, sent)
		if err != nil {
			return nil, err
		}
		taken = append(taken, grant)
	}
	return taken, nil
}

// heldByOther returns the refusal of a claim, nil if there is none; the mutex is held.
func (b *Backend) heldByOther(claim Claim) *applock.HeldError {
	present := b.grants[claim.Object]
	if !b.isLive(present) || present.Owner.Operator == claim.Owner.Operator {
		return nil
	}
	return refusal(present)
}

func refusal(present applock.Grant) *applock.HeldError {
	holder := applock.Holder{Owner: present.Owner, ExpiresAt: present.ExpiresAt}
	return &applock.HeldError{Object: present.Object, Holder: holder}
}

// take grants an object or refuses it; the mutex is held.
func (b *Backend) take(claim Claim, sent time.Time) (applock.Grant, error) {
	if held := b.heldByOther(claim); held != nil {
		return applock.Grant{}, held
	}
	return b.begin(claim, sent, applock.OutcomeAcquired), nil
}

// begin begins a new grant; the mutex is held.
func (b *Backend) begin(claim Claim, sent time.Time, outcome applock.Outcome) applock.Grant {
	b.fence = max(b.fence+1, applock.Fence(b.now().UnixMicro()))
	grant := applock.Grant{Object: claim.Object, Owner: claim.Owner, Fence: b.fence}
	if b.Granted != nil {
		b.Granted(grant, sent)
	}
	grant.ExpiresAt = b.now().Add(claim.TTL)
	b.grants[claim.Object] = grant
	grant.Outcome = outcome
	return grant
}

// now is the backend's time; the mutex is held.
func (b *Backend) now() time.Time { return time.Now().Add(b.ahead).UTC() }

func (b *Backend) isLive(grant applock.Grant) bool { return b.now().Before(grant.ExpiresAt) }

// Release is [lease.Backend.Release].
func (b *Backend) Release(ctx context.Context, grant applock.Grant) error {
	call := Call{Operation: Release, Object: grant.Object, Owner: grant.Owner, Grants: 1}
	return b.travel(ctx, call, func(Fault) error {
		if err := b.lost(grant); err != nil {
			return err
		}
		b.end(grant.Object)
		return nil
	})
}

// ReleaseAll ends all grants of an operator, as the table does for Client.ReleaseAll, and returns their objects.
func (b *Backend) ReleaseAll(ctx context.Context, operator string) ([]applock.Object, error) {
	var released []applock.Object // by both calls of a duplicate
	return ask(ctx, b, Call{Operation: ReleaseAll, Owner: applock.Owner{Operator: operator}}, func(fault Fault) ([]applock.Object, error) {
		for object, grant := range b.grants {
			if grant.Owner.Operator == operator && b.isLive(grant) && !fault.PassOver {
				b.end(object)
				released = append(released, object)
			}
		}
		return released, nil
	})
}

// end ends the grant of an object, and sends messages; the mutex is held.
func (b *Backend) end(object applock.Object) {
	ended := b.grants[object]
	ended.ExpiresAt = b.now()
	b.grants[object] = ended
	copies := 1
	if b.Messages != nil {
		copies = b.Messages()
	}
	oldest := b.oldest(object)
	for listening := range b.listeners {
		message := lease.Message{Object: object}
		switch oldest {
		case "":
		case listening.program:
			message.Rank = lease.First
		default:
			message.Rank = lease.Later
		}
		for range copies {
			listening.send(message)
		}
	}
}

// lost returns why a grant is not live, nil if it is; the mutex is held.
func (b *Backend) lost(grant applock.Grant) error {
	present := b.grants[grant.Object]
	switch {
	case !b.isLive(present):
		return applock.ErrNotHeld
	case present.Owner.Operator != grant.Owner.Operator || grant.Fence != 0 && grant.Fence != present.Fence:
		return refusal(present)
	}
	return nil
}

// Renew is [lease.Backend.Renew].
func (b *Backend) Renew(ctx context.Context, renewals []lease.Renewal) ([]lease.Renewed, error) {
	call := Call{Operation: Renew, Grants: len(renewals)}
	if len(renewals) > 0 {
		call.Object, call.Owner = renewals[0].Grant.Object, renewals[0].Grant.Owner
	}
	var answers []lease.Renewed
	return ask(ctx, b, call, func(fault Fault) ([]lease.Renewed, error) {
		if fault.PassOver {
			return answers, nil
		}
		for _, renewal := range renewals { // a duplicate answers twice
			answers = append(answers, b.renew(renewal))
		}
		return answers, nil
	})
}

// renew renews one grant; the mutex is held.
func (b *Backend) renew(renewal lease.Renewal) lease.Renewed {
	object := renewal.Grant.Object
	if err := b.lost(renewal.Grant); err != nil {
		return lease.Renewed{Object: object, Lost: err}
	}
	present := b.grants[object]
	if expires := b.now().Add(renewal.TTL); expires.After(present.ExpiresAt) { // like renew_appl_locks
		present.ExpiresAt = expires
	}
	b.grants[object] = present
	return lease.Renewed{Object: object, ExpiresAt: present.ExpiresAt}
}
