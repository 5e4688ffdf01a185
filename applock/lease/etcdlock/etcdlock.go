// Package etcdlock keeps leases in etcd, for programs that have outgrown one database server: a majority of the members
// decides, and survives the loss of the others. It is a module of its own, so that nobody else has etcd's client to build.
//
// A lock is a key, attached to a lease of etcd that is this grant's alone:
//
//	NAMESPACE/held/customer:42               {"operator_id":"JDOE","department_id":"CS","ttl_seconds":30}
//	NAMESPACE/waiting/customer:42/XY/ASMITH  {"operator_id":"ASMITH","department_id":""}
//
// Each change reads the key, decides, and writes in a transaction that does nothing if the key has changed since.
//
// The fence is the revision of the write that granted the object. All revisions of a cluster grow, so a later grant has a
// greater one, also after the key was deleted. The key's create revision would not do: it stays when an operator takes over its
// own grant, or hands it on. A renewal that has to write keeps the fence, in the key's value.
//
// etcd's clock, on its leader, judges when a lease has expired. It ends late and never early:
//   - TTLs are whole seconds, and at least one and a half election timeouts of the cluster: 2 s unless it is set otherwise.
//   - The leader looks twice a second what has expired.
//   - A new leader does not know how old a lease is, and begins its TTL anew. So the object of a crashed holder may stay locked for
//     as much as another TTL after each change of the leader.
//
// A holder trusts its own clock, which ends the lease by a tenth earlier than etcd may. For that the clocks need not agree, but run
// at the same pace.
//
// Who waits is listed by keys under a lease for each program, in the order of their coming: when the object is free, the program that came
// first asks first. A watch tells of what is released, and of what expires.
//
// Run etcd 3.5.23, 3.6.5 or a later version: in earlier ones a leader that was stalled may end leases early, or say that it has renewed
// one that is gone.
//
// What it does not promise:
//   - A cluster that is restored from a backup begins with the revisions of the backup, and fences fall. Restore with
//     etcdutl's --bump-revision and --mark-compacted.
//   - The fence does not assert itself: keep the greatest one beside the data, and refuse writes with a smaller one.
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

// Config tells New where the locks are.
type Config struct {
	// Client is the caller's. Close of the leases leaves it open. Have it name all members, and give it a DialKeepAliveTime and a
	// DialKeepAliveTimeout, such as 2 s each: otherwise it goes on asking a member for minutes whose machine has gone.
	Client *clientv3.Client
	// Namespace begins the keys, and separates locks that have nothing to do with each other: up to 64 bytes without a
	// slash. Empty is "applock". A user of etcd needs the rights to read and write the keys that begin with it and a slash.
	Namespace string
	// Logger gets what goes wrong in the background; nil logs nothing.
	Logger *slog.Logger
	// Hooks are told of the leases.
	Hooks lease.Hooks
}

const (
	defaultNamespace = "applock"
	maxNamespace     = 64
)

// New returns leases in etcd. It returns ErrInvalid for a configuration that cannot be used. It asks the cluster nothing.
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
