package contract

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
)

// Goal: when several operators get an object without a row at once, one has it, its answer says so, and there is no deadlock, outside a
// transaction and in transactions of each level. Method: many objects, each got by several operators at the same time; neighbours in two
// transactions.
func twoGetsNoRow(t *testing.T, backend Backend) {
	t.Run("Autocommit", func(t *testing.T) { twoGets(t, backend, nil) })
	for _, level := range backend.Levels {
		t.Run(level.String(), func(t *testing.T) { twoGets(t, backend, &sql.TxOptions{Isolation: level}) })
	}
}

func twoGets(t *testing.T, backend Backend, options *sql.TxOptions) {
	t.Parallel()
	place := backend.New(t)
	const objects, callers = 40, 4
	told := make([][]string, objects)
	var mutex sync.Mutex
	for id := range objects {
		var group sync.WaitGroup
		for caller := range callers {
			operator := fmt.Sprint("OP", caller)
			group.Go(func() {
				outcome, err := getOnce(t.Context(), place, options, applock.Object{Type: "fresh", ID: fmt.Sprintf("%03d", id)}, operator)
				switch {
				case errors.Is(err, applock.ErrRetry) && options != nil && place.SnapshotConflicts(options.Isolation):
				case errors.Is(err, applock.ErrBusy): // a second in the queue of the row, on a busy machine
				case err != nil:
					t.Errorf("%s: %v", operator, err)
				case outcome == applock.OutcomeAcquired:
					mutex.Lock()
					defer mutex.Unlock()
					told[id] = append(told[id], operator)
				case outcome != "":
					t.Errorf("%s: %s", operator, outcome)
				}
			})
		}
		group.Wait()
	}
	for id, operators := range told {
		lock, err := place.Client.Inquire(t.Context(), applock.Object{Type: "fresh", ID: fmt.Sprintf("%03d", id)})
		switch {
		case errors.Is(err, applock.ErrNotHeld) && len(operators) == 0 && options != nil: // each was asked to begin again
		case err != nil || len(operators) != 1 || operators[0] != lock.Owner.Operator:
			t.Errorf("%d: %v were told to have it, and %v has, %v", id, operators, lock.Owner.Operator, err)
		}
	}
}

// getOnce gets an object, in a transaction if options are given. A refusal has no outcome.
func getOnce(
	ctx context.Context, place Place, options *sql.TxOptions, object applock.Object, operator string,
) (applock.Outcome, error) {
	request := applock.GetRequest{Object: object, Owner: applock.Owner{Operator: operator}}
	if options == nil {
		grant, err := place.Client.Get(ctx, request)
		if errors.Is(err, applock.ErrHeld) {
			return "", nil
		}
		return grant.Outcome, err
	}
	tx, err := place.SQL.BeginTx(ctx, options)
	if err != nil {
		return "", err
	}
	defer func() { _ = tx.Rollback() }() // a committed transaction returns an error here
	grant, err := place.Client.WithSQLTx(tx).Get(ctx, request)
	if errors.Is(err, applock.ErrHeld) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	_, err = scenarioCommit(place, tx)
	return grant.Outcome, err
}

// scenarioCommit commits, and gives an error the same kind as the façade does.
func scenarioCommit(place Place, tx *sql.Tx) (bool, error) {
	err := tx.Commit()
	if err == nil {
		return true, nil
	}
	err = place.Interpret(err)
	if db.KindOf(err) == db.KindRetry {
		return false, errors.Join(applock.ErrRetry, err)
	}
	return false, err
}

// Goal: a renewal has one effect and one answer: a lock that another operator takes after the renewal is not answered HELD, as if there
// had been no renewal. Method: a grant with a note is renewed for another time while another operator takes it and keeps its time. If the
// take has kept the renewal's time, the renewal must have been answered RENEWED.
func renewedThenTaken(t *testing.T, backend Backend) {
	t.Parallel()
	if backend.OneWriter {
		return // one writer: no two calls run at once
	}
	place := backend.New(t)
	const rounds = 150
	before, renewal := time.Hour, 2*time.Hour
	jdoe := applock.Owner{Operator: victim}
	seen := map[string]int{}
	for i := range rounds {
		object := customer(i)
		if _, err := place.Client.Get(t.Context(), applock.GetRequest{Object: object, Owner: jdoe, TTL: before}); err != nil {
			t.Fatal(err)
		}
		if err := place.Client.Note(t.Context(), applock.Key{Object: object, Operator: victim}, "why"); err != nil {
			t.Fatal(err)
		}
		var taken applock.Grant
		var renewed, refused error
		var group sync.WaitGroup
		group.Go(func() {
			_, renewed = place.Client.Get(t.Context(), applock.GetRequest{Object: object, Owner: jdoe, TTL: renewal})
		})
		group.Go(func() {
			taken, refused = place.Client.Take(t.Context(), applock.TakeRequest{Object: object, Owner: applock.Owner{Operator: boss}, Reason: "urgent"})
		})
		group.Wait()
		if refused != nil || renewed != nil && !errors.Is(renewed, applock.ErrHeld) {
			continue // busy, or asked to begin again
		}
		wasRenewed := taken.Left > before
		seen[fmt.Sprint(wasRenewed, renewed == nil)]++
		if wasRenewed != (renewed == nil) {
			t.Errorf("round %d: taken with %s left, and the renewal for %s was answered %v", i, taken.Left, renewal, renewed)
		}
	}
	t.Logf("renewed before the take, and answered so: %v", seen)
}

// Goal: a renewal by fence has one effect: it undoes no get that was answered after that effect. Method: a grant is renewed by its fence,
// each time for another ttl. Meanwhile its operator reads the current ttl and gets the grant for a minute. The ttl that was read before
// that get must not come back.
func renewalsActOnce(t *testing.T, backend Backend) {
	t.Parallel()
	if backend.OneWriter {
		return // one writer: no two calls run at once
	}
	place := backend.New(t)
	const rounds, least = 150, 3600
	short := time.Minute
	grant := mustGet(t, place.Client, customer(1), victim)
	done := make(chan struct{})
	var renewing sync.WaitGroup
	renewing.Go(func() {
		for ttl := least; ; ttl++ {
			select {
			case <-done:
				return
			default:
			}
			renewal := grantOf(grant, time.Duration(ttl)*time.Second)
			_, err := place.Driver.RenewApplLocks(t.Context(), db.RenewApplLocksParams{Grants: []db.RenewableGrant{renewal}})
			if kind := db.KindOf(err); err != nil && kind != db.KindBusy && kind != db.KindRetry {
				t.Errorf("renew: %v", err)
			}
		}
	})
	lasting := func() int64 {
		locks, err := place.Driver.ApplLockLive(t.Context(), db.ApplLockLiveParams{MaxRows: 1})
		if err != nil || len(locks) != 1 {
			t.Fatalf("%v, %v, want one lock", locks, err)
		}
		return locks[0].TTLSeconds
	}
	tried := 0
	for range rounds {
		before := lasting()
		request := applock.GetRequest{Object: customer(1), Owner: applock.Owner{Operator: victim}, TTL: short}
		again, err := place.Client.Get(t.Context(), request)
		if err != nil || before < least {
			continue // busy, or no renewal has come since the last get
		}
		tried++
		if again.Left != short || again.Fence != grant.Fence {
			t.Errorf("a get for %s: %+v", short, again)
		}
		if after := lasting(); after == before {
			t.Errorf("the grant had %d s, was got for %s, and has %d s again", before, short, after)
		}
	}
	close(done)
	renewing.Wait()
	if tried == 0 {
		t.Error("nothing was tried")
	}
}
