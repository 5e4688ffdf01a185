package etcdlock

import (
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// term is a lease of etcd, and the earliest time at which it ends, by this program's clock.
type term struct {
	id   clientv3.LeaseID
	ends time.Time
}

// left is the least time that the lease still lasts, by the monotonic or the wall clock: the monotonic one stands still while the machine
// sleeps.
func (t term) left() time.Duration {
	return min(time.Until(t.ends), t.ends.Round(0).Sub(time.Now().Round(0)))
}

// terms are the leases of this program's grants. A lease that lasts long enough must not be renewed, so that a crashed holder's object is
// not locked beyond its MaxHold. etcd itself would need a call for each lease, and reports whole seconds.
type terms struct {
	mutex sync.Mutex
	ends  map[clientv3.LeaseID]time.Time
	// most is how many there may be before the expired ones are removed.
	most int
}

const leastTerms = 1000

// note stores how long a lease lasts.
func (t *terms) note(lease term) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.ends[lease.id] = lease.ends
	if len(t.ends) <= max(t.most, leastTerms) {
		return
	}
	for id, ends := range t.ends {
		if time.Until(ends) < 0 {
			delete(t.ends, id)
		}
	}
	t.most = 2 * len(t.ends)
}

// of returns what is known about a lease, or an expired term.
func (t *terms) of(id clientv3.LeaseID) term {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return term{id: id, ends: t.ends[id]}
}

// forget is of, and removes the lease.
func (t *terms) forget(id clientv3.LeaseID) term {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	defer delete(t.ends, id)
	return term{id: id, ends: t.ends[id]}
}
