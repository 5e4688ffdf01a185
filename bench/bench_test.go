//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Goal: the measurements still run, each on every product that has a server. Method: measure very little, on SQLite
// alone with -short, and count what the report has.
func TestSmoke(t *testing.T) {
	getenv := os.Getenv
	if testing.Short() {
		getenv = func(string) string { return "" }
	}
	found, err := servers(getenv, new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "report.json")
	var out, complaints bytes.Buffer
	if err := run(t.Context(), []string{"-smoke", "-json", path}, getenv, &out, &complaints); err != nil {
		t.Fatalf("%v\n%s%s", err, &complaints, &out)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var written report
	if err := json.Unmarshal(text, &written); err != nil {
		t.Fatal(err)
	}
	figures := map[string]int{}
	for _, each := range written.Figures {
		figures[each.Product]++
		if len(each.Values) != 1 || each.Baseline != "" && (each.Values[0] <= 0 || each.BaselineValues[0] <= 0) {
			t.Errorf("%s on %s is %v, by hand %v", each.Name, each.Product, each.Values, each.BaselineValues)
		}
		// A poll every 8 ms at the most, however fast the machine: those who wait do not ask for themselves.
		if strings.HasSuffix(each.Name, ": statements") && each.Values[0] > 200 {
			t.Errorf("%s on %s: %g a second", each.Name, each.Product, each.Values[0])
		}
		// One, and some more on a machine that is late with everything.
		if strings.HasSuffix(each.Name, ": statements in a renewal interval") && each.Values[0] > 3 {
			t.Errorf("%s on %s: %g", each.Name, each.Product, each.Values[0])
		}
	}
	want := map[string]int{
		productPostgres: 32, productMariaDB: 30, productMySQL: 30, productSQLite: 23, productRedis: 3, "inprocess": 2,
	}
	for _, s := range append(found, server{product: "inprocess"}) {
		if got := figures[s.product]; got != want[s.product] {
			t.Errorf("%d figures of %s, want %d", got, s.product, want[s.product])
		}
	}
	if strings.Contains(out.String(), "missed") {
		t.Errorf("judged by next to nothing:\n%s", &out)
	}
}

// Goal: a product that CI requires is not left out in silence. Method: require one without a server.
func TestMissingServer(t *testing.T) {
	environment := map[string]string{"APPLOCK_TEST_REQUIRE": "hsqldb,mariadb"}
	getenv := func(name string) string { return environment[name] }
	if _, err := servers(getenv, new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "APPLOCK_TEST_MARIADB_DSN") {
		t.Errorf("error = %v", err)
	}
	environment["APPLOCK_TEST_MARIADB_DSN"] = "mysql://root@127.0.0.1:1/applock"
	var complaints bytes.Buffer
	found, err := servers(getenv, &complaints)
	if err != nil || len(found) != 2 || found[0].product != productMariaDB || found[1].product != productSQLite {
		t.Errorf("servers = %v, %v", found, err)
	}
	if !strings.Contains(complaints.String(), "without postgres") {
		t.Errorf("complaints = %q", &complaints)
	}
}

func TestPercentile(t *testing.T) {
	values := make([]float64, 100)
	for i := range values {
		values[i] = float64(100 - i)
	}
	for percent, want := range map[int]float64{50: 50, 99: 99} {
		if got := percentile(values, percent); got != want {
			t.Errorf("p%d of 1 to 100 = %g, want %g", percent, got, want)
		}
	}
	if got := percentile([]float64{7}, 50); got != 7 {
		t.Errorf("p50 of 7 = %g", got)
	}
	if !slices.Equal(values[:2], []float64{100, 99}) {
		t.Error("the values were put into another order")
	}
}

func TestReport(t *testing.T) {
	var r report
	for _, values := range [][2]float64{{10, 2}, {0.5, 1}, {3, 1}} { // ratios 5, 0.5 and 3
		r.compare(figure{Product: "postgres", Name: "hand-off", Unit: "ms", Baseline: "NOTIFY", AtMost: 4}, values[0], values[1])
	}
	r.note(figure{Product: "mysql", Name: "connections", AtMost: 2}, 12345.4)
	var out bytes.Buffer
	r.print(&out)
	for _, want := range []string{
		"| hand-off | postgres | 3 ms | 0.5 to 10 | 4 ms: reached | NOTIFY 1 ms | 3 |",
		"| connections | mysql | 12345 | 12345 to 12345 | 2: missed | | |",
	} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

func TestRound(t *testing.T) {
	for value, want := range map[float64]string{0: "0", 0.04567: "0.0457", 1.999: "2", 99.95: "100", 123456: "123456", -1.25: "-1.25"} {
		if got := round(value); got != want {
			t.Errorf("round(%g) = %s, want %s", value, got, want)
		}
	}
}

// A process may have blanks and parentheses in its name.
func TestUsedOf(t *testing.T) {
	for line, want := range map[string]int64{
		"7 (server) S 1 7 7 0 -1 0 0 0 0 0 100 20 3 4 20 0 1":           127, // itself, and children that have ended
		"8 (server: writer (1)) S 7 7 7 0 -1 0 0 0 0 0 100 20 3 4 20 0": 120, // a child
		"9 (server) S 8 7 7 0 -1 0 0 0 0 0 100 20 3 4 20 0 1":           0,
		"17 (other) S 1 17 17 0 -1 0 0 0 0 0 100 20 3 4 20 0 1":         0,
		"7 (ser": 0,
	} {
		if got := usedOf(line, 7); got != want {
			t.Errorf("%d ticks in %q, want %d", got, line, want)
		}
	}
}
