package etcdlock

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

const (
	// sweepers is how many leases are revoked at a time.
	sweepers = 8
	// sweepLimit limits a call, and how long Close waits.
	sweepLimit = time.Second
	// sweepAgain is the pause after a failed call.
	sweepAgain = time.Second
)

// sweeper revokes unused leases in the background. It has goroutines only while there are some.
type sweeper struct {
	client *clientv3.Client
	// stopped ends when Close stops waiting.
	stopped context.Context //nolint:containedctx // it ends the goroutines
	stop    context.CancelFunc

	mutex   sync.Mutex
	leases  []term
	workers int
	closed  bool
	group   sync.WaitGroup
}

func newSweeper(client *clientv3.Client) *sweeper {
	s := &sweeper{client: client}
	s.stopped, s.stop = context.WithCancel(context.Background())
	return s
}

// add schedules a lease to be revoked, if there is one.
func (s *sweeper) add(lease term) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if lease.id == clientv3.NoLease || s.stopped.Err() != nil {
		return
	}
	s.leases = append(s.leases, lease)
	if s.workers < sweepers {
		s.workers++
		s.group.Go(s.work)
	}
}

func (s *sweeper) work() {
	for lease, ok := s.next(); ok; lease, ok = s.next() {
		ctx, cancel := context.WithTimeout(clientv3.WithRequireLeader(s.stopped), sweepLimit)
		_, err := s.client.Revoke(ctx, lease.id)
		cancel()
		if err != nil && !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			s.again(lease)
		}
	}
}

// next returns the next lease, or false, which ends the worker.
func (s *sweeper) next() (term, bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.leases) == 0 || s.stopped.Err() != nil {
		s.workers--
		return term{}, false
	}
	first := s.leases[0]
	s.leases = s.leases[1:]
	return first, true
}

// again keeps a lease for another attempt, unless it has expired.
func (s *sweeper) again(lease term) {
	s.mutex.Lock()
	isOver := s.closed || lease.left() <= 0
	if !isOver {
		s.leases = append(s.leases, lease)
	}
	s.mutex.Unlock()
	if isOver {
		return
	}
	select {
	case <-s.stopped.Done():
	case <-time.After(sweepAgain):
	}
}

// close waits a moment until all are revoked.
func (s *sweeper) close() {
	s.mutex.Lock()
	s.closed = true
	s.mutex.Unlock()
	limit := time.AfterFunc(sweepLimit, s.stop)
	defer limit.Stop()
	s.group.Wait()
	s.stop()
}
