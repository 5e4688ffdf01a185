package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
	"github.com/applock/applock/internal/inspect"
)

// metricsText is Prometheus' text format: https://prometheus.io/docs/instrumenting/exposition_formats/
type metricsText struct{ text strings.Builder }

// sample is a value with its labels, which are names and values in turn.
type sample struct {
	labels []string
	value  int64
}

func (m *metricsText) family(name, help string, samples ...sample) {
	fmt.Fprintf(&m.text, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
	for _, s := range samples {
		var labels []string
		for i := 0; i+1 < len(s.labels); i += 2 {
			labels = append(labels, fmt.Sprintf(`%s="%s"`, s.labels[i], label(s.labels[i+1])))
		}
		m.text.WriteString(name)
		if len(labels) > 0 {
			m.text.WriteString("{" + strings.Join(labels, ",") + "}")
		}
		fmt.Fprintf(&m.text, " %d\n", s.value)
	}
}

func label(value string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value)
}

// metricsOf returns statistics in Prometheus' text format. What there is none of has no sample.
func metricsOf(stats []applock.Stats) string {
	var locks, oldest, next, waiters, longest []sample
	for _, of := range stats {
		labels := []string{"type", of.ObjectType, "department", of.Department}
		add := func(to *[]sample, count, value int64, more ...string) {
			if count > 0 {
				*to = append(*to, sample{append(labels[:len(labels):len(labels)], more...), value})
			}
		}
		add(&locks, of.Live, of.Live, "state", "live")
		add(&locks, of.Expired, of.Expired, "state", "expired")
		add(&oldest, of.Live, table.WholeSeconds(of.Oldest))
		add(&next, of.Live, table.WholeSeconds(of.NextExpiry))
		add(&waiters, of.Waiters, of.Waiters)
		add(&longest, of.Waiters, table.WholeSeconds(of.LongestWait))
	}
	var m metricsText
	m.family("applock_locks", "Rows of the lock table: live locks, and free objects that have not been purged.", locks...)
	m.family("applock_oldest_lock_age_seconds", "Time since the start of the oldest live grant.", oldest...)
	m.family("applock_next_expiry_seconds", "Time until the next live lock ends unless it is renewed.", next...)
	m.family("applock_waiters", "Operators who wait for a lock.", waiters...)
	m.family("applock_longest_wait_seconds", "Time since the longest waiter began to wait.", longest...)
	return m.text.String()
}

// metricsOfFigures returns the figures in Prometheus' text format.
func metricsOfFigures(found []figure) string {
	var m metricsText
	for _, f := range found {
		m.family(f.name, f.help, f.samples...)
	}
	return m.text.String()
}

// metricsOfHeld returns the age of the oldest held snapshot in Prometheus' text format: 0 if there is none, no sample if it cannot be seen.
func metricsOfHeld(held *inspect.HeldRows) string {
	if held == nil {
		return ""
	}
	var oldest time.Duration
	var transactions int64
	for _, holder := range held.Holders {
		oldest, transactions = max(oldest, holder.Age), max(transactions, holder.Transactions)
	}
	var m metricsText
	m.family("applock_held_snapshot_seconds", "Age of the oldest snapshot or transaction for which the server keeps old versions of rows.",
		sample{value: table.WholeSeconds(oldest)})
	m.family("applock_held_snapshot_transactions", "Transactions that have begun since then; 0 where the server does not count them.",
		sample{value: transactions})
	m.family("applock_kept_versions", "Old versions that the server keeps: dead rows of appl_lock, or the history list of InnoDB.",
		sample{value: held.Kept})
	return m.text.String()
}
