package etcdlock

import "github.com/applock/applock/applock/lease"

// NewBackend returns what New keeps leases on.
func NewBackend(config Config) lease.Backend { return newBackend(config) }
