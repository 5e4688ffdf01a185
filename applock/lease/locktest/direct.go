package locktest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// directRules are the rules whose checks call the backend itself.
func directRules(kind Backend) []rule {
	rules := []rule{
		direct("TakeExcludes", "of many who take a free object at once one gets it, and each other a *HeldError", takeExcludes),
		direct("ReleaseFrees", "a released object is free at once", releaseFrees),
		direct("ReleaseOfALostGrant", "Release of a lost grant returns ErrNotHeld or a *HeldError, and changes nothing", releaseOfALostGrant),
		direct("RenewOfALostGrant", "Renew answers about each grant, and a lost one stays lost", renewOfALostGrant),
		direct("OwnGrantsOnly", "Release and Renew do not find the grant of another operator", ownGrantsOnly),
		direct("PollFindsTheFree", "Poll tells of each object that is waited for and has become free", pollFindsTheFree),
		direct("TransferEndsTheGrant", "Transfer ends the grant and begins one of the new owner", transferEndsTheGrant),
		passing("PassEndsTheGrant", "Pass ends the grant and begins one of the next owner", passEndsTheGrant),
		crowded("Others", "Others counts the other programs with listed waiters, and which of them were listed before", others),
		crowded("FirstListedIsFirst", "Poll tells the program that has been listed longest of a free object, and the others to ask later", firstListedIsFirst),
		passing("PassedIsNeverFree", "an object that is passed on is never free in between", passedIsNeverFree),
	}
	if kind.Fences || kind.Owners {
		rules = append(rules,
			direct("TakeAgain", "an operator that has the object gets a new grant, and the former one is over", takeAgain))
	}
	if kind.Fences {
		rules = append(rules,
			direct("FencesGrow", "a later grant of an object has a greater fence", fencesGrow),
			direct("ReleaseByFence", "Release ends the grant with this fence only, and without a fence whichever the owner has", releaseByFence),
			direct("RenewByFence", "Renew finds the grant with this fence only", renewByFence))
	}
	if !kind.Endless {
		rules = append(rules,
			direct("ExpiredIsTaken", "Get takes over a grant that has expired, and none before", expiredIsTaken),
			direct("ExpiredIsNotReleased", "Release does not find a grant that has expired", expiredIsNotReleased),
			direct("ExpiredIsNotRenewed", "Renew does not find a grant that has expired", expiredIsNotRenewed),
			direct("RenewExtends", "a renewed grant lasts until its TTL from the renewal", renewExtends),
			direct("RenewNeverShortens", "a renewed grant lasts at least as long as it did", renewNeverShortens),
			passing("PassLastsItsTTL", "a grant that begins by a pass lasts until its TTL from then", passLastsItsTTL),
			passing("ExpiredIsNotPassed", "Pass does not find a grant that has expired", expiredIsNotPassed))
	}
	return rules
}

// direct is a rule whose check calls the backend itself.
func direct(name, says string, check func(s subject)) rule {
	return rule{name, says, func(t *trial, kind Backend) { check(newSubject(t, kind)) }}
}

// passing is a direct rule for a backend that can pass grants on, and whose server can.
func passing(name, says string, check func(s subject)) rule {
	return direct(name, says, func(s subject) {
		if _, ok := s.first.(lease.Passer); !ok {
			return
		}
		_, err := s.tryPass(s.take(s.first, s.object("probe"), ann, longHold), bob, longHold)
		if !errors.Is(err, errors.ErrUnsupported) {
			check(s)
		}
	})
}

// Method: operators of two programs take one object at the same time, several times.
func takeExcludes(s subject) {
	const rounds, operators = 5, 8
	for round := range rounds {
		grants, errs := make([]applock.Grant, operators), make([]error, operators)
		var group sync.WaitGroup
		for i := range operators {
			group.Go(func() {
				grants[i], errs[i] = s.tryGet(s.program(i), s.object(round), fmt.Sprint("OPERATOR", i), longHold)
			})
		}
		group.Wait()
		winner := slices.Index(errs, nil)
		if winner < 0 {
			s.t.Fatalf("nobody got a free object: %v", errors.Join(errs...))
		}
		for i, err := range errs {
			if i == winner {
				continue
			}
			if err == nil {
				s.t.Fatalf("%s and %s both got the object", grants[winner].Owner, grants[i].Owner)
			}
			s.requireRefusal(err, s.object(round), fmt.Sprint("OPERATOR", winner))
		}
		s.requireGrant(grants[winner], s.object(round), fmt.Sprint("OPERATOR", winner))
		s.release(s.program(winner), grants[winner])
	}
}

// program returns one of the programs.
func (s subject) program(number int) lease.Backend {
	if number%2 == 0 {
		return s.first
	}
	return s.second
}

// Method: another operator is refused before the release, and gets the object after it.
func releaseFrees(s subject) {
	for range 3 {
		grant := s.take(s.first, s.object(1), ann, longHold)
		s.refuse(s.second, s.object(1), bob, ann)
		s.release(s.first, grant)
		s.release(s.second, s.take(s.second, s.object(1), bob, longHold))
	}
}

// Method: release a released grant, while the object is free and while another operator has it.
func releaseOfALostGrant(s subject) {
	former := s.take(s.first, s.object(1), ann, longHold)
	s.release(s.first, former)
	s.releaseLost(s.first, former, "a grant that has been released")
	next := s.take(s.second, s.object(1), bob, longHold)
	s.releaseLost(s.first, former, "a grant whose object another operator has taken since")
	s.refuse(s.first, s.object(1), eve, bob)
	s.release(s.second, next)
}

// Method: one call with live grants, a released one, and one whose object another operator has. Each gets an answer, and nothing changes
// for the lost ones.
func renewOfALostGrant(s subject) {
	live, released, others, last := s.object("live"), s.object("released"), s.object("others"), s.object("last")
	var renewals []lease.Renewal
	grants := map[applock.Object]applock.Grant{}
	for _, object := range []applock.Object{live, released, others, last} {
		grants[object] = s.take(s.first, object, ann, longHold)
		renewals = append(renewals, lease.Renewal{Grant: grants[object], TTL: longHold})
	}
	s.release(s.first, grants[released])
	s.release(s.first, grants[others])
	next := s.take(s.second, others, bob, longHold)
	answers := s.renewAll(s.first, renewals)
	for object, isLive := range map[applock.Object]bool{live: true, released: false, others: false, last: true} {
		answer, answered := answers[object]
		if !answered || (answer.Lost == nil) != isLive {
			s.t.Fatalf("Renew of %s: %+v, want that it is lost: %t", object, answer, !isLive)
		}
	}
	s.take(s.second, released, bob, longHold)
	s.refuse(s.first, others, eve, bob)
	s.release(s.second, next)
	s.release(s.first, grants[live])
	s.release(s.first, grants[last])
}

// Method: release the live grant under another operator's name, from both programs; then it is still there.
func ownGrantsOnly(s subject) {
	grant := s.take(s.first, s.object(1), ann, longHold)
	forged := grant
	forged.Owner = ownerOf(bob)
	for _, program := range []lease.Backend{s.second, s.first} {
		s.renewLost(program, forged, "the grant of another operator")
		s.releaseLost(program, forged, "the grant of another operator")
	}
	s.refuse(s.second, s.object(1), bob, ann)
	s.release(s.first, grant)
}

// Method: the operator takes the object from another program, as after a crash, and with fences also from the same one.
func takeAgain(s subject) {
	successors := []lease.Backend{s.second}
	if s.kind.Fences {
		successors = append(successors, s.first)
	} else if s.kind.OneClient {
		return // nothing distinguishes the grants
	}
	for i, successor := range successors {
		former := s.take(s.first, s.object(i), ann, longHold)
		grant := s.take(successor, s.object(i), ann, longHold)
		s.requireLater(former, grant)
		s.renewLost(s.first, former, "the former grant of the operator")
		s.releaseLost(s.first, former, "the former grant of the operator")
		s.refuse(s.first, s.object(i), bob, ann)
		s.renew(successor, grant, longHold)
		s.release(successor, grant)
	}
}

// Method: grants of two operators and two programs, one after the other.
func fencesGrow(s subject) {
	last := applock.Grant{}
	for i, operator := range []string{ann, bob, bob, ann} {
		grant := s.take(s.program(i), s.object(1), operator, longHold)
		s.requireLater(last, grant)
		last = grant
		s.release(s.program(i), grant)
	}
}

// Method: the fence of an earlier grant of the same operator; then the release without a fence.
func releaseByFence(s subject) {
	former := s.take(s.first, s.object(1), ann, longHold)
	s.release(s.first, former)
	grant := s.take(s.first, s.object(1), ann, longHold)
	s.releaseLost(s.first, former, "an earlier grant of the operator")
	s.releaseLost(s.second, former, "an earlier grant of the operator")
	s.refuse(s.second, s.object(1), bob, ann)
	grant.Fence = 0
	s.release(s.first, grant)
	s.take(s.second, s.object(1), bob, longHold)
}

// Method: the fence of an earlier grant of the same operator.
func renewByFence(s subject) {
	former := s.take(s.first, s.object(1), ann, longHold)
	s.release(s.first, former)
	grant := s.take(s.first, s.object(1), ann, longHold)
	s.renewLost(s.first, former, "an earlier grant of the operator")
	s.renewLost(s.second, former, "an earlier grant of the operator")
	s.renew(s.first, grant, longHold)
	s.release(s.first, grant)
}

// Method: another operator tries until it gets the object; then the former grant is over.
func expiredIsTaken(s subject) {
	began := time.Now()
	former := s.take(s.first, s.object(1), ann, shortTTL)
	grant := s.await(s.object(1), bob, longHold)
	if lasted := time.Since(began); lasted < shortTTL-clockDrift {
		s.t.Errorf("taken over %s after a Get for %s", lasted, shortTTL)
	}
	s.requireLater(former, grant)
	s.renewLost(s.first, former, "a grant that has expired and was taken over")
	s.releaseLost(s.first, former, "a grant that has expired and was taken over")
	s.refuse(s.first, s.object(1), ann, bob)
	s.release(s.second, grant)
}

// Method: a grant that has expired and was not taken over.
func expiredIsNotReleased(s subject) {
	former := s.take(s.first, s.object(1), ann, shortTTL)
	s.outlast(shortTTL)
	s.releaseLost(s.first, former, "a grant that has expired")
}

// Method: as for the release; afterwards the object is free.
func expiredIsNotRenewed(s subject) {
	former := s.take(s.first, s.object(1), ann, shortTTL)
	s.outlast(shortTTL)
	s.renewLost(s.first, former, "a grant that has expired")
	s.take(s.second, s.object(1), bob, longHold)
}

// Method: renew a short grant for a long time, and let its first TTL pass. After a stall of the machine, once more with a longer one.
func renewExtends(s subject) {
	for ttl := shortTTL; ; ttl *= 2 {
		object, began := s.object(ttl), time.Now()
		grant := s.take(s.first, object, ann, ttl)
		lost := s.tryRenew(s.first, grant, longHold)
		switch {
		case lost != nil && time.Since(began) >= ttl-clockDrift:
			continue
		case lost != nil:
			s.t.Fatalf("Renew of a live grant says that it is lost: %v", lost)
		}
		s.outlast(ttl)
		s.refuse(s.second, object, bob, ann)
		s.renew(s.first, grant, longHold)
		s.release(s.first, grant)
		return
	}
}

// Method: renew a long grant for a short time, and let that pass.
func renewNeverShortens(s subject) {
	grant := s.take(s.first, s.object(1), ann, longHold)
	s.renew(s.first, grant, shortTTL)
	s.outlast(shortTTL)
	s.refuse(s.second, s.object(1), bob, ann)
	s.release(s.first, grant)
}

// Method: an object becomes free by a release and, where grants expire, by expiry. An Announcer has listed the waiter before.
func pollFindsTheFree(s subject) {
	if _, ok := s.second.(lease.Poller); !ok {
		return
	}
	released := s.take(s.first, s.object("released"), ann, longHold)
	s.announce(released.Object)
	s.release(s.first, released)
	s.awaitPoll(released.Object)
	if s.kind.Endless {
		return
	}
	expiring := s.take(s.first, s.object("expiring"), ann, shortTTL)
	s.announce(expiring.Object)
	s.awaitPoll(expiring.Object)
}

// announce lists the second program as a waiter until the end of the check.
func (s subject) announce(object applock.Object) {
	s.t.Helper()
	if _, ok := s.second.(lease.Announcer); ok {
		s.list(s.second, object, bob)
	}
}

// list lists a waiter, and polls: that may be what lists it.
func (s subject) list(program lease.Backend, object applock.Object, operator string) {
	s.t.Helper()
	s.t.begin("Announce")
	if err := program.(lease.Announcer).Announce(s.t.Context(), object, ownerOf(operator), 0); err != nil {
		s.t.Fatalf("Announce: %v", err)
	}
	s.poll(program, object)
	time.Sleep(listedApart)
}

func (s subject) retract(program lease.Backend, object applock.Object, operator string) {
	s.t.Helper()
	s.t.begin("Retract")
	if err := program.(lease.Announcer).Retract(s.t.Context(), object, operator); err != nil {
		s.t.Fatalf("Retract: %v", err)
	}
}

func (s subject) poll(program lease.Backend, object applock.Object) lease.PollAnswer {
	s.t.Helper()
	s.t.begin("Poll for %s", object)
	for {
		answer, err := program.(lease.Poller).Poll(s.t.Context(), slices.Values([]applock.Object{object}))
		if err == nil {
			return answer
		}
		if !errors.Is(err, applock.ErrBusy) || !s.pause() {
			s.t.Fatalf("Poll: %v", err)
		}
	}
}

// awaitPoll polls until the object is reported free, and takes it.
func (s subject) awaitPoll(object applock.Object) {
	s.t.Helper()
	for !slices.Contains(s.poll(s.second, object).Free, object) {
		if !s.pause() {
			s.t.Fatalf("Poll never tells that %s is free", object)
		}
	}
	s.await(object, bob, longHold)
	if _, ok := s.second.(lease.Announcer); ok {
		s.retract(s.second, object, bob)
	}
}

// Method: the former owner cannot release, renew or transfer any more, and the new one can release.
func transferEndsTheGrant(s subject) {
	transferrer, ok := s.first.(lease.Transferrer)
	if !ok {
		return
	}
	former := s.take(s.first, s.object(1), ann, longHold)
	s.t.begin("Transfer")
	grant, err := transferrer.Transfer(s.t.Context(), former, ownerOf(bob), longHold)
	if err != nil {
		s.t.Fatalf("Transfer of a live grant: %v", err)
	}
	s.requireGrant(grant, s.object(1), bob)
	s.requireLater(former, grant)
	s.renewLost(s.first, former, "a grant that was transferred")
	s.releaseLost(s.first, former, "a grant that was transferred")
	s.t.begin("Transfer")
	_, err = transferrer.Transfer(s.t.Context(), former, ownerOf(bob), longHold)
	s.requireNotFound(err, "Transfer", "a lost grant")
	s.refuse(s.first, s.object(1), eve, bob)
	s.release(s.second, grant)
}

// pass passes a live grant on to another operator of the first program.
func (s subject) pass(grant applock.Grant, operator string, ttl time.Duration) applock.Grant {
	s.t.Helper()
	next, err := s.tryPass(grant, operator, ttl)
	if err != nil {
		s.t.Fatalf("Pass of a live grant: %v", err)
	}
	s.requireGrant(next, grant.Object, operator)
	s.requireLater(grant, next)
	return next
}

func (s subject) tryPass(grant applock.Grant, operator string, ttl time.Duration) (applock.Grant, error) {
	s.t.begin("Pass of %s to %s", grant.Object, operator)
	for {
		next, err := s.first.(lease.Passer).Pass(s.t.Context(), grant, ownerOf(operator), ttl) // these rules are for Passers only
		if !errors.Is(err, applock.ErrBusy) || !s.pause() {
			return next, err
		}
	}
}

// passLost requires that Pass finds no such grant. What describes the lost grant.
func (s subject) passLost(grant applock.Grant, what string) {
	s.t.Helper()
	_, err := s.tryPass(grant, bob, longHold)
	s.requireNotFound(err, "Pass", what)
}

// Method: the former owner cannot release, renew or pass any more, even if it is the next owner itself, and the next one can.
func passEndsTheGrant(s subject) {
	former := s.take(s.first, s.object(1), ann, longHold)
	grant := s.pass(former, bob, longHold)
	s.renewLost(s.first, former, "a grant that was passed on")
	s.releaseLost(s.first, former, "a grant that was passed on")
	s.passLost(former, "a grant that was passed on")
	s.refuse(s.second, s.object(1), eve, bob)
	s.renew(s.first, grant, longHold)
	if s.kind.Fences {
		again := s.pass(grant, bob, longHold)
		s.releaseLost(s.first, grant, "a grant that was passed on to its own operator")
		grant = again
	}
	s.release(s.first, grant)
	s.passLost(grant, "a grant that was released")
	s.take(s.second, s.object(1), eve, longHold)
}

// Method: another program tries and polls all the time while an object is passed on again and again.
func passedIsNeverFree(s subject) {
	const least = 20
	grant := s.take(s.first, s.object(1), ann, longHold)
	s.announce(grant.Object)
	var asked atomic.Int32
	done, answers := make(chan struct{}), make(chan error, 1)
	object := grant.Object
	go func() { answers <- s.findsFree(object, &asked, done) }()
	for passes := 0; (passes < least || asked.Load() < least) && len(answers) == 0; passes++ {
		grant = s.pass(grant, []string{ann, bob}[passes%2], longHold)
		if !s.pause() {
			s.t.Fatalf("asked %d times, want %d", asked.Load(), least)
		}
	}
	close(done)
	if err := <-answers; err != nil {
		s.t.Fatalf("%s, which is passed on: %v", object, err)
	}
	s.release(s.first, grant)
	s.await(grant.Object, eve, longHold)
}

// findsFree returns an error if the second program finds the object free or gets anything but a refusal; nil if it does not until done.
func (s subject) findsFree(object applock.Object, asked *atomic.Int32, done <-chan struct{}) error {
	poller, isPoller := s.second.(lease.Poller)
	for {
		_, err := s.second.Get(s.t.Context(), object, ownerOf(eve), longHold)
		if !errors.Is(err, applock.ErrHeld) && !errors.Is(err, applock.ErrBusy) {
			return fmt.Errorf("get by another program: %w, want ErrHeld", cmp.Or(err, errors.New("granted")))
		}
		if isPoller {
			answer, err := poller.Poll(s.t.Context(), slices.Values([]applock.Object{object}))
			if err == nil && slices.Contains(answer.Free, object) {
				return errors.New("a poll says that it is free")
			}
		}
		asked.Add(1)
		select {
		case <-done:
			return nil
		default:
		}
		if !s.pause() {
			return s.t.Context().Err()
		}
	}
}

// Method: pass on a short grant for a long time, and let its own TTL pass.
func passLastsItsTTL(s subject) {
	for ttl := shortTTL; ; ttl *= 2 {
		object, began := s.object(ttl), time.Now()
		former := s.take(s.first, object, ann, ttl)
		grant, err := s.tryPass(former, bob, longHold)
		switch {
		case err != nil && time.Since(began) >= ttl-clockDrift:
			continue // the machine has stalled
		case err != nil:
			s.t.Fatalf("Pass of a live grant: %v", err)
		}
		s.outlast(ttl)
		s.refuse(s.second, object, eve, bob)
		s.release(s.first, grant)
		return
	}
}

// Method: a grant that has expired and was not taken over.
func expiredIsNotPassed(s subject) {
	former := s.take(s.first, s.object(1), ann, shortTTL)
	s.outlast(shortTTL)
	s.passLost(former, "a grant that has expired")
	s.take(s.second, s.object(1), eve, longHold)
}

// crowded is a direct rule for a backend that knows the waiters of other programs.
func crowded(name, says string, check func(s subject)) rule {
	return direct(name, says, func(s subject) {
		if _, ok := s.first.(lease.Crowd); ok && !s.kind.OneClient {
			check(s)
		}
	})
}

// Method: ask while nobody waits, only the program itself, the other one, both, and neither again.
func others(s subject) {
	s.requireOthers([2]int{}, [2]int{})
	s.list(s.first, s.object(1), ann)
	s.requireOthers([2]int{}, [2]int{1, 0})
	s.list(s.second, s.object(1), bob)
	s.requireOthers([2]int{0, 1}, [2]int{1, 0})
	s.retract(s.first, s.object(1), ann)
	s.requireOthers([2]int{1, 0}, [2]int{})
	s.retract(s.second, s.object(1), bob)
	s.requireOthers([2]int{}, [2]int{})
}

// requireOthers requires how many other programs are ahead of each, and behind.
func (s subject) requireOthers(wants ...[2]int) {
	s.t.Helper()
	for i, want := range wants {
		s.t.begin("Others")
		ahead, behind, err := s.program(i).(lease.Crowd).Others(s.t.Context(), s.object(1))
		if err != nil || [2]int{ahead, behind} != want {
			s.t.Fatalf("Others for program %d: %d ahead, %d behind, %v, want %v", i, ahead, behind, err, want)
		}
	}
}

// Method: two programs are listed; the first one leaves the list and is listed again; then the second one leaves it.
func firstListedIsFirst(s subject) {
	s.list(s.first, s.object(1), ann)
	s.list(s.second, s.object(1), bob)
	s.requireFirst(s.first, s.second)
	s.list(s.first, s.object(1), eve)
	s.requireFirst(s.first, s.second)
	s.retract(s.first, s.object(1), eve)
	s.retract(s.first, s.object(1), ann)
	s.list(s.first, s.object(1), ann)
	s.requireFirst(s.second, s.first)
	s.retract(s.second, s.object(1), bob)
	s.requireFirst(s.first)
}

// requireFirst requires that the first of these programs may ask for the free object, and the others later.
func (s subject) requireFirst(programs ...lease.Backend) {
	s.t.Helper()
	for i, program := range programs {
		answer := s.poll(program, s.object(1))
		isFree, isLater := slices.Contains(answer.Free, s.object(1)), slices.Contains(answer.Later, s.object(1))
		if isFree != (i == 0) || isLater != (i > 0) {
			s.t.Fatalf("Poll tells %+v, want the object to be free, and only later for others: %t", answer, i > 0)
		}
		if peeker, ok := program.(lease.Peeker); ok {
			isFree, isFirst, err := peeker.Peek(s.t.Context(), s.object(1))
			if !isFree || isFirst != (i == 0) || err != nil {
				s.t.Fatalf("Peek tells free: %t, first: %t, %v, want free, and first: %t", isFree, isFirst, err, i == 0)
			}
		}
	}
}
