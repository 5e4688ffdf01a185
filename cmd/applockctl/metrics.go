package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/applock/applock/applock"
	"github.com/applock/applock/cmd/applockctl/internal/table"
	"github.com/applock/applock/internal/inspect"
)

// metric is one name in the text format of Prometheus: https://prometheus.io/docs/instrumenting/exposition_formats/
type metric struct {
	name, help string
	// samples adds the samples of one type and department. A duration without a value adds none, since 0 would be a value.
	samples func(m *metricsText, stats applock.Stats)
}

func metrics() []metric {
	return []metric{
		{"applock_locks", "Rows of the lock table: live locks, and free objects that have not been purged.", func(m *metricsText, stats applock.Stats) {
			m.sample(stats, "live", stats.Live)
			m.sample(stats, "expired", stats.Expired)
		}},
		{"applock_oldest_lock_age_seconds", "Time since the start of the oldest live grant.", func(m *metricsText, stats applock.Stats) {
			if stats.Live > 0 {
				m.sample(stats, "", table.WholeSeconds(stats.Oldest))
			}
		}},
		{"applock_next_expiry_seconds", "Time until the next live lock ends unless it is renewed.", func(m *metricsText, stats applock.Stats) {
			if stats.Live > 0 {
				m.sample(stats, "", table.WholeSeconds(stats.NextExpiry))
			}
		}},
		{"applock_waiters", "Operators who wait for a lock.", func(m *metricsText, stats applock.Stats) {
			m.sample(stats, "", stats.Waiters)
		}},
		{"applock_longest_wait_seconds", "Time since the longest waiter began to wait.", func(m *metricsText, stats applock.Stats) {
			if stats.Waiters > 0 {
				m.sample(stats, "", table.WholeSeconds(stats.LongestWait))
			}
		}},
	}
}

// metricsOf returns statistics in Prometheus' text format.
func metricsOf(stats []applock.Stats) string {
	var m metricsText
	for _, metric := range metrics() {
		m.begin(metric.name, metric.help)
		for _, of := range stats {
			metric.samples(&m, of)
		}
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
	for _, metric := range []struct {
		name, help string
		value      int64
	}{
		{"applock_held_snapshot_seconds", "Age of the oldest snapshot or transaction for which the server keeps old versions of rows.", table.WholeSeconds(oldest)},
		{"applock_held_snapshot_transactions", "Transactions that have begun since then; 0 where the server does not count them.", transactions},
		{"applock_kept_versions", "Old versions that the server keeps: dead rows of appl_lock, or the history list of InnoDB.", held.Kept},
	} {
		m.begin(metric.name, metric.help)
		fmt.Fprintf(&m.text, "%s %d\n", metric.name, metric.value)
	}
	return m.text.String()
}

type metricsText struct {
	text strings.Builder
	name string
}

func (m *metricsText) begin(name, help string) {
	m.name = name
	fmt.Fprintf(&m.text, "# HELP %s %s\n# TYPE %s gauge\n", name, help, name)
}

func (m *metricsText) sample(stats applock.Stats, state string, value int64) {
	fmt.Fprintf(&m.text, `%s{type="%s",department="%s"`, m.name, label(stats.ObjectType), label(stats.Department))
	if state != "" {
		fmt.Fprintf(&m.text, `,state="%s"`, state)
	}
	fmt.Fprintf(&m.text, "} %d\n", value)
}

func label(value string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value)
}
