// Package soak holds only a test: processes hold thousands of leases on every backend, while processes are stopped and killed and
// connections are cut, silenced and slowed. `make soak` runs it at length, `make test` for some seconds.
package soak
