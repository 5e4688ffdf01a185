package lease_test

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// transferring is a backend that can transfer, too.
type transferring struct{ *playedBackend }

func (transferring) Transfer(_ context.Context, grant applock.Grant, to applock.Owner, _ time.Duration) (applock.Grant, error) {
	grant.Owner = to
	return grant, nil
}

// callAll calls the methods of a lease or a set, each in a goroutine of its own, until done is closed: a lease's are found by reflection,
// so that a new one is called, too.
func callAll(group *sync.WaitGroup, of any, done <-chan struct{}, isCalled func(name string) bool) {
	arguments := map[reflect.Type]any{
		reflect.TypeFor[context.Context](): context.Background(), reflect.TypeFor[applock.Owner](): applock.Owner{Operator: "JDOE"},
		reflect.TypeFor[time.Duration](): time.Second,
	}
	for i := range reflect.TypeOf(of).NumMethod() {
		method := reflect.ValueOf(of).Method(i)
		if !isCalled(reflect.TypeOf(of).Method(i).Name) {
			continue
		}
		var in []reflect.Value
		for j := range method.Type().NumIn() {
			in = append(in, reflect.ValueOf(arguments[method.Type().In(j)])) // of a type without a value it panics in Call
		}
		group.Go(func() {
			for {
				for _, out := range method.Call(in) {
					if ctx, ok := out.Interface().(context.Context); ok {
						_, _ = ctx.Deadline()
						_ = context.Cause(ctx)
					}
				}
				select {
				case <-done:
					return
				case <-time.After(time.Millisecond):
				}
			}
		})
	}
}

// Goal: all methods of a lease and of a set are safe for concurrent use, as they say. Method: under the race detector, all that do not end
// it during renewals, then with renewals by the caller, too, while it ends in each way.
func TestAllMethodsAtOnce(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"Release", "Transfer", "Leave", "lost", "unanswered", "closed"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			var renewals atomic.Int64
			var refusal atomic.Pointer[error]
			backend := transferring{&playedBackend{renew: func(asked []lease.Renewal) ([]lease.Renewed, error) {
				answers := renewed(asked)
				for i := range answers {
					answers[i].ExpiresAt = time.Now()
					if way == "lost" && refusal.Load() != nil {
						answers[i].Lost = *refusal.Load()
					}
				}
				if way == "unanswered" && refusal.Load() != nil {
					return nil, *refusal.Load()
				}
				renewals.Add(1)
				return answers, nil
			}}}
			leases := lease.New(backend, lease.Config{})
			defer func() { _ = leases.Close() }()
			one := mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour, TTL: time.Second})
			set, err := leases.AcquireAllBy(one.Context(), applock.AcquireAllRequest{
				Objects: []applock.Object{nightly, {Type: "job", ID: "daily"}}, MaxHold: time.Hour, TTL: time.Second,
			}, func(_ context.Context, objects []applock.Object, owner applock.Owner, _ time.Duration) ([]applock.Grant, error) {
				return []applock.Grant{{Object: objects[0], Owner: owner, Fence: 2}}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			all := []any{one, set, set.Leases()[0], set.Leases()[1]}
			var group sync.WaitGroup
			done := make(chan struct{})
			later := []string{"Renew", "Release", "Transfer", "Leave"}
			for _, of := range all {
				callAll(&group, of, done, func(name string) bool { return !slices.Contains(later, name) })
			}
			for before := renewals.Load(); renewals.Load() < before+3; {
				time.Sleep(time.Millisecond)
			}
			for _, of := range all {
				callAll(&group, of, done, func(name string) bool { return name == way || name == "Renew" })
			}
			refusal.Store(&errServer)
			if way == "closed" {
				_ = leases.Close()
			}
			<-set.Context().Done()
			<-one.Context().Done()
			close(done)
			group.Wait()
		})
	}
}
