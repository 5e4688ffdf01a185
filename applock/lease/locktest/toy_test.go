package locktest

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// bug is what is wrong with a toy. The zero value is nothing.
type bug string

// The bugs, each in words of what the backend does.
const (
	renewDoesNothing       bug = "Renew says renewed and changes nothing"
	fenceIgnored           bug = "Release and Renew ignore the fence"
	lostReleaseIsNil       bug = "Release of a lost grant returns nil"
	expiredIsFound         bug = "Release and Renew find an expired grant"
	takeKeepsFence         bug = "Get by the operator that has the object keeps the fence"
	renewShortens          bug = "Renew shortens"
	takeGivesHeld          bug = "Get gives an object that another operator holds"
	fencesRestart          bug = "the fences of an object begin anew after its release"
	refusalIsPlain         bug = "a refusal is an error of another type"
	releaseDoesNothing     bug = "Release returns nil and changes nothing"
	pollFindsNothing       bug = "Poll finds no object free"
	takeHangs              bug = "Get of a held object never returns"
	renewHangs             bug = "Renew never returns"
	expiredIsNotTaken      bug = "Get refuses an object whose grant has expired"
	ttlIgnored             bug = "grants last a tenth of their TTL"
	ownerIgnored           bug = "Release and Renew find the grants of other operators"
	lostIsLeftOut          bug = "Renew leaves out the lost grants"
	liveIsLost             bug = "Renew says that a live grant is lost"
	zeroFenceIsNoFence     bug = "Release without a fence finds nothing"
	casesAreOne            bug = "names are compared without their case"
	transferKeepsTheFormer bug = "Transfer returns a new grant and changes nothing"
	passKeepsTheFormer     bug = "Pass returns a new grant and changes nothing"
	passFrees              bug = "Pass frees the object, and takes it a moment later"
	passKeepsTheEnd        bug = "Pass keeps the end of the former grant"
	passFindsExpired       bug = "Pass finds an expired grant"
	ownWaitersAreOthers    bug = "Others counts the program's own waiters"
	othersAreUnknown       bug = "Others counts nobody"
	placeIsUnknown         bug = "Others counts all others as behind"
	allAreFirst            bug = "Poll tells each program that it is first"
	placeIsKept            bug = "a waiter that is listed again has its former place"
	lostReleaseIsOthers    bug = "Release of a lost grant is refused and frees the object all the same"
	takeHalvesOwner        bug = "Get keeps the operator without the department"
	refusalHalvesOwner     bug = "a refusal names the operator without the department"
	transferHalvesOwner    bug = "Transfer keeps the operator without the department"
	passHalvesOwner        bug = "Pass keeps the operator without the department"
)

// toy is a correct backend in memory, for the programs of one process, with at most one bug.
type toy struct {
	bug bug
	// stuck ends what hangs, at the end of the test.
	stuck chan struct{}

	mutex  sync.Mutex
	grants map[applock.Object]applock.Grant
	fence  applock.Fence
	// listed are the waiters and those that have been, in the order of their listing.
	listed []waiting
}

// waiting is a listed waiter.
type waiting struct {
	program  *program
	object   applock.Object
	operator string
	gone     bool
}

var (
	_ lease.Backend     = (*toy)(nil)
	_ lease.Poller      = (*program)(nil)
	_ lease.Crowd       = (*program)(nil)
	_ lease.Announcer   = (*program)(nil)
	_ lease.Transferrer = (*toy)(nil)
	_ lease.Passer      = (*toy)(nil)
)

func newToy(bug bug) *toy {
	return &toy{bug: bug, stuck: make(chan struct{}), grants: map[applock.Object]applock.Grant{}}
}

// has reports whether the toy has the bug.
func (b *toy) has(bug bug) bool { return b.bug == bug }

// named is the owner, without the department if the toy has this bug.
func (b *toy) named(owner applock.Owner, drops bug) applock.Owner {
	if b.has(drops) {
		owner.Department = ""
	}
	return owner
}

// key is what tells an object from others.
func (b *toy) key(object applock.Object) applock.Object {
	if b.has(casesAreOne) {
		object.ID = strings.ToLower(object.ID)
	}
	return object
}

// present returns the live grant of an object; the mutex is held.
func (b *toy) present(object applock.Object) (applock.Grant, bool) {
	grant, found := b.grants[b.key(object)]
	return grant, found && time.Now().Before(grant.ExpiresAt)
}

// Get is [lease.Backend.Get].
func (b *toy) Get(_ context.Context, object applock.Object, owner applock.Owner, ttl time.Duration) (applock.Grant, error) {
	grant, err := b.take(object, owner, ttl)
	if b.has(takeHangs) && errors.Is(err, applock.ErrHeld) {
		<-b.stuck
	}
	if b.has(refusalIsPlain) && err != nil {
		err = errors.New("somebody has it")
	}
	return grant, err
}

func (b *toy) take(object applock.Object, owner applock.Owner, ttl time.Duration) (applock.Grant, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	present, isHeld := b.present(object)
	if b.has(expiredIsNotTaken) {
		isHeld = present.Fence > 0
	}
	isOwn := isHeld && present.Owner.Operator == owner.Operator
	if isHeld && !isOwn && !b.has(takeGivesHeld) {
		return applock.Grant{}, &applock.HeldError{
			Object: object, Holder: applock.Holder{Owner: b.named(present.Owner, refusalHalvesOwner), ExpiresAt: present.ExpiresAt},
		}
	}
	if b.has(ttlIgnored) {
		ttl /= 10
	}
	grant := applock.Grant{
		Object: object, Owner: b.named(owner, takeHalvesOwner), Fence: b.nextFence(present, isOwn), ExpiresAt: time.Now().Add(ttl),
		Outcome: applock.OutcomeAcquired,
	}
	b.grants[b.key(object)] = grant
	return grant, nil
}

func (b *toy) nextFence(present applock.Grant, isOwn bool) applock.Fence {
	switch {
	case isOwn && b.has(takeKeepsFence):
		return present.Fence
	case b.has(fencesRestart):
		return present.Fence + 1
	}
	b.fence++
	return b.fence
}

// lost returns why a grant is not live, nil if it is; the mutex is held.
func (b *toy) lost(grant applock.Grant) error {
	present, isHeld := b.present(grant.Object)
	isOwn := present.Owner.Operator == grant.Owner.Operator || b.has(ownerIgnored)
	isSame := present.Fence == grant.Fence || b.has(fenceIgnored) || grant.Fence == 0 && !b.has(zeroFenceIsNoFence)
	switch {
	case !isHeld && (!b.has(expiredIsFound) || present.Fence == 0):
		return applock.ErrNotHeld
	case !isOwn || !isSame:
		return &applock.HeldError{Object: grant.Object, Holder: applock.Holder{Owner: present.Owner, ExpiresAt: present.ExpiresAt}}
	}
	return nil
}

// Release is [lease.Backend.Release].
func (b *toy) Release(_ context.Context, grant applock.Grant) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	err := b.lost(grant)
	if (err == nil || b.has(lostReleaseIsOthers)) && !b.has(releaseDoesNothing) {
		delete(b.grants, b.key(grant.Object))
	}
	if b.has(lostReleaseIsNil) {
		return nil
	}
	return err
}

// Renew is [lease.Backend.Renew].
func (b *toy) Renew(_ context.Context, renewals []lease.Renewal) (answers []lease.Renewed, err error) {
	if b.has(renewHangs) {
		<-b.stuck
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for _, renewal := range renewals {
		answer := b.renew(renewal)
		if answer.Lost == nil || !b.has(lostIsLeftOut) {
			answers = append(answers, answer)
		}
	}
	return answers, nil
}

func (b *toy) renew(renewal lease.Renewal) lease.Renewed {
	object := renewal.Grant.Object
	lost := b.lost(renewal.Grant)
	if b.has(liveIsLost) {
		lost = applock.ErrNotHeld
	}
	present, expires := b.grants[b.key(object)], time.Now().Add(renewal.TTL)
	if lost != nil {
		return lease.Renewed{Object: object, Lost: lost}
	}
	if expires.After(present.ExpiresAt) && !b.has(renewDoesNothing) || b.has(renewShortens) {
		present.ExpiresAt = expires
	}
	b.grants[b.key(object)] = present
	return lease.Renewed{Object: object, ExpiresAt: expires}
}

// program is a toy as one of its programs sees it.
type program struct{ *toy }

func newProgram(toy *toy) *program { return &program{toy} }

// Poll is [lease.Poller.Poll].
func (p *program) Poll(_ context.Context, waited iter.Seq[applock.Object]) (answer lease.PollAnswer, err error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for object := range waited {
		if _, isHeld := p.present(object); isHeld || p.has(pollFindsNothing) {
			continue
		}
		first := slices.IndexFunc(p.listed, func(listed waiting) bool { return listed.object == object && !listed.gone })
		if first < 0 || p.listed[first].program == p || p.has(allAreFirst) {
			answer.Free = append(answer.Free, object)
		} else {
			answer.Later = append(answer.Later, object)
		}
	}
	return answer, nil
}

// Others is [lease.Crowd.Others].
func (p *program) Others(_ context.Context, object applock.Object) (ahead, behind int, err error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var line []*program
	for _, listed := range p.listed {
		if listed.object == object && !listed.gone && !slices.Contains(line, listed.program) {
			line = append(line, listed.program)
		}
	}
	place := slices.Index(line, p)
	switch {
	case p.has(othersAreUnknown):
		return 0, 0, nil
	case p.has(ownWaitersAreOthers):
		return len(line), 0, nil
	case p.has(placeIsUnknown):
		return 0, len(line) - 1, nil
	case place < 0:
		return len(line), 0, nil
	}
	return place, len(line) - place - 1, nil
}

// Announce is [lease.Announcer.Announce].
func (p *program) Announce(_ context.Context, object applock.Object, owner applock.Owner, _ time.Duration) error {
	p.list(waiting{program: p, object: object, operator: owner.Operator})
	return nil
}

// Retract is [lease.Announcer.Retract].
func (p *program) Retract(_ context.Context, object applock.Object, operator string) error {
	p.list(waiting{program: p, object: object, operator: operator, gone: true})
	return nil
}

// list changes the list. A waiter that leaves it is not forgotten.
func (b *toy) list(change waiting) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	for i, listed := range b.listed {
		wasGone := listed.gone
		listed.gone = change.gone
		if listed == change && (!wasGone || b.has(placeIsKept)) {
			b.listed[i] = change
			return
		}
	}
	if !change.gone {
		b.listed = append(b.listed, change)
	}
}

// Transfer is [lease.Transferrer.Transfer].
func (b *toy) Transfer(_ context.Context, grant applock.Grant, to applock.Owner, ttl time.Duration) (applock.Grant, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if err := b.lost(grant); err != nil {
		return applock.Grant{}, err
	}
	next := b.grants[b.key(grant.Object)]
	b.fence++
	next.Owner, next.Fence, next.ExpiresAt = b.named(to, transferHalvesOwner), b.fence, time.Now().Add(ttl)
	if !b.has(transferKeepsTheFormer) {
		b.grants[b.key(grant.Object)] = next
	}
	return next, nil
}

// Pass is [lease.Passer.Pass].
func (b *toy) Pass(_ context.Context, grant applock.Grant, to applock.Owner, ttl time.Duration) (applock.Grant, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if err := b.lost(grant); err != nil && !b.has(passFindsExpired) {
		return applock.Grant{}, err
	}
	next := applock.Grant{Object: grant.Object, Owner: b.named(to, passHalvesOwner), ExpiresAt: time.Now().Add(ttl)}
	b.fence++
	next.Fence = b.fence
	if b.has(passKeepsTheEnd) {
		next.ExpiresAt = b.grants[b.key(grant.Object)].ExpiresAt
	}
	if b.has(passFrees) {
		delete(b.grants, b.key(grant.Object))
		b.mutex.Unlock()
		time.Sleep(10 * lookAgain)
		b.mutex.Lock()
	}
	if !b.has(passKeepsTheFormer) {
		b.grants[b.key(grant.Object)] = next
	}
	return next, nil
}

// drop loses the grant of an object.
func (b *toy) drop(object applock.Object) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	delete(b.grants, b.key(object))
}
