//go:build unix

// Command bench measures what the leases of applock are to reach, each time beside the same thing done by hand, and
// prints both with their ratio:
//
//	go run ./internal/testing/testserver -- go -C bench run .
//
// APPLOCK_TEST_<PRODUCT>_DSN names the servers, as for the tests. A product without one is left out, with a word about
// it, unless APPLOCK_TEST_REQUIRE lists it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime/pprof"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, getenv func(string) string, out, complaints io.Writer) error {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(complaints)
	runs := flags.Int("runs", 1, "measure everything so often, and print the median")
	smoke := flags.Bool("smoke", false, "measure so little that it only shows that everything works")
	only := flags.String("only", "", "a regular expression for what to measure, such as ^hand-off/postgres$")
	file := flags.String("json", "", "write all values to this file, too")
	profile := flags.String("cpuprofile", "", "write a profile of this process to this file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return err
	}
	servers, err := servers(getenv, complaints)
	if err != nil {
		return err
	}
	b := bench{extent: full(), servers: servers, only: pattern, complaints: complaints}
	if *smoke {
		b.extent = tiny()
		b.report.Smoke = true
	}
	if b.report.Machine, err = machine(ctx, servers); err != nil {
		return err
	}
	stop, err := startProfile(*profile)
	if err != nil {
		return err
	}
	for range *runs {
		if err = b.measure(ctx); err != nil {
			break
		}
	}
	err = errors.Join(err, stop())
	b.report.Machine.LoadAfter = loadAverage()
	if *file != "" {
		err = errors.Join(err, b.report.writeJSON(*file))
	}
	b.report.print(out) // also what was measured before a failure
	return err
}

func startProfile(path string) (stop func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	file, err := os.Create(path) //nolint:gosec // the developer named it
	if err != nil {
		return nil, err
	}
	return func() error { pprof.StopCPUProfile(); return file.Close() }, pprof.StartCPUProfile(file)
}

// extent is how much is measured.
type extent struct {
	notified int           // samples of hand-offs by NOTIFY
	handOffs int           // and of each other kind
	waiters  int           // goroutines that wait at once
	idle     time.Duration // for which they are watched
	glance   time.Duration // the same, when all wait for one object
	polls    int
	leases   int           // held and renewed at once
	ttl      time.Duration // of those
	renewals int           // to watch
	rounds   int           // in which those who compete take turns
	round    time.Duration
	grants   int // renewed in one statement
}

func full() extent {
	return extent{
		notified: 400, handOffs: 120, waiters: 10000, idle: 20 * time.Second, glance: 3 * time.Second, polls: 20,
		leases: 1000, ttl: 6 * time.Second, renewals: 2, rounds: 3, round: 400 * time.Millisecond, grants: 1000,
	}
}

func tiny() extent {
	return extent{
		notified: 2, handOffs: 2, waiters: 20, idle: 100 * time.Millisecond, glance: 100 * time.Millisecond, polls: 2,
		leases: 10, ttl: 3 * time.Second, renewals: 1, rounds: 1, round: 10 * time.Millisecond, grants: 10,
	}
}

type bench struct {
	extent
	servers    []server
	only       *regexp.Regexp
	complaints io.Writer
	report     report
}

// measurement is one section of the report.
type measurement struct {
	name string
	take func(ctx context.Context, p *place) error
	// table is true when it is about the table only.
	table bool
}

func (b *bench) measurements() []measurement {
	return []measurement{
		{"hand-off", b.handOff, false},
		{"waiting", b.waitForMany, true},
		{"waiting-for-one", b.waitForOne, true},
		{"renewing", b.renewing, true},
		{"renewal", b.renewal, true},
		{"cycles", b.cycles, false},
		{"refusals", b.refusals, true},
		{"hot-key", b.hotKey, true},
	}
}

func (b *bench) measure(ctx context.Context) error {
	for _, m := range b.measurements() {
		for _, s := range b.servers {
			name := m.name + "/" + s.product
			if !b.only.MatchString(name) || m.table && s.product == productRedis {
				continue
			}
			began := time.Now()
			if err := b.on(ctx, s, m.take); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			fmt.Fprintf(b.complaints, "bench: %s took %.1f s\n", name, time.Since(began).Seconds())
		}
	}
	return nil
}

// on measures in a new database.
func (b *bench) on(ctx context.Context, s server, take func(context.Context, *place) error) (err error) {
	p, err := newPlace(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.remove()) }()
	return take(ctx, p)
}
