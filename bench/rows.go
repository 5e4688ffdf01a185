//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
)

const (
	fewRows  = 1000
	pageSize = 1000
	// heldHours is how long rows of the filled table are held, and staleHours how long ago stale rows ended.
	heldHours, staleHours = 100, -10_000
)

// fill makes the objects bench:FROM up to but without bench:BELOW held for that many hours.
func (b *bench) fill(ctx context.Context, p *place, hours, from, below int) error {
	for at := from; at < below; at += holdAtMost {
		if err := p.raw.exec(ctx, p.statements.hold, at, hours, min(holdAtMost, below-at)); err != nil {
			return err
		}
		if done := at + holdAtMost; done < below {
			b.say("%s has %d of %d rows", p.product, done, below)
		}
	}
	return nil
}

// rows compares gets from a growing table with gets from a small one, and a page of the list with plain SQL.
func (b *bench) rows(ctx context.Context, p *place) (err error) {
	small, err := newPlace(ctx, p.server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, small.remove()) }()
	if err := b.fill(ctx, small, heldHours, 0, fewRows); err != nil {
		return err
	}
	few, err := small.open(ctx, access{connections: 1, name: "few rows"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, few.close()) }()
	many, err := p.open(ctx, access{connections: 1, name: "many rows"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, many.close()) }()
	filled, last := 0, time.Duration(0)
	for rows := 10 * fewRows; rows <= b.mostRows; rows *= 10 {
		if 10*last > b.limit {
			b.miss(fmt.Sprintf("rows/%s of more than %d rows, which would take longer than %s to fill in", p.product, filled, b.limit))
			break
		}
		began := time.Now()
		if err := b.fill(ctx, p, heldHours, filled, rows); err != nil {
			return err
		}
		filled, last = rows, time.Since(began)
		name := fmt.Sprintf("a get of 10^%d rows", int(math.Round(math.Log10(float64(rows)))))
		if err := b.getAmong(ctx, figure{Product: p.product, Name: name}, many.client, rows, few.client); err != nil {
			return err
		}
	}
	return b.listPage(ctx, p, many.driver, filled)
}

// getAmong renews random locks on one connection. The value of a round is the median.
func (b *bench) getAmong(ctx context.Context, f figure, many *applock.Client, rows int, few *applock.Client) error {
	once := func(client *applock.Client, rows int) (float64, error) {
		var times []time.Duration
		for range b.gets {
			request := applock.GetRequest{
				Object: applock.Object{Type: "bench", ID: strconv.Itoa(rand.IntN(rows))}, Owner: applock.Owner{Operator: jdoe},
			}
			began := time.Now()
			if _, err := client.Get(ctx, request); err != nil {
				return 0, err
			}
			times = append(times, time.Since(began))
		}
		return median(milliseconds(times...)), nil
	}
	f.Unit, f.Baseline = "ms", fewRowsName
	for range b.rounds {
		large, err := once(many, rows)
		if err != nil {
			return err
		}
		small, err := once(few, fewRows)
		if err != nil {
			return err
		}
		b.report.compare(f, []float64{large}, []float64{small})
	}
	return nil
}

// listPage reads pages from anywhere in the table.
func (b *bench) listPage(ctx context.Context, p *place, driver db.Driver, rows int) error {
	f := figure{
		Product: p.product, Name: fmt.Sprintf("a page of %d of the list, of %d rows", pageSize, rows), Unit: "ms",
		Baseline: "select in key order", Samples: true,
	}
	for range max(b.polls, b.rounds) {
		after := strconv.Itoa(rand.IntN(rows / 2))
		began := time.Now()
		page, err := driver.ApplLockLive(ctx, db.ApplLockLiveParams{AfterType: "bench", AfterID: after, MaxRows: pageSize})
		if err != nil {
			return err
		}
		listed := time.Now()
		count, err := p.raw.count(ctx, p.statements.page, "bench", after, pageSize)
		if err != nil {
			return err
		}
		b.report.compare(f, milliseconds(listed.Sub(began)), milliseconds(time.Since(listed)))
		if len(page) != count {
			return fmt.Errorf("the list has %d locks after %s, and the table %d", len(page), after, count)
		}
	}
	return nil
}

// purge measures gets during a purge, in turns with gets alone.
func (b *bench) purge(ctx context.Context, p *place) (err error) {
	o, err := p.open(ctx, access{connections: poolSize, name: "purge"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.close()) }()
	var rates []float64
	for round := range b.rounds {
		each := b.stale / b.rounds
		if err := b.fill(ctx, p, staleHours, round*each, (round+1)*each); err != nil {
			return err
		}
		without, err := getsDuring(ctx, o.client, func(ctx context.Context) error { return sleep(ctx, 2*b.round) })
		if err != nil {
			return err
		}
		during, err := getsDuring(ctx, o.client, func(ctx context.Context) error {
			began := time.Now()
			purged, err := o.client.Purge(ctx, applock.PurgeRequest{})
			rates = append(rates, float64(purged)/time.Since(began).Seconds())
			if err == nil && purged != int64(each) {
				err = fmt.Errorf("%d rows were purged, of %d that are old enough", purged, each)
			}
			return err
		})
		if err != nil {
			return err
		}
		f := figure{Product: p.product, Name: purgeRow, Unit: "ms", Baseline: "without"}
		if b.stale == huge().stale {
			f.Name = largePurgeFigure
		}
		b.report.compare(f, []float64{percentile(during, 99)}, []float64{percentile(without, 99)})
		f.Name = "gets during a purge, p50"
		b.report.compare(f, []float64{median(during)}, []float64{median(without)})
	}
	b.report.note(figure{Product: p.product, Name: "purge during gets, rows", Unit: "/s"}, rates...)
	return nil
}

// getsDuring returns how long gets of 4 goroutines, which take and release, take during other work.
func getsDuring(ctx context.Context, client *applock.Client, meanwhile func(context.Context) error) ([]float64, error) {
	const callers = 4
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	type answer struct {
		times []time.Duration
		err   error
	}
	answers := make(chan answer, callers)
	for caller := range callers {
		go func() {
			var a answer
			request := getOf(caller, jdoe)
			for a.err == nil {
				began := time.Now()
				var grant applock.Grant
				if grant, a.err = client.Get(ctx, request); a.err != nil {
					break
				}
				a.times = append(a.times, time.Since(began))
				_, a.err = client.Release(ctx, applock.ReleaseRequest{Key: applock.Key{Object: request.Object, Operator: jdoe, Fence: grant.Fence}})
				select {
				case <-done:
					answers <- a
					return
				default:
				}
			}
			answers <- a
		}()
	}
	err := meanwhile(ctx)
	close(done)
	var times []float64
	for range callers {
		a := <-answers
		err = errors.Join(err, a.err)
		times = append(times, milliseconds(a.times...)...)
	}
	return times, err
}
