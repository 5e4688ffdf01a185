package applock_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/applock/applock/applock"
)

const (
	// fencingJob is that of a process that TestFencing starts.
	fencingJob = "fencing"
	// fencingLimit ends a process that does not come to an end by itself.
	fencingLimit = 2 * time.Minute
	// fencingHold is how long a process that is paused may have its lease: longer than any stall, because the test has it
	// expire.
	fencingHold  = 10 * time.Minute
	fencingConns = 4

	createAccounts = `CREATE TABLE account (
		id VARCHAR(64) NOT NULL PRIMARY KEY,
		balance INTEGER NOT NULL,
		fence BIGINT NOT NULL
	)`
	readBalance  = `SELECT balance FROM account WHERE id = $1`
	writeBalance = `UPDATE account SET balance = $1 WHERE id = $2`

	// claimAccount comes before the read, and writeIfClaimed instead of writeBalance: no row means that a later grant has
	// claimed the account.
	claimAccount   = `UPDATE account SET fence = $1 WHERE id = $2 AND fence < $3`
	writeIfClaimed = `UPDATE account SET balance = $1 WHERE id = $2 AND fence = $3`
)

// What keeps out a holder that has lost its lease and does not know it.
const (
	fencedByNothing = "nothing"
	fencedByAssert  = "assert"
	// fencedByData is a fence in the data: the application's own check.
	fencedByData = "data"
)

// The libraries that a transaction can be of.
const (
	throughPgx = "pgx"
	throughSQL = "sql"
)

// errOutdated is the refusal of the application's own check.
var errOutdated = errors.New("a later grant has claimed the account")

// accounts is the application: it deposits money.
type accounts struct {
	realPlace
	fencedBy string
	begin    beginApp
}

func newAccounts(ctx context.Context, place realPlace, job fencingOrders) (accounts, func(), error) {
	a := accounts{realPlace: place, fencedBy: job.FencedBy, begin: place.throughSQL(sql.LevelDefault)}
	if job.Library != throughPgx {
		return a, func() {}, nil
	}
	begin, closePool, err := place.throughPgx(ctx, fencingConns, "")
	a.begin = begin
	return a, closePool, err
}

// depositing is one deposit, with what is called on its way.
type depositing struct {
	lease  applock.Lease
	amount int
	// beforeWrite, if set, is called between the read and the transaction that writes.
	beforeWrite func() error
}

// deposit reads the balance, computes in Go, and writes in a transaction of its own. Its ctx is not the lease's: the
// lease is what is tested.
func (a accounts) deposit(ctx context.Context, d depositing) error {
	if a.fencedBy == fencedByData {
		if err := a.claim(ctx, d.lease); err != nil {
			return err
		}
	}
	var balance int
	row := a.handle.QueryRowContext(ctx, a.bound(readBalance), d.lease.Object().ID)
	if err := row.Scan(&balance); err != nil {
		return fmt.Errorf("read: %w", err)
	}
	if d.beforeWrite != nil {
		if err := d.beforeWrite(); err != nil {
			return err
		}
	}
	return a.write(ctx, d, balance+d.amount)
}

func (a accounts) write(ctx context.Context, d depositing, balance int) error {
	tx, err := a.begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.rollback(ctx) }() // after the commit there is nothing to roll back
	switch a.fencedBy {
	case fencedByAssert:
		err = a.writeAsserted(ctx, tx, d, balance)
	case fencedByData:
		err = a.writeClaimed(ctx, tx, d.lease, balance)
	default:
		_, err = tx.exec(ctx, writeBalance, balance, d.lease.Object().ID)
	}
	if err != nil {
		return err
	}
	return tx.commit(ctx)
}

// writeAsserted writes while the lease is live, or not at all.
func (a accounts) writeAsserted(ctx context.Context, tx appTx, d depositing, balance int) error {
	err := tx.locks.Assert(ctx, applock.Key{
		Object: d.lease.Object(), Operator: d.lease.Owner().Operator, Fence: d.lease.Fence(),
	})
	if err != nil {
		return err
	}
	_, err = tx.exec(ctx, writeBalance, balance, d.lease.Object().ID)
	return err
}

// claim keeps all earlier grants from writing.
func (a accounts) claim(ctx context.Context, lease applock.Lease) error {
	fence := int64(lease.Fence())
	result, err := a.handle.ExecContext(ctx, a.bound(claimAccount), fence, lease.Object().ID, fence)
	if err != nil {
		return err
	}
	rows, err := result.RowsAffected()
	return orOutdated(rows, err)
}

// writeClaimed writes unless a later grant has claimed the account.
func (a accounts) writeClaimed(ctx context.Context, tx appTx, lease applock.Lease, balance int) error {
	return orOutdated(tx.exec(ctx, writeIfClaimed, balance, lease.Object().ID, int64(lease.Fence())))
}

func orOutdated(rows int64, err error) error {
	if err == nil && rows == 0 {
		return errOutdated
	}
	return err
}

// fencingOrders are those of the process that is paused.
type fencingOrders struct {
	DSN      string
	Library  string
	FencedBy string
	Account  string
	Amount   int
}

// fencingReport is what became of it.
type fencingReport struct {
	Fence applock.Fence
	// Refused is true when the write was refused, and AssertLost when that was ErrLost.
	Refused, AssertLost bool
	// ContextLost and ReleaseLost are whether the lease told its holder, in the end.
	ContextLost, ReleaseLost bool
}

// fencingWork is the job of a process that is paused: it prints "about to write" when it is to be, goes on when it has got a line, and prints
// its report.
func fencingWork(ctx context.Context, orders []byte) error {
	ctx, cancel := context.WithTimeout(ctx, fencingLimit)
	defer cancel()
	var job fencingOrders
	if err := json.Unmarshal(orders, &job); err != nil {
		return err
	}
	place, err := openRealPlace(ctx, job.DSN, patientWriter)
	if err != nil {
		return err
	}
	defer place.close()
	application, closeApplication, err := newAccounts(ctx, place, job)
	if err != nil {
		return err
	}
	defer closeApplication()
	report, err := application.depositWithPause(ctx, job)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(report)
}

// depositWithPause deposits under a lease, looks whether it still has the lease, is paused, and writes. A refused deposit
// is done again, under a new lease.
func (a accounts) depositWithPause(ctx context.Context, job fencingOrders) (fencingReport, error) {
	// Without a TTL: on SQLite a renewal that is paused would keep the file locked.
	request := applock.AcquireRequest{Object: accountObject(job.Account), MaxHold: fencingHold}
	lease, err := a.depositOnce(ctx, job, request)
	for errors.Is(err, errTooSlow) {
		lease, err = a.depositOnce(ctx, job, request)
	}
	if lease == nil {
		return fencingReport{}, err
	}
	report := fencingReport{Fence: lease.Fence(), AssertLost: errors.Is(err, applock.ErrLost)}
	report.Refused = report.AssertLost || errors.Is(err, errOutdated)
	if err != nil && !report.Refused {
		return report, err
	}
	_ = lease.Renew(ctx) // so that it is found out, unless it has been
	<-lease.Context().Done()
	report.ContextLost = errors.Is(context.Cause(lease.Context()), applock.ErrLost)
	report.ReleaseLost = errors.Is(lease.Release(ctx), applock.ErrLost)
	if !report.Refused {
		return report, nil
	}
	return report, a.client.Do(ctx, request, func(ctx context.Context, lease applock.Lease) error {
		return a.deposit(ctx, depositing{lease: lease, amount: job.Amount})
	})
}

// depositOnce deposits under a new lease and is paused on the way.
func (a accounts) depositOnce(ctx context.Context, job fencingOrders, request applock.AcquireRequest) (applock.Lease, error) {
	lease, err := a.client.Acquire(ctx, request)
	if err != nil {
		return nil, err
	}
	pause := func() error { return checkThenPause(lease) }
	return lease, a.deposit(ctx, depositing{lease: lease, amount: job.Amount, beforeWrite: pause})
}

// errTooSlow is a lease that has run out before the process could be paused: the machine has stalled.
var errTooSlow = errors.New("the lease ended before the pause")

// checkThenPause is what a careful program does, which does not help: the lease is live when it is looked at.
func checkThenPause(lease applock.Lease) error {
	if err := context.Cause(lease.Context()); err != nil {
		return fmt.Errorf("%w: %w", errTooSlow, err)
	}
	fmt.Fprintln(os.Stdout, "about to write")
	_, err := bufio.NewReader(os.Stdin).ReadString('\n')
	return err
}

func accountObject(id string) applock.Object {
	return applock.Object{Type: "account", ID: id}
}
