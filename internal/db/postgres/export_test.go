package postgres

import (
	"time"

	"github.com/applock/applock/internal/db"
)

// InterpretError is interpretError, for the contract suite.
func InterpretError(err error) error { return interpretError(err) }

// Impatient makes a listener ask sooner whether the server is still there.
func Impatient(listening db.Listener, pause, limit time.Duration) {
	l := listening.(*listener)
	l.pingPause, l.pingLimit = pause, limit
}
