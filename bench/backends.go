//go:build unix

package main

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"time"

	bsm "github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/getlock"
	"github.com/applock/applock/applock/pgadvisory"
	"github.com/applock/applock/applock/redislock"
)

// backend is leases that are not on the table, and the same by hand.
type backend struct {
	name string
	// open returns leases as a program of its own has them, on so many sessions where there are sessions.
	open func(sessions int) (leases *applock.Leases, closeIt func() error, err error)
	// relay hands over by hand, and cycle takes and releases.
	relay relay
	cycle contender
}

// backends returns those of a product. What they need is closed with the place.
func (p *place) backends(ctx context.Context) ([]backend, error) {
	switch p.product {
	case productPostgres:
		relay, err := p.queueing(ctx, "SELECT pg_advisory_lock(1)", "SELECT pg_advisory_unlock(1)")
		pool, _ := p.raw.(pgExecutor)
		return []backend{{
			name: "pgadvisory",
			open: func(sessions int) (*applock.Leases, func() error, error) {
				leases, err := pgadvisory.New(pgadvisory.Config{DSN: p.dsn, Sessions: sessions})
				return leases, leases.Close, err
			},
			relay: relay,
			cycle: contender{"pg_advisory_lock", pool.advisory},
		}}, err
	case productMariaDB, productMySQL:
		relay, err := p.queueing(ctx, "SELECT GET_LOCK('bench', 60)", "SELECT RELEASE_LOCK('bench')")
		pool, _ := p.raw.(sqlExecutor)
		return []backend{{
			name: "getlock",
			open: func(sessions int) (*applock.Leases, func() error, error) {
				leases, err := getlock.New(getlock.Config{DSN: p.dsn, Sessions: sessions})
				return leases, leases.Close, err
			},
			relay: relay,
			cycle: contender{"GET_LOCK", pool.getLock},
		}}, err
	case productRedis:
		peer := &redisPeer{bsm.New(p.redis)}
		return []backend{{
			name: "redislock",
			open: func(int) (*applock.Leases, func() error, error) {
				leases, err := redislock.New(redislock.Config{Client: p.redis, Namespace: "applock_bench"})
				return leases, leases.Close, err
			},
			relay: peer,
			cycle: contender{"bsm/redislock", peer.cycle},
		}}, nil
	}
	return nil, nil
}

// getLock takes and releases a session's named lock.
func (e sqlExecutor) getLock(ctx context.Context, goroutine int) error {
	conn, err := e.handle.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // gives it back to the pool
	name := strconv.Itoa(goroutine)
	if _, err := conn.ExecContext(ctx, "SELECT GET_LOCK(?, 60)", name); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "SELECT RELEASE_LOCK(?)", name)
	return err
}

// queueing has the server itself make a session wait for another one.
type queueing struct {
	holder, waiter executor
	lock, unlock   string
}

func (p *place) queueing(ctx context.Context, lock, unlock string) (queueing, error) {
	q := queueing{lock: lock, unlock: unlock}
	for _, each := range []*executor{&q.holder, &q.waiter} {
		o, err := p.open(ctx, access{connections: 1, name: "queueing"})
		if err != nil {
			return q, err
		}
		p.closers = append(p.closers, o.close)
		*each = o.raw
	}
	return q, nil
}

func (q queueing) handOver(ctx context.Context, _ int) (time.Duration, error) {
	if err := q.holder.exec(ctx, q.lock); err != nil {
		return 0, err
	}
	took, err := handOverByHand(ctx,
		func(ctx context.Context) error { return q.waiter.exec(ctx, q.lock) },
		func(ctx context.Context) error { return q.holder.exec(ctx, q.unlock) })
	return took, errors.Join(err, q.waiter.exec(ctx, q.unlock))
}

// redisPeer is the lock library without ours. Who waits asks every 10 ms.
type redisPeer struct{ client *bsm.Client }

const redisTTL = time.Minute

func (r *redisPeer) handOver(ctx context.Context, _ int) (time.Duration, error) {
	const key = "applock_bench:by_hand"
	held, err := r.client.Obtain(ctx, key, redisTTL, nil)
	if err != nil {
		return 0, err
	}
	var next *bsm.Lock
	took, err := handOverByHand(ctx, func(ctx context.Context) (err error) {
		next, err = r.client.Obtain(ctx, key, redisTTL, &bsm.Options{RetryStrategy: bsm.LinearBackoff(askingByHand)})
		return err
	}, held.Release)
	if err != nil {
		return 0, err
	}
	return took, next.Release(ctx)
}

func (r *redisPeer) cycle(ctx context.Context, goroutine int) error {
	lock, err := r.client.Obtain(ctx, "applock_bench:"+strconv.Itoa(goroutine), redisTTL, nil)
	if err != nil {
		return err
	}
	return lock.Release(ctx)
}

// openRedis connects to a server, of which a place needs nothing else.
func openRedis(dsn string) (*redis.Client, error) {
	options, err := redis.ParseURL(dsn)
	if err != nil {
		return nil, errors.New("the DSN of Redis cannot be parsed") // which may hold a password
	}
	return redis.NewClient(options), nil
}

func redisVersion(ctx context.Context, client *redis.Client) (string, error) {
	info, err := client.Info(ctx, "server").Result()
	if err != nil {
		return "", err
	}
	if match := regexp.MustCompile(`redis_version:(\S+)`).FindStringSubmatch(info); match != nil {
		return match[1], nil
	}
	return "unknown", nil
}
