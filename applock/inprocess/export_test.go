package inprocess

import "github.com/applock/applock/applock"

// NewBackend returns what New keeps leases on.
func NewBackend() applock.Backend { return newBackend() }
