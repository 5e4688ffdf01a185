package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/watch"
	"github.com/applock/applock/internal/db"
)

// watchedLines is a run of watch --output json.
type watchedLines struct {
	lines, complaints *bufio.Reader
	stop              func() (code int)
}

// watchLines begins to watch.
func watchLines(t *testing.T, u user, args ...string) watchedLines {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	stdout, stdoutEnd := io.Pipe()
	stderr, stderrEnd := io.Pipe()
	codes := make(chan int, 1)
	go func() {
		codes <- run(ctx, append([]string{"watch", "--every", "1s", "--output", "json"}, args...), stdoutEnd, stderrEnd, u.getenv)
		_, _ = stdoutEnd.Close(), stderrEnd.Close()
	}()
	t.Cleanup(func() { cancel(); _ = stdout.Close(); _ = stderr.Close() })
	w := watchedLines{lines: bufio.NewReader(stdout), complaints: bufio.NewReader(stderr)}
	w.stop = func() int {
		cancel()
		_ = stderr.Close()
		return <-codes
	}
	return w
}

// next returns the next line, and what a test compares of it.
func (w watchedLines) next(t *testing.T) (line, short string) {
	t.Helper()
	line, err := w.lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	var c watchedLine
	if err := json.Unmarshal([]byte(line), &c); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	return line, c.String()
}

func (w watchedLines) expect(t *testing.T, want string) {
	t.Helper()
	if line, short := w.next(t); short != want {
		t.Errorf("%s, want %s: %s", short, want, line)
	}
}

type watchedLine struct {
	Change, Outcome string
	Holder          string `json:"holder_id"`
	ObjectID        string `json:"object_id"`
	OperatorID      string `json:"operator_id"`
	FormerHolder    string `json:"former_holder_id"`
}

func (l watchedLine) String() string {
	return strings.Join(strings.Fields(fmt.Sprint(l.Change, " ", l.ObjectID, " ", l.Outcome, " ", l.Holder, "<", l.FormerHolder, " ", l.OperatorID)), " ")
}

// Goal: a program is told what is there and each change, and ends when it is told to. Method: one change
// after the other, each awaited.
func TestWatchTellsChanges(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	u.must(t, "get", "customer:42", "--operator", "jdoe")
	u.must(t, "get", "order:7", "--operator", "jdoe")
	w := watchLines(t, u, "--type", "customer")
	w.expect(t, "present 42 HELD jdoe<")
	u.must(t, "get", "customer:42", "--operator", "jdoe")
	w.expect(t, "renewed 42 HELD jdoe<")
	u.must(t, "note", "customer:42", "--operator", "jdoe", "until Friday")
	w.expect(t, "noted 42 HELD jdoe<")
	u.must(t, "transfer", "customer:42", "--from", "jdoe", "--to", "asmith", "--by", "boss")
	w.expect(t, "transferred 42 HELD asmith<jdoe")
	announce(t, u, db.AnnounceApplLockWaiterParams{ObjectType: "customer", ObjectID: "42", OperatorID: "mlee"})
	w.expect(t, "waiter_came 42 WAITING asmith< mlee")
	u.must(t, "ask", "customer:42", "--operator", "brown", "--message", "the customer is here")
	w.expect(t, "asker_came 42 ASKING asmith< brown")
	u.must(t, "ask", "customer:42", "--operator", "brown", "--withdraw")
	w.expect(t, "asker_left 42 ASKING asmith< brown")
	u.must(t, "release", "customer:42", "--operator", "asmith")
	w.expect(t, "released 42 FREE <asmith")
	u.must(t, "get", "customer:43", "--operator", "jdoe", "--ttl", "2s")
	w.expect(t, "acquired 43 HELD jdoe<")
	w.expect(t, "expired 43 FREE <jdoe")
	if code := w.stop(); code != exitInterrupted {
		t.Errorf("exit code %d", code)
	}
}

// at makes the view of a moment, of locks and waiters.
func at(moment time.Time, locks []applock.Lock, waiters ...applock.Waiter) view {
	return viewOf(watch.Snapshot{Locks: locks, Waiters: waiters}, moment, moment)
}

// asked makes the view of a moment with requests.
func asked(moment time.Time, askers ...applock.Asker) view {
	return viewOf(watch.Snapshot{Askers: askers}, moment, moment)
}

func lockOf(id, operator string, fence applock.Fence, left time.Duration) applock.Lock {
	return applock.Lock{
		Object: applock.Object{Type: "customer", ID: id}, Owner: applock.Owner{Operator: operator}, Fence: fence,
		LockedAt: time.Unix(int64(fence), 0), ExpiresAt: time.Unix(int64(fence), 0).Add(time.Hour), Left: left,
	}
}

// Goal: each difference of two views has its word. Method: pairs of views, ten seconds apart by the clock of this host, which
// never is compared with a time of the database: these are of 1970.
func TestChanges(t *testing.T) {
	t.Parallel()
	renewed := lockOf("1", "jdoe", 1, time.Hour)
	renewed.LockedAt = renewed.LockedAt.Add(time.Second)
	shorter := lockOf("1", "jdoe", 1, time.Minute)
	shorter.ExpiresAt = shorter.ExpiresAt.Add(-time.Hour)
	noted := lockOf("1", "jdoe", 1, time.Hour)
	noted.Note = "until Friday"
	waiting := applock.Waiter{Object: applock.Object{Type: "customer", ID: "1"}, Owner: applock.Owner{Operator: "asmith"}, Client: "p1",
		Holder: applock.Holder{Owner: applock.Owner{Operator: "jdoe"}}}
	other, unheld := waiting, waiting
	other.Client, unheld.Holder = "p2", applock.Holder{}
	asking := applock.Asker{Object: waiting.Object, Owner: waiting.Owner, Client: "p1", Message: "the customer is here", Holder: waiting.Holder}
	answered, urgent, leaving, later := asking, asking, asking, asking
	answered.Answer, urgent.Message, leaving.Owner.Operator, later.Owner.Operator = applock.AnswerLater, "now", "mlee", "brown"
	one := func(lock applock.Lock) []applock.Lock { return []applock.Lock{lock} }
	began := time.Now()
	for _, test := range []struct {
		name          string
		before, after view
		want          []string
	}{
		{"nothing", at(began, one(lockOf("1", "jdoe", 1, time.Hour))), at(began, one(lockOf("1", "jdoe", 1, time.Minute))), nil},
		{"first look", view{}, at(began, one(lockOf("1", "jdoe", 1, 1)), waiting), []string{"present 1 HELD jdoe<", "present 1 WAITING jdoe< asmith"}},
		{"first look at nothing", view{}, at(began, nil), nil},
		{"new", at(began, nil), at(began, one(lockOf("1", "jdoe", 1, 1))), []string{"acquired 1 HELD jdoe<"}},
		{"renewed", at(began, one(lockOf("1", "jdoe", 1, time.Hour))), at(began, one(renewed)), []string{"renewed 1 HELD jdoe<"}},
		{"left", at(began, one(lockOf("1", "jdoe", 1, time.Hour))), at(began, one(shorter)), []string{"renewed 1 HELD jdoe<"}},
		{"noted", at(began, one(lockOf("1", "jdoe", 1, time.Hour))), at(began, one(noted)), []string{"noted 1 HELD jdoe<"}},
		{
			"handed over", at(began, one(lockOf("1", "jdoe", 1, time.Hour))), at(began, one(lockOf("1", "mlee", 2, 1))),
			[]string{"transferred 1 HELD mlee<jdoe"},
		},
		{
			"got by another one after the end", at(began, one(lockOf("1", "jdoe", 1, 5*time.Second))), at(began, one(lockOf("1", "mlee", 2, 1))),
			[]string{"acquired 1 HELD mlee<jdoe"},
		},
		{
			"got again", at(began, one(lockOf("1", "jdoe", 1, time.Hour))), at(began, one(lockOf("1", "jdoe", 2, 1))),
			[]string{"acquired 1 HELD jdoe<jdoe"},
		},
		{"ended in time", at(began, one(lockOf("1", "jdoe", 1, 12*time.Second))), at(began, nil), []string{"released 1 FREE <jdoe"}},
		{"ended by time", at(began, one(lockOf("1", "jdoe", 1, 11*time.Second))), at(began, nil), []string{"expired 1 FREE <jdoe"}},
		{
			"waiters", at(began, one(lockOf("1", "jdoe", 1, time.Hour)), waiting), at(began, one(lockOf("1", "jdoe", 1, time.Hour)), other),
			[]string{"waiter_came 1 WAITING jdoe< asmith", "waiter_left 1 WAITING jdoe< asmith"},
		},
		{
			"requests", asked(began, asking, leaving), asked(began, answered, later),
			[]string{"answered 1 ASKING jdoe< asmith", "asker_came 1 ASKING jdoe< brown", "asker_left 1 ASKING jdoe< mlee"},
		},
		{"another message", asked(began, asking), asked(began, urgent), []string{"asker_came 1 ASKING jdoe< asmith"}},
		{"the same request", asked(began, asking), asked(began, asking), nil},
		{"one for whom nobody has made way", at(began, nil, unheld), at(began, nil), []string{"waiter_left 1 WAITING < asmith"}},
	} {
		test.after.ended = began.Add(10 * time.Second)
		var got []string
		for _, change := range test.before.changes(test.after) {
			got = append(got, watchedLine{
				Change: change.Change, Outcome: string(change.Outcome), Holder: change.Holder,
				ObjectID: change.ObjectID, OperatorID: change.OperatorID, FormerHolder: change.FormerHolder,
			}.String())
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// gate stands before a server and can be shut.
type gate struct {
	lock  sync.Mutex
	shut  bool
	conns []net.Conn
}

func (g *gate) serve(server string) func(conn net.Conn) {
	return func(conn net.Conn) {
		g.lock.Lock()
		through, err := net.Dial("tcp", server)
		if g.shut || err != nil {
			_ = conn.Close()
			g.lock.Unlock()
			return
		}
		g.conns = append(g.conns, conn, through)
		g.lock.Unlock()
		go func() { _, _ = io.Copy(through, conn) }()
		_, _ = io.Copy(conn, through)
		_ = conn.Close()
	}
}

// set shuts or opens the gate.
func (g *gate) set(shut bool) {
	g.lock.Lock()
	defer g.lock.Unlock()
	g.shut = shut
	for _, conn := range g.conns {
		_ = conn.Close()
	}
	g.conns = nil
}

// Goal: a watcher tells once that the server is away, goes on when it is back, and then tells what has changed meanwhile.
// Method: a gate before each server.
func TestWatchOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	onServers(t, func(t *testing.T, s server) {
		direct := userOf(s.lentDatabase(t))
		g := &gate{}
		dsn := parseURL(t, direct.getenv(dsnVariable))
		dsn.Host = fakeServer(t, g.serve(dsn.Host))
		w := watchLines(t, userOf(dsn.String()))
		direct.must(t, "get", "customer:42", "--operator", "jdoe")
		w.next(t)
		g.set(true)
		complaint, err := w.complaints.ReadString('\n')
		if err != nil || !strings.HasPrefix(complaint, "applockctl: watch: list: cannot reach the database") || !strings.HasSuffix(complaint, "; trying again\n") {
			t.Errorf("%v: %s", err, complaint)
		}
		direct.must(t, "release", "customer:42", "--operator", "jdoe")
		g.set(false)
		w.expect(t, "released 42 FREE <jdoe")
		if code := w.stop(); code != exitInterrupted {
			t.Errorf("exit code %d", code)
		}
	})
}

// Goal: what no waiting mends ends a watch at once. Method: a file that is not there, no server, and a table that is dropped
// meanwhile.
func TestWatchEndsAtErrors(t *testing.T) {
	t.Parallel()
	fileUser(t).run(t, "watch", "--output", "json").check(t, exitError, "applockctl: watch: there is no file ")
	userOf("mysql://jdoe@127.0.0.1:1/crm").run(t, "watch", "--output", "json").check(t, exitError, "applockctl: watch: list: cannot reach")
	u := sqliteUser(t)
	u.must(t, "get", "customer:42", "--operator", "jdoe")
	w := watchLines(t, u)
	w.next(t)
	withFile(t, u, func(exec func(statement string)) { exec("DROP TABLE appl_lock_waiter") })
	complaint, err := w.complaints.ReadString('\n')
	if err != nil || !strings.Contains(complaint, "damaged") {
		t.Errorf("%v: %s", err, complaint)
	}
	if code := w.stop(); code != exitError {
		t.Errorf("exit code %d", code)
	}
}

// Goal: where there is no terminal a table is refused, and nothing is asked of a database. Method: a buffer, and no server.
func TestWatchNeedsATerminal(t *testing.T) {
	t.Parallel()
	userOf("mysql://jdoe@127.0.0.1:1/crm").run(t, "watch").check(t, exitUsage, "applockctl: watch: --output must be json without a terminal")
}

// testWatchReaderLeaves: goal: a watcher whose reader is gone ends and says nothing. Method: a pipe that is closed, and
// nothing that changes.
func testWatchReaderLeaves(t *testing.T, b binary) {
	b.dsn = sqliteUser(t).getenv(dsnVariable)
	b.run(t.Context(), "get", "customer:42", "--operator", "jdoe").check(t, exitYes)
	b.checkReaderLeaves(t, "watch", "--output", "json")
}
