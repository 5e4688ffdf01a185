package scale

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/applock/applock/internal/testing/testfile"
)

const (
	page     = "../../docs/scale.md"
	results  = "../../bench/results.md"
	measured = "../../docs/scale/run.json"

	// modelLong is how long is simulated, and modelFlush the time of a flush: results.md has some 2,000 commits a second, one after
	// the other.
	modelLong  = time.Minute
	modelFlush = 500 * time.Microsecond
	renewed    = "renewal of one lease"
)

func readRun(t *testing.T) run {
	t.Helper()
	var r run
	if err := json.Unmarshal([]byte(testfile.Read(t, measured)), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

func (r run) figure(t *testing.T, name string) figure {
	t.Helper()
	i := slices.IndexFunc(r.Figures, func(f figure) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("%s has no %q", measured, name)
	}
	return r.Figures[i]
}

func (r run) renewal(t *testing.T) time.Duration {
	t.Helper()
	return time.Duration(r.figure(t, renewed).CPU * float64(time.Microsecond))
}

// Goal: the page's figures are those of the run. Method: a row of its table for each.
func TestPageHasTheRun(t *testing.T) {
	t.Parallel()
	text, r := testfile.Read(t, page), readRun(t)
	for _, f := range r.Figures {
		if row := fmt.Sprintf("| %s | %.0f |", f.Name, f.CPU); !strings.Contains(text, row) {
			t.Errorf("the page lacks %q", row)
		}
	}
	for _, what := range []string{r.Time, r.Server, r.Settings, "load " + r.Load} {
		if !strings.Contains(text, what) {
			t.Errorf("the page lacks %q", what)
		}
	}
}

// Goal: the page's table of fleets is what the model says. Method: simulate each row again.
func TestPageHasTheModel(t *testing.T) {
	t.Parallel()
	text, r := testfile.Read(t, page), readRun(t)
	for _, clients := range []int{1000, 10000, 30000, 100000} {
		for _, cores := range []int{2, 8} {
			f := fleet{Clients: clients, TTL: 30 * time.Second, Work: r.renewal(t), Flush: modelFlush, Cores: cores, Seed: 1}
			o := f.run(modelLong)
			row := fmt.Sprintf("| %d | %d | %.0f | %.0f %% | %s | %s |", clients, cores, float64(o.Renewals)/modelLong.Seconds(), 100*o.Busy,
				o.P99.Round(100*time.Microsecond), strconv.FormatBool(o.Lost > 0))
			if !strings.Contains(text, row) {
				t.Errorf("the page lacks %q", row)
			}
		}
	}
}

// Goal: the model is right about a server that was measured. Method: simulate the fleet of the run: the processor time has to be the same
// but for a third. Its p99 is not compared, because other work on that machine made calls wait.
func TestModelIsMeasured(t *testing.T) {
	t.Parallel()
	r := readRun(t)
	f := fleet{Clients: r.Beats.Clients, TTL: time.Duration(r.Beats.TTL) * time.Second, Work: r.renewal(t), Flush: modelFlush, Cores: r.Cores, Seed: 1}
	o := f.run(time.Duration(r.Beats.Seconds) * time.Second)
	if o.Busy < r.Beats.Busy*2/3 || o.Busy > r.Beats.Busy*3/2 {
		t.Errorf("the model has %.3f of the cores busy, measured were %.3f", o.Busy, r.Beats.Busy)
	}
	row := fmt.Sprintf("| processor | %.1f %% | %.1f %% |", 100*o.Busy, 100*r.Beats.Busy)
	if !strings.Contains(testfile.Read(t, page), row) {
		t.Errorf("the page lacks %q", row)
	}
}

// Goal: this page and that of the bench agree. Method: each row below "From the bench" is a row there, with the same median.
func TestPagesAgree(t *testing.T) {
	t.Parallel()
	_, section, found := strings.Cut(testfile.Read(t, page), "## From the bench\n")
	if !found {
		t.Fatal("the page has no section From the bench")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	medians := map[string][]string{}
	for line := range strings.Lines(testfile.Read(t, results)) {
		if cells := cellsOf(line); len(cells) > 3 {
			key := cells[0] + " on " + cells[1]
			medians[key] = append(medians[key], cells[2])
		}
	}
	rows := 0
	for line := range strings.Lines(section) {
		cells := cellsOf(line)
		if len(cells) < 3 || cells[0] == "what" || strings.HasPrefix(cells[0], "--") {
			continue
		}
		rows++
		if has := medians[cells[0]+" on "+cells[1]]; !slices.Contains(has, cells[2]) {
			t.Errorf("%s on %s: scale.md has %q, results.md %q", cells[0], cells[1], cells[2], has)
		}
	}
	if rows < 10 {
		t.Errorf("%d rows were compared", rows)
	}
}

func cellsOf(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}
