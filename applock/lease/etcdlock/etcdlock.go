// Package etcdlock keeps leases in etcd, for programs that have outgrown one database server: a majority of the members decides, and the
// rest may fail. It is a separate module, so that only its users build etcd's client.
//
// A lock is a key, attached to an etcd lease that belongs to this grant alone:
//
//	NAMESPACE/held/customer:42               {"operator_id":"JDOE","department_id":"CS","ttl_seconds":30}
//	NAMESPACE/waiting/customer:42/XY/ASMITH  {"operator_id":"ASMITH","department_id":""}
//
// Each change reads the key, decides, and writes in a transaction that does nothing if the key has changed since.
//
// The fence is the revision of the write that granted the object. A cluster's revisions only grow, so a later grant has a greater fence,
// even after the key was deleted. The key's create revision would not do: it stays when an operator takes over its own grant, or hands it
// on. A renewal that has to write stores the fence in the key's value.
//
// The clock of etcd's leader judges when a lease has expired. A lease may end late, but never early:
//   - TTLs are whole seconds, and at least one and a half election timeouts of the cluster, by default 2 s.
//   - The leader looks for expired leases twice a second.
//   - A new leader does not know how old a lease is, and starts its TTL again. So a crashed holder's object may stay locked for up to
//     another TTL after each change of leader.
//
// A holder trusts its own clock, and ends the lease a tenth of the TTL before etcd may. The clocks need not agree, but must run at the same
// pace.
//
// Waiters are listed by keys, in the order of their calls, under one etcd lease for each program. When the object is free, the program
// whose waiter came first asks first. A watch reports releases and expiries. Between callers of one program an object is passed on.
//
// Run etcd 3.5.23, 3.6.5 or later. In earlier versions a stalled leader may end leases early, or report a renewal of a lease that is gone.
//
// What it does not promise:
//   - A cluster restored from a backup starts with the backup's revisions, so that fences fall. Restore with etcdutl's --bump-revision and
//     --mark-compacted.
//   - Nothing checks the fence for you. Store the greatest fence with the data, and refuse writes with a smaller one.
//   - Without a majority nothing can be taken, renewed or released. Leases then end at their holders when their TTL is over.
package etcdlock

import (
	"fmt"
	"log/slog"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// Config says where the locks are.
type Config struct {
	// Client is the caller's, and stays open after Close of the leases. It should name all members, and have a DialKeepAliveTime and a
	// DialKeepAliveTimeout, such as 2 s each. Otherwise it keeps asking a member for minutes after its machine has gone.
	Client *clientv3.Client
	// Namespace is the prefix of the keys, and separates independent locks: up to 64 bytes without a slash. Empty is "applock". The etcd user
	// must be allowed to read and write the keys that begin with it and a slash.
	Namespace string
	// Logger gets errors from the background; nil logs nothing.
	Logger *slog.Logger
	// Hooks observe the leases.
	Hooks lease.Hooks
}

const (
	defaultNamespace = "applock"
	maxNamespace     = 64
)

// New returns leases in etcd. It returns ErrInvalid for an invalid configuration. It does not contact the cluster.
func New(config Config) (*lease.Leases, error) {
	if config.Client == nil {
		return nil, fmt.Errorf("etcdlock: %w", &applock.InvalidError{Argument: "client", Reason: "must be given"})
	}
	if strings.Contains(config.Namespace, "/") || len(config.Namespace) > maxNamespace {
		return nil, fmt.Errorf("etcdlock: %w", &applock.InvalidError{
			Argument: "namespace", Reason: fmt.Sprintf("must have at most %d bytes, and no slash", maxNamespace),
		})
	}
	return lease.New(newBackend(config), lease.Config{Logger: config.Logger, Hooks: config.Hooks}), nil
}
