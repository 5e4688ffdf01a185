package locktest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// rule is one rule of the contract.
type rule struct {
	// name is the name of its sub-test.
	name string
	// says is the rule in words, for messages.
	says  string
	check func(t *trial, backend Backend)
}

const (
	// patience is how long a check may take. It is longer than any stall of a machine.
	patience = 3 * time.Minute
	// partOfRest is which part of the test binary's remaining time one check may take, so that each check that hangs is reported before the
	// time-out.
	partOfRest = 4
	// farewell is how long a check may take to end after its deadline.
	farewell = 5 * time.Second
)

// limitOf returns the time limit of a check that begins now.
func limitOf(t *testing.T) time.Duration {
	t.Helper()
	deadline, ok := t.Deadline()
	if !ok {
		return patience
	}
	return min(patience, time.Until(deadline)/partOfRest)
}

// judge checks the rule. A check that does not end within limit fails, and is abandoned if it then goes on.
func (r rule) judge(t testing.TB, backend Backend, limit time.Duration) {
	t.Helper()
	trial := &trial{TB: t, rule: r}
	trial.context, trial.cancel = context.WithCancelCause(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer trial.cleanUp()
		defer trial.cancel(errEnded)
		r.check(trial, backend)
	}()
	select {
	case <-ended:
	case <-time.After(limit):
		trial.Errorf("not fulfilled within %s%s", limit, trial.whereabouts())
		trial.cancel(errLate)
		select {
		case <-ended:
		case <-time.After(min(farewell, limit)):
			trial.Errorf("goes on after its context has ended%s", trial.whereabouts())
		}
	}
	if trial.abandon() {
		t.SkipNow()
	}
}

var (
	errEnded = errors.New("the check has ended")
	errLate  = errors.New("the deadline of the rule has passed")
)

// trial is the testing.TB of one check, which runs in its own goroutine and may be abandoned. Each failure names the rule.
// Its exported methods are those of testing.T.
type trial struct {
	testing.TB

	rule    rule
	context context.Context //nolint:containedctx // it is what Context returns
	cancel  context.CancelCauseFunc

	mutex    sync.Mutex
	cleanups []func()
	step     string
	failed   bool
	skipped  bool
	// over is true when reports have ended.
	over bool
}

// Context ends at the deadline of the rule, and before the functions of Cleanup.
func (t *trial) Context() context.Context { return t.context }

// Cleanup registers a function for the end of the check.
func (t *trial) Cleanup(cleanup func()) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.cleanups = append(t.cleanups, cleanup)
}

// cleanUp calls the last function first, and goes on when one ends the goroutine.
func (t *trial) cleanUp() {
	t.mutex.Lock()
	count := len(t.cleanups)
	if count == 0 {
		t.mutex.Unlock()
		return
	}
	last := t.cleanups[count-1]
	t.cleanups = t.cleanups[:count-1]
	t.mutex.Unlock()
	defer t.cleanUp()
	last()
}

// begin records what the check does now, for the report of a hang.
func (t *trial) begin(format string, args ...any) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.step = fmt.Sprintf(format, args...)
}

func (t *trial) whereabouts() string {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.step == "" {
		return ""
	}
	return "; the last call is " + t.step
}

// abandon ends the reports, and returns whether to skip the test.
func (t *trial) abandon() (skipped bool) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.over = true
	return t.skipped && !t.failed
}

func (t *trial) report(text string) {
	t.Helper()
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.failed = true
	if !t.over {
		t.TB.Errorf("rule %s (%s): %s", t.rule.name, t.rule.says, text)
	}
}

func line(args []any) string { return strings.TrimSuffix(fmt.Sprintln(args...), "\n") }

func (t *trial) Log(args ...any) {
	t.Helper()
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if !t.over {
		t.TB.Log(args...)
	}
}

func (t *trial) Logf(format string, args ...any) {
	t.Helper()
	t.Log(fmt.Sprintf(format, args...))
}

func (t *trial) Fail() {
	t.Helper()
	t.report("failed")
}

func (t *trial) Failed() bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.failed
}

func (t *trial) Error(args ...any) {
	t.Helper()
	t.report(line(args))
}

func (t *trial) Errorf(format string, args ...any) {
	t.Helper()
	t.report(fmt.Sprintf(format, args...))
}

func (t *trial) FailNow() {
	t.Helper()
	t.report("failed")
	runtime.Goexit()
}

func (t *trial) Fatal(args ...any) {
	t.Helper()
	t.report(line(args))
	runtime.Goexit()
}

func (t *trial) Fatalf(format string, args ...any) {
	t.Helper()
	t.report(fmt.Sprintf(format, args...))
	runtime.Goexit()
}

func (t *trial) Skip(args ...any) {
	t.Helper()
	t.Log(args...)
	t.SkipNow()
}

func (t *trial) Skipf(format string, args ...any) {
	t.Helper()
	t.Logf(format, args...)
	t.SkipNow()
}

func (t *trial) SkipNow() {
	t.mutex.Lock()
	t.skipped = true
	t.mutex.Unlock()
	runtime.Goexit()
}

func (t *trial) Skipped() bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.skipped
}
