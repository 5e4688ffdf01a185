//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
)

// renewing counts the statements that renew many leases.
func (b *bench) renewing(ctx context.Context, p *place) error {
	for _, leases := range b.kept {
		if err := errors.Join(b.renewingMany(ctx, p, leases), p.clear(ctx)); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) renewingMany(ctx context.Context, p *place, many int) error {
	ttl := b.ttl * time.Duration(1+many/2500) // more leases take longer to acquire and to renew
	var sent counter
	wanted := access{connections: poolSize, name: "renewing", tracer: &sent}
	if p.product == productSQLite { // nothing else counts there
		wanted.logger = slog.New(&sent)
	}
	held, err := p.open(ctx, wanted)
	if err != nil {
		return err
	}
	defer func() { _ = held.close() }() // it releases them within 5 s
	client, count := held.client, func() (int64, error) { return sent.Load(), nil }
	switch p.product {
	case productMariaDB, productMySQL:
		count = p.questions(ctx)
	}
	leases, err := takeMany(ctx, client, many, ttl)
	if err != nil {
		return err
	}
	interval := ttl / 3
	if err := untilMore(ctx, count); err != nil {
		return err
	}
	before, err := count()
	if err != nil {
		return err
	}
	thereBefore, began := usedBy(p.pid), time.Now()
	hereBefore, err := usedHere()
	if err != nil {
		return err
	}
	if err := sleep(ctx, time.Duration(b.renewals)*interval+interval/2); err != nil {
		return err
	}
	after, err := count()
	if err != nil {
		return err
	}
	hereAfter, err := usedHere()
	if err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	if after == before {
		return errors.New("nothing was renewed")
	}
	for _, lease := range leases {
		if err := context.Cause(lease.Context()); err != nil {
			return fmt.Errorf("a lease has ended: %w", err)
		}
	}
	note := func(what, unit string, value float64) {
		b.report.note(figure{Product: p.product, Name: fmt.Sprintf("%d leases: %s", many, what), Unit: unit}, value)
	}
	note("statements in a renewal interval", "", float64(after-before)/float64(b.renewals))
	note("processor, client", "%", 100*(hereAfter-hereBefore).Seconds()/took)
	if p.pid != 0 {
		note("processor, server", "%", 100*(usedBy(p.pid)-thereBefore).Seconds()/took)
	}
	return nil
}

// untilMore returns right after a statement.
func untilMore(ctx context.Context, count func() (int64, error)) error {
	first, err := count()
	for now := first; err == nil && now == first; now, err = count() {
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return err
}

func takeMany(ctx context.Context, client *applock.Client, count int, ttl time.Duration) ([]applock.Lease, error) {
	leases := make([]applock.Lease, count)
	errs := make([]error, poolSize)
	var takers sync.WaitGroup
	for taker := range poolSize {
		takers.Go(func() {
			for i := taker; i < count && errs[taker] == nil; i += poolSize {
				leases[i], errs[taker] = client.Acquire(ctx, applock.AcquireRequest{
					Object: applock.Object{Type: "renewing", ID: strconv.Itoa(i)}, MaxHold: time.Hour, TTL: ttl,
				})
			}
		})
	}
	takers.Wait()
	return leases, errors.Join(errs...)
}

// counter counts the statements of a pgx pool, or the operations that a client logs: on SQLite each is one transaction.
type counter struct{ atomic.Int64 }

func (c *counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.Add(1)
	return ctx
}

func (c *counter) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (c *counter) Enabled(context.Context, slog.Level) bool { return true }

func (c *counter) Handle(context.Context, slog.Record) error {
	c.Add(1)
	return nil
}

func (c *counter) WithAttrs([]slog.Attr) slog.Handler { return c }

func (c *counter) WithGroup(string) slog.Handler { return c }

// questions returns how many statements clients have sent to the server, without its own.
func (p *place) questions(ctx context.Context) func() (int64, error) {
	asked := int64(0)
	return func() (int64, error) {
		asked++
		var name string
		var count int64
		err := p.raw.row(ctx, p.statements.questions, nil, &name, &count)
		return count - asked, err
	}
}

// renewal compares one statement for many grants with a get for each of them, in turns.
func (b *bench) renewal(ctx context.Context, p *place) error {
	o, err := p.open(ctx, access{connections: 1, name: "renewal"})
	if err != nil {
		return err
	}
	defer func() { _ = o.close() }() // the measurement is over
	const ttl = 3600
	gets := make([]db.GetApplLockParams, b.grants)
	for i := range gets {
		gets[i] = db.GetApplLockParams{ObjectType: "renewal", ObjectID: strconv.Itoa(i), OperatorID: "JDOE", TTLSeconds: ttl}
	}
	grants, _, err := getAll(ctx, o.driver, gets)
	if err != nil {
		return err
	}
	var together, each []float64
	for range b.rounds {
		began := time.Now()
		renewed, err := o.driver.RenewApplLocks(ctx, db.RenewApplLocksParams{Grants: grants})
		if err != nil {
			return err
		}
		together = append(together, milliseconds(time.Since(began))...)
		if len(renewed) != len(grants) || renewed[0].Outcome != db.Renewed {
			return fmt.Errorf("%d of %d grants have an answer, the first is %s", len(renewed), len(grants), renewed[0].Outcome)
		}
		_, took, err := getAll(ctx, o.driver, gets)
		if err != nil {
			return err
		}
		each = append(each, milliseconds(took)...)
	}
	b.report.compare(figure{
		Product: p.product, Name: fmt.Sprintf("renewal of %d grants in one statement", b.grants), Unit: "ms", Baseline: "a get each",
	}, together, each)
	return nil
}

// getAll runs the gets one after the other on one connection.
func getAll(ctx context.Context, driver db.Driver, gets []db.GetApplLockParams) ([]db.RenewableGrant, time.Duration, error) {
	grants := make([]db.RenewableGrant, len(gets))
	began := time.Now()
	for i, get := range gets {
		result, err := driver.GetApplLock(ctx, get)
		if err != nil {
			return nil, 0, err
		}
		grants[i] = db.RenewableGrant{
			ObjectType: get.ObjectType, ObjectID: get.ObjectID, OperatorID: get.OperatorID,
			Fence: result.Fence, TTLSeconds: get.TTLSeconds,
		}
	}
	return grants, time.Since(began), nil
}
