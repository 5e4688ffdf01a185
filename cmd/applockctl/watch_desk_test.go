package main

import (
	"bytes"
	"cmp"
	"context"
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

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/testclient"
)

// paper is a terminal of this process, which knows whether it was put back.
type paper struct {
	vt.MockTerm
	putBack sync.WaitGroup
}

func (p *paper) Stop() error {
	p.putBack.Done()
	return p.MockTerm.Stop()
}

// newTestDesk returns a desk for a user, before a terminal of its own.
func newTestDesk(t *testing.T, u user) (*desk, *paper) {
	t.Helper()
	p := &paper{MockTerm: vt.NewMockTerm(vt.MockOptSize{X: 100, Y: 20})}
	p.putBack.Add(1)
	screen, err := tcell.NewTerminfoScreenFromTty(p, tcell.OptTerm("xterm"))
	if err != nil {
		t.Fatal(err)
	}
	a := &app{getenv: u.getenv, timeout: duration(defaultTimeout)}
	s := session{Client: testclient.Open(t, u.getenv(dsnVariable), "", nil), dsn: u.getenv(dsnVariable)}
	return a.newDesk(s, screen, watchFlags{look: look{order: byObject}, every: duration(time.Second)}), p
}

// deskEnd is how a desk has ended.
type deskEnd struct {
	err   error
	fault any
}

func (d *desk) begin(ctx context.Context) <-chan deskEnd {
	ends := make(chan deskEnd, 1)
	go func() {
		var end deskEnd
		defer func() {
			end.fault = recover()
			ends <- end
		}()
		end.err = d.run(ctx)
	}()
	return ends
}

// await waits until a line of the terminal has a text.
func (p *paper) await(t *testing.T, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		var screen strings.Builder
		for y := range vt.Row(20) {
			for x := range vt.Col(100) {
				screen.WriteString(cmp.Or(p.GetCell(vt.Coord{X: x, Y: y}).C, " ")) // nothing is what was never written
			}
			screen.WriteString("\n")
		}
		if strings.Contains(screen.String(), text) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%q is not to be seen:\n%s", text, screen.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Goal: a fault of this program, on the table or beside it, leaves the terminal as it was, and is told. Method: a plan and a
// deed that panic.
func TestTerminalIsPutBackAfterAFault(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]verb{
		"plan": {key: "x", name: "break", plan: func(wish) string { panic("plan broke") }},
		"deed": {
			key: "x", name: "break", plan: func(wish) string { return "break it" },
			do: func(context.Context, session, applock.Lock, wish) (string, error) { panic("deed broke") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := sqliteUser(t)
			u.must(t, "get", "customer:42", "--operator", "jdoe")
			d, p := newTestDesk(t, u)
			d.model.verbs = []verb{bad}
			ends := d.begin(t.Context())
			p.await(t, "customer:42")
			p.SendRaw([]byte("xy"))
			end := <-ends
			p.putBack.Wait()
			if !strings.Contains(fmt.Sprint(end.fault), name+" broke") {
				t.Errorf("the end is %+v", end)
			}
		})
	}
}

// Goal: who leaves while a change is under way is told that its outcome is unknown, and does not wait for it. Method: a change
// that goes on until nobody waits for it, and each way to leave.
func TestLeavingDuringAChange(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(p *paper, cancel context.CancelFunc){
		"key":    func(p *paper, _ context.CancelFunc) { p.SendRaw([]byte("q")) },
		"ctrl-c": func(p *paper, _ context.CancelFunc) { p.SendRaw([]byte{3}) },
		"signal": func(_ *paper, cancel context.CancelFunc) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := sqliteUser(t)
			u.must(t, "get", "customer:42", "--operator", "jdoe")
			d, p := newTestDesk(t, u)
			d.model.verbs = []verb{{
				key: "x", name: "wait", plan: func(wish) string { return "wait for ever" },
				do: func(ctx context.Context, _ session, _ applock.Lock, _ wish) (string, error) {
					<-ctx.Done()
					return "", ctx.Err()
				},
			}}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			ends := d.begin(ctx)
			p.await(t, "customer:42")
			p.SendRaw([]byte("xy"))
			p.await(t, "wait customer:42 ...")
			leave(p, cancel)
			end := <-ends
			if !errors.Is(end.err, applock.ErrOutcomeUnknown) || !strings.Contains(end.err.Error(), "watch: wait customer:42: ") {
				t.Errorf("the end is %+v", end)
			}
			p.putBack.Wait()
		})
	}
}

// Goal: the window has the size that the terminal driver tells, not the one that the terminal itself answers: tmux before 3.4
// answers with columns and lines swapped. Method: such an answer, and a key behind it.
func TestSizeIsThatOfTheDriver(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	d, _ := newTestDesk(t, u)
	if err := d.screen.Init(); err != nil {
		t.Fatal(err)
	}
	defer d.screen.Fini()
	d.next = time.NewTimer(time.Hour)
	d.screen.EventQ() <- tcell.NewEventResize(20, 100)
	d.screen.EventQ() <- tcell.NewEventKey(tcell.KeyEnter, "", tcell.ModNone)
	sizes := 0
	for {
		event, err := d.event(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if size, resized := event.(windowSize); resized {
			sizes++
			if size != (windowSize{width: 100, height: 20}) {
				t.Errorf("the window is %+v", size)
			}
		}
		if _, pressed := event.(keyPress); pressed {
			break
		}
	}
	if sizes == 0 {
		t.Error("no size has been told")
	}
}

// Goal: a key right behind Escape is a key, and Escape is heeded first: a dialog is left, and nothing is typed into it or confirmed by it.
// Method: both at once, as tmux passes them on.
func TestEscapeAndAKeyAtOnce(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	u.must(t, "get", "customer:42", "--operator", "jdoe")
	d, p := newTestDesk(t, u)
	d.model.by, d.model.verbs = "boss", verbs("boss")
	ends := d.begin(t.Context())
	p.await(t, "1 of 1 locks by object")
	p.SendRaw([]byte("r\r"))
	p.await(t, "y  confirms")
	p.SendRaw([]byte("\x1by"))
	p.await(t, noSuchKey)
	u.must(t, "inquire", "customer:42")
	p.SendRaw([]byte("/x\x1bs"))
	p.await(t, "1 of 1 locks by left ")
	p.SendRaw([]byte("q"))
	if end := <-ends; end != (deskEnd{}) {
		t.Errorf("the end is %+v", end)
	}
}

// Goal: what is done with marked locks is done with each, and a refusal of one stops no other; behind a call without an answer none
// is begun. Method: three locks of which one is another operator's meanwhile, and a deed that has no answer.
func TestChangeOfMarkedLocks(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	for _, object := range []string{"customer:1", "customer:2", "customer:3"} {
		u.must(t, "get", object, "--operator", "jdoe")
	}
	d, p := newTestDesk(t, u)
	d.model.by, d.model.verbs = "boss", verbs("boss")
	d.every = time.Hour
	asked := 0
	d.model.verbs = append(d.model.verbs, verb{
		key: "x", name: "wait", plan: func(wish) string { return "no answer" },
		do: func(context.Context, session, applock.Lock, wish) (string, error) {
			asked++
			return "", applock.ErrUnreachable
		},
	})
	ends := d.begin(t.Context())
	p.await(t, "customer:3")
	u.must(t, "transfer", "customer:2", "--from", "jdoe", "--to", "asmith", "--by", "boss")
	p.SendRaw([]byte("mmmtmlee\r\rill\ry"))
	p.await(t, "transfer: 2 of 3 locks; transfer customer:2: held by asmith")
	u.must(t, "assert", "customer:1", "--operator", "mlee", "--fence", fenceOf(t, u, "customer:1"))
	u.must(t, "assert", "customer:3", "--operator", "mlee", "--fence", fenceOf(t, u, "customer:3"))
	p.await(t, "customer:3  mlee")
	p.SendRaw([]byte("\x1b[Hmmxy"))
	p.await(t, "wait: 0 of 2 locks; ")
	p.SendRaw([]byte("q"))
	if end := <-ends; end != (deskEnd{}) {
		t.Errorf("the end is %+v", end)
	}
	if asked != 1 {
		t.Errorf("%d calls were made behind one without an answer", asked-1)
	}
}

// Goal: what happened to an object, and what its holder has been told, is read at the table, the newest first also where an inbox is
// longer than a page. Method: a lock that was taken and transferred, behind 2,500 others that were taken, and its pages.
func TestHistoryAndInboxOfTheSelected(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	u.must(t, "get", "customer:41", "--operator", "asmith", "--ttl", "30m")
	withFile(t, u, func(exec func(statement string)) {
		exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
			INSERT INTO appl_lock_event (event_ts, object_type, object_id, event, actor_id, db_user, program, from_operator_id,
				from_department_id, to_operator_id, to_department_id, from_fence, to_fence, reason)
			SELECT i, 'order', i, 'TAKEN', 'mlee', '', '', 'asmith', '', 'mlee', '', 1, 2, '' FROM n`)
	})
	u.must(t, "get", "customer:42", "--operator", "jdoe", "--department", "sales")
	u.must(t, "take", "customer:42", "--operator", "mlee", "--reason", "urgent")
	u.must(t, "transfer", "customer:42", "--from", "mlee", "--to", "asmith", "--by", "boss", "--reason", "mlee is ill today and for the rest of the week, says boss")
	d, p := newTestDesk(t, u)
	ends := d.begin(t.Context())
	p.await(t, "customer:42")
	p.SendRaw([]byte("\x1b[Bh"))
	p.await(t, "The history of customer:42")
	p.await(t, "TRANSFERRED  from mlee  to asmith  by boss  why: mlee is ill")
	p.await(t, "  rest of the week, says boss ")
	p.await(t, "TAKEN  from jdoe (sales)  to mlee  by mlee  why: urgent")
	p.SendRaw([]byte("qi"))
	p.await(t, "The inbox of asmith")
	p.await(t, "EXPIRING  customer:41")
	p.await(t, "HANDED  customer:42  from mlee  why: mlee is ill")
	p.await(t, "TAKEN  order:2500  by mlee ")
	p.SendRaw([]byte("qq"))
	if end := <-ends; end != (deskEnd{}) {
		t.Errorf("the end is %+v", end)
	}
}

// Goal: a database that needs longer than the time between two looks is waited for. Method: looks that are to follow each
// other at once.
func TestSlowLooksArrive(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	d, p := newTestDesk(t, u)
	d.every = time.Nanosecond
	ends := d.begin(t.Context())
	u.must(t, "get", "customer:42", "--operator", "jdoe")
	p.await(t, "customer:42")
	p.SendRaw([]byte("q"))
	if end := <-ends; end != (deskEnd{}) {
		t.Errorf("the end is %+v", end)
	}
}

// Goal: the table says which lock of how many is selected, also with more locks than the window has. Method: 41 locks, of which an
// operator has one; keys, a filter and another order.
func TestDeskCountsTheLocks(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	for i := range 40 {
		u.must(t, "get", fmt.Sprintf("customer:%02d", i), "--operator", "jdoe")
	}
	u.must(t, "get", "order:7", "--operator", "mlee")
	d, p := newTestDesk(t, u)
	ends := d.begin(t.Context())
	p.await(t, "1 of 41 locks by object")
	p.SendRaw([]byte("\x1b[6~\x1b[B")) // page down, down
	p.await(t, "15 of 41 locks by object")
	u.must(t, "release", "order:7", "--operator", "mlee")
	p.await(t, "15 of 40 locks by object") // counted again with the next look
	u.must(t, "get", "order:7", "--operator", "mlee")
	p.SendRaw([]byte("/lee\r"))
	p.await(t, "1 of 1 locks by object | with lee")
	p.SendRaw([]byte("q"))
	if end := <-ends; end != (deskEnd{}) {
		t.Errorf("the end is %+v", end)
	}
}

// Goal: a look reads the locks of its window and who waits for those, however many there are; the first thousand for another order;
// and all for a filter in another order, which finds what is behind the first thousand, too.
// Method: 10,000 locks, and the rows that the debug records count.
func TestLookReadsItsWindow(t *testing.T) {
	t.Parallel()
	u := sqliteUser(t)
	withFile(t, u, func(exec func(statement string)) {
		exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
			INSERT INTO appl_lock (object_type, object_id, operator_id, department_id, fence, acquired_ts, lock_ts, ttl_seconds, expires_ts)
			SELECT 'customer', printf('%05d', i), iif(i % 1000, 'jdoe', 'MLee'), '', 1, 0, 0, 604800, 4102444800000000 - i FROM n`)
	})
	for _, id := range []string{"00001", "05001", "05003", "05021", "09999"} {
		announce(t, u, db.AnnounceApplLockWaiterParams{ObjectType: "customer", ObjectID: id, OperatorID: "asmith"})
	}
	withFile(t, u, func(exec func(statement string)) { exec("UPDATE appl_lock_waiter SET expires_ts = 4102444800000000") })
	var records bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&records, &slog.HandlerOptions{Level: slog.LevelDebug}))
	client := testclient.Open(t, u.getenv(dsnVariable), "", logger)
	a := &app{getenv: u.getenv, timeout: duration(time.Hour)}
	middle := applock.ListRequest{After: applock.Object{Type: "customer", ID: "05000"}}
	for _, test := range []struct {
		name                     string
		look                     look
		first, last              string
		locks, waiters, rowsRead int
		more                     bool
	}{
		{"the first page", look{order: byObject, rows: 20}, "00001", "00020", 20, 1, 21, true},
		{"a page", look{order: byObject, rows: 20, request: middle}, "05001", "05020", 20, 2, 21, true},
		{"a filter", look{order: byObject, rows: 2, request: middle, filter: "mlEE"}, "06000", "07000", 2, 0, 3000, true},
		{"the last of a filter", look{order: byObject, rows: 20, filter: ":0999"}, "09990", "09999", 10, 1, 10000, false},
		{"the first by their ends", look{order: byLeft, rows: 20}, "10000", "09001", 1000, 5, 1001, true},
		{"a filter by their ends", look{order: byLeft, rows: 20, filter: "mlEE"}, "10000", "01000", 10, 0, 10000, false},
		{"a filter by their age", look{order: byAge, rows: 20, filter: "mlEE"}, "01000", "10000", 10, 0, 10000, false},
		{"a filter by their waiters", look{order: byWaiters, rows: 20, filter: ":050"}, "05001", "05021", 3, 3, 10000, false},
		{"any number", look{rows: 0}, "00001", "10000", 10000, 5, 10000, false},
		{"the last page", look{order: byObject, rows: 21, last: true}, "09997", "10000", 4, 1, 10000, false},
		{"the last page behind another", look{order: byObject, rows: 20, request: middle, last: true}, "09981", "10000", 20, 1, 5000, false},
	} {
		records.Reset()
		found, err := a.lookOnce(t.Context(), session{Client: client}, test.look)
		if err != nil {
			t.Fatal(err)
		}
		if len(found.locks) != test.locks || len(found.waiters) != test.waiters || found.more != test.more {
			t.Errorf("%s has %d locks and %d waiters, more: %t", test.name, len(found.locks), len(found.waiters), found.more)
			continue
		}
		if got := found.locks[0].Object.ID + found.locks[len(found.locks)-1].Object.ID; got != test.first+test.last {
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
