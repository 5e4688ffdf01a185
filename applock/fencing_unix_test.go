//go:build unix

package applock_test

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/worker"
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
	testdb.EachProduct(t, testdb.Products(), func(t *testing.T, product string) {
		place := newRealPlace(t, product)
		place.exec(t, createAccounts)
		var all []fencing
		for _, job := range fencingJobs(product) {
			f := newFencing(t, place, job)
			f.process.Pause(t)
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

func fencingJobs(product string) []fencingOrders {
	libraries := []string{throughSQL}
	if product == onPostgres {
		libraries = append(libraries, throughPgx)
	}
	var jobs []fencingOrders
	for _, library := range libraries {
		for _, fencedBy := range []string{fencedByNothing, fencedByAssert, fencedByData} {
			jobs = append(jobs, fencingOrders{Library: library, FencedBy: fencedBy, Account: library + "/" + fencedBy})
		}
	}
	return jobs
}

// fencing is an account, and a process that is about to write to it.
type fencing struct {
	accounts

	job     fencingOrders
	process *worker.Process
	// next is the fence of the one that took over.
	next applock.Fence
}

func newFencing(t *testing.T, place realPlace, job fencingOrders) fencing {
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
	process := worker.Start(t, fencingJob, job)
	process.Await(t, "about to write")
	return fencing{accounts: application, job: job, process: process}
}

// check lets the process go on, and looks at what it reports and at the balance.
func (f fencing) check(t *testing.T) {
	fenced := f.job.FencedBy != fencedByNothing
	report := f.resume(t)
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

// resume lets the process go on, with the line that it waits for, and returns its report.
func (f fencing) resume(t *testing.T) (report fencingReport) {
	t.Helper()
	if _, err := io.WriteString(f.process.In, "write\n"); err != nil {
		t.Fatal(err)
	}
	f.process.Resume()
	if err := f.process.Answer(&report); err != nil {
		t.Fatal(err)
	}
	return report
}
