package locktest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/applock/applock/applock"
)

// The variables that make the test binary another process of a test.
const (
	jobVariable     = "APPLOCK_LOCKTEST_JOB"
	placeVariable   = "APPLOCK_LOCKTEST_PLACE"
	counterVariable = "APPLOCK_LOCKTEST_COUNTER"
)

const (
	jobCount = "count"
	jobHold  = "hold"
	jobLeave = "leave"

	processes       = 4
	roundsPerWorker = 25
)

// Main is what TestMain of a backend's tests calls. It makes the test binary one of the processes of a test if the
// environment has a job for it.
func Main(m *testing.M, open Open) {
	if job := os.Getenv(jobVariable); job != "" {
		if err := work(job, open); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func work(job string, open Open) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	defer cancel()
	if job == jobLeave {
		return leave(ctx, open)
	}
	locker, closeClient, err := open(ctx, os.Getenv(placeVariable))
	if err != nil {
		return err
	}
	defer closeClient()
	if job == jobHold {
		return holdUntilKilled(ctx, locker)
	}
	for range roundsPerWorker {
		if err := locker.Do(ctx, request(wallet(1)), countInFile); err != nil {
			return err
		}
	}
	return nil
}

// countInFile reads, and writes later: alone, it counts; with others, it loses counts.
func countInFile(context.Context, *applock.Lease) error {
	path := os.Getenv(counterVariable)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(string(text))
	if err != nil {
		return err
	}
	time.Sleep(time.Millisecond)
	return os.WriteFile(path, []byte(strconv.Itoa(count+1)), 0o600)
}

func holdUntilKilled(ctx context.Context, locker applock.Locker) error {
	_, err := locker.Acquire(ctx, applock.AcquireRequest{Object: wallet(1), MaxHold: longHold, TTL: time.Second})
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "holding")
	<-ctx.Done()
	return errors.New("nobody has killed the holder")
}

// leave uses a client in all ways, closes it, and looks what is left of it.
func leave(ctx context.Context, open Open) error {
	sockets := countSockets()
	locker, closeClient, err := open(ctx, os.Getenv(placeVariable))
	if err != nil {
		return err
	}
	lease, err := locker.Acquire(ctx, applock.AcquireRequest{Object: wallet(1), MaxHold: longHold, TTL: time.Second})
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	for range 5 {
		group.Go(func() { _, _ = locker.TryAcquire(ctx, request(wallet(1)), aWhile) })
	}
	group.Wait()
	waiting(ctx, locker, request(wallet(1)))
	if err := lease.Release(ctx); err != nil {
		return err
	}
	closeClient()
	if err := goleak.Find(); err != nil {
		return err
	}
	if left := countSockets(); left > sockets {
		return fmt.Errorf("%d sockets were open at the beginning, and %d are at the end", sockets, left)
	}
	return nil
}

// countSockets counts the sockets of this process, where /proc tells them.
func countSockets() int {
	descriptors, _ := filepath.Glob("/proc/self/fd/*")
	sockets := 0
	for _, descriptor := range descriptors {
		if target, _ := os.Readlink(descriptor); strings.HasPrefix(target, "socket:") {
			sockets++
		}
	}
	return sockets
}

// process makes a command of the test binary with a job.
func process(t testing.TB, job, place, counter string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program)
	command.Env = append(os.Environ(), jobVariable+"="+job, placeVariable+"="+place, counterVariable+"="+counter)
	command.Stderr = os.Stderr
	return command
}

// skipWithin leaves out what concerns other processes where there are none.
func skipWithin(t *testing.T, backend Backend) {
	t.Helper()
	if backend.OneClient || backend.OneProcess {
		t.Skip("the locks are those of one process, as the backend's documentation or its test says")
	}
}

// Goal: never two processes at a time. Method: four of them count in a file in two steps, which loses counts unless each
// is alone.
func mutualExclusionOfProcesses(t *testing.T, backend Backend) {
	skipWithin(t, backend)
	place := backend.Place(t)
	counter := filepath.Join(t.TempDir(), "counter")
	if err := os.WriteFile(counter, []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range processes {
		command := process(t, jobCount, place, counter)
		group.Go(func() {
			if err := command.Run(); err != nil {
				t.Errorf("a process: %v", err)
			}
		})
	}
	group.Wait()
	text, err := os.ReadFile(counter)
	if want := strconv.Itoa(processes * roundsPerWorker); err != nil || string(text) != want {
		t.Errorf("counted %s of %s, %v", text, want, err)
	}
}

// Goal: a holder that crashes frees the object in seconds. Method: kill a process that holds a lease with a TTL of 1 s.
func killedHolder(t *testing.T, backend Backend) {
	skipWithin(t, backend)
	place := newPlace(t, backend)
	command := process(t, jobHold, place.name, "")
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(output).ReadString('\n'); err != nil || line != "holding\n" {
		t.Fatalf("the process said %q, %v", line, err)
	}
	requireHeld(t, place.locker, wallet(1))
	time.Sleep(2 * time.Second)
	requireHeld(t, place.locker, wallet(1)) // it renews
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, output)
	_ = command.Wait() // it was killed
	requireFree(t, place.locker, wallet(1))
}

// Goal: a closed client leaves no goroutine and no connection. Method: a process that uses one in all ways, closes it and
// looks.
func leavesNothing(t *testing.T, backend Backend) {
	if backend.OneProcess {
		skipWithin(t, backend)
	}
	place := backend.Place(t)
	if err := process(t, jobLeave, place, "").Run(); err != nil {
		t.Errorf("a process that should have had nothing left: %v", err)
	}
}
