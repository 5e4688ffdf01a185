//go:build linux

package clusters_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
)

const (
	loadType    = "clustered"
	loadObjects = 3
	loadTTL     = 2 * time.Second
	// loadCall is how long a client waits for one answer.
	loadCall = 4 * time.Second
)

// span is when a call was made and when it was answered, since the load began.
type span struct{ from, until time.Duration }

// loadGrant is a grant that was acknowledged.
type loadGrant struct {
	object, operator string
	fence            applock.Fence
	node             int
	got              span
	expires          time.Time
	// gone is when the release was called, zero if it was not: from then on the object may be another's.
	gone time.Duration
}

// loadWrite is a transaction that began with an assertion and whose commit was acknowledged.
type loadWrite struct {
	object, id string
	fence      applock.Fence
	node       int
	commit     span
	found      applock.Fence // in the row that all holders write, before
}

// loadLook is an answer of inquire.
type loadLook struct {
	object string
	fence  applock.Fence // 0: nobody
	node   int
	call   span
}

// load is clients that take, use and give back few locks, each on one node, from which it goes on to the next when that fails.
type load struct {
	t       *testing.T
	nodes   []*mysqlNode
	clients int
	// spread has the clients begin on different nodes, and return to theirs.
	spread   bool
	settings map[string]string // of their sessions

	name   string // begins the names of its operators
	began  time.Time
	mutex  sync.Mutex
	grants []*loadGrant
	writes []loadWrite
	looks  []loadLook
	failed map[string]string // gets that were answered with an error, by their operator
	errors map[string]int
	wait   sync.WaitGroup
	stop   context.CancelFunc
}

// installMySQL makes the database, the locks and the tables of what they protect.
func installMySQL(t *testing.T, n *mysqlNode) {
	t.Helper()
	n.exec(t, "CREATE DATABASE "+mysqlDatabase)
	if _, err := migrate.Up(t.Context(), n.seat(t, nil).client, migrate.UpRequest{}); err != nil {
		t.Fatal(err)
	}
	n.exec(t, "CREATE TABLE "+mysqlDatabase+".account (object VARCHAR(64) PRIMARY KEY, fence BIGINT NOT NULL)")
	n.exec(t, "CREATE TABLE "+mysqlDatabase+".entry (id VARCHAR(64) PRIMARY KEY, object VARCHAR(64) NOT NULL, fence BIGINT NOT NULL)")
	// The history tells of each grant, so that none is lost behind a later one.
	err := n.seat(t, nil).client.SetPolicy(t.Context(), applock.SetPolicyRequest{
		Policy: applock.Policy{Type: loadType, HistoryLevel: applock.HistoryAll}, Actor: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	for i := range loadObjects {
		n.exec(t, fmt.Sprintf("INSERT INTO %s.account VALUES ('%s', 0)", mysqlDatabase, loadObject(i)))
	}
}

func loadObject(i int) string { return fmt.Sprintf("object%d", i) }

// begin starts the clients.
func (l *load) begin() {
	l.t.Helper()
	ctx, cancel := context.WithCancel(l.t.Context())
	l.stop, l.began, l.errors, l.name = cancel, time.Now(), map[string]int{}, "c"+rand.Text()[:8]
	l.failed = map[string]string{}
	for number := range l.clients {
		var seats []mysqlSeat
		for _, n := range l.nodes {
			seat := n.seat(l.t, l.settings)
			seat.pool.SetMaxOpenConns(2)
			seats = append(seats, seat)
		}
		l.wait.Go(func() { l.work(ctx, number, seats) })
	}
}

// end stops the clients, and returns when the last one has.
func (l *load) end() {
	l.stop()
	l.wait.Wait()
}

// waitForGrants returns when so many more grants were acknowledged.
func (l *load) waitForGrants(n int) {
	l.t.Helper()
	count := func() int {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		return len(l.grants)
	}
	want := count() + n
	for deadline := time.Now().Add(mysqlLimit); count() < want; {
		if time.Now().After(deadline) {
			l.t.Fatalf("only %d grants of %d in %s; errors: %v", count(), want, mysqlLimit, l.errors)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// waitForError returns when a client was answered with an error.
func (l *load) waitForError(text string) {
	l.t.Helper()
	count := func() int {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		return l.errors[text]
	}
	for deadline := time.Now().Add(mysqlLimit); count() == 0; {
		if time.Now().After(deadline) {
			l.t.Fatalf("nobody was told: %s", text)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (l *load) work(ctx context.Context, number int, seats []mysqlSeat) {
	at := 0
	if l.spread {
		at = number % len(seats)
	}
	for turn := 0; ctx.Err() == nil; turn++ {
		object := loadObject((number + turn) % loadObjects)
		err := l.hold(seats[at], object, fmt.Sprintf("%s-%d-%d", l.name, number, turn), turn)
		if err == nil {
			l.rest(ctx, 2*time.Millisecond)
			continue
		}
		switch {
		case errors.Is(err, applock.ErrHeld), errors.Is(err, applock.ErrLost):
		case errors.Is(err, applock.ErrRetry), errors.Is(err, applock.ErrBusy), errors.Is(err, applock.ErrContention):
			l.count(err)
		default:
			l.count(err)
			at = (at + 1) % len(seats)
		}
		l.rest(ctx, 10*time.Millisecond)
	}
}

func (l *load) rest(ctx context.Context, long time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(long):
	}
}

func (l *load) count(err error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.errors[errorText(err)]++
}

// errorText is what errors of one kind have in common.
func errorText(err error) string {
	text := err.Error()
	for _, known := range []error{applock.ErrOutcomeUnknown, applock.ErrUnreachable, applock.ErrReadOnly, applock.ErrRetry, applock.ErrBusy} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	if i := strings.Index(text, "Error "); i >= 0 {
		text = text[i:]
	}
	return text[:min(len(text), 100)]
}

func (l *load) now() time.Duration { return time.Since(l.began) }

// hold looks at an object, takes it, writes under it, and gives it back, or leaves it to expire. The calls are not cut off by the
// end of the load.
func (l *load) hold(seat mysqlSeat, object, operator string, turn int) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.t.Context()), loadCall)
	defer cancel()
	o := applock.Object{Type: loadType, ID: object}
	if turn%4 == 0 {
		if err := l.look(ctx, seat, o); err != nil {
			return err
		}
	}
	from := l.now()
	grant, err := seat.client.Get(ctx, applock.GetRequest{Object: o, Owner: applock.Owner{Operator: operator}, TTL: loadTTL})
	if err != nil {
		if !errors.Is(err, applock.ErrHeld) {
			l.mutex.Lock()
			l.failed[operator] = errorText(err)
			l.mutex.Unlock()
		}
		return err
	}
	g := &loadGrant{
		object: object, operator: operator, fence: grant.Fence, node: seat.node, got: span{from, l.now()}, expires: grant.ExpiresAt,
	}
	l.mutex.Lock()
	l.grants = append(l.grants, g)
	l.mutex.Unlock()
	for i := range 3 {
		// The second and the third write what nobody else writes.
		if err := l.write(ctx, seat, g, fmt.Sprintf("%s-%d", operator, i), i == 0); err != nil {
			return err
		}
	}
	if turn%8 == 5 {
		return nil // it expires
	}
	l.mutex.Lock()
	g.gone = l.now()
	l.mutex.Unlock()
	_, err = seat.client.Release(ctx, applock.ReleaseRequest{Key: applock.Key{Object: o, Operator: operator, Fence: g.fence}})
	return err
}

func (l *load) look(ctx context.Context, seat mysqlSeat, o applock.Object) error {
	from := l.now()
	held, err := seat.client.Inquire(ctx, o)
	if err != nil && !errors.Is(err, applock.ErrNotHeld) {
		return err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.looks = append(l.looks, loadLook{object: o.ID, fence: held.Fence, node: seat.node, call: span{from, l.now()}})
	return nil
}

// write makes a fenced write.
func (l *load) write(ctx context.Context, seat mysqlSeat, g *loadGrant, id string, shared bool) error {
	tx, err := seat.pool.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // of what was committed it is none
	err = seat.client.WithSQLTx(tx).Assert(ctx, applock.Key{
		Object: applock.Object{Type: loadType, ID: g.object}, Operator: g.operator, Fence: g.fence,
	})
	if err != nil {
		return err
	}
	w := loadWrite{object: g.object, id: id, fence: g.fence, node: seat.node}
	if shared {
		if err := tx.QueryRowContext(ctx, "SELECT fence FROM account WHERE object = ? FOR UPDATE", g.object).Scan(&w.found); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE account SET fence = ? WHERE object = ?", g.fence, g.object); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO entry VALUES (?, ?, ?)", id, g.object, g.fence); err != nil {
		return err
	}
	from := l.now()
	if err := tx.Commit(); err != nil {
		return err
	}
	w.commit = span{from, l.now()}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.writes = append(l.writes, w)
	return nil
}

// verdict counts what must not be, and what may.
type verdict struct {
	grants, writes, looks int
	// lost are acknowledged grants of which the history has nothing.
	lost int
	// missing are those.
	missing []*loadGrant
	// behind are objects whose row has a smaller fence than was acknowledged.
	behind int
	// unknown are gets that were answered with an error, and have their grant in the history, by the error.
	unknown map[string]int
	// twice are grants that were acknowledged while the one before was live, by the clock, and nobody had called release.
	twice int
	// fences are grants whose fence is not greater than that of one which had been acknowledged before the call.
	fences int
	// late are fenced writes whose commit was called after a later grant had been acknowledged.
	late int
	// back are fenced writes that found a greater fence in the row that all holders write.
	back int
	// gone are acknowledged writes that are not there.
	gone int
	// stale are answers of inquire that tell less than was acknowledged before the call.
	stale int
	// pause is the longest time without a new grant of any object.
	pause time.Duration
}

// broken is how many promises were broken. A stale look is none: what a read tells was true.
func (v verdict) broken() int {
	return v.lost + v.behind + v.twice + v.fences + v.late + v.back + v.gone
}

func (v verdict) String() string {
	return fmt.Sprintf("%d grants, %d fenced writes, %d looks; lost grants %d, objects with an older fence %d, held twice %d, "+
		"fences not grown %d, late fenced writes %d, fenced writes that went back %d, lost writes %d, stale looks %d, longest pause %.1f s; an error and yet granted: %v",
		v.grants, v.writes, v.looks, v.lost, v.behind, v.twice, v.fences, v.late, v.back, v.gone, v.stale, v.pause.Seconds(), v.unknown)
}

// judge compares what was acknowledged with what a node has when all is over.
func (l *load) judge(n *mysqlNode) verdict {
	l.t.Helper()
	v := verdict{grants: len(l.grants), writes: len(l.writes), looks: len(l.looks), unknown: map[string]int{}}
	slices.SortFunc(l.grants, func(a, b *loadGrant) int { return int(a.got.until - b.got.until) })
	for i := 1; i < len(l.grants); i++ {
		v.pause = max(v.pause, l.grants[i].got.until-l.grants[i-1].got.until)
	}
	for i := range loadObjects {
		l.judgeObject(loadObject(i), &v)
	}
	fences := map[string]applock.Fence{}
	for i := range loadObjects {
		object := loadObject(i)
		fences[object] = applock.Fence(n.number64(l.t, fmt.Sprintf("SELECT coalesce(max(fence), 0) FROM %s.appl_lock WHERE object_type = '%s' AND object_id = '%s'",
			mysqlDatabase, loadType, object)))
	}
	granted := n.column(l.t, "SELECT to_operator_id FROM "+mysqlDatabase+".appl_lock_event WHERE event IN ('ACQUIRED', 'OVERTAKEN')")
	there := n.column(l.t, "SELECT id FROM "+mysqlDatabase+".entry")
	l.judgeLoss(fences, granted, there, &v)
	return v
}

// judgeLoss compares with the fences of the rows, with the operators of the history, and with the writes that are there.
func (l *load) judgeLoss(fences map[string]applock.Fence, granted, there map[string]bool, v *verdict) {
	for object, fence := range fences {
		if fence < l.lastFence(object, l.now()+time.Hour) {
			v.behind++
		}
	}
	for _, g := range l.grants {
		if !granted[g.operator] {
			v.lost++
			v.missing = append(v.missing, g)
		}
	}
	for operator, err := range l.failed {
		if granted[operator] {
			v.unknown[err]++
		}
	}
	for _, w := range l.writes {
		if !there[w.id] {
			v.gone++
		}
	}
}

// lastFence is the greatest that was acknowledged before a time.
func (l *load) lastFence(object string, before time.Duration) applock.Fence {
	var last applock.Fence
	for _, g := range l.grants {
		if g.object == object && g.got.until < before {
			last = max(last, g.fence)
		}
	}
	return last
}

func (l *load) judgeObject(object string, v *verdict) {
	var grants []*loadGrant
	for _, g := range l.grants {
		if g.object == object {
			grants = append(grants, g)
		}
	}
	for _, g := range grants {
		if g.fence <= l.lastFence(object, g.got.from) {
			v.fences++
		}
		for _, other := range grants {
			if other.fence > g.fence && other.got.until < g.expires.Sub(l.began) && (g.gone == 0 || other.got.until < g.gone) {
				v.twice++
				break
			}
		}
	}
	for _, w := range l.writes {
		if w.object != object {
			continue
		}
		if w.fence < l.lastFence(object, w.commit.from) {
			v.late++
		}
		if w.found > w.fence {
			v.back++
		}
	}
	for _, look := range l.looks {
		// What nobody has, was released or has expired since, or is not there yet: so only an older fence is stale for sure.
		if look.object == object && look.fence != 0 && look.fence < l.lastFence(object, look.call.from) {
			v.stale++
		}
	}
}

func (n *mysqlNode) number64(t *testing.T, query string) int64 {
	t.Helper()
	var number int64
	if err := n.admin.QueryRowContext(t.Context(), query).Scan(&number); err != nil {
		t.Fatalf("node %d: %s: %v", n.number, query, err)
	}
	return number
}

// column is the words that a query returns.
func (n *mysqlNode) column(t *testing.T, query string) map[string]bool {
	t.Helper()
	rows, err := n.admin.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	there := map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		there[id] = true
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return there
}

// judgesByHand: the judge of Group Replication and of Galera sees what it is there for: histories by hand, each with one thing wrong.
func judgesByHand(t *testing.T) {
	t.Helper()
	at := func(from, until int) span {
		return span{time.Duration(from) * time.Millisecond, time.Duration(until) * time.Millisecond}
	}
	began := time.Now()
	grant := func(fence applock.Fence, got span, gone int) *loadGrant {
		return &loadGrant{
			object: "o", fence: fence, got: got, gone: time.Duration(gone) * time.Millisecond, expires: began.Add(got.from + loadTTL),
		}
	}
	for name, c := range map[string]struct {
		load *load
		want verdict
	}{
		"one after the other": {load: &load{grants: []*loadGrant{grant(1, at(0, 1), 5), grant(2, at(6, 7), 0)}}},
		"expired":             {load: &load{grants: []*loadGrant{grant(1, at(0, 1), 0), grant(2, at(2500, 2501), 0)}}},
		"two at a time":       {&load{grants: []*loadGrant{grant(1, at(0, 1), 0), grant(2, at(6, 7), 0)}}, verdict{twice: 1}},
		"the same fence":      {&load{grants: []*loadGrant{grant(2, at(0, 1), 5), grant(2, at(6, 7), 0)}}, verdict{fences: 1}},
		"a late write": {&load{
			grants: []*loadGrant{grant(1, at(0, 1), 5), grant(2, at(6, 7), 0)}, writes: []loadWrite{{object: "o", fence: 1, commit: at(8, 9)}},
		}, verdict{late: 1}},
		"a write that goes back": {&load{writes: []loadWrite{{object: "o", fence: 1, found: 2}}}, verdict{back: 1}},
		"a stale look": {&load{
			grants: []*loadGrant{grant(1, at(0, 1), 5), grant(2, at(6, 7), 0)}, looks: []loadLook{{object: "o", fence: 1, call: at(8, 9)}},
		}, verdict{stale: 1}},
	} {
		var got verdict
		c.load.began = began
		c.load.judgeObject("o", &got)
		if got.String() != c.want.String() {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	for name, c := range map[string]struct {
		load *load
		want func(v *verdict)
	}{
		"all is there": {
			&load{grants: []*loadGrant{{object: "o", operator: "a", fence: 1}}, writes: []loadWrite{{id: "w"}}}, func(*verdict) {},
		},
		"a lost grant": {&load{grants: []*loadGrant{{object: "o", operator: "b", fence: 1}}}, func(v *verdict) { v.lost = 1 }},
		"a row of before": {
			&load{grants: []*loadGrant{{object: "o", operator: "a", fence: 2}}}, func(v *verdict) { v.behind = 1 },
		},
		"a lost write":            {&load{writes: []loadWrite{{id: "x"}}}, func(v *verdict) { v.gone = 1 }},
		"an error, and yet there": {&load{failed: map[string]string{"a": "error"}}, func(v *verdict) { v.unknown = map[string]int{"error": 1} }},
	} {
		got, want := verdict{unknown: map[string]int{}}, verdict{unknown: map[string]int{}}
		c.want(&want)
		c.load.began = began
		c.load.judgeLoss(map[string]applock.Fence{"o": 1}, map[string]bool{"a": true}, map[string]bool{"w": true}, &got)
		if got.String() != want.String() {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
