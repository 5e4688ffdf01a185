package lease_test

import (
	"context"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
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

// grantFirst grants the one object that a set takes.
func grantFirst(_ context.Context, objects []applock.Object, owner applock.Owner, _ time.Duration) ([]applock.Grant, error) {
	return []applock.Grant{{Object: objects[0], Owner: owner, Fence: 2}}, nil
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
			var isEnding atomic.Bool
			backend := transferring{&playedBackend{renew: func(asked []lease.Renewal) ([]lease.Renewed, error) {
				renewals.Add(1)
				if way == "unanswered" && isEnding.Load() {
					return nil, errServer
				}
				answers := renewed(asked)
				for i := range answers {
					answers[i].ExpiresAt = time.Now()
					if way == "lost" && isEnding.Load() {
						answers[i].Lost = errServer
					}
				}
				return answers, nil
			}}}
			leases := lease.New(backend, lease.Config{})
			defer func() { _ = leases.Close() }()
			one := mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour, TTL: time.Second})
			set, err := leases.AcquireAllBy(one.Context(), applock.AcquireAllRequest{
				Objects: []applock.Object{nightly, {Type: "job", ID: "daily"}}, MaxHold: time.Hour, TTL: time.Second,
			}, grantFirst)
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
			isEnding.Store(true)
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

// stated is a lease, or a set, which has no Err: its lease has.
type stated struct {
	applock.Lease
	context context.Context //nolint:containedctx // the set's
	release func(ctx context.Context) error
}

// Goal: Err and the context of a lease, and of a set, answer in each state as in every language. Method: the rows of the table.
func TestLeaseStates(t *testing.T) {
	t.Parallel()
	cannot := map[string]string{"forked": "a Go program cannot go on in a forked child: os/exec begins another program"}
	const ttl = 30 * time.Second
	for _, row := range leaseStates(t) {
		for _, kind := range []string{"lease", "set"} {
			t.Run(row[0]+"/"+kind, func(t *testing.T) {
				t.Parallel()
				if reason := cannot[row[0]]; reason != "" {
					t.Logf("not to be had: %s", reason)
					return
				}
				backend := &playedBackend{renew: func(asked []lease.Renewal) ([]lease.Renewed, error) {
					answers := renewed(asked)
					switch row[0] {
					case "taken":
						answers[0].Lost = held
					case "unrenewed":
						return nil, errServer
					}
					return answers, nil
				}}
				play(t, backend, func(t *testing.T, leases *lease.Leases) {
					enter := func(ctx context.Context) stated { return enterAs(ctx, t, leases, kind, ttl) }
					of := enter(t.Context())
					states := map[string]func(){
						"entered": func() {},
						"renewed": func() { time.Sleep(3 * ttl) },
						"reentered": func() {
							inner := enter(of.context)
							_ = inner.release(t.Context())
							if err := inner.Err(); !errors.Is(err, applock.ErrNotHeld) || inner.context.Err() == nil {
								t.Errorf("the inner one, released: %v, %v", err, inner.context.Err())
							}
						},
						"released":  func() { _ = of.release(t.Context()) },
						"taken":     func() { time.Sleep(ttl / 2) },
						"unrenewed": func() { time.Sleep(ttl) },
					}
					change, known := states[row[0]]
					if !known {
						t.Fatal("this state is not played")
					}
					change()
					synctest.Wait()
					check, signal := of.Err(), of.context.Err()
					if (check == nil) != (row[1] == "passes") || (signal == nil) != (row[2] == "quiet") {
						t.Errorf("check %v, signal %v, want %q", check, signal, row)
					}
				})
			})
		}
	}
}

func enterAs(ctx context.Context, t *testing.T, leases *lease.Leases, kind string, ttl time.Duration) stated {
	t.Helper()
	if kind == "lease" {
		of, err := leases.Acquire(ctx, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour, TTL: ttl})
		if err != nil {
			t.Fatal(err)
		}
		return stated{of, of.Context(), of.Release}
	}
	request := applock.AcquireAllRequest{Objects: []applock.Object{nightly}, MaxHold: time.Hour, TTL: ttl}
	set, err := leases.AcquireAllBy(ctx, request, grantFirst)
	if err != nil {
		t.Fatal(err)
	}
	return stated{set.Leases()[0], set.Context(), set.Release}
}

// leaseStates returns the rows of the table that all languages play: a state, check and signal.
func leaseStates(t *testing.T) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile("../../testdata/lease_states.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		if fields := strings.Fields(line); len(fields) == 3 {
			rows = append(rows, fields)
		}
	}
	if len(rows) == 0 {
		t.Fatal("the table has no rows")
	}
	return rows
}
