package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/testfile"
)

// jsonPage is docs/json.md.
func jsonPage(t *testing.T) string {
	t.Helper()
	return testfile.Read(t, "../../docs/json.md")
}

// tableUnder returns the cells of the tables below a heading, without the heads of the tables.
func tableUnder(t *testing.T, page, heading string) [][]string {
	t.Helper()
	_, part, found := strings.Cut(page, "\n## "+heading+"\n")
	if !found {
		t.Fatalf("the page has no %s", heading)
	}
	part, _, _ = strings.Cut(part, "\n## ")
	var rows [][]string
	for line := range strings.Lines(part) {
		if !strings.HasPrefix(line, "| `") && !regexp.MustCompile(`^\| \d`).MatchString(line) {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, cells)
	}
	return rows
}

var inBackquotes = regexp.MustCompile("`([^`]+)`")

// names returns what stands in backquotes.
func names(cell string) []string {
	var all []string
	for _, match := range inBackquotes.FindAllStringSubmatch(cell, -1) {
		all = append(all, match[1])
	}
	return all
}

// keysOfPage returns the keys of each command's objects, in order.
func keysOfPage(t *testing.T, page string) map[string][]string {
	t.Helper()
	var lock []string
	more := map[string][]string{}
	for _, cells := range tableUnder(t, page, "One lock") {
		if len(cells) == 2 {
			lock = append(lock, names(cells[0])...)
		} else {
			more[names(cells[0])[0]] = append(more[names(cells[0])[0]], names(cells[1])...)
		}
	}
	keys := map[string][]string{}
	for _, cells := range tableUnder(t, page, "Everything else") {
		for _, command := range names(cells[0]) {
			keys[command] = names(cells[1])
		}
	}
	for _, cells := range tableUnder(t, page, "Outcomes") {
		if command := names(cells[0])[0]; keys[command] == nil {
			keys[command] = slices.Concat(lock, more[command])
		}
	}
	return keys
}

// keysOf returns the keys of an object in the order in which they stand there.
func keysOf(t *testing.T, line string) []string {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(line))
	var keys []string
	if _, err := decoder.Token(); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		keys = append(keys, fmt.Sprint(key))
	}
	return keys
}

// Goal: each word for a change is on the page, in the order of the program. Method: compare the two.
func TestChangesAreTold(t *testing.T) {
	t.Parallel()
	want := []string{
		changePresent, changeAcquired, changeRenewed, changeNoted, changeTransferred, changeReleased, changeExpired, changeWaiterCame, changeWaiterLeft, changeAskerCame, changeAnswered, changeAskerLeft,
	}
	var told []string
	for _, cells := range tableUnder(t, jsonPage(t), "Changes") {
		told = append(told, names(cells[0])...)
	}
	if !slices.Equal(told, want) {
		t.Errorf("the page tells %v, want %v", told, want)
	}
}

// fenceOf returns the fence of a live lock.
func fenceOf(t *testing.T, u user, object string) string {
	t.Helper()
	var lock struct {
		Fence int64 `json:"fence"`
	}
	got := u.must(t, "inquire", object, "--output", "json")
	if err := json.Unmarshal([]byte(got.stdout), &lock); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(lock.Fence)
}

// Goal: docs/json.md has the keys of the records that no result of package applock has, in order. Method: write one of each.
func TestRecordsHaveTheKeysOfThePage(t *testing.T) {
	t.Parallel()
	keys := keysOfPage(t, jsonPage(t))
	for command, like := range map[string]record{
		"inquire": inquireAnswer{}, "get": lockAnswer{}, "take": takeAnswer{}, "watch": watchedChange{}, "console": consoleAnswer{}, "grant": grantAnswer{},
		"revoke": revokeAnswer{}, "migrate up": migrationAnswer{}, "policy drop": droppedPolicy{}, "ping": pingAnswer{}, "verify": verifyAnswer{},
		"version": versionAnswer{},
	} {
		line, err := json.Marshal(like)
		if got := keysOf(t, string(line)); err != nil || !slices.Equal(got, keys[command]) {
			t.Errorf("%s has the keys %v, and the page has %v", command, got, keys[command])
		}
	}
	outdated := -1
	if got := outcomeOfContract(new(int)); got != outcomeNotInstalled {
		t.Errorf("contract 0 is %s", got)
	}
	if got := outcomeOfContract(&outdated); got != outcomeOutdated {
		t.Errorf("an old contract is %s", got)
	}
}

// goResult is a result of package applock, the record that a command prints of it, and the keys of the command that it has not.
type goResult struct {
	command string
	value   any
	record  record
	lacks   string
}

func goResults() []goResult {
	owner := applock.Owner{Operator: "jdoe", Department: "sales"}
	object, moment := applock.Object{Type: "customer", ID: "42"}, time.Unix(1, 0)
	holder := applock.Holder{Owner: owner, Fence: 7, AcquiredAt: moment, ExpiresAt: moment, Left: time.Hour, Note: "a < b"}
	grant := applock.Grant{
		Object: object, Owner: owner, Fence: 7, AcquiredAt: moment, ExpiresAt: moment, Left: time.Hour, Outcome: applock.OutcomeTaken, Note: "why", From: owner,
	}
	granted, refused := newAnswer(object, owner), newAnswer(object, owner)
	granted.grantedTo(grant)
	refused.refusedBy(holder)
	lock := applock.Lock{
		Object: object, Owner: owner, Fence: 7, AcquiredAt: moment, LockedAt: moment, ExpiresAt: moment, TTL: time.Hour, Left: time.Minute, Note: "why",
	}
	change := applock.LockChange{Object: object, Outcome: applock.OutcomeReleased, Owner: owner, Fence: 7, ExpiresAt: moment, Left: time.Hour}
	waiter := applock.Waiter{
		Object: object, Owner: owner, Client: "p1", Since: moment, Until: moment, Waited: time.Second, Holder: applock.Holder{Owner: owner, Left: time.Hour},
	}
	asker := applock.Asker{
		Object: object, Owner: owner, Client: "p1", Message: "may I?", Since: moment, Until: moment, Waited: time.Second,
		Answer: applock.AnswerLater, AnswerReason: "soon", Holder: applock.Holder{Owner: owner, Left: time.Hour},
	}
	notice := applock.Notice{Kind: applock.NoticeTaken, Event: 9, Object: object, Other: owner, At: moment, Left: time.Hour, Reason: "why", Message: "may I?", Client: "p1", Fence: 7}
	present := applock.Presence{Kind: applock.PresenceViewer, Owner: owner, Client: "tab-7", State: applock.StateEditing, Since: moment, Left: time.Minute}
	viewer := applock.Viewer{Object: object, Owner: owner, Client: "tab-7", State: applock.StateEditing, Since: moment, Left: time.Minute}
	event := applock.Event{ID: 9, At: moment, Object: object, Kind: applock.EventTaken, Actor: "mlee", From: owner, FromFence: 7, ToFence: 8}
	taken := takeAnswer{lockAnswer: granted, FormerHolder: owner.Operator, FormerHolderDepartment: owner.Department}
	return []goResult{
		{"take", grant, taken, "lock_ts"}, // only inquire and list tell it
		{"get", &applock.HeldError{Object: object, Holder: holder}, refused, "operator_id department_id lock_ts"},
		{"list", lock, listedLockOf(lock), "operator_id department_id"}, // which are empty
		{"release --all", change, changedLock(change, owner), "operator_id department_id acquired_ts lock_ts note"},
		{"list --waiting", waiter, listedWaiterOf(waiter), "fence acquired_ts lock_ts expires_ts note"}, // no waiter tells them
		{"asking", asker, listedAskerOf(asker), "fence acquired_ts lock_ts expires_ts note"},
		{"history", event, listedEventOf(event), ""},
		{"inbox", notice, listedNoticeOf(notice, "5"), "next_position"}, // the InboxPosition has it
		{"see", present, presentOne{present}, ""},
		{"viewers", viewer, listedViewer{viewer}, ""},
		{"stats", applock.Stats{ObjectType: "customer"}, countedLocks{applock.Stats{ObjectType: "customer"}}, ""},
		{"policy list", applock.Policy{Type: "customer"}, policyAnswer{applock.Policy{Type: "customer"}}, ""},
	}
}

// Goal: a result of package applock is written as the command prints it: with the keys of the page, in its order, and the same values.
// Method: write one of each both ways. A key that a result lacks is named above, and no other.
func TestGoResultsHaveTheKeysOfThePage(t *testing.T) {
	t.Parallel()
	keys := keysOfPage(t, jsonPage(t))
	for _, result := range goResults() {
		lacks := strings.Fields(result.lacks)
		want := slices.DeleteFunc(slices.Clone(keys[result.command]), func(key string) bool { return slices.Contains(lacks, key) })
		if len(want) == 0 || len(want) != len(keys[result.command])-len(lacks) {
			t.Errorf("%s has the keys %v, and %v are not to be there", result.command, keys[result.command], lacks)
		}
		text, values := encoded(t, result.value)
		if got := keysOf(t, text); !slices.Equal(got, want) {
			t.Errorf("%T has the keys %v, and the page tells %v", result.value, got, want)
		}
		_, printed := encoded(t, result.record)
		for key, value := range values {
			if string(printed[key]) != string(value) {
				t.Errorf("%s of %T is %s, and %s prints %s", key, result.value, value, result.command, printed[key])
			}
		}
	}
}

// encoded returns a value as the commands encode it.
func encoded(t *testing.T, value any) (text string, values map[string]json.RawMessage) {
	t.Helper()
	var line strings.Builder
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(line.String()), &values); err != nil {
		t.Fatal(err)
	}
	return line.String(), values
}
