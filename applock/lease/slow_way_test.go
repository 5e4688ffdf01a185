package lease_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/internal/fakebackend"
)

// slowWay is one row of the table of what a lease survives.
type slowWay struct {
	ttl, way time.Duration
	// dead is how many of the first renewals meet a dead connection, and so no answer.
	dead int
	// granted is how long the grant took.
	granted time.Duration
}

// lives says which leases have to live: those whose way there and back is shorter than a third of the TTL, or where attempts are lost than a
// sixth or a tenth of it.
func (s slowWay) lives() bool {
	return s.way < s.ttl/[]time.Duration{3, 6, 10}[s.dead]
}

// slowWays are all rows: TTLs of 2 to 30 s, ways of 0 to 1 s and up to just under a third of the TTL, and grants that took up to 85 % of it.
func slowWays() (all []slowWay) {
	for _, ttl := range []time.Duration{2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second} {
		ways := []time.Duration{ttl / 10, ttl / 6, ttl / 4, ttl / 3, 2 * time.Millisecond}
		for way := time.Duration(0); way <= time.Second; way += 50 * time.Millisecond {
			ways = append(ways, way)
		}
		for _, way := range ways {
			for dead := range 3 {
				row := slowWay{ttl: ttl, way: max(way-time.Millisecond, 0), dead: dead}
				row.granted = row.way
				all = append(all, row)
			}
		}
		for _, percent := range []int{35, 50, 60, 70, 85} {
			all = append(all, slowWay{ttl: ttl, way: time.Millisecond, granted: ttl * time.Duration(percent) / 100})
		}
	}
	return all
}

// Goal: a lease lives as long as its way is shorter than a third of its TTL, whatever its grant took, and none ends without that its renewal
// was asked for. Method: leases of each row of the table live for five minutes.
func TestLeasesOfASlowWay(t *testing.T) {
	t.Parallel()
	for _, row := range slices.Compact(slowWays()) {
		t.Run(fmt.Sprintf("%s/%s/%d dead/%s", row.ttl, row.way, row.dead, row.granted), func(t *testing.T) {
			t.Parallel()
			row.play(t)
		})
	}
}

func (s slowWay) play(t *testing.T) {
	t.Helper()
	backend := unpolledFake(func(_ context.Context, call fakebackend.Call) fakebackend.Fault {
		switch {
		case call.Operation == fakebackend.Get:
			return fakebackend.Fault{Before: s.granted / 2, After: s.granted - s.granted/2}
		case call.Operation == fakebackend.Renew && call.Number <= s.dead:
			return fakebackend.Fault{Before: time.Hour}
		}
		return fakebackend.Fault{Before: s.way / 2, After: s.way - s.way/2}
	})
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		held := mustAcquire(t, leases, applock.AcquireRequest{Object: nightly, MaxHold: time.Hour, TTL: s.ttl})
		time.Sleep(5 * time.Minute)
		if err := held.Err(); err != nil && (s.lives() || backend.Calls(fakebackend.Renew) == 0) {
			t.Errorf("after %d renewals: %v", backend.Calls(fakebackend.Renew), err)
		}
	})
}

// Goal: a program whose way is too slow for its TTLs is told so, once for a lease. Method: the log of grants that took less and more than a
// third of the TTL, and of one without a TTL.
func TestSlowWayIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		backend := unpolledFake(func(_ context.Context, call fakebackend.Call) fakebackend.Fault {
			if call.Operation == fakebackend.Get {
				return fakebackend.Fault{Before: 4 * time.Second}
			}
			return fakebackend.Fault{}
		})
		leases := lease.New(backend, lease.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		defer func() { _ = leases.Close() }()
		for _, ttl := range []time.Duration{0, 13 * time.Second, 11 * time.Second} {
			mustAcquire(t, leases, applock.AcquireRequest{Object: account(ttl), MaxHold: time.Hour, TTL: ttl})
			time.Sleep(time.Minute)
		}
		text := log.String()
		if strings.Count(text, "level=WARN") != 1 || !strings.Contains(text, "ttl=11s took=4s") {
			t.Errorf("the log has\n%s", text)
		}
	})
}

// Goal: a caller whose wait ends without an answer is not told that the server is down. Method: the backend answers later than the caller
// waits.
func TestNoAnswerIsToldAsItIs(t *testing.T) {
	t.Parallel()
	backend := unpolledFake(func(context.Context, fakebackend.Call) fakebackend.Fault {
		return fakebackend.Fault{Before: time.Minute}
	})
	play(t, backend, func(t *testing.T, leases *lease.Leases) {
		_, err := leases.TryAcquire(t.Context(), applock.AcquireRequest{Object: nightly, MaxHold: time.Hour, MaxWait: 500 * time.Millisecond})
		const want = "try to acquire job:nightly: no answer within the 500ms of max_wait: "
		if !errors.Is(err, applock.ErrUnreachable) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	})
}
