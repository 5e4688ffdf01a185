package choosing_test

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/testing/testclient"
	"github.com/applock/applock/internal/testing/testdb"
)

func walletLease(id string) applock.AcquireRequest {
	return applock.AcquireRequest{Object: applock.Object{Type: "wallet", ID: id}, MaxHold: 10 * time.Second}
}

// Wrong: the object is free before the transaction commits. Whoever gets it next reads the old balance.
func (b bank) depositInside(ctx context.Context, id string, amount int) error {
	return b.execute(ctx, func(ctx context.Context, tx *sql.Tx) (changed account, err error) {
		err = b.locks.Do(ctx, walletLease(id), func(ctx context.Context, _ applock.Lease) error {
			changed, err = b.read(ctx, tx, id, amount)
			return err
		})
		return changed, err
	})
}

// Right: the transaction begins when we have the lease, and has committed when we give it back.
func (b bank) depositAround(ctx context.Context, id string, amount int) error {
	return b.locks.Do(ctx, walletLease(id), func(ctx context.Context, _ applock.Lease) error {
		return b.execute(ctx, func(ctx context.Context, tx *sql.Tx) (account, error) {
			return b.read(ctx, tx, id, amount)
		})
	})
}

// Right, and safe even when the lease is lost without our noticing: the transaction begins with Assert.
func (b bank) depositFenced(ctx context.Context, id string, amount int) error {
	return b.locks.Do(ctx, walletLease(id), func(ctx context.Context, lease applock.Lease) error {
		return b.execute(ctx, func(ctx context.Context, tx *sql.Tx) (account, error) {
			err := b.client.WithSQLTx(tx).Assert(ctx, applock.Key{
				Object: lease.Object(), Operator: lease.Owner().Operator, Fence: lease.Fence(),
			})
			if err != nil {
				return account{}, err
			}
			return b.read(ctx, tx, id, amount)
		})
	})
}

// Right, and it does belong inside: serialize ends with the transaction. The connection waits, too.
func (b bank) depositSerialized(ctx context.Context, id string, amount int) error {
	return b.execute(ctx, func(ctx context.Context, tx *sql.Tx) (account, error) {
		if err := b.client.WithSQLTx(tx).Serialize(ctx, applock.Object{Type: "wallet", ID: id}); err != nil {
			return account{}, err
		}
		return b.read(ctx, tx, id, amount)
	})
}

// Optimistic: nobody waits, and whoever comes second does all of it again.
func (b bank) depositOptimistically(ctx context.Context, id string, amount int) error {
	b.versioned = true
	for {
		err := b.execute(ctx, func(ctx context.Context, tx *sql.Tx) (account, error) {
			return b.read(ctx, tx, id, amount)
		})
		if !errors.Is(err, errConflict) {
			return err
		}
	}
}

const deposits = 10

// deposited is what became of ten deposits of 1 at the same time.
type deposited struct{ committed, conflicts, balance int }

// depositTogether makes ten deposits of 1 at the same time.
func (b bank) depositTogether(t *testing.T, deposit func(ctx context.Context, id string, amount int) error) deposited {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	errs := make([]error, deposits)
	var group sync.WaitGroup
	for i := range errs {
		group.Go(func() { errs[i] = deposit(ctx, wallet, 1) })
	}
	group.Wait()
	var got deposited
	for _, err := range errs {
		switch {
		case err == nil:
			got.committed++
		case errors.Is(err, errConflict) || isDeadlock(err):
			got.conflicts++
		default:
			t.Error(err)
		}
	}
	got.balance = b.balance(t)
	return got
}

// isDeadlock reports whether err is a rollback for another transaction's sake, which on Galera may come at the commit.
func isDeadlock(err error) bool {
	var answer *mysql.MySQLError
	const deadlock = 1213
	return errors.As(err, &answer) && answer.Number == deadlock
}

// allHaveRead makes the worst of it, each time: nobody goes on before all deposits have read.
func allHaveRead() func(ctx context.Context) error {
	var calls atomic.Int32
	all := make(chan struct{})
	return func(ctx context.Context) error {
		if calls.Add(1) == deposits {
			close(all)
		}
		select {
		case <-all:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Goal: a lease inside the transaction does not protect it. Method: ten deposits at the same time, all of which have read
// before the first commits. Each had the lease when it read. Nine updates are lost or, with a check of the version (on
// SQLite always), nine deposits fail.
func TestPlacementInside(t *testing.T) {
	onEachProduct(t, newHastyBank, func(t *testing.T, b bank) {
		want := deposited{committed: deposits, balance: 1}
		if b.product == onSQLite {
			want = deposited{committed: 1, conflicts: deposits - 1, balance: 1}
		}
		b.beforeCommit = allHaveRead()
		if got := b.depositTogether(t, b.depositInside); got != want {
			t.Errorf("inside: %+v, want %+v", got, want)
		}
		b.versioned, b.beforeCommit = true, allHaveRead()
		want = deposited{committed: 1, conflicts: deposits - 1, balance: want.balance + 1}
		if got := b.depositTogether(t, b.depositInside); got != want {
			t.Errorf("inside, with versions: %+v, want %+v", got, want)
		}
	})
}

// Goal: around the transaction a lease protects it, and so does serialize inside. Method: ten deposits at the same time.
// Between its read and its commit each of them looks whether it is alone, and under a lease whether that can be had.
func TestPlacementAround(t *testing.T) {
	onEachProduct(t, newBank, func(t *testing.T, b bank) {
		var inside atomic.Int32
		alone := func(context.Context) error {
			if n := inside.Add(1); n != 1 {
				t.Errorf("%d deposits are between read and commit", n)
			}
			time.Sleep(time.Millisecond)
			inside.Add(-1)
			return nil
		}
		aloneWithLease := func(ctx context.Context) error {
			_, err := b.locks.TryAcquire(t.Context(), walletLease(wallet))
			if !errors.Is(err, applock.ErrHeld) {
				t.Errorf("the lease, between read and commit: %v, want ErrHeld", err)
			}
			return alone(ctx)
		}
		around, other := b, b
		around.beforeCommit, other.beforeCommit = aloneWithLease, alone
		for i, deposit := range []func(ctx context.Context, id string, amount int) error{
			around.depositAround, other.depositFenced, other.depositSerialized,
		} {
			want := deposited{committed: deposits, balance: (i + 1) * deposits}
			if got := b.depositTogether(t, deposit); got != want {
				t.Errorf("way %d: %+v, want %+v", i, got, want)
			}
		}
	})
}

// Goal: without a lock, versions and repetition lose nothing, and repeat much. Method: ten deposits at the same time, all of
// which have read before the first commits.
func TestPlacementOptimistic(t *testing.T) {
	onEachProduct(t, newHastyBank, func(t *testing.T, b bank) {
		var attempts atomic.Int32
		together := allHaveRead()
		b.beforeCommit = func(ctx context.Context) error {
			attempts.Add(1)
			return together(ctx)
		}
		want := deposited{committed: deposits, balance: deposits}
		if got := b.depositTogether(t, b.depositOptimistically); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if n := attempts.Load(); n < 2*deposits-1 {
			t.Errorf("%d attempts, want more than %d", n, 2*deposits-2)
		} else {
			t.Logf("%d attempts for %d deposits", n, deposits)
		}
	})
}

// Goal: when the lease is lost before the transaction begins, Assert refuses the write, and without it Do tells too late. When
// it ends in the transaction, that is rolled back.
// Method: a supervisor transfers the object before the transaction begins; MaxHold passes before the commit.
func TestPlacementLost(t *testing.T) {
	onEachProduct(t, newBank, func(t *testing.T, b bank) {
		b.beforeBegin = func(ctx context.Context) error {
			object := walletLease(wallet).Object
			lock, err := b.client.Inquire(ctx, object)
			if err != nil {
				return err
			}
			_, err = b.client.Transfer(ctx, applock.TransferRequest{
				Object: object, From: lock.Owner.Operator, To: applock.Owner{Operator: "ASMITH"}, TTL: time.Hour,
			})
			return err
		}
		if err := b.depositFenced(t.Context(), wallet, 1); !errors.Is(err, applock.ErrLost) || b.balance(t) != 0 {
			t.Errorf("with Assert: %v, balance %d, want ErrLost and no deposit", err, b.balance(t))
		}
		b.releaseFor(t, "ASMITH")
		if err := b.depositAround(t.Context(), wallet, 1); !errors.Is(err, applock.ErrLost) || b.balance(t) != 1 {
			t.Errorf("without: %v, balance %d, want ErrLost after the deposit", err, b.balance(t))
		}
		b.releaseFor(t, "ASMITH")
		b.beforeBegin = nil
		b.beforeCommit = func(ctx context.Context) error {
			<-ctx.Done() // the end of the lease
			return nil
		}
		err := b.locks.Do(t.Context(), applock.AcquireRequest{Object: walletLease(wallet).Object, MaxHold: time.Second},
			func(ctx context.Context, _ applock.Lease) error {
				return b.execute(ctx, func(ctx context.Context, tx *sql.Tx) (account, error) { return b.read(ctx, tx, wallet, 1) })
			})
		if !errors.Is(err, applock.ErrLost) || b.balance(t) != 1 {
			t.Errorf("in a transaction with the lease's context: %v, balance %d, want ErrLost and no deposit", err, b.balance(t))
		}
	})
}

func (b bank) releaseFor(t *testing.T, operator string) {
	t.Helper()
	released, err := b.client.Release(t.Context(), applock.ReleaseRequest{Key: applock.Key{Object: walletLease(wallet).Object, Operator: operator}})
	if err != nil || released != applock.OutcomeReleased {
		t.Fatalf("release for %s: %v, %v", operator, released, err)
	}
}

// Goal: on a Galera cluster a lease protects what is written on any node, and serialize does so by a rollback. Method: ten
// deposits at the same time, half of them on each of two nodes.
func TestPlacementOnGalera(t *testing.T) {
	dsn := testdb.Galera(t)
	here := newBankAt(t, onMariaDB, dsn)
	there := here
	peer := testdb.GaleraPeer(t, dsn)
	there.db = here.open(t, peer, "")
	there.client = testclient.Open(t, peer, "", nil)
	there.locks = there.client
	// A node may be behind the other one, except for who asks it to catch up first.
	onlooker := here
	onlooker.db = testdb.OpenMySQL(t, dsn, func(config *mysql.Config) { config.Params = map[string]string{"wsrep_sync_wait": "1"} })
	alternately := func(one, other func(ctx context.Context, id string, amount int) error) deposited {
		var turn atomic.Int32
		return onlooker.depositTogether(t, func(ctx context.Context, id string, amount int) error {
			if turn.Add(1)%2 == 0 {
				return other(ctx, id, amount)
			}
			return one(ctx, id, amount)
		})
	}
	if got, want := alternately(here.depositAround, there.depositAround), (deposited{committed: deposits, balance: deposits}); got != want {
		t.Errorf("with leases: %+v, want %+v", got, want)
	}
	got := alternately(here.depositSerialized, there.depositSerialized)
	if got.committed == 0 || got.balance != deposits+got.committed {
		t.Errorf("serialized: %+v, want a balance of %d and one for each that has committed", got, deposits)
	}
	t.Logf("serialized: %+v", got)
}
