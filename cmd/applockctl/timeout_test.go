package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// Each call has the whole time, and what lies between the calls does not count.
func TestCallLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, limit := limitCalls(t.Context(), 10*time.Second)
		defer limit.end()
		for range 5 {
			time.Sleep(9 * time.Second)
			limit.pause()
			time.Sleep(time.Hour)
			limit.restart()
		}
		if ctx.Err() != nil {
			t.Fatalf("ended after short calls: %v", context.Cause(ctx))
		}
		time.Sleep(11 * time.Second)
		var timeout *timeoutError
		if !errors.As(context.Cause(ctx), &timeout) {
			t.Errorf("after a long call: %v", context.Cause(ctx))
		}
	})
}

// A limit that has ended ends its context, and does not blame the database.
func TestCallLimitEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, limit := limitCalls(t.Context(), 10*time.Second)
		limit.end()
		time.Sleep(time.Minute)
		if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
			t.Errorf("ended by %v", cause)
		}
	})
}
