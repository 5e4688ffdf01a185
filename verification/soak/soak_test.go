package soak_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/getlock"
	"github.com/applock/applock/applock/lease/pgadvisory"
	"github.com/applock/applock/applock/lease/redislock"
	"github.com/applock/applock/applock/migrate"
	opener "github.com/applock/applock/applock/open"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/wire"
	"github.com/applock/applock/internal/testing/worker"
)

const (
	processes = 4
	// secondsVariable is how long each phase of each backend lasts, leasesVariable how many leases there are.
	secondsVariable = "APPLOCK_SOAK_SECONDS"
	leasesVariable  = "APPLOCK_SOAK_LEASES"
	seedVariable    = "APPLOCK_SOAK_SEED"

	shortSeconds = 2
	shortLeases  = 40
	ttl          = 9 * time.Second
	hotObjects   = 4
	// longUse is the longest hold in peace: a fair turn of all contenders is some five seconds then. shortUse is that in the war.
	longUse  = 600 * time.Millisecond
	shortUse = 20 * time.Millisecond
	// workerLimit is for hangs.
	workerLimit = 5 * time.Minute
)

func TestMain(m *testing.M) {
	worker.Main(map[string]func(ctx context.Context, orders []byte) error{soakJob: work})
	os.Exit(m.Run())
}

// backend is where leases are kept.
type backend struct {
	name string
	// place returns the DSN of a new place; it is a URL, or a file.
	place func(t *testing.T) string
	// hearing is within what time holders hear that their session was cut, whose locks the server has freed at once; zero
	// where no session has locks.
	hearing time.Duration
}

// ofSessions is a second, as documented, and as much again for a machine that is busy.
const ofSessions = 2 * time.Second

func backends() []backend {
	table := func(database func(t *testing.T) string) func(t *testing.T) string {
		return func(t *testing.T) string {
			t.Helper()
			dsn := database(t)
			if _, err := migrate.Up(t.Context(), testclient.Open(t, dsn, "", nil), migrate.UpRequest{}); err != nil {
				t.Fatal(err)
			}
			return dsn
		}
	}
	all := []backend{
		{"postgres", table(func(t *testing.T) string { t.Helper(); return testdb.Postgres(t) }), 0},
		{"sqlite", table(func(t *testing.T) string { t.Helper(); return "sqlite:" + filepath.Join(t.TempDir(), "applock.db") }), 0},
		{"pgadvisory", func(t *testing.T) string { t.Helper(); return testdb.Postgres(t) }, ofSessions},
		{"redislock", func(t *testing.T) string { t.Helper(); return testdb.Redis(t) + "?namespace=" + rand.Text() }, 0},
	}
	for _, product := range testdb.MySQLProducts() {
		all = append(all,
			backend{product, table(func(t *testing.T) string { t.Helper(); return testdb.MySQL(t, product) }), 0},
			backend{"getlock-" + product, func(t *testing.T) string { t.Helper(); return testdb.MySQL(t, product) }, ofSessions})
	}
	return all
}

// open opens a backend in a worker.
func open(ctx context.Context, backend, dsn string) (lease.Locker, func() error, error) {
	var leases *lease.Leases
	var err error
	switch {
	case backend == "pgadvisory":
		leases, err = pgadvisory.New(pgadvisory.Config{DSN: dsn})
	case backend == "redislock":
		return openRedis(dsn)
	case strings.HasPrefix(backend, "getlock-"):
		leases, err = getlock.New(getlock.Config{DSN: dsn, Namespace: databaseOf(dsn)})
	default:
		client, err := opener.ByDSN(ctx, dsn, opener.Config{})
		if err != nil {
			return nil, nil, err
		}
		return client, client.Close, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return leases, leases.Close, nil
}

// databaseOf returns the name of a place's own database. The names of locks belong to the whole server, and with them those of
// all tests that use it.
func databaseOf(dsn string) string {
	parsed, err := url.Parse(dsn)
	if err != nil {
		panic("the test DSN is no URL")
	}
	return strings.TrimPrefix(parsed.Path, "/")
}

func openRedis(dsn string) (lease.Locker, func() error, error) {
	plain, namespace, _ := strings.Cut(dsn, "?namespace=")
	options, err := redis.ParseURL(plain)
	if err != nil {
		return nil, nil, err
	}
	options.ContextTimeoutEnabled = true
	client := redis.NewClient(options)
	leases, err := redislock.New(redislock.Config{Client: client, Namespace: namespace})
	if err != nil {
		return nil, nil, err
	}
	return leases, func() error { return errors.Join(leases.Close(), client.Close()) }, nil
}

// crew is the processes of one phase.
type crew struct {
	t       *testing.T
	workers []*process
	journal string
	chaos   *worker.Journal
}

// process is a worker, with the wire that leads to its server; nil where there is none.
type process struct {
	*worker.Process

	orders orders
	wire   *wire.Wire
}

func newCrew(t *testing.T, b backend, dsn string, told orders) *crew {
	t.Helper()
	c := &crew{t: t, journal: t.TempDir()}
	c.chaos = openJournal(t, filepath.Join(c.journal, "chaos.jsonl"))
	for number := range processes {
		p := &process{orders: told}
		p.orders.Number, p.orders.Backend, p.orders.DSN = number, b.name, dsn
		p.orders.Journal = filepath.Join(c.journal, fmt.Sprintf("worker%d.jsonl", number))
		if !strings.HasPrefix(dsn, "sqlite:") {
			p.wire, p.orders.DSN = wire.Through(t, dsn)
		}
		c.workers = append(c.workers, p)
	}
	for _, p := range c.workers {
		p.start(t)
	}
	return c
}

// start starts the process and returns when it has its leases.
func (p *process) start(t *testing.T) {
	t.Helper()
	p.Process = worker.Start(t, soakJob, p.orders)
	if p.orders.Leases > 0 && p.orders.Hot == 0 {
		p.Await(t, "holding")
	}
}

func openJournal(t *testing.T, path string) *worker.Journal {
	t.Helper()
	journal, err := worker.OpenJournal(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = journal.Close() })
	return journal
}

// end ends the processes as users do, and returns what they have written.
func (c *crew) end() []record {
	c.t.Helper()
	for _, p := range c.workers {
		_ = p.In.Close()
	}
	for _, p := range c.workers {
		kill := time.AfterFunc(workerLimit, p.Kill)
		if err := p.Wait(); err != nil {
			c.t.Errorf("worker %d: %v", p.orders.Number, err)
		}
		kill.Stop()
	}
	return slices.Concat(worker.Read[record](c.t, c.journal)...)
}

// disturb does something to a worker, and notes from when to when.
func (c *crew) disturb(random *mathrand.Rand) {
	p := c.workers[random.IntN(len(c.workers))]
	began := time.Now()
	what := p.disturb(c.t, random)
	c.chaos.Write(record{Kind: kindChaos, Worker: p.orders.Number, From: micros(began), To: micros(time.Now()), Note: what})
}

// disturb returns when what it has done is over.
func (p *process) disturb(t *testing.T, random *mathrand.Rand) string {
	t.Helper()
	long := time.Duration(random.Int64N(int64(ttl/2)) + int64(ttl/20))
	kinds := []string{"stop", "kill", "reset", "silence", "slow"}
	if p.wire == nil {
		kinds = kinds[:2]
	}
	kind := kinds[random.IntN(len(kinds))]
	switch kind {
	case "stop":
		p.Pause(t)
		worker.Rest(t.Context(), long)
		p.Resume()
	case "kill":
		p.Kill()
		p.start(t)
	case "reset":
		p.wire.Reset()
	case "silence":
		p.wire.Silence()
		worker.Rest(t.Context(), long)
		p.wire.Speak()
	case "slow":
		p.wire.Slow(time.Duration(random.IntN(400)) * time.Millisecond)
		worker.Rest(t.Context(), long)
		p.wire.Slow(0)
	}
	return kind
}

// Goal: no two live leases at a time, none lost without a cause, nobody starved, and what idles costs next to nothing.
// Method: four processes on each backend. In the first phase they hold leases that nobody wants, and what goes to the
// server is counted. In the second they fight for one object, in peace. In the third they hold leases with a TTL and fight
// for some objects, while processes are stopped and killed, and connections are cut, silenced and slowed. The table shows
// all figures; only those fail the test that a busy machine does not change. A short run here, an hour by `make soak`.
func TestSoak(t *testing.T) {
	t.Parallel()
	seconds, leases := worker.Number(t, secondsVariable, shortSeconds), worker.Number(t, leasesVariable, shortLeases)
	seed := uint64(worker.Number(t, seedVariable, int(time.Now().Unix())))
	t.Logf("%s=%d", seedVariable, seed)
	for _, b := range backends() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			dsn := b.place(t)
			long := time.Duration(seconds) * time.Second
			v := soak(t, b, dsn, leases, long, seed)
			t.Logf("%-16s holds %d, overlaps %d (and %d before a cut session was heard of), losses %d (without a cause %d), worst wait %.1f fair turns, "+
				"return after the context's end %s, idle %.1f requests/s for %d leases",
				b.name, v.holds, len(v.overlaps), v.unheard, v.losses, len(v.unfounded), v.worstWait, v.overdue.Round(time.Millisecond), v.idle, leases)
			for _, overlap := range v.overlaps {
				t.Error(overlap)
			}
			for _, loss := range v.unfounded {
				t.Error(loss)
			}
			if v.holds == 0 {
				t.Error("nobody has held anything")
			}
		})
	}
}

func soak(t *testing.T, b backend, dsn string, leases int, long time.Duration, seed uint64) verdict {
	t.Helper()
	idle := newCrew(t, b, dsn, orders{Leases: leases / processes})
	before := idle.requests()
	worker.Rest(t.Context(), long)
	perSecond := float64(idle.requests()-before) / long.Seconds()
	idle.end()

	peace := newCrew(t, b, dsn, orders{Hot: 1, LongestUse: longUse, Seed: seed})
	worker.Rest(t.Context(), long)
	worst := judge(peace.end(), ttl, processes*contenders, 0, false).worstWait

	war := newCrew(t, b, dsn, orders{Leases: leases / processes, TTL: ttl, Hot: hotObjects, LongestUse: shortUse, Seed: seed})
	random := mathrand.New(mathrand.NewPCG(seed, 0))
	for end := time.Now().Add(long); time.Now().Before(end); {
		war.disturb(random)
		worker.Rest(t.Context(), time.Duration(random.IntN(1000))*time.Millisecond)
	}
	v := judge(war.end(), ttl, processes*contenders, b.hearing, b.name == "sqlite")
	v.worstWait, v.idle = worst, perSecond
	return v
}

func (c *crew) requests() int64 {
	var sum int64
	for _, p := range c.workers {
		if p.wire != nil {
			sum += p.wire.Requests.Load()
		}
	}
	return sum
}
