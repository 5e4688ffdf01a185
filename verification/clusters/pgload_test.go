//go:build linux

package clusters_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/applock/applock/applock"
	applockpostgres "github.com/applock/applock/applock/postgres"
)

const (
	pgType    = "clustered"
	pgObjects = 3
	pgWorkers = 6
	pgTTL     = 2 * time.Second
	// pgCall is how long a client waits for one answer.
	pgCall = 5 * time.Second
)

// pgGrant is a grant that was acknowledged. Times are the client's monotonic clock; ended is when it was given back or ran out.
type pgGrant struct {
	object, operator        string
	fence                   applock.Fence
	called, answered, ended time.Time
}

// pgWrite is a transaction that began with an assertion, and whose commit was acknowledged.
type pgWrite struct {
	object string
	number int64
	fence  applock.Fence
}

// pgLoad is clients that take few locks, write what these guard, and give them back.
type pgLoad struct {
	mutex   sync.Mutex
	grants  []pgGrant
	writes  []pgWrite
	unknown int
	last    time.Time // of an answer
	longest time.Duration

	stop  context.CancelFunc
	group sync.WaitGroup
}

// prepareLoad makes what the locks guard, and has the history told of every grant.
func prepareLoad(t *testing.T, pool *pgxpool.Pool, client *applock.Client) {
	t.Helper()
	_, err := pool.Exec(t.Context(), `
		CREATE TABLE guarded (object text PRIMARY KEY, fence bigint NOT NULL, number bigint NOT NULL);
		INSERT INTO guarded SELECT 'o' || i, 0, 0 FROM generate_series(0, 9) AS i;
		CREATE TABLE guarded_write (object text, number bigint, fence bigint NOT NULL, operator text NOT NULL, PRIMARY KEY (object, number));`)
	if err != nil {
		t.Fatal(err)
	}
	err = client.SetPolicy(t.Context(), applock.SetPolicyRequest{
		Policy: applock.Policy{Type: pgType, HistoryLevel: applock.HistoryAll}, Actor: "test", Reason: "every grant",
	})
	if err != nil {
		t.Fatal(err)
	}
}

// newPGLoad begins. Beside those that name all nodes there is one client for each of the DSNs of single nodes.
func newPGLoad(t *testing.T, dsn string, single ...string) *pgLoad {
	t.Helper()
	l := &pgLoad{}
	var ctx context.Context
	ctx, l.stop = context.WithCancel(t.Context())
	all := single
	for range pgWorkers {
		all = append(all, dsn)
	}
	for i, one := range all {
		pool := pgPool(t, one+"&pool_max_conns=1")
		client, err := applockpostgres.New(pool, applockpostgres.Config{})
		if err != nil {
			t.Fatal(err)
		}
		l.group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				l.round(ctx, pool, client, fmt.Sprintf("o%d", (i+n)%pgObjects), fmt.Sprintf("w%d-%d", i, n))
			}
		})
	}
	t.Cleanup(l.end)
	return l
}

// end has the clients end, and returns when they have.
func (l *pgLoad) end() {
	l.stop()
	l.group.Wait()
}

// round takes a lock, writes with it, and gives it back, or leaves it to its end.
func (l *pgLoad) round(ctx context.Context, pool *pgxpool.Pool, client *applock.Client, object, operator string) {
	calling, cancel := context.WithTimeout(context.WithoutCancel(ctx), pgCall)
	defer cancel()
	o := applock.Object{Type: pgType, ID: object}
	g := pgGrant{object: object, operator: operator, called: time.Now()}
	grant, err := client.Get(calling, applock.GetRequest{Object: o, Owner: applock.Owner{Operator: operator}, TTL: pgTTL})
	if err != nil {
		l.failed(err)
		pgPause(ctx, 20*time.Millisecond)
		return
	}
	g.fence, g.answered, g.ended = grant.Fence, time.Now(), g.called.Add(pgTTL)
	l.write(calling, pool, client, g)
	if grant.Fence%5 > 0 {
		if released := time.Now(); released.Before(g.ended) {
			g.ended = released
		}
		if _, err := client.Release(calling, applock.ReleaseRequest{Key: applock.Key{Object: o, Operator: operator, Fence: g.fence}}); err != nil {
			l.failed(err)
		}
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.grants = append(l.grants, g)
	if !l.last.IsZero() {
		l.longest = max(l.longest, g.answered.Sub(l.last))
	}
	if g.answered.After(l.last) {
		l.last = g.answered
	}
}

func (l *pgLoad) failed(err error) {
	var held *applock.HeldError
	if errors.As(err, &held) || errors.Is(err, applock.ErrNotHeld) {
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.unknown++
}

// write is a transaction that asserts the grant first.
func (l *pgLoad) write(ctx context.Context, pool *pgxpool.Pool, client *applock.Client, g pgGrant) {
	w := pgWrite{object: g.object, fence: g.fence}
	err := pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		err := applockpostgres.WithTx(client, tx).Assert(ctx, applock.Key{
			Object: applock.Object{Type: pgType, ID: g.object}, Operator: g.operator, Fence: g.fence,
		})
		if err != nil {
			return err
		}
		err = tx.QueryRow(ctx, "UPDATE guarded SET fence = $2, number = number + 1 WHERE object = $1 RETURNING number",
			g.object, int64(g.fence)).Scan(&w.number)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "INSERT INTO guarded_write VALUES ($1, $2, $3, $4)", g.object, w.number, int64(g.fence), g.operator)
		return err
	})
	if err != nil {
		l.failed(err)
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.writes = append(l.writes, w)
}

// awaitGrants returns when there are so many more acknowledged grants.
func (l *pgLoad) awaitGrants(t *testing.T, more int) {
	t.Helper()
	count := func() int {
		l.mutex.Lock()
		defer l.mutex.Unlock()
		return len(l.grants)
	}
	goal := count() + more
	ctx, cancel := context.WithTimeout(t.Context(), pgLimit)
	defer cancel()
	for count() < goal {
		pgPause(ctx, 20*time.Millisecond)
		if ctx.Err() != nil {
			t.Fatalf("%d grants were expected and %d made", goal, count())
		}
	}
}

// pgLost is what a server does not have of what was acknowledged.
type pgLost struct {
	grants []pgGrant
	writes int
}

// judge compares all that was acknowledged with what a server has, and returns what it has lost. Everything else that may not be is an error.
func (l *pgLoad) judge(t *testing.T, n *patroniNode) pgLost {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), n.dsn())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	l.mutex.Lock()
	defer l.mutex.Unlock()
	history := pgSet(t, conn, "SELECT object_id || ' ' || to_fence || ' ' || to_operator_id FROM applock.appl_lock_event WHERE event IN ('ACQUIRED', 'OVERTAKEN')")
	rows, err := conn.Query(t.Context(), "SELECT object, number, fence FROM guarded_write")
	if err != nil {
		t.Fatal(err)
	}
	kept, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (w pgWrite, err error) {
		return w, row.Scan(&w.object, &w.number, &w.fence)
	})
	if err != nil {
		t.Fatal(err)
	}
	behind := pgSet(t, conn, `SELECT g.object FROM guarded AS g JOIN applock.appl_lock AS l ON l.object_type = '`+pgType+`' AND l.object_id = g.object WHERE l.fence < g.fence`)
	for which := range behind {
		t.Errorf("the lock has a fence smaller than the last fenced write: %s", which)
	}
	for _, wrong := range slices.Concat(l.disordered(), wentBack(kept)) {
		t.Error(wrong)
	}
	return l.lost(history, kept)
}

func (g pgGrant) String() string { return fmt.Sprintf("%s %d %s", g.object, g.fence, g.operator) }

// lost is what is neither in the history nor among the writes that are there.
func (l *pgLoad) lost(history map[string]bool, kept []pgWrite) pgLost {
	var lost pgLost
	for _, g := range l.grants {
		if !history[g.String()] {
			lost.grants = append(lost.grants, g)
		}
	}
	there := map[pgWrite]bool{}
	for _, w := range kept {
		there[w] = true
	}
	for _, w := range l.writes {
		if !there[w] {
			lost.writes++
		}
	}
	return lost
}

// wentBack tells of the writes whose fence is smaller than that of the one before.
func wentBack(kept []pgWrite) []string {
	slices.SortFunc(kept, func(a, b pgWrite) int {
		return cmp.Or(cmp.Compare(a.object, b.object), cmp.Compare(a.number, b.number))
	})
	var wrong []string
	for i := 1; i < len(kept); i++ {
		if former, w := kept[i-1], kept[i]; former.object == w.object && w.fence < former.fence {
			wrong = append(wrong, fmt.Sprintf("the fence of a fenced write is smaller than that of the one before: %s %d", w.object, w.number))
		}
	}
	return wrong
}

// disordered tells where of two grants of one object the later one has no greater fence, and where two overlap.
func (l *pgLoad) disordered() []string {
	of := map[string][]pgGrant{}
	for _, g := range l.grants {
		of[g.object] = append(of[g.object], g)
	}
	var wrong []string
	for object, grants := range of {
		slices.SortFunc(grants, func(a, b pgGrant) int { return cmp.Compare(a.fence, b.fence) })
		for i, g := range grants[1:] {
			former := grants[i]
			switch {
			case former.fence == g.fence:
				wrong = append(wrong, fmt.Sprintf("%s: the fence %d was given twice", object, g.fence))
			case g.answered.Before(former.called):
				wrong = append(wrong, fmt.Sprintf("%s: the fence %d was given after %d", object, former.fence, g.fence))
			case g.answered.Before(former.ended):
				wrong = append(wrong, fmt.Sprintf("%s: %s and %s have it at the same time", object, former.operator, g.operator))
			}
		}
	}
	return wrong
}

// Goal: the load's judge sees what it is there for. Method: records by hand, each with one thing wrong.
func TestPatroniJudge(t *testing.T) {
	began := time.Now()
	at := func(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }
	grant := func(operator string, fence applock.Fence, called, ended int) pgGrant {
		return pgGrant{object: "o", operator: operator, fence: fence, called: at(called), answered: at(called + 1), ended: at(ended)}
	}
	history := map[string]bool{"o 1 a": true, "o 2 b": true}
	for name, c := range map[string]struct {
		load         *pgLoad
		kept         []pgWrite
		wrong        string
		grants, gone int
	}{
		"one after the other": {
			load: &pgLoad{grants: []pgGrant{grant("a", 1, 0, 5), grant("b", 2, 6, 9)}, writes: []pgWrite{{"o", 1, 1}, {"o", 2, 2}}},
			kept: []pgWrite{{"o", 1, 1}, {"o", 2, 2}},
		},
		"two at a time":  {load: &pgLoad{grants: []pgGrant{grant("a", 1, 0, 8), grant("b", 2, 6, 9)}}, wrong: "o: a and b have it at the same time"},
		"the same fence": {load: &pgLoad{grants: []pgGrant{grant("a", 1, 0, 5), grant("a", 1, 6, 9)}}, wrong: "o: the fence 1 was given twice"},
		"a fence that goes back": {
			load: &pgLoad{grants: []pgGrant{grant("b", 2, 0, 5), grant("a", 1, 6, 9)}}, wrong: "o: the fence 1 was given after 2",
		},
		"a write that goes back": {
			load: &pgLoad{}, kept: []pgWrite{{"o", 1, 2}, {"o", 2, 1}}, wrong: "the fence of a fenced write is smaller than that of the one before: o 2",
		},
		"a lost grant":                    {load: &pgLoad{grants: []pgGrant{grant("c", 3, 0, 5)}}, grants: 1},
		"a grant that another one has":    {load: &pgLoad{grants: []pgGrant{grant("c", 2, 0, 5)}}, grants: 1},
		"a lost write":                    {load: &pgLoad{writes: []pgWrite{{"o", 2, 2}}}, kept: []pgWrite{{"o", 1, 1}}, gone: 1},
		"a write that another one is now": {load: &pgLoad{writes: []pgWrite{{"o", 1, 1}}}, kept: []pgWrite{{"o", 1, 2}}, gone: 1},
	} {
		wrong := strings.Join(slices.Concat(c.load.disordered(), wentBack(c.kept)), "; ")
		lost := c.load.lost(history, c.kept)
		if wrong != c.wrong || len(lost.grants) != c.grants || lost.writes != c.gone {
			t.Errorf("%s: %q, lost grants %v, lost writes %d; want %q, %d, %d", name, wrong, lost.grants, lost.writes, c.wrong, c.grants, c.gone)
		}
	}
}

func pgSet(t *testing.T, conn *pgx.Conn, query string) map[string]bool {
	t.Helper()
	rows, err := conn.Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	set := map[string]bool{}
	for _, text := range texts {
		set[text] = true
	}
	return set
}

func pgPause(ctx context.Context, long time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(long):
	}
}
