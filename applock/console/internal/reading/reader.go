// Package reading makes the pages of the console that only read: the lists of locks, waiters, events and numbers, and the data for them. It
// changes nothing in the database.
package reading

import (
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/applock/console/internal/pages"
)

// Reader reads the pages of all visitors who share a client. It is safe for concurrent use.
type Reader struct {
	client *applock.Client
	pages  *pages.Pages
	// Most is the number of locks that a snapshot holds.
	Most int
	// Counts are the statistics.
	Counts *Shared[struct{}, []applock.Stats]

	snapshots *Shared[struct{}, *snapshot]
	present   *Shared[struct{}, *present]
}

// Config limits the reads.
type Config struct {
	// Timeout bounds a read that visitors share.
	Timeout time.Duration
	// Interval is how often an open page asks whether anything has changed.
	Interval time.Duration
}

// New returns a reader.
func New(client *applock.Client, pages *pages.Pages, config Config) *Reader {
	return &Reader{
		client: client, pages: pages, Most: locksOfSnapshot,
		Counts:    NewShared[struct{}, []applock.Stats](countsKept, config.Timeout),
		snapshots: NewShared[struct{}, *snapshot](config.Interval/2, config.Timeout),
		present:   NewShared[struct{}, *present](config.Interval/2, config.Timeout),
	}
}
