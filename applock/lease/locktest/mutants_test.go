package locktest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// mutant is a toy with a bug, and which rules it breaks at least.
type mutant struct {
	bug    bug
	breaks []string
}

func mutants() []mutant {
	return []mutant{
		{renewDoesNothing, []string{"RenewExtends"}},
		{fenceIgnored, []string{"ReleaseByFence", "RenewByFence", "TakeAgain"}},
		{lostReleaseIsNil, []string{"ReleaseOfALostGrant", "ReleaseByFence", "ExpiredIsNotReleased"}},
		{expiredIsFound, []string{"ExpiredIsNotReleased", "ExpiredIsNotRenewed"}},
		{takeKeepsFence, []string{"TakeAgain"}},
		{renewShortens, []string{"RenewNeverShortens"}},
		{takeGivesHeld, []string{"TakeExcludes", "ExclusionOfClients"}},
		{fencesRestart, []string{"FencesGrow"}},
		{refusalIsPlain, []string{"TakeExcludes", "RefusalNamesTheHolder"}},
		{releaseDoesNothing, []string{"ReleaseFrees", "WaitersAreServed"}},
		{pollFindsNothing, []string{"PollFindsTheFree", "Expiry"}},
		{takeHangs, []string{"TakeExcludes", "RefusalNamesTheHolder"}},
		{renewHangs, []string{"RenewOfALostGrant", "Renewal"}},
		{expiredIsNotTaken, []string{"ExpiredIsTaken"}},
		{ttlIgnored, []string{"ExpiredIsTaken"}},
		{ownerIgnored, []string{"OwnGrantsOnly"}},
		{lostIsLeftOut, []string{"RenewOfALostGrant"}},
		{liveIsLost, []string{"RenewOfALostGrant", "Renewal", "Loss/Supervisor"}},
		{zeroFenceIsNoFence, []string{"ReleaseByFence"}},
		{casesAreOne, []string{"Keys"}},
		{lostReleaseIsOthers, []string{"ReleaseOfALostGrant", "ReleaseByFence"}},
		{transferKeepsTheFormer, []string{"TransferEndsTheGrant"}},
		{passKeepsTheFormer, []string{"PassEndsTheGrant"}},
		{passFrees, []string{"PassedIsNeverFree"}},
		{passKeepsTheEnd, []string{"PassLastsItsTTL"}},
		{passFindsExpired, []string{"ExpiredIsNotPassed"}},
		{ownWaitersAreOthers, []string{"Others"}},
		{othersAreUnknown, []string{"Others"}},
		{placeIsUnknown, []string{"Others"}},
		{allAreFirst, []string{"FirstListedIsFirst"}},
		{placeIsKept, []string{"FirstListedIsFirst"}},
		{takeHalvesOwner, []string{"TakeExcludes"}},
		{refusalHalvesOwner, []string{"TakeExcludes"}},
		{transferHalvesOwner, []string{"TransferEndsTheGrant"}},
		{passHalvesOwner, []string{"PassEndsTheGrant"}},
	}
}

// toys are places with a toy each.
type toys struct {
	bug   bug
	mutex sync.Mutex
	all   []*toy
}

func (s *toys) open(testing.TB) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.all = append(s.all, newToy(s.bug))
	return fmt.Sprint(len(s.all) - 1)
}

func (s *toys) at(place string) *toy {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	number := 0
	_, _ = fmt.Sscan(place, &number) // open has printed it
	return s.all[number]
}

// free ends what hangs.
func (s *toys) free() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, toy := range s.all {
		close(toy.stuck)
	}
}

func (s *toys) kind() Backend {
	return Backend{
		Place: s.open,
		Open: func(_ context.Context, place string) (lease.Locker, func() error, error) {
			leases := lease.New(newProgram(s.at(place)), lease.Config{})
			return leases, leases.Close, nil
		},
		Direct: func(_ context.Context, place string) (lease.Backend, func() error, error) {
			return newProgram(s.at(place)), func() error { return nil }, nil
		},
		OneProcess: true,
		Fences:     true,
		Owners:     true,
		Losses: map[string]func(t testing.TB, place string, object applock.Object){
			"Supervisor": func(_ testing.TB, place string, object applock.Object) { s.at(place).drop(object) },
		},
	}
}

// recorder is a testing.TB that keeps the failures of a check to itself.
type recorder struct {
	testing.TB

	mutex    sync.Mutex
	failures []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Log(...any) {}

// verdict judges a toy with a bug by one rule, in virtual time.
func verdict(t *testing.T, rule rule, bug bug) (failures []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		toys := &toys{bug: bug}
		recorder := &recorder{TB: t}
		began := time.Now()
		rule.judge(recorder, toys.kind(), patience)
		if took := time.Since(began); took > patience+farewell {
			t.Errorf("%s took %s", rule.name, took)
		}
		toys.free()
		failures = recorder.failures
	})
	return failures
}

// verdicts are the failures by rule.
func verdicts(t *testing.T, bug bug) map[string][]string {
	t.Helper()
	failed := map[string][]string{}
	for _, rule := range rulesOf((&toys{}).kind()) {
		if failures := verdict(t, rule, bug); len(failures) > 0 {
			failed[rule.name] = failures
		}
	}
	return failed
}

// Goal: a backend without a bug obeys all rules. Method: the toy without one.
func TestTheToyIsCorrect(t *testing.T) {
	t.Parallel()
	for rule, failures := range verdicts(t, "") {
		t.Errorf("%s: %q", rule, failures)
	}
}

// Goal: each mistake in a backend is noticed, and the failure says which rule is broken, also where a call never returns. Method:
// toys with one bug each; no direct rule is without a bug that breaks it.
func TestMutantsAreCaught(t *testing.T) {
	t.Parallel()
	unbroken := map[string]bool{}
	for _, rule := range directRules((&toys{}).kind()) {
		unbroken[rule.name] = true
	}
	for _, mutant := range mutants() {
		for _, name := range mutant.breaks {
			delete(unbroken, name)
		}
		t.Run(string(mutant.bug), func(t *testing.T) {
			t.Parallel()
			failed := verdicts(t, mutant.bug)
			for _, name := range mutant.breaks {
				failures := failed[name]
				if len(failures) == 0 || !strings.HasPrefix(failures[0], "rule "+name+" (") {
					t.Errorf("%q breaks %s, which says %q", mutant.bug, name, failures)
				}
			}
		})
	}
	for name := range unbroken {
		t.Errorf("no mutant breaks %s", name)
	}
}

// bugVariable is the bug of the toy of TestExercised.
const bugVariable = "APPLOCK_LOCKTEST_BUG"

// Goal: the toy passes in real time, too. Method: Exercise, as the tests of backends call it; TestExerciseNamesTheRule gives it a bug.
func TestExercised(t *testing.T) {
	t.Parallel()
	toys := &toys{bug: bug(os.Getenv(bugVariable))}
	t.Cleanup(toys.free)
	Exercise(t, toys.kind())
}

// Goal: Exercise itself fails on a mutant, in the sub-test of the rule, with the rule in words and the line of the check; and a call
// that never returns does so before the time-out of the test binary. Method: what another process prints.
func TestExerciseNamesTheRule(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		bug  bug
		rule string
		want string
	}{
		"Wrong": {renewShortens, "RenewNeverShortens", `direct\.go:\d+: rule RenewNeverShortens \(a renewed .*\): Get of \S+ by BOB returned`},
		"Hangs": {renewHangs, "RenewByFence", `rule RenewByFence \(Renew finds .*\): not fulfilled within \S+; the last call is Renew`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			command := exec.CommandContext(t.Context(), program, "-test.run=^TestExercised$/^"+test.rule+"$", "-test.timeout=16s")
			command.Env = append(os.Environ(), bugVariable+"="+string(test.bug))
			output, err := command.CombinedOutput()
			failed := regexp.MustCompile(`--- FAIL: TestExercised/` + test.rule)
			if err == nil || !failed.Match(output) || !regexp.MustCompile(test.want).Match(output) {
				t.Errorf("it ended with %v, and said\n%s\nwant %q", err, output, test.want)
			}
		})
	}
}
