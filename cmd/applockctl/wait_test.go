package main

import (
	"context"
	"strings"
	"testing"
	"time"
)

// waitingGet runs "get --wait" and returns when the waiter is listed.
func waitingGet(ctx context.Context, t *testing.T, u user, args ...string) <-chan result {
	t.Helper()
	results := make(chan result, 1)
	go func() {
		results <- u.runContext(ctx, append([]string{"get", "customer:42", "--operator", "asmith"}, args...)...)
	}()
	for u.must(t, "list", "--waiting", "--operator", "asmith", "--output", "json").stdout == "" {
		select {
		case got := <-results:
			t.Fatalf("it did not wait: %+v", got)
		case <-time.After(5 * time.Millisecond):
		}
	}
	return results
}

// Goal: get --wait gets the object when its holder lets go, and tells meanwhile whom it waits for. Method: a release while
// it waits, longer than a call may take.
func TestGetWaits(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	u.must(t, "get", "customer:42", "--operator", "jdoe", "--department", "sales")
	results := waitingGet(t.Context(), t, u, "--wait", "1m", "--timeout", "3s")
	time.Sleep(3500 * time.Millisecond)
	u.must(t, "release", "customer:42", "--operator", "jdoe")
	got := <-results
	got.check(t, exitYes, "customer:42 is held by jdoe (sales) since ", "waiting 1m at the most")
	if !strings.HasPrefix(got.stdout, "OUTCOME") || !strings.Contains(got.stdout, "ACQUIRED") {
		t.Errorf("got %s", got.stdout)
	}
	if left := u.must(t, "list", "--waiting", "--output", "json").stdout; left != "" {
		t.Errorf("still waiting: %s", left)
	}
}

// Goal: when the time is over the answer is no, with the holder. Method: a holder that stays.
func TestGetWaitsInVain(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	u.must(t, "get", "customer:42", "--operator", "jdoe")
	began := time.Now()
	got := u.run(t, "get", "customer:42", "--operator", "asmith", "--wait", "4s", "--timeout", "3s")
	got.check(t, exitNo)
	if waited := time.Since(began); waited < 4*time.Second || !strings.Contains(got.stdout, "HELD") || !strings.Contains(got.stdout, "jdoe") {
		t.Errorf("after %s: %s", waited, got.stdout)
	}
}

// Goal: an interrupt ends the wait and leaves nobody listed. Method: the end of the context that a signal ends.
func TestGetWaitInterrupted(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	u.must(t, "get", "customer:42", "--operator", "jdoe")
	ctx, cancel := context.WithCancel(t.Context())
	results := waitingGet(ctx, t, u, "--wait", "1m")
	cancel()
	got := <-results
	if got.code != exitInterrupted || !strings.Contains(got.stderr, "interrupted") || got.stdout != "" {
		t.Errorf("interrupted: %+v", got)
	}
	if left := u.must(t, "list", "--waiting", "--output", "json").stdout; left != "" {
		t.Errorf("still waiting: %s", left)
	}
}

func TestGetWaitUsage(t *testing.T) {
	t.Parallel()
	for _, wait := range []string{"0s", "-1s", "soon", "500ms"} {
		sqliteUser(t).run(t, "get", "customer:42", "--operator", "jdoe", "--wait="+wait).check(t, exitUsage, "--wait")
	}
}
