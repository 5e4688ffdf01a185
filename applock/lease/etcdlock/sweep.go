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
	// sweepLimit bounds a call, and what Close waits for.
	sweepLimit = time.Second
	// sweepAgain is the pause after one that failed.
	sweepAgain = time.Second
)

// sweeper revokes leases in the background that nothing is to be attached to any more. It has goroutines only while there are some.
type sweeper struct {
	client *clientv3.Client
	// stopped ends when Close has waited for long enough.
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

// add has a lease revoked, if there is one.
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

// next returns the next lease, false if there is none: the worker ends then.
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

// again keeps a lease for later that could not be revoked. It is given up when it has expired.
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

// close waits for a moment until all are revoked.
func (s *sweeper) close() {
	s.mutex.Lock()
	s.closed = true
	s.mutex.Unlock()
	limit := time.AfterFunc(sweepLimit, s.stop)
	defer limit.Stop()
	s.group.Wait()
	s.stop()
}
