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
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// Environment variables that make the test binary another process of a test.
const (
	jobVariable     = "APPLOCK_LOCKTEST_JOB"
	placeVariable   = "APPLOCK_LOCKTEST_PLACE"
	kindVariable    = "APPLOCK_LOCKTEST_KIND"
	counterVariable = "APPLOCK_LOCKTEST_COUNTER"
)

const (
	jobCount = "count"
	jobHold  = "hold"
	jobLeave = "leave"

	jobMany = "many"

	// processLimit ends a process that was not killed.
	processLimit = 5 * time.Minute

	processes       = 4
	roundsPerWorker = 10
)

// Main is for TestMain of a backend's tests. If the environment has a job, it makes the test binary a process of a test.
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
	ctx, cancel := context.WithTimeout(context.Background(), processLimit)
	defer cancel()
	if job == jobLeave {
		return leave(ctx, open)
	}
	before := countSockets()
	locker, closeClient, err := open(ctx, os.Getenv(placeVariable))
	if err != nil {
		return err
	}
	switch job {
	case jobHold:
		err = holdUntilKilled(ctx, locker)
	case jobMany:
		err = holdMany(ctx, locker, before)
	default:
		err = countRounds(ctx, locker)
	}
	return errors.Join(err, closeClient())
}

func countRounds(ctx context.Context, locker lease.Locker) error {
	for range roundsPerWorker {
		if err := locker.Do(ctx, request(ours(1)), countInFile); err != nil {
			return err
		}
	}
	return nil
}

// ours returns an object of the test that started this process.
func ours(id any) applock.Object { return objectOf(os.Getenv(kindVariable), id) }

// countInFile reads and later writes a count. If it is not alone, counts get lost.
func countInFile(context.Context, applock.Lease) error {
	path := os.Getenv(counterVariable)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(string(text))
	if err != nil {
		return err
	}
	runtime.Gosched()
	return os.WriteFile(path, []byte(strconv.Itoa(count+1)), 0o600)
}

func holdUntilKilled(ctx context.Context, locker lease.Locker) error {
	_, err := locker.Acquire(ctx, applock.AcquireRequest{Object: ours(1), MaxHold: longHold, TTL: longTTL})
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "holding")
	<-ctx.Done()
	return errors.New("nobody has killed the holder")
}

// manySockets is less than the number of leases and waiters of holdMany, and more than a pool and a listener need.
const (
	manyObjects = 60
	manySockets = 30
)

// holdMany holds many objects, each with a waiter. It counts the sockets while all are held, and after each served waiter.
func holdMany(ctx context.Context, locker lease.Locker, before int) error {
	var leases []applock.Lease
	for id := range manyObjects {
		lease, err := locker.Acquire(ctx, applock.AcquireRequest{Object: ours(id), MaxHold: longHold, TTL: longTTL})
		if err != nil {
			return err
		}
		leases = append(leases, lease)
	}
	most := countSockets()
	served := make(chan error, manyObjects)
	for id := range manyObjects {
		go func() {
			served <- locker.Do(ctx, request(ours(id)), func(context.Context, applock.Lease) error { return nil })
		}()
	}
	for _, lease := range leases {
		if err := lease.Release(ctx); err != nil {
			return err
		}
		if err := <-served; err != nil {
			return err
		}
		most = max(most, countSockets())
	}
	if most-before >= manySockets {
		return fmt.Errorf("%d leases and their waiters used %d sockets, want fewer than %d", manyObjects, most-before, manySockets)
	}
	return nil
}

// leave uses a client in all ways, closes it, and checks what is left.
func leave(ctx context.Context, open Open) error {
	sockets := countSockets()
	locker, closeClient, err := open(ctx, os.Getenv(placeVariable))
	if err != nil {
		return err
	}
	lease, err := locker.Acquire(ctx, applock.AcquireRequest{Object: ours(1), MaxHold: longHold, TTL: longTTL})
	if err != nil {
		return err
	}
	short := request(ours(1))
	short.MaxWait = 100 * time.Millisecond
	var group sync.WaitGroup
	for range 5 {
		group.Go(func() { _, _ = locker.TryAcquire(ctx, short) })
	}
	group.Wait()
	waiter := make(chan error, 1)
	go func() {
		_, err := locker.Acquire(ctx, request(ours(1)))
		waiter <- err
	}()
	if err := lease.Release(ctx); err != nil {
		return err
	}
	if err := closeClient(); err != nil {
		return err
	}
	if err := <-waiter; err != nil && !errors.Is(err, applock.ErrClosed) {
		return err
	}
	if err := goleak.Find(); err != nil {
		return err
	}
	if left := countSockets(); left > sockets {
		return fmt.Errorf("%d sockets were open at the beginning, and %d are at the end", sockets, left)
	}
	return nil
}

// countSockets counts the sockets of this process, if /proc lists them.
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
func (p place) process(t testing.TB, job, counter string) *exec.Cmd {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), program)
	command.Env = append(os.Environ(), jobVariable+"="+job, placeVariable+"="+p.name, kindVariable+"="+p.kind, counterVariable+"="+counter)
	command.Stderr = os.Stderr
	return command
}

// processRules are the rules whose checks start other processes.
func processRules(backend Backend) (rules []rule) {
	if backend.OneProcess {
		return nil
	}
	rules = []rule{
		{"ManyLeases", "neither a lease nor a waiter occupies a connection", manyLeases},
		{"LeavesNothing", "a closed client leaves no goroutine and no connection", leavesNothing},
	}
	if !backend.OneClient {
		rules = append(rules,
			rule{"ExclusionOfProcesses", "never two processes hold an object at a time", exclusionOfProcesses},
			rule{"KilledHolder", "the object of a killed process becomes free", killedHolder})
	}
	return rules
}

// Goal: never two processes hold at a time. Method: four of them count in a file in two steps, which loses counts unless each is alone.
func exclusionOfProcesses(t *trial, backend Backend) {
	place := place{backend: backend, name: backend.Place(t), kind: newKind()}
	counter := filepath.Join(t.TempDir(), "counter")
	if err := os.WriteFile(counter, []byte("0"), 0o600); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range processes {
		command := place.process(t, jobCount, counter)
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

// Goal: a crashed holder's object is free as soon as the backend sees the crash, or after the TTL. Method: kill a process that holds a
// lease with a TTL, and let the TTL pass if needed.
func killedHolder(t *trial, backend Backend) {
	place := newPlace(t, backend)
	command := place.process(t, jobHold, "")
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
	requireHeld(t, place.locker, place.object(1))
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, output)
	_ = command.Wait() // it was killed
	if backend.Expire != nil {
		requireHeld(t, place.locker, place.object(1))
		backend.Expire(t, place.name, place.object(1))
	}
	requireFree(t, place.locker, place.object(1))
}

// Goal: neither a lease nor a waiter occupies a connection. Method: a process with many of each counts its sockets, if /proc lists them.
func manyLeases(t *trial, backend Backend) {
	place := place{backend: backend, name: backend.Place(t), kind: newKind()}
	if err := place.process(t, jobMany, "").Run(); err != nil {
		t.Errorf("a process with many leases: %v", err)
	}
}

// Goal: a closed client leaves no goroutine and no connection. Method: a process that uses one in all ways, closes it and checks.
func leavesNothing(t *trial, backend Backend) {
	place := place{backend: backend, name: backend.Place(t), kind: newKind()}
	if err := place.process(t, jobLeave, "").Run(); err != nil {
		t.Errorf("a process that should have had nothing left: %v", err)
	}
}
