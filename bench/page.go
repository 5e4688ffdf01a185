//go:build unix

package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const preface = "# Performance\n\n" +
	"`make bench` made this page, its charts and [all values](%[1]s/run.json) in one run. " +
	"`bench/README.md` tells how to run it and what each line is.\n\n" +
	"Those that are compared take turns, A B A B, in the same run; a ratio is the median of the rounds' own. **The ratio is what to\n" +
	"compare**: the rest is as fast as one machine was on one day, with what else it did. Rates are better when they are greater,\n" +
	"times when they are smaller.\n\n" +
	"![Locks taken and released, durable](%[1]s/cycles.svg)\n\n" +
	"![Locks taken and released, not durable](%[1]s/cycles-volatile.svg)\n\n" +
	"![Hand-off](%[1]s/hand-off.svg)\n\n"

// writePage writes the page, and its charts and values into the folder of its name.
func (r *report) writePage(path string) error {
	folder := strings.TrimSuffix(path, filepath.Ext(path))
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // for all to read
		return err
	}
	files := map[string]string{
		path: fmt.Sprintf(preface, filepath.Base(folder)) + r.text(),
		filepath.Join(folder, "cycles.svg"): r.chart("Taken and released by 8 at a time, a second (durable)",
			func(f *figure) bool { return isCycles(f) && !f.Volatile }),
		filepath.Join(folder, "cycles-volatile.svg"): r.chart("Taken and released by 8 at a time, a second (not durable)",
			func(f *figure) bool { return isCycles(f) && f.Volatile }),
		filepath.Join(folder, "hand-off.svg"): r.chart("From the release to the next holder, ms",
			func(f *figure) bool { return strings.HasPrefix(f.Name, "hand-off, ") }),
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil { //nolint:gosec // for all to read
			return err
		}
	}
	return r.writeJSON(filepath.Join(folder, "run.json"))
}

func isCycles(f *figure) bool {
	return strings.HasPrefix(f.Name, "cycles, 8 connections: ") || strings.HasPrefix(f.Name, "cycles in Java, 8 threads: ")
}

// text is the report in Markdown.
func (r *report) text() string {
	var text strings.Builder
	m := r.Machine
	fmt.Fprintf(&text, "%s, commit %s, %d cores (%s), %s, %s, load %s before and %s after.\n\n",
		m.Time.UTC().Format("2006-01-02 15:04 UTC"), m.Commit, m.Cores, m.CPU, m.System, m.Go, m.LoadBefore, m.LoadAfter)
	fmt.Fprintf(&text, "Scale: %s.\n\n", r.Scale)
	if r.Smoke {
		text.WriteString("So little was measured that the values mean nothing.\n\n")
	}
	products := [][]string{{"product", "version", "settings"}}
	for _, name := range slices.Sorted(maps.Keys(m.Products)) {
		products = append(products, []string{name, m.Products[name].Version, m.Products[name].Settings})
	}
	writeTable(&text, products)
	text.WriteString("\n## What it is to reach\n\n")
	writeTable(&text, r.judged())
	for _, reason := range r.Missing {
		fmt.Fprintf(&text, "\nNot measured: %s.\n", reason)
	}
	text.WriteString(r.missed())
	text.WriteString("\n## All figures\n\n### Durable: it is there after a power cut, if the settings above say so\n\n")
	writeTable(&text, r.lines(func(f *figure) bool { return !f.Volatile }))
	text.WriteString("\n### Not durable: it ends with a process or with the server's memory\n\n")
	writeTable(&text, r.lines(func(f *figure) bool { return f.Volatile }))
	return text.String()
}

// judged has a line for each goal.
func (r *report) judged() [][]string {
	lines := [][]string{{"what", "on", "against", "must", "hoped for", "measured", "verdict"}}
	for _, g := range goals() {
		measured, verdict := g.judge(r)
		sign := "≤ "
		if g.atLeast {
			sign = "≥ "
		}
		lines = append(lines, []string{
			g.row, g.product, g.baseline, sign + quantity(g.must, g.unit), sign + quantity(g.hoped, g.unit), measured, verdict,
		})
	}
	return lines
}

// missed tells why, where that is known, each reason once.
func (r *report) missed() string {
	var reasons []string
	cells := map[string][]string{}
	for _, g := range goals() {
		why := g.why()
		if _, verdict := g.judge(r); verdict != missed || why == "" {
			continue
		}
		if cells[why] == nil {
			reasons = append(reasons, why)
		}
		cells[why] = append(cells[why], fmt.Sprintf("%s (%s, against %s)", g.row, g.product, g.baseline))
	}
	var text strings.Builder
	for _, why := range reasons {
		fmt.Fprintf(&text, "\n- %s: %s.\n", strings.Join(cells[why], "; "), why)
	}
	if text.Len() == 0 {
		return ""
	}
	return "\nWhy it is missed, where that is known:\n" + text.String()
}

// lines has a line for each of some figures.
func (r *report) lines(wanted func(*figure) bool) [][]string {
	lines := [][]string{{"what", "on", "median", "average", "least", "p99", "most", "against", "its median", "its average", "ratio"}}
	for _, f := range r.Figures {
		if !wanted(f) {
			continue
		}
		line := []string{
			f.Name, f.Product, quantity(median(f.Values), f.Unit), round(average(f.Values)), round(slices.Min(f.Values)), "",
			round(slices.Max(f.Values)), f.Baseline, "", "", "",
		}
		if f.Samples {
			line[5] = round(percentile(f.Values, 99))
		}
		if f.Baseline != "" {
			line[8], line[9] = quantity(median(f.BaselineValues), f.Unit), round(average(f.BaselineValues))
			line[10] = round(f.ratio())
		}
		lines = append(lines, line)
	}
	return lines
}

// writeTable writes a table in Markdown, which is one to the eye as well. The first line is the heading.
func writeTable(text *strings.Builder, lines [][]string) {
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, field := range line {
			widths[i] = max(widths[i], len([]rune(field)))
		}
	}
	for i, line := range lines {
		for column, field := range line {
			fmt.Fprintf(text, "| %-*s ", widths[column], field)
		}
		text.WriteString("|\n")
		if i == 0 {
			text.WriteString(strings.Repeat("|---", len(line)) + "|\n")
		}
	}
}
