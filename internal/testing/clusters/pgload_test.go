//go:build linux

package clusters_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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
		if _, err := client.Release(calling, applock.ReleaseRequest{Object: o, Operator: operator, Fence: g.fence}); err != nil {
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
		err := applockpostgres.WithTx(client, tx).Assert(ctx, applock.AssertRequest{
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
	var lost pgLost
	history := pgSet(t, conn, "SELECT object_id || ' ' || to_fence || ' ' || to_operator_id FROM applock.appl_lock_event WHERE event IN ('ACQUIRED', 'OVERTAKEN')")
	for _, g := range l.grants {
		if !history[fmt.Sprintf("%s %d %s", g.object, g.fence, g.operator)] {
			lost.grants = append(lost.grants, g)
		}
	}
	kept := pgSet(t, conn, "SELECT object || ' ' || number || ' ' || fence FROM guarded_write")
	for _, w := range l.writes {
		if !kept[fmt.Sprintf("%s %d %d", w.object, w.number, w.fence)] {
			lost.writes++
		}
	}
	back := pgSet(t, conn, `SELECT w.object || ' ' || w.number FROM (SELECT object, number, fence, lag(fence) OVER (PARTITION BY object ORDER BY number) AS former FROM guarded_write) AS w
		WHERE w.fence < w.former`)
	for which := range back {
		t.Errorf("the fence of a fenced write is smaller than that of the one before: %s", which)
	}
	behind := pgSet(t, conn, `SELECT g.object FROM guarded AS g JOIN applock.appl_lock AS l ON l.object_type = '`+pgType+`' AND l.object_id = g.object WHERE l.fence < g.fence`)
	for which := range behind {
		t.Errorf("the lock has a fence smaller than the last fenced write: %s", which)
	}
	l.ordered(t)
	return lost
}

// ordered checks that of two grants of one object the later one has the greater fence, and that no two overlap.
func (l *pgLoad) ordered(t *testing.T) {
	t.Helper()
	of := map[string][]pgGrant{}
	for _, g := range l.grants {
		of[g.object] = append(of[g.object], g)
	}
	for object, grants := range of {
		slices.SortFunc(grants, func(a, b pgGrant) int { return cmp.Compare(a.fence, b.fence) })
		for i, g := range grants[1:] {
			former := grants[i]
			switch {
			case former.fence == g.fence:
				t.Errorf("%s: the fence %d was given twice", object, g.fence)
			case g.answered.Before(former.called):
				t.Errorf("%s: the fence %d was given after %d", object, former.fence, g.fence)
			case g.answered.Before(former.ended):
				t.Errorf("%s: %s and %s have it at the same time", object, former.operator, g.operator)
			}
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
