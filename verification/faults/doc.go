// Package faults holds only tests: histories of calls by many processes, while servers and clients are killed and stopped and connections
// are cut, silenced and slowed. Porcupine compares them with a model of a lock. `make test-faults` runs them. It is a module of its own,
// so that users do not depend on the checker.
package faults
