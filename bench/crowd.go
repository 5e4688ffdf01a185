//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/applock/applock/internal/db"
)

const (
	// crowdRounds is how many rounds long the turn of each verb is: calls that wait in vain take more than a second.
	crowdRounds = 5
	crowdType   = "crowd"
	crowdLost   = "LK003, lock timeouts and deadlocks"
)

// crowdVerb is what each session of a crowd does to the one object, again and again.
type crowdVerb struct {
	name string
	call func(ctx context.Context, driver db.Driver, session int, fence int64) error
}

func crowdVerbs() []crowdVerb {
	object := db.GetApplLockParams{ObjectType: crowdType, ObjectID: "1", OperatorID: jdoe}
	get := func(ctx context.Context, driver db.Driver, _ int, _ int64) error {
		_, err := driver.GetApplLock(ctx, object)
		return err
	}
	return []crowdVerb{
		{"get", get},
		{"renew", func(ctx context.Context, driver db.Driver, _ int, fence int64) error {
			_, err := driver.RenewApplLocks(ctx, db.RenewApplLocksParams{Grants: []db.RenewableGrant{{
				ObjectType: object.ObjectType, ObjectID: object.ObjectID, OperatorID: object.OperatorID, Fence: fence, TTLSeconds: 600,
			}}})
			return err
		}},
		{"take", func(ctx context.Context, driver db.Driver, session int, _ int64) error {
			_, err := driver.TakeApplLock(ctx, db.TakeApplLockParams{
				ObjectType: object.ObjectType, ObjectID: object.ObjectID, OperatorID: fmt.Sprint("OP", session), Reason: "bench",
			})
			return err
		}},
		{"get and release", func(ctx context.Context, driver db.Driver, session int, fence int64) error {
			if err := get(ctx, driver, session, fence); err != nil {
				return err
			}
			_, err := driver.ReleaseApplLock(ctx, db.ReleaseApplLockParams{
				ObjectType: object.ObjectType, ObjectID: object.ObjectID, OperatorID: object.OperatorID,
			})
			return err
		}},
	}
}

// crowd has sessions call one verb for one object without a pause, each call by itself or in a transaction of its own.
func (b *bench) crowd(ctx context.Context, p *place) error {
	for _, sessions := range b.crowds {
		if err := b.crowdOf(ctx, p, sessions); err != nil {
			return fmt.Errorf("%d sessions: %w", sessions, err)
		}
	}
	return nil
}

func (b *bench) crowdOf(ctx context.Context, p *place, sessions int) (err error) {
	drivers := make([]db.Driver, sessions)
	for i := range drivers {
		o, err := p.open(ctx, access{connections: 1, name: "crowd", deaf: true})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, o.close()) }()
		drivers[i] = o.driver
	}
	for range b.rounds {
		for _, verb := range crowdVerbs() {
			for _, mode := range []string{"", ", in a transaction"} {
				granted, err := startCrowd(ctx, drivers[0])
				if err != nil {
					return err
				}
				t, err := verb.run(ctx, drivers, mode != "", granted, crowdRounds*b.round)
				if err != nil {
					return fmt.Errorf("%s%s: %w", verb.name, mode, err)
				}
				f := figure{Product: p.product, Name: fmt.Sprintf("crowd, %s%s, sessions: %d", verb.name, mode, sessions), Unit: "/s"}
				b.report.note(f, t.rate)
				lost, p99 := f, f
				lost.Name, lost.Unit = f.Name+", "+crowdLost, "%"
				p99.Name, p99.Unit = f.Name+", p99", "ms"
				b.report.note(lost, t.lost)
				b.report.note(p99, t.p99)
			}
		}
	}
	return nil
}

// startCrowd leaves the object with one holder, and returns the fence.
func startCrowd(ctx context.Context, driver db.Driver) (int64, error) {
	held, err := driver.InquireApplLock(ctx, db.InquireApplLockParams{ObjectType: crowdType, ObjectID: "1"})
	if err != nil {
		return 0, err
	}
	if held.OkFL == db.Yes {
		release := db.ReleaseApplLockParams{ObjectType: crowdType, ObjectID: "1", OperatorID: held.Lock.OperatorID}
		if _, err := driver.ReleaseApplLock(ctx, release); err != nil {
			return 0, err
		}
	}
	got, err := driver.GetApplLock(ctx, db.GetApplLockParams{ObjectType: crowdType, ObjectID: "1", OperatorID: jdoe})
	return got.Fence, err
}

// tally is the result of a turn: successful calls a second, the share of calls that the database refused, and the longest but 1 % in
// milliseconds, of all calls.
type tally struct{ rate, lost, p99 float64 }

func (v crowdVerb) run(ctx context.Context, drivers []db.Driver, inTx bool, fence int64, period time.Duration) (tally, error) {
	times, lost, errs := make([][]float64, len(drivers)), make([]int, len(drivers)), make([]error, len(drivers))
	began := time.Now()
	var running sync.WaitGroup
	for session, driver := range drivers {
		running.Go(func() {
			for errs[session] == nil && (time.Since(began) < period || len(times[session]) == 0) {
				start := time.Now()
				err := v.once(ctx, driver, inTx, session, fence)
				times[session] = append(times[session], milliseconds(time.Since(start))...)
				switch db.KindOf(err) {
				case db.KindContention, db.KindBusy, db.KindRetry:
					lost[session]++
				default:
					errs[session] = err
				}
			}
		})
	}
	running.Wait()
	elapsed, all, failed := time.Since(began), slices.Concat(times...), 0
	for _, each := range lost {
		failed += each
	}
	return tally{
		rate: float64(len(all)-failed) / elapsed.Seconds(), lost: 100 * float64(failed) / float64(len(all)), p99: percentile(all, 99),
	}, errors.Join(errs...)
}

func (v crowdVerb) once(ctx context.Context, driver db.Driver, inTx bool, session int, fence int64) error {
	if !inTx {
		return v.call(ctx, driver, session, fence)
	}
	return driver.InTx(ctx, func(driver db.Driver) error { return v.call(ctx, driver, session, fence) })
}
