package redislock_test

import (
	"maps"
	"testing"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/redislock"
)

// Goal: a lease that nobody else wants costs a command to take it, and one to release it. Method: count them, once the server has the
// scripts.
func TestCommandsOfALease(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	client := connect(t, place)
	leases := openOn(t, place, client)
	cycle := func() {
		if err := mustAcquire(t, leases, request(customer("42"), "")).Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	cycle()
	counter := &counting{commands: map[string]int{}}
	client.AddHook(counter)
	cycle()
	if _, commands := counter.reset(); !maps.Equal(commands, map[string]int{"evalsha": 2}) {
		t.Errorf("the commands are %v, want two scripts", commands)
	}
}

// Goal: a killed program has its turn for a moment only, and no list stays for ever. Method: two are listed, and the first one's last poll
// becomes older behind its back.
func TestAKilledProgramIsForgotten(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	client, object := connect(t, place), customer("42")
	list := redislock.Keys(namespaceOf(place), object)[1]
	poll := func(backend lease.Backend) lease.PollAnswer {
		answer, err := backend.(lease.Poller).Poll(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	var second lease.Backend
	for range 2 {
		second = redislock.NewBackend(redislock.Config{Client: client, Namespace: namespaceOf(place)})
		if err := second.(lease.Announcer).Announce(t.Context(), object, applock.Owner{}, 0); err != nil {
			t.Fatal(err)
		}
		poll(second)
	}
	for range 2 {
		if answer := poll(second); len(answer.Later) != 1 {
			t.Fatalf("%+v while the first program is listed, want that it asks first", answer)
		}
		first := client.ZRange(t.Context(), list, 2, 2).Val()[0] // behind the times of the polls
		client.ZIncrBy(t.Context(), list, float64((6 * time.Second).Microseconds()), "-"+first)
	}
	if answer := poll(second); len(answer.Free) != 1 {
		t.Errorf("%+v after the first program has not polled for 12 s, want the object", answer)
	}
	if left := client.PTTL(t.Context(), list).Val(); left <= 0 || left > 10*time.Second {
		t.Errorf("the list ends in %s, want 10 s at most", left)
	}
}

// Goal: on a cluster the list of an object is on the object's server, or there is none; and no list has the key of an object. Method: names
// with and without a hash tag.
func TestAListIsBesideItsObject(t *testing.T) {
	t.Parallel()
	for name, want := range map[[2]string]string{
		{"ns", "42"}:        "ns::{ns:customer:42}customer:42",
		{"ns", "{42}7"}:     "ns::{42}customer:{42}7",
		{"ns", "{}"}:        "ns:customer:{}",
		{"ns", "4}2"}:       "ns:customer:4}2",
		{"{ns}", "42"}:      "{ns}::{ns}customer:42",
		{"{ns", "4}2"}:      "{ns:customer:4}2",
		{"ns", "{{4}2}{7}"}: "ns::{{4}customer:{{4}2}{7}",
	} {
		if keys := redislock.Keys(name[0], customer(name[1])); keys[1] != want {
			t.Errorf("the keys are %q, want the list %s", keys, want)
		}
	}
}
