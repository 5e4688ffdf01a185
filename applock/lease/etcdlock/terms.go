package etcdlock

import (
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// term is a lease of etcd, and until when it lasts at least, by this program's clock.
type term struct {
	id   clientv3.LeaseID
	ends time.Time
}

// left is for how long it lasts at least, by the clock that gives it less: the monotonic one stands still while the machine
// sleeps.
func (t term) left() time.Duration {
	return min(time.Until(t.ends), t.ends.Round(0).Sub(time.Now().Round(0)))
}

// terms are the leases of the grants that this program has taken. A grant that lasts long enough is not to be renewed, so
// that the object of a crashed holder is not locked beyond its MaxHold. etcd would tell whole seconds, by a call for each.
type terms struct {
	mutex sync.Mutex
	ends  map[clientv3.LeaseID]time.Time
	// most is how many there may be before those are forgotten that are over.
	most int
}

const leastTerms = 1000

// note remembers until when a lease lasts.
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

// of returns what is known of a lease, one that is over if nothing is.
func (t *terms) of(id clientv3.LeaseID) term {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return term{id: id, ends: t.ends[id]}
}

// forget returns what is known of a lease for the last time.
func (t *terms) forget(id clientv3.LeaseID) term {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	defer delete(t.ends, id)
	return term{id: id, ends: t.ends[id]}
}
