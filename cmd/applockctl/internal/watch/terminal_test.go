package watch

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gdamore/tcell/v3"
	"github.com/gdamore/tcell/v3/vt"
	_ "modernc.org/sqlite"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
	"github.com/applock/applock/internal/testing/testclient"
)

// mock is a terminal in memory, which knows whether it was restored.
type mock struct {
	vt.MockTerm
	restored sync.WaitGroup
}

func (m *mock) Stop() error {
	m.restored.Done()
	return m.MockTerm.Stop()
}

// watched is a table on a mock, and the database behind it.
type watched struct {
	*terminal
	t    *testing.T
	mock *mock
	// c is a client of the database, and dsn its file.
	c   *applock.Client
	dsn string
}

func watch(t *testing.T, by string) watched {
	t.Helper()
	w := watched{t: t, mock: &mock{MockTerm: vt.NewMockTerm(vt.MockOptSize{X: 100, Y: 20})}, dsn: "sqlite:" + testclient.InstalledSQLite(t)}
	w.mock.restored.Add(1)
	screen, err := tcell.NewTerminfoScreenFromTty(w.mock, tcell.OptTerm("xterm"))
	if err != nil {
		t.Fatal(err)
	}
	w.c = testclient.Open(t, w.dsn, "", nil)
	w.terminal = newTerminal(configOf(w.c, by), screen)
	return w
}

func configOf(client *applock.Client, by string) Config {
	return Config{
		Query: Query{Order: ByObject}, Every: time.Second, By: by, Style: table.Style{Zone: time.UTC}, Problem: error.Error,
		Call: func(ctx context.Context, _ string, run func(context.Context, Session) error) error {
			return run(ctx, Session{Client: client, Restart: func() {}})
		},
		Inbox: func(ctx context.Context, client *applock.Client, request applock.InboxRequest) ([]applock.Notice, applock.InboxPosition, error) {
			return client.Inbox(ctx, request)
		},
	}
}

// end is how a table has ended.
type end struct {
	err   error
	fault any
}

func (w watched) begin(ctx context.Context) <-chan end {
	ends := make(chan end, 1)
	go func() {
		var end end
		defer func() {
			end.fault = recover()
			ends <- end
		}()
		end.err = w.run(ctx)
	}()
	return ends
}

// quit leaves a table.
func (w watched) quit(ends <-chan end) {
	w.t.Helper()
	w.press("q")
	if got := <-ends; got != (end{}) {
		w.t.Errorf("the end is %+v", got)
	}
}

func (w watched) press(keys string) { w.mock.SendRaw([]byte(keys)) }

// await waits until the screen has texts.
func (w watched) await(texts ...string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	for {
		var screen strings.Builder
		for y := range vt.Row(20) {
			for x := range vt.Col(100) {
				screen.WriteString(cmp.Or(w.mock.GetCell(vt.Coord{X: x, Y: y}).C, " ")) // nothing is what was never written
			}
			screen.WriteString("\n")
		}
		if inOrder(screen.String(), texts...) {
			return
		}
		select {
		case <-ctx.Done():
			w.t.Fatalf("%q are not on the screen:\n%s", texts, screen.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// get has an operator get an object's lock.
func (w watched) get(object, operator string) {
	w.t.Helper()
	_, err := w.c.Get(w.t.Context(), applock.GetRequest{Object: objectOf(w.t, object), Owner: applock.Owner{Operator: operator}})
	w.must(err)
}

// transfer hands a lock over, and returns the new holder.
func (w watched) transfer(object, from, to string) {
	w.t.Helper()
	_, err := w.c.Transfer(w.t.Context(), applock.TransferRequest{
		Object: objectOf(w.t, object), From: from, To: applock.Owner{Operator: to}, Actor: "boss", Reason: from + " is ill today and for the rest of the week",
	})
	w.must(err)
}

func (w watched) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// exec runs a statement on the database's file.
func (w watched) exec(statement string) {
	w.t.Helper()
	handle, err := sql.Open("sqlite", strings.TrimPrefix(w.dsn, "sqlite:")+"?_pragma=busy_timeout(60000)")
	w.must(err)
	_, err = handle.ExecContext(w.t.Context(), statement)
	w.must(errors.Join(err, handle.Close()))
}

func objectOf(t *testing.T, text string) applock.Object {
	t.Helper()
	object, err := applock.ParseObject(text)
	if err != nil {
		t.Fatal(err)
	}
	return object
}

// Goal: a fault of this program, in the table or in its background, restores the terminal and is reported. Method: a plan and a change
// that panic.
func TestFaultRestoresTheTerminal(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]verb{
		"plan": {key: "z", name: "break", plan: func(wish) string { panic("plan broke") }},
		"change": {
			key: "z", name: "break", plan: func(wish) string { return "break it" },
			do: func(context.Context, Session, applock.Lock, wish) (string, error) { panic("change broke") },
		},
	} {
		w := watch(t, "")
		w.get("customer:42", "jdoe")
		w.model.verbs = []verb{bad}
		ends := w.begin(t.Context())
		w.await("customer:42")
		w.press("zy")
		end := <-ends
		w.mock.restored.Wait()
		if !strings.Contains(fmt.Sprint(end.fault), name+" broke") {
			t.Errorf("the end is %+v", end)
		}
	}
}

// Goal: who leaves during a change reads that its outcome is unknown, and does not wait for it. Method: a change that goes on until
// nobody waits for it, and each way to leave.
func TestLeavingDuringAChange(t *testing.T) {
	t.Parallel()
	for _, leave := range []func(w watched, cancel context.CancelFunc){
		func(w watched, _ context.CancelFunc) { w.press("q") },
		func(w watched, _ context.CancelFunc) { w.press("\x03") },
		func(_ watched, cancel context.CancelFunc) { cancel() },
	} {
		w := watch(t, "")
		w.get("customer:42", "jdoe")
		w.model.verbs = []verb{{
			key: "z", name: "wait", plan: func(wish) string { return "wait for ever" },
			do: func(ctx context.Context, _ Session, _ applock.Lock, _ wish) (string, error) {
				<-ctx.Done()
				return "", ctx.Err()
			},
		}}
		ctx, cancel := context.WithCancel(t.Context())
		ends := w.begin(ctx)
		w.await("customer:42")
		w.press("zy")
		w.await("wait customer:42 ...")
		leave(w, cancel)
		end := <-ends
		cancel()
		if !errors.Is(end.err, applock.ErrOutcomeUnknown) || !strings.Contains(end.err.Error(), "watch: wait customer:42: ") {
			t.Errorf("the end is %+v", end)
		}
		w.mock.restored.Wait()
	}
}

// Goal: the window has the size that the terminal driver reports, not the one that the terminal itself answers: tmux before 3.4
// answers with columns and lines swapped. Method: such an answer, and a key behind it.
func TestSizeIsThatOfTheDriver(t *testing.T) {
	t.Parallel()
	w := watch(t, "")
	w.must(w.screen.Init())
	defer w.screen.Fini()
	w.next = time.NewTimer(time.Hour)
	w.screen.EventQ() <- tcell.NewEventResize(20, 100)
	w.screen.EventQ() <- tcell.NewEventKey(tcell.KeyEnter, "", tcell.ModNone)
	sizes := 0
	for {
		event, err := w.event(t.Context())
		w.must(err)
		if _, pressed := event.(keyPress); pressed {
			break
		}
		if size, resized := event.(windowSize); resized && size == (windowSize{width: 100, height: 20}) {
			sizes++
		} else {
			t.Errorf("the window is %+v", event)
		}
	}
	if sizes == 0 {
		t.Error("no size was reported")
	}
}

// Goal: a key right behind Escape is a key, and Escape comes first: a dialog is left, and nothing is typed into it or confirmed by it.
// Method: both at once, as tmux passes them on.
func TestEscapeAndAKeyAtOnce(t *testing.T) {
	t.Parallel()
	w := watch(t, "boss")
	w.get("customer:42", "jdoe")
	ends := w.begin(t.Context())
	w.await("1 of 1 locks by object")
	w.press("r\r")
	w.await("y  confirms")
	w.press("\x1by")
	w.await(noSuchKey)
	_, err := w.c.Inquire(t.Context(), objectOf(t, "customer:42"))
	w.must(err)
	w.press("/x\x1bs")
	w.await("1 of 1 locks by left ")
	w.quit(ends)
}

// Goal: a change of marked locks is made of each, and of the grant on the screen; a refusal stops no other; behind a call without an
// answer none is begun. Method: three locks of which one gets another holder, each verb, and a verb without an answer.
func TestChangeOfMarkedLocks(t *testing.T) {
	t.Parallel()
	w := watch(t, "boss")
	for _, object := range []string{"customer:1", "customer:2", "customer:3"} {
		w.get(object, "jdoe")
	}
	w.Every = time.Hour
	calls := 0
	w.model.verbs = append(w.model.verbs, verb{
		key: "z", name: "wait", plan: func(wish) string { return "no answer" },
		do: func(context.Context, Session, applock.Lock, wish) (string, error) {
			calls++
			return "", context.DeadlineExceeded
		},
	})
	ends := w.begin(t.Context())
	w.await("customer:3")
	w.transfer("customer:2", "jdoe", "asmith")
	w.press("xjxjxtmlee\r\rill\ry")
	w.await("customer:1  mlee", "customer:2  asmith", "customer:3  mlee", "transfer: 2 of 3 locks; transfer customer:2: held by")
	w.press("\x1b\x1b[H")
	for keys, refusal := range map[string]string{"o\rurgent\ry": "take customer:1: held by mlee", "r\ry": "is not that of the operator's grant"} {
		w.await("1 of 3 locks")
		w.transfer("customer:1", "mlee", "asmith")
		w.transfer("customer:1", "asmith", "mlee") // another grant of the same operator
		w.press(keys)
		lock, err := w.c.Inquire(t.Context(), objectOf(t, "customer:1"))
		w.must(err)
		w.await(refusal, fmt.Sprint("fence ", lock.Fence))
	}
	w.press("o\rurgent\ry")
	w.await("customer:1  boss", "customer:1: TAKEN by boss, fence")
	w.press("e9d\ry")
	w.await("customer:1: RENEWED, 9d left")
	w.press("r\ry")
	w.await("1 of 2 locks", "customer:1: RELEASED")
	w.press("aplease\r\ry")
	w.await("customer:2: ASKED, held by asmith", `asking: boss for 0s: "please"`)
	w.press("\x1b[Hxjxzy")
	w.await("wait: 0 of 2 locks")
	w.quit(ends)
	if calls != 1 {
		t.Errorf("%d calls were made behind one without an answer", calls-1)
	}
}

// Goal: what happened to an object, and its holder's inbox, are read at the table, the newest first also where an inbox is longer than
// a page. Method: a lock that was taken and transferred, behind 2,500 others that were taken, and its pages.
func TestHistoryAndInboxOfTheSelected(t *testing.T) {
	t.Parallel()
	w := watch(t, "")
	w.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
		INSERT INTO appl_lock_event (event_ts, object_type, object_id, event, actor_id, db_user, program, from_operator_id,
			from_department_id, to_operator_id, to_department_id, from_fence, to_fence, reason)
		SELECT i, 'order', i, 'TAKEN', 'mlee', '', '', 'asmith', '', 'mlee', '', 1, 2, '' FROM n`)
	w.get("customer:42", "jdoe")
	_, err := w.c.Take(t.Context(), applock.TakeRequest{Object: objectOf(t, "customer:42"), Owner: applock.Owner{Operator: "mlee"}, Reason: "urgent"})
	w.must(err)
	w.transfer("customer:42", "mlee", "asmith")
	ends := w.begin(t.Context())
	w.await("customer:42")
	w.press("h")
	w.await("The history of customer:42", "TRANSFERRED  from mlee  to asmith  by boss  why: mlee is ill", "rest of the week ", "TAKEN  from jdoe  to mlee  by mlee  why: urgent")
	w.press("qi")
	w.await("The inbox of asmith", "HANDED  customer:42  from mlee  why: mlee is ill", "TAKEN  order:2500  by mlee ")
	w.press("q")
	w.quit(ends)
}

// Goal: a database that needs longer than the time between two refreshes is waited for. Method: refreshes that are to follow each
// other at once.
func TestSlowRefreshesArrive(t *testing.T) {
	t.Parallel()
	w := watch(t, "")
	w.Every = time.Nanosecond
	ends := w.begin(t.Context())
	w.get("customer:42", "jdoe")
	w.await("customer:42")
	w.quit(ends)
}

// Goal: the headline says which lock of how many is selected, also with more locks than the window has. Method: 41 locks, of which an
// operator has one; keys, a filter and another order.
func TestLocksAreCounted(t *testing.T) {
	t.Parallel()
	w := watch(t, "")
	for i := range 40 {
		w.get(fmt.Sprintf("customer:%02d", i), "jdoe")
	}
	w.get("order:7", "mlee")
	ends := w.begin(t.Context())
	w.await("1 of 41 locks by object")
	w.press("\x1b[6~\x1b[B") // page down, down
	w.await("15 of 41 locks by object")
	w.transfer("order:7", "mlee", "jdoe")
	w.get("order:8", "mlee")
	w.await("15 of 42 locks by object") // counted again with the next refresh
	w.press("/lee\r")
	w.await("1 of 1 locks by object | with lee")
	w.quit(ends)
}

// Goal: a refresh reads the locks of its window and who waits for those, however many there are; the first thousand in another order;
// and all for a filter in another order, which finds what is behind the first thousand, too.
// Method: 10,000 locks, and the rows that the debug records count.
func TestQueryReadsItsWindow(t *testing.T) {
	t.Parallel()
	w := watch(t, "")
	w.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
		INSERT INTO appl_lock (object_type, object_id, operator_id, department_id, fence, acquired_ts, lock_ts, ttl_seconds, expires_ts)
		SELECT 'customer', printf('%05d', i), iif(i % 1000, 'jdoe', 'MLee'), '', 1, 0, 0, 604800, 4102444800000000 - i FROM n`)
	w.exec(`INSERT INTO appl_lock_waiter (object_type, object_id, operator_id, department_id, client_id, since_ts, until_ts, expires_ts, holder_id)
		SELECT 'customer', object_id, 'asmith', '', 'c', object_id, NULL, 4102444800000000, '' FROM appl_lock
		WHERE object_id IN ('00001', '05001', '05003', '05021', '09999')`)
	var records bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&records, &slog.HandlerOptions{Level: slog.LevelDebug}))
	config := configOf(testclient.Open(t, w.dsn, "", logger), "")
	middle := applock.ListRequest{After: applock.Object{Type: "customer", ID: "05000"}}
	for _, test := range []struct {
		name                     string
		query                    Query
		first, last              string
		locks, waiters, rowsRead int
		more                     bool
	}{
		{"the first page", Query{Order: ByObject, rows: 20}, "00001", "00020", 20, 1, 21, true},
		{"a page", Query{Order: ByObject, rows: 20, Request: middle}, "05001", "05020", 20, 2, 21, true},
		{"a filter", Query{Order: ByObject, rows: 2, Request: middle, filter: "mlEE"}, "06000", "07000", 2, 0, 3000, true},
		{"the last of a filter", Query{Order: ByObject, rows: 20, filter: ":0999"}, "09990", "09999", 10, 1, 10000, false},
		{"the first by their ends", Query{Order: ByLeft, rows: 20}, "10000", "09001", 1000, 5, 1001, true},
		{"a filter by their ends", Query{Order: ByLeft, rows: 20, filter: "mlEE"}, "10000", "01000", 10, 0, 10000, false},
		{"a filter by their age", Query{Order: ByAge, rows: 20, filter: "mlEE"}, "01000", "10000", 10, 0, 10000, false},
		{"a filter by their waiters", Query{Order: ByWaiters, rows: 20, filter: ":050"}, "05001", "05021", 3, 3, 10000, false},
		{"any number", Query{}, "00001", "10000", 10000, 5, 10000, false},
		{"the last page", Query{Order: ByObject, rows: 21, last: true}, "09997", "10000", 4, 1, 10000, false},
		{"the last page behind another", Query{Order: ByObject, rows: 20, Request: middle, last: true}, "09981", "10000", 20, 1, 5000, false},
	} {
		records.Reset()
		found, err := config.Read(t.Context(), test.query)
		w.must(err)
		if len(found.Locks) != test.locks || len(found.Waiters) != test.waiters || found.more != test.more {
			t.Errorf("%s has %d locks and %d waiters, more: %t", test.name, len(found.Locks), len(found.Waiters), found.more)
			continue
		}
		if got := found.Locks[0].Object.ID + found.Locks[len(found.Locks)-1].Object.ID; got != test.first+test.last {
			t.Errorf("%s begins and ends with %s", test.name, got)
		}
		read := 0
		for _, match := range regexp.MustCompile(`msg=appl_lock_live rows=(\d+)`).FindAllStringSubmatch(records.String(), -1) {
			rows, _ := strconv.Atoi(match[1])
			read += rows
		}
		if read != test.rowsRead {
			t.Errorf("%s reads %d rows, want %d", test.name, read, test.rowsRead)
		}
	}
}
