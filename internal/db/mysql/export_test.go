package mysql

import "github.com/applock/applock/internal/db"

// InterpretError is interpretError, for the contract suite.
func InterpretError(err error) error { return interpretError(err) }

// ConnectionsKnown is how many connections a driver remembers.
func ConnectionsKnown(d db.Driver) int { return len(d.(*Driver).settings.isOff) }
