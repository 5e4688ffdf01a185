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
	// TTL is the TTL of the lease that the key is attached to.
	TTL int64 `json:"ttl_seconds,omitempty"`
	// Fence is the grant's, if the key was written again after the grant.
	Fence int64 `json:"fence,omitempty"`
}

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
		result.record = record{Operator: string(key.Value)} // another program has written it
	}
	return result
}

func (s state) fence() applock.Fence {
	if s.record.Fence > 0 {
		return applock.Fence(s.record.Fence)
	}
	return applock.Fence(s.revision)
}

func (b *backend) write(object applock.Object, record record, lease clientv3.LeaseID) clientv3.Op {
	return clientv3.OpPut(b.held(object), record.text(), clientv3.WithLease(lease))
}

func (r record) text() string {
	text, _ := json.Marshal(r) // strings and numbers cannot fail
	return string(text)
}

func (b *backend) locks() string { return b.namespace + "/held/" }

// held is the key of a lock: the bytes of the object.
func (b *backend) held(object applock.Object) string { return b.locks() + object.String() }

// waitingAt is the prefix of the keys of an object's waiters. A slash in the object is escaped.
func (b *backend) waitingAt(object applock.Object) string {
	return b.namespace + "/waiting/" + url.PathEscape(object.String()) + "/"
}

// waiting is the key of a waiter of this program.
func (b *backend) waiting(object applock.Object, operator string) string {
	return b.waitingAt(object) + b.program + "/" + operator
}

func (b *backend) objectOf(key []byte) (applock.Object, error) {
	return applock.ParseObject(strings.TrimPrefix(string(key), b.locks()))
}

// wholeSeconds is a TTL in etcd's unit, rounded up.
func wholeSeconds(ttl time.Duration) int64 { return int64((ttl + time.Second - 1) / time.Second) }
