// Package soak holds a test alone: processes that hold thousands of leases on every backend, while processes are stopped and
// killed and connections are cut, silenced and slowed. `make soak` runs it at length, `make test` for some seconds.
package soak
