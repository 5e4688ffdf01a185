package applock_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/applock/applock/applock/lease/redislock"
	"github.com/applock/applock/internal/testing/testdb"
	"github.com/applock/applock/internal/testing/wire"
)

// redisPoolTimeout is how long a client waits for a connection of its pool, which go-redis bounds for itself.
const redisPoolTimeout = 200 * time.Millisecond

func redisKinds(t testing.TB) kindsProduct {
	t.Helper()
	dsn := testdb.Redis(t)
	_ = testdb.RedisServer(t)
	return kindsProduct{name: "Redis", open: func(t testing.TB, cause errorCause) (*troubled, error) {
		t.Helper()
		dsn := dsn
		var w *wire.Wire
		if cause.isWired {
			w, dsn = wire.Through(t, dsn)
		}
		options, err := redis.ParseURL(dsn)
		if err != nil {
			return nil, errors.New("the test DSN cannot be parsed")
		}
		if cause.isStandby {
			socket, _ := testdb.OwnRedis(t, t.TempDir())
			options = &redis.Options{Network: "unix", Addr: socket}
		}
		options.PoolSize, options.MaxActiveConns = cause.conns, cause.conns
		options.PoolTimeout, options.ContextTimeoutEnabled, options.MaxRetries, options.DialerRetries = redisPoolTimeout, true, -1, 1
		return openRedis(w, options)
	}}
}

// redisConns are the connections of a client, which can be ended.
type redisConns struct {
	mutex sync.Mutex
	conns []net.Conn
}

func (c *redisConns) add(conn net.Conn) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.conns = append(c.conns, conn)
}

func (c *redisConns) end() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, conn := range c.conns {
		_ = conn.Close()
	}
	c.conns = nil
}

func openRedis(w *wire.Wire, options *redis.Options) (*troubled, error) {
	later := &atomic.Pointer[detour]{}
	conns := &redisConns{}
	options.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		if way := later.Load(); way != nil {
			address = or(way.address, address)
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err == nil {
			conns.add(conn)
		}
		return conn, err
	}
	user, password := options.Username, options.Password
	options.CredentialsProvider = func() (string, string) {
		if way := later.Load(); way != nil {
			return or(way.user, user), or(way.password, password)
		}
		return user, password
	}
	client := redis.NewClient(options)
	leases, err := redislock.New(redislock.Config{Client: client, Namespace: rand.Text()})
	if err != nil {
		return nil, err
	}
	return &troubled{
		locker: leases, wire: w, later: later,
		forget: conns.end,
		occupy: func(ctx context.Context) (free func(), err error) {
			conn := client.Conn()
			return func() { _ = conn.Close() }, conn.Ping(ctx).Err()
		},
		demote: func(ctx context.Context) error {
			return client.ReplicaOf(ctx, "127.0.0.1", "1").Err()
		},
		close: func() {
			_ = leases.Close()
			_ = client.Close()
		},
	}, nil
}
