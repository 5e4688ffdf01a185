package redislock

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// sentOnce sends the scripts that take and release a lock only once. go-redis silently repeats a command whose connection breaks. A
// repeated take could arrive after its lock was released, and take the object for nobody. A repeated release would find nothing, which
// would look like a loss. Leases repeats both calls, and knows of it.
type sentOnce struct {
	redis.Scripter

	client redis.UniversalClient
}

// Eval is EVAL.
func (s sentOnce) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return s.send(ctx, "eval", script, keys, args)
}

// EvalSha is EVALSHA.
func (s sentOnce) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return s.send(ctx, "evalsha", sha, keys, args)
}

func (s sentOnce) send(ctx context.Context, name, script string, keys []string, args []any) *redis.Cmd {
	words := []any{name, script, len(keys)}
	for _, key := range keys {
		words = append(words, key)
	}
	words = append(words, args...)
	for pause := firstPause; ; pause *= 2 {
		command := unrepeated{redis.NewCmd(ctx, words...)}
		if len(keys) > 0 {
			command.SetFirstKeyPos(firstKey)
		}
		if err := s.client.Process(ctx, command); !isHarmless(err) || pause > lastPause {
			return command.Cmd // it has the error, too
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

const (
	// firstKey is the position of the key, for a cluster.
	firstKey = 3
	// firstPause and lastPause are the pauses before a script that has not run is sent again.
	firstPause = 10 * time.Millisecond
	lastPause  = 320 * time.Millisecond
)

// isHarmless reports whether a script has not run, but soon may. It follows go-redis, except that the command must not have been sent.
func isHarmless(err error) bool {
	return isUnconnected(err) ||
		redis.IsLoadingError(err) || redis.IsReadOnlyError(err) || redis.IsClusterDownError(err) || redis.IsTryAgainError(err) ||
		redis.IsMasterDownError(err) || redis.IsMaxClientsError(err)
}

// unrepeated is a command that go-redis sends once.
type unrepeated struct{ *redis.Cmd }

// NoRetry is [redis.Cmder.NoRetry].
func (unrepeated) NoRetry() bool { return true }

// Clone is [redis.Cmder.Clone].
func (c unrepeated) Clone() redis.Cmder {
	clone, _ := c.Cmd.Clone().(*redis.Cmd) // Clone of a Cmd returns a *Cmd
	return unrepeated{clone}
}
