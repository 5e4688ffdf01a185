package reading

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// reads is a shared read that takes a second and counts how often it is run.
type reads struct {
	shared *Shared[string, int]
	number int
	err    error
}

func newReads(age time.Duration) *reads {
	return &reads{shared: NewShared[string, int](age, time.Hour)}
}

func (r *reads) get(ctx context.Context, key string, known bool) (int, error) {
	return r.shared.Get(ctx, key, known, func(context.Context) (int, error) {
		r.number++
		number, err := r.number, r.err
		time.Sleep(time.Second)
		return number, err
	})
}

// Goal: a read serves those who asked before it began, and those who are content with an old one; a reload never gets what was read
// before it. Method: reads that take a second, in a time of the test's own.
func TestSharedRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReads(2 * time.Second)
		later := func(known bool, want int) {
			go func() {
				if got, err := r.get(t.Context(), "a", known); got != want || err != nil {
					t.Errorf("known %t: %d, %v, want %d", known, got, err, want)
				}
			}()
			time.Sleep(10 * time.Millisecond)
		}
		later(false, 1)
		for range 10 {
			later(true, 1)
			later(false, 2) // the first read had begun before
		}
		time.Sleep(4500 * time.Millisecond)
		later(true, 2) // which took a second: four more it is good for
		time.Sleep(time.Second)
		later(true, 3)
		synctest.Wait()
		time.Sleep(10 * time.Second)
		if r.number != 3 {
			t.Errorf("%d reads", r.number)
		}
	})
}

// Goal: who leaves keeps nobody waiting, an error serves those who waited for it only, a panic keeps nobody waiting, and what is kept
// has an end. Method: reads of each kind.
func TestSharedReadFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReads(time.Hour)
		r.err = io.EOF
		for range 3 {
			go func() {
				if _, err := r.get(t.Context(), "a", true); !errors.Is(err, io.EOF) {
					t.Errorf("error %v", err)
				}
			}()
		}
		time.Sleep(time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := r.get(ctx, "a", true); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who leaves gets %v", err)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		r.err = nil
		if got, err := r.get(t.Context(), "a", true); got != 2 || err != nil {
			t.Errorf("after an error: %d, %v", got, err)
		}
		go func() {
			defer func() { _ = recover() }()
			_, _ = r.shared.Get(t.Context(), "b", true, func(context.Context) (int, error) { time.Sleep(time.Second); panic("b") })
		}()
		time.Sleep(time.Millisecond)
		if _, err := r.get(t.Context(), "b", true); !errors.Is(err, errReadFailed) {
			t.Errorf("beside a panic: %v", err)
		}
		for i := range 3 * sharedMost {
			_, _ = r.get(t.Context(), fmt.Sprint(i), true)
		}
		if got := len(r.shared.results); got > sharedMost {
			t.Errorf("%d results are kept", got)
		}
	})
}

// Goal: a filter that is set is a chip, whose link is the list without it; filters asked for most are offered. Method: the links of a list.
func TestChips(t *testing.T) {
	t.Parallel()
	f, err := filterOf(url.Values{"within": {"1h"}, "department": {" Billing "}, "waiting": {"1"}, "sort": {"-left"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, chip := range f.Chips() {
		got = append(got, chip.Value+" "+chip.Address)
	}
	want := []string{"Billing locks?sort=-left&waiting=1&within=1h", " locks?department=Billing&sort=-left&within=1h", "1h locks?department=Billing&sort=-left&waiting=1"}
	if !slices.Equal(got, want) {
		t.Errorf("the chips are %q", got)
	}
	ending := filter{parameters: parameters{url.Values{"within": {today}, "offset": {"540"}, "sort": {byLeft}}}}
	if chips := ending.Chips(); len(chips) != 1 || chips[0] != (chip{Label: "chip.today", Address: "locks?sort=left"}) {
		t.Errorf("the chip of today is %v", chips)
	}
	if offers := f.Offers(); len(offers) != 1 || offers[0].Address != "locks?department=Billing&older=7d&sort=-left&waiting=1&within=1h" {
		t.Errorf("the offers are %v", offers)
	}
}

// Goal: what ends today ends before midnight of the reader's zone. Method: a moment in several zones.
func TestToday(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 22, 30, 0, 0, time.UTC)
	for offset, want := range map[string]time.Duration{"": 90 * time.Minute, "0": 90 * time.Minute, "60": 30 * time.Minute, "540": 16*time.Hour + 30*time.Minute, "-300": 6*time.Hour + 30*time.Minute} {
		if left, err := untilMidnight(now, offset); left != want || err != nil {
			t.Errorf("%q: %v left, %v", offset, left, err)
		}
	}
	if left, err := untilMidnight(now, "90"); left != 24*time.Hour || err != nil {
		t.Errorf("at midnight %v is left, %v", left, err)
	}
	for _, offset := range []string{"x", "100000"} {
		if _, err := untilMidnight(now, offset); err == nil {
			t.Errorf("%q is no offset", offset)
		}
	}
}
