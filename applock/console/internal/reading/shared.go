package reading

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// sharedMost limits the stored results.
	sharedMost = 200
	// A result serves for restFactor times as long as its read took, so that reading takes at most a fifth of the time. restMost bounds its
	// age.
	restFactor = 4
	restMost   = 10 * time.Second
)

// Shared lets concurrent requests for the same key share one read. Its methods are safe for concurrent use.
type Shared[K comparable, V any] struct {
	// Age is how old a result may be for requests that do not need a fresh one.
	Age time.Duration
	// timeout bounds a read.
	timeout time.Duration

	mutex   sync.Mutex
	results map[K]*result[V]
}

// result is the result of a read. It is complete once done is closed.
type result[V any] struct {
	began time.Time
	done  chan struct{}
	took  time.Duration
	value V
	err   error
}

// NewShared returns an empty one. A result may be of that age for requests that do not need a fresh one; timeout bounds a read.
func NewShared[K comparable, V any](age, timeout time.Duration) *Shared[K, V] {
	return &Shared[K, V]{Age: age, timeout: timeout, results: map[K]*result[V]{}}
}

var errReadFailed = errors.New("the read that this request has joined has failed")

// Get returns the result of a read for key. A result serves all requests that came before its read began. For a moment it also serves those
// that know a version already. An error serves only the requests that waited for it.
func (s *Shared[K, V]) Get(ctx context.Context, key K, known bool, read func(context.Context) (V, error)) (V, error) {
	asked := time.Now()
	for {
		r, mine := s.latest(key, known, asked)
		if mine {
			return r.run(ctx, s.timeout, read)
		}
		select {
		case <-r.done:
			if s.serves(r, known, asked) {
				return r.value, r.err
			}
		case <-ctx.Done():
			var none V
			return none, ctx.Err()
		}
	}
}

// latest returns a running or recent read of the key that serves the request. Otherwise it returns a new one, which the caller must run.
func (s *Shared[K, V]) latest(key K, known bool, asked time.Time) (r *result[V], mine bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if r = s.results[key]; r != nil && (!r.ended() || r.err == nil && s.serves(r, known, asked)) {
		return r, false
	}
	for other, old := range s.results {
		if old.ended() && (len(s.results) >= sharedMost || !s.serves(old, true, asked)) {
			delete(s.results, other)
		}
	}
	r = &result[V]{began: time.Now(), done: make(chan struct{}), err: errReadFailed}
	s.results[key] = r
	return r, true
}

// serves reports whether a result is new enough for a request that came at the time asked.
func (s *Shared[K, V]) serves(r *result[V], known bool, asked time.Time) bool {
	if known {
		asked = asked.Add(-max(s.Age, min(restFactor*r.took, restMost)))
	}
	return !r.began.Before(asked)
}

func (r *result[V]) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// run runs the read. It ignores the cancellation of its caller, since others wait for the same read. If the read panics, they get errReadFailed.
func (r *result[V]) run(ctx context.Context, timeout time.Duration, read func(context.Context) (V, error)) (V, error) {
	defer close(r.done)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	r.value, r.err = read(ctx)
	r.took = time.Since(r.began)
	return r.value, r.err
}
