//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// report is all measurements.
type report struct {
	Machine host `json:"machine"`
	// Smoke is true for a run that is too short for meaningful values.
	Smoke   bool      `json:"smoke,omitempty"`
	Figures []*figure `json:"figures"`
	// Missing lists what could not be measured, and why.
	Missing []string `json:"missing,omitempty"`
	// held are earlier runs under a held snapshot, for their own section.
	held []*report
}

// host is the machine of the run.
type host struct {
	Time       time.Time          `json:"time"`
	Commit     string             `json:"commit"`
	CPU        string             `json:"cpu"`
	Cores      int                `json:"cores"`
	System     string             `json:"system"`
	Go         string             `json:"go"`
	Products   map[string]product `json:"products"`
	LoadBefore string             `json:"load_before"`
	LoadAfter  string             `json:"load_after"`
}

// product is a measured product.
type product struct {
	Version string `json:"version"`
	// Settings are the settings that affect the cost of a commit.
	Settings string `json:"settings"`
}

// figure is one line of the report: a value, or a value and its baseline.
type figure struct {
	Product string `json:"product"`
	Name    string `json:"name"`
	Unit    string `json:"unit"`
	// Volatile is true for locks that are only in memory, which are compared with the same kind.
	Volatile bool `json:"volatile,omitempty"`
	// Samples is true if each value is a single measured time, and not the result of a round.
	Samples bool `json:"samples,omitempty"`
	// Values are in the order of the measurements.
	Values []float64 `json:"values"`
	// Baseline names the alternative. BaselineValues are its values, measured in turns with Values.
	Baseline       string    `json:"baseline,omitempty"`
	BaselineValues []float64 `json:"baseline_values,omitempty"`
}

// note adds values to a figure.
func (r *report) note(f figure, values ...float64) { r.compare(f, values, nil) }

// compare is note with the values of the baseline.
func (r *report) compare(f figure, values, baseline []float64) {
	known := r.find(f.Product, f.Name, f.Baseline)
	if known == nil {
		known = &f
		r.Figures = append(r.Figures, known)
	}
	known.Values = append(known.Values, values...)
	known.BaselineValues = append(known.BaselineValues, baseline...)
}

// find returns nil for a figure that was not measured.
func (r *report) find(product, name, baseline string) *figure {
	for _, known := range r.Figures {
		if known.Product == product && known.Name == name && known.Baseline == baseline {
			return known
		}
	}
	return nil
}

func readJSON(path string) (*report, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the developer named it
	if err != nil {
		return nil, err
	}
	var r report
	return &r, json.Unmarshal(text, &r)
}

func (r *report) writeJSON(path string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	text = append(bytes.ReplaceAll(text, []byte("},{"), []byte("},\n{")), '\n') // a figure a line
	return os.WriteFile(path, text, 0o644)                                      //nolint:gosec // for all to read
}

// ratio is the median of the rounds' ratios, because a disturbance in a round affects both sides. For samples it is the ratio of the
// medians.
func (f *figure) ratio() float64 {
	if f.Samples || len(f.Values) != len(f.BaselineValues) {
		return median(f.Values) / median(f.BaselineValues)
	}
	ratios := make([]float64, len(f.Values))
	for i, value := range f.Values {
		ratios[i] = value / f.BaselineValues[i]
	}
	return median(ratios)
}

// round keeps three significant digits, and all digits of large numbers.
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

func quantity(value float64, unit string) string { return strings.TrimSpace(round(value) + " " + unit) }

func median(values []float64) float64 { return percentile(values, 50) }

// percentile returns the value that this percentage of values does not exceed.
func percentile(values []float64, percent int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	place := (len(sorted)*percent + 99) / 100
	return sorted[max(place, 1)-1]
}

func average(values []float64) float64 {
	sum := 0.0
	for _, value := range values {
		sum += value
	}
	return sum / float64(len(values))
}

// milliseconds converts times to numbers.
func milliseconds(times ...time.Duration) []float64 {
	values := make([]float64, len(times))
	for i, each := range times {
		values[i] = float64(each) / float64(time.Millisecond)
	}
	return values
}

func machine(ctx context.Context) host {
	return host{
		Time: time.Now(), Commit: commit(ctx), CPU: processorName(), Cores: runtime.NumCPU(), System: systemName(), Go: runtime.Version(),
		Products: map[string]product{}, LoadBefore: loadAverage(),
	}
}

// commit is the commit of the working directory.
func commit(ctx context.Context) string {
	said, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(said))
}

// systemName includes the kernel's release, if /proc has it.
func systemName() string {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return runtime.GOOS
	}
	return runtime.GOOS + " " + strings.TrimSpace(string(release))
}

// loadAverage is the machine's load in the last minute, with other programs' work.
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
