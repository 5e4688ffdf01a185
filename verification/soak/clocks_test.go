//go:build clocks

package soak_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/applock/applock/internal/testing/wire"
	"github.com/applock/applock/internal/testing/worker"
)

// Go asks the kernel for the time, and not the C library, so that libfaketime cannot change it for a Go program. QEMU runs the program here, and answers
// for the kernel with the time that QEMU's own C library tells, which libfaketime does change.

// clockedProgram is a watched program whose clocks a test sets.
type clockedProgram struct {
	t      *testing.T
	offset string // a file that libfaketime reads
	sights *json.Decoder
	set    time.Duration
}

// startClocked starts a watched program and returns when it has its leases. Without monotonic only the time of day is set, and with it all clocks, as
// a machine that slept sees them.
func startClocked(t *testing.T, b backend, dsn string, monotonic bool) *clockedProgram {
	t.Helper()
	libraries, err := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1")
	if err != nil || len(libraries) == 0 {
		t.Fatal("there is no libfaketime: apt-get install libfaketime")
	}
	c := &clockedProgram{t: t, offset: filepath.Join(t.TempDir(), "offset")}
	c.write()
	emulator := map[string]string{"amd64": "qemu-x86_64", "arm64": "qemu-aarch64"}[runtime.GOARCH]
	command := exec.CommandContext(context.Background(), emulator, "-U", "LD_PRELOAD", worker.Program(t))
	command.Env = append(os.Environ(), "LD_PRELOAD="+libraries[0], "FAKETIME_NO_CACHE=1", "FAKETIME_TIMESTAMP_FILE="+c.offset)
	if !monotonic {
		command.Env = append(command.Env, "DONT_FAKE_MONOTONIC=1")
	}
	p := worker.Run(t, command, soakJob, orders{Backend: b.name, DSN: dsn, Journal: filepath.Join(t.TempDir(), "journal"), Watched: true})
	c.sights = json.NewDecoder(p.Out)
	t.Cleanup(func() {
		_ = p.In.Close()
		for c.sights.Decode(&sight{}) == nil { // until it has ended
		}
		if err := p.Wait(); err != nil {
			t.Errorf("the program ended with %v", err)
		}
	})
	c.next()
	return c
}

// next returns what the program sees next.
func (c *clockedProgram) next() sight {
	c.t.Helper()
	var now sight
	if err := c.sights.Decode(&now); err != nil {
		c.t.Fatalf("the program has stopped: %v", err)
	}
	return now
}

func (c *clockedProgram) write() {
	c.t.Helper()
	temporary := c.offset + ".new"
	if err := os.WriteFile(temporary, fmt.Appendf(nil, "%+d", int64(c.set.Seconds())), 0o600); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Rename(temporary, c.offset); err != nil {
		c.t.Fatal(err)
	}
}

// step sets the clock and returns the first sight of the new time.
func (c *clockedProgram) step(by time.Duration) sight {
	c.t.Helper()
	c.set += by
	c.write()
	for {
		now := c.next()
		if off := time.Until(now.Wall) - c.set; off.Abs() < by.Abs()/2 {
			return now
		}
	}
}

// elsewhere are the backends whose time is that of a server. SQLite's is the program's own, so that its locks expire by the time of day.
func elsewhere() []backend {
	return slices.DeleteFunc(withoutSessions(), func(b backend) bool { return b.name == "sqlite" })
}

// Goal: no step of the machine's time ends a live lease, or keeps one from being renewed. Method: a program whose time of day is really set, forward and
// back, by more than each lease lasts. After each step it has to renew twice more.
func TestStepsOfTheClock(t *testing.T) {
	t.Parallel()
	for _, b := range elsewhere() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			c := startClocked(t, b, b.place(t), false)
			for _, by := range []time.Duration{30 * time.Second, -30 * time.Second, -time.Hour, 2 * time.Hour, -400 * 24 * time.Hour, 800 * 24 * time.Hour} {
				now := c.step(by)
				for wanted := now.Renewals + 2; now.Renewals < wanted && len(now.Lost) == 0; {
					now = c.next()
				}
				if len(now.Lost) > 0 {
					t.Fatalf("the time was set by %s: lost %v", by, now.Lost)
				}
			}
		})
	}
}

// Goal: no lease is trusted after a sleep that was longer than it lasts. Method: a program for which all clocks go on at once, as for a machine that was
// stopped, while no answer of its server arrives: by ten minutes, which is longer than two of the leases last, and by an hour, which is longer than all do.
func TestJumpOfAllClocks(t *testing.T) {
	t.Parallel()
	for _, b := range elsewhere() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			way, dsn := wire.Through(t, b.place(t))
			c := startClocked(t, b, dsn, true)
			way.Silence()
			defer way.Speak() // so that the program can close its connections
			now := c.step(10 * time.Minute)
			if _, isLost := now.Lost["max_hold"]; isLost || len(now.Lost) != 2 {
				t.Errorf("ten minutes later: lost %v, want the two whose TTL is over, and not the one that lasts for half an hour", now.Lost)
			}
			if now = c.step(time.Hour); len(now.Lost) != len(watchedLeases()) {
				t.Errorf("an hour later: lost %v, want all", now.Lost)
			}
		})
	}
}
