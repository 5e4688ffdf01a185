//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/postgres"
)

const (
	// hotPrograms is how many programs deposit into one wallet, each a process with its own client and pool.
	hotPrograms = 4
	// hotRounds is how many rounds long each contender's turn is: the turns of programs take a quarter of a second.
	hotRounds = 5

	hotKeyPrefix = "hot key, deposits: "

	deposit = "UPDATE bench_wallet SET balance = balance + 1 WHERE id = 1"
)

// hotKey deposits into one wallet from all goroutines, with a commit for each deposit. A lock makes deposits run one after the other, so
// their number cannot exceed that of successive commits.
func (b *bench) hotKey(ctx context.Context, p *place) error {
	for _, statement := range []string{
		"DROP TABLE IF EXISTS bench_wallet",
		"CREATE TABLE bench_wallet (id INT PRIMARY KEY, balance BIGINT NOT NULL)", "INSERT INTO bench_wallet VALUES (1, 0)",
	} {
		if err := p.raw.exec(ctx, statement); err != nil {
			return err
		}
	}
	here, err := p.openDepositor(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = here.close() }() // the measurement is over
	elsewhere, err := startDepositors(ctx, p.server)
	if err != nil {
		return errors.Join(err, elsewhere.end())
	}
	counting := &wallet{}
	byHand := contender{name: commitsName, once: counting.counted(oneAfterTheOther(here))}
	ours := []contender{
		{name: "Serialize", once: counting.counted(serialized(here))},
		{name: "Serialize, four programs", together: elsewhere.deposit(waySerialize, counting)},
		{name: "a lease, one program", once: counting.counted(leased(here))},
		{name: "a lease, four programs", together: elsewhere.deposit(wayLease, counting)},
	}
	longer := bench{extent: b.extent}
	longer.round *= hotRounds
	rates, err := longer.compete(ctx, poolSize, append(ours, byHand))
	if err := errors.Join(err, elsewhere.end()); err != nil {
		return err
	}
	for i, each := range ours {
		b.report.compare(figure{
			Product: p.product, Name: hotKeyPrefix + each.name, Unit: "/s", Baseline: byHand.name,
		}, rates[i], rates[len(ours)])
	}
	return counting.check(ctx, p)
}

// depositing makes one deposit, in one of several goroutines.
type depositing func(ctx context.Context, goroutine int) error

// wallet counts the deposits.
type wallet struct {
	mutex    sync.Mutex
	deposits int
}

func (w *wallet) counted(once depositing) depositing {
	return func(ctx context.Context, goroutine int) error {
		if err := once(ctx, goroutine); err != nil {
			return err
		}
		w.add(1)
		return nil
	}
}

func (w *wallet) add(deposits int) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.deposits += deposits
}

// check requires that each deposit was counted once.
func (w *wallet) check(ctx context.Context, p *place) error {
	balance := 0
	if err := p.raw.row(ctx, "SELECT balance FROM bench_wallet WHERE id = 1", nil, &balance); err != nil {
		return err
	}
	if balance != w.deposits {
		return fmt.Errorf("the wallet has %d after %d deposits", balance, w.deposits)
	}
	return nil
}

// oneAfterTheOther is the limit: only a lock in memory.
func oneAfterTheOther(o opened) depositing {
	var mutex sync.Mutex
	return func(ctx context.Context, _ int) error {
		mutex.Lock()
		defer mutex.Unlock()
		return o.raw.exec(ctx, deposit)
	}
}

func hotWallet() applock.Object { return applock.Object{Type: "wallet", ID: "1"} }

// leased deposits under a lease.
func leased(o opened) depositing {
	return func(ctx context.Context, _ int) error {
		request := applock.AcquireRequest{Object: hotWallet(), MaxHold: time.Minute}
		return o.client.Do(ctx, request, func(ctx context.Context, _ applock.Lease) error { return o.raw.exec(ctx, deposit) })
	}
}

// serialized deposits in a serialized transaction.
func serialized(o opened) depositing {
	return func(ctx context.Context, _ int) error {
		request := hotWallet()
		switch raw := o.raw.(type) {
		case pgExecutor:
			return pgx.BeginFunc(ctx, raw.pool, func(tx pgx.Tx) error {
				if err := postgres.WithTx(o.client, tx).Serialize(ctx, request); err != nil {
					return err
				}
				_, err := tx.Exec(ctx, deposit)
				return err
			})
		case sqlExecutor:
			tx, err := raw.pool.BeginTx(ctx, nil)
			if err != nil {
				return err
			}
			defer func() { _ = tx.Rollback() }() // after the commit it does nothing
			if err := o.client.WithSQLTx(tx).Serialize(ctx, request); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, deposit); err != nil {
				return err
			}
			return tx.Commit()
		}
		return errors.ErrUnsupported
	}
}
