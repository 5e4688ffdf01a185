package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// toldAsk has the keys of what ask, answer, asking and inbox print.
type toldAsk struct {
	Outcome      string `json:"outcome"`
	Operator     string `json:"operator_id"`
	Holder       string `json:"holder_id"`
	Fence        int64  `json:"fence"`
	Message      string `json:"message"`
	Client       string `json:"client_id"`
	Answer       string `json:"answer"`
	AnswerReason string `json:"answer_reason"`
	Reason       string `json:"reason"`
	SecondsLeft  int64  `json:"seconds_left"`
}

// told runs a command, whose exit code must be that one, and reads the first object that it prints.
func (u user) told(t *testing.T, code int, args ...string) toldAsk {
	t.Helper()
	got := u.run(t, append(args, "--output", "json")...)
	if got.code != code {
		t.Fatalf("%s: exit code %d, want %d: %s", strings.Join(args, " "), got.code, code, got.stderr)
	}
	var told toldAsk
	if err := json.NewDecoder(strings.NewReader(got.stdout)).Decode(&told); err != nil {
		t.Fatalf("%s: %v in %q", strings.Join(args, " "), err, got.stdout)
	}
	return told
}

// Goal: one operator asks for what another holds, is told to wait, and is given it, by commands alone; each answer has its word and its exit
// code. Method: the commands of the two, with what a script reads of their JSON.
func TestAskAndAnswer(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	expect := func(want string, code int, args ...string) toldAsk {
		t.Helper()
		got := u.told(t, code, args...)
		if got.Outcome != want {
			t.Errorf("%s: %s, want %s", strings.Join(args, " "), got.Outcome, want)
		}
		return got
	}
	ask := []string{"ask", "customer:42", "--operator", "brown", "--department", "sales", "--message", "the customer is on the phone"}
	expect("FREE", exitNo, ask...)
	u.must(t, "get", "customer:42", "--operator", "jdoe")
	expect("OWN", exitNo, "ask", "customer:42", "--operator", "jdoe")
	if asked := expect("ASKED", exitYes, ask...); asked.Holder != "jdoe" || asked.Client != program {
		t.Errorf("ask tells %+v", asked)
	}
	notice := expect("AWAITED", exitYes, "inbox", "--operator", "jdoe")
	if notice.Message != "the customer is on the phone" || notice.Client != program || notice.Fence == 0 {
		t.Fatalf("the inbox tells %+v", notice)
	}
	answer := []string{"answer", "customer:42", "--operator", "jdoe", "--fence", fmt.Sprint(notice.Fence), "--asker", "brown"}
	expect("TOLD", exitYes, append(answer, "--later", "--reason", "in ten minutes")...)
	if told := expect("LATER", exitYes, "inbox", "--operator", "brown"); told.Reason != "in ten minutes" {
		t.Errorf("the inbox of who asks tells %+v", told)
	}
	listed := expect("ASKING", exitYes, "asking", "--prefix", "customer:4")
	if listed.Operator != "brown" || listed.Answer != "LATER" || listed.AnswerReason != "in ten minutes" || listed.Holder != "jdoe" {
		t.Errorf("asking tells %+v", listed)
	}
	if given := expect("GIVEN", exitYes, append(answer, "--give")...); given.Holder != "brown" || given.SecondsLeft != 60 {
		t.Errorf("GIVEN tells %+v", given)
	}
	expect("HELD", exitNo, append(answer, "--no")...)
	expect("GIVEN", exitYes, "inbox", "--operator", "jdoe")
	if renewed := expect("RENEWED", exitYes, "get", "customer:42", "--operator", "brown"); renewed.Fence <= notice.Fence {
		t.Errorf("the new grant has the fence %d, the former one %d", renewed.Fence, notice.Fence)
	}
	fence := expect("HELD", exitYes, "inquire", "customer:42").Fence
	expect("GONE", exitNo, "answer", "customer:42", "--operator", "brown", "--fence", fmt.Sprint(fence), "--asker", "jdoe", "--no")
	expect("ASKED", exitYes, "ask", "customer:42", "--operator", "jdoe")
	expect("WITHDRAWN", exitYes, "ask", "customer:42", "--operator", "jdoe", "--withdraw")
	u.must(t, "release", "customer:42", "--operator", "brown")
	expect("FREE", exitNo, "answer", "customer:42", "--operator", "brown", "--fence", fmt.Sprint(fence), "--asker", "jdoe", "--no")
}

// Goal: a mistake in the command line is told by its flag. Method: each mistake.
func TestAskUsage(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	for command, want := range map[string]string{
		"ask customer:42": "operator",
		"ask customer:42 --operator jdoe --wait 5m --withdraw":                  "--wait is for a new request",
		"ask customer:42 --operator jdoe --client ":                             "--client must not be empty",
		"ask customer:42 --operator jdoe --message " + strings.Repeat("x", 256): "--message has 256 characters",
		"answer customer:42 --operator jdoe --fence 1 --asker brown":            "give",
		"answer customer:42 --operator jdoe --fence 1 --give":                   "asker",
		"answer customer:42 --operator jdoe --asker brown --give":               "fence",
		"answer customer:42 --operator jdoe --fence 1 --asker b --give --no":    "give",
	} {
		if got := u.run(t, strings.Split(command, " ")...); got.code != exitUsage || !strings.Contains(got.stderr, want) {
			t.Errorf("%s: exit code %d, %q, want %d and %q", command, got.code, got.stderr, exitUsage, want)
		}
	}
}
