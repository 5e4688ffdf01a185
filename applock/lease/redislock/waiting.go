package redislock

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// listedFor is how long a program that no longer polls stays in the lists: polls are 6 s apart at most.
const listedFor = 10 * time.Second

// pollScript lists the program for each object, and returns the object's time to live and whether the program has been listed longest. A
// program is two members of the list: the one that begins with a hyphen has the time of the last poll, negated, so that those of the dead
// are a range of scores, too. Times are the server's, in microseconds.
const pollScript = `
local time, program, listed = redis.call("time"), ARGV[1], tonumber(ARGV[2])
local now, answers = time[1] * 1000000 + time[2], {}
for i = 1, #KEYS, 2 do
	local list, first = KEYS[i + 1], program
	if list ~= KEYS[i] then
		for _, dead in ipairs(redis.call("zrangebyscore", list, listed * 1000 - now, "(0")) do
			redis.call("zrem", list, dead, string.sub(dead, 2))
		end
		redis.call("zadd", list, "nx", now, program)
		redis.call("zadd", list, -now, "-" .. program)
		redis.call("pexpire", list, listed)
		first = redis.call("zrangebyscore", list, 0, "inf", "limit", 0, 1)[1]
	end
	table.insert(answers, redis.call("pttl", KEYS[i]))
	table.insert(answers, first == program and 1 or 0)
end
return answers`

// keys returns the key of an object, and that of the list of the programs that wait for it. On a cluster both have to be in one slot, by
// their hash tag. If no name of a list is, as with a closing brace that has no opening one, there is no list, and its key is the object's.
func (b *backend) keys(object applock.Object) []string {
	key := b.key(object)
	list := b.namespace + "::{" + hashTag(key) + "}" + object.String() // no object has an empty type
	if hashTag(list) != hashTag(key) {
		list = key
	}
	return []string{key, list}
}

// hashTag is the part of a key that decides on its slot.
func hashTag(key string) string {
	_, rest, _ := strings.Cut(key, "{")
	if tag, _, found := strings.Cut(rest, "}"); found && tag != "" {
		return tag
	}
	return key
}

// Announce is [lease.Announcer.Announce]. The next poll lists the program, until its last waiter is retracted or polls stop.
func (b *backend) Announce(_ context.Context, object applock.Object, owner applock.Owner, _ time.Duration) error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.waiters[object] == nil {
		b.waiters[object] = map[string]bool{}
	}
	b.waiters[object][owner.Operator] = true
	return nil
}

// Retract is [lease.Announcer.Retract].
func (b *backend) Retract(ctx context.Context, object applock.Object, operator string) error {
	b.mutex.Lock()
	delete(b.waiters[object], operator)
	if len(b.waiters[object]) == 0 {
		delete(b.waiters, object)
	}
	b.mutex.Unlock()
	return b.unlist(ctx, object)
}

// unlist removes the program from the list of an object, unless somebody here waits for it.
func (b *backend) unlist(ctx context.Context, object applock.Object) error {
	leaver := b.leaver(object)
	if leaver == "" {
		return nil
	}
	err := b.client.ZRem(ctx, b.keys(object)[1], leaver, "-"+leaver).Err()
	if err != nil {
		return explain(ctx, err, applock.ErrUnreachable)
	}
	return nil
}

// leaver is this program if nobody here waits for the object, or empty.
func (b *backend) leaver(object applock.Object) string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.waiters[object] != nil {
		return ""
	}
	return b.program
}

// Others is [lease.Crowd.Others]. Without a list there might be some.
func (b *backend) Others(ctx context.Context, object applock.Object) (ahead, behind int, err error) {
	keys := b.keys(object)
	if keys[0] == keys[1] {
		return 1, 0, nil
	}
	line, err := b.client.ZRangeByScore(ctx, keys[1], &redis.ZRangeBy{Min: "0", Max: "inf", Count: batch}).Result()
	if err != nil {
		return 0, 0, explain(ctx, err, applock.ErrUnreachable)
	}
	place := slices.Index(line, b.program)
	if place < 0 {
		return len(line), 0, nil
	}
	return place, len(line) - place - 1, nil
}

// Poll is [lease.Poller.Poll]. It asks for the announced waiters' objects.
func (b *backend) Poll(ctx context.Context, _ iter.Seq[applock.Object]) (answer lease.PollAnswer, err error) {
	b.mutex.Lock()
	objects := slices.Collect(maps.Keys(b.waiters))
	b.mutex.Unlock()
	for some := range slices.Chunk(objects, batch) {
		if err := b.poll(ctx, some, &answer); err != nil {
			return lease.PollAnswer{}, explain(ctx, err, applock.ErrUnreachable)
		}
	}
	for _, object := range objects { // the poll may have listed the program after Retract
		err = errors.Join(err, b.unlist(ctx, object))
	}
	return answer, err
}

// poll adds what one round trip tells. Each script of it is short enough to keep no other client waiting for a millisecond.
func (b *backend) poll(ctx context.Context, objects []applock.Object, answer *lease.PollAnswer) error {
	const noKey = -2 // the server's answer
	var scripts []*redis.Cmd
	_, err := b.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for some := range slices.Chunk(objects, keysAtOnce(b.client)) {
			var keys []string
			for _, object := range some {
				keys = append(keys, b.keys(object)...)
			}
			scripts = append(scripts, pipe.Eval(ctx, pollScript, keys, b.program, listedFor.Milliseconds()))
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, script := range scripts {
		columns, err := script.Int64Slice()
		if err != nil {
			return err
		}
		for ; len(columns) > 0; columns, objects = columns[2:], objects[1:] {
			left := time.Duration(columns[0]) * time.Millisecond
			switch isFirst := columns[1] == 1; {
			case columns[0] == noKey && isFirst:
				answer.Free = append(answer.Free, objects[0])
			case columns[0] == noKey:
				answer.Later = append(answer.Later, objects[0])
			case left > 0 && (answer.Next == 0 || left < answer.Next):
				answer.Next = left
			}
		}
	}
	return nil
}

func (b *backend) channel() string { return b.namespace + ":released" }

func (b *backend) Listen(ctx context.Context) (lease.Listener, error) {
	subscription := b.client.Subscribe(ctx, b.channel())
	if _, err := subscription.Receive(ctx); err != nil { // the server has confirmed the subscription
		return nil, errors.Join(err, subscription.Close())
	}
	return releases{program: b.program, subscription: subscription, messages: subscription.Channel()}, nil
}

// releases is [lease.Listener].
type releases struct {
	program      string
	subscription *redis.PubSub
	// messages continues after a lost connection. A poll makes up for messages lost meanwhile.
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
			text, first, isRanked := strings.Cut(message.Payload, "\n")
			object, err := applock.ParseObject(text)
			switch {
			case err != nil:
			case !isRanked:
				return lease.Message{Object: object}, nil
			case first == r.program:
				return lease.Message{Object: object, Rank: lease.First}, nil
			default:
				return lease.Message{Object: object, Rank: lease.Later}, nil
			}
		}
	}
}

func (r releases) Close() error { return r.subscription.Close() }
