//go:build linux

package faults_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/applock/applock/internal/testing/worker"
)

const (
	faultsJob = "faults"
	// clients are the sessions of a process.
	clients = 3
	// objects are fought for in a round, two at a time.
	objects = 4
	// slot is how long two of them are hot: then they rest, and expire.
	slot = 600 * time.Millisecond
	// callLimit is how long a client waits for an answer.
	callLimit = 3 * time.Second
)

// orders is what a program is told.
type orders struct {
	Place   place
	Number  int
	Offset  int64
	Seed    uint64
	Prefix  string // of the objects
	Journal string
	Long    time.Duration
}

// entry is a line of a journal: an operation when it is sent, and again when its fate is known. Of one that was killed the first
// is all there is. Void ones had no effect and no answer.
type entry struct {
	ID   int       `json:"id"`
	Void bool      `json:"void,omitempty"`
	Op   operation `json:"op"`
}

// program is one of the processes.
type program struct {
	orders

	journal *worker.Journal
	mutex   sync.Mutex
	last    int
	wrong   error
}

// work is the job of a process. It makes calls until its time is over.
func work(ctx context.Context, text []byte) (err error) {
	var w program
	if err := json.Unmarshal(text, &w.orders); err != nil {
		return err
	}
	if w.journal, err = worker.OpenJournal(w.Journal); err != nil {
		return err
	}
	defer func() { _ = w.journal.Close() }()
	ctx, cancel := context.WithTimeout(ctx, w.Long)
	defer cancel()
	var group sync.WaitGroup
	for i := range clients {
		group.Go(func() {
			c := client{program: &w, number: w.Number*clients + i, seen: map[string]operation{}}
			c.random = rand.New(rand.NewPCG(w.Seed, uint64(c.number)))
			if err := c.run(ctx, i%2 == 0); err != nil {
				w.mutex.Lock()
				w.wrong = err
				w.mutex.Unlock()
			}
		})
	}
	group.Wait()
	return w.wrong
}

// write writes a line at once, because the process may be killed, and returns its number.
func (w *program) write(e entry) int {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if e.ID == 0 {
		w.last++
		e.ID = w.last
	}
	w.journal.Write(e)
	return e.ID
}

// client is one session, which remembers the grant that it has seen last of each object.
type client struct {
	*program

	number int
	random *rand.Rand
	seen   map[string]operation
	hasty  bool // its statements have a millisecond
}

// isCutOff reports whether an answer may be none. Of a SELECT that is killed, by max_statement_time or by KILL QUERY, MariaDB says now and then,
// without an error, that it has no rows: of 388,000 on a table of three rows it said so of 530. The last statement of list is a SELECT.
func (c *client) isCutOff(o operation) bool {
	isKilled := c.hasty || c.Place.Killed
	return isKilled && c.Place.Product == mariadb && o.Kind == kindList && o.Answer == answerFree
}

func (c *client) run(ctx context.Context, raw bool) error {
	where := c.Place
	c.hasty = where.Hasty && c.number%2 == 0
	where.Hasty = c.hasty
	s, err := openSession(ctx, where, raw)
	if err != nil {
		return err
	}
	defer s.close()
	for ctx.Err() == nil {
		if c.random.IntN(10) < 3 {
			err = c.transact(s)
		} else {
			_, err = c.alone(s, c.next())
		}
		if err != nil {
			return err
		}
		worker.Rest(ctx, time.Duration(c.random.Int64N(int64(20*time.Millisecond))))
	}
	return nil
}

// next draws an operation. Clients share their operators, so that one does what another one has the grant for.
func (c *client) next() operation {
	at := int(time.Duration(monotonic()) * time.Microsecond / slot)
	o := operation{Client: c.number, Object: fmt.Sprintf("%s-%d", c.Prefix, (at+c.random.IntN(2))%objects)}
	o.Operator = fmt.Sprintf("operator%d", c.random.IntN(4))
	seen, known := c.seen[o.Object]
	draw := c.random.IntN(100)
	if known && draw >= 30 && c.random.IntN(4) > 0 {
		o.Operator = seen.Operator
	}
	switch {
	case draw < 40 || !known && draw < 75:
		o.Kind, o.TTL = kindGet, int64(1+c.random.IntN(2))*1e6
	case draw < 50:
		o.Kind = kindRelease
		if known && c.random.IntN(3) > 0 {
			o.Fence = seen.Granted
		}
	case draw < 60:
		o.Kind, o.To, o.TTL = kindTransfer, c.otherThan(o.Operator), 1e6
	case draw < 65 && known:
		o.Kind, o.Fence, o.To, o.TTL = kindGive, seen.Granted, c.otherThan(o.Operator), givenSeconds*1e6
	case draw < 72 && known:
		o.Kind, o.Fence = kindAssert, seen.Granted
	case draw < 80 && known:
		o.Kind, o.Fence, o.TTL = kindRenew, seen.Granted, 1e6
	case draw < 86:
		o.Kind, o.Operator = kindList, ""
	default:
		o.Kind, o.Operator = kindInquire, ""
	}
	return o
}

// otherThan draws an operator.
func (c *client) otherThan(operator string) string {
	return fmt.Sprintf("operator%d", (c.random.IntN(3)+1+int(operator[len(operator)-1]-'0'))%4)
}

// remember keeps the grant that an answer tells of.
func (c *client) remember(o operation) {
	if o.Granted == 0 {
		return
	}
	switch {
	case o.Answer == answerTransferred:
		o.Operator = o.To
	case o.Kind == kindInquire, o.Kind == kindList:
		o.Operator = o.Holder
	}
	c.seen[o.Object] = o
}

// limited is a context for a call: it has a millisecond where statements have.
func (c *client) limited() (context.Context, context.CancelFunc) {
	limit := callLimit
	if c.Place.Hasty && c.random.IntN(4) == 0 {
		limit = time.Millisecond
	}
	return context.WithTimeout(context.Background(), limit)
}

// sent is the line of an operation that has been sent and not been answered.
func (c *client) sent(o operation) int {
	o.Call = monotonic() + c.Offset
	o.From, o.Until, o.Return, o.Fate = o.Call, forever, forever, fateUnknown
	return c.write(entry{Op: o})
}

// alone makes a call outside a transaction. It returns whether it was answered.
func (c *client) alone(s session, o operation) (bool, error) {
	ctx, cancel := c.limited()
	defer cancel()
	id := c.sent(o)
	counts, err := observe(ctx, c.Place.Product, c.Offset, s, &o)
	if err != nil {
		return false, err
	}
	counts = counts && !c.isCutOff(o)
	c.write(entry{ID: id, Void: !counts, Op: o})
	if !counts || o.Fate != fateDone {
		worker.Rest(context.Background(), 50*time.Millisecond)
		return false, nil
	}
	c.remember(o)
	return true, nil
}

// transact makes one or two calls in a transaction that is committed, or not.
func (c *client) transact(s session) error {
	ctx, cancel := c.limited()
	defer cancel()
	began := monotonic() + c.Offset
	tx, end, err := s.begin(ctx)
	if err != nil {
		worker.Rest(context.Background(), 50*time.Millisecond)
		return nil
	}
	var done []entry
	first := c.next()
	for _, o := range []operation{first, c.next()}[:1+c.random.IntN(2)] {
		if len(done) > 0 && o.Object == first.Object {
			break // the model has no transactions: what follows would see what nobody else sees
		}
		id := c.sent(o)
		_, err = observe(ctx, c.Place.Product, c.Offset, tx, &o)
		if err != nil {
			_ = end(false)
			return err
		}
		if o.Fate != fateDone || o.Answer == "" || c.isCutOff(o) {
			_ = end(false) // whatever it was, it is not committed
			c.write(entry{ID: id, Void: true, Op: o})
			c.settle(done, fateUndone, 0)
			return nil
		}
		if !o.changes() {
			o.Call = began
		}
		done = append(done, entry{ID: id, Op: o})
	}
	commit := c.random.IntN(3) > 0
	err = end(commit)
	switch {
	case !commit:
		c.settle(done, fateUndone, 0)
	case err == nil:
		c.settle(done, fateDone, monotonic()+c.Offset+1)
	default:
		c.settle(done, fateUnsure, forever)
	}
	return nil
}

// changes reports whether the answer is that of a change.
func (o operation) changes() bool {
	switch o.Answer {
	case answerAcquired, answerRenewed, answerTransferred, answerGiven, answerReleased:
		return true
	}
	return false
}

// settle writes the fate of what a transaction has done. A change is seen from its end on, a read is over already.
func (c *client) settle(done []entry, fate string, ended int64) {
	for _, e := range done {
		if e.Op.changes() {
			e.Op.Fate = fate
			if fate != fateUndone {
				e.Op.Return = ended
			}
		}
		if fate == fateDone {
			c.remember(e.Op)
		}
		c.write(e)
	}
}
