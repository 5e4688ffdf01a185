package inprocess

import (
	"github.com/applock/applock/applock/lease"
)

// NewBackend returns what New keeps leases on.
func NewBackend() lease.Backend { return newBackend() }
