//go:build linux

package clusters_test

import (
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	applockpostgres "github.com/applock/applock/applock/postgres"
)

// Goal: with synchronous_mode_strict a failover loses nothing that was acknowledged, and lets no two have one object, whatever happens to
// the primary. Method: each thing happens to the primary of a cluster under load, which names all nodes; beside it each node has a
// client that goes on to ask that one, also while it thinks to be the primary still. Then every acknowledged grant has to be in the history of the
// new primary, every fenced write in its table, fences grow, and no two grants overlap.
func TestPatroniSynchronous(t *testing.T) {
	c := newPatroni(t, true)
	for name, disturb := range map[string]func(t *testing.T, old *patroniNode){
		"killed": func(t *testing.T, old *patroniNode) {
			c.kill(old)
			c.succeeded(t, old)
			c.begin(t, old)
		},
		"stopped and revived": func(t *testing.T, old *patroniNode) {
			c.signal(old, syscall.SIGSTOP)
			c.succeeded(t, old)
			c.signal(old, syscall.SIGCONT)
		},
		"cut off": func(t *testing.T, old *patroniNode) {
			old.cut()
			c.succeeded(t, old)
			old.join()
		},
		"switched over": func(t *testing.T, old *patroniNode) {
			if err := c.ask(t, http.MethodPost, "http://127.0.0.1:"+old.rest+"/switchover", `{"leader": "`+old.name+`"}`, nil); err != nil {
				t.Fatal(err)
			}
			c.succeeded(t, old)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.complete(t, true)
			old := c.leader(t)
			var seats [][]seat
			for range loadClients {
				seats = append(seats, []seat{pgSeat(t, c.dsn())})
			}
			for _, n := range c.nodes {
				seats = append(seats, []seat{pgSeat(t, n.dsn()+"&connect_timeout=2")})
			}
			load := newLoad(t, seats)
			load.awaitGrants(100)
			disturb(t, old)
			load.awaitGrants(100)
			c.complete(t, true)
			load.keptAt(pgSeat(t, c.leader(t).dsn()))
		})
	}
}

// succeeded returns when another node is the primary.
func (c *patroni) succeeded(t *testing.T, old *patroniNode) *patroniNode {
	t.Helper()
	began := time.Now()
	var leader *patroniNode
	c.await(t, "another node is the primary", func() bool {
		leader = c.leader(t, old)
		return leader != nil
	})
	t.Logf("%s succeeds %s after %s", leader.name, old.name, time.Since(began).Round(100*time.Millisecond))
	return leader
}

// Goal: what asynchronous replication loses in a failover is known, and fences keep growing all the same. Method: a primary under load
// whose standbys are parted from it goes on to acknowledge; then it is killed. What its successor lacks is told in bytes, seconds, grants and
// writes. A later grant has a greater fence than each that was lost, because fences are made of the clock, and a lost one can be asserted
// no more.
func TestPatroniAsynchronous(t *testing.T) {
	c := newPatroni(t, false)
	old := c.leader(t)
	var seats [][]seat
	for range loadClients {
		seats = append(seats, []seat{pgSeat(t, c.dsn())})
	}
	load := newLoad(t, seats)
	load.awaitGrants(100)
	old.peers.Silence()
	load.awaitGrants(200)
	load.end()
	c.kill(old)
	leader := c.succeeded(t, old)
	next := pgSeat(t, leader.dsn())
	load.lost(load.judgedAt(next), 0, next)
	old.peers.Reset()
	old.peers.Speak()
	c.begin(t, old)
	c.complete(t, false)
}

// Goal: who waits when the primary dies gets the lock from its successor, and is told of the release by a message again. Method: a waiter, and a
// primary that is killed; when a session listens at the successor, polling there is blinded: it says that all is held for an hour. Then
// the holder releases.
func TestPatroniWaiter(t *testing.T) {
	c := newPatroni(t, true)
	object := applock.Object{Type: "handoff", ID: "42"}
	holder, waiter := c.client(t), c.client(t)
	grant, err := holder.Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "HOLDER"}, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	type result struct {
		lease applock.Lease
		err   error
	}
	got := make(chan result, 1)
	go func() {
		lease, err := waiter.Acquire(t.Context(), applock.AcquireRequest{Object: object, MaxHold: time.Hour})
		got <- result{lease, err}
	}()
	old := c.leader(t)
	c.heard(t, old)
	c.kill(old)
	leader := c.succeeded(t, old)
	c.begin(t, old)
	began := time.Now()
	c.heard(t, leader)
	t.Logf("a session listens %s after the failover", time.Since(began).Round(100*time.Millisecond))
	c.complete(t, true)
	c.blind(t)
	began = time.Now()
	if _, err := holder.Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: "HOLDER", Fence: grant.Fence}}); err != nil {
		t.Fatal(err)
	}
	select {
	case r := <-got:
		if r.err != nil {
			t.Fatal(r.err)
		}
		if r.lease.Fence() <= grant.Fence {
			t.Errorf("the fence %d follows %d", r.lease.Fence(), grant.Fence)
		}
		t.Logf("handed over by a message in %s", time.Since(began).Round(time.Millisecond))
	case <-time.After(hangLimit):
		t.Fatal("nobody has told the waiter")
	}
}

func (c *patroni) client(t *testing.T) *applock.Client {
	t.Helper()
	client, err := applockpostgres.New(pgPool(t, c.dsn()), applockpostgres.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// heard returns when a session of a node listens: when it does, the last thing it has said is UNLISTEN, of a trial.
func (c *patroni) heard(t *testing.T, n *patroniNode) {
	t.Helper()
	c.await(t, "a session listens", func() bool {
		return n.number(t, "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'UNLISTEN %' AND state = 'idle'") > 0
	})
}

// blind has polls say that everything is held for an hour.
func (c *patroni) blind(t *testing.T) {
	t.Helper()
	_, err := pgPool(t, c.dsn()).Exec(t.Context(), `
		ALTER FUNCTION applock.poll_appl_locks(text, bigint) RENAME TO poll_appl_locks_seeing;
		CREATE FUNCTION applock.poll_appl_locks(p_client_id text, p_max_rows bigint,
			OUT object_type text, OUT object_id text, OUT free_in_us bigint, OUT first_fl text)
		RETURNS SETOF record LANGUAGE sql AS $$
			SELECT w.object_type::text, w.object_id::text, 3600000000, 'N' FROM applock.appl_lock_waiter AS w WHERE w.client_id = p_client_id
		$$`)
	if err != nil {
		t.Fatal(err)
	}
}
