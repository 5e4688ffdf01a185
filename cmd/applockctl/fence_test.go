package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// toldLock is what the tests read of an answer.
type toldLock struct {
	Outcome          string `json:"outcome"`
	Holder           string `json:"holder_id"`
	HolderDepartment string `json:"holder_department_id"`
	Fence            int64  `json:"fence"`
	SecondsLeft      int64  `json:"seconds_left"`
}

// told returns the one answer of a command that printed JSON.
func (r result) told(t *testing.T) toldLock {
	t.Helper()
	var lock toldLock
	if err := json.Unmarshal([]byte(r.stdout), &lock); err != nil {
		t.Fatalf("%v: %s%s", err, r.stdout, r.stderr)
	}
	return lock
}

// asked runs a command with JSON, checks its exit code, and returns the answer.
func (u user) asked(t *testing.T, code int, command string) toldLock {
	t.Helper()
	got := u.run(t, append(strings.Fields(command), "--output", "json")...)
	if got.code != code {
		t.Errorf("%s: exit code %d, want %d: %s%s", command, got.code, code, got.stdout, got.stderr)
	}
	return got.told(t)
}

// Goal: of two runs of a job under one name the second is refused, and told that it is the first that holds. Method: get
// --new twice, and a look at the lock between.
func TestGetNewRefusesARenewal(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	first := u.asked(t, exitYes, "get job:nightly --operator host --department night --ttl 1h --new")
	if first.Outcome != "ACQUIRED" {
		t.Errorf("the first run: %+v", first)
	}
	second := u.asked(t, exitNo, "get job:nightly --operator host --ttl 2d --new")
	if second.Outcome != "HELD" || second.Holder != "host" || second.HolderDepartment != "night" || second.SecondsLeft > 3600 {
		t.Errorf("the second run: %+v", second)
	}
	u.run(t, "get", "job:nightly", "--operator", "host", "--new").check(t, exitNo,
		"job:nightly is held by host (you) under another grant\n")
	if lock := u.asked(t, exitYes, "inquire job:nightly"); lock.SecondsLeft > 3600 || lock.Fence != first.Fence {
		t.Errorf("the refusal has changed the lock: %+v", lock)
	}
	if renewed := u.asked(t, exitYes, "get job:nightly --operator host"); renewed.Outcome != "RENEWED" {
		t.Errorf("without --new: %+v", renewed)
	}
}

// Goal: the heartbeat of a job renews its grant and nothing else. Method: renew and assert, with a live grant,
// another one of the same operator, another operator, and one that has ended.
func TestRenewAndAssert(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	old := u.asked(t, exitYes, "get job:nightly --operator host --ttl 1h")
	mine := fmt.Sprintf(" job:nightly --operator host --fence %d", old.Fence)
	if got := u.asked(t, exitYes, "renew --ttl 2h"+mine); got.Outcome != "RENEWED" || got.Holder != "host" || got.Fence != old.Fence || got.SecondsLeft != 7200 {
		t.Errorf("renew for 2 h: %+v", got)
	}
	if got := u.asked(t, exitYes, "renew"+mine); got.SecondsLeft != 7200 {
		t.Errorf("renew without a ttl: %+v", got)
	}
	if got := u.asked(t, exitYes, "assert"+mine); got.Outcome != "HELD" || got.Holder != "host" || got.Fence != old.Fence {
		t.Errorf("assert: %+v", got)
	}
	stranger := strings.Replace(mine, "host", "other", 1)
	for _, command := range []string{"renew", "renew --ttl 1h", "assert"} {
		if got := u.asked(t, exitNo, command+stranger); got.Outcome != "HELD" || got.Holder != "host" || got.SecondsLeft == 0 {
			t.Errorf("%s by somebody else: %+v", command, got)
		}
	}

	u.must(t, "release", "job:nightly", "--operator", "host")
	for _, command := range []string{"renew", "renew --ttl 1h", "assert"} {
		if got := u.asked(t, exitNo, command+mine); got != (toldLock{Outcome: "FREE"}) {
			t.Errorf("%s after the release: %+v", command, got)
		}
	}
	u.asked(t, exitNo, "inquire job:nightly")

	now := u.asked(t, exitYes, "get job:nightly --operator host")
	for _, command := range []string{"renew", "renew --ttl 1h", "assert", "release"} {
		got := u.run(t, strings.Fields(command+mine)...)
		got.check(t, exitNo)
		want := "job:nightly is held by host (you) under another grant"
		if command != "renew --ttl 1h" { // the procedure does not tell the holder's fence
			want += fmt.Sprintf(", fence %d", now.Fence)
		}
		if got.stderr != want+"\n" {
			t.Errorf("%s by the old fence says %q", command, got.stderr)
		}
	}
}

// Goal: a heartbeat without a fence is misuse. Method: leave it out, and write what is none.
func TestRenewUsage(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"renew", "assert"} {
		fileUser(t).run(t, command, "job:nightly", "--operator", "host").check(t, exitUsage, `--fence must be given`)
		fileUser(t).run(t, command, "job:nightly", "--operator", "host", "--fence", "0").check(t, exitUsage, `"--fence" flag: write a whole number from 1`)
		fileUser(t).run(t, command, "job:nightly", "--fence", "1").check(t, exitUsage, `--operator must be given`)
	}
}
