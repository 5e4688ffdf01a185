package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
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

// shownAnswer is one line of a command's output, and the exit code.
type shownAnswer struct {
	line string
	code int
}

// everyAnswer runs the commands to all their answers and returns these by command.
func everyAnswer(t *testing.T) map[string][]shownAnswer {
	t.Helper()
	shown := map[string][]shownAnswer{}
	run := func(u user, command string, args ...string) {
		t.Helper()
		words := append(strings.Fields(command), append(args, "--output", "json")...)
		got := u.run(t, words...)
		for line := range strings.Lines(got.stdout) {
			shown[command] = append(shown[command], shownAnswer{line: line, code: got.code})
		}
	}
	u := fileUser(t)
	run(u, "migrate up")
	run(u, "migrate down")
	run(u, "migrate up --dry-run")
	run(u, "migrate status")
	run(u, "migrate goto", "0")
	run(u, "migrate goto", "1")
	run(u, "migrate up")
	everyFailure(t, run)
	run(u, "get", "customer:42", "--operator", "jdoe", "--department", "sales")
	run(u, "get", "customer:42", "--operator", "jdoe")
	run(u, "get", "customer:42", "--operator", "asmith")
	run(u, "note", "customer:42", "why", "--operator", "jdoe")
	run(u, "note", "customer:42", "why", "--operator", "asmith")
	run(u, "note", "customer:44", "why", "--operator", "asmith")
	run(u, "inquire", "customer:42")
	run(u, "list")
	run(u, "get --new", "customer:42", "--operator", "jdoe")
	run(u, "get --new", "customer:43", "--operator", "jdoe")
	for _, operator := range []string{"jdoe", "jdoe", "asmith"} {
		run(u, "get --permits", "1", "room:desk", "--operator", operator)
	}
	fence := fenceOf(t, u, "customer:42")
	run(u, "renew", "customer:42", "--operator", "jdoe", "--fence", fence)
	run(u, "renew", "customer:42", "--operator", "jdoe", "--fence", "1")
	run(u, "renew", "customer:44", "--operator", "jdoe", "--fence", "1")
	run(u, "assert", "customer:42", "--operator", "jdoe", "--fence", fence)
	run(u, "assert", "customer:42", "--operator", "jdoe", "--fence", "1")
	run(u, "assert", "customer:44", "--operator", "jdoe", "--fence", "1")
	run(u, "release", "customer:42", "--operator", "asmith")
	run(u, "transfer", "customer:42", "--from", "asmith", "--to", "mlee", "--by", "boss")
	run(u, "transfer", "customer:42", "--from", "jdoe", "--to", "asmith", "--by", "boss", "--to-department", "service")
	run(u, "release", "customer:42", "--operator", "asmith")
	run(u, "release", "customer:42", "--operator", "asmith")
	run(u, "transfer", "customer:42", "--from", "jdoe", "--to", "asmith", "--by", "boss")
	run(u, "take", "customer:42", "--operator", "mlee", "--reason", "urgent")
	run(u, "get", "customer:42", "--operator", "jdoe")
	run(u, "take", "customer:42", "--operator", "mlee", "--reason", "urgent", "--fence", "1")
	run(u, "take", "customer:42", "--operator", "mlee", "--reason", "urgent", "--ttl", "10m")
	everyRequest(t, u, run)
	announce(t, u, db.AnnounceApplLockWaiterParams{ObjectType: "customer", ObjectID: "42", OperatorID: "asmith"})
	run(u, "inbox", "--operator", "jdoe")
	run(u, "inbox", "--operator", "mlee")
	run(u, "transfer", "customer:42", "--from", "mlee", "--to", "jdoe", "--by", "mlee")
	run(u, "release", "customer:42", "--operator", "jdoe", "--by", "mlee")
	run(u, "inbox", "--operator", "jdoe")
	run(u, "inquire", "customer:42")
	for _, more := range []string{"--dry-run", "--quiet=false"} {
		run(u, "transfer --all", "--from", "jdoe", "--to", "mlee", "--by", "boss", "--reason", "left", more)
	}
	for _, more := range []string{"--dry-run", "--quiet=false"} {
		run(u, "release --all", "--operator", "mlee", "--by", "boss", "--reason", "left", more)
	}
	run(u, "see", "customer:42", "--operator", "asmith")
	run(u, "get", "customer:42", "--operator", "jdoe")
	run(u, "see", "customer:42", "--operator", "mlee")
	run(u, "viewers")
	run(u, "release", "customer:42", "--operator", "jdoe")
	run(u, "stats")
	for _, sub := range []string{"policy set", "policy drop", "policy drop"} {
		run(u, sub, "customer", "--by", "mlee")
	}
	run(u, "policy set", "order", "--by", "mlee")
	run(u, "policy list")
	run(u, "policy set", "order", "--by", "mlee", "--history", "all")
	for _, operator := range []string{"jdoe", "jdoe", "mlee"} {
		run(u, "get", "order:1", "--operator", operator)
	}
	run(u, "purge")
	run(u, "get", "customer:50", "--operator", "jdoe", "--ttl", "1s")
	run(u, "get", "customer:51", "--operator", "jdoe")
	run(u, "release", "customer:51", "--operator", "jdoe", "--by", "mlee", "--reason", "ill")
	run(u, "get", "customer:50", "--operator", "asmith", "--wait", "10s")
	run(u, "history")
	time.Sleep(1100 * time.Millisecond) // purge takes what has been free for a second
	run(u, "purge", "--older-than", "1s")
	run(u, "history")
	run(u, "purge-history", "--older-than", "1s")
	run(u, "history")
	announce(t, u, db.AnnounceApplLockWaiterParams{ObjectType: "customer", ObjectID: "42", OperatorID: "jdoe"})
	run(u, "list --waiting")
	shown["watch"] = everyWatchedLine(t, u)
	run(u, "demo")
	run(u, "ping")
	served := serveConsole(t, u)
	code, _ := served.stop()
	shown["console"] = []shownAnswer{{line: served.line, code: code}}
	run(u, "verify")
	for _, statement := range []string{
		"INSERT INTO appl_lock_goose (version_id, is_applied) VALUES (1000, true)", "DROP TABLE appl_lock_waiter",
	} {
		damaged := sqliteUser(t)
		withFile(t, damaged, func(exec func(statement string)) { exec(statement) })
		run(damaged, "migrate status")
	}
	removed := sqliteUser(t)
	run(removed, "migrate uninstall", "--yes")
	empty := userOf("sqlite:" + t.TempDir() + "/empty.db")
	if err := os.WriteFile(pathOf(empty.getenv(dsnVariable)), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dsn := range []string{"", u.getenv(dsnVariable), empty.getenv(dsnVariable), "mysql://jdoe@127.0.0.1:1/crm"} {
		run(userOf(dsn), "version")
	}
	return shown
}

// everyWatchedLine watches a lock and a waiter until the lock is gone, and returns what it has been told.
func everyWatchedLine(t *testing.T, u user) []shownAnswer {
	t.Helper()
	u.must(t, "get", "desk:1", "--operator", "jdoe")
	announce(t, u, db.AnnounceApplLockWaiterParams{ObjectType: "desk", ObjectID: "1", OperatorID: "asmith"})
	w := watchLines(t, u, "--type", "desk")
	var all []shownAnswer
	for _, change := range []string{"present", "present", "released"} {
		line, short := w.next(t)
		if !strings.HasPrefix(short, change) {
			t.Errorf("%s, want %s", line, change)
		}
		all = append(all, shownAnswer{line: line})
		if len(all) == 2 {
			u.must(t, "release", "desk:1", "--operator", "jdoe")
		}
	}
	code := w.stop()
	for i := range all {
		all[i].code = code
	}
	return all
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

// everyFailure runs the commands of migrations to what they tell of a file that is damaged, or newer than the program.
func everyFailure(t *testing.T, run func(u user, command string, args ...string)) {
	t.Helper()
	damaged, newer := sqliteUser(t), sqliteUser(t)
	withFile(t, damaged, func(exec func(statement string)) { exec("DROP TABLE appl_lock_waiter") })
	withFile(t, newer, func(exec func(statement string)) {
		exec("INSERT INTO appl_lock_goose (version_id, is_applied) VALUES (3, true)")
	})
	run(damaged, "migrate status")
	run(damaged, "verify")
	run(newer, "migrate status")
	run(sqliteUser(t), "migrate uninstall", "--yes")
}

// everyRequest asks for an object and answers.
func everyRequest(t *testing.T, u user, run func(u user, command string, args ...string)) {
	t.Helper()
	run(u, "ask", "case:1", "--operator", "brown")
	run(u, "get", "case:1", "--operator", "ada")
	run(u, "ask", "case:1", "--operator", "ada")
	run(u, "ask", "case:1", "--operator", "brown", "--withdraw")
	answer := []string{"case:1", "--operator", "ada", "--asker", "brown", "--fence"}
	fence := fenceOf(t, u, "case:1")
	run(u, "answer", append(answer, fence, "--give")...)
	run(u, "ask", "case:1", "--operator", "brown", "--message", "may I?")
	run(u, "asking")
	run(u, "inbox", "--operator", "ada")
	run(u, "answer", append(answer, fence, "--later")...)
	run(u, "inbox", "--operator", "brown")
	run(u, "answer", append(answer, fence, "--no")...)
	run(u, "inbox", "--operator", "brown")
	run(u, "answer", append(answer, fence, "--give")...)
	run(u, "inbox", "--operator", "ada")
	run(u, "answer", append(answer, fence, "--give")...)
	run(u, "release", "case:1", "--operator", "brown")
	run(u, "answer", append(answer, fence, "--give")...)
}

// unplayed has the answers that no command can be brought to on an embedded database, each with the reason.
func unplayed() map[string]string {
	return map[string]string{
		"version OUTDATED 4": "there is no contract older than the first",
		"ask GIVEN 0":        "a holder has at least a minute; testdata/scenarios/ask_appl_lock_yield.txt lets it pass",
		"inbox YIELDED 0":    "the same",
		"history YIELDED 0":  "the same",
		"grant GRANTED 0":    "SQLite has no users; TestGrant grants",
		"revoke REVOKED 0":   "SQLite has no users; TestRevoke revokes",

		"transfer --all BUSY 1": "SQLite has one writer; TestAllTellsWhatIsLeft, and the interleavings of transfers",
		"transfer --all HELD 1": "the same",
		"transfer --all FREE 0": "the same",
		"release --all BUSY 1":  "the same",
		"release --all HELD 1":  "the same",
		"release --all FREE 0":  "the same",

		"migrate repair REPAIRED 0": "SQLite has no procedures; TestStatusFindsAndRepairMends repairs",
	}
}

// Goal: docs/json.md tells the keys of every command, in order, and every outcome with its exit code, and nothing else.
// Method: bring the commands to all their answers and compare what they print with the tables.
func TestJSONPage(t *testing.T) {
	t.Parallel()
	page := jsonPage(t)
	keys := keysOfPage(t, page)
	told := map[string]bool{}
	for _, cells := range tableUnder(t, page, "Outcomes") {
		for code := range strings.SplitSeq(cells[2], ", ") {
			told[fmt.Sprintf("%s %s %s", names(cells[0])[0], names(cells[1])[0], code)] = true
		}
	}
	seen := map[string]bool{}
	for command, answers := range everyAnswer(t) {
		for _, answer := range answers {
			if got := keysOf(t, answer.line); !slices.Equal(got, keys[command]) {
				t.Errorf("%s has the keys %v, and the page tells %v", command, got, keys[command])
			}
			var head struct {
				Outcome string `json:"outcome"`
			}
			if err := json.Unmarshal([]byte(answer.line), &head); err != nil {
				t.Fatal(err)
			}
			seen[fmt.Sprintf("%s %s %d", command, head.Outcome, answer.code)] = true
		}
	}
	for command, answer := range map[string]any{"grant": grantAnswer{}, "revoke": revokeAnswer{}} {
		line, err := json.Marshal(answer)
		if got := keysOf(t, string(line)); err != nil || !slices.Equal(got, keys[command]) {
			t.Errorf("%s has the keys %v, and the page tells %v", command, got, keys[command])
		}
	}
	for answer := range unplayed() {
		seen[answer] = true
	}
	if !maps.Equal(seen, told) {
		t.Errorf("the commands answer\n%s\nand the page tells\n%s", lines(seen), lines(told))
	}
	if got := outcomeOfContract(new(int)); got != outcomeNotInstalled {
		t.Errorf("contract 0 is %s", got)
	}
	outdated := -1
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
	holder := applock.Holder{Owner: owner, Fence: 7, ExpiresAt: moment, Left: time.Hour, Note: "a < b"}
	grant := applock.Grant{
		Object: object, Owner: owner, Fence: 7, ExpiresAt: moment, Left: time.Hour, Outcome: applock.OutcomeTaken, Note: "why", From: owner,
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
		{"take", grant, taken, "acquired_ts lock_ts"}, // only inquire and list tell them
		{"get", &applock.HeldError{Object: object, Holder: holder}, refused, "operator_id department_id acquired_ts lock_ts"},
		{"list", lock, listedLockOf(lock), "operator_id department_id"}, // which are empty
		{"release --all", change, changedLock(change, owner), "operator_id department_id acquired_ts lock_ts note"},
		{"list --waiting", waiter, listedWaiterOf(waiter), "fence acquired_ts lock_ts expires_ts note"}, // no waiter tells them
		{"asking", asker, listedAskerOf(asker), "fence acquired_ts lock_ts expires_ts note"},
		{"history", event, listedEventOf(event), ""},
		{"inbox", notice, listedNoticeOf(notice, applock.InboxPosition{After: 5}), "safe_event_id"}, // the InboxPosition has it
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

func lines(set map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(set)), "\n") }

// Goal: the exit codes are the same in the page, in the help and in the program. Method: compare the three.
func TestExitCodesAreTold(t *testing.T) {
	t.Parallel()
	constants := []int{exitYes, exitNo, exitUsage, exitUnknown, exitError, exitLost, exitConflict, exitInterrupted}
	var want []string
	for _, code := range constants {
		want = append(want, fmt.Sprint(code))
	}
	var page []string
	for _, cells := range tableUnder(t, jsonPage(t), "Exit codes") {
		page = append(page, cells[0])
	}
	_, help, _ := strings.Cut(newTree().Long, "Exit codes:\n")
	var told []string
	for line := range strings.Lines(help) {
		told = append(told, strings.Fields(line)[0])
	}
	if !slices.Equal(page, want) || !slices.Equal(told, want) {
		t.Errorf("the program has %v, the page %v, the help %v", want, page, told)
	}
	job, _, err := newTree().Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"page": jsonPage(t), "help": help, "help of run": job.Long} {
		line := regexp.MustCompile(fmt.Sprintf(`(?m)^[| ]+%d[| ]+.*`, exitLost)).FindString(strings.ReplaceAll(text, "`", ""))
		if !strings.Contains(line, "--max-hold was over or the lock was lost") {
			t.Errorf("the %s does not tell both reasons of exit code %d: %s", name, exitLost, line)
		}
	}
}

// Goal: each exit code of the page is one that the program gives, and the database is then as the page tells. Method: provoke each, and look
// who has the object.
func TestExitCodesAreProvoked(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	u.must(t, "get", "customer:42", "--operator", "jdoe")
	var provoked []string
	for _, test := range []struct {
		code                 int
		args, object, holder string
	}{
		{exitYes, "get customer:0 --operator jdoe", "customer:0", "jdoe"},
		{exitNo, "get customer:42 --operator asmith", "customer:42", "jdoe"},
		{exitUsage, "get customer:2", "customer:2", ""},
		{exitUnknown, "get customer:3 --operator jdoe", "customer:3", "jdoe"},
		{exitError, "get customer:4 --operator jdoe --dsn sqlite:nosuch/applock.db", "customer:4", ""},
		{exitLost, "run customer:5 --max-hold 1s -- sleep 600", "customer:5", ""},
		{exitConflict, "run customer:42 -- true", "customer:42", "jdoe"},
		{exitInterrupted, "get customer:42 --operator asmith --wait 10m", "customer:42", "jdoe"},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		stdout := io.Discard
		if test.code == exitUnknown {
			stdout = failingWriter{err: errors.New("disk full")}
		}
		stderr := &watcher{}
		if test.code == exitInterrupted {
			stderr.onWrite = interrupt // once it says that it waits
		}
		if code := run(ctx, patient(strings.Fields(test.args)), stdout, stderr, u.getenv); code != test.code {
			t.Errorf("%s: exit code %d, want %d: %s", test.args, code, test.code, stderr)
		}
		interrupt()
		if got := u.run(t, "inquire", test.object, "--output", "json"); !strings.Contains(got.stdout, `"holder_id":"`+test.holder+`"`) {
			t.Errorf("after %s: %s", test.args, got.stdout)
		}
		provoked = append(provoked, fmt.Sprint(test.code))
	}
	for _, cells := range tableUnder(t, jsonPage(t), "Exit codes") {
		if len(cells) != 3 || !slices.Contains(provoked, cells[0]) {
			t.Errorf("no call provokes %v, or the page does not tell what is known of the database", cells)
		}
	}
}
