package pgadvisory

import (
	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/internal/sessions"
)

// NewBackend returns what New keeps leases on.
func NewBackend(config Config) (applock.Backend, error) {
	server, common, err := configured(config)
	if err != nil {
		return nil, err
	}
	return sessions.NewBackend(server, common), nil
}
