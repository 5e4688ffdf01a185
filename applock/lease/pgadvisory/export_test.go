package pgadvisory

import (
	"github.com/applock/applock/applock/lease"
	"github.com/applock/applock/applock/lease/internal/sessions"
)

// ErrStandby is errStandby.
var ErrStandby = errStandby

// NewBackend returns what New keeps leases on.
func NewBackend(config Config) (lease.Backend, error) {
	server, common, err := configured(config)
	if err != nil {
		return nil, err
	}
	return sessions.NewBackend(server, common), nil
}
