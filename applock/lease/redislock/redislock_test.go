package redislock_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/redislock"
)

func customer(id string) applock.Object { return applock.Object{Type: "customer", ID: id} }

func request(object applock.Object, operator string) applock.AcquireRequest {
	return applock.AcquireRequest{Object: object, Owner: applock.Owner{Operator: operator}, MaxHold: time.Minute}
}

// mustOpen returns leases on a client of their own.
func mustOpen(t testing.TB, place string) *lease.Leases {
	t.Helper()
	return openOn(t, place, connect(t, place))
}

func openOn(t testing.TB, place string, client *redis.Client) *lease.Leases {
	t.Helper()
	return openChecking(t, place, client, time.Second)
}

func openChecking(t testing.TB, place string, client *redis.Client, interval time.Duration) *lease.Leases {
	t.Helper()
	namespace, _ := split(place)
	leases := redislock.NewChecking(redislock.Config{Client: client, Namespace: namespace}, interval)
	t.Cleanup(func() { _ = leases.Close() })
	return leases
}

func mustAcquire(t testing.TB, leases *lease.Leases, request applock.AcquireRequest) applock.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	lease, err := leases.Acquire(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func requireLost(t testing.TB, lease applock.Lease) {
	t.Helper()
	select {
	case <-lease.Context().Done():
	case <-time.After(time.Minute):
		t.Fatal("the context of a lost lease has not ended")
	}
	if cause := context.Cause(lease.Context()); !errors.Is(cause, applock.ErrLost) {
		t.Fatalf("the context ended with %v, want ErrLost", cause)
	}
}

func requireKeys(t testing.TB, place string, want int64, objects ...applock.Object) {
	t.Helper()
	var keys []string
	for _, object := range objects {
		keys = append(keys, keyOf(place, object))
	}
	if got, err := connect(t, place).Exists(t.Context(), keys...).Result(); err != nil || got != want {
		t.Errorf("%d of the keys are there, %v, want %d", got, err, want)
	}
}

// Goal: the key is the bytes of the object, and its value tells a reader who has it; a control character is refused, as in a
// database. Method: read it as anybody would.
func TestKeyAndValue(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	object := applock.Object{Type: "Küche {x}", ID: " a:b*?[\\]\"🔒"}
	owner := applock.Owner{Operator: `JDOE"}`, Department: "<CS> & co"}
	lease := mustAcquire(t, mustOpen(t, place), applock.AcquireRequest{Object: object, Owner: owner, MaxHold: time.Minute})
	text, err := connect(t, place).Get(t.Context(), keyOf(place, object)).Result()
	if err != nil {
		t.Fatal(err)
	}
	var value map[string]string
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	if value["operator_id"] != owner.Operator || value["department_id"] != owner.Department || len(value["grant"]) < 20 || len(value) != 3 {
		t.Errorf("the value is %s", text)
	}
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
	requireKeys(t, place, 0, object)
	object.ID += "\r\n"
	refused := applock.AcquireRequest{Object: object, Owner: owner, MaxHold: time.Minute}
	if _, err := mustOpen(t, place).Acquire(t.Context(), refused); !errors.Is(err, applock.ErrInvalid) {
		t.Errorf("a line break in an id: %v, want ErrInvalid", err)
	}
	requireKeys(t, place, 0, object)
}

// Goal: a refusal says who has the object, and until when. Method: holders of this package, with some of the time
// gone, and keys that others have written.
func TestRefusal(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	client := connect(t, place)
	mustAcquire(t, mustOpen(t, place), applock.AcquireRequest{
		Object: customer("1"), Owner: applock.Owner{Operator: "JDOE", Department: "CS"}, MaxHold: time.Hour,
	})
	if err := client.PExpire(t.Context(), keyOf(place, customer("1")), 90*time.Second).Err(); err != nil {
		t.Fatal(err)
	}
	for id, value := range map[string]string{"2": "", "3": "somebody", "4": "{}", "5": `"JDOE"`} {
		if err := client.Set(t.Context(), keyOf(place, customer(id)), value, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	leases := mustOpen(t, place)
	wanted := map[string]applock.Owner{
		"1": {Operator: "JDOE", Department: "CS"},
		"2": {Operator: "unknown"}, "3": {Operator: "somebody"}, "4": {Operator: "{}"}, "5": {Operator: `"JDOE"`},
	}
	for id, want := range wanted {
		_, err := leases.TryAcquire(t.Context(), request(customer(id), ""))
		var held *applock.HeldError
		if !errors.As(err, &held) || held.Object != customer(id) || held.Holder.Owner != want {
			t.Errorf("try to acquire %s: %v, want it to be held by %s", id, err, want)
			continue
		}
		left := time.Until(held.Holder.ExpiresAt)
		if id == "1" && (left < 80*time.Second || left > 90*time.Second) || id != "1" && !held.Holder.ExpiresAt.IsZero() {
			t.Errorf("%s is held for %s", id, left)
		}
	}
}

// Goal: nobody gets what an operator of a similar name has. Method: names that begin with each other, and such as
// end the text of a value early.
func TestSimilarOperators(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	operators := []string{"JDOE", "JDOE2", "J", `JDOE"`, `JDOE","department_id":"`, `{"operator_id":"JDOE`, "jdoe"}
	for _, holder := range operators {
		lease := mustAcquire(t, mustOpen(t, place), request(customer("42"), holder))
		for _, stranger := range operators {
			if stranger == holder {
				continue
			}
			_, err := mustOpen(t, place).TryAcquire(t.Context(), request(customer("42"), stranger))
			var held *applock.HeldError
			if !errors.As(err, &held) || held.Holder.Owner.Operator != holder {
				t.Errorf("%s has it, and %s: %v", holder, stranger, err)
			}
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// Goal: a given operator takes over its own grant from elsewhere, such as its crashed predecessor's, and that one is lost;
// nobody ends a grant that is not the one they had. Method: two clients of one operator, which take turns.
func TestTheSameOperator(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	predecessor, successor := mustOpen(t, place), mustOpen(t, place)
	first := mustAcquire(t, predecessor, request(customer("42"), "nightly"))
	second := mustAcquire(t, successor, request(customer("42"), "nightly"))
	if err := first.Renew(t.Context()); !errors.Is(err, applock.ErrLost) {
		t.Errorf("renewal of a grant that was taken over: %v, want ErrLost", err)
	}
	requireKeys(t, place, 1, customer("42"))
	if err := second.Release(t.Context()); err != nil {
		t.Error(err)
	}
	requireKeys(t, place, 0, customer("42"))
	requireLost(t, first)
	third := mustAcquire(t, predecessor, request(customer("42"), "nightly"))
	fourth := mustAcquire(t, successor, request(customer("42"), "nightly"))
	if err := third.Release(t.Context()); !errors.Is(err, applock.ErrLost) {
		t.Errorf("release of a grant that was taken over: %v, want ErrLost", err)
	}
	requireKeys(t, place, 1, customer("42"))
	if err := fourth.Release(t.Context()); err != nil {
		t.Error(err)
	}
}

// counting counts the commands of a client, by name, and how often it has asked for keys.
type counting struct {
	mutex    sync.Mutex
	commands map[string]int
	trips    int // of polls
	dialed   atomic.Int64
}

func (c *counting) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c.dialed.Add(1)
		return next(ctx, network, addr)
	}
}

func (c *counting) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		c.count(command)
		return next(ctx, command)
	}
}

func (c *counting) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		c.count(commands...)
		if isPoll(commands) {
			c.mutex.Lock()
			c.trips++
			c.mutex.Unlock()
		}
		return next(ctx, commands)
	}
}

func isPoll(pipeline []redis.Cmder) bool { return pipeline[0].Name() == "eval" }

func (c *counting) count(commands ...redis.Cmder) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, command := range commands {
		c.commands[command.Name()]++
	}
}

func (c *counting) reset() (trips int, commands map[string]int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	trips, commands = c.trips, c.commands
	c.trips, c.commands = 0, map[string]int{}
	return trips, commands
}

// await waits for that many round trips, and returns them.
func (c *counting) await(wanted int) (trips int, commands map[string]int) {
	for {
		c.mutex.Lock()
		trips, commands = c.trips, maps.Clone(c.commands)
		c.mutex.Unlock()
		if trips >= wanted {
			return trips, commands
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// silentPolls keeps polls from the server, once they are silenced, until the test ends.
type silentPolls struct {
	counting

	silenced chan struct{}
	over     <-chan struct{}
}

func (s *silentPolls) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	next = s.counting.ProcessPipelineHook(next)
	return func(ctx context.Context, commands []redis.Cmder) error {
		select {
		case <-s.silenced:
			if isPoll(commands) {
				<-s.over
			}
		default:
		}
		return next(ctx, commands)
	}
}

// Goal: a waiter in another program learns of a release by its message, and not by a poll. Method: once the waiter has begun to poll, no
// poll is answered any more.
func TestAReleaseIsPublished(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	held := mustAcquire(t, mustOpen(t, place), request(customer("42"), ""))
	client := connect(t, place)
	polls := &silentPolls{
		counting: counting{commands: map[string]int{}}, silenced: make(chan struct{}), over: t.Context().Done(),
	}
	client.AddHook(polls)
	waiting := openOn(t, place, client)
	granted := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := waiting.Acquire(ctx, request(customer("42"), ""))
		granted <- err
	}()
	for channel := namespaceOf(place) + ":released"; ; {
		listening, err := connect(t, place).PubSubNumSub(t.Context(), channel).Result()
		if err != nil {
			t.Fatal(err)
		}
		if listening[channel] == 1 {
			break
		}
	}
	polls.await(2)
	close(polls.silenced)
	if err := held.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-granted; err != nil {
		t.Error(err)
	}
}

// granted returns a backend with grants of an hour, and their renewals.
func granted(t *testing.T, place string, client *redis.Client, grants int, ttl time.Duration) (lease.Backend, []lease.Renewal) {
	t.Helper()
	namespace, _ := split(place)
	backend := redislock.NewBackend(redislock.Config{Client: client, Namespace: namespace})
	renewals := make([]lease.Renewal, grants)
	for i := range renewals {
		grant, err := backend.Get(t.Context(), customer(fmt.Sprint(i)), applock.Owner{Operator: "JDOE"}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		renewals[i] = lease.Renewal{Grant: grant, TTL: ttl}
	}
	return backend, renewals
}

// Goal: renewing or checking a hundred grants takes one call, from the first on, on a connection that there is already; a check changes no
// key. Method: count the calls and the connections.
func TestRenewalIsOneCall(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	client := connect(t, place)
	backend, renewals := granted(t, place, client, 100, time.Minute)
	counter := &counting{commands: map[string]int{}}
	client.AddHook(counter)
	mustRenew := func(want time.Duration) {
		counter.reset()
		answers, err := backend.Renew(t.Context(), renewals)
		if err != nil || len(answers) != len(renewals) || answers[7].Lost != nil || time.Until(answers[7].ExpiresAt).Round(time.Hour) != want {
			t.Fatalf("%d answers, %v, the eighth is %+v, want one until in %s", len(answers), err, answers[7], want)
		}
		if dialed := counter.dialed.Load(); dialed != 0 {
			t.Errorf("%d new connections", dialed)
		}
		if _, commands := counter.reset(); !maps.Equal(commands, map[string]int{"eval": 1}) {
			t.Errorf("the calls are %v, want one", commands)
		}
		ends := client.PTTL(t.Context(), keyOf(place, customer("7"))).Val()
		if ends.Round(time.Hour) != want {
			t.Errorf("the key ends in %s, want %s", ends, want)
		}
	}
	mustRenew(time.Hour)
	renewals[7].TTL = 2 * time.Hour
	mustRenew(2 * time.Hour)
}

// Goal: a key that others have written ends the grant of its object, and no other one; it stays as it is. Method: a list, and an empty text,
// for grants that the backend has and has not.
func TestKeysOfOthersAreNotRenewed(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	client := connect(t, place)
	backend, renewals := granted(t, place, client, 3, 2*time.Hour)
	list, empty := keyOf(place, customer("0")), keyOf(place, customer("1"))
	client.Del(t.Context(), list)
	client.LPush(t.Context(), list, "entry")
	client.Set(t.Context(), empty, "", time.Hour)
	for _, round := range []string{"known", "forgotten"} {
		answers, err := backend.Renew(t.Context(), renewals)
		if err != nil || answers[0].Lost == nil || answers[1].Lost == nil || answers[2].Lost != nil {
			t.Errorf("%s: %+v, %v, want two that are lost, and one that is not", round, answers, err)
		}
	}
	if ends := client.PTTL(t.Context(), empty).Val(); ends > time.Hour {
		t.Errorf("the key of others ends in %s, want an hour at most", ends)
	}
	if entries, err := client.LLen(t.Context(), list).Result(); err != nil || entries != 1 {
		t.Errorf("the list has %d entries, %v, want one", entries, err)
	}
}

// Goal: a key never ends before its lease, and no key gets a time to live of 0 ms, which would delete it. Method: the bounds.
func TestWholeMilliseconds(t *testing.T) {
	t.Parallel()
	for ttl, want := range map[time.Duration]time.Duration{
		time.Nanosecond:      time.Millisecond,
		time.Millisecond:     time.Millisecond,
		time.Millisecond + 1: 2 * time.Millisecond,
		time.Hour:            time.Hour,
	} {
		if got := redislock.WholeMilliseconds(ttl); got != want {
			t.Errorf("%s becomes %s, want %s", ttl, got, want)
		}
	}
}

// unanswered loses the answer of the next script.
type unanswered struct{ next atomic.Bool }

func (u *unanswered) DialHook(next redis.DialHook) redis.DialHook { return next }

func (u *unanswered) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (u *unanswered) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		err := next(ctx, command)
		if command.Name() == "evalsha" && u.next.CompareAndSwap(true, false) {
			err = io.ErrUnexpectedEOF
			command.SetErr(err)
		}
		return err
	}
}

// Goal: a call whose answer is lost leaves nothing behind, unless the operator may have had the lock before; and
// it says that the outcome is unknown. Method: lose an answer, each on a client of its own, because what is given back in the
// background is a script, too.
func TestALostAnswer(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	for id, operator := range map[string]string{"1": "", "2": "nightly"} {
		client := connect(t, place)
		hook := &unanswered{}
		client.AddHook(hook)
		leases := openOn(t, place, client)
		if err := mustAcquire(t, leases, request(customer("0"), "")).Release(t.Context()); err != nil { // the server has the scripts
			t.Fatal(err)
		}
		hook.next.Store(true)
		if _, err := leases.TryAcquire(t.Context(), request(customer(id), operator)); !errors.Is(err, applock.ErrOutcomeUnknown) {
			t.Errorf("try to acquire: %v, want ErrOutcomeUnknown", err)
		}
	}
	lease := mustAcquire(t, mustOpen(t, place), request(customer("1"), ""))
	if err := lease.Release(t.Context()); err != nil {
		t.Error(err)
	}
	requireKeys(t, place, 1, customer("2"))
	if err := mustAcquire(t, mustOpen(t, place), request(customer("2"), "nightly")).Release(t.Context()); err != nil {
		t.Error(err)
	}
	requireKeys(t, place, 0, customer("1"), customer("2"))
}

// Goal: a refusal by the server is an error with a known outcome. Method: a key of another kind; no server.
func TestErrors(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	if err := connect(t, place).RPush(t.Context(), keyOf(place, customer("list")), "x").Err(); err != nil {
		t.Fatal(err)
	}
	_, err := mustOpen(t, place).TryAcquire(t.Context(), request(customer("list"), ""))
	if err == nil || errors.Is(err, applock.ErrHeld) || errors.Is(err, applock.ErrOutcomeUnknown) {
		t.Errorf("try to acquire a list: %v", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nowhere := redis.NewClient(&redis.Options{Addr: listener.Addr().String(), ContextTimeoutEnabled: true})
	defer nowhere.Close()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = openOn(t, place, nowhere).TryAcquire(t.Context(), request(customer("1"), ""))
	if err == nil || errors.Is(err, applock.ErrHeld) || errors.Is(err, applock.ErrOutcomeUnknown) {
		t.Errorf("try to acquire without a server: %v", err)
	}
}

// Goal: Close leaves the caller's client open. Method: use it afterwards.
func TestTheClientStaysOpen(t *testing.T) {
	t.Parallel()
	place := newPlace(t)
	client := connect(t, place)
	leases := openOn(t, place, client)
	mustAcquire(t, leases, request(customer("42"), ""))
	_ = leases.Close()
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
	requireKeys(t, place, 0, customer("42"))
}

// Goal: a bad configuration is refused. Method: what is missing, clients that heed no contexts, and the bounds of a namespace.
func TestBadConfig(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{ContextTimeoutEnabled: true})
	defer client.Close()
	long := strings.Repeat("x", 64)
	if _, err := redislock.New(redislock.Config{Client: client, Namespace: long}); err != nil {
		t.Error(err)
	}
	single := redis.NewClient(&redis.Options{})
	cluster := redis.NewClusterClient(&redis.ClusterOptions{})
	ring := redis.NewRing(&redis.RingOptions{})
	defer func() { _ = errors.Join(single.Close(), cluster.Close(), ring.Close()) }()
	bad := map[string][]redislock.Config{
		"client":    {{}, {Client: single}, {Client: cluster}, {Client: ring}},
		"namespace": {{Client: client, Namespace: "a:b"}, {Client: client, Namespace: long + "x"}},
	}
	for argument, configs := range bad {
		for _, config := range configs {
			var invalid *applock.InvalidError
			if _, err := redislock.New(config); !errors.As(err, &invalid) || invalid.Argument != argument {
				t.Errorf("new: %v, want %s to be refused", err, argument)
			}
		}
	}
}

// A webhook handler that charges once: the holder of the event's lease does, and the others wait for it.
func Example() {
	client := redis.NewClient(&redis.Options{Addr: "redis.example.org:6379", ContextTimeoutEnabled: true})
	defer func() { _ = client.Close() }()
	if err := handle(context.Background(), client, "evt_42"); err != nil {
		log.Fatal(err)
	}
}

func handle(ctx context.Context, client redis.UniversalClient, event string) error {
	leases, err := redislock.New(redislock.Config{Client: client, Namespace: "webhooks"})
	if err != nil {
		return err
	}
	defer func() { _ = leases.Close() }()
	request := applock.AcquireRequest{
		Object:  applock.Object{Type: "event", ID: event},
		MaxHold: time.Minute,
		TTL:     5 * time.Second, // after a crash the next one tries
	}
	return leases.Do(ctx, request, func(ctx context.Context, _ applock.Lease) error {
		return charge(ctx, event)
	})
}

func charge(ctx context.Context, _ string) error { return ctx.Err() }

// Goal: the example works. Method: run it on a server.
func TestExample(t *testing.T) {
	t.Parallel()
	if err := handle(t.Context(), connect(t, newPlace(t)), newPlace(t)[:20]); err != nil {
		t.Error(err)
	}
}
