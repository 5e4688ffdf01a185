//go:build unix

package applock_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/testdb"
)

// What is deposited. Each sum of them is another one.
const (
	fencingBefore = 100
	fencingPaused = 10 // by the process that is paused
	fencingOther  = 50 // by the one that takes over
)

// Goal: a holder that is paused past its expiry overwrites what the next one has written, unless the fence keeps it out:
// by assert in the transaction that writes, or by a check of the application's own.
// Method: a process deposits under a lease. It looks whether it still has the lease, and is stopped by SIGSTOP before it
// writes. When its lease has expired, another one takes over, deposits and releases. Then the process goes on and
// writes what it has computed. Without a fence the other deposit is lost, each time. With one the late write is refused, the
// process does all of it again, and both deposits are there.
func TestFencing(t *testing.T) {
	t.Parallel()
	onEachProduct(t, func(t *testing.T, product string) {
		t.Parallel()
		place := newRealPlace(t, product)
		place.exec(t, createAccounts)
		var all []fencing
		for _, job := range fencingJobs(product) {
			f := newFencing(t, place, job)
			f.process.pause(t)
			all = append(all, f)
		}
		for i := range all {
			all[i].next = all[i].depositAsNext(t)
		}
		for _, f := range all {
			t.Run(f.job.Account, f.check)
		}
	})
}

// Goal: a write that begins with assert is finished before anybody takes over, even if the lease expires meanwhile.
// Method: the process is stopped between its assert and its write, until its lease has expired and another one has come to
// the lock's row twice, because a statement waits there for 1 s at the most. That one gets the lease when the process has
// gone on and committed. (SQLite has one writer at a time anyway.)
func TestFencingDuringTheWrite(t *testing.T) {
	t.Parallel()
	for _, product := range append(testdb.MySQLProducts(), onPostgres) {
		t.Run(product, func(t *testing.T) {
			t.Parallel()
			place := newRealPlace(t, product)
			place.exec(t, createAccounts)
			job := fencingJob{Library: throughSQL, FencedBy: fencedByAssert, PauseAfterAssert: true, Account: "asserted"}
			f := newFencing(t, place, job)
			f.process.pause(t)
			done := make(chan error, 1)
			go func() {
				_, err := f.depositNext(t.Context())
				done <- err
			}()
			f.waitUntilExpired(t)
			for _, waits := range []bool{true, false, true} {
				f.waitUntilASessionWaits(t, waits, done)
			}
			report := f.process.resume(t)
			if want := (fencingReport{Fence: report.Fence, ContextLost: true, ReleaseLost: true}); report != want {
				t.Errorf("the process reports %+v, want %+v", report, want)
			}
			if err := <-done; err != nil {
				t.Error(err)
			}
			if got, want := f.balance(t), fencingBefore+fencingPaused+fencingOther; got != want {
				t.Errorf("the balance is %d, want %d", got, want)
			}
		})
	}
}

func (f fencing) waitUntilExpired(t *testing.T) {
	t.Helper()
	for {
		_, err := f.client.Inquire(t.Context(), accountObject(f.job.Account))
		if errors.Is(err, applock.ErrNotHeld) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		backOff(t.Context())
	}
}

// waitUntilASessionWaits returns when one does, or none. In done there must be nothing yet.
func (f fencing) waitUntilASessionWaits(t *testing.T, want bool, done chan error) {
	t.Helper()
	for {
		waits, err := f.aSessionWaits(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if waits == want {
			return
		}
		if len(done) > 0 {
			t.Fatalf("the other one has not waited for the write: %v", <-done)
		}
		backOff(t.Context())
	}
}

func fencingJobs(product string) []fencingJob {
	libraries := []string{throughSQL}
	if product == onPostgres {
		libraries = append(libraries, throughPgx)
	}
	var jobs []fencingJob
	for _, library := range libraries {
		for _, fencedBy := range []string{fencedByNothing, fencedByAssert, fencedByData} {
			jobs = append(jobs, fencingJob{Library: library, FencedBy: fencedBy, Account: library + "/" + fencedBy})
		}
	}
	return jobs
}

// fencing is an account, and a process that is about to write to it.
type fencing struct {
	accounts

	job     fencingJob
	process fencingProcess
	// next is the fence of the one that took over.
	next applock.Fence
}

func newFencing(t *testing.T, place realPlace, job fencingJob) fencing {
	t.Helper()
	job.DSN, job.Amount = place.dsn, fencingPaused
	application, closeApplication, err := newAccounts(t.Context(), place, job)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(closeApplication)
	_, err = place.handle.ExecContext(t.Context(),
		place.bound("INSERT INTO account (id, balance, fence) VALUES ($1, $2, 0)"), job.Account, fencingBefore)
	if err != nil {
		t.Fatal(err)
	}
	return fencing{accounts: application, job: job, process: startFencingProcess(t, job)}
}

// check lets the process go on, and looks at what it reports and at the balance.
func (f fencing) check(t *testing.T) {
	fenced := f.job.FencedBy != fencedByNothing
	report := f.process.resume(t)
	want := fencingReport{
		Fence: report.Fence, Refused: fenced, AssertLost: f.job.FencedBy == fencedByAssert, ContextLost: true, ReleaseLost: true,
	}
	if report != want {
		t.Errorf("the process reports %+v, want %+v", report, want)
	}
	if f.next <= report.Fence {
		t.Errorf("the later grant has the fence %d, and the earlier one %d", f.next, report.Fence)
	}
	balance := fencingBefore + fencingPaused // the other deposit is lost
	if fenced {
		balance += fencingOther
	}
	if got := f.balance(t); got != balance {
		t.Errorf("the balance is %d, want %d", got, balance)
	}
}

// depositAsNext has the lease expire, takes over, deposits, releases, and returns the fence.
func (f fencing) depositAsNext(t *testing.T) applock.Fence {
	t.Helper()
	expire(t, f.dsn, accountObject(f.job.Account))
	fence, err := f.depositNext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return fence
}

func (f fencing) depositNext(ctx context.Context) (fence applock.Fence, err error) {
	request := applock.AcquireRequest{Object: accountObject(f.job.Account), MaxHold: time.Minute}
	err = f.client.Do(ctx, request, func(ctx context.Context, lease applock.Lease) error {
		fence = lease.Fence()
		return f.deposit(ctx, depositing{lease: lease, amount: fencingOther})
	})
	return fence, err
}

func (f fencing) balance(t *testing.T) int {
	t.Helper()
	var balance int
	row := f.handle.QueryRowContext(t.Context(), f.bound(readBalance), f.job.Account)
	if err := row.Scan(&balance); err != nil {
		t.Fatal(err)
	}
	return balance
}

// fencingProcess is a process that runs fencingMain.
type fencingProcess struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr *bytes.Buffer
}

// startFencingProcess returns when the process is about to write.
func startFencingProcess(t *testing.T, job fencingJob) fencingProcess {
	t.Helper()
	encoded, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	process := fencingProcess{cmd: exec.CommandContext(t.Context(), os.Args[0]), stderr: &bytes.Buffer{}}
	process.cmd.Env = append(os.Environ(), fencingJobVariable+"="+string(encoded))
	process.cmd.Stderr = process.stderr
	// In a group of its own: should this process die, the system ends a stopped one that is the last of its group.
	process.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := process.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := process.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	process.stdin, process.stdout = stdin, bufio.NewReader(stdout)
	if err := process.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		process.signal(t, syscall.SIGCONT)
		process.signal(t, syscall.SIGKILL)
		_ = process.cmd.Wait() // only a failed test has not waited yet
	})
	if line, err := process.stdout.ReadString('\n'); line != "about to write\n" {
		_ = process.cmd.Wait() // what it printed tells more
		t.Fatalf("the process is not about to write: %q, %v\n%s", line, err, process.stderr)
	}
	return process
}

// signal signals the process, if it is still there.
func (p fencingProcess) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("%s: %v", signal, err)
	}
}

// pause stops the process, and returns when it has stopped.
func (p fencingProcess) pause(t *testing.T) {
	t.Helper()
	p.signal(t, syscall.SIGSTOP)
	var status syscall.WaitStatus
	for {
		_, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || !status.Stopped() {
			t.Fatalf("the process has not stopped: %#x, %v\n%s", status, err, p.stderr)
		}
		return
	}
}

// resume lets the process go on, with the line that it waits for, and returns its report.
func (p fencingProcess) resume(t *testing.T) fencingReport {
	t.Helper()
	if _, err := io.WriteString(p.stdin, "write\n"); err != nil {
		t.Fatal(err)
	}
	p.signal(t, syscall.SIGCONT)
	output, readErr := io.ReadAll(p.stdout)
	var report fencingReport
	if err := errors.Join(p.cmd.Wait(), readErr, json.Unmarshal(output, &report)); err != nil {
		t.Fatalf("%v, stdout: %s\n%s", err, output, p.stderr)
	}
	return report
}
