package main

import (
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/applock/applock/applock"
)

// held returns the objects that an operator holds, in their order.
func (p place) held(t *testing.T, operator string) (objects []string) {
	t.Helper()
	for lock, err := range p.client.List(t.Context(), applock.ListRequest{Operator: operator}) {
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, lock.Object.String())
	}
	return objects
}

// Goal: an agent gets, renews and releases 20 files in one call each. Method: all of them, again, and back; the database is asked after each.
func TestGetAllAndReleaseAll(t *testing.T) {
	t.Parallel()
	p := onSQLite(t)
	a := newAgent(t, p.dsn, "agent-1")
	var files []string
	for i := range 20 {
		files = append(files, fmt.Sprintf("file:%02d", i))
	}
	fences := map[foreign]applock.Fence{}
	for _, outcome := range []applock.Outcome{applock.OutcomeAcquired, applock.OutcomeRenewed} {
		got := call[answers](a, "lock_get_all", arguments{"objects": append(files, files[0]), "ttl_seconds": 60})
		if !got.AllHeld || len(got.Locks) != 20 || !slices.Equal(p.held(t, "agent-1"), files) {
			t.Fatalf("%s: %+v", outcome, got)
		}
		for _, lock := range got.Locks {
			if lock.Outcome != outcome || !lock.YouHold || lock.SecondsLeft != 60 || lock.Fence == 0 ||
				outcome == applock.OutcomeRenewed && lock.Fence != fences[lock.Object] {
				t.Errorf("%s: %+v", outcome, lock)
			}
			fences[lock.Object] = lock.Fence
		}
	}
	some := call[answers](a, "lock_release_all", arguments{"objects": []string{"file:00", "file:01", "file:never"}})
	if len(some.Locks) != 3 || some.Locks[0].Outcome != applock.OutcomeReleased || some.Locks[2].Outcome != applock.OutcomeFree ||
		!slices.Equal(p.held(t, "agent-1"), files[2:]) {
		t.Errorf("of some: %+v", some)
	}
	newAgent(t, p.dsn, "agent-2").do("lock_get", arguments{"object": "file:00"})
	if all := call[answers](a, "lock_release_all", nil); len(all.Locks) != 18 || p.held(t, "agent-1") != nil || len(p.held(t, "agent-2")) != 1 {
		t.Errorf("of all: %+v", all)
	}
	theirs := call[answers](a, "lock_release_all", arguments{"objects": []string{"file:00"}})
	if by := theirs.Locks[0]; by.Outcome != applock.OutcomeHeld || by.Holder == nil || by.Holder.Operator != "agent-2" || len(p.held(t, "agent-2")) != 1 {
		t.Errorf("of somebody else's: %+v", theirs)
	}
}

// Goal: of several objects an agent gets all or none, and never loses one that it had. Method: one of three is another agent's; then one that
// no call may name, behind one that is free.
func TestGetAllOrNone(t *testing.T) {
	t.Parallel()
	p := onSQLite(t)
	first, second := newAgent(t, p.dsn, "agent-1"), newAgent(t, p.dsn, "agent-2")
	first.do("lock_get", arguments{"object": "file:b"})
	own := second.do("lock_get", arguments{"object": "file:c"})
	got := call[answers](second, "lock_get_all", arguments{"objects": []string{"file:c", "file:a", "file:b"}})
	if got.AllHeld || len(got.Locks) != 3 || !slices.Equal(p.held(t, "agent-2"), []string{"file:c"}) {
		t.Fatalf("%+v", got)
	}
	a, b, c := got.Locks[0], got.Locks[1], got.Locks[2]
	if a.YouHold || a.Outcome != applock.OutcomeReleased || a.Fence != 0 || b.YouHold || b.Outcome != applock.OutcomeHeld || b.Holder == nil ||
		b.Holder.Operator != "agent-1" || !c.YouHold || c.Fence != own.Fence {
		t.Errorf("%+v", got)
	}
	if result := second.try("lock_get_all", arguments{"objects": []string{"file:a", "file:\t"}}); !result.IsError || len(p.held(t, "agent-2")) != 1 {
		t.Errorf("%s; held: %v", textIn(result), p.held(t, "agent-2"))
	}
}

// Goal: --release-at-end leaves no lock behind a clean end, and without it locks stay. Method: a client that closes the server's stdin, and a
// signal; agent-2 has no flag.
func TestReleaseAtEnd(t *testing.T) {
	t.Parallel()
	p := onSQLite(t)
	end := func(operator string, terminate bool, more ...string) []string {
		a := newAgent(t, p.dsn, operator, more...)
		call[answers](a, "lock_get_all", arguments{"objects": []string{operator + ":a", operator + ":b"}})
		if terminate {
			if err := a.process.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
		_ = a.session.Close() // it waits for the end of the process
		if a.process.ProcessState == nil || !terminate && !a.process.ProcessState.Success() {
			t.Errorf("%s has ended with %v", operator, a.process.ProcessState)
		}
		return p.held(t, operator)
	}
	if left := end("agent-1", false, "--release-at-end"); left != nil {
		t.Errorf("after the end of stdin: %v", left)
	}
	if left := end("agent-3", true, "--release-at-end"); left != nil {
		t.Errorf("after SIGTERM: %v", left)
	}
	if left := end("agent-2", false); len(left) != 2 {
		t.Errorf("without the flag: %v", left)
	}
}
