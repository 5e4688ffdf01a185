// Package redislock keeps leases as keys of a Redis server: fast, without a database, by the scripts of
// github.com/bsm/redislock. A release is published, so that the next holder, in whichever program, begins at once. A key
// that has expired or was deleted is a lost lease; its holder hears of it when it is renewed, a third of its TTL later, and
// within 30 s in any case.
//
// While somebody waits in a program, the program has one more connection, which listens on the channel NAMESPACE:released.
//
// What it does not promise:
//   - It is for a single master. Replication is asynchronous: a failover can give an object to a second holder
//     while the first still has it. Locks on several masters (Redlock) are not made.
//   - Nothing is durable, unless the server is told to write and flush every change. After a restart without that,
//     all objects are free, and so they are after keys were evicted (maxmemory-policy).
//   - There is no fence (it is 0) to keep a former holder out of the data: one that was paused beyond the end of
//     its lease finds out when it goes on.
//   - Expiry is by the server's clock; what ExpiresAt tells was computed with this one's.
//
// A lock is the key NAMESPACE:TYPE:ID, with an expiry in milliseconds. Its value says who has it:
//
//	{"operator_id":"JDOE","department_id":"CS","grant":"..."}
//
// The grant is random, so that nobody else renews or releases it, and none of the scripts takes one value for
// another.
package redislock

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	bsm "github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// Config tells New where the locks are.
type Config struct {
	// Client is the caller's. Close of the leases leaves it open. Its options have ContextTimeoutEnabled: otherwise a connection that the network
	// has forgotten keeps a renewal for ReadTimeout. A renewal may meet two such connections; set ConnMaxIdleTime to less than after what time the
	// network forgets one.
	Client redis.UniversalClient
	// Namespace begins the keys, and separates locks that have nothing to do with each other: up to 64 bytes
	// without a colon. Empty is "applock".
	Namespace string
	// Logger gets what goes wrong in the background; nil logs nothing.
	Logger *slog.Logger
	// Hooks are told of the leases.
	Hooks lease.Hooks
}

const (
	defaultNamespace = "applock"
	maxNamespace     = 64

	// checkInterval is how often holders learn of a loss that no renewal tells. It is long, because it is rare that somebody
	// deletes a key, and 10,000 leases are asked for each time.
	checkInterval = 30 * time.Second
	// callLimit bounds a call, beside the limits of the client.
	callLimit = 10 * time.Second
	// attempts bounds how often an object is asked for that changes hands meanwhile.
	attempts = 3
	// batch is how many keys one round trip asks about.
	batch = 1000
	// refreshers is how many renewals are under way at a time: as many as callers of a busy program, beside whom each gets its
	// share of the connections.
	refreshers = 64
	// slackPerTTL and maxSlack are by how much a key may end before it should without being renewed for that. A
	// lease ends here by ten times as much before the key does.
	slackPerTTL = 100
	maxSlack    = 100 * time.Millisecond
)

// New returns leases on Redis. It returns ErrInvalid for a configuration that cannot be used.
func New(config Config) (*lease.Leases, error) {
	if config.Client == nil {
		return nil, fmt.Errorf("redislock: %w", &applock.InvalidError{Argument: "client", Reason: "must be given"})
	}
	if !heedsContexts(config.Client) {
		return nil, fmt.Errorf("redislock: %w", &applock.InvalidError{Argument: "client", Reason: "must have the option ContextTimeoutEnabled"})
	}
	if config.Namespace == "" {
		config.Namespace = defaultNamespace
	}
	if strings.Contains(config.Namespace, ":") || len(config.Namespace) > maxNamespace {
		return nil, fmt.Errorf("redislock: %w", &applock.InvalidError{
			Argument: "namespace", Reason: fmt.Sprintf("must have at most %d bytes, and no colon", maxNamespace),
		})
	}
	return newLeases(config, checkInterval), nil
}

// heedsContexts reports whether calls end with their contexts. Clients of other types are believed.
func heedsContexts(client redis.UniversalClient) bool {
	switch client := client.(type) {
	case *redis.Client:
		return client.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		return client.Options().ContextTimeoutEnabled
	case *redis.Ring:
		return client.Options().ContextTimeoutEnabled
	}
	return true
}

func newLeases(config Config, interval time.Duration) *lease.Leases {
	return lease.New(newBackend(config), lease.Config{
		CheckInterval: interval, Logger: config.Logger, Hooks: config.Hooks,
	})
}

func newBackend(config Config) *backend {
	once := sentOnce{Scripter: config.Client, client: config.Client}
	return &backend{
		client:    config.Client,
		locker:    bsm.New(config.Client),
		taker:     bsm.New(once),
		once:      once,
		release:   redis.NewScript(releaseScript),
		takeover:  redis.NewScript(takeOverScript),
		namespace: config.Namespace,
		locks:     map[claim]*bsm.Lock{},
	}
}

// backend is applock's, on Redis. It remembers the locks of the grants it has given: with them goes what makes
// each different from all others.
type backend struct {
	client    redis.UniversalClient
	locker    *bsm.Client
	taker     *bsm.Client
	once      sentOnce
	release   *redis.Script
	takeover  *redis.Script
	namespace string

	mutex sync.Mutex
	locks map[claim]*bsm.Lock
}

// claim is what a grant on a backend without fences is known by.
type claim struct {
	object   applock.Object
	operator string
}

func claimOf(grant applock.Grant) claim {
	return claim{object: grant.Object, operator: grant.Owner.Operator}
}

var (
	_ lease.Backend  = (*backend)(nil)
	_ lease.Poller   = (*backend)(nil)
	_ lease.Notifier = (*backend)(nil)
	_ lease.Passer   = (*backend)(nil)
)

// releaseScript is that of github.com/bsm/redislock, and tells those who wait in the same step. Nobody listening costs
// the server next to nothing.
const releaseScript = `
if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
redis.call("publish", ARGV[2], ARGV[3])
return redis.call("del", KEYS[1])`

// value is what a key has.
type value struct {
	Operator   string `json:"operator_id"`
	Department string `json:"department_id"`
	Grant      string `json:"grant"`
}

// newValue returns a text that no other one begins with.
func newValue(owner applock.Owner) (string, error) {
	text, err := json.Marshal(value{Operator: owner.Operator, Department: owner.Department, Grant: rand.Text()})
	return string(text), err
}

// key is the bytes of the object.
func (b *backend) key(object applock.Object) string { return b.namespace + ":" + object.String() }

// state is what a key has, and until when.
type state struct {
	found bool
	value string
	ttl   time.Duration
	asked time.Time
}

// owner returns who the value names, or the value itself if somebody else has written it.
func (s state) owner() applock.Owner {
	var written value
	err := json.Unmarshal([]byte(s.value), &written)
	switch {
	case s.value == "":
		return applock.Owner{Operator: "unknown"}
	case err != nil || written.Operator == "":
		return applock.Owner{Operator: s.value}
	}
	return applock.Owner{Operator: written.Operator, Department: written.Department}
}

func (s state) expiresAt() time.Time {
	if s.ttl <= 0 { // nobody has given the key an expiry
		return time.Time{}
	}
	return s.asked.Add(s.ttl).UTC()
}

func (s state) refusal(object applock.Object) *applock.HeldError {
	return &applock.HeldError{Object: object, Holder: applock.Holder{Owner: s.owner(), ExpiresAt: s.expiresAt()}}
}

// look returns the states of keys, in one round trip. The time to live comes before the value: if the value is
// that of a grant, so was the time.
func (b *backend) look(ctx context.Context, keys ...string) ([]state, error) {
	asked := time.Now()
	values := make([]*redis.StringCmd, len(keys))
	ttls := make([]*redis.DurationCmd, len(keys))
	_, err := b.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, key := range keys {
			ttls[i] = pipe.PTTL(ctx, key)
			values[i] = pipe.Get(ctx, key)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, explain(ctx, err, applock.ErrUnreachable)
	}
	states := make([]state, len(keys))
	for i := range keys {
		text, err := values[i].Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return nil, explain(ctx, err, applock.ErrUnreachable)
		}
		states[i] = state{found: err == nil, value: text, ttl: ttls[i].Val(), asked: asked}
	}
	return states, nil
}

// Get is [lease.Backend.Get].
func (b *backend) Get(
	ctx context.Context, object applock.Object, owner applock.Owner, ttl time.Duration,
) (applock.Grant, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	text, err := newValue(owner)
	if err != nil {
		return applock.Grant{}, err
	}
	grant := applock.Grant{Object: object, Owner: owner, ExpiresAt: time.Now().Add(ttl).UTC(), Outcome: applock.OutcomeAcquired}
	var holder state
	for range attempts {
		err := b.obtain(ctx, b.taker, grant, text, ttl)
		if !errors.Is(err, bsm.ErrNotObtained) {
			return grant, err
		}
		var taken bool
		holder, taken, err = b.takeOver(ctx, grant, text, ttl)
		if err != nil || taken {
			return grant, err
		}
		if holder.found {
			break
		}
	}
	return applock.Grant{}, holder.refusal(object)
}

// obtain takes an object in the way of the taker: one that is free, or has this very value.
func (b *backend) obtain(ctx context.Context, taker *bsm.Client, grant applock.Grant, text string, ttl time.Duration) error {
	lock, err := taker.Obtain(ctx, b.key(grant.Object), wholeMilliseconds(ttl), &bsm.Options{Token: text})
	switch {
	case err == nil:
		b.mutex.Lock()
		defer b.mutex.Unlock()
		lock.Client = b.locker
		b.locks[claimOf(grant)] = lock
		return nil
	case errors.Is(err, bsm.ErrNotObtained):
		return err
	}
	return explain(ctx, err, applock.ErrOutcomeUnknown)
}

// takeOverScript replaces a value by another one.
const takeOverScript = `
if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
redis.call("set", KEYS[1], ARGV[2], "px", ARGV[3])
return 1`

// takeOver ends a grant that the operator has from elsewhere, such as its crashed predecessor's, and begins a new one with
// this value. It reports whether it did, and returns what was there.
func (b *backend) takeOver(ctx context.Context, grant applock.Grant, text string, ttl time.Duration) (state, bool, error) {
	present, own, err := b.ownState(ctx, grant)
	if err != nil || !own {
		return present, false, err
	}
	err = b.obtain(ctx, b.successorOf(present.value), grant, text, ttl)
	if errors.Is(err, bsm.ErrNotObtained) { // it is somebody else's by now
		return state{}, false, nil
	}
	return present, err == nil, err
}

// successorOf returns a taker that takes an object which has this value.
func (b *backend) successorOf(former string) *bsm.Client {
	return bsm.New(successor{sentOnce: b.once, script: b.takeover, former: former})
}

// successor runs the script that replaces a value in the place of the one that takes a free object.
type successor struct {
	sentOnce

	script *redis.Script
	former string
}

// EvalSha is called with the value and the milliseconds to live as the first and the last argument.
func (s successor) EvalSha(ctx context.Context, _ string, keys []string, args ...any) *redis.Cmd {
	command := s.script.Run(ctx, s.sentOnce, keys, s.former, args[0], args[len(args)-1])
	if replaced, err := command.Bool(); err == nil && !replaced {
		command.SetErr(redis.Nil) // not obtained
	}
	return command
}

// Pass is [lease.Passer.Pass]. Nobody is told of it.
func (b *backend) Pass(ctx context.Context, grant applock.Grant, to applock.Owner, ttl time.Duration) (applock.Grant, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	former := b.lockOf(grant)
	if former == nil {
		return applock.Grant{}, fmt.Errorf("%w: %w", applock.ErrNotHeld, errGone)
	}
	text, err := newValue(to)
	if err != nil {
		return applock.Grant{}, err
	}
	next := applock.Grant{Object: grant.Object, Owner: to, ExpiresAt: time.Now().Add(ttl).UTC(), Outcome: applock.OutcomeAcquired}
	err = b.obtain(ctx, b.successorOf(former.Token()), next, text, ttl)
	switch {
	case errors.Is(err, bsm.ErrNotObtained):
		b.forget(grant, former)
		return applock.Grant{}, fmt.Errorf("%w: %w", applock.ErrNotHeld, errGone)
	case err != nil:
		return applock.Grant{}, err
	}
	b.forget(grant, former)
	return next, nil
}

// ownState returns what is there, and whether it is the operator's.
func (b *backend) ownState(ctx context.Context, grant applock.Grant) (present state, own bool, err error) {
	states, err := b.look(ctx, b.key(grant.Object))
	if err != nil {
		return state{}, false, err
	}
	return states[0], states[0].found && states[0].owner().Operator == grant.Owner.Operator, nil
}

func wholeMilliseconds(ttl time.Duration) time.Duration {
	return (ttl + time.Millisecond - 1).Truncate(time.Millisecond)
}

// Release is [lease.Backend.Release]. A grant whose Get had no answer is looked up by its operator. One that was found to be
// lost is not: the operator's grant there is a later one.
func (b *backend) Release(ctx context.Context, grant applock.Grant) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	if lock := b.lockOf(grant); lock != nil {
		err := b.releaseValue(ctx, grant.Object, lock.Token())
		if err == nil || errors.Is(err, errGone) {
			b.forget(grant, lock)
		}
		return err
	}
	if isAnswered := grant != (applock.Grant{Object: grant.Object, Owner: grant.Owner}); isAnswered {
		return fmt.Errorf("%w: %w", applock.ErrNotHeld, errGone)
	}
	present, own, err := b.ownState(ctx, grant)
	if err != nil {
		return err
	}
	if !own {
		return applock.ErrNotHeld
	}
	return b.releaseValue(ctx, grant.Object, present.value)
}

// releaseValue deletes the key of an object if it has this value.
func (b *backend) releaseValue(ctx context.Context, object applock.Object, value string) error {
	released, err := b.release.Run(ctx, b.once, []string{b.key(object)}, value, b.channel(), object.String()).Bool()
	if err != nil {
		return explain(ctx, err, applock.ErrOutcomeUnknown)
	}
	if !released {
		return fmt.Errorf("%w: %w", applock.ErrNotHeld, errGone)
	}
	return nil
}

var errGone = errors.New("the key has expired or was deleted")

// lockOf returns the lock of a grant, nil where there is none.
func (b *backend) lockOf(grant applock.Grant) *bsm.Lock {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.locks[claimOf(grant)]
}

// forget forgets the lock, unless there is a later one.
func (b *backend) forget(grant applock.Grant, lock *bsm.Lock) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	of := claimOf(grant)
	if b.locks[of] == lock {
		delete(b.locks, of)
	}
}

// Renew is [lease.Backend.Renew]. It asks for all keys at once, and renews those that would end too soon.
func (b *backend) Renew(ctx context.Context, renewals []lease.Renewal) ([]lease.Renewed, error) {
	var answers []lease.Renewed
	for some := range slices.Chunk(renewals, batch) {
		keys := make([]string, len(some))
		for i, renewal := range some {
			keys[i] = b.key(renewal.Grant.Object)
		}
		states, err := b.look(ctx, keys...)
		if err != nil {
			return answers, err
		}
		renewed, err := b.renew(ctx, some, states)
		if err != nil && len(renewals) == len(some) {
			return nil, err
		}
		answers = append(answers, renewed...)
	}
	return answers, nil
}

// renew returns what became of grants, and an error where nothing is known of any of them.
func (b *backend) renew(ctx context.Context, renewals []lease.Renewal, states []state) ([]lease.Renewed, error) {
	results, failures := make([]*lease.Renewed, len(renewals)), make([]error, len(renewals))
	busy := make(chan struct{}, refreshers)
	var group sync.WaitGroup
	for i, renewal := range renewals {
		present := states[i]
		lock := b.lockOf(renewal.Grant)
		switch {
		case lock == nil || !present.found || present.value != lock.Token():
			results[i] = &lease.Renewed{Object: renewal.Grant.Object, Lost: lossOf(renewal.Grant, present)}
			b.forget(renewal.Grant, lock)
		case present.ttl >= renewal.TTL-min(renewal.TTL/slackPerTTL, maxSlack):
			results[i] = &lease.Renewed{Object: renewal.Grant.Object, ExpiresAt: present.expiresAt()}
		default:
			busy <- struct{}{}
			group.Go(func() {
				results[i], failures[i] = b.refresh(ctx, renewal, lock)
				<-busy
			})
		}
	}
	group.Wait()
	var answers []lease.Renewed
	for _, result := range results {
		if result != nil {
			answers = append(answers, *result)
		}
	}
	if len(answers) == 0 {
		return nil, cmp.Or(failures...)
	}
	return answers, nil
}

// lossOf says why a grant is lost that is not what is there.
func lossOf(grant applock.Grant, present state) error {
	if !present.found || present.owner().Operator == grant.Owner.Operator {
		return errGone
	}
	return present.refusal(grant.Object)
}

// refresh renews a grant. After an error it is not known what became of it.
func (b *backend) refresh(ctx context.Context, renewal lease.Renewal, lock *bsm.Lock) (*lease.Renewed, error) {
	object := renewal.Grant.Object
	asked := time.Now()
	err := lock.Refresh(ctx, wholeMilliseconds(renewal.TTL), nil)
	switch {
	case err == nil:
		return &lease.Renewed{Object: object, ExpiresAt: asked.Add(renewal.TTL).UTC()}, nil
	case errors.Is(err, bsm.ErrNotObtained):
		b.forget(renewal.Grant, lock)
		return &lease.Renewed{Object: object, Lost: errGone}, nil
	}
	return nil, explain(ctx, err, applock.ErrOutcomeUnknown)
}

// Poll is [lease.Poller.Poll].
func (b *backend) Poll(ctx context.Context, waited iter.Seq[applock.Object]) (answer lease.PollAnswer, err error) {
	const noKey = -2 // the server's answer
	for some := range slices.Chunk(slices.Collect(waited), batch) {
		ttls := make([]*redis.DurationCmd, len(some))
		_, err := b.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for i, object := range some {
				ttls[i] = pipe.PTTL(ctx, b.key(object))
			}
			return nil
		})
		if err != nil {
			return lease.PollAnswer{}, explain(ctx, err, applock.ErrUnreachable)
		}
		for i, object := range some {
			ttl := ttls[i].Val()
			switch {
			case ttl == noKey:
				answer.Free = append(answer.Free, object)
			case ttl > 0 && (answer.Next == 0 || ttl < answer.Next):
				answer.Next = ttl
			}
		}
	}
	return answer, nil
}

// channel is where releases are published.
func (b *backend) channel() string { return b.namespace + ":released" }

// Listen is [lease.Notifier.Listen].
func (b *backend) Listen(ctx context.Context) (lease.Listener, error) {
	subscription := b.client.Subscribe(ctx, b.channel())
	if _, err := subscription.Receive(ctx); err != nil { // the server's word that it has begun
		return nil, errors.Join(err, subscription.Close())
	}
	return releases{subscription: subscription, messages: subscription.Channel()}, nil
}

// releases is [lease.Listener].
type releases struct {
	subscription *redis.PubSub
	// messages goes on after a lost connection. Those that were sent meanwhile are lost, which a poll makes up for.
	messages <-chan *redis.Message
}

func (r releases) Next(ctx context.Context) (lease.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return lease.Message{}, context.Cause(ctx)
		case message, open := <-r.messages:
			if !open {
				return lease.Message{}, redis.ErrClosed
			}
			if object, err := applock.ParseObject(message.Payload); err == nil {
				return lease.Message{Object: object}, nil
			}
		}
	}
}

func (r releases) Close() error { return r.subscription.Close() }
