//go:build linux

package clusters_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/applock/applock/applock"
)

// galeraCluster is a cluster of MariaDB with Galera.
type galeraCluster []*mysqlNode

// newGalera starts so many nodes, the first of which has what is installed, and the others get it.
func newGalera(t *testing.T, nodes int, options ...string) galeraCluster {
	t.Helper()
	p := mysqlProgramOf(t, "galera")
	var c galeraCluster
	var addresses []string
	for i := range nodes {
		n := newMySQLNode(t, p, i+1)
		c = append(c, n)
		addresses = append(addresses, net.JoinHostPort("127.0.0.1", n.groupPort))
	}
	for _, n := range c {
		n.options = append(n.options,
			"--skip-log-bin", "--debug-no-sync", "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2", "--wsrep-on=ON",
			"--wsrep-provider="+p.option("--wsrep-provider="), "--wsrep-node-address=127.0.0.1", "--wsrep-sst-method=none",
			"--wsrep-provider-options="+strings.Join([]string{
				"gmcast.listen_addr=tcp://" + net.JoinHostPort("127.0.0.1", n.groupPort),
				"ist.recv_addr=" + net.JoinHostPort("127.0.0.1", "0"), "gcache.size=64M",
			}, ";"))
		n.options = append(n.options, options...)
	}
	c[0].start(t, "--wsrep-cluster-address=gcomm://")
	c[0].synced(t)
	for _, n := range c[1:] {
		// The join of a node is a change, too.
		state := fmt.Sprintf("# GALERA saved state\nversion: 2.1\nuuid:    %s\nseqno:   %s\nsafe_to_bootstrap: 0\n",
			c[0].status(t.Context(), "wsrep_local_state_uuid"), c[0].status(t.Context(), "wsrep_last_committed"))
		// All databases are empty, so that there is nothing to transfer: see the launcher of the tests.
		path := filepath.Join(n.data(), "grastate.dat")
		if err := os.WriteFile(path, []byte(state), 0o600); err != nil {
			t.Fatal(err)
		}
		n.own(t, path)
		n.options = append(n.options, "--wsrep-cluster-address=gcomm://"+strings.Join(addresses, ","))
		n.start(t)
		n.synced(t)
	}
	c[0].install(t)
	c.caughtUp(t)
	return c
}

func (n *mysqlNode) status(ctx context.Context, name string) string {
	return n.text(ctx, "SHOW GLOBAL STATUS LIKE '"+name+"'")
}

func (n *mysqlNode) synced(t *testing.T) {
	t.Helper()
	n.await(t, "it is synced", func(ctx context.Context) bool { return n.status(ctx, "wsrep_local_state_comment") == "Synced" })
}

// caughtUp waits until each node has what the furthest has.
func (c galeraCluster) caughtUp(t *testing.T) {
	t.Helper()
	for _, n := range c {
		n.exec(t, "SET GLOBAL wsrep_sync_wait = 1")
	}
	for _, n := range c {
		n.await(t, "it has caught up", func(ctx context.Context) bool { return n.text(ctx, "SELECT 'yes'") == "yes" })
		n.exec(t, "SET GLOBAL wsrep_sync_wait = 0")
	}
}

// Goal: how many promises are broken where each of three nodes takes writes, and where one does, in a healthy cluster and while a
// writer is killed. Method: six clients on three objects. All is counted; with one writer and wsrep_sync_wait nothing may be broken.
func TestGaleraUnderLoad(t *testing.T) {
	for _, s := range []struct {
		name     string
		spread   bool
		kill     bool
		settings map[string]string
	}{
		{"one writer", false, false, map[string]string{"wsrep_sync_wait": "7"}},
		{"one writer, killed", false, true, map[string]string{"wsrep_sync_wait": "7"}},
		{"one writer, killed, no wsrep_sync_wait", false, true, nil},
		{"three writers, wsrep_sync_wait", true, false, map[string]string{"wsrep_sync_wait": "7"}},
		{"three writers", true, false, nil},
		{"three writers, one killed", true, true, nil},
	} {
		t.Run(s.name, func(t *testing.T) {
			c := newGalera(t, 3)
			t.Log(mysqlVersion(t, c[0]), c[0].status(t.Context(), "wsrep_provider_version"))
			l := newLoad(t, seatsOn(t, c, s.settings, s.spread))
			l.awaitGrants(200)
			if s.kill {
				c[0].kill()
				c = c[1:]
			}
			l.awaitGrants(200)
			l.end()
			c.caughtUp(t)
			for _, n := range c {
				if v := l.judgedAt(n.seat(t, nil)); !s.spread && v.broken() > 0 {
					t.Errorf("node %d: violations", n.number)
				}
			}
		})
	}
}

// Goal: a writer that is cut off from the other nodes acknowledges nothing, refuses reads as well, and loses nothing of before; what has asserted
// there cannot be committed; it takes part again when it is back. Method: six clients on three objects, while Galera's gmcast.isolate parts the node
// that they write at, or the other two, from all nodes. Clients go on to the next node when theirs fails.
func TestGaleraPartition(t *testing.T) {
	for name, isolated := range map[string][]int{"the writer": {0}, "the writer after another node": {1, 0}} {
		t.Run(name, func(t *testing.T) {
			c := newGalera(t, 3)
			l := newLoad(t, seatsOn(t, c, map[string]string{"wsrep_sync_wait": "7"}, false))
			l.awaitGrants(100)
			o := applock.Object{Type: "asserted", ID: l.name}
			_, tx := assertAndWrite(t, c[0].seat(t, nil), o)
			for _, i := range isolated {
				c[i].exec(t, "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'")
			}
			for _, i := range isolated {
				c[i].await(t, "it knows that it is parted", func(ctx context.Context) bool { return c[i].status(ctx, "wsrep_cluster_status") == "non-Primary" })
			}
			c[0].answersNothing(t, o)
			if len(isolated) == 1 {
				passOn(t, c[1].seat(t, nil), o)
				l.awaitGrants(100)
			}
			if err := tx.Commit(); err == nil {
				t.Error("a transaction commits on the parted node that has asserted a grant")
			} else {
				t.Logf("on the parted node the commit says: %v", err)
			}
			for _, i := range isolated {
				c[i].exec(t, "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'")
			}
			for _, n := range c {
				n.synced(t)
			}
			l.awaitGrants(100)
			l.end()
			c.caughtUp(t)
			for _, n := range c {
				l.keptAt(n.seat(t, nil))
			}
		})
	}
}

// answersNothing checks that a node which is no part of the cluster says so, also to who only asks.
func (n *mysqlNode) answersNothing(t *testing.T, o applock.Object) {
	t.Helper()
	const code = 1047 // WSREP has not yet prepared node for application use
	client := n.seat(t, nil).client
	_, err := client.Inquire(limited(t, loadCall), o)
	if answer, found := errors.AsType[*mysql.MySQLError](err); !found || answer.Number != code {
		t.Errorf("node %d: inquire says %v, want error %d", n.number, err, code)
	}
	_, err = client.Get(limited(t, loadCall), applock.GetRequest{Object: o, Owner: applock.Owner{Operator: "ASMITH"}})
	answer, found := errors.AsType[*mysql.MySQLError](err)
	if !found || answer.Number != code || !errors.Is(err, applock.ErrOutcomeUnknown) {
		t.Errorf("node %d: get says %v, want error %d as ErrOutcomeUnknown", n.number, err, code)
	}
}

// Goal: an assertion keeps the lock from passing on at its own node. At another node it does not: then the transaction is rolled back,
// but not if its commit came before its node has applied what the other has done: the page says so. A renewal in that transaction,
// which changes the row of the lock, does keep it. Method: a transaction asserts and
// writes; the lock is released and taken on one node or the other; then the transaction commits. To be late, the first node has a great
// transaction to apply before.
func TestGaleraAssertion(t *testing.T) {
	c := newGalera(t, 2, "--wsrep-slave-threads=1")
	c[0].exec(t, "CREATE TABLE "+mysqlDatabase+".great (id INT PRIMARY KEY, n INT NOT NULL)")
	c[0].exec(t, "INSERT INTO "+mysqlDatabase+".great SELECT seq, 0 FROM "+mysqlDatabase+".seq_1_to_200000")
	c.caughtUp(t)
	here, there := c[0].seat(t, nil), c[1].seat(t, nil)
	t.Run("one writer", func(t *testing.T) {
		o := applock.Object{Type: loadType, ID: "one writer"}
		first, tx := assertAndWrite(t, here, o)
		_, err := here.client.Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: o, Operator: "JDOE", Fence: first.Fence}})
		if !errors.Is(err, applock.ErrBusy) {
			t.Errorf("release before the commit: %v, want ErrBusy", err)
		}
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
	})
	t.Run("two writers", func(t *testing.T) {
		o := applock.Object{Type: loadType, ID: "two writers"}
		_, tx := assertAndWrite(t, here, o)
		passOn(t, there, o)
		// This read waits until the node has applied all that.
		if _, err := c[0].seat(t, map[string]string{"wsrep_sync_wait": "7"}).client.Inquire(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if err := tx.Commit(); err == nil {
			t.Error("it commits, though its node has applied that the lock was passed on")
		}
	})
	t.Run("two writers, one late", func(t *testing.T) {
		const tries = 20
		for try := range tries {
			o := applock.Object{Type: loadType, ID: fmt.Sprint("late ", try)}
			first, tx := assertAndWrite(t, here, o)
			c[1].exec(t, "UPDATE "+mysqlDatabase+".great SET n = n + 1")
			second := passOn(t, there, o)
			err := tx.Commit()
			t.Logf("the commit under fence %d, after fence %d was acknowledged, says: %v", first.Fence, second.Fence, err)
			c.caughtUp(t)
			if err == nil {
				return // what the page warns of
			}
		}
		t.Errorf("in %d tries no transaction commits that has asserted a lost grant: the page warns of nothing", tries)
	})
	t.Run("two writers, one late, renewed", func(t *testing.T) {
		for try := range 5 {
			o := applock.Object{Type: loadType, ID: fmt.Sprint("renewed ", try)}
			first, tx := assertAndWrite(t, here, o)
			_, err := here.client.WithSQLTx(tx).Renew(t.Context(), applock.Key{Object: o, Operator: "JDOE", Fence: first.Fence}, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			c[1].exec(t, "UPDATE "+mysqlDatabase+".great SET n = n + 1")
			passOn(t, there, o)
			if err := tx.Commit(); err == nil {
				t.Error("it commits, though the lock that it has renewed was passed on")
			}
			c.caughtUp(t)
		}
	})
}

// assertAndWrite gets a lock for JDOE, and opens a transaction that asserts it and writes what nobody else writes.
func assertAndWrite(t *testing.T, s seat, o applock.Object) (applock.Grant, *sql.Tx) {
	t.Helper()
	grant := mustGet(t, s.client, o, "JDOE")
	tx, err := s.pool.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback() })
	err = s.client.WithSQLTx(tx).Assert(t.Context(), applock.Key{Object: o, Operator: "JDOE", Fence: grant.Fence})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "INSERT INTO guarded_write VALUES (?, ?, 0, ?)", o.ID, o.ID, int64(grant.Fence)); err != nil {
		t.Fatal(err)
	}
	return grant, tx
}

// passOn releases the lock of JDOE, as soon as the node has heard of that, and gets it for ASMITH.
func passOn(t *testing.T, s seat, o applock.Object) applock.Grant {
	t.Helper()
	for deadline := time.Now().Add(hangLimit); ; time.Sleep(time.Millisecond) {
		released, err := s.client.Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: o, Operator: "JDOE"}})
		if err == nil && released == applock.OutcomeReleased {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("it is never released: %v", err)
		}
	}
	return mustGet(t, s.client, o, "ASMITH")
}

// Goal: a read on another node is behind, unless wsrep_sync_wait has it wait. Method: the other node is kept from applying what it has
// received, by FLUSH TABLES WITH READ LOCK.
func TestGaleraStaleRead(t *testing.T) {
	c := newGalera(t, 2)
	o := applock.Object{Type: loadType, ID: "read"}
	here := c[0].seat(t, nil)
	careless, careful := c[1].seat(t, nil), c[1].seat(t, map[string]string{"wsrep_sync_wait": "7"})
	for _, s := range []seat{careless, careful} {
		if _, err := s.client.Inquire(t.Context(), o); !errors.Is(err, applock.ErrNotHeld) {
			t.Fatal(err)
		}
	}
	conn, err := c[1].admin.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(t.Context(), "FLUSH TABLES WITH READ LOCK"); err != nil {
		t.Fatal(err)
	}
	grant := mustGet(t, here.client, o, "JDOE")
	if held, err := careless.client.Inquire(t.Context(), o); !errors.Is(err, applock.ErrNotHeld) {
		t.Errorf("without wsrep_sync_wait: %v, %v, want nobody, which is stale", held, err)
	}
	type answer struct {
		lock applock.Lock
		err  error
	}
	told := make(chan answer, 1)
	go func() {
		lock, err := careful.client.Inquire(t.Context(), o)
		told <- answer{lock, err}
	}()
	select {
	case a := <-told:
		t.Errorf("with wsrep_sync_wait, before the node has caught up: %v, %v, want no answer", a.lock, a.err)
		return
	case <-time.After(time.Second): // it may be late, which would hide nothing: the answer below must be the new one
	}
	if _, err := conn.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
		t.Fatal(err)
	}
	if a := <-told; a.err != nil || a.lock.Fence != grant.Fence {
		t.Errorf("with wsrep_sync_wait: %v, %v, want the grant", a.lock, a.err)
	}
}

// Goal: what all nodes lose when they die at once depends on innodb_flush_log_at_trx_commit. Method: both are killed while grants are
// made; the first starts again alone with what it has. The log that is not flushed by each commit is so by the second: here by the
// minute, so that there is something to lose.
func TestGaleraAllKilled(t *testing.T) {
	for flush, safe := range map[string]bool{"0": false, "2": true, "1": true} {
		t.Run("innodb_flush_log_at_trx_commit="+flush, func(t *testing.T) {
			c := newGalera(t, 2, "--innodb-flush-log-at-trx-commit="+flush, "--innodb-flush-log-at-timeout=60")
			l := newLoad(t, seatsOn(t, c[:1], nil, false))
			l.awaitGrants(100)
			for _, n := range c {
				n.kill()
			}
			l.end()
			c[0].start(t, "--wsrep-on=OFF", "--wsrep-provider=none", "--wsrep-cluster-address=")
			v := l.judgedAt(c[0].seat(t, nil))
			if safe && len(v.lost)+v.gone > 0 {
				t.Error("acknowledged grants or writes are lost")
			}
			if !safe && len(v.lost)+v.gone == 0 {
				t.Error("nothing is lost: then the page need not recommend another setting")
			}
		})
	}
}
