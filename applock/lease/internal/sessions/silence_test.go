package sessions

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// Goal: a session that does not answer is given up within two thirds of the grace, counted from when the last
// answered statement was sent, and the holders hear of it also while the next one is being opened. Method: a last
// answer that is slow; then a network that swallows everything.
func TestASilentSessionIsGivenUp(t *testing.T) {
	t.Parallel()
	play(t, 1, func(t *testing.T, server *fake, b *backend[string]) {
		const slow = 9 * time.Second
		began := time.Now()
		server.do(func() {
			server.answering = func(ctx context.Context, statement string) error {
				if time.Since(began) < slow {
					return after(slow)(ctx, statement)
				}
				return after(never)(ctx, statement) // also the sign of life that is sent with the slow answer
			}
		})
		grant := mustTake(t, b, wallet("1"), jdoe)
		server.do(func() {
			server.opening = func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			}
		})
		for b.lines[0].holds() {
			if time.Since(began) > time.Hour {
				t.Fatal("never given up")
			}
			time.Sleep(100 * time.Millisecond)
		}
		if after := time.Since(began); after > 2*defaultGrace/3 {
			t.Errorf("given up after %s of %s", after, defaultGrace)
		}
		if why := b.lines[0].whyLost(); !strings.Contains(why.Error(), "has not answered") {
			t.Errorf("lost because %v", why)
		}
		go func() { _, _ = b.Get(context.Background(), wallet("2"), jdoe, time.Minute) }()
		synctest.Wait()
		requireLost(t, b, grant)
		time.Sleep(time.Hour)
	})
}

// holds reports whether the line has locks, as far as it knows.
func (l *line[Name]) holds() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return len(l.held) > 0
}

// Goal: a slow answer costs nothing, even if its caller has given up. Method: answers after 9 s, calls that wait
// for less.
func TestASlowAnswerLosesNothing(t *testing.T) {
	t.Parallel()
	play(t, 1, func(t *testing.T, server *fake, b *backend[string]) {
		grant := mustTake(t, b, wallet("1"), jdoe)
		server.do(func() { server.answering = after(9 * time.Second) })
		for range 100 {
			ctx, cancel := context.WithTimeout(t.Context(), checkInterval)
			answers, err := b.Renew(ctx, []lease.Renewal{{Grant: grant, TTL: time.Minute}})
			cancel()
			if err == nil && answers[0].Lost != nil {
				t.Fatal(answers[0].Lost)
			}
		}
		server.do(func() { server.answering = nil })
		time.Sleep(time.Minute)
		requireAlive(t, b, []applock.Grant{grant}, grant)
	})
}

// Goal: the server hears from a session that has locks, six times per grace, and not from one that has none.
// Method: look at the times of the statements.
func TestSignsOfLife(t *testing.T) {
	t.Parallel()
	play(t, 1, func(t *testing.T, server *fake, b *backend[string]) {
		var last time.Time
		server.answering = func(context.Context, string) error {
			if silence := time.Since(last); !last.IsZero() && silence > defaultGrace/beatsPerGrace {
				t.Errorf("silent for %s", silence)
			}
			last = time.Now()
			return nil
		}
		grant := mustTake(t, b, wallet("1"), jdoe)
		before := server.said()
		time.Sleep(10 * defaultGrace)
		if beats := server.said() - before; beats > 10*beatsPerGrace {
			t.Errorf("%d signs of life in %s", beats, 10*defaultGrace)
		}
		for range 1000 { // other statements are signs, too
			time.Sleep(time.Duration(rand.Int64N(int64(defaultGrace / beatsPerGrace))))
			_, _ = b.Poll(t.Context(), slices.Values([]applock.Object{wallet("2")}))
		}
		if err := b.Release(t.Context(), grant); err != nil {
			t.Error(err)
		}
		before = server.said()
		time.Sleep(time.Hour)
		if server.said() > before {
			t.Errorf("%d statements without a lock", server.said()-before)
		}
	})
}
