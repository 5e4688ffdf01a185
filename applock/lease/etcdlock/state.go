package etcdlock

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/applock/applock/applock"
)

// record is the value of a key.
type record struct {
	Operator   string `json:"operator_id"`
	Department string `json:"department_id"`
	// TTL is that of the lease that the key is attached to.
	TTL int64 `json:"ttl_seconds,omitempty"`
	// Fence is the grant's, if a later write than the one that granted it has made the key what it is.
	Fence int64 `json:"fence,omitempty"`
}

// state is what a key has.
type state struct {
	found    bool
	record   record
	lease    clientv3.LeaseID
	revision int64
}

func stateOf(found []*mvccpb.KeyValue) state {
	if len(found) == 0 {
		return state{}
	}
	key := found[0]
	result := state{found: true, lease: clientv3.LeaseID(key.Lease), revision: key.ModRevision}
	if err := json.Unmarshal(key.Value, &result.record); err != nil || result.record.Operator == "" {
		result.record = record{Operator: string(key.Value)} // somebody else has written it
	}
	return result
}

// fence is that of the grant that is there.
func (s state) fence() applock.Fence {
	if s.record.Fence > 0 {
		return applock.Fence(s.record.Fence)
	}
	return applock.Fence(s.revision)
}

// write puts a record, attached to a lease.
func (b *backend) write(object applock.Object, record record, lease clientv3.LeaseID) clientv3.Op {
	return clientv3.OpPut(b.held(object), record.text(), clientv3.WithLease(lease))
}

func (r record) text() string {
	text, _ := json.Marshal(r) // of strings and numbers
	return string(text)
}

// locks begins the keys of locks.
func (b *backend) locks() string { return b.namespace + "/held/" }

// held is the key of a lock: the bytes of the object.
func (b *backend) held(object applock.Object) string { return b.locks() + object.String() }

// waitingAt begins the keys of those who wait for an object. A slash of the object's is escaped.
func (b *backend) waitingAt(object applock.Object) string {
	return b.namespace + "/waiting/" + url.PathEscape(object.String()) + "/"
}

// waiting is the key of a waiter of this program.
func (b *backend) waiting(object applock.Object, operator string) string {
	return b.waitingAt(object) + b.program + "/" + operator
}

// objectOf returns which lock a key is.
func (b *backend) objectOf(key []byte) (applock.Object, error) {
	return applock.ParseObject(strings.TrimPrefix(string(key), b.locks()))
}

// wholeSeconds is what etcd is told.
func wholeSeconds(ttl time.Duration) int64 { return int64((ttl + time.Second - 1) / time.Second) }
