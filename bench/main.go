//go:build unix

// Command bench compares applock with plain SQL and with other libraries, in turns, and prints the results:
//
//	go run ./internal/testing/testserver -- go -C bench run .
//
// APPLOCK_TEST_<PRODUCT>_DSN names the servers, as for the tests. Without one, a product is left out and that is reported, unless
// APPLOCK_TEST_REQUIRE lists it.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := runOrDeposit(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// runOrDeposit is run, unless this process is one of the depositors.
func runOrDeposit(ctx context.Context, args []string) error {
	if slices.Equal(args, []string{depositArgument}) {
		return takeOrders(ctx, os.Stdin, os.Stdout)
	}
	return run(ctx, args, os.Getenv, os.Stdout, os.Stderr)
}

// options are the flags.
type options struct {
	runs          int
	round         time.Duration
	horizon       time.Duration
	smoke         bool
	only          *regexp.Regexp
	from, file    string
	page, results string
}

func parse(args []string, complaints io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(complaints)
	flags.IntVar(&o.runs, "runs", 1, "measure everything so often, for more rounds")
	flags.DurationVar(&o.round, "round", 0, "have each who competes so much time in a round; 0 is 400ms")
	flags.DurationVar(&o.horizon, "horizon", 0, "measure under a held snapshot for so long; 0 is 10m")
	flags.BoolVar(&o.smoke, "smoke", false, "measure so little that it only shows that everything works")
	only := flags.String("only", "", "a regular expression for what to measure, such as ^hand-off/postgres$")
	flags.StringVar(&o.from, "from", "", "measure nothing, and read the values from this file of -json")
	flags.StringVar(&o.file, "json", "", "write all values to this file, too")
	flags.StringVar(&o.page, "report", "", "write the page to this file, and its charts and values to the folder of its name")
	flags.StringVar(&o.results, "results", "", "write the goals and their verdicts to this file; the page links it")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("there are no arguments such as %q", flags.Arg(0))
	}
	var err error
	o.only, err = regexp.Compile(*only)
	return o, err
}

func run(ctx context.Context, args []string, getenv func(string) string, out, complaints io.Writer) error {
	o, err := parse(args, complaints)
	if err != nil {
		return err
	}
	var r *report
	if o.from != "" {
		r, err = readJSON(o.from)
	} else {
		r, err = measure(ctx, o, getenv, complaints)
	}
	if r == nil {
		return err
	}
	if o.file != "" {
		err = errors.Join(err, r.writeJSON(o.file))
	}
	if o.page != "" {
		err = errors.Join(err, r.readHeld(o.page), r.writePage(o.page, o.results))
	}
	if o.results != "" {
		err = errors.Join(err, r.writeResults(o.results))
	}
	_, printErr := io.WriteString(out, r.text()) // a failed run still prints what was measured
	return errors.Join(err, printErr)
}

// measure returns the measurements, even with an error.
func measure(ctx context.Context, o options, getenv func(string) string, complaints io.Writer) (_ *report, err error) {
	servers, err := servers(getenv, complaints)
	if err != nil {
		return nil, err
	}
	b := bench{extent: full(), only: o.only, complaints: complaints}
	if o.smoke {
		b.extent = tiny()
		b.report.Smoke = true
	}
	b.round = cmp.Or(o.round, b.round)
	b.held = b.held.lasting(o.horizon)
	defer func() { err = errors.Join(err, b.leave()) }()
	if err := b.enter(ctx, servers); err != nil {
		return nil, err
	}
	for range o.runs {
		err = errors.Join(err, b.measure(ctx))
	}
	b.report.Machine.LoadAfter = loadAverage()
	return &b.report, err
}

// extent is the amount of what is measured.
type extent struct {
	rounds      int           // turns of each contender
	round       time.Duration // of one turn
	connections []int         // that take and release
	crowds      []int         // sessions that want one object
	notified    int           // samples of hand-offs by NOTIFY
	handOffs    int           // samples of each other kind
	waiters     int           // goroutines that wait at the same time
	idle        time.Duration // how long they are watched
	polls       int
	kept        []int         // leases held and renewed at the same time
	ttl         time.Duration // of the smallest number of leases; more leases have a longer one
	renewals    int           // to watch
	grants      int           // renewed in one statement
	held        snapshotLoad  // the load under a held snapshot
}

// snapshotLoad is the load while an idle transaction holds a snapshot.
type snapshotLoad struct {
	total, interval time.Duration // of all, and between two renewals of a lease
	cycles          int           // of a hot object
	leases          int
}

// lasting is the same load for another time; 0 keeps the time.
func (h snapshotLoad) lasting(total time.Duration) snapshotLoad {
	if total == 0 {
		return h
	}
	h.cycles = max(1, int(int64(h.cycles)*int64(total)/int64(h.total)))
	h.total = total
	return h
}

func full() extent {
	return extent{
		rounds: 5, round: 400 * time.Millisecond, connections: []int{1, 8, 64}, crowds: []int{1, 8, 16, 32, 64},
		notified: 400, handOffs: 120,
		waiters: 10000, idle: 20 * time.Second, polls: 20,
		kept: []int{1000, 10000}, ttl: 6 * time.Second, renewals: 2, grants: 1000,
		held: snapshotLoad{total: 10 * time.Minute, interval: 10 * time.Second, cycles: 20_000, leases: 1000},
	}
}

func tiny() extent {
	return extent{
		rounds: 1, round: 10 * time.Millisecond, connections: []int{1, 8, 64}, crowds: []int{1, 8},
		notified: 2, handOffs: 2,
		waiters: 20, idle: 100 * time.Millisecond, polls: 2,
		kept: []int{100}, ttl: 3 * time.Second, renewals: 1, grants: 10,
		held: snapshotLoad{total: 100 * time.Millisecond, interval: 100 * time.Millisecond, cycles: 20, leases: 20},
	}
}

type bench struct {
	extent
	places     []*place
	directory  string // for built and fetched files
	only       *regexp.Regexp
	complaints io.Writer
	report     report
}

// measurement is one section of the report.
type measurement struct {
	name string
	take func(ctx context.Context, p *place) error
	// table is true if it measures only the table.
	table bool
}

// measurements returns all of them. Add a new one here, and its goal, if any, in goals.
func (b *bench) measurements() []measurement {
	return []measurement{
		{"cycles", b.cycles, false},
		{"calls", b.calls, true},
		{"renewal", b.renewal, true},
		{"hand-off", b.handOff, false},
		{"hot-object", b.hotObject, false},
		{"hot-key", b.hotKey, true},
		{"crowd", b.crowd, true},
		{"waiting", b.waitForMany, true},
		{"renewing", b.renewing, true},
		{"horizon", b.horizon, true},
		{"java", b.java, true},
	}
}

// measure goes on after a failure, so that one failed measurement does not waste the rest of the run.
func (b *bench) measure(ctx context.Context) error {
	var failures error
	for _, m := range b.measurements() {
		for _, p := range b.places {
			name := m.name + "/" + p.product
			if !b.only.MatchString(name) || m.table && p.raw == nil || ctx.Err() != nil {
				continue
			}
			began := time.Now()
			if err := errors.Join(m.take(ctx, p), p.clear(context.WithoutCancel(ctx))); err != nil {
				b.miss(fmt.Sprintf("%s, which failed", name))
				failures = errors.Join(failures, fmt.Errorf("%s: %w", name, err))
			}
			b.say("%s took %.1f s", name, time.Since(began).Seconds())
		}
	}
	return errors.Join(failures, ctx.Err())
}

// say reports progress.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(b.complaints, "bench: "+format+"\n", args...)
}

// enter makes a database on each server, and describes the server and the machine.
func (b *bench) enter(ctx context.Context, servers []server) error {
	b.report.Machine = machine(ctx)
	var err error
	if b.directory, err = os.MkdirTemp("", "applock-bench-"); err != nil {
		return err
	}
	for _, s := range servers {
		p, err := newPlace(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.product, err)
		}
		b.places = append(b.places, p)
		described, err := p.describe(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", s.product, err)
		}
		b.report.Machine.Products[s.product] = described
	}
	return nil
}

func (b *bench) leave() error {
	err := os.RemoveAll(b.directory)
	for _, p := range b.places {
		err = errors.Join(err, p.remove())
	}
	return err
}
