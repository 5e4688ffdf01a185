package db_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/internal/db"
)

// Goal: there are no more connections than allowed, they are used again, who cannot wait for one leaves it to the next, and all
// end when they have not been used, and with Close. Method: connections that are numbers and take a second to be made.
func TestKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		made, ended := 0, 0
		var failure error
		kept := db.NewKept(2, func(ctx context.Context) (int, error) {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				return 0, ctx.Err()
			}
			if failure != nil {
				return 0, failure
			}
			made++
			return made, nil
		}, func(int) { ended++ })

		hurried, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := kept.Take(hurried, 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("taken in a hurry: %v", err)
		}
		take := func() int {
			conn, err := kept.Take(t.Context(), 1)
			if err != nil {
				t.Fatal(err)
			}
			return conn
		}
		first := take()
		time.AfterFunc(time.Second, func() { kept.Put(first) })
		if again := take(); first != 1 || again != 1 {
			t.Errorf("took %d and %d, want the first one twice", first, again)
		}
		kept.Put(first)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if ended != 1 {
			t.Errorf("%d have ended that nobody used, want 1", ended)
		}
		kept.Drop(take())
		failure = errors.New("too many connections")
		if _, err := kept.Take(t.Context(), 1); !errors.Is(err, failure) {
			t.Errorf("taken: %v, want why none could be made", err)
		}
		failure = nil
		last := take()
		kept.Close()
		kept.Put(last)
		if made != 3 || ended != 3 {
			t.Errorf("%d of %d have ended, want 3", ended, made)
		}
	})
}
