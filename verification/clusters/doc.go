// Package clusters holds only tests: locks in clusters of database servers, whose primary is killed, stopped, cut off and switched over.
// `make test-clusters` runs them.
package clusters
