package etcdlock

import "github.com/applock/applock/applock"

// NewBackend returns what New keeps leases on.
func NewBackend(config Config) applock.Backend { return newBackend(config) }
