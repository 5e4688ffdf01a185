package redislock

import (
	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/lease"
)

// NewBackend returns what New keeps leases on.
func NewBackend(config Config) lease.Backend { return newBackend(config) }

// WholeMilliseconds is a time in the server's unit.
var WholeMilliseconds = wholeMilliseconds

// NewChecking is New, with leases that are checked as often.
var NewChecking = newLeases

// Keys are the keys of an object.
func Keys(namespace string, object applock.Object) []string {
	return (&backend{namespace: namespace}).keys(object)
}
