// Package redislock keeps leases as keys of a Redis server: fast, without a database, taken by the script of github.com/bsm/redislock. A release
// is published, so that the next holder in any program begins at once. A lease is lost if its key has expired or was deleted. Its holder
// learns of that at the next renewal, after a third of its TTL, and within 30 s in any case.
//
// A program with waiters has two more connections: one listens on the channel NAMESPACE:released, and polls have go-redis' one for pipelines.
// Its polls list it for each object that it waits for, in the sorted set NAMESPACE::{NAMESPACE:TYPE:ID}TYPE:ID. A release names the program
// that has been listed longest, which asks first. A program that was killed is forgotten 10 s after its last poll.
//
// What it does not promise:
//   - It is for a single master. Replication is asynchronous: after a failover a second holder can get an object while the first still has
//     it. Locks on several masters (Redlock) are not supported.
//   - Nothing is durable, unless the server writes and flushes every change. Without that, all objects are free after a restart. They are
//     also free after their keys were evicted (maxmemory-policy).
//   - There is no fence (it is 0) to keep a former holder's writes out. A holder that was paused beyond the end of its lease learns of the
//     loss only when it runs again.
//   - The server's clock decides about expiry; ExpiresAt is computed with this machine's.
//
// A lock is the key NAMESPACE:TYPE:ID, with an expiry in milliseconds. Its value names the holder:
//
//	{"operator_id":"JDOE","department_id":"CS","grant":"..."}
//
// The grant is random, so that no other caller renews or releases it. No value is a prefix of another, so that no script confuses two
// values.
package redislock

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
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

// Config says where the locks are.
type Config struct {
	// Client is the caller's, and stays open after Close of the leases. Its options must have ContextTimeoutEnabled: otherwise a connection
	// that the network has dropped blocks a renewal for ReadTimeout. A lease outlives four such connections. Set ConnMaxIdleTime to less than
	// the time after which the network drops one.
	Client redis.UniversalClient
	// Namespace is the prefix of the keys, and separates independent locks: up to 64 bytes without a colon. Empty is "applock".
	Namespace string
	// Logger gets errors from the background; nil logs nothing.
	Logger *slog.Logger
	// Hooks observe the leases.
	Hooks lease.Hooks
}

const (
	defaultNamespace = "applock"
	maxNamespace     = 64

	// checkInterval is how often leases are checked for a loss that no renewal finds. It is long, because deleted keys are rare and a check
	// asks for every lease.
	checkInterval = 30 * time.Second
	// callLimit limits a call, in addition to the client's limits.
	callLimit = 10 * time.Second
	// attempts limits how often a call retries an object that changes hands meanwhile.
	attempts = 3
	// batch is how many keys one round trip asks about.
	batch = 1000
	// renewedAtOnce is how many keys one script renews or polls: few enough to keep no other client waiting for a millisecond.
	renewedAtOnce = 100
	// renewers is the number of concurrent renewals: as many as the callers of a busy program, so that renewals get their share of the
	// connections.
	renewers = 64
	// slackPerTTL and maxSlack limit by how much a key may end too early before it needs a renewal. The holder's trust ends ten times as much
	// before the key does.
	slackPerTTL = 100
	maxSlack    = 100 * time.Millisecond
)

// New returns leases on Redis. It returns ErrInvalid for an invalid configuration.
func New(config Config) (*lease.Leases, error) {
	invalid := func(argument, reason string) (*lease.Leases, error) {
		return nil, fmt.Errorf("redislock: %w", &applock.InvalidError{Argument: argument, Reason: reason})
	}
	config.Namespace = cmp.Or(config.Namespace, defaultNamespace)
	switch {
	case config.Client == nil:
		return invalid("client", "must be given")
	case !heedsContexts(config.Client):
		return invalid("client", "must have the option ContextTimeoutEnabled")
	case strings.Contains(config.Namespace, ":") || len(config.Namespace) > maxNamespace:
		return invalid("namespace", fmt.Sprintf("must have at most %d bytes, and no colon", maxNamespace))
	}
	return newLeases(config, checkInterval), nil
}

// heedsContexts reports whether the client's calls end with their contexts. For an unknown type of client it says yes.
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
		taker:     bsm.New(once),
		once:      once,
		release:   redis.NewScript(releaseScript),
		replacing: redis.NewScript(replaceScript),
		namespace: config.Namespace,
		program:   rand.Text(),
		values:    map[claim]string{},
		waiters:   map[applock.Object]map[string]bool{},
	}
}

// backend is a lease.Backend on Redis. It keeps the value of each of its grants.
type backend struct {
	client    redis.UniversalClient
	taker     *bsm.Client
	once      sentOnce
	release   *redis.Script
	replacing *redis.Script
	namespace string
	// program distinguishes this program from others in the lists of those that wait.
	program string

	mutex  sync.Mutex
	values map[claim]string
	// waiters are the announced ones: the operators for each object.
	waiters map[applock.Object]map[string]bool
}

// claim identifies a grant without a fence.
type claim struct {
	object   applock.Object
	operator string
}

func claimOf(grant applock.Grant) claim {
	return claim{object: grant.Object, operator: grant.Owner.Operator}
}

var (
	_ lease.Backend   = (*backend)(nil)
	_ lease.Poller    = (*backend)(nil)
	_ lease.Announcer = (*backend)(nil)
	_ lease.Crowd     = (*backend)(nil)
	_ lease.Notifier  = (*backend)(nil)
	_ lease.Passer    = (*backend)(nil)
)

// releaseScript is that of github.com/bsm/redislock, and publishes the release in the same step, with the program that has been listed
// longest, but not for a waiter that has the object by now. Without listeners that costs the server almost nothing.
const releaseScript = `
if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
local message = ARGV[3]
if KEYS[2] ~= KEYS[1] then
	local first = redis.call("zrangebyscore", KEYS[2], 0, "inf", "limit", 0, 1)[1]
	if first and first == ARGV[4] then
		redis.call("zrem", KEYS[2], first, "-" .. first)
		first = redis.call("zrangebyscore", KEYS[2], 0, "inf", "limit", 0, 1)[1]
	end
	if first then message = message .. "\n" .. first end
end
redis.call("publish", ARGV[2], message)
return redis.call("del", KEYS[1])`

type value struct {
	Operator   string `json:"operator_id"`
	Department string `json:"department_id"`
	Grant      string `json:"grant"`
}

// newValue returns a text that is not a prefix of any other.
func newValue(owner applock.Owner) (string, error) {
	text, err := json.Marshal(value{Operator: owner.Operator, Department: owner.Department, Grant: rand.Text()})
	return string(text), err
}

func (b *backend) key(object applock.Object) string { return b.namespace + ":" + object.String() }

type state struct {
	found bool
	value string
	ttl   time.Duration
	asked time.Time
}

// owner returns the owner in the value, or the value itself if another program has written it.
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
	if s.ttl <= 0 { // the key has no expiry
		return time.Time{}
	}
	return s.asked.Add(s.ttl).UTC()
}

func (s state) refusal(object applock.Object) *applock.HeldError {
	return &applock.HeldError{Object: object, Holder: applock.Holder{Owner: s.owner(), ExpiresAt: s.expiresAt()}}
}

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
		err := b.obtain(ctx, grant, text, ttl)
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

// obtain takes an object that is free.
func (b *backend) obtain(ctx context.Context, grant applock.Grant, text string, ttl time.Duration) error {
	_, err := b.taker.Obtain(ctx, b.key(grant.Object), wholeMilliseconds(ttl), &bsm.Options{Token: text})
	switch {
	case err == nil:
		b.remember(grant, text)
		return nil
	case errors.Is(err, bsm.ErrNotObtained):
		return err
	}
	return explain(ctx, err, applock.ErrOutcomeUnknown)
}

const replaceScript = `
if redis.call("get", KEYS[1]) ~= ARGV[1] then return 0 end
redis.call("set", KEYS[1], ARGV[2], "px", ARGV[3])
return 1`

// replace ends the grant with the former value, and begins this one.
func (b *backend) replace(ctx context.Context, former string, grant applock.Grant, text string, ttl time.Duration) error {
	err := b.change(ctx, b.replacing, grant.Object, former, text, wholeMilliseconds(ttl).Milliseconds())
	if err == nil {
		b.remember(grant, text)
	}
	return err
}

// takeOver ends an earlier grant of the operator, such as that of its crashed predecessor, and begins a new one with this value. It reports
// whether it did, and returns the earlier state.
func (b *backend) takeOver(ctx context.Context, grant applock.Grant, text string, ttl time.Duration) (state, bool, error) {
	present, own, err := b.ownState(ctx, grant)
	if err != nil || !own {
		return present, false, err
	}
	err = b.replace(ctx, present.value, grant, text, ttl)
	if errors.Is(err, errGone) { // another operator has it by now
		return state{}, false, nil
	}
	return present, err == nil, err
}

// Pass is [lease.Passer.Pass]. It publishes nothing.
func (b *backend) Pass(ctx context.Context, grant applock.Grant, to applock.Owner, ttl time.Duration) (applock.Grant, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	former := b.valueOf(grant)
	if former == "" {
		return applock.Grant{}, fmt.Errorf("%w: %w", applock.ErrNotHeld, errGone)
	}
	text, err := newValue(to)
	if err != nil {
		return applock.Grant{}, err
	}
	next := applock.Grant{Object: grant.Object, Owner: to, ExpiresAt: time.Now().Add(ttl).UTC(), Outcome: applock.OutcomeAcquired}
	err = b.replace(ctx, former, next, text, ttl)
	if err == nil || errors.Is(err, errGone) {
		b.forget(grant, former)
	}
	return next, err
}

// ownState returns the present state, and whether it is the operator's. It reads the time to live before the value: if the value is a
// grant's, so was the time.
func (b *backend) ownState(ctx context.Context, grant applock.Grant) (present state, own bool, err error) {
	key, asked := b.key(grant.Object), time.Now()
	var ttl *redis.DurationCmd
	var text *redis.StringCmd
	_, err = b.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		ttl, text = pipe.PTTL(ctx, key), pipe.Get(ctx, key)
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return state{}, false, explain(ctx, err, applock.ErrUnreachable)
	}
	present = state{found: err == nil, value: text.Val(), ttl: ttl.Val(), asked: asked}
	return present, present.found && present.owner().Operator == grant.Owner.Operator, nil
}

func wholeMilliseconds(ttl time.Duration) time.Duration {
	return (ttl + time.Millisecond - 1).Truncate(time.Millisecond)
}

// Release is [lease.Backend.Release]. A grant whose Get had no answer is found by its operator. A grant that was found lost is not: the
// operator's present grant is a later one.
func (b *backend) Release(ctx context.Context, grant applock.Grant) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	if text := b.valueOf(grant); text != "" {
		err := b.releaseValue(ctx, grant.Object, text)
		if err == nil || errors.Is(err, errGone) {
			b.forget(grant, text)
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

func (b *backend) releaseValue(ctx context.Context, object applock.Object, value string) error {
	return b.change(ctx, b.release, object, value, b.channel(), object.String(), b.leaver(object))
}

// change runs a script that changes an object's key if it has this value.
func (b *backend) change(ctx context.Context, script *redis.Script, object applock.Object, value string, args ...any) error {
	changed, err := script.Run(ctx, b.once, b.keys(object), append([]any{value}, args...)...).Bool()
	switch {
	case err != nil:
		return explain(ctx, err, applock.ErrOutcomeUnknown)
	case !changed:
		return fmt.Errorf("%w: %w", applock.ErrNotHeld, errGone)
	}
	return nil
}

var errGone = errors.New("the key has expired or was deleted")

// valueOf returns the value of a grant, empty if it is forgotten.
func (b *backend) valueOf(grant applock.Grant) string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.values[claimOf(grant)]
}

func (b *backend) remember(grant applock.Grant, text string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.values[claimOf(grant)] = text
}

// forget forgets a grant with this value, but no later one.
func (b *backend) forget(grant applock.Grant, text string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	of := claimOf(grant)
	if b.values[of] == text {
		delete(b.values, of)
	}
}

// renewScript returns the time to live and the value of each key, and renews first those that have the value of their grant and would end too
// early. A key of another type has no value. A grant without a value is forgotten.
const renewScript = `
local answers = {}
for i, key in ipairs(KEYS) do
	local value, ttl, least = ARGV[3 * i - 2], ARGV[3 * i - 1], tonumber(ARGV[3 * i])
	local present, left = redis.pcall("get", key), redis.call("pttl", key)
	if type(present) == "table" then present = false end
	if present == value and value ~= "" and left < least then
		redis.call("pexpire", key, ttl)
		left = tonumber(ttl)
	end
	answers[i] = {left, present}
end
return answers`

// Renew is [lease.Backend.Renew]. A call is one round trip on a connection that gets and releases use, too: go-redis has other ones for its
// pipelines, and the first renewal would have to wait for such a connection. It sends the text of the script, which the server may not know.
func (b *backend) Renew(ctx context.Context, renewals []lease.Renewal) ([]lease.Renewed, error) {
	calls := slices.Collect(slices.Chunk(renewals, keysAtOnce(b.client)))
	answers, failures := make([][]lease.Renewed, len(calls)), make([]error, len(calls))
	busy := make(chan struct{}, renewers)
	var group sync.WaitGroup
	for i, call := range calls {
		busy <- struct{}{}
		group.Go(func() {
			answers[i], failures[i] = b.renew(ctx, call)
			<-busy
		})
	}
	group.Wait()
	if known := slices.Concat(answers...); len(known) > 0 {
		return known, nil // the missing ones could not be checked
	}
	return nil, cmp.Or(failures...)
}

// keysAtOnce is how many objects one script is for. Its keys have to be on one server.
func keysAtOnce(client redis.UniversalClient) int {
	if _, isOneServer := client.(*redis.Client); isOneServer {
		return renewedAtOnce
	}
	return 1
}

func (b *backend) renew(ctx context.Context, renewals []lease.Renewal) ([]lease.Renewed, error) {
	keys, values, arguments := make([]string, len(renewals)), make([]string, len(renewals)), make([]any, 0, 3*len(renewals))
	for i, renewal := range renewals {
		keys[i], values[i] = b.key(renewal.Grant.Object), b.valueOf(renewal.Grant)
		least := renewal.TTL - min(renewal.TTL/slackPerTTL, maxSlack)
		arguments = append(arguments, values[i], wholeMilliseconds(renewal.TTL).Milliseconds(), least.Milliseconds())
	}
	asked := time.Now()
	rows, err := b.evalTwice(ctx, renewScript, keys, arguments)
	if err != nil {
		return nil, explain(ctx, err, applock.ErrOutcomeUnknown)
	}
	answers := make([]lease.Renewed, len(renewals))
	for i, renewal := range renewals {
		present := stateOf(rows[i], asked)
		answers[i] = lease.Renewed{Object: renewal.Grant.Object, ExpiresAt: present.expiresAt()}
		if isForgotten := values[i] == ""; isForgotten || present.value != values[i] {
			answers[i].Lost = lossOf(renewal.Grant, present)
			b.forget(renewal.Grant, values[i])
		}
	}
	return answers, nil
}

// evalTwice runs a script that may run twice. After most of the time without an answer it asks on another connection, too, since the network
// may have dropped the first one: so an attempt rids the pool of two of those.
func (b *backend) evalTwice(ctx context.Context, script string, keys []string, arguments []any) (rows []any, err error) {
	answers := make(chan *redis.Cmd, 2)
	ask := func() { answers <- b.client.Eval(ctx, script, keys, arguments...) }
	go ask()
	asked := 1
	var late <-chan time.Time
	if deadline, ok := ctx.Deadline(); ok {
		late = time.After(time.Until(deadline) * 3 / 4)
	}
	for answered := 0; answered < asked; {
		select {
		case answer := <-answers:
			if rows, err = answer.Slice(); err == nil {
				return rows, nil
			}
			answered++
		case <-late:
			asked++
			go ask()
		}
	}
	return nil, err
}

// stateOf is the state in an answer of renewScript.
func stateOf(row any, asked time.Time) state {
	columns, _ := row.([]any)
	left, _ := columns[0].(int64)
	text, found := columns[1].(string)
	return state{found: found, value: text, ttl: time.Duration(left) * time.Millisecond, asked: asked}
}

// lossOf says why a grant is lost that is not the present one.
func lossOf(grant applock.Grant, present state) error {
	if !present.found || present.owner().Operator == grant.Owner.Operator {
		return errGone
	}
	return present.refusal(grant.Object)
}
