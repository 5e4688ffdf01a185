//go:build unix

package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cirello.io/pglock"
	"github.com/pressly/goose/v3/lock"

	"github.com/applock/applock/internal/db"
)

const (
	// horizonParts is the number of parts of the time, minutes in a run of ten. The last part is compared with the first.
	horizonParts = 10
	// horizonTTL is the TTL of the leases in seconds. horizonBatches calls renew all of them once.
	horizonTTL     = 30
	horizonBatches = 10
	horizonObject  = "0"
)

// horizon holds a snapshot in an idle transaction, so that the server cannot remove old versions of a row. Meanwhile a hot object is taken
// and released, and leases are renewed. All contenders run at the same time, each at its own pace on its own connection.
func (b *bench) horizon(ctx context.Context, p *place) (err error) {
	if p.product == productSQLite {
		return nil // a reader only keeps the log from being shortened; there are no versions
	}
	contenders, closeAll, err := b.underSnapshot(ctx, p)
	defer func() { err = errors.Join(err, closeAll()) }()
	if err != nil {
		return err
	}
	if err := warm(ctx, contenders); err != nil {
		return err
	}
	end, err := p.holdSnapshot(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if err := b.paceAll(ctx, p, contenders); err != nil {
		return err
	}
	return b.noteHorizon(ctx, p, contenders)
}

// holdSnapshot begins a transaction that reads once and then stays idle.
func (p *place) holdSnapshot(ctx context.Context) (end func() error, err error) {
	o, err := p.open(ctx, access{connections: 1, name: "held snapshot"})
	if err != nil {
		return nil, err
	}
	handle := o.raw.handle()
	tx, err := handle.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return nil, errors.Join(err, o.close())
	}
	var rows int64
	err = tx.QueryRowContext(ctx, "SELECT count(*) FROM "+p.statements.ours).Scan(&rows)
	return func() error { return errors.Join(tx.Rollback(), handle.Close(), o.close()) }, err
}

// warm makes each contender call until its plans are made, which would otherwise count in the first part.
func warm(ctx context.Context, contenders []*paced) error {
	for _, each := range contenders {
		for range horizonBatches {
			if err := each.once(ctx); err != nil {
				return fmt.Errorf("%s: %w", each.name, err)
			}
		}
	}
	return nil
}

// paced is one contender under a held snapshot.
type paced struct {
	name string
	// every is the time from the beginning of a call to that of the next.
	every time.Duration
	once  func(ctx context.Context) error
	// threads returns the server's processes or threads for its connections; nil if this machine does not run the server.
	threads func(ctx context.Context) ([]int, error)

	took [horizonParts][]time.Duration
	// used is the server's processor time in each part, 0 if unknown because a connection was replaced.
	used [horizonParts]time.Duration
}

// underSnapshot returns the contenders, ours first.
func (b *bench) underSnapshot(ctx context.Context, p *place) (contenders []*paced, closeAll func() error, err error) {
	var closers []func() error
	closeAll = func() error {
		var err error
		for _, each := range closers {
			err = errors.Join(err, each())
		}
		return err
	}
	add := func(name string, every time.Duration, begin func(own *place, o opened) (func(context.Context) error, error)) {
		if err != nil {
			return
		}
		var o opened
		if o, err = p.open(ctx, access{connections: 1, name: name}); err != nil {
			return
		}
		closers = append(closers, o.close)
		own := &place{server: p.server, statements: p.statements, raw: o.raw}
		var once func(context.Context) error
		if once, err = begin(own, o); err == nil {
			contenders = append(contenders, &paced{name: name, every: every, once: once, threads: own.threads()})
		}
	}
	cycle, renewal := b.held.total/time.Duration(b.held.cycles), b.held.interval/horizonBatches
	add("get and release of a hot object", cycle, func(_ *place, o opened) (func(context.Context) error, error) {
		return hot(getAndRelease(o.client)), nil
	})
	add(fmt.Sprintf("renewal of %d of %d leases", b.held.leases/horizonBatches, b.held.leases), renewal,
		func(_ *place, o opened) (func(context.Context) error, error) { return b.renewedInTurn(ctx, o.driver) })
	add("insert and delete of a hot row", cycle, func(own *place, _ opened) (func(context.Context) error, error) {
		return hot(own.insertAndDelete(own.raw)), nil
	})
	add("ShedLock's statements, a hot lock", cycle, func(own *place, _ opened) (func(context.Context) error, error) {
		return own.shedLock(ctx)
	})
	locker := lock.NewMySQLTableLocker
	if p.product == productPostgres {
		locker = lock.NewPostgresTableLocker
		add("pglock, a hot lock", cycle, func(own *place, _ opened) (func(context.Context) error, error) {
			each, err := own.pglock()
			return hot(each), err
		})
		add(fmt.Sprintf("pglock, %d of %d heartbeats", b.held.leases/horizonBatches, b.held.leases), renewal,
			func(own *place, _ opened) (func(context.Context) error, error) { return b.pglockInTurn(ctx, own) })
	}
	add("goose's locker, a hot lock", cycle, func(own *place, _ opened) (func(context.Context) error, error) {
		each, err := own.goose(ctx, 1, locker)
		return hot(each), err
	})
	return contenders, closeAll, err
}

// hot makes a peer take one object repeatedly.
func hot(each peer) func(context.Context) error {
	return func(ctx context.Context) error { return each.cycle(ctx, horizonObject) }
}

// renewedInTurn takes the leases, and returns a function that renews the next part of them.
func (b *bench) renewedInTurn(ctx context.Context, driver db.Driver) (func(context.Context) error, error) {
	gets := make([]db.GetApplLockParams, b.held.leases)
	for i := range gets {
		gets[i] = db.GetApplLockParams{ObjectType: "horizon", ObjectID: strconv.Itoa(i), OperatorID: jdoe, TTLSeconds: horizonTTL}
	}
	grants, _, err := getAll(ctx, driver, gets)
	each, turn := len(grants)/horizonBatches, 0
	return func(ctx context.Context) error {
		batch := grants[turn*each : (turn+1)*each]
		turn = (turn + 1) % horizonBatches
		answers, err := driver.RenewApplLocks(ctx, db.RenewApplLocksParams{Grants: batch})
		if err == nil && (len(answers) != len(batch) || answers[0].Outcome != db.Renewed) {
			err = fmt.Errorf("%d of %d leases have an answer, the first is %s", len(answers), len(batch), answers[0].Outcome)
		}
		return err
	}, err
}

// pglockInTurn takes as many locks of pglock, and returns a function that sends the heartbeats of the next part of them one after the
// other, as pglock does.
func (b *bench) pglockInTurn(ctx context.Context, own *place) (func(context.Context) error, error) {
	client, err := pglock.UnsafeNew(own.raw.handle(), pglock.WithLeaseDuration(horizonTTL*time.Second), pglock.WithHeartbeatFrequency(0))
	if err != nil {
		return nil, err
	}
	if err := client.TryCreateTable(); err != nil {
		return nil, err
	}
	held := make([]*pglock.Lock, b.held.leases)
	for i := range held {
		if held[i], err = client.AcquireContext(ctx, "horizon "+strconv.Itoa(i), pglock.FailIfLocked()); err != nil {
			return nil, err
		}
	}
	each, turn := len(held)/horizonBatches, 0
	return func(ctx context.Context) error {
		batch := held[turn*each : (turn+1)*each]
		turn = (turn + 1) % horizonBatches
		for _, one := range batch {
			if err := client.SendHeartbeat(ctx, one); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// shedLock sends ShedLock's statements for server time, without Java. The row stays, and each lock and unlock updates it.
func (p *place) shedLock(ctx context.Context) (func(context.Context) error, error) {
	for _, statement := range p.statements.shedLockTable {
		if err := p.raw.exec(ctx, statement); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context) error {
		if err := p.raw.exec(ctx, p.statements.shedLock); err != nil {
			return err
		}
		return p.raw.exec(ctx, p.statements.shedUnlock)
	}, nil
}

// threads returns the server's processes or threads for this place's pool. On PostgreSQL a client renews on a separate connection.
func (p *place) threads() func(ctx context.Context) ([]int, error) {
	if p.pid == 0 {
		return nil // this machine may not run the server
	}
	return func(ctx context.Context) (ids []int, err error) {
		var text string
		if err := p.raw.row(ctx, p.statements.threads, nil, &text); err != nil {
			return nil, err
		}
		for _, field := range strings.Fields(text) {
			id, err := strconv.Atoi(field)
			if err != nil {
				return nil, err
			}
			ids = append(ids, id)
		}
		return ids, nil
	}
}

// usedByThread returns the processor time of a process or thread, from /proc, or an error if it has ended.
func usedByThread(id int) (time.Duration, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(id) + "/schedstat")
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), " ")
	nanoseconds, err := strconv.ParseInt(first, 10, 64)
	return time.Duration(nanoseconds), err
}

// reading is the processor time that a contender's threads have used so far.
type reading struct {
	threads []int
	used    time.Duration
}

func (c *paced) read(ctx context.Context) (r reading, err error) {
	if c.threads == nil {
		return r, nil
	}
	if r.threads, err = c.threads(ctx); err != nil {
		return r, err
	}
	for _, id := range r.threads {
		used, err := usedByThread(id)
		if err != nil {
			return r, err
		}
		r.used += used
	}
	return r, nil
}

// since is 0 if the threads are not the same as before.
func (r reading) since(before reading) time.Duration {
	if !slices.Equal(r.threads, before.threads) {
		return 0
	}
	return r.used - before.used
}

// paceAll runs all contenders at their paces for the whole time.
func (b *bench) paceAll(ctx context.Context, p *place, contenders []*paced) error {
	errs := make([]error, len(contenders))
	var running sync.WaitGroup
	for i, each := range contenders {
		running.Go(func() { errs[i] = each.run(ctx, b.held.total/horizonParts) })
	}
	running.Wait()
	for _, each := range contenders {
		for part := range horizonParts {
			b.say("%s, %s, part %d: p50 %.2f ms, p99 %.2f ms, %.0f µs of the server's processor", p.product, each.name, part+1,
				percentile(milliseconds(each.took[part]...), 50), percentile(milliseconds(each.took[part]...), 99), each.perCall(part))
		}
	}
	return errors.Join(errs...)
}

// run calls at its pace in each part, at least once. It does not make up for a late call.
func (c *paced) run(ctx context.Context, part time.Duration) error {
	began := time.Now()
	for i := range horizonParts {
		before, err := c.read(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		for len(c.took[i]) == 0 || time.Since(began) < time.Duration(i+1)*part {
			asked := time.Now()
			if err := c.once(ctx); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			c.took[i] = append(c.took[i], time.Since(asked))
			if err := sleep(ctx, max(0, c.every-time.Since(asked))); err != nil {
				return err
			}
		}
		after, err := c.read(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		c.used[i] = after.since(before)
	}
	return nil
}

// perCall is the server's processor time per call in a part, in microseconds.
func (c *paced) perCall(part int) float64 {
	return float64(c.used[part]) / float64(time.Microsecond) / float64(len(c.took[part]))
}

// noteHorizon compares the last part with the first, and reports the size of the table.
func (b *bench) noteHorizon(ctx context.Context, p *place, contenders []*paced) error {
	const last = horizonParts - 1
	for _, each := range contenders {
		compare := func(what, unit string, value func(part int) float64) {
			b.report.compare(figure{
				Product: p.product, Name: heldPrefix + each.name + ": " + what, Unit: unit, Baseline: itsFirst,
			}, []float64{value(last)}, []float64{value(0)})
		}
		compare("p50", "ms", func(part int) float64 { return percentile(milliseconds(each.took[part]...), 50) })
		compare("p99", "ms", func(part int) float64 { return percentile(milliseconds(each.took[part]...), 99) })
		if each.used[0] > 0 && each.used[last] > 0 {
			compare(processor, "µs", each.perCall)
		}
	}
	if p.statements.analyze != "" {
		if err := p.raw.exec(ctx, p.statements.analyze); err != nil {
			return err
		}
	}
	var table, index, dead int64
	if err := p.raw.row(ctx, p.statements.sizes, []any{p.statements.ours}, &table, &index); err != nil {
		return err
	}
	if err := p.raw.row(ctx, p.statements.dead, nil, &dead); err != nil {
		return err
	}
	note := func(what, unit string, value float64) {
		b.report.note(figure{Product: p.product, Name: "held snapshot: " + what, Unit: unit}, value)
	}
	note("table", "KB", float64(table)/1024)
	if index > 0 {
		note("index", "KB", float64(index)/1024)
	}
	note(p.statements.deadAre, "", float64(dead))
	return nil
}
