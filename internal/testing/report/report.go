package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"
)

const (
	module = "github.com/applock/applock/"

	// slowest is the number of tests that the summary names.
	slowest = 10
)

// event is a line of go test -json.
type event struct {
	Action     string
	Package    string
	ImportPath string // of a package that does not build
	Test       string
	Elapsed    float64 // seconds
	Output     string
}

// result counts tests that have ended.
type result struct {
	passed, failed, skipped int
}

// packageRun is a package whose tests run or have run.
type packageRun struct {
	result
	name    string
	began   time.Time
	seconds float64
	output  map[string][]string // of each running test; "" is the package itself
	family  map[string]bool     // tests with subtests; true if a subtest failed
}

// timing is how long one test took, waiting included.
type timing struct {
	name    string
	seconds float64
}

// report is the state of a run. It is not safe for concurrent use.
type report struct {
	w        io.Writer
	expected int // packages with tests
	packages map[string]*packageRun
	ended    []*packageRun
	reasons  map[string]int // of tests that were skipped
	timings  []timing
	total    result
	begin    time.Time
}

func newReport(w io.Writer, expected int) *report {
	return &report{
		w: w, expected: expected, begin: time.Now(),
		packages: map[string]*packageRun{}, reasons: map[string]int{},
	}
}

// follow runs go test to its end and reports its progress.
func (r *report) follow(test *exec.Cmd) error {
	output, err := test.StdoutPipe()
	if err != nil {
		return err
	}
	if err := test.Start(); err != nil {
		return err
	}
	lines := make(chan []byte)
	go readLines(output, lines)
	quiet := time.NewTimer(silence)
	for open := true; open; {
		var line []byte
		select {
		case line, open = <-lines:
			if open && r.line(line) {
				quiet.Reset(silence)
			}
		case <-quiet.C:
			r.running()
			quiet.Reset(silence)
		}
	}
	// go test's exit code adds nothing to a count of failures; it matters only without one.
	if err := test.Wait(); err != nil && (r.total.failed == 0 || !errors.As(err, new(*exec.ExitError))) {
		return fmt.Errorf("go test: %w", err)
	}
	return nil
}

// readLines sends each line of output, of any length, and closes lines at the end.
func readLines(output io.Reader, lines chan<- []byte) {
	defer close(lines)
	reader := bufio.NewReader(output)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 0 {
			lines <- line
		}
		if err != nil {
			return
		}
	}
}

// line handles one line of go test -json and reports whether it was news to people. A line that is no event comes from a program that
// wrote past go test; it is shown.
func (r *report) line(line []byte) bool {
	var e event
	if err := json.Unmarshal(line, &e); err != nil {
		fmt.Fprintf(r.w, "%s", line)
		return true
	}
	if e.Action == "build-output" {
		fmt.Fprint(r.w, e.Output)
		return true
	}
	if e.Package == "" {
		return false
	}
	p := r.packageOf(e.Package)
	switch e.Action {
	case "run":
		p.adopt(e.Test)
	case "output":
		p.output[e.Test] = append(p.output[e.Test], e.Output)
	case "pass", "fail", "skip":
		if e.Test != "" {
			return r.testEnds(p, e)
		}
		return r.packageEnds(p, e)
	}
	return false
}

func (r *report) packageOf(path string) *packageRun {
	p, ok := r.packages[path]
	if !ok {
		p = &packageRun{
			name: strings.TrimPrefix(path, module), began: time.Now(),
			output: map[string][]string{}, family: map[string]bool{},
		}
		r.packages[path] = p
	}
	return p
}

// adopt notes that a test is a subtest.
func (p *packageRun) adopt(test string) {
	if parent, ok := parentOf(test); ok {
		failed := p.family[parent]
		p.family[parent] = failed // its first child makes it a family
	}
}

// parentOf returns the test that a subtest belongs to.
func parentOf(test string) (string, bool) {
	slash := strings.LastIndexByte(test, '/')
	return test[:max(slash, 0)], slash >= 0
}

// testEnds counts a test, and shows the output of a failed one at once.
func (r *report) testEnds(p *packageRun, e event) bool {
	output := p.output[e.Test]
	delete(p.output, e.Test)
	childFailed, hasChildren := p.family[e.Test]
	if !hasChildren {
		r.timings = append(r.timings, timing{p.name + " " + e.Test, e.Elapsed})
	}
	switch e.Action {
	case "fail":
		if parent, ok := parentOf(e.Test); ok {
			p.family[parent] = true
		}
		if !childFailed {
			p.failed++
		}
		// If only subtests failed, the parent has no output of its own to show.
		if words := said(output); !childFailed || len(words) > 1 {
			fmt.Fprintf(r.w, "FAIL %s %s (%.1f s)\n%s", p.name, e.Test, e.Elapsed, strings.Join(words, ""))
		}
		return true
	case "skip":
		p.skipped++
		r.reasons[reasonOf(output)]++
	case "pass":
		if !hasChildren {
			p.passed++
		}
	}
	return false
}

// reasonOf returns the message of t.Skip: "    file_test.go:12: no server".
func reasonOf(output []string) string {
	for _, line := range output {
		if _, reason, ok := strings.Cut(line, ".go:"); ok {
			_, reason, _ = strings.Cut(reason, ": ")
			return strings.TrimSpace(reason)
		}
	}
	return "no reason given"
}

// packageEnds counts a package and shows its result. A package without tests is no news.
func (r *report) packageEnds(p *packageRun, e event) bool {
	if e.Action == "skip" {
		delete(r.packages, e.Package)
		return false
	}
	p.seconds = e.Elapsed
	word := "ok"
	if e.Action == "fail" {
		word = "FAIL"
		r.showRest(p)
		if p.failed == 0 {
			p.failed = 1
		}
	}
	r.ended = append(r.ended, p)
	r.total.passed += p.passed
	r.total.failed += p.failed
	r.total.skipped += p.skipped
	fmt.Fprintf(r.w, "[%d/%d] %-4s %s %.1f s (%s)\n", len(r.ended), r.expected, word, p.name, p.seconds, p.result)
	return true
}

// showRest shows the output of a package and its unfinished tests, which has a panic or an exceeded time limit.
func (r *report) showRest(p *packageRun) {
	for _, test := range slices.Sorted(maps.Keys(p.output)) {
		fmt.Fprint(r.w, strings.Join(said(p.output[test]), ""))
	}
}

// said removes go test's own lines about the order of its work.
func said(output []string) []string {
	return slices.DeleteFunc(slices.Clone(output), func(line string) bool { return strings.HasPrefix(line, "=== ") })
}

// running lists the running tests, after some time without other news.
func (r *report) running() {
	var names []string
	for _, p := range r.packages {
		if !slices.Contains(r.ended, p) && len(p.output) > 0 {
			names = append(names, fmt.Sprintf("%s %.0f s (%s)", p.name, time.Since(p.began).Seconds(), p.result))
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		names = []string{"building"}
	}
	fmt.Fprintf(r.w, "[%d/%d] ... %s\n", len(r.ended), r.expected, strings.Join(names, ", "))
}

// summary shows what ran, the slowest tests, and the servers.
func (r *report) summary(backends string) {
	slices.SortFunc(r.ended, func(a, b *packageRun) int { return cmp.Compare(a.seconds, b.seconds) })
	fmt.Fprintf(r.w, "\n%8s %7s %7s %8s  package\n", "seconds", "passed", "failed", "skipped")
	for _, p := range r.ended {
		fmt.Fprintf(r.w, "%8.1f %7d %7d %8d  %s\n", p.seconds, p.passed, p.failed, p.skipped, p.name)
	}
	slices.SortFunc(r.timings, func(a, b timing) int { return cmp.Compare(b.seconds, a.seconds) })
	fmt.Fprintln(r.w, "\nslowest tests:")
	for _, t := range r.timings[:min(slowest, len(r.timings))] {
		fmt.Fprintf(r.w, "%8.1f  %s\n", t.seconds, t.name)
	}
	if len(r.reasons) > 0 {
		fmt.Fprintln(r.w, "\nskipped:")
	}
	for _, reason := range slices.Sorted(maps.Keys(r.reasons)) {
		fmt.Fprintf(r.w, "%8d  %s\n", r.reasons[reason], reason)
	}
	if backends != "" {
		fmt.Fprintf(r.w, "\nran on:\n  %s\n", strings.ReplaceAll(backends, "; ", "\n  "))
	}
	fmt.Fprintf(r.w, "\n%d of %d packages in %.0f s\n", len(r.ended), r.expected, time.Since(r.begin).Seconds())
}

// tally is the line that counts all tests.
func (r *report) tally() string {
	return r.total.String()
}

// String counts in words.
func (r result) String() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", r.passed, r.failed, r.skipped)
}
