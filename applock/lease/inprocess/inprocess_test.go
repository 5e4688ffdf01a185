package inprocess_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/inprocess"
	"github.com/applock/applock/applock/lease/locktest"
)

func TestMain(m *testing.M) { locktest.Main(m, open) }

func open(context.Context, string) (lease.Locker, func() error, error) {
	leases := inprocess.New()
	return leases, leases.Close, nil
}

func direct(context.Context, string) (lease.Backend, func() error, error) {
	return inprocess.NewBackend(), func() error { return nil }, nil
}

func TestContract(t *testing.T) {
	t.Parallel()
	locktest.Exercise(t, locktest.Backend{
		Place:     func(testing.TB) string { return "" },
		Open:      open,
		Direct:    direct,
		OneClient: true,
		Fences:    true,
		Owners:    true,
	})
}

// A deposit into one wallet at a time, in the order of the calls.
func ExampleNew() {
	locks := inprocess.New()
	defer func() { _ = locks.Close() }()
	balance := 0
	var deposits sync.WaitGroup
	for range 10 {
		deposits.Go(func() {
			request := applock.AcquireRequest{
				Object:  applock.Object{Type: "wallet", ID: "17"},
				MaxHold: 10 * time.Second,
			}
			err := locks.Do(context.Background(), request, func(context.Context, applock.Lease) error {
				balance += 5
				return nil
			})
			if err != nil {
				fmt.Println(err)
			}
		})
	}
	deposits.Wait()
	fmt.Println(balance)
	// Output: 50
}
