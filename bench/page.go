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

const resultsPreface = "# Results of the bench\n\n" +
	"For developers of applock. `make bench` made this page. It has each goal with its verdict, why its limit is where it is, and the reason for each missed goal.\n" +
	"[The bench](README.md) says what each line measures, and how to print every figure of this run.\n\n" +
	"Alternatives run in turns, A B A B, in the same run. A ratio is the median of the rounds' ratios. **Compare the ratios**: other values depend on the\n" +
	"machine and its load. Rates are better when they are greater, times when they are smaller.\n\n"

// picture is a chart of the page.
type picture struct {
	file, alt, title string
	wanted           func(*figure) bool
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
			title:  "Deposits a second into one wallet, by 8 (grey: the limit)",
			wanted: func(f *figure) bool { return strings.HasPrefix(f.Name, hotKeyPrefix) },
		},
	}
}

// folderOf is the folder of a page's charts and values.
func folderOf(page string) string { return strings.TrimSuffix(page, filepath.Ext(page)) }

// writePage writes the page for readers who choose, with its charts and values in the folder of its name. It links the results.
func (r *report) writePage(path, results string) error {
	folder := folderOf(path)
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // for all to read
		return err
	}
	link, err := filepath.Rel(filepath.Dir(path), results)
	if err != nil {
		return err
	}
	files := map[string]string{path: r.choosePage(folder, filepath.ToSlash(link))}
	for _, each := range pictures() {
		if len(r.bars(each.wanted)) > 0 {
			files[filepath.Join(folder, each.file)] = r.chart(each.title, each.wanted)
		}
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil { //nolint:gosec // for all to read
			return err
		}
	}
	return r.writeJSON(filepath.Join(folder, "run.json"))
}

// writeResults writes the report without the single figures, which run.json has.
func (r *report) writeResults(path string) error {
	return os.WriteFile(path, []byte(resultsPreface+r.verdicts()+r.heldText()), 0o644) //nolint:gosec // for all to read
}

func isCycles(f *figure) bool {
	return strings.HasPrefix(f.Name, "cycles, 8 connections: ") || strings.HasPrefix(f.Name, "cycles in Java, 8 threads: ")
}

// text is the report in Markdown.
func (r *report) text() string {
	var text strings.Builder
	text.WriteString(r.verdicts() + "\n## All figures\n\n### Durable: it is there after a power cut, if the settings above say so\n\n")
	writeTable(&text, r.lines(func(f *figure) bool { return !f.Volatile }))
	text.WriteString("\n### Not durable: it ends with a process or with the server's memory\n\n")
	writeTable(&text, r.lines(func(f *figure) bool { return f.Volatile }))
	return text.String() + r.heldText()
}

// verdicts has where it was measured, and the goals.
func (r *report) verdicts() string {
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
	text.WriteString("\n## Goals\n\n")
	writeTable(&text, r.judged())
	r.writeMissing(&text)
	return text.String() + "\n## Why the limits are where they are\n" + listed(goals(), func(g goal) string { return g.because }) + r.missed()
}

// writeCircumstances writes when and where it was measured.
func (r *report) writeCircumstances(text *strings.Builder) {
	m := r.Machine
	writeTable(text, [][]string{
		{"when", "commit", "cores", "system", "Go", "load before", "load after"},
		{
			m.Time.UTC().Format("2006-01-02 15:04 UTC"), m.Commit, fmt.Sprintf("%d (%s)", m.Cores, m.CPU), m.System, m.Go,
			m.LoadBefore, m.LoadAfter,
		},
	})
	text.WriteString("\n")
}

func (r *report) writeMissing(text *strings.Builder) {
	for _, reason := range r.Missing {
		fmt.Fprintf(text, "\nNot measured: %s.\n", reason)
	}
}

// judged returns a line for each goal.
func (r *report) judged() [][]string {
	lines := [][]string{{"what", "on", "against", "must", "measured", "verdict"}}
	for _, g := range goals() {
		measured, verdict := g.judge(r)
		sign := "≤ "
		if g.atLeast {
			sign = "≥ "
		}
		lines = append(lines, []string{
			g.row, g.product, g.against, sign + quantity(g.must, g.unit), measured, verdict,
		})
	}
	return lines
}

// missed lists the known reasons for missed goals.
func (r *report) missed() string {
	isReached := func(g goal) bool {
		_, verdict := g.judge(r)
		return verdict != missed
	}
	text := listed(slices.DeleteFunc(goals(), isReached), goal.why)
	if text == "" {
		return ""
	}
	return "\n## Reasons for missed goals\n" + text
}

// listed has each text that is known of goals once, with the goals.
func listed(goals []goal, why func(goal) string) string {
	var texts []string
	rows := map[string][]string{}
	for _, g := range goals {
		row := g.row
		if g.against != "" {
			row += " against " + g.against
		}
		switch known := rows[why(g)]; {
		case why(g) == "" || slices.Contains(known, row):
			continue
		case known == nil:
			texts = append(texts, why(g))
		}
		rows[why(g)] = append(rows[why(g)], row)
	}
	var text strings.Builder
	for _, each := range texts {
		fmt.Fprintf(&text, "\n- **%s.** %s.\n", strings.Join(rows[each], "; "), each)
	}
	return text.String()
}

// lines returns a line for each wanted figure.
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

// writeTable writes a Markdown table with aligned columns. The first line is the heading.
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
