//go:build unix

package main

import (
	"fmt"
	"path/filepath"
	"strings"
)

const (
	heldPrefix = "held snapshot, "
	processor  = "processor, server"
	itsFirst   = "its first tenth"
)

const heldPreface = `
## Under a held snapshot

One idle transaction at REPEATABLE READ holds a snapshot for ten minutes. The server keeps every old version of a row that changes meanwhile.
All sides run on each server at the same time, each on connections of its own. The load of each is 2,000 cycles a minute of one hot object, and
1,000 leases of 30 s, renewed every 10 s by calls for 100 of them. The table compares the last minute with the first. **Read the server's
processor time of a call**: p99 also shows the other work of the machine. The sessions' processor time leaves out background work, such as
InnoDB's purge.

`

const heldLimits = `
Why does it stay so? PostgreSQL appends each new version of a row, and an index leads to all of them, the newest last. The procedures for get,
release and renewal read the index from its end and stop at the first version that they may see. Bare statements by key walk all versions.

The rest grows slowly. About one change in 80 of a hot row begins a new page, inserts an index entry, and reads all versions to see that the key
is unique. A test counts the pages (TestHeavyHeldSnapshotLeavesCallsCheap): after 2,000 cycles a get reads at most 11 pages.

For comparison, procedures that read by key ran at the same time on PostgreSQL 15.18. A cycle of the hot object took 1,175 µs in the first minute
and 4,132 in the last, 3.52 times as much. A renewal of 100 leases took 8,537 and 12,569 µs, 1.47 times as much.

A reader of a view by key, inquire, assert, serialize and the waiters' rows still walk all versions of a row. A renewal writes one version of its
row and changes no indexed column, and its page keeps 30 % free. Under a held snapshot that room is soon used up, and each further version has an
index entry. InnoDB changes rows in place, and only readers of an old snapshot walk its undo log.

goose's locker is its table locker; its lockers of sessions write no rows. ShedLock's statements are sent by hand, not by its library.
`

// readHeld reads a page's runs under a held snapshot, one file each.
func (r *report) readHeld(page string) error {
	paths, err := filepath.Glob(filepath.Join(folderOf(page), "horizon-*.json"))
	if err != nil {
		return err
	}
	for _, path := range paths { // sorted by name
		held, err := readJSON(path)
		if err != nil {
			return err
		}
		r.held = append(r.held, held)
	}
	return nil
}

// heldText has a line for each contender on each server.
func (r *report) heldText() string {
	if len(r.held) == 0 {
		return ""
	}
	var text, kept strings.Builder
	text.WriteString(heldPreface)
	lines := [][]string{{"what", "on", "processor, first minute", "last", "times", "p99, first minute", "last", "times"}}
	for _, run := range r.held {
		lines = append(lines, run.heldLines()...)
		kept.WriteString(run.heldKept())
	}
	writeTable(&text, lines)
	return text.String() + "\n" + kept.String() + heldLimits
}

func (r *report) heldLines() [][]string {
	var lines [][]string
	for _, f := range r.Figures {
		name, isP99 := strings.CutSuffix(strings.TrimPrefix(f.Name, heldPrefix), ": p99")
		if !isP99 || !strings.HasPrefix(f.Name, heldPrefix) {
			continue
		}
		line := []string{name, f.Product + " " + r.version(f.Product), "not known", "", ""}
		if used := r.find(f.Product, heldPrefix+name+": "+processor, itsFirst); used != nil {
			line = append(line[:2], used.firstAndLast()...)
		}
		lines = append(lines, append(line, f.firstAndLast()...))
	}
	return lines
}

// firstAndLast returns the first minute, the last one, and their ratio.
func (f *figure) firstAndLast() []string {
	return []string{quantity(median(f.BaselineValues), f.Unit), quantity(median(f.Values), f.Unit), round(f.ratio())}
}

// version is a product's version number, without the packager's suffix.
func (r *report) version(product string) string {
	number, _, _ := strings.Cut(strings.ReplaceAll(r.Machine.Products[product].Version, "-", " "), " ")
	return number
}

// heldKept says when and where a run was, and how much its server kept at the end.
func (r *report) heldKept() string {
	var kept strings.Builder
	for _, f := range r.Figures {
		if name, ours := strings.CutPrefix(f.Name, "held snapshot: "); ours {
			if kept.Len() == 0 {
				fmt.Fprintf(&kept, "- %s %s, %s, %d cores, load %s before and %s after. In the end: ", f.Product, r.version(f.Product),
					r.Machine.Time.UTC().Format("2006-01-02 15:04 UTC"), r.Machine.Cores, r.Machine.LoadBefore, r.Machine.LoadAfter)
			} else {
				kept.WriteString(", ")
			}
			fmt.Fprintf(&kept, "%s %s", name, quantity(median(f.Values), f.Unit))
		}
	}
	if kept.Len() > 0 {
		kept.WriteString(".\n")
	}
	return kept.String()
}
