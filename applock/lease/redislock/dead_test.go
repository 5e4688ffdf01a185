package redislock_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/applock/applock/applock"
)

// forgotten is a connection that the network forgets when it is told so: what is written gets lost, and no answer comes.
type forgotten struct {
	net.Conn

	isDead *atomic.Bool
}

func (f forgotten) Write(bytes []byte) (int, error) {
	if f.isDead.Load() {
		return len(bytes), nil
	}
	return f.Conn.Write(bytes)
}

// Goal: a lease outlives that the network has forgotten four idle connections of the pool. Method: they are all that the pool has when the lease
// begins; then its key lasts longer than at first, by a renewal.
func TestRenewalSurvivesFourDeadConnections(t *testing.T) {
	t.Parallel()
	const dead, ttl = 4, 9 * time.Second
	place := newPlace(t)
	_, dsn := split(place)
	options, err := redis.ParseURL(dsn)
	if err != nil {
		t.Fatal(err)
	}
	options.ContextTimeoutEnabled = true
	dial := redis.NewDialer(options)
	var isDead atomic.Bool
	var dials atomic.Int32
	options.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if dials.Add(1) <= dead {
			conn = forgotten{conn, &isDead}
		}
		return conn, err
	}
	client := redis.NewClient(options)
	t.Cleanup(func() { _ = client.Close() })
	var idle []*redis.Conn
	for range dead {
		conn := client.Conn()
		if err := conn.Ping(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		idle = append(idle, conn)
	}
	for _, conn := range idle {
		_ = conn.Close() // gives it back to the pool
	}
	lease := mustAcquire(t, openChecking(t, place, client, time.Hour), applock.AcquireRequest{Object: customer("1"), MaxHold: time.Hour, TTL: ttl})
	isDead.Store(true)
	observer := connect(t, place)
	for left := ttl; ; {
		now, err := observer.PTTL(t.Context(), keyOf(place, customer("1"))).Result()
		if err != nil || lease.Err() != nil {
			t.Fatalf("the key lasts another %s, %v: %v", now, err, lease.Err())
		}
		if now > left {
			return
		}
		left = now
		time.Sleep(10 * time.Millisecond)
	}
}
