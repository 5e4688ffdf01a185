//go:build linux

package clusters_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/internal/testing/worker"
)

const (
	loadType    = "clustered"
	loadObjects = 3
	loadTTL     = 2 * time.Second
	// loadClients is how many clients go from node to node.
	loadClients = 6
	// loadCall is how long a client waits for one answer.
	loadCall = 5 * time.Second
	// hangLimit is for hangs.
	hangLimit = 5 * time.Minute
)

// seat is a pool on a node, or on the one that takes changes, and a client on that.
type seat struct {
	node   int // 0: any
	pool   *sql.DB
	client *applock.Client
	schema string // of the locks, with its dot, where that is not the pool's
}

var placeholder = regexp.MustCompile(`\$\d`)

// bound has the placeholders of the product.
func (s seat) bound(statement string) string {
	if s.schema != "" {
		return statement
	}
	return placeholder.ReplaceAllString(statement, "?")
}

func loadObject(i int) string { return fmt.Sprintf("object%d", i) }

// install installs, makes what the locks guard, and has the history told of every grant, so that none is lost behind a later one.
func (s seat) install(t *testing.T) {
	t.Helper()
	if _, err := migrate.Up(t.Context(), s.client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	statements := []string{
		"CREATE TABLE guarded (object VARCHAR(64) PRIMARY KEY, fence BIGINT NOT NULL, number BIGINT NOT NULL)",
		"CREATE TABLE guarded_write (id VARCHAR(64) PRIMARY KEY, object VARCHAR(64) NOT NULL, number BIGINT NOT NULL, fence BIGINT NOT NULL)",
	}
	for i := range loadObjects {
		statements = append(statements, "INSERT INTO guarded VALUES ('"+loadObject(i)+"', 0, 0)")
	}
	for _, statement := range statements {
		if _, err := s.pool.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	err := s.client.SetPolicy(t.Context(), applock.SetPolicyRequest{Policy: applock.Policy{Type: loadType, HistoryLevel: applock.HistoryAll}, Actor: "test"})
	if err != nil {
		t.Fatal(err)
	}
}

// load is clients that take, use and give back few locks, each at one seat, from which it goes on to its next when that fails.
type load struct {
	records

	t      *testing.T
	name   string // begins the names of its operators
	mutex  sync.Mutex
	errors map[string]int
	wait   sync.WaitGroup
	stop   context.CancelFunc
}

// newLoad begins, with a client for each row of seats.
func newLoad(t *testing.T, seats [][]seat) *load {
	t.Helper()
	l := &load{t: t, name: "c" + rand.Text()[:8], errors: map[string]int{}, records: records{failed: map[string]string{}}}
	var ctx context.Context
	ctx, l.stop = context.WithCancel(t.Context())
	for number, row := range seats {
		for _, s := range row {
			s.pool.SetMaxOpenConns(2)
		}
		l.wait.Go(func() { l.work(ctx, number, row) })
	}
	t.Cleanup(l.end)
	return l
}

// end stops the clients, and returns when the last one has.
func (l *load) end() {
	l.stop()
	l.wait.Wait()
	for text, n := range l.errors {
		l.t.Logf("%d times: %s", n, text)
	}
	clear(l.errors)
}

// await returns when something is so.
func (l *load) await(what string, so func() bool) {
	l.t.Helper()
	for deadline := time.Now().Add(hangLimit); ; time.Sleep(10 * time.Millisecond) {
		l.mutex.Lock()
		is := so()
		l.mutex.Unlock()
		if is {
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("there never is %s; %d grants, errors: %v", what, len(l.grants), l.errors)
		}
	}
}

// awaitGrants returns when so many more grants were acknowledged.
func (l *load) awaitGrants(more int) {
	l.t.Helper()
	l.mutex.Lock()
	want := len(l.grants) + more
	l.mutex.Unlock()
	l.await(fmt.Sprintf("grant %d", want), func() bool { return len(l.grants) >= want })
}

func (l *load) work(ctx context.Context, number int, seats []seat) {
	at := 0
	for turn := 0; ctx.Err() == nil; turn++ {
		object := loadObject((number + turn) % loadObjects)
		err := l.hold(seats[at], object, fmt.Sprintf("%s-%d-%d", l.name, number, turn), turn)
		switch {
		case err == nil:
			worker.Rest(ctx, 2*time.Millisecond)
			continue
		case errors.Is(err, applock.ErrHeld), errors.Is(err, applock.ErrLost):
		case errors.Is(err, applock.ErrRetry), errors.Is(err, applock.ErrBusy), errors.Is(err, applock.ErrContention):
			l.note(func() { l.errors[errorText(err)]++ })
		default:
			l.note(func() { l.errors[errorText(err)]++ })
			at = (at + 1) % len(seats)
		}
		worker.Rest(ctx, 10*time.Millisecond)
	}
}

func (l *load) note(what func()) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	what()
}

// errorText is what errors of one kind have in common.
func errorText(err error) string {
	for _, known := range []error{applock.ErrOutcomeUnknown, applock.ErrUnreachable, applock.ErrReadOnly, applock.ErrRetry, applock.ErrBusy} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	text := err.Error()
	if i := strings.Index(text, "Error "); i >= 0 {
		text = text[i:]
	}
	return text[:min(len(text), 100)]
}

// hold looks at an object, takes it, writes under it, and gives it back, or leaves it to expire. The calls are not cut off by the
// end of the load.
func (l *load) hold(s seat, object, operator string, turn int) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.t.Context()), loadCall)
	defer cancel()
	key := applock.Key{Object: applock.Object{Type: loadType, ID: object}, Operator: operator}
	asked := monotonic()
	if turn%4 == 0 {
		held, err := s.client.Inquire(ctx, key.Object)
		if err != nil && !errors.Is(err, applock.ErrNotHeld) {
			return err
		}
		l.note(func() { l.looks = append(l.looks, look{object: object, fence: held.Fence, asked: asked}) })
		asked = monotonic()
	}
	got, err := s.client.Get(ctx, applock.GetRequest{Object: key.Object, Owner: applock.Owner{Operator: operator}, TTL: loadTTL})
	if err != nil {
		if !errors.Is(err, applock.ErrHeld) {
			l.note(func() { l.failed[operator] = errorText(err) })
		}
		return err
	}
	key.Fence = got.Fence
	g := &grant{Object: object, Operator: operator, Fence: got.Fence, By: s.node, Asked: asked, Answered: monotonic(), Ended: asked + loadTTL.Microseconds()}
	l.note(func() { l.grants = append(l.grants, g) })
	for i := range 3 {
		// The second and the third write what nobody else writes: a cluster that compares writes sees no conflict.
		if err := l.write(ctx, s, g, key, fmt.Sprintf("%s-%d", operator, i), i == 0); err != nil {
			return err
		}
	}
	if turn%8 == 5 {
		return nil // it expires
	}
	l.note(func() { g.Ended = min(g.Ended, monotonic()) })
	_, err = s.client.Release(ctx, applock.ReleaseRequest{Key: key})
	return err
}

// write makes a fenced write.
func (l *load) write(ctx context.Context, s seat, g *grant, key applock.Key, id string, isShared bool) error {
	tx, err := s.pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // of what was committed it is none
	if err := s.client.WithSQLTx(tx).Assert(ctx, key); err != nil {
		return err
	}
	w := write{object: g.Object, id: id, fence: g.Fence}
	if isShared {
		_, err := tx.ExecContext(ctx, s.bound("UPDATE guarded SET fence = $1, number = number + 1 WHERE object = $2"), int64(g.Fence), g.Object)
		if err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, s.bound("SELECT number FROM guarded WHERE object = $1"), g.Object).Scan(&w.number); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, s.bound("INSERT INTO guarded_write VALUES ($1, $2, $3, $4)"), id, g.Object, w.number, int64(g.Fence))
	if err != nil {
		return err
	}
	began := monotonic()
	if err := tx.Commit(); err != nil {
		return err
	}
	l.note(func() {
		l.writes = append(l.writes, w)
		g.Asserted = append(g.Asserted, began)
	})
	return nil
}

// judgedAt ends the load, and compares with what a node has.
func (l *load) judgedAt(s seat) verdict {
	l.t.Helper()
	l.end()
	v := l.judge(s.stored(l.t))
	l.t.Logf("node %d: %s", s.node, v)
	return v
}

// keptAt is judgedAt where nothing may be lost, and no promise broken.
func (l *load) keptAt(s seat) {
	l.t.Helper()
	if v := l.judgedAt(s); v.broken() > 0 {
		l.t.Errorf("node %d: violations", s.node)
	}
}

// stored reads what the server has.
func (s seat) stored(t *testing.T) stored {
	t.Helper()
	has := stored{history: map[string]bool{}, fences: map[string]applock.Fence{}}
	s.each(t, "SELECT object_id, '', 0, fence FROM "+s.schema+"appl_lock WHERE object_type = '"+loadType+"'", func(w write) { has.fences[w.object] = w.fence })
	s.each(t, "SELECT object_id, to_operator_id, 0, to_fence FROM "+s.schema+"appl_lock_event WHERE event IN ('ACQUIRED', 'OVERTAKEN') AND object_type = '"+loadType+"'",
		func(w write) { has.history[(&grant{Object: w.object, Operator: w.id, Fence: w.fence}).String()] = true })
	s.each(t, "SELECT object, id, number, fence FROM guarded_write", func(w write) { has.writes = append(has.writes, w) })
	return has
}

func (s seat) each(t *testing.T, query string, visit func(w write)) {
	t.Helper()
	rows, err := s.pool.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var w write
		if err := rows.Scan(&w.object, &w.id, &w.number, &w.fence); err != nil {
			t.Fatal(err)
		}
		visit(w)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// lost tells what a failover has lost, of the grants of one node, and checks that this is something, that nothing else is wrong, that no lost
// grant can be asserted, and that each object has a greater fence next.
func (l *load) lost(v verdict, node int, next seat) {
	l.t.Helper()
	if len(v.lost) == 0 || v.gone == 0 {
		l.t.Error("nothing was lost: the test shows nothing")
	}
	if len(v.wrong) > 0 {
		l.t.Errorf("wrong: %q", v.wrong)
	}
	var left, lost int64
	for _, g := range l.grants {
		switch {
		case g.By != node:
		case slices.Contains(v.lost, g):
			lost = max(lost, g.Answered)
		default:
			left = max(left, g.Answered)
		}
	}
	l.t.Logf("lost: %s, %d of %d grants, %d of %d fenced writes; held twice by the clock %d",
		time.Duration(lost-left)*time.Microsecond, len(v.lost), v.grants, v.gone, v.writes, len(v.overlaps))
	greatest := map[string]applock.Fence{}
	for _, g := range v.lost {
		greatest[g.Object] = max(greatest[g.Object], g.Fence)
		key := applock.Key{Object: applock.Object{Type: loadType, ID: g.Object}, Operator: g.Operator, Fence: g.Fence}
		if err := next.client.Assert(l.t.Context(), key); !errors.Is(err, applock.ErrLost) {
			l.t.Errorf("the lost grant of %s with fence %d: assert says %v, want ErrLost", g.Object, g.Fence, err)
		}
	}
	for _, object := range slices.Sorted(maps.Keys(greatest)) {
		request := applock.GetRequest{Object: applock.Object{Type: loadType, ID: object}, Owner: applock.Owner{Operator: "NEXT"}, TTL: time.Hour, MaxWait: time.Minute}
		if got, err := next.client.Get(l.t.Context(), request); err != nil || got.Fence <= greatest[object] {
			l.t.Errorf("%s: after the fence %d, which was lost, comes %d, %v", object, greatest[object], got.Fence, err)
		}
	}
}
