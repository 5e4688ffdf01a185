//go:build linux && scale

package scale

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/migrate"
	"github.com/applock/applock/applock/open"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/testfile"
)

const (
	// runVariable is the file for what is measured.
	runVariable = "APPLOCK_SCALE_RUN"
	// callsVariable is how many calls each figure is of.
	callsVariable = "APPLOCK_SCALE_CALLS"

	workers  = 8
	schemas  = 4
	perSet   = 100 // leases in a renewal of many
	ticks    = 100 // of /proc in a second
	tenYears = 10 * 365 * 24 * time.Hour
)

// Goal: the figures of docs/scale.md. Method: so many calls of each kind by eight at a time, and the processor time that the server's
// processes have used for them. No figure is judged: the machine may have other work.
func TestMeasure(t *testing.T) {
	path := os.Getenv(runVariable)
	if path == "" {
		path = filepath.Join(t.TempDir(), "run.json")
	}
	b := newBench(t)
	result := b.describe(t)
	measures := []measurement{
		{"get and release", b.cycle(b.clients[:1])},
		{fmt.Sprintf("get and release in %d schemas", schemas), b.cycle(b.clients)},
		{"get and release of one object by all", b.contended},
		{"refused get", b.refused},
		{"inquire", b.inquire},
		{"renewal of one lease", b.renewal(1)},
		{fmt.Sprintf("renewal of %d leases", perSet), b.renewal(perSet)},
	}
	for _, m := range measures {
		result.Figures = append(result.Figures, b.measure(t, m))
	}
	result.Beats = b.heartbeats(t, beats{Clients: 100, TTL: 3, Seconds: 20})
	// The last one: it is a setting of the database.
	result.Figures = append(result.Figures, b.measure(t, measurement{"get and release, commits that do not wait for the disk", b.cycle([]*applock.Client{b.unflushed(t)})}))
	content, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(content, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// measurement is a kind of call, the i-th of all, by one of the workers.
type measurement struct {
	name string
	one  func(worker, i int) error
}

type bench struct {
	ctx     context.Context
	dsn     string
	pid     int
	calls   int
	clients []*applock.Client
	grants  [][]db.RenewableGrant
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{ctx: t.Context(), dsn: testdb.Postgres(t), calls: 2000}
	var err error
	if b.pid, err = strconv.Atoi(os.Getenv("APPLOCK_TEST_POSTGRES_PID")); err != nil {
		t.Fatal("run it by make scale: the processor time is that of a private server")
	}
	if text := os.Getenv(callsVariable); text != "" {
		if b.calls, err = strconv.Atoi(text); err != nil || b.calls < workers {
			t.Fatalf("%s must be a number of %d or more", callsVariable, workers)
		}
	}
	for i := range schemas {
		client := b.open(t, b.dsn, fmt.Sprintf("scale%d", i))
		if _, err := migrate.Up(b.ctx, client, migrate.UpRequest{}); err != nil {
			t.Fatal(err)
		}
		b.clients = append(b.clients, client)
	}
	b.lease(t)
	return b
}

// unflushed is a client whose commits do not wait for the disk: a setting of the database, for sessions that begin after it.
func (b *bench) unflushed(t *testing.T) *applock.Client {
	t.Helper()
	conn, err := pgx.Connect(b.ctx, b.dsn)
	if err != nil {
		t.Fatal("the server cannot be reached")
	}
	defer func() { _ = conn.Close(b.ctx) }()
	alter := "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off', current_database()); END $$"
	if _, err := conn.Exec(b.ctx, alter); err != nil {
		t.Fatal(err)
	}
	client := b.open(t, b.dsn, "scale0")
	return client
}

func (b *bench) open(t *testing.T, dsn, schema string) *applock.Client {
	t.Helper()
	client, err := open.ByDSN(b.ctx, dsn+"&pool_max_conns="+strconv.Itoa(workers), open.Config{Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// lease takes what is renewed, a set for each worker, and the object that others are refused.
func (b *bench) lease(t *testing.T) {
	t.Helper()
	for worker := range workers {
		var set []db.RenewableGrant
		for i := range perSet {
			object := applock.Object{Type: "leased", ID: fmt.Sprintf("%d-%d", worker, i)}
			grant := b.get(t, object, fmt.Sprintf("w%d", worker))
			set = append(set, db.RenewableGrant{
				ObjectType: object.Type, ObjectID: object.ID, OperatorID: grant.Owner.Operator, Fence: int64(grant.Fence), TTLSeconds: 30,
			})
		}
		b.grants = append(b.grants, set)
	}
	b.get(t, applock.Object{Type: "held", ID: "1"}, "JDOE")
}

func (b *bench) get(t *testing.T, object applock.Object, operator string) applock.Grant {
	t.Helper()
	grant, err := b.clients[0].Get(b.ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: operator}, TTL: tenYears})
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

// cycle takes and releases objects of each worker's own, by one client after the other.
func (b *bench) cycle(clients []*applock.Client) func(worker, i int) error {
	return func(worker, i int) error {
		return takeAndRelease(b.ctx, clients[i%len(clients)], applock.Object{Type: "own", ID: fmt.Sprintf("%d-%d", worker, i%100)}, worker)
	}
}

// contended counts refusals as calls: with eight who want one object most are.
func (b *bench) contended(worker, _ int) error {
	err := takeAndRelease(b.ctx, b.clients[0], applock.Object{Type: "contended", ID: "1"}, worker)
	if errors.Is(err, applock.ErrHeld) {
		return nil
	}
	return err
}

func takeAndRelease(ctx context.Context, client *applock.Client, object applock.Object, worker int) error {
	operator := "W" + strconv.Itoa(worker)
	if _, err := client.Get(ctx, applock.GetRequest{Object: object, Owner: applock.Owner{Operator: operator}, TTL: time.Minute}); err != nil {
		return err
	}
	_, err := client.Release(ctx, applock.ReleaseRequest{Key: applock.Key{Object: object, Operator: operator}})
	return err
}

func (b *bench) refused(_, _ int) error {
	_, err := b.clients[0].Get(b.ctx, applock.GetRequest{Object: applock.Object{Type: "held", ID: "1"}, Owner: applock.Owner{Operator: "ASMITH"}})
	if !errors.Is(err, applock.ErrHeld) {
		return fmt.Errorf("want a refusal: %w", err)
	}
	return nil
}

func (b *bench) inquire(_, _ int) error { return b.inquireBy(b.clients[0]) }

func (b *bench) inquireBy(client *applock.Client) error {
	_, err := client.Inquire(b.ctx, applock.Object{Type: "held", ID: "1"})
	return err
}

func (b *bench) renewal(of int) func(worker, i int) error {
	return func(worker, i int) error {
		grants := b.grants[worker][:of]
		if of == 1 {
			grants = b.grants[worker][i%perSet : i%perSet+1]
		}
		rows, err := clients.Driver(b.clients[0]).RenewApplLocks(b.ctx, db.RenewApplLocksParams{Grants: grants})
		if err == nil && len(rows) != of {
			return fmt.Errorf("%d of %d were renewed", len(rows), of)
		}
		return err
	}
}

func (b *bench) measure(t *testing.T, m measurement) figure {
	t.Helper()
	if err := each(b.calls/20+workers, m.one); err != nil { // plans and pages
		t.Fatalf("%s: %v", m.name, err)
	}
	began, before := time.Now(), usedBy(t, b.pid)
	if err := each(b.calls, m.one); err != nil {
		t.Fatalf("%s: %v", m.name, err)
	}
	used, took := usedBy(t, b.pid)-before, time.Since(began)
	f := figure{Name: m.name, CPU: used.Seconds() * 1e6 / float64(b.calls), Rate: float64(b.calls) / took.Seconds(), Calls: b.calls}
	t.Logf("%s: %.0f us, %.0f /s", m.name, f.CPU, f.Rate)
	return f
}

// heartbeats has as many clients renew a lease each, whenever their time has come.
func (b *bench) heartbeats(t *testing.T, f beats) beats {
	t.Helper()
	interval := time.Duration(f.TTL) * time.Second / 3
	began, before := time.Now(), usedBy(t, b.pid)
	took := make([][]time.Duration, f.Clients)
	failed := make([]error, f.Clients)
	var all sync.WaitGroup
	for client := range f.Clients {
		all.Go(func() {
			due := began.Add(interval * time.Duration(client) / time.Duration(f.Clients))
			grant := b.grants[client%workers][client/workers : client/workers+1]
			for ; due.Before(began.Add(time.Duration(f.Seconds) * time.Second)); due = due.Add(interval) {
				time.Sleep(time.Until(due))
				if _, failed[client] = clients.Driver(b.clients[0]).RenewApplLocks(b.ctx, db.RenewApplLocksParams{Grants: grant}); failed[client] != nil {
					return
				}
				took[client] = append(took[client], time.Since(due))
			}
		})
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		t.Fatal(err)
	}
	times := slices.Concat(took...)
	slices.Sort(times)
	f.Busy = (usedBy(t, b.pid) - before).Seconds() / time.Since(began).Seconds() / float64(runtime.NumCPU())
	f.P99 = float64(times[len(times)*99/100].Microseconds()) / 1000
	for _, took := range times {
		if took > time.Duration(f.TTL)*time.Second-interval {
			f.Lost++
		}
	}
	t.Logf("%+v", f)
	return f
}

// each makes so many calls by all workers.
func each(count int, one func(worker, i int) error) error {
	var next atomic.Int64
	failed := make([]error, workers)
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= count {
					return
				}
				if failed[worker] = one(worker, i); failed[worker] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

func (b *bench) describe(t *testing.T) run {
	t.Helper()
	version, err := clients.Driver(b.clients[0]).Server(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(testfile.Read(t, "/proc/loadavg"), " ")
	return run{
		Time: time.Now().UTC().Format("2006-01-02 15:04 MST"), Server: version.Product + " " + version.Version, Settings: os.Getenv("APPLOCK_SCALE_SETTINGS"),
		Cores: runtime.NumCPU(), Load: first,
	}
}

// usedBy is the processor time of a server: its process, the children, and the children that have ended.
func usedBy(t *testing.T, pid int) time.Duration {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has just ended
		}
		sum += ticksOf(string(text), pid)
	}
	return time.Duration(sum) * time.Second / ticks
}

// ticksOf returns the ticks in a line of /proc, if it is of the process or of a child.
func ticksOf(line string, pid int) int64 {
	own, rest, _ := strings.Cut(line, " (")
	fields := strings.Fields(rest[strings.LastIndex(rest, ")")+1:]) // state, parent, ...; the name may have blanks
	const parent, user, system, childUser, childSystem = 1, 11, 12, 13, 14
	sum := func(from, to int) (total int64) {
		for i := from; i <= to; i++ {
			n, _ := strconv.ParseInt(fields[i], 10, 64)
			total += n
		}
		return total
	}
	switch {
	case len(fields) <= childSystem:
		return 0
	case own == strconv.Itoa(pid):
		return sum(user, childSystem)
	case fields[parent] == strconv.Itoa(pid):
		return sum(user, system)
	}
	return 0
}
