//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"cirello.io/pglock"
	bsm "github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/pressly/goose/v3/lock"
	"github.com/redis/go-redis/v9"

	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/getlock"
	"github.com/applock/applock/applock/lease/pgadvisory"
	"github.com/applock/applock/applock/lease/redislock"
)

// peers are other libraries' locks in a table of the product. They use the pool of the first one, which is plain SQL.
func (p *place) peers(ctx context.Context, goroutines int) ([]peer, error) {
	byHand := p.insertAndDelete(p.raw)
	switch p.product {
	case productPostgres:
		byPglock, err := p.pglock()
		if err != nil {
			return nil, err
		}
		byGoose, err := p.goose(ctx, goroutines, lock.NewPostgresTableLocker)
		return []peer{byHand, byPglock, byGoose}, err
	case productMariaDB, productMySQL:
		byGoose, err := p.goose(ctx, goroutines, lock.NewMySQLTableLocker)
		return []peer{byHand, byGoose}, err
	}
	return []peer{byHand}, nil
}

func (p *place) insertAndDelete(by executor) peer {
	return peer{byHandName, func(ctx context.Context, id string) error {
		if err := by.exec(ctx, p.statements.insertPlain, id); err != nil {
			return err
		}
		return by.exec(ctx, p.statements.deletePlain, id)
	}}
}

// pglock runs on pgx, like applock. Its authors call that unsafe, since it is written for lib/pq.
func (p *place) pglock() (peer, error) {
	client, err := pglock.UnsafeNew(p.raw.handle())
	if err != nil {
		return peer{}, err
	}
	return peer{"pglock", func(ctx context.Context, id string) error {
		held, err := client.AcquireContext(ctx, id, pglock.FailIfLocked())
		if err != nil {
			return err
		}
		if err := client.ReleaseContext(ctx, held); !errors.Is(err, pglock.ErrLockAlreadyReleased) {
			return err
		}
		// Its heartbeat interfered, and the lock would stay for its 20 s.
		return p.raw.exec(ctx, "DELETE FROM locks WHERE name = $1", id)
	}}, client.TryCreateTable()
}

// goose uses the locker of goose's migrations. One locker is one lock.
func (p *place) goose(
	ctx context.Context, goroutines int, locker func(...lock.TableLockerOption) (lock.Locker, error),
) (peer, error) {
	handle := p.raw.handle()
	lockers := map[string]lock.Locker{}
	for goroutine := range goroutines {
		made, err := locker(lock.WithTableLockID(int64(goroutine) + 1))
		if err != nil {
			return peer{}, err
		}
		lockers[strconv.Itoa(goroutine)] = made
	}
	byGoose := peer{"goose's locker", func(ctx context.Context, id string) error {
		if err := lockers[id].Lock(ctx, handle); err != nil {
			return err
		}
		return lockers[id].Unlock(ctx, handle)
	}}
	return byGoose, byGoose.cycle(ctx, "0") // makes the table, which several goroutines cannot do at the same time
}

// backend is a backend other than the table, and its alternatives.
type backend struct {
	name string
	// open returns leases of a separate program, with that many sessions if the backend has sessions.
	open func(sessions int) (leases *lease.Leases, closeIt func() error, err error)
	// relay hands over by plain statements, like the first peer.
	relay func(ctx context.Context) (relay, error)
	peers []peer
}

// backends returns those of a product.
func (p *place) backends() []backend {
	switch p.product {
	case productPostgres:
		pool, _ := p.raw.(pgExecutor)
		return []backend{{
			name: "pgadvisory",
			open: func(sessions int) (*lease.Leases, func() error, error) {
				leases, err := pgadvisory.New(pgadvisory.Config{DSN: p.dsn, Sessions: sessions})
				return leases, leases.Close, err
			},
			relay: func(ctx context.Context) (relay, error) {
				return p.queueing(ctx, "SELECT pg_advisory_lock(1)", "SELECT pg_advisory_unlock(1)")
			},
			peers: []peer{{"pg_advisory_lock", pool.advisory}},
		}}
	case productMariaDB, productMySQL:
		pool, _ := p.raw.(sqlExecutor)
		return []backend{{
			name: "getlock",
			open: func(sessions int) (*lease.Leases, func() error, error) {
				leases, err := getlock.New(getlock.Config{DSN: p.dsn, Sessions: sessions})
				return leases, leases.Close, err
			},
			relay: func(ctx context.Context) (relay, error) {
				return p.queueing(ctx, "SELECT GET_LOCK('bench', 60)", "SELECT RELEASE_LOCK('bench')")
			},
			peers: []peer{{"GET_LOCK", pool.getLock}},
		}}
	case productRedis:
		byBSM := &redisPeer{bsm.New(p.redis)}
		return []backend{{
			name: "redislock",
			open: func(int) (*lease.Leases, func() error, error) {
				leases, err := redislock.New(redislock.Config{Client: p.redis, Namespace: "applock_bench"})
				return leases, leases.Close, err
			},
			relay: func(context.Context) (relay, error) { return byBSM, nil },
			peers: []peer{{"bsm/redislock", byBSM.cycle}, byRedsync(p.redis)},
		}}
	}
	return nil
}

// advisory takes and releases a session's advisory lock, which is only in memory.
func (e pgExecutor) advisory(ctx context.Context, id string) error {
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock(hashtext($1))", id); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "SELECT pg_advisory_unlock(hashtext($1))", id)
	return err
}

// getLock takes and releases a session's named lock.
func (e sqlExecutor) getLock(ctx context.Context, id string) error {
	conn, err := e.pool.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // gives it back to the pool
	if _, err := conn.ExecContext(ctx, "SELECT GET_LOCK(?, 60)", id); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "SELECT RELEASE_LOCK(?)", id)
	return err
}

// redisPeer is the lock library without our package. Its waiters poll every 10 ms.
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

func (r *redisPeer) cycle(ctx context.Context, id string) error {
	held, err := r.client.Obtain(ctx, "applock_bench:"+id, redisTTL, &bsm.Options{RetryStrategy: bsm.LinearBackoff(askingByHand)})
	if err != nil {
		return err
	}
	return held.Release(ctx)
}

func byRedsync(client *redis.Client) peer {
	maker := redsync.New(goredis.NewPool(client))
	return peer{"redsync", func(ctx context.Context, id string) error {
		mutex := maker.NewMutex("applock_bench:redsync:"+id, redsync.WithExpiry(redisTTL), redsync.WithTries(6000),
			redsync.WithRetryDelay(askingByHand))
		if err := mutex.LockContext(ctx); err != nil {
			return err
		}
		released, err := mutex.UnlockContext(ctx)
		if err == nil && !released {
			err = errors.New("the lock is another's")
		}
		return err
	}}
}

// openRedis connects to a server.
func openRedis(dsn string) (*redis.Client, error) {
	options, err := redis.ParseURL(dsn)
	if err != nil {
		return nil, errors.New("the DSN of Redis cannot be parsed") // it may hold a password
	}
	options.PoolSize = manyConnections
	options.ContextTimeoutEnabled = true
	return redis.NewClient(options), nil
}

func describeRedis(ctx context.Context, client *redis.Client) (product, error) {
	info, err := client.Info(ctx, "server").Result()
	if err != nil {
		return product{}, err
	}
	described := product{Version: "unknown"}
	if match := regexp.MustCompile(`redis_version:(\S+)`).FindStringSubmatch(info); match != nil {
		described.Version = match[1]
	}
	var settings []string
	for _, name := range []string{"appendonly", "appendfsync", "save"} {
		values, err := client.ConfigGet(ctx, name).Result()
		if err != nil {
			return described, err
		}
		settings = append(settings, fmt.Sprintf("%s = %q", name, values[name]))
	}
	described.Settings = strings.Join(settings, ", ")
	return described, nil
}
