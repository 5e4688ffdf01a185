//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// report is all that was measured.
type report struct {
	Machine host `json:"machine"`
	// Smoke is true when so little was measured that the values mean nothing.
	Smoke   bool      `json:"smoke,omitempty"`
	Figures []*figure `json:"figures"`
}

// host is where it was measured.
type host struct {
	Time       time.Time         `json:"time"`
	CPU        string            `json:"cpu"`
	Cores      int               `json:"cores"`
	Go         string            `json:"go"`
	Products   map[string]string `json:"products"`
	LoadBefore string            `json:"load_before"`
	LoadAfter  string            `json:"load_after"`
}

// figure is one line of the report.
type figure struct {
	Product string `json:"product"`
	Name    string `json:"name"`
	Unit    string `json:"unit"`
	// Values has one of each run.
	Values []float64 `json:"values"`
	// Baseline says what the same is by hand, and BaselineValues has that of each run.
	Baseline       string    `json:"baseline,omitempty"`
	BaselineValues []float64 `json:"baseline_values,omitempty"`
	// AtMost is what it is to reach, 0 if that has not been said.
	AtMost float64 `json:"at_most,omitempty"`
}

// note adds a value. The figure says what it is of.
func (r *report) note(f figure, value float64) {
	known := r.find(f)
	known.Values = append(known.Values, value)
}

// compare is note with what the same is by hand.
func (r *report) compare(f figure, value, byHand float64) {
	r.note(f, value)
	known := r.find(f)
	known.BaselineValues = append(known.BaselineValues, byHand)
}

func (r *report) find(f figure) *figure {
	for _, known := range r.Figures {
		if known.Product == f.Product && known.Name == f.Name {
			return known
		}
	}
	r.Figures = append(r.Figures, &f)
	return &f
}

func (r *report) writeJSON(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o600)
}

// print writes a table in Markdown.
func (r *report) print(out io.Writer) {
	m := r.Machine
	fmt.Fprintf(out, "%s, %d cores (%s), %s, load %s before and %s after\n",
		m.Time.Format("2006-01-02 15:04"), m.Cores, m.CPU, m.Go, m.LoadBefore, m.LoadAfter)
	for _, product := range slices.Sorted(maps.Keys(m.Products)) {
		fmt.Fprintf(out, "%s %s\n", product, m.Products[product])
	}
	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 1, ' ', tabwriter.Debug)
	fmt.Fprintln(table, "| what\t product\t median\t least to most\t to reach\t by hand\t ratio\t")
	fmt.Fprintln(table, "|---\t---\t---\t---\t---\t---\t---\t")
	for _, f := range r.Figures {
		fmt.Fprintf(table, "| %s\t %s\t %s\t %s to %s\t %s\t %s\t %s\t\n",
			f.Name, f.Product, quantity(median(f.Values), f.Unit), round(slices.Min(f.Values)), round(slices.Max(f.Values)),
			f.toReach(!r.Smoke), f.byHand(), f.ratio())
	}
	_ = table.Flush() // to a terminal or a file that people read
}

func (f *figure) toReach(judge bool) string {
	if f.AtMost == 0 {
		return ""
	}
	goal := quantity(f.AtMost, f.Unit)
	switch {
	case !judge:
		return goal
	case median(f.Values) <= f.AtMost:
		return goal + ": reached"
	}
	return goal + ": missed"
}

func quantity(value float64, unit string) string { return strings.TrimSpace(round(value) + " " + unit) }

func (f *figure) byHand() string {
	if len(f.BaselineValues) == 0 {
		return ""
	}
	return f.Baseline + " " + quantity(median(f.BaselineValues), f.Unit)
}

// ratio is the median of the runs' own ratios: what disturbs one run disturbs both sides.
func (f *figure) ratio() string {
	if len(f.BaselineValues) == 0 {
		return ""
	}
	ratios := make([]float64, len(f.Values))
	for i, value := range f.Values {
		ratios[i] = value / f.BaselineValues[i]
	}
	return round(median(ratios))
}

// round has three significant digits, and all digits of large numbers.
func round(value float64) string {
	digits := 2
	if value != 0 {
		digits = max(0, 2-int(math.Floor(math.Log10(math.Abs(value)))))
	}
	text := strconv.FormatFloat(value, 'f', digits, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

func median(values []float64) float64 { return percentile(values, 50) }

// percentile returns the value that so many of a hundred do not exceed.
func percentile(values []float64, percent int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	place := (len(sorted)*percent + 99) / 100
	return sorted[max(place, 1)-1]
}

// milliseconds makes plain numbers of times.
func milliseconds(times []time.Duration) []float64 {
	values := make([]float64, len(times))
	for i, each := range times {
		values[i] = float64(each) / float64(time.Millisecond)
	}
	return values
}

func machine(ctx context.Context, servers []server) (host, error) {
	h := host{
		Time: time.Now(), CPU: processorName(), Cores: runtime.NumCPU(), Go: runtime.Version(),
		Products: map[string]string{}, LoadBefore: loadAverage(),
	}
	for _, s := range servers {
		version, err := s.version(ctx)
		if err != nil {
			return h, fmt.Errorf("%s: %w", s.product, err)
		}
		h.Products[s.product] = version
	}
	return h, nil
}

// loadAverage tells how busy the machine has been in the last minute, with others' work as well.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

func processorName() string {
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer func() { _ = file.Close() }() // it was only read
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, value, found := strings.Cut(lines.Text(), ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
