//go:build linux

package clusters_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/internal/testing/wire"
	"github.com/applock/applock/internal/testing/worker"
)

const (
	// fleetMargin is by how much a lease of 10 s or more ends sooner for its holder than for the server.
	fleetMargin = time.Second
	// fleetGrants is for how many a round waits before and after the failover.
	fleetGrants = 40
	// clockGrain is what may pass between two looks at clocks beside what was measured.
	clockGrain = 20 * time.Millisecond
)

// fleetMember is a program of a fleet: its clock, its network, and how long its leases last.
type fleetMember struct{ off, delay, ttl time.Duration }

func fleetMembers() []fleetMember {
	return []fleetMember{
		{ttl: 30 * time.Second},
		{off: 4 * time.Minute, ttl: 10 * time.Second},
		{off: -3 * time.Minute, delay: 50 * time.Millisecond, ttl: 30 * time.Second},
		{off: 2 * time.Minute, delay: 300 * time.Millisecond, ttl: 10 * time.Second},
	}
}

// fleetRound is a failover: the clocks of the nodes that may be the next primary are off by others from the clock of the old one.
type fleetRound struct {
	name   string
	others [2]time.Duration
	// isSwitch has the old primary give way. Otherwise it is killed.
	isSwitch bool
}

func fleetRounds() []fleetRound {
	return []fleetRound{
		{name: "killed, clocks together", others: [2]time.Duration{500 * time.Millisecond, -500 * time.Millisecond}},
		{name: "killed, the others ahead", others: [2]time.Duration{2 * time.Minute, 3 * time.Minute}},
		{name: "killed, the others behind", others: [2]time.Duration{-90 * time.Second, -2 * time.Minute}},
		{name: "switched, the others ahead", others: [2]time.Duration{2 * time.Minute, 3 * time.Minute}, isSwitch: true},
		{name: "switched, the others behind", others: [2]time.Duration{-90 * time.Second, -2 * time.Minute}, isSwitch: true},
	}
}

// fakes are the libraries that set the clock of a program.
func fakes() []string {
	libraries, _ := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	return libraries
}

func requireFaketime(t *testing.T) {
	t.Helper()
	if len(fakes()) == 0 {
		t.Fatal("there is no libfaketime, with which the clock of a server is set: make faketime installs it")
	}
}

// faketime is the environment of a server whose clock is before the machine's by so much. The monotonic clock and times of files stay right.
func faketime(by time.Duration) []string {
	if by == 0 {
		return nil
	}
	return []string{
		"LD_PRELOAD=" + strings.Join(fakes(), ":"), fmt.Sprintf("FAKETIME=%+g", by.Seconds()),
		"FAKETIME_DONT_FAKE_MONOTONIC=1", "FAKETIME_DISABLE_SHM=1", "NO_FAKE_STAT=1",
	}
}

// checkOff checks a server's clock, in microseconds.
func checkOff(by time.Duration, ask func() int64) error {
	from := time.Now()
	now := time.UnixMicro(ask())
	if now.Before(from.Add(by-clockGrain)) || now.After(time.Now().Add(by+clockGrain)) {
		return fmt.Errorf("its clock says %s at %s, want it to be off by %s", now, from, by)
	}
	return nil
}

// offVariable is by how much the clock of a program of fleetProgramOf is off.
const offVariable = "APPLOCK_TEST_FLEET_OFF"

// fleetChange is another text for one that a file has once.
type fleetChange struct{ file, is, becomes string }

// fleetProgramOf builds this package's tests with a wall clock that is off: programs in Go ask the kernel, so that libfaketime cannot reach
// them. Changes are what else is other in this program.
func fleetProgramOf(t *testing.T, changes ...fleetChange) string {
	t.Helper()
	folder := t.TempDir()
	place := filepath.Join(runtime.GOROOT(), "src", "time") //nolint:staticcheck // the one that the tests are run by
	const asks = "sec, nsec, mono := runtimeNow()\n"
	const reads = "package time\n\nimport \"syscall\"\n\nvar machineIsOff = func() int64 {\n\ttext, _ := syscall.Getenv(\"" + offVariable +
		"\")\n\toff, _ := ParseDuration(text)\n\treturn int64(off / Second)\n}()\n"
	contents := map[string]string{filepath.Join(place, "off.go"): reads}
	for _, c := range append(changes, fleetChange{file: filepath.Join(place, "time.go"), is: asks, becomes: asks + "\tsec += machineIsOff\n"}) {
		text, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		if count := bytes.Count(text, []byte(c.is)); count != 1 {
			t.Fatalf("%s has %q %d times, want once", c.file, c.is, count)
		}
		contents[c.file] = strings.Replace(string(text), c.is, c.becomes, 1)
	}
	overlay := map[string]string{}
	for file, content := range contents {
		overlay[file] = filepath.Join(folder, filepath.Base(file))
		if err := os.WriteFile(overlay[file], []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "list"), list, 0o600); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(folder, "fleet")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-ldflags=-s -w", "-overlay="+filepath.Join(folder, "list"), "-o", program, ".")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go test -c: %v\n%s", err, output)
	}
	return program
}

// fleet is programs that compete for objects, and what they have written.
type fleet struct {
	members []fleetMember
	stop    []io.Closer
	group   sync.WaitGroup

	mutex  sync.Mutex
	grants []*grant
}

// newFleet starts the programs, each with a DSN that leads through its network.
func newFleet(t *testing.T, program string, dsn func(delay time.Duration) string) *fleet {
	t.Helper()
	f := &fleet{members: fleetMembers()}
	for i, m := range f.members {
		command := exec.CommandContext(t.Context(), program)
		command.Env = append(os.Environ(), offVariable+"="+m.off.String())
		p := worker.Run(t, command, fleetJob, fleetOrders{DSN: dsn(m.delay), Number: i, TTL: m.ttl})
		f.stop = append(f.stop, p.In)
		f.group.Go(func() {
			f.read(t, p.Out)
			if err := p.Wait(); err != nil {
				t.Errorf("program %d: %v", i, err)
			}
		})
	}
	t.Cleanup(f.end)
	return f
}

// read notes each grant that a program writes.
func (f *fleet) read(t *testing.T, output io.Reader) {
	decoder := json.NewDecoder(output)
	for {
		g := &grant{}
		err := decoder.Decode(g)
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Errorf("a program writes what is no grant: %v", err)
			_, _ = io.Copy(io.Discard, output)
			return
		}
		f.mutex.Lock()
		f.grants = append(f.grants, g)
		f.mutex.Unlock()
	}
}

// end has the programs end, and returns when they have.
func (f *fleet) end() {
	for _, input := range f.stop {
		_ = input.Close() // it may have ended already
	}
	f.group.Wait()
}

// awaitGrants returns when there are enough grants that were asked for after a time, and each program has ended one of them.
func (f *fleet) awaitGrants(t *testing.T, after int64) {
	t.Helper()
	for deadline := time.Now().Add(hangLimit); ; time.Sleep(clockGrain) {
		f.mutex.Lock()
		count, programs := 0, map[int]bool{}
		for _, g := range f.grants {
			if g.Asked > after {
				count++
				programs[g.By] = true
			}
		}
		f.mutex.Unlock()
		if count >= fleetGrants && len(programs) == len(f.members) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d grants of %d programs in %s, want %d of %d", count, len(programs), hangLimit, fleetGrants, len(f.members))
		}
	}
}

// fleetFailover is what has happened in a round: by how much the new primary's clock is ahead of the old one's, and by when it had taken over.
type fleetFailover struct {
	ahead time.Duration
	until int64
}

// excuses reports whether two may have had an object at the same time: the new primary has ended the former grant early by its clock.
func (f fleetFailover) excuses(o overlap) bool {
	return f.ahead > fleetMargin && o.former.Answered <= f.until
}

// report judges a round and logs its row of the page.
func (f *fleet) report(t *testing.T, cluster string, r fleetRound, failover fleetFailover) {
	t.Helper()
	f.end()
	v := judgeGrants(f.grants)
	for _, wrong := range v.wrong {
		t.Error(wrong)
	}
	var longest time.Duration
	for _, o := range v.overlaps {
		longest = max(longest, o.long())
		if failover.excuses(o) {
			t.Logf("at the same time: %s", o)
		} else {
			t.Errorf("two have it at the same time: %s", o)
		}
	}
	here := time.Now().UnixMicro() - monotonic()
	for _, g := range f.grants {
		if off := time.Duration(g.Off-here) * time.Microsecond; (off - f.members[g.By].off).Abs() > time.Second {
			t.Fatalf("the clock of program %d is off by %s, want %s", g.By, off, f.members[g.By].off)
		}
	}
	what := "killed"
	if r.isSwitch {
		what = "switched"
	}
	overlaps := "0"
	if len(v.overlaps) > 0 {
		overlaps = fmt.Sprintf("%d, up to %.1f s", len(v.overlaps), longest.Seconds())
	}
	t.Logf("| %s | %s | %+g s | %d | %d | %d | %s | %d | %.1f s |", cluster, what, failover.ahead.Seconds(), v.grants, v.leases, v.told, overlaps, v.step,
		v.pause.Seconds())
}

// Goal: programs whose clocks are minutes apart, some of them behind slow networks, and a failover of a cluster whose members' clocks differ: fences
// grow, each loser is told, nobody asserts a grant that another one has followed, and no two have an object at the same time unless the new primary's
// clock is ahead by more than a lease's margin. Method: four processes with leases and locks on few objects, each with a lease that it wants for longer
// than the failover takes; the primary is killed or switched, with the next one's clock as it was, ahead and behind. The judge has the machine's
// monotonic clock, which nobody sets.
func TestPatroniFleet(t *testing.T) {
	requireFaketime(t)
	program := fleetProgramOf(t)
	c := newPatroni(t, true)
	for _, r := range fleetRounds() {
		t.Run(r.name, func(t *testing.T) {
			f, failover := c.failOver(t, program, r)
			f.report(t, "Patroni", r, failover)
			c.complete(t, true)
		})
	}
}

// Goal: the test of a fleet notices programs that trust a lease beyond its deadline. Method: programs whose lease engine does, and a
// primary that is killed. A lease of 10 s has ended when the next primary is there, but its holder works on until the engine hears of that.
func TestPatroniFleetNoticesLateHolders(t *testing.T) {
	requireFaketime(t)
	engine, err := filepath.Abs("../../applock/lease/hold.go")
	if err != nil {
		t.Fatal(err)
	}
	program := fleetProgramOf(t, fleetChange{file: engine, is: "t.deadline = end.Add(trusted(term) - term)", becomes: "t.deadline = t.ends"})
	c := newPatroni(t, true)
	for range 3 { // who is quicker to hear of the loss than the next one to take the object does not overlap
		f, failover := c.failOver(t, program, fleetRounds()[0])
		f.end()
		for _, o := range judgeGrants(f.grants).overlaps {
			if !failover.excuses(o) {
				t.Log(o)
				return
			}
		}
		c.complete(t, true)
	}
	t.Error("no two have had an object at the same time")
}

// failOver has a fleet of programs go through a failover.
func (c *patroni) failOver(t *testing.T, program string, r fleetRound) (*fleet, fleetFailover) {
	t.Helper()
	old := c.leader(t)
	c.setClocks(t, old, r.others)
	f := newFleet(t, program, func(delay time.Duration) string { return c.through(t, delay) })
	f.awaitGrants(t, 0)
	if r.isSwitch {
		if err := c.ask(t, http.MethodPost, "http://127.0.0.1:"+old.rest+"/switchover", `{"leader": "`+old.name+`"}`, nil); err != nil {
			t.Fatal(err)
		}
	} else {
		c.kill(old)
	}
	next := c.succeeded(t, old)
	until := monotonic()
	if !r.isSwitch {
		c.begin(t, old)
	}
	f.awaitGrants(t, until)
	return f, fleetFailover{ahead: next.off - old.off, until: until}
}

// setClocks has the standbys begin again with clocks that are off from the primary's.
func (c *patroni) setClocks(t *testing.T, primary *patroniNode, others [2]time.Duration) {
	t.Helper()
	left := others[:]
	for _, n := range c.nodes {
		if n == primary {
			continue
		}
		c.kill(n)
		n.off, left = primary.off+left[0], left[1:]
		c.begin(t, n)
		c.await(t, n.name+" is a standby", func() bool {
			return c.ask(t, http.MethodGet, "http://127.0.0.1:"+n.rest+"/replica", "", nil) == nil
		})
	}
	c.complete(t, true)
	for _, n := range c.nodes {
		c.await(t, fmt.Sprintf("the clock of %s is off by %s", n.name, n.off), func() bool {
			return checkOff(n.off, func() int64 { return n.number(t, "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint") }) == nil
		})
	}
}

// through is a DSN of all nodes whose answers come late.
func (c *patroni) through(t *testing.T, delay time.Duration) string {
	t.Helper()
	dsn := c.dsn()
	for _, n := range c.nodes {
		w := wire.New(t, "127.0.0.1:"+n.port)
		w.Slow(delay)
		dsn = strings.Replace(dsn, "127.0.0.1:"+n.port, w.Address, 1)
	}
	return dsn
}

// Goal and method are those of TestPatroniFleet. A wire for each program is the router, which follows the primary.
func TestGroupReplicationFleet(t *testing.T) {
	requireFaketime(t)
	program := fleetProgramOf(t)
	g := newGroup(t)
	for _, r := range fleetRounds() {
		t.Run(r.name, func(t *testing.T) {
			old := g.awaitPrimary(t, g[0], nil)
			other := g[old.number%len(g)]
			g.setClocks(t, old, r.others)
			var router []*wire.Wire
			f := newFleet(t, program, func(delay time.Duration) string {
				w := wire.New(t, old.address())
				w.Slow(delay)
				router = append(router, w)
				to := url.URL{Scheme: "mysql", User: url.UserPassword("root", old.program.password), Host: w.Address, Path: mysqlDatabase}
				return to.String()
			})
			f.awaitGrants(t, 0)
			if r.isSwitch {
				other.exec(t, "SELECT group_replication_set_as_primary('"+other.text(t.Context(), "SELECT @@server_uuid")+"')")
			} else {
				old.kill()
			}
			next := g.awaitPrimary(t, other, old)
			until := monotonic()
			for _, w := range router {
				w.Lead(next.address())
				w.Reset()
			}
			f.awaitGrants(t, until)
			f.report(t, "Group Replication", r, fleetFailover{ahead: next.off - old.off, until: until})
			if !r.isSwitch {
				old.start(t)
				g.join(t, old)
			}
		})
	}
}

// setClocks has the secondaries begin again with clocks that are off from the primary's.
func (g group) setClocks(t *testing.T, primary *mysqlNode, others [2]time.Duration) {
	t.Helper()
	left := others[:]
	for _, n := range g {
		if n != primary {
			n.kill()
			n.off, left = primary.off+left[0], left[1:]
			n.start(t)
			g.join(t, n)
		}
		if err := checkOff(n.off, func() int64 { return n.clock(t) }); err != nil {
			t.Fatalf("node %d: %v", n.number, err)
		}
	}
}
