package db

import (
	"context"
	"sync"
	"time"
)

// Kept keeps a few connections apart from the program's, so that renewals do not queue behind its calls. Connections are made on demand,
// and closed after some time without use. It is safe for concurrent use.
type Kept[C any] struct {
	connect func(ctx context.Context) (C, error)
	end     func(C)
	// slots has one element for each connection that exists or is being made. idle has the unused ones.
	slots chan struct{}
	idle  chan C
	mutex sync.Mutex // of reserve
	// closed cancels attempts to connect.
	closed context.Context //nolint:containedctx // as it says
	cancel context.CancelFunc
	tired  *time.Timer
}

const (
	// keptFor is how long an unused connection is kept.
	keptFor = time.Minute
	// connectLimit bounds the making of one connection. Its caller may stop waiting earlier.
	connectLimit = 30 * time.Second
)

// NewKept returns a Kept of at most that many connections.
func NewKept[C any](most int, connect func(ctx context.Context) (C, error), end func(C)) *Kept[C] {
	kept := &Kept[C]{connect: connect, end: end, slots: make(chan struct{}, most), idle: make(chan C, most)}
	kept.closed, kept.cancel = context.WithCancel(context.Background()) //nolint:gosec // Close calls it
	kept.tired = time.AfterFunc(keptFor, kept.drain)
	kept.tired.Stop()
	return kept
}

// TryTake is Take without waiting. A connection that it begins to make is for a later caller.
func (k *Kept[C]) TryTake(most int) (conn C, ok bool) {
	select {
	case conn = <-k.idle:
		return conn, true
	default:
		k.begin(most)
		return conn, false
	}
}

// begin makes a connection in the background if there are fewer than most.
func (k *Kept[C]) begin(most int) (failed <-chan error) {
	failure := make(chan error, 1)
	if k.reserve(most) {
		go k.make(failure)
	}
	return failure
}

// Take returns a connection, which the caller gives to Put or Drop. It makes one if there are fewer than most, and otherwise waits for one.
// If ctx ends first, the connection being made is for the next caller.
func (k *Kept[C]) Take(ctx context.Context, most int) (C, error) {
	var none C
	select {
	case conn := <-k.idle:
		return conn, nil
	default:
	}
	failed := k.begin(most) // if ctx ends first, the connection is for the next caller
	select {
	case conn := <-k.idle:
		return conn, nil
	case err := <-failed:
		return none, err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// reserve takes a slot if fewer than most are taken.
func (k *Kept[C]) reserve(most int) bool {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if len(k.slots) >= min(most, cap(k.slots)) {
		return false
	}
	k.slots <- struct{}{}
	return true
}

func (k *Kept[C]) make(failed chan<- error) {
	ctx, cancel := context.WithTimeout(k.closed, connectLimit)
	defer cancel()
	conn, err := k.connect(ctx)
	if err != nil {
		<-k.slots
		failed <- err
		return
	}
	k.Put(conn)
}

// Put gives a connection back.
func (k *Kept[C]) Put(conn C) {
	k.idle <- conn // idle has room for all
	k.tired.Reset(keptFor)
	if k.closed.Err() != nil {
		k.drain()
	}
}

// Drop ends a broken connection.
func (k *Kept[C]) Drop(conn C) {
	k.end(conn)
	<-k.slots
}

// GiveBack is Put for a connection that can be used again, and Drop for one that cannot.
func (k *Kept[C]) GiveBack(conn C, isUsable bool) {
	if isUsable {
		k.Put(conn)
	} else {
		k.Drop(conn)
	}
}

// drain closes the unused connections.
func (k *Kept[C]) drain() {
	for {
		select {
		case conn := <-k.idle:
			k.Drop(conn)
		default:
			return
		}
	}
}

// Close closes all connections. Those in use close when they are given back.
func (k *Kept[C]) Close() {
	k.cancel()
	k.tired.Stop()
	k.drain()
}
