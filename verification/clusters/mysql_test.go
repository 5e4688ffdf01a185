//go:build linux

package clusters_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/applock/applock/applock"
)

// group is a cluster of MySQL's Group Replication with a single primary.
type group []*mysqlNode

// newGroup starts three nodes, of which the first is the primary, and installs there.
func newGroup(t *testing.T) group {
	t.Helper()
	p := mysqlProgramOf(t, "mysql")
	var g group
	var seeds []string
	for i := range 3 {
		n := newMySQLNode(t, p, i+1)
		g = append(g, n)
		seeds = append(seeds, net.JoinHostPort("127.0.0.1", n.groupPort))
	}
	name := uuid()
	for _, n := range g {
		n.options = append(n.options,
			"--secure-file-priv=NULL", "--mysqlx=OFF", "--plugin-dir="+filepath.Join(p.base, "lib", "mysql", "plugin"),
			fmt.Sprintf("--server-id=%d", n.number), "--report-host=127.0.0.1", "--report-port="+n.port,
			"--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--log-bin=binlog", "--relay-log=relay", "--sync-binlog=0",
			"--plugin-load-add=group_replication.so", "--loose-group-replication-group-name="+name,
			"--loose-group-replication-local-address="+net.JoinHostPort("127.0.0.1", n.groupPort),
			"--loose-group-replication-group-seeds="+strings.Join(seeds, ","),
			"--loose-group-replication-start-on-boot=OFF", "--loose-group-replication-bootstrap-group=OFF",
			"--loose-group-replication-recovery-get-public-key=ON",
			// The default of 5 s is added to the 5 s after which a silent node is suspected.
			"--loose-group-replication-member-expel-timeout=0",
		)
		n.start(t)
	}
	g[0].exec(t, "SET GLOBAL group_replication_bootstrap_group = ON")
	g.join(t, g[0])
	g[0].exec(t, "SET GLOBAL group_replication_bootstrap_group = OFF")
	g.join(t, g[1])
	g.join(t, g[2])
	g[0].install(t)
	for _, n := range g[1:] {
		g.caughtUp(t, g[0], n)
	}
	return g
}

func uuid() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // it never fails
	return fmt.Sprintf("%x-%x-4%03x-a%03x-%x", b[:4], b[4:6], int(b[6]), int(b[7]), b[10:])
}

// join has a node take part.
func (g group) join(t *testing.T, n *mysqlNode) {
	t.Helper()
	n.await(t, "it joins", func(ctx context.Context) bool { // a busy machine is late for a limit of the server's now and then
		return n.try(ctx, "START GROUP_REPLICATION USER = 'root', PASSWORD = '"+n.program.password+"'") == nil
	})
	n.await(t, "it is online", func(ctx context.Context) bool {
		return n.text(ctx, "SELECT member_state FROM performance_schema.replication_group_members WHERE member_id = @@server_uuid") == "ONLINE"
	})
}

// online waits until another node says that this one is. One that was stopped does not know that it was expelled.
func (g group) online(t *testing.T, n, witness *mysqlNode) {
	t.Helper()
	n.await(t, "it is online", func(ctx context.Context) bool {
		return witness.text(ctx, "SELECT member_state FROM performance_schema.replication_group_members WHERE member_port = "+n.port) == "ONLINE"
	})
}

// primaryBy is the port of the primary as one node sees it.
func (g group) primaryBy(ctx context.Context, n *mysqlNode) string {
	return n.text(ctx, "SELECT member_port FROM performance_schema.replication_group_members WHERE member_role = 'PRIMARY' AND member_state = 'ONLINE'")
}

// awaitPrimary waits until a node knows a primary, which takes writes, and is not a certain one.
func (g group) awaitPrimary(t *testing.T, witness, not *mysqlNode) *mysqlNode {
	t.Helper()
	var primary *mysqlNode
	witness.await(t, "there is a primary", func(ctx context.Context) bool {
		port := g.primaryBy(ctx, witness)
		for _, n := range g {
			if n != not && n.port == port && n.text(ctx, "SELECT @@super_read_only") == "0" {
				primary = n
				return true
			}
		}
		return false
	})
	return primary
}

// caughtUp waits until a node has applied what another has.
func (g group) caughtUp(t *testing.T, from, n *mysqlNode) {
	t.Helper()
	executed := from.text(t.Context(), "SELECT @@GLOBAL.gtid_executed")
	n.exec(t, "DO WAIT_FOR_EXECUTED_GTID_SET('"+strings.ReplaceAll(executed, "\n", "")+"', 100)")
	if n.text(t.Context(), "SELECT GTID_SUBSET('"+executed+"', @@GLOBAL.gtid_executed)") != "1" {
		t.Fatalf("node %d does not catch up with node %d", n.number, from.number)
	}
}

// consistency sets group_replication_consistency everywhere.
func (g group) consistency(t *testing.T, level string) {
	t.Helper()
	for _, n := range g {
		n.exec(t, "SET GLOBAL group_replication_consistency = '"+level+"'")
	}
}

// Goal: whatever happens to the primary of a group, no acknowledged grant is lost, no object is held twice, fences grow and fenced
// writes stay in order. Method: six clients on three objects, which go on to the next node when theirs fails, while the primary is
// killed, stopped until it is expelled and then woken up, and switched; at each level of consistency that a failover has to do with.
func TestGroupReplicationFailover(t *testing.T) {
	g := newGroup(t)
	t.Log(mysqlVersion(t, g[0]))
	for _, level := range []string{"EVENTUAL", "BEFORE_ON_PRIMARY_FAILOVER", "AFTER"} {
		g.consistency(t, level)
		for _, fault := range []string{"kill", "stop", "switch"} {
			t.Run(level+"/"+fault, func(t *testing.T) { g.underLoad(t, fault) })
		}
	}
}

func (g group) underLoad(t *testing.T, fault string) {
	t.Helper()
	primary := g.awaitPrimary(t, g[0], nil)
	next := g[primary.number%3]
	l := newLoad(t, seatsOn(t, g, nil, false))
	l.awaitGrants(50)
	switch fault {
	case "kill":
		primary.kill()
		g.awaitPrimary(t, next, primary)
		l.awaitGrants(50)
		primary.start(t)
		primary.exec(t, "SET GLOBAL group_replication_consistency = '"+next.text(t.Context(), "SELECT @@GLOBAL.group_replication_consistency")+"'")
		g.join(t, primary)
	case "stop":
		o := applock.Object{Type: "asserted", ID: l.name}
		former := primary.seat(t, nil)
		_, tx := assertAndWrite(t, former, o)
		if err := former.pool.PingContext(t.Context()); err != nil { // so that there is a connection
			t.Fatal(err)
		}
		primary.signal(syscall.SIGSTOP)
		asked := make(chan error, 1)
		go func() {
			free := applock.Object{Type: o.Type, ID: o.ID + " free"}
			_, err := former.client.Get(t.Context(), applock.GetRequest{Object: free, Owner: applock.Owner{Operator: "JDOE"}})
			asked <- err
		}()
		second := passOn(t, g.awaitPrimary(t, next, primary).seat(t, nil), o)
		l.awaitGrants(50)
		primary.signal(syscall.SIGCONT)
		if err := tx.Commit(); err == nil {
			t.Errorf("on the former primary a transaction commits that has asserted a grant before that with fence %d", second.Fence)
		} else {
			t.Logf("on the former primary the commit says: %v", err)
		}
		err := <-asked
		if !errors.Is(err, applock.ErrOutcomeUnknown) && !errors.Is(err, applock.ErrReadOnly) {
			t.Errorf("on the former primary get says: %v, want ErrOutcomeUnknown or ErrReadOnly", err)
		}
		t.Logf("on the former primary get says: %v", err)
		// It finds out that it was expelled, and joins again by itself.
		g.online(t, primary, next)
	case "switch":
		next.exec(t, "SELECT group_replication_set_as_primary('"+next.text(t.Context(), "SELECT @@server_uuid")+"')")
	}
	l.awaitGrants(50)
	l.end()
	now := g.awaitPrimary(t, next, nil)
	for _, n := range g {
		g.caughtUp(t, now, n)
	}
	for _, n := range g {
		l.keptAt(n.seat(t, nil))
	}
}

// Goal: a secondary answers who only asks, also by a get that is refused, and says to the others what it is. Method: each operation on each node.
func TestGroupReplicationSecondary(t *testing.T) {
	g := newGroup(t)
	object := applock.Object{Type: "asked", ID: "42"}
	primary := g[0].seat(t, nil)
	grant, err := primary.client.Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	// Where each node takes writes it is 7, for AUTO_INCREMENT: the history has that, fences have not.
	if step := g[0].text(t.Context(), "SELECT @@auto_increment_increment"); step != "1" {
		t.Errorf("the step of AUTO_INCREMENT is %s, want 1", step)
	}
	for _, n := range g[1:] {
		g.caughtUp(t, g[0], n)
		n.refuses(t, object, grant)
	}
}

// refuses checks that a node answers who asks for an object that JDOE has, and refuses each change.
func (n *mysqlNode) refuses(t *testing.T, object applock.Object, grant applock.Grant) {
	t.Helper()
	client := n.seat(t, nil).client
	if held, err := client.Inquire(t.Context(), object); err != nil || held.Fence != grant.Fence {
		t.Errorf("node %d: inquire: %v, %v", n.number, held, err)
	}
	for lock, err := range client.List(t.Context(), applock.ListRequest{ObjectType: object.Type}) {
		if err != nil || lock.Fence != grant.Fence {
			t.Errorf("node %d: list: %v, %v", n.number, lock, err)
		}
	}
	_, err := client.Get(t.Context(), applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "ASMITH"}})
	if !errors.Is(err, applock.ErrHeld) {
		t.Errorf("node %d: a get that is refused: %v, want ErrHeld", n.number, err)
	}
	for operation, err := range changesOf(t.Context(), client, object, grant.Fence) {
		if !errors.Is(err, applock.ErrReadOnly) || errors.Is(err, applock.ErrOutcomeUnknown) {
			t.Errorf("node %d: %s: %v, want ErrReadOnly", n.number, operation, err)
		}
	}
}

// changesOf calls what changes.
func changesOf(ctx context.Context, client *applock.Client, object applock.Object, fence applock.Fence) map[string]error {
	answers := map[string]error{}
	_, answers["get that renews"] = client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: "JDOE"}})
	_, answers["get of a free object"] = client.Get(ctx, applock.GetRequest{
		Object: applock.Object{Type: object.Type, ID: "free"}, Owner: applock.Owner{Operator: "ASMITH"},
	})
	_, answers["release"] = client.Release(ctx, applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: "JDOE"}})
	_, answers["transfer"] = client.Transfer(ctx, applock.TransferRequest{Object: object, From: "JDOE", To: applock.Owner{Operator: "ASMITH"}})
	_, answers["renew"] = client.Renew(ctx, applock.Key{Object: object, Operator: "JDOE", Fence: fence}, time.Hour)
	return answers
}

// Goal: of a failover's first moment, EVENTUAL shows the old state and BEFORE_ON_PRIMARY_FAILOVER waits; grants are lost in neither.
// Method: both secondaries are kept from applying what they have received, by a table that a session has locked there. The lock passes
// from JDOE to ASMITH, the primary is killed, and the new one is asked before and after it may go on.
func TestGroupReplicationStaleAfterFailover(t *testing.T) {
	for level, stale := range map[string]bool{"EVENTUAL": true, "BEFORE_ON_PRIMARY_FAILOVER": false} {
		t.Run(level, func(t *testing.T) {
			g := newGroup(t)
			g.consistency(t, level)
			o := applock.Object{Type: loadType, ID: "passed on"}
			g[0].exec(t, "CREATE TABLE "+mysqlDatabase+".brake (id INT PRIMARY KEY, n INT)")
			g[0].exec(t, "INSERT INTO "+mysqlDatabase+".brake VALUES (1, 0)")
			client := g[0].seat(t, nil).client
			first := mustGet(t, client, o, "JDOE")
			var brakes []*sql.Conn
			for _, n := range g[1:] {
				g.caughtUp(t, g[0], n)
				brakes = append(brakes, n.brake(t))
			}
			g[0].exec(t, "UPDATE "+mysqlDatabase+".brake SET n = 1")
			if _, err := client.Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: o, Operator: "JDOE"}}); err != nil {
				t.Fatal(err)
			}
			second := mustGet(t, client, o, "ASMITH")
			g[0].kill()
			next := g.elected(t, g[0])
			held, err := next.seat(t, nil).client.Inquire(limited(t, 10*time.Second), o)
			if stale && held.Fence != first.Fence {
				t.Errorf("at first inquire says %v, %v, want the grant of before", held, err)
			}
			if !stale && err == nil {
				t.Errorf("at first inquire says %v, want no answer", held)
			}
			_, err = next.seat(t, nil).client.Get(limited(t, 10*time.Second), applock.GetRequest{Object: o, Owner: applock.Owner{Operator: "XSMITH"}})
			t.Logf("at first get says: %v", err)
			if err == nil {
				t.Error("at first get grants what ASMITH has")
			}
			for _, brake := range brakes {
				if _, err := brake.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
					t.Error(err)
				}
			}
			now := g.awaitPrimary(t, next, g[0])
			now.await(t, "the grant is there", func(ctx context.Context) bool {
				held, err := now.seat(t, nil).client.Inquire(ctx, o)
				return err == nil && held.Fence == second.Fence && held.Owner.Operator == "ASMITH"
			})
			_, err = now.seat(t, nil).client.Get(t.Context(), applock.GetRequest{Object: o, Owner: applock.Owner{Operator: "XSMITH"}})
			if !errors.Is(err, applock.ErrHeld) {
				t.Errorf("in the end get says %v, want ErrHeld", err)
			}
		})
	}
}

func mustGet(t *testing.T, client *applock.Client, o applock.Object, operator string) applock.Grant {
	t.Helper()
	grant, err := client.Get(t.Context(), applock.GetRequest{Object: o, Owner: applock.Owner{Operator: operator}, TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

func limited(t *testing.T, long time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), long)
	t.Cleanup(cancel)
	return ctx
}

// brake locks a table: whoever applies a change of it waits. (A locked row is not in the way: the applier rolls its owner back.)
func (n *mysqlNode) brake(t *testing.T) *sql.Conn {
	t.Helper()
	conn, err := n.admin.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	// Else UNLOCK TABLES would wait for what it holds up.
	if _, err := conn.ExecContext(t.Context(), "SET SESSION group_replication_consistency = 'EVENTUAL'"); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), "LOCK TABLES "+mysqlDatabase+".brake READ"); err != nil {
		t.Fatal(err)
	}
	return conn
}

// elected waits until the others have a primary, which need not take writes yet.
func (g group) elected(t *testing.T, not *mysqlNode) *mysqlNode {
	t.Helper()
	var next *mysqlNode
	g[1].await(t, "another primary is elected", func(ctx context.Context) bool {
		port := g.primaryBy(ctx, g[1])
		for _, n := range g {
			if n != not && n.port == port {
				next = n
			}
		}
		return next != nil
	})
	return next
}
