package applock_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/internal/db"
	"github.com/applock/applock/internal/testing/contract"
)

const (
	// errorWait is the MaxWait of calls, and errorLimit the time of their contexts: longer than a row is waited for, or than a busy machine needs
	// to connect. noLimit is that of calls which end by themselves.
	errorWait  = 3 * time.Second
	errorLimit = 4 * time.Second
	noLimit    = time.Minute
	// cellsAtOnce bounds how many calls of one product are under way at a time, and beginsAtOnce how many clients connect.
	cellsAtOnce  = 60
	beginsAtOnce = 4
)

// errorCause is what is wrong.
type errorCause struct {
	name string
	// conns is the limit of the pool, and isWired whether its connections are led through a wire.
	conns   int
	isWired bool
	// isOfRows is true if the objects are to have rows.
	isOfRows bool
	// isStandby is true if it is a change of the server, which nobody else may have.
	isStandby bool
	// answer is what comes of a call.
	answer errorAnswer
	// strike begins it, after the client has connected. It returns what ends it.
	strike func(ctx context.Context, cell *errorCell) (end func(), err error)
	// applies says where it can happen; nil means everywhere.
	applies func(product kindsProduct, call errorCall) bool
}

// errorAnswer is whether a call has an answer, and whether that is worth waiting for another one.
type errorAnswer int

const (
	noAnswer errorAnswer = iota
	notYet
	final
)

// errorCell is one call in one kind of trouble.
type errorCell struct {
	*troubled

	product kindsProduct
	maxWait time.Duration
	object  applock.Object
	key     applock.Key
	lease   applock.Lease
	set     applock.LeaseSet
}

func (c *errorCell) other() applock.Object { return account(c.object.ID + " too") }

// detoured has the client connect anew, in another way.
func detoured(way func(cell *errorCell) *detour) func(context.Context, *errorCell) (func(), error) {
	return func(_ context.Context, cell *errorCell) (func(), error) {
		cell.later.Store(way(cell))
		cell.forget()
		return func() { cell.later.Store(nil) }, nil
	}
}

// occupied has the program use so many connections.
func occupied(conns int) func(context.Context, *errorCell) (func(), error) {
	return func(ctx context.Context, cell *errorCell) (func(), error) {
		var ends []func()
		for range conns {
			free, err := cell.occupy(ctx)
			if err != nil {
				return nil, err
			}
			ends = append(ends, free)
		}
		return func() {
			for _, free := range ends {
				free()
			}
		}, nil
	}
}

func errorCauses() []errorCause { return append(causesAtServers(), causesAtHealthyServers()...) }

// silent has a server say nothing.
func silent(_ context.Context, cell *errorCell) (end func(), err error) {
	cell.wire.Silence()
	return func() {
		cell.wire.Speak()
		cell.wire.Reset()
	}, nil
}

// busy has a transaction change the locks.
func busy(ctx context.Context, cell *errorCell) (end func(), err error) {
	return cell.block(ctx, cell.object, cell.other())
}

func causesAtServers() []errorCause {
	return []errorCause{
		{
			name: "server down: nobody listens at its address", conns: 4, answer: notYet,
			strike: detoured(func(*errorCell) *detour { return &detour{address: nowhere} }),
		},
		{
			name: "server silent: it answers no call on the connections that there are", conns: 4, isWired: true,
			strike: silent,
		},
		{
			name: "server silent from the beginning: it answers no attempt to connect", conns: 4, isWired: true,
			strike: func(ctx context.Context, cell *errorCell) (func(), error) {
				cell.forget()
				return silent(ctx, cell)
			},
		},
		{
			name: "server refusing: the password is wrong", conns: 4, answer: final,
			strike: detoured(func(*errorCell) *detour { return &detour{password: "wrong"} }),
		},
		{
			name: "server full: it accepts no more connections", conns: 4, answer: notYet,
			strike:  detoured(func(cell *errorCell) *detour { return cell.product.full }),
			applies: func(product kindsProduct, _ errorCall) bool { return product.full != nil },
		},
		{
			name: "standby: nothing can be changed", conns: 1, isStandby: true, answer: final,
			strike: func(ctx context.Context, cell *errorCell) (end func(), err error) {
				if cell.demote != nil {
					return func() {}, cell.demote(ctx)
				}
				return detoured(func(cell *errorCell) *detour { return &detour{setting: cell.product.readOnly} })(ctx, cell)
			},
		},
	}
}

func causesAtHealthyServers() []errorCause {
	return []errorCause{
		{
			name: "pool empty: the caller's own transaction has its only connection", conns: 1,
			strike: occupied(1),
		},
		{
			name: "pool empty: others have all of its connections", conns: 4,
			strike: occupied(4),
		},
		{
			name: "row busy: another transaction is changing the lock", conns: 4, answer: notYet, isOfRows: true,
			strike:  busy,
			applies: func(product kindsProduct, _ errorCall) bool { return product.isDatabase },
		},
		{
			name: "statement timeout: it ends calls before the row is free", conns: 1, answer: notYet, isOfRows: true,
			strike: func(ctx context.Context, cell *errorCell) (func(), error) {
				if _, err := detoured(func(cell *errorCell) *detour { return &detour{setting: cell.product.hasty} })(ctx, cell); err != nil {
					return nil, err
				}
				return busy(ctx, cell)
			},
			applies: func(product kindsProduct, call errorCall) bool { return product.hasty != "" && !call.passesOver },
		},
	}
}

// errorCall is one way to call.
type errorCall struct {
	name string
	// prepare, if set, is what the caller does before.
	prepare func(ctx context.Context, cell *errorCell) error
	call    func(ctx context.Context, cell *errorCell) error
	// ofClients is true where only a client of a database has it.
	ofClients bool
	// waits is true if it waits as long as its context, and hasMaxWait if for MaxWait.
	waits, hasMaxWait bool
	// passesOver is true if it does not wait for a row.
	passesOver bool
}

func hasGot(ctx context.Context, cell *errorCell) error {
	grant, err := cell.client.Get(ctx, getOf(cell))
	cell.key = grant.Key()
	return err
}

func hasAcquired(ctx context.Context, cell *errorCell) (err error) {
	cell.lease, err = cell.locker.TryAcquire(ctx, acquireOf(cell))
	if !cell.product.isDatabase {
		time.Sleep(200 * time.Millisecond) // a key that has nearly all of its time left is not renewed
	}
	return err
}

func hasAcquiredAll(ctx context.Context, cell *errorCell) (err error) {
	cell.set, err = cell.client.AcquireAll(ctx, all(cell.object, cell.other()))
	return err
}

func getOf(cell *errorCell) applock.GetRequest {
	return applock.GetRequest{Object: cell.object, Owner: applock.Owner{Operator: "etl-7"}, TTL: time.Minute}
}

func acquireOf(cell *errorCell) applock.AcquireRequest {
	return applock.AcquireRequest{Object: cell.object, MaxHold: time.Minute, MaxWait: cell.maxWait}
}

func errorCalls() []errorCall {
	get := func(ctx context.Context, cell *errorCell) error {
		request := getOf(cell)
		request.MaxWait = cell.maxWait
		_, err := cell.client.Get(ctx, request)
		return err
	}
	acquire := func(ctx context.Context, cell *errorCell) error {
		_, err := cell.locker.Acquire(ctx, acquireOf(cell))
		return err
	}
	tryAcquire := func(ctx context.Context, cell *errorCell) error {
		_, err := cell.locker.TryAcquire(ctx, acquireOf(cell))
		return err
	}
	acquireAll := func(ctx context.Context, cell *errorCell) error {
		request := all(cell.object, cell.other())
		request.MaxWait = cell.maxWait
		_, err := cell.client.AcquireAll(ctx, request)
		return err
	}
	return []errorCall{
		{name: "Get", ofClients: true, call: get},
		{name: "Get, MaxWait", ofClients: true, hasMaxWait: true, call: get},
		{name: "Acquire", waits: true, call: acquire},
		{name: "Acquire, MaxWait", hasMaxWait: true, call: acquire},
		{name: "TryAcquire", call: tryAcquire},
		{name: "TryAcquire, MaxWait", hasMaxWait: true, call: tryAcquire},
		{name: "AcquireAll", waits: true, ofClients: true, call: acquireAll},
		{name: "AcquireAll, MaxWait", ofClients: true, hasMaxWait: true, call: acquireAll},
		{name: "Renew", ofClients: true, passesOver: true, prepare: hasGot, call: func(ctx context.Context, cell *errorCell) error {
			_, err := cell.client.Renew(ctx, cell.key, time.Minute)
			return err
		}},
		{name: "Release", ofClients: true, prepare: hasGot, call: func(ctx context.Context, cell *errorCell) error {
			_, err := cell.client.Release(ctx, applock.ReleaseRequest{Key: cell.key})
			return err
		}},
		{name: "Lease.Renew", passesOver: true, prepare: hasAcquired, call: func(ctx context.Context, cell *errorCell) error { return cell.lease.Renew(ctx) }},
		{name: "Lease.Release", prepare: hasAcquired, call: func(ctx context.Context, cell *errorCell) error { return cell.lease.Release(ctx) }},
		{name: "LeaseSet.Release", ofClients: true, prepare: hasAcquiredAll, call: func(ctx context.Context, cell *errorCell) error {
			return cell.set.Release(ctx)
		}},
	}
}

// limits returns the MaxWait and the time of the context of a call.
func limits(cause errorCause, call errorCall) (maxWait, limit time.Duration) {
	if call.hasMaxWait {
		maxWait = errorWait
		if cause.answer == final {
			maxWait = noLimit
		}
		return maxWait, noLimit
	}
	if cause.answer == noAnswer || cause.answer == notYet && call.waits {
		return 0, errorLimit
	}
	return 0, noLimit
}

// Goal: who asks about an error by its kind, or reads it, is told what is wrong, and not something else, whatever is wrong and whichever call
// meets it. Method: each cause is brought about for a client of its own, and each call made; the kinds and the message are compared with a
// golden file, without what comes from the client of the database or from the server; APPLOCK_UPDATE_GOLDEN=1 (make golden) rewrites it.
func TestHeavyGoldenKindsOfErrors(t *testing.T) {
	t.Parallel()
	products := []kindsProduct{postgresKinds(t), mysqlKinds(t, onMariaDB), mysqlKinds(t, onMySQL), redisKinds(t)}
	table := newErrorTable(products)
	var group sync.WaitGroup
	defer group.Wait()
	for _, product := range products {
		cells, begins := make(chan struct{}, cellsAtOnce), make(chan struct{}, beginsAtOnce)
		for _, cause := range errorCauses() {
			for _, call := range errorCalls() {
				if !product.isDatabase && call.ofClients || cause.applies != nil && !cause.applies(product, call) {
					continue
				}
				group.Go(func() {
					cells <- struct{}{}
					defer func() { <-cells }()
					table.fill(t, begins, product, cause, call)
				})
			}
		}
	}
	group.Wait()
	if !t.Failed() {
		contract.Golden(t, "testdata/error_kinds.txt", table.String())
	}
}

// errorTable is what the calls have failed with.
type errorTable struct {
	products []string

	mutex sync.Mutex
	cells map[[3]string]string // by cause, call and product
}

func newErrorTable(products []kindsProduct) *errorTable {
	table := &errorTable{cells: map[[3]string]string{}}
	for _, product := range products {
		table.products = append(table.products, product.name)
	}
	return table
}

// fill makes one call in one kind of trouble.
func (e *errorTable) fill(t testing.TB, begins chan struct{}, product kindsProduct, cause errorCause, call errorCall) {
	t.Helper()
	name := product.name + ", " + cause.name + ", " + call.name
	place, err := product.open(t, cause)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	defer place.close()
	cell := &errorCell{troubled: place, product: product, object: account(strings.ReplaceAll(cause.name+" "+call.name, ":", ""))}
	maxWait, limit := limits(cause, call)
	begins <- struct{}{}
	err = cell.begin(t.Context(), cause, call)
	<-begins
	if err != nil {
		t.Errorf("%s: before it: %v", name, err)
		return
	}
	end, err := cause.strike(t.Context(), cell)
	if err != nil {
		t.Errorf("%s: the cause: %v", name, err)
		return
	}
	defer end()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	cell.maxWait = maxWait
	began := time.Now()
	met := call.call(ctx, cell)
	t.Logf("%s: after %s: %v", name, time.Since(began).Round(time.Millisecond), met)
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.cells[[3]string{cause.name, call.name, product.name}] = kindsOf(met) + " | " + wordsOf(cell.object, met)
}

// begin connects, has rows of the objects if they are to be busy, and does what the caller does before.
func (c *errorCell) begin(ctx context.Context, cause errorCause, call errorCall) error {
	objects := []applock.Object{account(c.object.ID + " before")}
	if cause.isOfRows {
		objects = []applock.Object{c.object, c.other()}
	}
	for _, object := range objects {
		lease, err := c.locker.Acquire(ctx, applock.AcquireRequest{Object: object, MaxHold: time.Minute})
		if err != nil {
			return err
		}
		if err := lease.Release(ctx); err != nil {
			return err
		}
	}
	if call.prepare == nil {
		return nil
	}
	return call.prepare(ctx, c)
}

// kindsOf names what an error is.
func kindsOf(err error) string {
	var names []string
	for name, kind := range map[string]error{
		"ErrHeld": applock.ErrHeld, "ErrNotHeld": applock.ErrNotHeld, "ErrLost": applock.ErrLost, "ErrInvalid": applock.ErrInvalid,
		"ErrOutcomeUnknown": applock.ErrOutcomeUnknown, "ErrBusy": applock.ErrBusy, "ErrRetry": applock.ErrRetry,
		"ErrContention": applock.ErrContention, "ErrUnreachable": applock.ErrUnreachable, "ErrReadOnly": applock.ErrReadOnly,
		"ErrPrivilege": applock.ErrPrivilege, "ErrSchema": applock.ErrSchema, "ErrClosed": applock.ErrClosed,
		"context.DeadlineExceeded": context.DeadlineExceeded,
	} {
		if errors.Is(err, kind) {
			names = append(names, name)
		}
	}
	switch {
	case err == nil:
		return "no error"
	case len(names) == 0:
		return "no kind"
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// wordsOf returns a message without its beginning, which names the call and its object, and without what others say, in whose place are dots.
func wordsOf(object applock.Object, err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	for _, foreign := range foreignWords(err) {
		text = strings.ReplaceAll(text, ": "+foreign, ": ...")
	}
	text, _, _ = strings.Cut(text, "\n") // a set has a line for each of its leases
	beginning, end, ok := strings.Cut(text, object.String())
	if !ok {
		_, end, _ = strings.Cut(beginning, ": ")
	}
	text = strings.TrimLeft(end, ",: ")
	text = strings.ReplaceAll(text, ": "+context.DeadlineExceeded.Error(), ": ...") // which some say before or in the place of their words
	return strings.ReplaceAll(text, ": ...: ...", ": ...")
}

// foreignWords returns what the client of a database and the server say.
func foreignWords(err error) []string {
	if err == nil {
		return nil
	}
	_, isDriver := err.(*db.Error)  //nolint:errorlint // each error of the chain comes by
	_, isRedis := err.(redis.Error) //nolint:errorlint // as above
	_, isNetwork := err.(net.Error) //nolint:errorlint // as above
	if isDriver || isRedis || isNetwork && !errors.Is(err, context.DeadlineExceeded) {
		return []string{err.Error()}
	}
	var words []string
	switch wrapper := err.(type) { //nolint:errorlint // as above
	case interface{ Unwrap() error }:
		words = foreignWords(wrapper.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range wrapper.Unwrap() {
			words = append(words, foreignWords(one)...)
		}
	}
	return words
}

// String has the causes and calls in their order, and for each the products with the same answer together.
func (e *errorTable) String() string {
	var text strings.Builder
	text.WriteString("What each call fails with, by cause: what errors.Is finds, and how the message begins. Dots are the words of the server or its client.\n")
	for _, cause := range errorCauses() {
		fmt.Fprintf(&text, "\n%s\n", cause.name)
		for _, call := range errorCalls() {
			e.write(&text, cause.name, call.name)
		}
	}
	return text.String()
}

func (e *errorTable) write(text *strings.Builder, cause, call string) {
	products := map[string][]string{}
	for _, product := range e.products {
		if met, ok := e.cells[[3]string{cause, call, product}]; ok {
			products[met] = append(products[met], product)
		}
	}
	for _, met := range slices.SortedFunc(maps.Keys(products), func(a, b string) int {
		return slices.Index(e.products, products[a][0]) - slices.Index(e.products, products[b][0])
	}) {
		kinds, words, _ := strings.Cut(met, " | ")
		fmt.Fprintf(text, "  %-20s %-34s %s\n", call, strings.Join(products[met], ", "), kinds)
		if words != "" {
			fmt.Fprintf(text, "      %s\n", words)
		}
	}
}
