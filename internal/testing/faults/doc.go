// Package faults holds tests alone: histories of calls by many processes, while servers and clients are killed and stopped and
// connections are cut, silenced and slowed, compared with a model of a lock by porcupine. `make test-faults` runs them. It is a module
// of its own, so that the checker is no business of users.
package faults
