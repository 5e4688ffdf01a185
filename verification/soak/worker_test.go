package soak_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/testing/worker"
)

// orders is what a program is told.
type orders struct {
	Number  int
	Backend string
	DSN     string
	Journal string
	Leases  int
	// TTL is zero in the idle phase, in which nobody waits either.
	TTL time.Duration
	// Hot is how many objects are fought for, and LongestUse for how long one is held at the most.
	Hot        int
	LongestUse time.Duration
	Seed       uint64
	// Watched is true for a program that only tells what it sees of its leases.
	Watched bool
}

// program is one of the processes.
type program struct {
	orders

	locker  lease.Locker
	journal *worker.Journal
}

const (
	soakJob = "soak"
	// contenders fight for the hot objects in each process.
	contenders = 4
	maxHold    = time.Hour
	hotTTL     = 3 * time.Second
	stallTick  = 100 * time.Millisecond
)

// work is the job of a process. It runs until the parent closes stdin.
func work(ctx context.Context, text []byte) (err error) {
	var w program
	if err := json.Unmarshal(text, &w.orders); err != nil {
		return err
	}
	if w.journal, err = worker.OpenJournal(w.Journal); err != nil {
		return err
	}
	defer func() { _ = w.journal.Close() }()
	ctx = worker.UntilTold(ctx)
	locker, closeLocker, err := open(ctx, w.Backend, w.DSN)
	if err != nil {
		return err
	}
	w.locker = locker
	if w.Watched {
		return errors.Join(w.watch(ctx), closeLocker())
	}
	w.run(ctx)
	if err := closeLocker(); err != nil { // after a cut connection that is no wonder
		w.write(record{Kind: "closed", Note: err.Error()})
	}
	return nil
}

func (w *program) run(ctx context.Context) {
	var group sync.WaitGroup
	group.Go(func() { w.watchStalls(ctx) })
	var held sync.WaitGroup
	for i := range w.Leases {
		held.Add(1)
		group.Go(func() {
			w.keep(ctx, applock.Object{Type: fmt.Sprintf("own%d", w.Number), ID: fmt.Sprint(i)}, held.Done)
		})
	}
	held.Wait()
	fmt.Fprintln(os.Stdout, "holding")
	if w.Hot > 0 {
		for i := range contenders {
			random := rand.New(rand.NewPCG(w.Seed, uint64(w.Number*contenders+i)))
			group.Go(func() { w.contend(ctx, random) })
		}
		random := rand.New(rand.NewPCG(w.Seed, uint64(w.Number)))
		group.Go(func() { w.giveUp(ctx, random) })
	}
	group.Wait()
}

func (w *program) write(r record) {
	r.Worker = w.Number
	w.journal.Write(r)
}

// watchStalls notes when the process does not get on.
func (w *program) watchStalls(ctx context.Context) {
	for last := time.Now(); ctx.Err() == nil; {
		time.Sleep(stallTick)
		now := time.Now()
		if now.Sub(last) > 10*stallTick {
			w.write(record{Kind: kindStall, From: micros(last), To: micros(now)})
		}
		last = now
	}
}

// keep holds an object, and takes it again when it is lost. It calls held once.
func (w *program) keep(ctx context.Context, object applock.Object, held func()) {
	once := sync.OnceFunc(held)
	defer once()
	for ctx.Err() == nil {
		lease, err := w.locker.Acquire(ctx, applock.AcquireRequest{Object: object, MaxHold: maxHold, TTL: w.TTL})
		if err != nil {
			worker.Rest(ctx, time.Second)
			continue
		}
		once()
		select {
		case <-lease.Context().Done():
			w.write(record{
				Kind: kindLost, Object: object.String(), From: micros(time.Now()), To: micros(time.Now()),
				Note: fmt.Sprint(context.Cause(lease.Context())),
			})
		case <-ctx.Done():
			_ = lease.Release(context.WithoutCancel(ctx))
		}
	}
}

// contend holds a hot object again and again, for a moment.
func (w *program) contend(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		object := applock.Object{Type: "hot", ID: fmt.Sprint(random.IntN(w.Hot))}
		began := time.Now()
		lease, err := w.locker.Acquire(ctx, applock.AcquireRequest{Object: object, MaxHold: time.Minute, TTL: hotTTL})
		if err != nil {
			worker.Rest(ctx, stallTick)
			continue
		}
		from := time.Now()
		w.write(record{Kind: kindWaited, From: micros(began), To: micros(from)})
		w.use(lease, from, time.Duration(random.Int64N(int64(w.LongestUse))))
	}
}

// use looks at a lease as its holder does between two steps. It was live when a look that had begun found it live. The look is
// Err, which compares the clock: the context of a process that was stopped ends a moment after it runs again.
func (w *program) use(lease applock.Lease, from time.Time, long time.Duration) {
	live := record{Kind: kindLive, Object: lease.Object().String(), Fence: int64(lease.Fence()), From: micros(from), To: micros(from)}
	for {
		looked := time.Now()
		if lease.Err() != nil {
			w.write(live)
			return
		}
		live.To = micros(looked)
		if looked.Sub(from) >= long {
			break
		}
		time.Sleep(time.Millisecond)
	}
	w.write(live)
	_ = lease.Release(context.Background())
}

// giveUp makes calls whose context ends, and notes how late they return.
func (w *program) giveUp(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		object := applock.Object{Type: "hot", ID: fmt.Sprint(random.IntN(w.Hot))}
		limited, cancel := context.WithTimeout(ctx, time.Duration(1+random.IntN(300))*time.Millisecond)
		lease, err := w.locker.Acquire(limited, applock.AcquireRequest{Object: object, MaxHold: time.Minute, TTL: hotTTL})
		returned := time.Now()
		ended, _ := limited.Deadline()
		if err == nil {
			w.use(lease, returned, 0)
		} else if errors.Is(err, context.DeadlineExceeded) {
			w.write(record{Kind: kindOverdue, From: micros(ended), To: micros(returned)})
		}
		cancel()
		worker.Rest(ctx, 10*time.Millisecond)
	}
}
