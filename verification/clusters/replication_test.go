//go:build linux

package clusters_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/getlock"
	"github.com/applock/applock/internal/testing/wire"
)

// pair is a primary and its replica, which reads from it through a wire.
type pair struct {
	primary, replica *mysqlNode
	wire             *wire.Wire
}

// newPair starts both with options, installs at the primary, and has the replica follow.
func newPair(t *testing.T, options ...string) *pair {
	t.Helper()
	program := mysqlProgramOf(t, "mysql")
	p := &pair{primary: newMySQLNode(t, program, 1), replica: newMySQLNode(t, program, 2)}
	for _, n := range []*mysqlNode{p.primary, p.replica} {
		n.options = append(n.options,
			"--secure-file-priv=NULL", "--mysqlx=OFF", "--plugin-dir="+filepath.Join(program.base, "lib", "mysql", "plugin"),
			fmt.Sprintf("--server-id=%d", n.number), "--gtid-mode=ON", "--enforce-gtid-consistency=ON", "--log-bin=binlog",
			"--relay-log=relay", "--sync-binlog=0",
		)
		n.options = append(n.options, options...)
	}
	p.primary.start(t)
	p.wire = wire.New(t, p.primary.address())
	p.primary.install(t)
	return p
}

// follow starts the replica. What it is started with besides is for its environment.
func (p *pair) follow(t *testing.T) {
	t.Helper()
	p.replica.start(t)
	host, port, _ := strings.Cut(p.wire.Address, ":")
	p.replica.exec(t, "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '"+host+"', SOURCE_PORT = "+port+", SOURCE_USER = 'root', SOURCE_PASSWORD = '"+
		p.replica.program.password+"', SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1, SOURCE_CONNECT_RETRY = 1")
	p.replica.exec(t, "SET GLOBAL super_read_only = ON")
	p.replica.exec(t, "START REPLICA")
	p.caughtUp(t)
}

// caughtUp waits until the replica has applied what the primary has.
func (p *pair) caughtUp(t *testing.T) {
	t.Helper()
	group{p.primary, p.replica}.caughtUp(t, p.primary, p.replica)
}

// promote makes the replica a primary when it has applied what it has received.
func (p *pair) promote(t *testing.T) {
	t.Helper()
	p.replica.exec(t, "STOP REPLICA IO_THREAD")
	got := strings.ReplaceAll(p.replica.field(t, "SHOW REPLICA STATUS", "Retrieved_Gtid_Set"), "\n", "")
	p.replica.exec(t, "DO WAIT_FOR_EXECUTED_GTID_SET('"+got+"', 100)")
	if p.replica.text(t.Context(), "SELECT GTID_SUBSET('"+got+"', @@GLOBAL.gtid_executed)") != "1" {
		t.Fatal("the replica does not apply what it has received")
	}
	p.replica.exec(t, "STOP REPLICA")
	p.replica.exec(t, "RESET REPLICA ALL")
	p.replica.exec(t, "SET GLOBAL super_read_only = OFF")
	p.replica.exec(t, "SET GLOBAL read_only = OFF")
}

// field is a column of the first row of an answer.
func (n *mysqlNode) field(t *testing.T, query, column string) string {
	t.Helper()
	rows, err := n.admin.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	if !rows.Next() {
		t.Fatalf("%s: no row: %v", query, rows.Err())
	}
	if err := errors.Join(rows.Scan(into...), rows.Err()); err != nil {
		t.Fatal(err)
	}
	at := slices.Index(columns, column)
	if at < 0 {
		t.Fatalf("%s: no column %s", query, column)
	}
	return values[at].String
}

// failOver kills the primary under load and promotes the replica, on which the load goes on; it returns what the new primary has of
// what was acknowledged.
func (p *pair) failOver(t *testing.T, l *load) (verdict, seat) {
	t.Helper()
	p.primary.kill()
	p.promote(t)
	l.awaitGrants(100)
	next := p.replica.seat(t, nil)
	return l.judgedAt(next), next
}

// loses is failOver where the replica lacks something.
func (p *pair) loses(t *testing.T, l *load) {
	t.Helper()
	v, next := p.failOver(t, l)
	l.lost(v, p.primary.number, next)
}

// Goal: what asynchronous replication loses in a failover is known, fences keep growing, and no lost grant can be asserted. Method: a
// primary under load goes on to acknowledge while its replica is parted from it; then it is killed, and the replica becomes the primary of
// the same load. What it lacks is told in seconds, grants and writes.
func TestReplicationAsynchronous(t *testing.T) {
	p := newPair(t)
	p.follow(t)
	t.Log(mysqlVersion(t, p.primary))
	l := newLoad(t, seatsOn(t, []*mysqlNode{p.primary, p.replica}, nil, false))
	l.awaitGrants(100)
	p.wire.Silence()
	l.awaitGrants(200)
	p.loses(t, l)
}

// semiSync has a commit wait until the replica has it, for so long, at a server where rpl_semi_sync_source_enabled is set.
func semiSync(timeout time.Duration) []string {
	return []string{
		"--plugin-load-add=semisync_source.so", "--plugin-load-add=semisync_replica.so", "--loose-rpl-semi-sync-replica-enabled=ON",
		"--loose-rpl-semi-sync-source-wait-point=AFTER_SYNC",
		fmt.Sprintf("--loose-rpl-semi-sync-source-timeout=%d", timeout.Milliseconds()),
	}
}

// acknowledges waits until the primary says whether it has a replica that acknowledges.
func (p *pair) acknowledges(t *testing.T, want string) {
	t.Helper()
	p.primary.await(t, "semi-synchronous replication is "+want, func(ctx context.Context) bool {
		return p.primary.status(ctx, "Rpl_semi_sync_source_status") == want
	})
}

// Goal: semi-synchronous replication loses nothing as long as the primary waits for its replica; when rpl_semi_sync_source_timeout is
// over it acknowledges without, and loses as asynchronous replication does. Method: the primary under load is killed while its replica
// follows; is parted first and killed while commits wait, which nothing ends; is parted, has given up waiting, and is killed then. In
// between the last one shows that a replica that is back is waited for again.
func TestReplicationSemiSynchronous(t *testing.T) {
	begin := func(t *testing.T, timeout time.Duration) (*pair, *load) {
		t.Helper()
		p := newPair(t, semiSync(timeout)...)
		p.follow(t)
		p.primary.exec(t, "SET GLOBAL rpl_semi_sync_source_enabled = ON")
		p.acknowledges(t, "ON")
		l := newLoad(t, seatsOn(t, []*mysqlNode{p.primary, p.replica}, nil, false))
		l.awaitGrants(100)
		return p, l
	}
	kept := func(t *testing.T, p *pair, l *load) {
		t.Helper()
		if v, _ := p.failOver(t, l); v.broken() > 0 {
			t.Error("violations")
		}
	}
	t.Run("killed", func(t *testing.T) {
		p, l := begin(t, time.Hour)
		kept(t, p, l)
	})
	t.Run("parted and killed", func(t *testing.T) {
		p, l := begin(t, time.Hour)
		p.wire.Silence()
		p.primary.await(t, "commits wait", func(ctx context.Context) bool {
			return p.primary.status(ctx, "Rpl_semi_sync_source_wait_sessions") != "0"
		})
		l.await("an unknown outcome", func() bool { return l.errors[applock.ErrOutcomeUnknown.Error()] > 0 })
		if status := p.primary.status(t.Context(), "Rpl_semi_sync_source_status"); status != "ON" {
			t.Errorf("semi-synchronous replication is %s, want ON", status)
		}
		kept(t, p, l)
	})
	t.Run("given up", func(t *testing.T) {
		p, l := begin(t, time.Second)
		p.wire.Silence()
		p.acknowledges(t, "OFF")
		l.awaitGrants(50)
		p.wire.Reset()
		p.wire.Speak()
		p.acknowledges(t, "ON")
		p.wire.Silence()
		p.acknowledges(t, "OFF")
		l.awaitGrants(100)
		p.loses(t, l)
	})
}

// Goal: a replica answers who only asks, also by a get that is refused, and says to the others what it is. Method: each operation.
func TestReplicationReplica(t *testing.T) {
	p := newPair(t)
	p.follow(t)
	object := applock.Object{Type: "asked", ID: "42"}
	grant := mustGet(t, p.primary.seat(t, nil).client, object, "JDOE")
	p.caughtUp(t)
	p.replica.refuses(t, object, grant)
}

// Goal: a server that is read_only is asked, and refuses every verb that writes, also where the definer is root, who may write there, and named
// locks (GET_LOCK).
// Method: a server of its own of each product, each operation on it as root, and the locks before and after.
func TestReplicationReadOnly(t *testing.T) {
	for _, product := range []string{"mariadb", "mysql"} {
		t.Run(product, func(t *testing.T) {
			n := newMySQLNode(t, mysqlProgramOf(t, product), 1)
			if product == "mysql" {
				n.options = append(n.options, "--secure-file-priv=NULL", "--mysqlx=OFF")
			}
			n.start(t)
			n.install(t)
			object := applock.Object{Type: "asked", ID: "42"}
			grant := mustGet(t, n.seat(t, nil).client, object, "JDOE")
			named := n.namedLocks(t)
			if _, err := named.TryAcquire(t.Context(), applock.AcquireRequest{Object: object, MaxHold: time.Hour}); err != nil {
				t.Errorf("a named lock before: %v", err)
			}
			n.exec(t, "SET GLOBAL read_only = ON")
			n.refuses(t, object, grant)
			other := applock.Object{Type: "asked", ID: "43"} // in the session that took the former one
			if _, err := named.TryAcquire(t.Context(), applock.AcquireRequest{Object: other, MaxHold: time.Hour}); !errors.Is(err, applock.ErrReadOnly) {
				t.Errorf("a named lock: %v, want ErrReadOnly", err)
			}
			for call, also := range map[string]string{
				"take_appl_lock_row('asked', '42', 'BOSS', NULL, 'why', NULL, NULL)":                        "",
				"note_appl_lock_row('asked', '42', 'JDOE', NULL, 'why')":                                    "",
				"announce_appl_lock_waiter_row('asked', '42', 'BOSS', NULL, 'p', NULL)":                     "",
				"transfer_appl_locks('JDOE', NULL, 'BOSS', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)": "",
				"release_appl_locks('JDOE', NULL, NULL, NULL, NULL, NULL, NULL, NULL)":                      "",
				"purge_appl_locks_row(NULL, NULL)":                                                          "",
				"purge_appl_lock_history_row(NULL, NULL)":                                                   "",
				"set_appl_lock_policy_row('asked', NULL, NULL, NULL, 'A', NULL, 'ALL', NULL, NULL)":         "",
				"get_appl_lock_row('asked', '42', 'JDOE', NULL, NULL, NULL)":                                "START TRANSACTION",
				"release_appl_lock_row('asked', '42', 'JDOE', NULL, NULL, NULL)":                            "START TRANSACTION",
			} {
				if err := n.callIn(t, also, call); err == nil || !strings.Contains(err.Error(), "1290") {
					t.Errorf("%s %s: %v, want error 1290", also, call, err)
				}
			}
			if left := n.text(t.Context(), "SELECT CONCAT(COUNT(*), MAX(operator_id), MAX(fence)) FROM "+mysqlDatabase+".appl_lock"); left != fmt.Sprintf("1JDOE%d", grant.Fence) {
				t.Errorf("the locks are %s, want JDOE's grant %d", left, grant.Fence)
			}
		})
	}
}

// namedLocks are leases on GET_LOCK, until the test ends.
func (n *mysqlNode) namedLocks(t *testing.T) *lease.Leases {
	t.Helper()
	leases, err := getlock.New(getlock.Config{DSN: "root:" + n.program.password + "@tcp(" + n.address() + ")/"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = leases.Close() })
	return leases
}

// callIn calls an operation in a session of its own, after another statement.
func (n *mysqlNode) callIn(t *testing.T, before, call string) error {
	t.Helper()
	conn, err := n.admin.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // the pool keeps none
	for _, statement := range []string{"USE " + mysqlDatabase, before, "CALL " + call} {
		if statement != "" && err == nil {
			_, err = conn.ExecContext(t.Context(), statement)
		}
	}
	return err
}

// step is how far the clocks of the test below are apart.
const step = time.Hour

// newClocks is a pair whose replica's clock is before that of the primary, or behind it, by libfaketime.
func newClocks(t *testing.T, by time.Duration) *pair {
	t.Helper()
	requireFaketime(t)
	p := newPair(t)
	p.replica.off = by
	p.follow(t)
	from := time.Now()
	now := time.UnixMicro(p.replica.clock(t))
	if now.Before(from.Add(by-time.Second)) || now.After(time.Now().Add(by+time.Second)) {
		t.Fatalf("the clock of the replica says %s at %s, want it to be off by %s", now, from, by)
	}
	return p
}

// clock is the time of a server in microseconds, as fences are.
func (n *mysqlNode) clock(t *testing.T) int64 {
	t.Helper()
	return n.number64(t, "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))")
}

// Goal: the sentence of the page on clocks, both sides: fences grow as long as the clock of the new primary is not behind that of the old one
// by more than the failover took, and a lock ends by the clock of the new primary. Method: one object has a grant that the replica has, and
// another one has had, and has one that the replica lacks. The primary is killed, and the replica, whose clock is off, becomes the primary; where it
// is behind by a little, when it has got past the lost fence.
func TestReplicationClocks(t *testing.T) {
	for name, by := range map[string]time.Duration{
		"together": 0, "behind by less than the failover takes": -5 * time.Second, "behind by an hour": -step, "before by an hour": step,
	} {
		t.Run(name, func(t *testing.T) {
			p := newClocks(t, by)
			client := p.primary.seat(t, nil).client
			kept := applock.Object{Type: loadType, ID: "kept"}
			lost := applock.Object{Type: loadType, ID: "lost"}
			former, err := client.Get(t.Context(), applock.GetRequest{Object: kept, Owner: applock.Owner{Operator: "JDOE"}, TTL: step / 2})
			if err != nil {
				t.Fatal(err)
			}
			before := mustGet(t, client, lost, "JDOE")
			if _, err := client.Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: lost, Operator: "JDOE"}}); err != nil {
				t.Fatal(err)
			}
			p.caughtUp(t)
			p.wire.Silence()
			gone := mustGet(t, client, lost, "JDOE")
			p.primary.kill()
			p.promote(t)
			if by > -step {
				p.replica.await(t, "its clock has passed the lost fence", func(context.Context) bool { return p.replica.clock(t) > int64(gone.Fence) })
			}
			client = p.replica.seat(t, nil).client
			next := mustGet(t, client, lost, "ASMITH")
			t.Logf("fences of the object whose grant was lost: %d, lost %d, then %d", before.Fence, gone.Fence, next.Fence)
			if next.Fence <= before.Fence {
				t.Errorf("after the fence %d, which the new primary knows, comes %d", before.Fence, next.Fence)
			}
			if grown := next.Fence > gone.Fence; grown != (by > -step) {
				t.Errorf("after the fence %d, which was lost, comes %d, with a clock off by %s", gone.Fence, next.Fence, by)
			}
			err = client.Assert(t.Context(), applock.Key{Object: lost, Operator: "JDOE", Fence: gone.Fence})
			if !errors.Is(err, applock.ErrLost) {
				t.Errorf("assert of the lost grant says %v, want ErrLost", err)
			}
			keptByClock(t, client, kept, former, by)
		})
	}
}

// keptByClock checks what the new primary makes of a lock that it knows: with a clock that is before it has ended early, with one that is
// behind it lasts longer, and in any case the next fence is greater.
func keptByClock(t *testing.T, client *applock.Client, o applock.Object, former applock.Grant, by time.Duration) {
	t.Helper()
	next, err := client.Get(t.Context(), applock.GetRequest{Object: o, Owner: applock.Owner{Operator: "ASMITH"}, TTL: time.Hour})
	if by <= 0 {
		var held *applock.HeldError
		if !errors.As(err, &held) {
			t.Fatalf("get of what JDOE has says %v, want ErrHeld", err)
		}
		if left := held.Holder.Left; by == -step && left < step {
			t.Errorf("the lock has %s left by the new primary, want an hour more than by the old one", left)
		}
		if _, err := client.Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: o, Operator: "JDOE", Fence: former.Fence}}); err != nil {
			t.Fatal(err)
		}
		next, err = client.Get(t.Context(), applock.GetRequest{Object: o, Owner: applock.Owner{Operator: "ASMITH"}, TTL: time.Hour})
	}
	if err != nil {
		t.Fatal(err)
	}
	if next.Fence <= former.Fence {
		t.Errorf("after the fence %d comes %d", former.Fence, next.Fence)
	}
	err = client.Assert(t.Context(), applock.Key{Object: o, Operator: "JDOE", Fence: former.Fence})
	if !errors.Is(err, applock.ErrLost) {
		t.Errorf("assert of the former grant says %v, want ErrLost", err)
	}
}
