package main

import (
	"fmt"
	"strings"

	"github.com/applock/applock/applock"
)

// metric is one name in the text format of Prometheus: https://prometheus.io/docs/instrumenting/exposition_formats/
type metric struct {
	name, help string
	// samples adds those of one type and department. A duration of nothing has none: 0 would look like one.
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
				m.sample(stats, "", wholeSeconds(stats.Oldest))
			}
		}},
		{"applock_next_expiry_seconds", "Time until the next live lock ends unless it is renewed.", func(m *metricsText, stats applock.Stats) {
			if stats.Live > 0 {
				m.sample(stats, "", wholeSeconds(stats.NextExpiry))
			}
		}},
		{"applock_waiters", "Operators who wait for a lock.", func(m *metricsText, stats applock.Stats) {
			m.sample(stats, "", stats.Waiters)
		}},
		{"applock_longest_wait_seconds", "Time since the first of those who wait began to.", func(m *metricsText, stats applock.Stats) {
			if stats.Waiters > 0 {
				m.sample(stats, "", wholeSeconds(stats.LongestWait))
			}
		}},
	}
}

// metricsOf returns statistics in the text format.
func metricsOf(stats []applock.Stats) string {
	var m metricsText
	for _, metric := range metrics() {
		m.name = metric.name
		fmt.Fprintf(&m.text, "# HELP %s %s\n# TYPE %s gauge\n", metric.name, metric.help, metric.name)
		for _, of := range stats {
			metric.samples(&m, of)
		}
	}
	return m.text.String()
}

// metricsText is the text so far.
type metricsText struct {
	text strings.Builder
	name string
}

func (m *metricsText) sample(stats applock.Stats, state string, value int64) {
	fmt.Fprintf(&m.text, `%s{type="%s",department="%s"`, m.name, label(stats.ObjectType), label(stats.Department))
	if state != "" {
		fmt.Fprintf(&m.text, `,state="%s"`, state)
	}
	fmt.Fprintf(&m.text, "} %d\n", value)
}

// label escapes the value of a label.
func label(value string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value)
}
