package applock_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/internal/clients"
	"github.com/applock/applock/internal/db"
)

// readsOnly is a driver that can read views: any other method of it panics.
type readsOnly struct{ db.Driver }

func (readsOnly) ApplLockLive(context.Context, db.ApplLockLiveParams) ([]db.Lock, error) {
	return nil, nil
}

func (readsOnly) ApplLockWaiting(context.Context, db.ListedParams) ([]db.Waiter, error) {
	return nil, nil
}

func (readsOnly) ApplLockAsking(context.Context, db.ListedParams) ([]db.Asker, error) {
	return nil, nil
}

func (readsOnly) ApplLockViewers(context.Context, db.ListedParams) ([]db.Viewer, error) {
	return nil, nil
}

func (readsOnly) ApplLockHistory(context.Context, db.ApplLockHistoryParams) ([]db.Event, error) {
	return nil, nil
}

// Goal: no call without `range` compiles and does nothing: what changes something returns no iterator. Method: every method of a client that
// returns one runs on a driver that can only read.
func TestIteratorsOnlyRead(t *testing.T) {
	t.Parallel()
	client := reflect.ValueOf(clients.New[*applock.Client](readsOnly{}, nil, lease.Hooks{}))
	iterators := 0
	for i := range client.NumMethod() {
		method := client.Type().Method(i)
		if method.Type.NumOut() != 1 || method.Type.Out(0).Kind() != reflect.Func {
			continue
		}
		iterators++
		sequence := client.Method(i).Call([]reflect.Value{reflect.ValueOf(t.Context()), reflect.Zero(method.Type.In(2))})[0]
		for range sequence.Seq2() {
			t.Errorf("%s yields something of nothing", method.Name)
		}
	}
	if iterators < 4 {
		t.Errorf("found %d iterators, want those of locks, waiters, viewers and events", iterators)
	}
}
