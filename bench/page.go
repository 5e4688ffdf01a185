//go:build unix

package main

import (
	"errors"
	"fmt"
	"io/fs"
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
	"times when they are smaller.\n\n"

// picture is a chart of the page.
type picture struct {
	file, alt, title string
	wanted           func(*figure) bool
	// below is what is said about it.
	below string
}

func pictures() []picture {
	return []picture{
		{
			file: "cycles.svg", alt: "Locks taken and released, durable", title: "Taken and released by 8 at a time, a second (durable)",
			wanted: func(f *figure) bool { return isCycles(f) && !f.Volatile },
		},
		{
			file: "cycles-volatile.svg", alt: "Locks taken and released, not durable",
			title:  "Taken and released by 8 at a time, a second (not durable)",
			wanted: func(f *figure) bool { return isCycles(f) && f.Volatile },
		},
		{
			file: "hand-off.svg", alt: "Hand-off", title: "From the release to the next holder, ms",
			wanted: func(f *figure) bool { return strings.HasPrefix(f.Name, "hand-off, ") },
		},
		{
			file: "hot-key.svg", alt: "Deposits into one wallet",
			title:  "Deposits into one wallet, by 8 at a time, a second (grey is the limit: a flush for each)",
			wanted: func(f *figure) bool { return strings.HasPrefix(f.Name, hotKeyPrefix) },
			below: "The limit of a hot key is one flush for each deposit. The next deposit may only begin when the one before is there to stay, so\n" +
				"no two of them share a flush, as commits that do not wait for each other do (group commit). A lease adds the commits of get\n" +
				"and release: a third of the grey bar. A release passes the object on to a waiter of the same program by\n" +
				"one commit: half of it.\n\n",
		},
	}
}

// folderOf is where the charts and values of a page are.
func folderOf(page string) string { return strings.TrimSuffix(page, filepath.Ext(page)) }

// readLarge reads the large run that belongs to a page, if there is one.
func (r *report) readLarge(page string) error {
	large, err := readJSON(filepath.Join(folderOf(page), "huge.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	r.large = large
	return err
}

// writePage writes the page, and its charts and values into the folder of its name.
func (r *report) writePage(path string) error {
	folder := folderOf(path)
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // for all to read
		return err
	}
	top := fmt.Sprintf(preface, filepath.Base(folder))
	files := map[string]string{}
	for _, each := range pictures() {
		if len(r.bars(each.wanted)) > 0 {
			files[filepath.Join(folder, each.file)] = r.chart(each.title, each.wanted)
			top += fmt.Sprintf("![%s](%s/%s)\n\n%s", each.alt, filepath.Base(folder), each.file, each.below)
		}
	}
	files[path] = top + r.text()
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
	r.writeCircumstances(&text)
	if r.Smoke {
		text.WriteString("So little was measured that the values mean nothing.\n\n")
	}
	products := [][]string{{"product", "version", "settings"}}
	for _, name := range slices.Sorted(maps.Keys(r.Machine.Products)) {
		products = append(products, []string{name, r.Machine.Products[name].Version, r.Machine.Products[name].Settings})
	}
	writeTable(&text, products)
	text.WriteString("\n## What it is to reach\n\n")
	writeTable(&text, r.judged())
	r.writeMissing(&text)
	text.WriteString(r.missed())
	text.WriteString("\n## All figures\n\n### Durable: it is there after a power cut, if the settings above say so\n\n")
	writeTable(&text, r.lines(func(f *figure) bool { return !f.Volatile }))
	text.WriteString("\n### Not durable: it ends with a process or with the server's memory\n\n")
	writeTable(&text, r.lines(func(f *figure) bool { return f.Volatile }))
	r.writeHeld(&text)
	if r.large != nil {
		text.WriteString("\n### Large tables, in a run of their own\n\n")
		r.large.writeCircumstances(&text)
		writeTable(&text, r.large.lines(func(*figure) bool { return true }))
		r.large.writeMissing(&text)
	}
	return text.String()
}

// writeCircumstances tells where and when it was measured, and how much.
func (r *report) writeCircumstances(text *strings.Builder) {
	m := r.Machine
	fmt.Fprintf(text, "%s, commit %s, %d cores (%s), %s, %s, load %s before and %s after.\n\n",
		m.Time.UTC().Format("2006-01-02 15:04 UTC"), m.Commit, m.Cores, m.CPU, m.System, m.Go, m.LoadBefore, m.LoadAfter)
	fmt.Fprintf(text, "Scale: %s.\n\n", r.Scale)
}

func (r *report) writeMissing(text *strings.Builder) {
	for _, reason := range r.Missing {
		fmt.Fprintf(text, "\nNot measured: %s.\n", reason)
	}
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
		where := g.product
		if g.baseline != "" {
			where += ", against " + g.baseline
		}
		cells[why] = append(cells[why], fmt.Sprintf("%s (%s)", g.row, where))
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
